"""How `fit` trains: within a time limit, and with --auto after a search on a sample of the rows."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, FCGBoostClassifierCV, Step, theory_steps
from fcgboost.cli import console

# More rows than these change a choice of dictionary rarely, and its time a lot.
_ROWS_TO_CHOOSE = 5_000
_AUTO = ("dictionary", "l2")


class TimeLimit:
    """A stopping rule: ends a fit that has taken long enough.

    Parameters
    ----------
    seconds : float
        0 is no limit.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_reached = False

    def __call__(self, step: Step) -> bool:
        """Say whether the fit should end."""
        self.is_reached = 0.0 < self.seconds < step.seconds
        return self.is_reached


def make_classifier(options: argparse.Namespace) -> Any:
    """Give the classifier that the options describe, a search with --auto."""
    given: dict[str, Any] = {"loss": options.loss, "random_state": options.seed}
    if not options.auto:
        classifier: Any = FCGBoostClassifier(options.dictionary or "gauss", **given)
    elif options.dictionary is None:
        classifier = FCGBoostClassifierCV(**given)
    else:
        classifier = FCGBoostClassifierCV([options.dictionary], **given)
    return classifier.set_params(**dict(options.set))


def train(classifier: Any, X: Any, y: Any, seconds: float) -> FCGBoostClassifier:
    """Fit a classifier, or what a search finds, and show how far it is.

    Parameters
    ----------
    classifier : FCGBoostClassifier or FCGBoostClassifierCV
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    seconds : float
        The time limit of the last fit; 0 is none.
    """
    is_search = isinstance(classifier, FCGBoostClassifierCV)
    fitted: FCGBoostClassifier = _search(classifier, X, y) if is_search else classifier
    n_steps, limit = _n_steps(fitted, len(y)), TimeLimit(seconds)
    with console.progress("Fitting", n_steps) as show:
        fitted.set_callbacks(show, limit)
        fitted.fit(X, y)
        fitted.set_callbacks()
    if limit.is_reached:
        console.note(
            f"The time limit of {seconds:g} s ended the fit after {len(fitted.trace_)} of "
            f"{n_steps} steps; --time-limit sets another, 0 none."
        )
    return fitted


def _search(search: FCGBoostClassifierCV, X: Any, y: Any) -> FCGBoostClassifier:
    """Choose dictionary, ridge and number of steps, on at most some thousand rows."""
    rows = np.arange(len(y))
    if len(y) > _ROWS_TO_CHOOSE:
        rows, _ = train_test_split(
            rows, train_size=_ROWS_TO_CHOOSE, random_state=search.random_state, stratify=y
        )
        console.note(f"Choosing dictionary and steps on {len(rows):,} of {len(y):,} rows.")
    else:
        console.note("Choosing dictionary and steps by cross-validation.")
    start = time.perf_counter()
    search.set_params(refit=False).fit(X[rows], y[rows])
    best = search.best_params_
    console.note(f"Chose {best['dictionary']} in {time.perf_counter() - start:.1f} s.")
    # The number of steps grows with the rows as the theory's does.
    steps = round(best["max_iter"] * theory_steps(len(y)) / theory_steps(len(rows)))
    shared = set(FCGBoostClassifier().get_params(deep=False)) - {*_AUTO, "max_iter", "verbose"}
    given = {k: v for k, v in search.get_params(deep=False).items() if k in shared}
    chosen = {name: best[name] for name in _AUTO}
    return FCGBoostClassifier(max_iter=max(1, steps), **chosen, **given)


def _n_steps(classifier: FCGBoostClassifier, m: int) -> int:
    k0, limit = theory_steps(m), classifier.max_iter
    # Any other word is refused by the fit.
    return limit if isinstance(limit, int) else {"auto": 5 * k0}.get(limit, k0)
