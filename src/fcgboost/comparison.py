"""Comparison with the other classifiers that are installed, on one split."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from fcgboost.evaluation import Score, evaluate

__all__ = ["Comparison", "Row", "compare", "installed_methods"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
#: A data frame or a sparse matrix.
Rows: TypeAlias = Any
# Texts of a column that get a column of their own, the others sharing one.
_MAX_LEVELS = 32


@dataclass(frozen=True)
class Row:
    """The result of one method."""

    method: str
    #: Empty if the method failed; `note` says why.
    scores: Mapping[str, Score] = field(default_factory=dict)
    #: The time of `fit`.
    seconds: float = 0.0
    #: The size of the fitted model in words.
    size: str = ""
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results of all methods on the same split."""

    #: "n_train", "n_test", "n_columns" (of the table, as fcgboost sees it), "n_features" (encoded
    #: columns, as the others see it), "classes" (with shares), "test_size", "random_state",
    #: "n_threads" (per method).
    data: Mapping[str, object]
    #: Best accuracy first.
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        rows = []
        for row in self.rows:
            scores = {name: score.to_dict() for name, score in row.scores.items()}
            rows.append({**vars(row), "scores": scores})
        return {"data": dict(self.data), "rows": rows}


@dataclass(frozen=True)
class Method:
    """A classifier to compare."""

    #: The module and the name of its class.
    path: str
    #: Returns the size of a fitted model in words.
    size: Callable[[BaseEstimator], str]
    #: Parameters that differ from the defaults.
    parameters: Mapping[str, object] = field(default_factory=dict)
    #: The parameter for the number of threads, if any.
    threads: str | None = None
    #: Whether to standardise the columns.
    is_scaled: bool = False
    max_rows: int | None = None

    @property
    def needs(self) -> str:
        return self.path.partition(".")[0]

    def make(self, seed: int, n_threads: int) -> BaseEstimator:
        """Import the class and return a classifier."""
        threads = {} if self.threads is None else {self.threads: n_threads}
        make = resolve_name(self.path)
        return make(random_state=seed, **threads, **self.parameters)


def _atoms(fitted: BaseEstimator) -> str:
    return f"{fitted.n_atoms_} atoms"


def _leaves(fitted: BaseEstimator) -> str:
    return f"{sum(tree.tree_.n_leaves for tree in fitted.estimators_)} leaves"


#: The baseline, which is always in the table.
BASELINE = "most frequent class"

