"""What the simulations share: data, dictionaries with their grids, and choice by cross-validation.

Every choice here uses the noisy training labels alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.datasets import make_simulation

Array = NDArray[np.float64]
Centers = Literal["data", "box"]

#: Without a constant and with raw inputs, as in the paper's simulations; all candidates are
#: scored in every step.
PAPER: Mapping[str, Any] = {"fit_intercept": False, "standardize": False, "selection": "all"}

#: How the coefficients are corrected.
CORRECTIONS: Mapping[str, Mapping[str, Any]] = {
    # What the package does by default: exact, lambda = 1/m.
    "ridge": {},
    # The paper's problem, solved exactly.
    "exact": {"l2": 0.0},
    # The paper's algorithm: 100 iterations at alpha = gamma = 1.
    "admm": {"l2": 0.0, "solver": "admm"},
    # Algorithm 1 to the letter: an active atom may be chosen again, and then the path stands still.
    "letter": {"l2": 0.0, "solver": "admm", "reselect": True},
}

DICTIONARIES = ("gauss", "polynomial", "sigmoid", "relu")
#: The two kinds of noise of sim1 and sim2: 30 % uniform; tol 0.3, ratio 0.4 (17.3 % flipped).
NOISES = (("uniform", 0.3), ("outlier", 0.4))

WIDTHS = (0.1, 0.2, 0.35, 0.5, 1.0, 5.0)
DEGREES = tuple(range(1, 11))
SLOPES = (1.0, 5.0, 10.0, 20.0)

N_TRAIN = 1000
N_TEST = 1000
N_FOLDS = 5
# Test sets are drawn with seeds that no training set has.
_TEST_SEEDS = 1_000_000


class Sample(NamedTuple):
    """Noisy training data and clean test data."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def dictionaries(name: str, centers: Centers = "data") -> list[Dictionary]:
    """Give the members of a family among which cross-validation chooses."""
    if name == "gauss":
        return [GaussDictionary(width=width, centers=centers) for width in WIDTHS]
    if name == "polynomial":
        return [PolynomialDictionary(degree=p, q=1.0, centers=centers) for p in DEGREES]
    if name == "sigmoid":
        return [SigmoidDictionary(slope_range=slope) for slope in SLOPES]
    return [ReluDictionary()]


def parameter(dictionary: Dictionary) -> float | None:
    """Give what distinguishes a member of its family: width, degree or slope."""
    if isinstance(dictionary, GaussDictionary) and isinstance(dictionary.width, int | float):
        return float(dictionary.width)
    if isinstance(dictionary, PolynomialDictionary):
        return float(dictionary.degree)
    if isinstance(dictionary, SigmoidDictionary):
        return float(np.max(dictionary.slope_range))
    return None


def simulate(noise: str, level: float, seed: int) -> Sample:
    """Draw the paper's simulation; `level` is the share of flips, for outliers the ratio."""
    options: dict[str, Any] = {"noise": "uniform", "level": level}
    if noise == "outlier":
        options = {"noise": "outlier", "tol": 0.3, "ratio": level}
    train = make_simulation(N_TRAIN, random_state=seed, **options)
    test = make_simulation(N_TEST, noise=None, random_state=_TEST_SEEDS + seed)
    return Sample(*train, *test)


def cross_validate(
    sample: Sample,
    choices: Sequence[Dictionary],
    seed: int,
    n_folds: int = N_FOLDS,
    l2: float | Literal["auto"] = "auto",
    **options: Any,
) -> tuple[Dictionary, FCGBoostClassifier]:
    """Choose a dictionary and the steps, one of k0, ..., 5 k0, and fit.

    All dictionaries have the same folds. The best out-of-fold accuracy wins, of equal ones the
    first.

    With one fold a fifth of the rows is held out once.
    """
    cv: Any = n_folds
    if n_folds == 1:
        holdout = StratifiedShuffleSplit(1, test_size=1.0 / N_FOLDS, random_state=seed)
        cv = list(holdout.split(sample.X, sample.y))
    fits = [
        FCGBoostClassifier(
            dictionary,
            l2=l2,
            cv=cv,
            ensemble=False,
            n_jobs=1,
            random_state=seed,
            **{**PAPER, **options},
        ).fit(sample.X, sample.y)
        for dictionary in choices
    ]
    scores = [fit.oof_score_ for fit in fits]
    best = int(np.argmax(scores))
    return choices[best], fits[best]


def fit_path(
    sample: Sample, dictionary: Dictionary, seed: int, max_iter: int, **options: Any
) -> FCGBoostClassifier:
    """Fit one path. Its trace has the test accuracy of every step: watched, never used to choose.

    The classifier itself holds the step of the best test accuracy, which only sim4 asks for.
    """
    classifier = FCGBoostClassifier(
        dictionary, max_iter=max_iter, n_jobs=1, random_state=seed, **{**PAPER, **options}
    )
    classifier.fit(sample.X, sample.y, X_val=sample.X_test, y_val=sample.y_test)
    return classifier


def error(classifier: Any, X: Array, y: Array) -> float:
    """Give the share of wrong labels."""
    return float(np.mean(classifier.predict(X) != y))
