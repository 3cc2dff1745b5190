"""A tree as a row of numbers, and its values.

A node is four numbers (feature, value, left, kind), a row its nodes one after the other. A leaf has
feature -1 and its value. Any other node sends inputs to node `left` or to the one behind it. Room
at the end of a row is zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import _kernels
from fcgboost.arrays import host, is_tensor, namespace
from fcgboost.dictionaries.base import Array

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The numbers of a node.
FIELDS = 4
#: Bits of a node's kind: missing values go left; the value is a set of categories.
MISSING_LEFT, CATEGORIES = 1, 2
#: Categories are codes below this: a set of them is a whole number that float64 holds.
N_CODES = 52
# Values in one pass on a device.
_ENTRIES = 1 << 22


def nodes_of(atoms: Any) -> Array:
    """Return the nodes of rows, of shape (n_trees, n_nodes, 4), in NumPy's memory."""
    dense = host(atoms)
    n_nodes = dense.shape[1] // FIELDS
    rows = np.ascontiguousarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)


def values_of(atoms: Any, n_features: int) -> Callable[[Any], Any]:
    """Return the values of trees as a function of rows; raise a ValueError for rows that are none.

    Rows are tensors where the atoms are.
    """
    nodes = nodes_of(atoms)
    depths = _kernels.check_trees(nodes, n_features)
    if is_tensor(atoms):
        size = max(1, _ENTRIES // max(1, len(nodes)))
        table = namespace(atoms).as_tensor(nodes, device=atoms.device)
        deepest = int(depths.max(initial=0))
        return lambda X: namespace(X).concatenate(
            [_walk(rows, table, deepest) for rows in X.split(size)]
        )

    def values(X: Any) -> Array:
        trees = nodes
        if sparse.issparse(X):
            # Only the columns that are used are made dense.
            used, numbers = np.unique(nodes[:, :, 0].clip(0.0), return_inverse=True)
            trees = nodes.copy()
            trees[:, :, 0] = np.where(nodes[:, :, 0] < 0.0, -1.0, numbers.reshape(nodes.shape[:2]))
            X = X[:, used.astype(np.intp)].toarray()
        return _kernels.walk(np.ascontiguousarray(X, dtype=np.float64), trees, depths)

    return values


def _walk(X: Any, nodes: Any, depth: int) -> Any:
    """Go down one level after the other, with all rows and trees at once."""
    xp = namespace(X)
    rows, trees = xp.arange(len(X), device=X.device)[:, None], xp.arange(len(nodes))[None, :]
    trees = trees.to(X.device)
    at = 0 * (rows + trees)
    for _ in range(depth):
        feature, value, left, kind = (nodes[trees, at, field] for field in range(FIELDS))
        x, kind = X[rows, feature.long().clamp(min=0)], kind.long()
        is_missing_right = (kind & MISSING_LEFT) == 0
        is_right = (x > value.to(x.dtype)) | (xp.isnan(x) & is_missing_right)
        is_code = (x >= 0.0) & (x < N_CODES) & (x == xp.floor(x))
        codes = xp.where(is_code, x, 0.0).long()
        is_other = xp.where(is_code, ((value.long() >> codes) & 1) == 0, is_missing_right)
        is_right = xp.where((kind & CATEGORIES) != 0, is_other, is_right)
        at = xp.where(feature < 0.0, at, left.long() + is_right)
    return nodes[trees, at, 1].to(X.dtype)
