"""How `fit` trains: within a time limit, showing how far it is, and saying how it ended."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, Status, TableEncoder
from fcgboost.cli import console
from fcgboost.cli.watching import Watch, plan_of
from fcgboost.io import make_model
from fcgboost.training.settings import resolve


def make_classifier(options: argparse.Namespace) -> FCGBoostClassifier:
    """Return the classifier that the options describe, its parameters checked."""
    classifier = FCGBoostClassifier(
        options.dictionary,
        loss=options.loss,
        removal=options.removal,
        multiclass=options.multiclass,
        link=options.link,
        random_state=options.seed,
    )
    classifier.set_params(**dict(options.set))
    resolve(classifier, has_validation_data=False)
    return classifier


def split(X: Any, y: Any, options: argparse.Namespace) -> Any:
    """Return rows to fit and rows held out, and the labels of both."""
    share = options.test_size
    try:
        return train_test_split(X, y, test_size=share, random_state=options.seed, stratify=y)
    except ValueError:
        values, counts = np.unique(y, return_counts=True)
        raise ValueError(
            f"{len(y)} rows are too few to hold out {share:g} of them with all {len(values)} "
            f"classes on both sides (the class {values[counts.argmin()]!s} has {counts.min()}); "
            "use more rows, or another --test-size."
        ) from None


def train(classifier: Any, X: Any, y: Any, time_limit: float) -> tuple[Any, dict[str, Any]]:
    """Fit a clone within so many seconds (0: no limit); return the model and what ended the fit."""
    encoder = None if sparse.issparse(X) else TableEncoder()
    numbers = X if encoder is None else encoder.fit_transform(X)
    for note in () if encoder is None else encoder.notes_:
        console.note(note)
    classifier = clone(classifier)
    with console.progress("Fitting") as show:
        watch = Watch(plan_of(classifier, len(y), len(np.unique(y))), time_limit, show)
        classifier.set_callbacks(watch).fit(numbers, y)
        classifier.set_callbacks()
    if watch.cuts:
        console.note(
            f"The time limit of {time_limit:g} s ended {_listed(watch)}. --time-limit changes it, "
            "0 removes it."
        )
    return make_model(encoder, classifier), _ending(classifier, watch)


def _listed(watch: Watch) -> str:
    """Say which paths the time limit ended; of many, the first and the last."""
    cuts = watch.cuts
    if len(cuts) <= 3:
        return "; ".join(map(str, cuts))
    return f"{len(cuts)} of {watch.plan.n_paths} paths, from {cuts[0]} to {cuts[-1]}"


def _ending(classifier: Any, watch: Watch) -> dict[str, Any]:
    """Return what ended a fit, and when, as data."""
    status = classifier.status_
    is_chosen = watch.plan.n_trials > 0 and classifier.max_iter == "auto"
    chosen = "It made the number of steps that was chosen on rows set aside."
    return {
        "status": status.name.lower(),
        "reason": chosen if is_chosen and status is Status.STEP_LIMIT else status.value,
        "steps": len(classifier.trace_),
        "seconds": watch.seconds,
        "time_limit": watch.time_limit or None,
        "cut_by_time_limit": [cut._asdict() for cut in watch.cuts],
    }
