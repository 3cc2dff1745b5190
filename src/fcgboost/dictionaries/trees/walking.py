"""The values of trees at rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import _kernels
from fcgboost.arrays import is_tensor, namespace
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.nodes import N_CODES, Forest

# Values in one pass on a device.
_ENTRIES = 1 << 22


def values_of(forest: Forest, like: Any) -> Callable[[Any], Any]:
    """Return the values of trees as a function of rows, in the memory of an array like them."""
    if is_tensor(like):
        tables = _tables(forest, like)
        size = max(1, _ENTRIES // max(1, len(forest.roots)))
        return lambda X: namespace(X).concatenate([_walk(rows, tables) for rows in X.split(size)])

    @cache
    def over_used_columns() -> tuple[Any, Forest]:
        used, feature = np.unique(forest.feature, return_inverse=True)
        return used, dataclasses.replace(forest, feature=feature)

    def values(X: Any) -> Array:
        trees = forest
        if sparse.issparse(X):
            # Only the columns that are used are made dense.
            used, trees = over_used_columns()
            X = X[:, used].toarray()
        return _kernels.walk(np.ascontiguousarray(X, dtype=np.float64), trees)

    return values


def _tables(forest: Forest, like: Any) -> Forest:
    """Return a forest whose tables lie in the memory of a tensor."""
    xp = namespace(like)
    names = [field.name for field in dataclasses.fields(forest) if field.name != "depths"]
    tables = {name: xp.asarray(getattr(forest, name), device=like.device) for name in names}
    for name in ("threshold", "leaf"):
        tables[name] = tables[name].to(like.dtype)
    return dataclasses.replace(forest, **tables)


def _walk(X: Any, tables: Forest) -> Any:
    """Go down one level after the other, with all rows and trees at once."""
    xp = namespace(X)
    rows = xp.arange(X.shape[0], device=X.device)
    nodes = tables.roots[None, :] + xp.zeros_like(rows)[:, None]
    has_categories = tables.has_categories
    for _ in range(int(tables.depths.max(initial=0))):
        x = X[rows[:, None], tables.feature[nodes]]
        is_missing_right = tables.is_missing_right[nodes]
        is_right = (x > tables.threshold[nodes]) | (xp.isnan(x) & is_missing_right)
        if has_categories:
            other = _categories_right(x, tables.mask[nodes], is_missing_right)
            is_right = xp.where(tables.is_category[nodes], other, is_right)
        nodes = tables.left[nodes] + is_right
    return tables.leaf[nodes]


def _categories_right(x: Any, mask: Any, is_missing_right: Any) -> Any:
    xp = namespace(x)
    is_code = (x >= 0.0) & (x < N_CODES) & (x == xp.floor(x))
    codes = xp.asarray(xp.where(is_code, x, 0.0), dtype=xp.int64)
    return xp.where(is_code, ((mask >> codes) & 1) == 0, is_missing_right)
