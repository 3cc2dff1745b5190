"""Ours beside the classifiers that are installed: one split, one encoding, one thread each."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier
from fcgboost.files import write_whole
from fcgboost.scores import Score, evaluate
from fcgboost.tables import TableEncoder

# A support vector machine's time grows with the square of the rows.
_MANY_ROWS = 20_000
_FORMAT = "fcgboost comparison"


@dataclass(frozen=True)
class Row:
    """One method's result.

    Attributes
    ----------
    method : str
    scores : dict from str to Score
        Empty if the method could not be fitted or scored; `note` says why.
    seconds : float
        The time of `fit`, on as many threads as the comparison's data say.
    size : str
        What the fitted model is made of.
    note : str
    """

    method: str
    scores: Mapping[str, Score]
    seconds: float
    size: str
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results of all methods on the same split.

    Attributes
    ----------
    data : dict
        "n_train", "n_test", "n_columns" (of the table), "n_features" (the columns of numbers made
        from them, which every method is given), "classes" (their shares), "test_size",
        "random_state", "n_threads" (of every method).
    rows : tuple of Row
        Best accuracy first.
    """

    data: Mapping[str, Any]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the comparison as JSON has it."""
        rows = [
            {
                "method": row.method,
                "scores": {name: score.to_dict() for name, score in row.scores.items()},
                "seconds": row.seconds,
                "size": row.size,
                "note": row.note,
            }
            for row in self.rows
        ]
        return {"format": _FORMAT, "data": dict(self.data), "rows": rows}


def save_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison to a file, as JSON."""
    write_whole(path, json.dumps(comparison.to_dict(), indent=1, allow_nan=False) + "\n")


