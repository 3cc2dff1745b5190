"""How `fit` trains: showing its progress, and saying why it stopped."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from fcgboost import FCGBoostClassifier, FCGBoostRegressor, Status, Step
from fcgboost.cli import console
from fcgboost.findings import is_quantity
from fcgboost.wording import count, listed

if TYPE_CHECKING:
    import pandas as pd


Estimator = FCGBoostClassifier | FCGBoostRegressor
#: Rows to fit to and rows that are held out, and the targets of both.
Parts: TypeAlias = list[Any]
E = TypeVar(
    "E",
    FCGBoostClassifier,
    FCGBoostRegressor,
)


def make(estimator: type[E], options: argparse.Namespace, **parameters: Any) -> E:
    """Return the estimator that the options describe, and parameters."""
    made = estimator(
        **parameters,
        time_limit=options.time_limit,
        random_state=options.seed,
        keep_columns=options.keep_column or None,
    )
    return made.set_params(**dict(options.set))


def prepared(
    options: argparse.Namespace, X: pd.DataFrame, y: NDArray[np.generic]
) -> tuple[Estimator, NDArray[np.generic], Parts]:
    """Return what to fit, the target as it takes it, and the parts of `split`."""
    given = {"dictionary": options.dictionary}
    if options.loss is not None:
        given["loss"] = options.loss
    estimator, y = estimator_of(options, y, **given)
    is_regressor = isinstance(estimator, FCGBoostRegressor)
    return estimator, y, (_split_numbers if is_regressor else split)(X, y, options)


def estimator_of(
    options: argparse.Namespace, y: NDArray[np.generic], **parameters: Any
) -> tuple[Estimator, NDArray[np.generic]]:
    """Return what to fit to a target, and the target as it takes it."""
    if _is_regression(y, options.task):
        return make(FCGBoostRegressor, options, **parameters), _as_numbers(y)
    classifier = make(FCGBoostClassifier, options, **parameters)
    name_classes(classifier, y)
    return classifier, y


def _is_regression(y: NDArray[np.generic], task: str | None) -> bool:
    """Whether a target is a quantity, as an option says or its values suggest."""
    if task is not None:
        return task == "regression"
    is_number = is_quantity(y)
    if is_number:
        console.note(
            "The target has many different numbers, so numbers are predicted. --task "
            "classification takes them as classes."
        )
    return is_number


def _as_numbers(y: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the target of a regression."""
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"The target holds text such as {str(y[0])!r}: --task regression needs numbers."
        )
    return y.astype(np.float64)


def name_classes(classifier: FCGBoostClassifier, y: NDArray[np.generic]) -> None:
    """Replace the keys of class weights, which are text in JSON, by the classes they name."""
    weights = classifier.class_weight
    if isinstance(weights, Mapping):
        classes = {str(label): label for label in np.unique(y).tolist()}
        named = {classes.get(key, key): weight for key, weight in weights.items()}
        classifier.set_params(class_weight=named)


def _split_numbers(X: pd.DataFrame, y: NDArray[np.generic], options: argparse.Namespace) -> Parts:
    """Return rows to fit to and rows that are held out, and the targets of both."""
    train, test = train_test_split(
        np.arange(len(y)),
        test_size=options.test_size,
        random_state=options.seed,
    )
    return [_safe_indexing(X, train), _safe_indexing(X, test), y[train], y[test]]


def split(X: pd.DataFrame, y: NDArray[np.generic], options: argparse.Namespace) -> Parts:
    """Return rows to fit to and rows that are held out, and the labels of both."""
    values, codes, counts = np.unique(
        y,
        return_inverse=True,
        return_counts=True,
    )
    is_single = counts[codes] == 1
    singles = np.flatnonzero(is_single)
    try:
        train, test = train_test_split(
            np.flatnonzero(~is_single),
            test_size=options.test_size,
            random_state=options.seed,
            stratify=codes[~is_single],
        )
    except ValueError:
        raise ValueError(
            f"{options.data}: {len(y)} rows are too few to hold out a share of "
            f"{options.test_size:g} with all {len(values)} classes on both sides (class "
            f"{values[counts.argmin()]!s} has {counts.min()}). Use more rows, or another "
            "--test-size."
        ) from None
    if len(singles):
        console.note(
            f"Classes of one row, which is not held out: {listed(list(map(str, y[singles])))}."
        )
    train = np.append(train, singles)
    return [_safe_indexing(X, train), _safe_indexing(X, test), y[train], y[test]]


def train(
    estimator: E, X: pd.DataFrame, y: NDArray[np.generic], **of_rows: Any
) -> tuple[E, dict[str, object]]:
    """Fit a clone; return the model, whose findings name rows of the file, and why it stopped."""
    estimator = clone(estimator)
    show: Callable[[float, str], None]

    def watch(step: Step) -> None:
        progress = step.progress
        assert progress is not None, "callbacks are told the progress"
        path = f"path {progress.path} of {progress.n_paths}"
        show(progress.share, f"{path}, step {step.k}, {count(step.n_atoms, 'atom')}")

    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, console.progress() as show:
        warnings.filterwarnings("always", message="Reading and checking the data")
        estimator.set_callbacks(watch).fit(
            X,
            y,
            **of_rows,
        )
        estimator.set_callbacks()
    seconds = time.perf_counter() - start
    index = getattr(
        X,
        "index",
        None,
    )  # of sparse rows there is none
    estimator.findings_ = tuple(
        replace(finding, rows=() if index is None else tuple(sorted(index[list(finding.rows)])))
        for finding in estimator.findings_
    )
    for warning in caught:
        console.note(str(warning.message))
    statuses = [member.status for member in estimator.members_]
    status = statuses[0]
    if Status.TIME_LIMIT in statuses:
        status = Status.TIME_LIMIT
    reason = status.value
    is_chosen = "cv_results_" in vars(estimator) and estimator.max_iter == "auto"
    if is_chosen and status is not Status.TIME_LIMIT:
        reason = "The number of steps was chosen by held-out rows."
    return estimator, {
        "status": status.name.lower(),
        "reason": reason,
        "steps": max(member.trace.n_steps for member in estimator.members_),
        "seconds": seconds,
        "time_limit": estimator.time_limit,
    }
