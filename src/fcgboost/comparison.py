"""Comparison with the other classifiers that are installed, on one split."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from fcgboost.files import write_whole
from fcgboost.scores import Score, as_data, evaluate
from fcgboost.tables import TableEncoder
from fcgboost.tables.encoder import closest

_FORMAT = "fcgboost comparison"


@dataclass(frozen=True)
class Row:
    """The result of one method."""

    method: str
    #: Empty if the method failed; `note` says why.
    scores: Mapping[str, Score]
    #: The time of `fit`.
    seconds: float
    #: The size of the fitted model in words.
    size: str
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results of all methods on the same split."""

    #: "n_train", "n_test", "n_columns" (of the table, as fcgboost sees it), "n_features" (encoded
    #: columns, as the others see it), "classes" (with shares), "test_size", "random_state",
    #: "n_threads" (per method).
    data: Mapping[str, Any]
    #: Best accuracy first.
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        rows = [{**vars(row), "scores": as_data(row.scores)} for row in self.rows]
        return {"format": _FORMAT, "data": dict(self.data), "rows": rows}


def save_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Save a comparison as JSON."""
    write_whole(path, json.dumps(comparison.to_dict(), indent=1, allow_nan=False) + "\n")


def is_comparison(path: str | os.PathLike[str]) -> bool:
    """Return whether a file starts like a saved comparison."""
    try:
        with open(path, "rb") as file:
            return _FORMAT.encode() in file.read(64)
    except OSError:
        return False


def load_comparison(path: str | os.PathLike[str]) -> Comparison:
    """Load a saved comparison; raise a ValueError if the file is damaged."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found["format"] != _FORMAT:
            raise ValueError("it holds something else")
        rows, data = [], dict(found["data"])
        numbers: list[float] = [index(n) for name, n in data.items() if name.startswith("n_")]
        numbers += map(float, data.get("classes", {}).values())
        for row in found["rows"]:
            scores = {str(name): Score.from_dict(one) for name, one in row["scores"].items()}
            size, note, seconds = str(row["size"]), str(row["note"]), float(row["seconds"])
            rows.append(Row(str(row["method"]), scores, seconds, size, note))
            numbers += [seconds, *(end for one in scores.values() for end in (one.value, one.low))]
            numbers += [scores["accuracy"].high] if scores else []
        if not np.isfinite(numbers).all():
            raise ValueError("a number is not finite")
        return Comparison(data, tuple(rows))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is not a comparison saved by fcgboost: {error!r}.") from error


@dataclass(frozen=True)
class Method:
    """A classifier to compare."""

    #: The module and the name of its class.
    path: str
    #: Returns the size of a fitted model in words.
    size: Callable[[Any], str]
    #: Parameters that differ from the defaults.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: The parameter for the number of threads, if any.
    threads: str | None = None
    #: Whether to standardise the columns.
    is_scaled: bool = False
    max_rows: int | None = None

    @property
    def needs(self) -> str:
        return self.path.partition(".")[0]

    def make(self, seed: int, n_threads: int) -> Any:
        """Import the class and return a classifier."""
        module, _, name = self.path.rpartition(".")
        threads = {} if self.threads is None else {self.threads: n_threads}
        made = getattr(import_module(module), name)(random_state=seed, **threads, **self.parameters)
        if self.needs == "fcgboost":
            made._accepts_strays = True  # as does the encoder for the others
        return made


def _atoms(fitted: Any) -> str:
    return f"{fitted.n_atoms_} atoms"


def _leaves(fitted: Any) -> str:
    return f"{sum(tree.tree_.n_leaves for tree in fitted.estimators_)} leaves"


#: The baseline, which is always in the table.
BASELINE = "most frequent class"

#: The methods by name.
METHODS: Mapping[str, Method] = {
    "fcgboost": Method("fcgboost.FCGBoostClassifier", _atoms, threads="n_jobs"),
    "fcgboost compact": Method(
        "fcgboost.FCGBoostClassifier", _atoms, {"dictionary": "compact"}, threads="n_jobs"
    ),
    "logistic regression": Method(
        "sklearn.linear_model.LogisticRegression",
        lambda fitted: f"{fitted.coef_.size} coefficients",
        {"max_iter": 1000},
        is_scaled=True,
    ),
    "SVC (RBF)": Method(
        "sklearn.svm.SVC",
        lambda fitted: f"{len(fitted.support_)} support vectors",
        is_scaled=True,
        # Its time grows quadratically with the rows.
        max_rows=20_000,
    ),
    "random forest": Method("sklearn.ensemble.RandomForestClassifier", _leaves, threads="n_jobs"),
    "AdaBoost": Method("sklearn.ensemble.AdaBoostClassifier", _leaves),
    "HistGradientBoosting": Method(
        "sklearn.ensemble.HistGradientBoostingClassifier",
        lambda fitted: f"{fitted.n_iter_ * fitted.n_trees_per_iteration_} trees",
    ),
    "LightGBM": Method(
        "lightgbm.LGBMClassifier",
        lambda fitted: f"{fitted.booster_.num_trees()} trees",
        {"verbose": -1},
        threads="n_jobs",
    ),
    "XGBoost": Method(
        "xgboost.XGBClassifier",
        lambda fitted: f"{len(fitted.get_booster().get_dump())} trees",
        {"verbosity": 0},
        threads="n_jobs",
    ),
    "CatBoost": Method(
        "catboost.CatBoostClassifier",
        lambda fitted: f"{fitted.tree_count_} trees",
        {"verbose": False, "allow_writing_files": False},
        threads="thread_count",
    ),
    BASELINE: Method(
        "sklearn.dummy.DummyClassifier",
        lambda fitted: f"{len(fitted.class_prior_)} shares",
        {"strategy": "prior"},
    ),
}