#: The methods by name.
METHODS: Mapping[str, Method] = {
    "fcgboost": Method("fcgboost.FCGBoostClassifier", _atoms, threads="n_jobs"),
    "fcgboost compact": Method(
        "fcgboost.FCGBoostClassifier",
        _atoms,
        {"dictionary": "compact"},
        threads="n_jobs",
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
    X: object,
    y: ArrayLike,
    *,
    methods: Sequence[str] | None = None,
    test_size: float = 0.25,
    random_state: int = 0,
    n_threads: int = 1,
    watch: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit classifiers on one part of the data and score them on the rest.

    fcgboost reads the table itself. The others get numbers that scikit-learn's transformers make
    of it, fitted on the training part: medians in place of missing values, a column that marks
    these, frequent texts one-hot encoded, and of dates also month, weekday and hour. A method that
    fails gets a row that says why. The baseline, the most frequent class, is always included.

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
    table = _table_of(X)
    X_train, X_test, y_train, y_test = train_test_split(
        table,
        codes,
        stratify=codes,
        **split,
    )
    preparation = _preparation(table)
    train = preparation.fit_transform(X_train)
    test = preparation.transform(X_test)
    rows = []
    for name in names:
        if watch is not None:
            watch(name)
        is_ours = METHODS[name].needs == "fcgboost"
        rows.append(
            _run(
                name,
                random_state,
                n_threads,
                (X_train if is_ours else train, y_train),
                (X_test if is_ours else test, y_test),
            )
        )
    rows.sort(key=lambda row: -row.scores["accuracy"].value if row.scores else np.inf)
    shares = zip(classes, np.bincount(codes) / len(codes), strict=True)
    data = {
        "n_train": len(y_train),
        "n_test": len(y_test),
        "n_columns": table.shape[1],
        "n_features": train.shape[1],
        "classes": {str(name): float(share) for name, share in shares},
        **split,
        "n_threads": n_threads,
    }
    return Comparison(data, tuple(rows))


def _table_of(X: Rows) -> Rows:
    """Return sparse rows as they are, anything else as a data frame of pandas."""
    if sparse.issparse(X):
        return X.tocsr()
    try:
        import pandas as pd
    except ImportError as error:
        problem = "compare needs pandas: python -m pip install 'fcgboost[tables]'."
        raise ImportError(problem) from error
    if hasattr(X, "to_pandas"):  # a table of polars or Arrow
        return X.to_pandas()
    return pd.DataFrame(X).infer_objects()


def _preparation(table: Rows) -> TransformerMixin:
    """Return the transformer that makes numbers of a table for the other methods."""
    if sparse.issparse(table):
        return FunctionTransformer()
    # A column may be empty in the training part alone.
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    encode = OneHotEncoder(
        min_frequency=2,
        max_categories=_MAX_LEVELS + 1,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    dates = make_column_selector(dtype_include=["datetime", "datetimetz"])
    numbers = make_column_selector(dtype_include="number", dtype_exclude="timedelta")
    steps = [
        ("numbers", fill, numbers),
        ("dates", make_pipeline(FunctionTransformer(_parts_of_dates), fill), dates),
    ]
    as_texts = FunctionTransformer(lambda levels: levels.astype(str))
    return ColumnTransformer(steps, remainder=make_pipeline(as_texts, encode))


def _parts_of_dates(dates: Rows) -> Array:
    columns = []
    for name in dates:
        date = dates[name].dt
        columns += [date.year + date.day_of_year / 366.0, date.month, date.day_of_week, date.hour]
    return np.column_stack(columns)


def _check_methods(names: Sequence[str]) -> list[str]:
    """Return the canonical names of methods, without duplicates."""
    spellings = {name.casefold(): name for name in METHODS}
    methods = []
    for name in names:
        if name.casefold() not in spellings:
            raise ValueError(f"Unknown method {name!r}: choose from {', '.join(METHODS)}.")
        method = spellings[name.casefold()]
        package = METHODS[method].needs
        if find_spec(package) is None:
            raise ImportError(f"{method} needs the package {package}.")
        methods.append(method)
    return list(dict.fromkeys(methods))


#: Rows and the codes of their classes.
_Part = tuple[Rows, Codes]


def _run(
    name: str,
    seed: int,
    n_threads: int,
    train: _Part,
    test: _Part,
) -> Row:
    method = METHODS[name]
    most = method.max_rows
    if most is not None and train[0].shape[0] > most:
        return Row(name, note=f"left out: more than {most:,} rows would take too long")
    try:
        classifier = method.make(seed, n_threads)
        scaler = StandardScaler(with_mean=not sparse.issparse(train[0]))
        model = make_pipeline(scaler, classifier) if method.is_scaled else classifier
        # The limits apply to libraries that are loaded by now, including the method's own.
        with warnings.catch_warnings(record=True) as caught, threadpool_limits(n_threads):
            warnings.simplefilter("always")
            start = time.perf_counter()
            model.fit(*train)
            seconds = time.perf_counter() - start
            scores = evaluate(model, *test).scores
            size = method.size(classifier)
    except Exception as error:
        # A failure is a result and does not end the comparison.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Row(name, note=f"failed: {lines[0]}")
    # Of the warnings, only this one matters here.
    is_open = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return Row(
        name,
        scores,
        seconds,
        size,
        "did not converge" if is_open else "",
    )
