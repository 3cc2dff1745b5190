"""Small models of all kinds, with rows, and the texts of their files."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import FCGBoostClassifier, PolynomialDictionary
from fcgboost.dictionaries import LinearDictionary, StepDictionary, TreeDictionary, UnionDictionary
from fcgboost.io import save_model
from tests.suites.models import blend

N_ROWS = 50


@cache
def rows() -> Any:
    return np.where((X := np.random.default_rng(0).random((N_ROWS, 3))) > 0.2, X, 0.0)


@cache
def models() -> dict[str, tuple[Any, Any]]:
    """Return models of all kinds, and rows near their training data."""
    X, y = rows(), np.digitize(rows()[:, 1], [0.3, 0.6])
    table = np.column_stack([X.astype(object), np.array(["red", "blue"])[y % 2]])
    table[3, 0] = table[5, 3] = None
    two = TreeDictionary(2)
    given: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "gauss": (X, y, {"dictionary": "gauss"}),
        "far": (X + 1e6, y > 0, {"dictionary": "gauss"}),
        "polynomial": (X, y > 0, {"dictionary": PolynomialDictionary(3)}),
        "sigmoid": (X, y, {"dictionary": "sigmoid", "link": "power", "validation_fraction": 0.2}),
        "relu": (X, y, {"dictionary": "relu", "clip": 2.0}),
        "tree": (np.where(X > 0.9, np.nan, X), y, {"dictionary": two}),
        "trees": (X, y, {"dictionary": UnionDictionary([two, TreeDictionary(1)])}),
        "leaves": (X, y, {"dictionary": TreeDictionary(2, corrects_leaves=True)}),
        "union": (X, y, {"dictionary": UnionDictionary([LinearDictionary(), StepDictionary()])}),
        "auto": (X, y, {"dictionary": "auto"}),
        "sparse": (sparse.csr_array(X), y > 0, {"dictionary": "gauss"}),
        "table": (table, y, {"dictionary": "auto"}),
    }
    found = {}
    for name, (data, target, settings) in given.items():
        model = FCGBoostClassifier(**{"max_iter": 4, "random_state": 0, **settings})
        found[name] = model.fit(data, target), data
    found["members"] = blend(*(found[name][0] for name in ("union", "leaves", "relu"))), X
    return found


@cache
def texts(name: str, folder: Path) -> list[str]:
    path, found = folder / "seed.json", []
    for has_path, has_rows in [(False, True), (False, False), (True, True)]:
        save_model(models()[name][0], path, trace=has_path, background=has_rows)
        found.append(path.read_text())
    return found
