"""How `fit` trains: within a time limit, with a progress bar, and saying why it stopped."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, Status
from fcgboost.cli import console
from fcgboost.cli.watching import Watch, plan_of
from fcgboost.tables.columns import left_out
from fcgboost.tables.learning import learn_reader
from fcgboost.training.settings import resolve

#: Numbers that are more different ones than this are hardly classes, if some occur once.
_MANY = 20


def make_classifier(options: argparse.Namespace) -> FCGBoostClassifier:
    """Return the classifier that the options describe, its parameters checked."""
    classifier = FCGBoostClassifier(
        options.dictionary,
        loss=options.loss,
        removal=options.removal,
        link=options.link,
        random_state=options.seed,
    )
    classifier.set_params(**dict(options.set))
    resolve(classifier, has_validation_data=False)
    return classifier


def name_classes(classifier: FCGBoostClassifier, y: Any) -> None:
    """Replace the keys of class weights, which are text in JSON, by the classes they name."""
    given = classifier.class_weight
    if not isinstance(given, Mapping):
        return
    labels = np.unique(y).tolist()
    names = {name: label for label in labels for name in _names(label)}
    unknown = [key for key in given if key not in names]
    if unknown:
        raise ValueError(
            f"class_weight names the class {unknown[0]!r}, which the target does not have: its "
            f"classes are {', '.join(map(str, labels))}."
        )
    named = {names[key]: weight for key, weight in given.items()}
    if len(named) < len(given):
        raise ValueError(f"class_weight names a class twice: {', '.join(given)}.")
    classifier.set_params(class_weight=named)


def _names(label: Any) -> set[str]:
    """Return how a class may be written: a truth value also as in JSON, 1 also as 1.0."""
    if isinstance(label, bool):
        return {str(label), str(label).lower()}
    return {str(label), str(float(label))} if isinstance(label, int) else {str(label)}


def split(X: Any, y: Any, options: argparse.Namespace) -> Any:
    """Return rows to fit and rows held out, and the labels of both."""
    share = options.test_size
    try:
        return train_test_split(X, y, test_size=share, random_state=options.seed, stratify=y)
    except ValueError:
        values, counts = np.unique(y, return_counts=True)
        if 2 * len(values) > len(y) or (len(values) > _MANY and values.dtype.kind in "if"):
            raise ValueError(
                f"{options.data}: the target has {len(values):,} different values in {len(y):,} "
                "rows. It looks like a quantity or an id, and fcgboost only predicts classes."
            ) from None
        raise ValueError(
            f"{options.data}: {len(y)} rows are too few to hold out a share of {share:g} with all "
            f"{len(values)} classes on both sides (class {values[counts.argmin()]!s} has "
            f"{counts.min()}). Use more rows, or another --test-size."
        ) from None


def train(classifier: Any, X: Any, y: Any, time_limit: float | None) -> tuple[Any, dict[str, Any]]:
    """Fit a clone within so many seconds; return the model and why it stopped."""
    classifier = clone(classifier)
    if classifier.time_limit is None:
        classifier.set_params(time_limit=time_limit)
    has_text = not sparse.issparse(X) and "O" in {getattr(one, "kind", "O") for one in X.dtypes}
    start, plan = time.perf_counter(), plan_of(classifier, len(y), len(np.unique(y)), has_text)
    with warnings.catch_warnings(record=True) as told, console.progress("Fitting") as show:
        warnings.filterwarnings("always", message="Reading and checking the data")
        classifier.set_callbacks(Watch(plan, show)).fit(X, y)
        classifier.set_callbacks()
    for note in (*_notes(classifier, X), *(str(one.message) for one in told)):
        console.note(note)
    if classifier.status_ is Status.TIME_LIMIT:
        console.note(f"The fit was stopped early by its time limit of {classifier.time_limit:g} s.")
    return classifier, _ending(classifier, plan.n_trials > 0, time.perf_counter() - start)


def _notes(classifier: Any, X: Any) -> list[str]:
    """Say which columns are left out, and which may not be what they seem."""
    if classifier._readers_ is not None or sparse.issparse(X):
        return list(classifier.notes_)
    # Where all columns are numbers the fit does not look at them one by one.
    found = (note for name in X for note in learn_reader(name, X[name])[2])
    return [*left_out(classifier.columns_), *found]


def _ending(classifier: Any, has_trials: bool, seconds: float) -> dict[str, Any]:
    """Return why and when a fit stopped, as data."""
    status = classifier.status_
    is_chosen = has_trials and classifier.max_iter == "auto"
    chosen = "The number of steps was chosen on validation rows."
    return {
        "status": status.name.lower(),
        "reason": chosen if is_chosen and status is Status.STEP_LIMIT else status.value,
        "steps": len(classifier.trace_),
        "seconds": seconds,
        "time_limit": classifier.time_limit,
    }
