"""How `fit` trains: within a time limit, showing how far it is."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost import FCGBoostClassifier, Step, theory_steps
from fcgboost.cli import console
from fcgboost.presets import preset_of


class TimeLimit:
    """A stopping rule: ends a path that has taken long enough.

    Parameters
    ----------
    seconds : float
        0 is no limit.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_reached = False

    def __call__(self, step: Step) -> bool:
        """Say whether the path should end."""
        self.is_reached = 0.0 < self.seconds < step.seconds
        return self.is_reached


def make_classifier(options: argparse.Namespace) -> FCGBoostClassifier:
    """Give the classifier that the options describe."""
    classifier = FCGBoostClassifier(
        options.dictionary,
        loss=options.loss,
        removal=options.removal,
        multiclass=options.multiclass,
        link=options.link,
        random_state=options.seed,
    )
    return classifier.set_params(**dict(options.set))


def train(classifier: FCGBoostClassifier, X: Any, y: Any, seconds: float) -> FCGBoostClassifier:
    """Fit a classifier, and show how far it is.

    Parameters
    ----------
    classifier : FCGBoostClassifier
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    seconds : float
        The time limit of the fit; 0 is none.
    """
    preset = preset_of(classifier.dictionary)
    # A path for every ridge and for every member of an average; of few rows there are more, which
    # take no time.
    n_paths = 1 if preset is None else len(preset.strengths) + preset.n_members
    chooses = preset is not None and "auto" in (classifier.l2, classifier.max_iter)
    limit = TimeLimit(seconds / n_paths if chooses else seconds)
    n_steps = _n_steps(classifier, len(y))
    with console.progress("Fitting", n_steps, has_paths=chooses) as show:
        classifier.set_callbacks(show, limit)
        classifier.fit(X, y)
        classifier.set_callbacks()
    if limit.is_reached:
        console.note(
            f"The time limit of {seconds:g} s ended the fit after {len(classifier.trace_)} of "
            f"at most {n_steps} steps; --time-limit sets another, 0 none."
        )
    return classifier


def _n_steps(classifier: FCGBoostClassifier, m: int) -> int:
    k0, limit = theory_steps(m), classifier.max_iter
    preset = preset_of(classifier.dictionary)
    longest = 5 * k0 if preset is None else preset.n_steps(m, k0)
    # Any other word is refused by the fit.
    return limit if isinstance(limit, int) else {"auto": longest}.get(limit, k0)
