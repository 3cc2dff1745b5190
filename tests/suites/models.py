"""Fitted models of every kind, for the tests of model files."""

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fcgboost import (
    AdmmSolver,
    FCGBoostClassifier,
    FCGBoostRegressor,
    SampledCandidates,
    Shrinkage,
)
from fcgboost.dictionaries import (
    GaussDictionary,
    InnerProductDictionary,
    LinearDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.greedy.path import Trace
from fcgboost.io import json_schema
from fcgboost.losses import SquaredHinge
from fcgboost.members import Member
from fcgboost.stopping import Step

DICTIONARIES = ("gauss", "polynomial", "sigmoid", "relu")
LOSSES = ("squared_hinge", "hinge", "cubed_hinge", "square")
SCHEMA = json_schema()


class Waves(InnerProductDictionary):
    """A dictionary of a user's own."""

    def __init__(self, width: Any = 1.0) -> None:
        self.width = width

    def candidates(self, sample: Any, n: int, key: int) -> Any:
        w = np.random.default_rng(key).standard_normal((n, sample.n_features)) / self.width
        return np.column_stack([w / sample.scale, np.zeros(n)])

    def profile(self, z: Any) -> Any:
        return np.cos(z)

    def slope(self, z: Any) -> Any:
        return -np.sin(z)


class Bounded(SquaredHinge):
    """A loss of a user's own."""

    def __init__(self, bound: float = 2.0) -> None:
        self.bound = bound


def sample(n_classes: int = 2, n_samples: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.where((X := rng.random((n_samples, 3))) > 0.3, X, 0.0)
    y = (np.digitize(X[:, 1], [0.3, 0.7]) + (rng.random(n_samples) < 0.2)) % n_classes
    return X, y


def fit(n_classes: int = 2, make: Callable[[Any], Any] = np.asarray, **changes: Any) -> Any:
    X, y = sample(n_classes)
    settings = {"dictionary": "gauss", "max_iter": 7, "random_state": 0, **changes}
    return FCGBoostClassifier(**settings).fit(make(X), y)


def codes_of(X: Any, n: int = 9) -> Any:
    codes = np.floor(n * X)
    codes[::9] = np.nan
    return codes


def union() -> UnionDictionary:
    trees = TreeDictionary(depth=2, min_leaf=2, categorical_features=[0])
    families = [ReluDictionary(), trees, GaussDictionary(), LinearDictionary()]
    return UnionDictionary(families)


def table(n_samples: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = sample(n_samples=n_samples)
    frame = pd.DataFrame({"size": X[:, 0], "größe \u0001": X[:, 1], "one": 1})
    frame["colour"] = np.array(["red", "blue", 'a "quote"', "rare"])[
        np.r_[3, np.arange(n_samples - 1) % 3]
    ]
    frame["day"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(np.arange(n_samples), unit="D")
    frame.loc[[3, 5], "size"] = np.nan
    frame.loc[7, "colour"] = None
    return frame, np.array(["no", "yes"])[y]


def fit_numbers(dictionary: Any, X: Any = None, **parameters: Any) -> Any:
    """Return a regressor of a table, or of other rows."""
    frame, y = table()
    X = frame if X is None else X
    target = 1e3 + 50.0 * (y == "yes") + np.arange(len(y)) % 7
    return FCGBoostRegressor(dictionary, random_state=0, **parameters).fit(X, target)


def blend(*classifiers: Any) -> Any:
    """Return a classifier with the members of all, whose weights differ."""
    members = [member for classifier in classifiers for member in classifier.members_]
    total = len(members) * (len(members) + 1) / 2
    blended = copy.copy(classifiers[0])
    blended.members_ = tuple(
        replace(member, weight=(i + 1) / total) for i, member in enumerate(members)
    )
    return blended


def forest() -> TreeDictionary:
    return TreeDictionary(4, min_leaf=2, max_leaf_nodes=6, corrects_leaves=True)


def folds_of_a_table() -> Any:
    """Return members of other rows of one table, each of which encodes its columns by itself."""
    frame, y = table()  # the only row of a level, the first, is in every part
    n = len(y)
    return blend(
        *(
            FCGBoostClassifier(dictionary, max_iter=n_steps).fit(
                frame, y, sample_weight=np.where(np.arange(n) % 4 == fold, 0.0, 1.0)
            )
            for fold, dictionary, n_steps in [(1, union(), 6), (2, union(), 4), (2, forest(), 9)]
        )
    )


MODELS: dict[str, Callable[[], Any]] = {
    **{
        f"{dictionary}, {loss}": functools.partial(fit, dictionary=dictionary, loss=loss)
        for dictionary in DICTIONARIES
        for loss in LOSSES
    },
    "three classes": lambda: fit(3),
    "three classes, classical": lambda: fit(3, scheme="shrinkage", loss="hinge"),
    "sparse matrix": lambda: fit(make=sparse.csr_matrix),
    "sparse array, three classes": lambda: fit(3, make=sparse.csr_array, loss="square"),
    "validation": lambda: fit(validation_fraction=0.3, scheme=Shrinkage(0.5)),
    "early stopping": lambda: fit(n_iter_no_change=2, max_iter=40),
    "sampled": lambda: fit(selection=SampledCandidates(9), l2=0.0, solver=AdmmSolver(max_iter=9)),
    "truncated": lambda: fit(3).truncate(3),
    "no atoms": lambda: fit().truncate(0),
    "no atoms, sparse": lambda: fit(make=sparse.csr_array).truncate(0),
    "names": lambda: FCGBoostClassifier("gauss", max_iter=3).fit(
        pd.DataFrame(sample()[0], columns=["a\n", "é\u2028", "\U0001f600\0"]), sample()[1]
    ),
    "step": lambda: fit(3, dictionary="step"),
    "linear": lambda: fit(dictionary="linear"),
    "directions": lambda: fit(3, dictionary="direction"),
    "trees": lambda: fit(dictionary=TreeDictionary(depth=2)),
    "corrected leaves": lambda: fit(
        3, dictionary=TreeDictionary(4, min_leaf=2, max_leaf_nodes=6, corrects_leaves=True)
    ),
    "corrected leaves of codes": lambda: fit(
        3,
        lambda X: np.floor(255.0 * X),
        dictionary=TreeDictionary(
            *(4, 2), max_leaf_nodes=6, corrects_leaves=True, categorical_features=[0, 1]
        ),
    ),
    "trees, three classes": lambda: fit(3, dictionary=TreeDictionary(min_leaf=2)),
    "union": lambda: fit(dictionary=union(), clip=1.5),
    "union, three classes": lambda: fit(3, dictionary=union(), max_iter=9),
    "union, sparse": lambda: fit(make=sparse.csr_matrix, dictionary=union()),
    "union, truncated": lambda: fit(dictionary=union()).truncate(4),
    "auto": lambda: fit(dictionary="auto", max_iter=9),
    "compact": lambda: fit(3, dictionary="compact", max_iter=5),
    "removal": lambda: fit(dictionary="relu", removal=0.9, max_iter=30, selection="sampled"),
    "removal, three classes": lambda: fit(3, removal=0.9, max_iter=30, dictionary=union()),
    "limits": lambda: fit(clip=1.5),
    "limits, sparse": lambda: fit(3, make=sparse.csr_array, clip=0.5, dictionary="relu"),
    "ensemble": lambda: blend(fit(), fit(dictionary=union()), fit(dictionary="relu", max_iter=3)),
    "ensemble, three classes": lambda: blend(
        fit(3, dictionary=union(), removal=0.9, max_iter=20),
        fit(3, dictionary=forest()),
    ),
    "ensemble, sparse": lambda: blend(
        fit(make=sparse.csr_matrix), fit(make=sparse.csr_matrix, dictionary="relu")
    ),
    "ensemble, truncated": lambda: blend(fit(), fit(dictionary="relu", max_iter=3)).truncate(4),
    "folds of a table": folds_of_a_table,
    "folds of a table, truncated": lambda: folds_of_a_table().truncate(5),
    "table": lambda: FCGBoostClassifier("fast", max_iter=9, random_state=0).fit(*table()),
    "table of trees": lambda: FCGBoostClassifier("tree", max_iter=5).fit(*table()),
    "regression": lambda: fit_numbers("fast", max_iter=6, cv=2),
    "regression, folds": lambda: fit_numbers("auto", max_iter=4, cv=3),
    "regression, sparse": lambda: fit_numbers("relu", sparse.csr_array(sample()[0]), max_iter=4),
    "gaps": lambda: fit(3, codes_of, dictionary=union(), max_iter=9),
}
MODELS = {name: functools.cache(make) for name, make in MODELS.items()}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def rows_of(model: Any) -> Any:
    if model._table_columns_ is not None:
        return table(20)[0]
    X = np.random.default_rng(1).random((20, model.n_features_in_))
    names_in = getattr(model, "feature_names_in_", None)
    return X if names_in is None else pd.DataFrame(X, columns=names_in)


def valid(path: Path) -> dict[str, Any]:
    """Return the document in a file, which the published schema accepts."""
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def assert_identical(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    if sparse.issparse(first):
        assert first.shape == second.shape
        for name in ("data", "indices", "indptr"):
            assert_identical(getattr(first, name), getattr(second, name))
    elif isinstance(first, np.ndarray):
        assert (first.dtype, first.shape) == (second.dtype, second.shape)
        is_object = first.dtype == object
        assert first.tolist() == second.tolist() if is_object else bytes(first) == bytes(second)
    elif isinstance(first, Step | Trace):
        assert_identical(vars(first), vars(second))
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for name, value in first.items():
            assert_identical(value, second[name])
    elif isinstance(first, tuple | list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_identical(one, other)
    else:
        assert repr(first) == repr(second)


def assert_same_model(first: Any, second: Any, *, has_path: bool = True) -> None:
    """Compare two models bit by bit, in all that they can do."""
    X = rows_of(first)
    methods = ["predict", *(["staged_predict"] if has_path else [])]
    if hasattr(first, "classes_"):
        methods += ["decision_function", *(["staged_decision_function"] if has_path else [])]
        assert_identical(first.classes_, second.classes_)
    if hasattr(first, "predict_proba"):
        methods += ["predict_proba", *(["staged_predict_proba"] if has_path else [])]
    for method in methods:
        values = [getattr(model, method)(X) for model in (first, second)]
        assert_identical(*(v if isinstance(v, np.ndarray) else list(v) for v in values))
    for name in (
        "n_features_in_",
        "feature_importances_",
        "columns_",
        "_table_columns_",
    ):
        assert_identical(getattr(first, name), getattr(second, name))
    errors = [model._errors_ and vars(model._errors_) for model in (first, second)]
    assert_identical(*errors)
    if hasattr(first, "feature_names_in_"):
        assert_identical(first.feature_names_in_, second.feature_names_in_)
    for one, other in zip(first.members_, second.members_, strict=True):
        assert_same_member(one, other, has_path=has_path)
    if has_path:
        is_path = len(first.members_) == 1
        for k in range((first.trace_.n_steps if is_path else first.n_iter_) + 1):
            short = [model.truncate(k)._decision(X) for model in (first, second)]
            assert_identical(*short)


def assert_same_member(first: Member, second: Member, *, has_path: bool) -> None:
    """Compare two members bit by bit."""
    for name in ("n_iter", "l2", "weight", "status"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("atoms", "coef", "intercept", "scale", "entered"):
        assert_identical(getattr(first.model, name), getattr(second.model, name))
    assert type(first.model.dictionary) is type(second.model.dictionary)
    limits = [member.model.limits and vars(member.model.limits) for member in (first, second)]
    assert_identical(*limits)
    assert type(first.inputs) is type(second.inputs)
    if first.inputs is not None and second.inputs is not None:
        assert first.inputs.columns == second.inputs.columns
    if has_path:
        assert_identical(first.trace, second.trace)
    else:
        assert not second.has_path
