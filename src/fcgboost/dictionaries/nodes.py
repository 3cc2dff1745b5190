"""The row of a tree: its nodes, four numbers each."""

from __future__ import annotations

import numpy as np

from fcgboost._kernels import Array, Rows
from fcgboost.arrays import Matrix, to_numpy

# Numbers per node.
FIELDS = 4
# Bits of a node's kind: missing values go left; the value is a set of categories. The bits above
# hold the place of the set's four further numbers, each -2 minus a word.
MISSING_LEFT = 1
CATEGORIES = 2
MORE_WORDS = 4
#: Categories per word, the bits of an integer in float64.
WORD = 52


def nodes_of(atoms: Matrix) -> Array:
    """Return the nodes of rows as a NumPy array of shape (n_trees, n_nodes, 4)."""
    dense = to_numpy(atoms)
    n_nodes = dense.shape[1] // FIELDS
    rows = np.ascontiguousarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)


def as_rows(nodes: Array) -> Array:
    """Return nodes as rows, the inverse of `nodes_of`."""
    return nodes.reshape(len(nodes), nodes.shape[1] * FIELDS)


def sets_of(nodes: Array) -> Rows:
    """Return sets of categories that go left, of shape (n_trees, n_nodes, 5): words of 52 codes.

    Codes beyond the words of a set go where missing values go.
    """
    is_split = nodes[:, :, :1] >= 0.0
    n_nodes = nodes.shape[1]
    kinds = np.where(is_split, nodes[:, :, 3:], 0.0)
    kinds = kinds.astype(np.int64)
    is_set = kinds & CATEGORIES > 0
    places = (kinds // MORE_WORDS).clip(max=n_nodes - 1)
    others = -2.0 - np.take_along_axis(nodes, places, axis=1)
    all_or_none = (kinds & MISSING_LEFT) * (2.0**WORD - 1.0)
    words = np.where(places > 0, others, all_or_none)
    sets = np.dstack([nodes[:, :, 1], words])
    return np.where(is_set, sets, 0.0).astype(np.int64)
