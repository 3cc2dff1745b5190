"""Fitted models of every kind, for the tests of model files."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

from fcgboost import (
    AdmmSolver,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
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
from fcgboost.io import json_schema, split_model
from fcgboost.losses import SquaredHinge
from fcgboost.tables import TableEncoder

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


def search() -> FCGBoostClassifierCV:
    X, y = sample()
    return FCGBoostClassifierCV(
        ["gauss", "relu"], [0.01, "auto"], cv=2, max_iter=4, random_state=0
    ).fit(X, y)


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


def pipeline() -> Pipeline:
    X, y = table()
    steps = [
        ("table", TableEncoder(max_levels=8)),
        ("boost", FCGBoostClassifier("gauss", max_iter=5)),
    ]
    return Pipeline(steps).fit(X, y)


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
    "search": search,
    "truncated search": lambda: search().truncate(2),
    "pipeline": pipeline,
    "table": lambda: FCGBoostClassifier(max_iter=9, random_state=0).fit(*table()),
    "table of trees": lambda: FCGBoostClassifier("tree", max_iter=5).fit(*table()),
    "gaps": lambda: fit(3, codes_of, dictionary=union(), max_iter=9),
}
MODELS = {name: functools.cache(make) for name, make in MODELS.items()}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def rows_of(model: Any) -> Any:
    if isinstance(model, Pipeline) or any(one.kind == "category" for one in model.columns_):
        return table(20)[0]
    X = np.random.default_rng(1).random((20, model.n_features_in_))
    names_in = getattr(model, "feature_names_in_", None)
    return X if names_in is None else pd.DataFrame(X, columns=names_in)


def classifier_of(model: Any) -> Any:
    return split_model(model)[1]


def valid(path: Path) -> dict[str, Any]:
    """Return the document in a file, which the published schema accepts."""
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document
