"""What the demo compares: data, methods, and how each is tuned and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    theory_steps,
)
from fcgboost.datasets import make_simulation
from fcgboost.plotting import path_error
from paper.rivals import RIVALS
from paper.rivals.base import Rival

Array = NDArray[np.float64]

NOISE = 0.3
N_TEST = 5000
N_MORE_DRAWS = 10

# The paper's simulations use raw inputs and no constant.
AS_IN_THE_PAPER: dict[str, Any] = {"standardize": False, "fit_intercept": False}
DICTIONARIES: dict[str, list[Dictionary]] = {
    "gauss": [GaussDictionary(width) for width in (0.1, 0.2, 0.35, 0.5, 1.0, 5.0)],
    "polynomial": [PolynomialDictionary(degree, q=1.0) for degree in range(1, 11)],
    "sigmoid": [SigmoidDictionary(slope) for slope in (1.0, 5.0, 10.0, 20.0)],
    "relu": [ReluDictionary()],
}
GRID_NAMES = {"width", "degree", "slope_range"}


class Data(NamedTuple):
    """Noisy training data, clean test data."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    seed: int

    def folds(self) -> StratifiedKFold:
        return StratifiedKFold(5, shuffle=True, random_state=self.seed)


class Result(NamedTuple):
    """A tuned and fitted method: one line of the table."""

    name: str
    setting: str
    model: Any
    unit: str
    size: int
    error: float
    more_errors: Array
    fit_seconds: float
    tune_seconds: float


COMPETITORS = ("svm_rbf", "random_forest", "adaboost")


def make_data(n_samples: int, seed: int) -> Data:
    """Draw noisy training data and clean test data."""
    clean = make_simulation(N_TEST, noise=None, random_state=seed + 1_000_000)
    return Data(*draw_training(n_samples, seed), *clean, seed)


def run_fcgboost(name: str, data: Data) -> Result:
    """Choose the dictionary's parameter and the number of steps, then fit."""
    options = {**AS_IN_THE_PAPER, "random_state": data.seed}
    search = FCGBoostClassifierCV(DICTIONARIES[name], cv=data.folds(), refit=False, **options)
    tune_seconds = seconds_to_fit(search, data)
    model = FCGBoostClassifier(**search.best_params_, **options)
    fit_seconds = seconds_to_fit(model, data)
    parameters = search.best_params_["dictionary"].get_params()
    chosen = {key: parameters[key] for key in GRID_NAMES & parameters.keys()}
    errors = error_of(model, data), more_errors(model, data)
    label, size = f"FCGBoost {name}", model.n_atoms_
    return Result(label, describe(chosen), model, "atoms", size, *errors, fit_seconds, tune_seconds)


def run_competitor(rival: Rival, data: Data) -> Result:
    """Tune a classifier of scikit-learn on the same folds, then fit it."""
    assert rival.table is not None
    model = rival.classifier(random_state=data.seed)
    search = GridSearchCV(model, rival.folds, cv=data.folds(), refit=False)
    tune_seconds = seconds_to_fit(search, data)
    model.set_params(**search.best_params_)
    fit_seconds = seconds_to_fit(model, data)
    setting, size = describe(search.best_params_), rival.table.size(model)
    errors = error_of(model, data), more_errors(model, data)
    times = (fit_seconds, tune_seconds)
    return Result(rival.title, setting, model, rival.table.unit, size, *errors, *times)


def run_all(data: Data) -> Iterator[Result]:
    """Tune, fit and judge one method after the other."""
    for name in DICTIONARIES:
        yield run_fcgboost(name, data)
    for name in COMPETITORS:
        yield run_competitor(RIVALS[name], data)


def seconds_to_fit(estimator: Any, data: Data) -> float:
    """Fit, and give how long it took."""
    start = time.perf_counter()
    estimator.fit(data.X, data.y)
    return time.perf_counter() - start


def error_of(model: Any, data: Data) -> float:
    """Give the share of wrong predictions on the clean data."""
    return 1.0 - float(model.score(data.X_test, data.y_test))


def more_errors(model: Any, data: Data) -> Array:
    """Give the test errors of the chosen setting on fresh training samples."""
    seeds = range(data.seed + 1, data.seed + 1 + N_MORE_DRAWS)
    fresh = [clone(model).fit(*draw_training(len(data.y), seed)) for seed in seeds]
    return np.array([error_of(model, data) for model in fresh])


def draw_training(n_samples: int, seed: int) -> tuple[Array, Array]:
    """Draw noisy points."""
    return make_simulation(n_samples, noise="uniform", level=NOISE, random_state=seed)


def describe(parameters: dict[str, float]) -> str:
    """Write parameters down in one line."""
    return ", ".join(f"{name} {value:g}" for name, value in parameters.items()) or "-"


def long_paths(models: dict[str, Any], data: Data) -> dict[str, Array]:
    """Give the test error along paths of 10 k0 steps."""
    n_steps = 10 * theory_steps(len(data.y))
    longer = {name: clone(model).set_params(max_iter=n_steps) for name, model in models.items()}
    return {
        name: path_error(model.fit(data.X, data.y), data.X_test, data.y_test)
        for name, model in longer.items()
    }
