"""A tree as a row of numbers: what a node is.

A node is four numbers (feature, value, left, kind), a row its nodes one after the other. A leaf has
feature -1 and its value. Any other node sends inputs to node `left` or to the one behind it. Room
at the end of a row is zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import host
from fcgboost.dictionaries.base import Array

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The numbers of a node.
FIELDS = 4
#: Bits of a node's kind: missing values go left; the value is a set of categories.
MISSING_LEFT, CATEGORIES = 1, 2
#: Categories are codes below this: a set of them is a whole number that float64 holds.
N_CODES = 52


def nodes_of(atoms: Any) -> Array:
    """Return the nodes of rows, of shape (n_trees, n_nodes, 4), in NumPy's memory."""
    dense = host(atoms)
    n_nodes = dense.shape[1] // FIELDS
    rows = np.ascontiguousarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)