def installed_methods() -> list[str]:
    """Return the names of the methods whose package is installed."""
    return [name for name, method in METHODS.items() if find_spec(method.needs) is not None]


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

    fcgboost reads the table itself; the others get the columns of a `TableEncoder` fitted on the
    training part. A method that fails gets a row that says why. The baseline, the most frequent
    class, is always included.

    All methods use the default settings of their libraries, so this is a first look rather than a
    verdict: tuning may change the order.

    Parameters
    ----------
    X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels.
    methods : sequence of str or None, default=None
        Names from `METHODS`, ignoring case; None means all that are installed.
    test_size : float, default=0.25
        The share of held-out rows.
    random_state : int, default=0
        Seed of the split and of the methods.
    n_threads : int, default=1
        The number of threads per method. With one, times are comparable even on a busy machine.
    watch : callable or None, default=None
        Called with the name of each method before it is fitted.

    Returns
    -------
    Comparison
    """
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, got {n_threads}.")
    names = _check_methods(installed_methods() if methods is None else [*methods, BASELINE])
    # XGBoost needs integer classes; the others accept them.
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    split = {"test_size": test_size, "random_state": random_state}
    train, test, *parts = train_test_split(X, codes, stratify=codes, **split)
    encoder = TableEncoder()
    numbers = encoder.fit_transform(train), encoder.transform(test)
    rows = []
    for name in names:
        if watch is not None:
            watch(name)
        given = (train, test) if METHODS[name].needs == "fcgboost" else numbers
        rows.append(_run(name, random_state, n_threads, *zip(given, parts, strict=True)))
    rows.sort(key=lambda row: -row.scores["accuracy"].value if row.scores else np.inf)
    sizes = {"n_train": len(parts[0]), "n_test": len(parts[1])}
    sizes |= {"n_columns": encoder.n_features_in_, "n_features": numbers[0].shape[1]}
    shares = zip(classes, np.bincount(codes) / len(codes), strict=True)
    known = {"classes": {str(name): float(share) for name, share in shares}}
    return Comparison({**sizes, **known, **split, "n_threads": n_threads}, tuple(rows))


def _check_methods(names: Sequence[str]) -> list[str]:
    """Return the canonical names of methods, without duplicates."""
    known = {name.casefold(): name for name in METHODS}
    found = []
    for name in names:
        if name.casefold() not in known:
            close = closest(name, METHODS)
            hint = "" if close is None else f" Did you mean {close!r}?"
            raise ValueError(f"Unknown method {name!r}: choose from {', '.join(METHODS)}.{hint}")
        found.append(known[name.casefold()])
        if find_spec(METHODS[found[-1]].needs) is None:
            raise ImportError(f"{found[-1]} needs the package {METHODS[found[-1]].needs}.")
    return list(dict.fromkeys(found))


_Part = tuple[Any, NDArray[np.intp]]


def _run(name: str, seed: int, n_threads: int, train: _Part, test: _Part) -> Row:
    method = METHODS[name]
    most = method.max_rows
    if most is not None and train[0].shape[0] > most:
        return Row(name, {}, 0.0, "", f"left out: more than {most:,} rows would take too long")
    try:
        inner = method.make(seed, n_threads)
        scaler = StandardScaler(with_mean=not sparse.issparse(train[0]))
        whole = make_pipeline(scaler, inner) if method.is_scaled else inner
        # The limits apply to libraries that are loaded by now, including the method's own.
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(n_threads):
            warnings.simplefilter("always")
            start = time.perf_counter()
            whole.fit(*train)
            seconds = time.perf_counter() - start
            scores, size = evaluate(whole, *test), method.size(inner)
    except Exception as error:
        # A failure is a result and does not end the comparison.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Row(name, {}, 0.0, "", f"failed: {lines[0]}")
    # Of the warnings, only this one matters here.
    is_open = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return Row(name, scores, seconds, size, "did not converge" if is_open else "")
