"""The values of trees at rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import _kernels
from fcgboost.arrays import is_tensor, namespace
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.nodes import N_CODES, Forest

# Values in one pass on a device.
_ENTRIES = 1 << 22


def walker(forest: Forest, like: Any) -> Callable[[Any], Any]:
    """Return the values of trees as a function of rows, of shape (n_rows, n_trees).

    Parameters
    ----------
    forest : Forest
    like : ndarray, CSR matrix or tensor
        An array in the memory of the rows.
    """
    if is_tensor(like):
        tables = _tables(forest, like)
        return lambda X: _in_blocks(X, tables, _ENTRIES)
    return _Walker(forest)


class _Walker:
    """Walks in NumPy's memory."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    @cached_property
    def _narrow(self) -> tuple[Any, Forest]:
        """The columns that are used, and the forest over these."""
        used = np.unique(self._forest.feature)
        feature = np.searchsorted(used, self._forest.feature)
        return used, dataclasses.replace(self._forest, feature=feature)

    def __call__(self, X: Any) -> Array:
        forest = self._forest
        if sparse.issparse(X):
            # Only the columns that are used are made dense.
            used, forest = self._narrow
            X = X[:, used].toarray()
        return _kernels.walk(np.ascontiguousarray(X, dtype=np.float64), forest)


def _tables(forest: Forest, like: Any) -> Forest:
    """Return a forest whose tables lie in the memory of a tensor."""
    xp = namespace(like)
    names = [field.name for field in dataclasses.fields(forest) if field.name != "depths"]
    tables = {name: xp.asarray(getattr(forest, name), device=like.device) for name in names}
    for name in ("threshold", "leaf"):
        tables[name] = tables[name].to(like.dtype)
    return dataclasses.replace(forest, **tables)


def _in_blocks(X: Any, tables: Forest, entries: int) -> Any:
    size = max(1, entries // max(1, len(tables.roots)))
    if X.shape[0] <= size:
        return _walk(X, tables)
    starts = range(0, X.shape[0], size)
    return namespace(X).concatenate([_walk(X[start : start + size], tables) for start in starts])


def _walk(X: Any, tables: Forest) -> Any:
    """Go down one level after the other, with all rows and trees at once."""
    xp = namespace(X)
    rows = xp.arange(X.shape[0], device=X.device)
    nodes = tables.roots[None, :] + xp.zeros_like(rows)[:, None]
    has_categories = tables.has_categories
    for _ in range(tables.n_levels):
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