def is_comparison(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file holds a stored comparison, by its first words."""
    try:
        with open(path, "rb") as file:
            return _FORMAT.encode() in file.read(64)
    except OSError:
        return False


def load_comparison(path: str | os.PathLike[str]) -> Comparison:
    """Read a stored comparison; a damaged file is a ValueError."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found["format"] != _FORMAT:
            raise ValueError("it holds something else")
        rows = tuple(
            Row(
                method=str(row["method"]),
                scores={str(name): Score.from_dict(one) for name, one in row["scores"].items()},
                seconds=float(row["seconds"]),
                size=str(row["size"]),
                note=str(row["note"]),
            )
            for row in found["rows"]
        )
        return Comparison(dict(found["data"]), rows)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no comparison that fcgboost stored: {error!r}.") from error


@dataclass(frozen=True)
class _Rival:
    """A classifier to compare with.

    Attributes
    ----------
    make : callable
        Gives the classifier from a seed.
    size : callable
        Says what a fitted one is made of.
    needs : str
        The package it comes from.
    threads : str or None
        Its parameter that says how many threads it may use; None if it has none and its
        libraries' limits are all there is.
    is_scaled : bool
        Whether it expects columns of one scale.
    max_rows : int or None
    """

    make: Callable[[int], Any]
    size: Callable[[Any], str]
    needs: str = "sklearn"
    threads: str | None = None
    is_scaled: bool = False
    max_rows: int | None = None


def _from(package: str, name: str, **parameters: Any) -> Callable[[int], Any]:
    """Give a function that imports a classifier where it is wanted."""

    def make(seed: int) -> Any:
        module = import_module(package)
        return getattr(module, name)(random_state=seed, **parameters)

    return make


#: What any method must beat: it is always in the table.
BASELINE = "most frequent class"

#: The methods' names, and how they are made.
METHODS: Mapping[str, _Rival] = {
    "fcgboost": _Rival(
        lambda seed: FCGBoostClassifier(random_state=seed),
        lambda fitted: f"{fitted.n_atoms_} atoms",
        threads="n_jobs",
    ),
    "fcgboost compact": _Rival(
        lambda seed: FCGBoostClassifier("compact", random_state=seed),
        lambda fitted: f"{fitted.n_atoms_} atoms",
        threads="n_jobs",
    ),
    "logistic regression": _Rival(
        lambda seed: LogisticRegression(max_iter=1000, random_state=seed),
        lambda fitted: f"{fitted.coef_.size} coefficients",
        is_scaled=True,
    ),
    "SVC (RBF)": _Rival(
        lambda seed: SVC(random_state=seed),
        lambda fitted: f"{len(fitted.support_)} support vectors",
        is_scaled=True,
        max_rows=_MANY_ROWS,
    ),
    "random forest": _Rival(
        lambda seed: RandomForestClassifier(random_state=seed),
        lambda fitted: f"{sum(tree.tree_.n_leaves for tree in fitted.estimators_)} leaves",
        threads="n_jobs",
    ),
    "AdaBoost": _Rival(
        lambda seed: AdaBoostClassifier(random_state=seed),
        lambda fitted: f"{sum(tree.tree_.n_leaves for tree in fitted.estimators_)} leaves",
    ),
    "HistGradientBoosting": _Rival(
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda fitted: f"{fitted.n_iter_ * fitted.n_trees_per_iteration_} trees",
    ),
    "LightGBM": _Rival(
        _from("lightgbm", "LGBMClassifier", verbose=-1),
        lambda fitted: f"{fitted.booster_.num_trees()} trees",
        needs="lightgbm",
        threads="n_jobs",
    ),
    "XGBoost": _Rival(
        _from("xgboost", "XGBClassifier", verbosity=0),
        lambda fitted: f"{len(fitted.get_booster().get_dump())} trees",
        needs="xgboost",
        threads="n_jobs",
    ),
    "CatBoost": _Rival(
        _from("catboost", "CatBoostClassifier", verbose=False, allow_writing_files=False),
        lambda fitted: f"{fitted.tree_count_} trees",
        needs="catboost",
        threads="thread_count",
    ),
    BASELINE: _Rival(
        lambda seed: DummyClassifier(strategy="prior", random_state=seed),
        lambda fitted: f"{len(fitted.class_prior_)} shares",
    ),
}


def installed_methods() -> list[str]:
    """Name the methods whose package is installed."""
    return [name for name, rival in METHODS.items() if find_spec(rival.needs) is not None]


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | None = None,
    test_size: float = 0.25,
    random_state: int = 0,
    n_threads: int = 1,
    watch: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit classifiers on one part of the data and score them on the rest.

    All see the same numbers: the table as `TableEncoder` gives it, fitted on the training part.
    A method that fails, in fitting or in scoring, is a row that says why. The most frequent class
    is always among them, with the shares of the classes as its probabilities.
    All have the default settings of their libraries (ours chooses its ridge and its number of
    steps on rows that it sets aside), so this is a first look and no verdict: tuning may change
    the order.

    Parameters
    ----------
    X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    methods : sequence of str or None, default=None
        Some of `METHODS`, in any case of letters; None is all that are installed.
    test_size : float, default=0.25
    random_state : int, default=0
    n_threads : int, default=1
        How many threads every method may use. With one each, the times compare like with like,
        and those of a busy machine still mean something.
    watch : callable or None, default=None
        Called with the name of every method before it is fitted.

    Returns
    -------
    Comparison
    """
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1; got {n_threads}.")
    names = _check_methods(installed_methods() if methods is None else [*methods, BASELINE])
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    # Whole numbers as classes, which XGBoost asks for, are the same to all others.
    parts = train_test_split(
        X, codes, test_size=test_size, random_state=random_state, stratify=codes
    )
    encoder = TableEncoder()
    train, test = encoder.fit_transform(parts[0]), encoder.transform(parts[1])
    rows = []
    for name in names:
        if watch is not None:
            watch(name)
        rows.append(_run(name, random_state, n_threads, (train, parts[2]), (test, parts[3])))
    rows.sort(key=lambda row: -row.scores["accuracy"].value if row.scores else np.inf)
    shares = np.bincount(codes) / len(codes)
    data = {
        "n_train": train.shape[0],
        "n_test": test.shape[0],
        "n_columns": encoder.n_features_in_,
        "n_features": train.shape[1],
        "classes": {str(name): float(share) for name, share in zip(classes, shares, strict=True)},
        "test_size": test_size,
        "random_state": random_state,
        "n_threads": n_threads,
    }
    return Comparison(data, tuple(rows))


def _check_methods(names: Sequence[str]) -> list[str]:
    """Return the methods' names as `METHODS` has them, each once."""
    known = {name.casefold(): name for name in METHODS}
    found = []
    for name in names:
        if name.casefold() not in known:
            close = get_close_matches(name.casefold(), known, n=1)
            hint = f" Did you mean {known[close[0]]!r}?" if close else ""
            raise ValueError(f"Unknown method {name!r}: choose among {', '.join(METHODS)}.{hint}")
        found.append(known[name.casefold()])
        if find_spec(METHODS[found[-1]].needs) is None:
            raise ImportError(f"{found[-1]} needs the package {METHODS[found[-1]].needs}.")
    return list(dict.fromkeys(found))


_Part = tuple[Any, NDArray[np.intp]]


def _run(name: str, seed: int, n_threads: int, train: _Part, test: _Part) -> Row:
    rival = METHODS[name]
    if rival.max_rows is not None and train[0].shape[0] > rival.max_rows:
        note = f"left out: more than {rival.max_rows:,} rows would take too long"
        return Row(name, {}, 0.0, "", note)
    try:
        return _fit_and_score(name, seed, n_threads, train, test)
    except Exception as error:
        # Another library's refusal is a result: it does not end the comparison.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Row(name, {}, 0.0, "", f"failed: {lines[0]}")


def _fit_and_score(name: str, seed: int, n_threads: int, train: _Part, test: _Part) -> Row:
    rival = METHODS[name]
    inner = rival.make(seed)
    if rival.threads is not None:
        inner.set_params(**{rival.threads: n_threads})
    scaler = StandardScaler(with_mean=not sparse.issparse(train[0]))
    whole = make_pipeline(scaler, inner) if rival.is_scaled else inner
    # The limits reach the libraries that are loaded by now, the rival's own among them.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(n_threads):
        warnings.simplefilter("always")
        start = time.perf_counter()
        whole.fit(*train)
        seconds = time.perf_counter() - start
        scores = evaluate(whole, *test)
    return Row(name, scores, seconds, rival.size(inner), _notes(caught))


def _notes(caught: Sequence[warnings.WarningMessage]) -> str:
    """Say what of other libraries' warnings matters here."""
    is_open = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return "did not converge" if is_open else ""
