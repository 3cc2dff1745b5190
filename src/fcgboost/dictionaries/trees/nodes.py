"""A tree as a row of numbers: what a node is, and tables that rows are sent through.

A node is four numbers (feature, value, left, kind), a row its nodes one after the other. A leaf has
feature -1 and its value. Any other node sends inputs to node `left` or to the one behind it. Room
at the end of a row is zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import is_tensor
from fcgboost.dictionaries.base import Array

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The numbers of a node.
FIELDS = 4
#: Bits of a node's kind: missing values go left; the value is a set of categories.
MISSING_LEFT, CATEGORIES = 1, 2
#: Categories are codes below this: a set of them is a whole number that float64 holds.
N_CODES = 52


@dataclass(frozen=True)
class Forest:
    """Nodes of several trees in one table; a leaf sends every input to itself.

    Attributes
    ----------
    feature, left : ndarray of int64, shape (n_nodes,)
        Children are numbered through all trees.
    threshold, leaf : ndarray of float64, shape (n_nodes,)
    mask : ndarray of int64, shape (n_nodes,)
        The categories that go left.
    is_missing_right, is_category : ndarray of bool, shape (n_nodes,)
    roots, depths : ndarray of int64, shape (n_trees,)
    """

    feature: IntArray
    left: IntArray
    threshold: Array
    leaf: Array
    mask: IntArray
    is_missing_right: BoolArray
    is_category: BoolArray
    roots: IntArray
    depths: IntArray

    @property
    def has_categories(self) -> bool:
        """Whether any node splits categories."""
        return bool(self.is_category.any())


def _nodes(atoms: Any) -> Array:
    """Return the nodes of rows, of shape (n_trees, n_nodes, 4), in NumPy's memory."""
    if is_tensor(atoms):
        atoms = atoms.detach().cpu().numpy()
    dense = atoms.toarray() if sparse.issparse(atoms) else atoms
    n_nodes = dense.shape[1] // FIELDS
    rows = np.asarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)


def make_forest(atoms: Any, n_features: int) -> Forest:
    """Turn rows into tables; raise a ValueError for a row that is no tree over the features."""
    nodes = _nodes(atoms)
    if len(nodes) == 1:
        return _make_tree(nodes.tobytes(), n_features)
    return _make_forest(nodes, n_features)


@lru_cache(maxsize=8)
def _make_tree(nodes: bytes, n_features: int) -> Forest:
    """Return the tables of a tree, kept: one that enters a model is soon evaluated elsewhere."""
    return _make_forest(np.frombuffer(nodes).reshape(1, -1, FIELDS), n_features)


def _make_forest(nodes: Array, n_features: int) -> Forest:
    depths, is_inner = _find_splits(nodes, n_features)
    n_trees, n_nodes, _ = nodes.shape
    feature, value, left, kind = nodes.reshape(-1, FIELDS).T
    numbers = np.arange(n_trees * n_nodes)
    kinds = np.where(is_inner, kind, MISSING_LEFT).astype(np.int64)
    is_category = (kinds & CATEGORIES) != 0
    first = numbers // max(1, n_nodes) * n_nodes
    return Forest(
        feature=np.where(is_inner, feature, 0.0).astype(np.int64),
        left=np.where(is_inner, first + np.where(is_inner, left, 0.0), numbers).astype(np.int64),
        threshold=np.where(is_inner, value, np.inf),
        leaf=np.where(is_inner, 0.0, value),
        mask=np.where(is_category, value, 0.0).astype(np.int64),
        is_missing_right=(kinds & MISSING_LEFT) == 0,
        is_category=is_category,
        roots=np.arange(n_trees) * n_nodes,
        depths=depths,
    )


def _find_splits(nodes: Array, n_features: int) -> tuple[IntArray, BoolArray]:
    """Return the depths of the trees, and which of all nodes can be reached and split."""
    n_trees, n_nodes, _ = nodes.shape
    if n_nodes == 0:
        raise ValueError("A row of no node is no tree.")
    # All nodes are looked at once; those that are no node of a tree are not reached.
    is_sound, is_split = are_sound(nodes, n_features).ravel(), (nodes[:, :, 0] != -1.0).ravel()
    roots = np.arange(n_trees) * n_nodes
    left = np.where(is_sound, nodes[:, :, 2].ravel(), 0.0).astype(np.int64)
    left += np.repeat(roots, n_nodes)
    depths, is_inner, level = np.zeros(n_trees, np.int64), np.zeros(len(left), bool), roots
    while len(level):
        level = level[is_split[level]]
        if not is_sound[level].all():
            bad = int(level[~is_sound[level]][0])
            raise ValueError(
                f"A row is no tree over {n_features} features: node {bad % n_nodes} is "
                f"{nodes.reshape(-1, FIELDS)[bad].tolist()}."
            )
        is_inner[level] = True
        depths[level // n_nodes] += 1
        level = np.concatenate([left[level], left[level] + 1])
    return depths, is_inner


def are_sound(nodes: Array, n_features: int) -> BoolArray:
    """Tell which nodes, of shape (n_trees, n_nodes, 4), send inputs by a feature to later nodes."""
    feature, value, left, kind = np.moveaxis(nodes, 2, 0)
    is_whole = nodes == np.rint(nodes)
    is_sound = is_whole[:, :, 0] & is_whole[:, :, 2] & is_whole[:, :, 3] & np.isfinite(value)
    is_sound &= (feature >= 0) & (feature < n_features) & (kind >= 0) & (kind <= 3)
    is_sound &= (left > np.arange(nodes.shape[1])) & (left + 1 < nodes.shape[1])
    is_set = (value >= 0) & (value < 2.0**N_CODES) & is_whole[:, :, 1]
    return np.asarray(is_sound & (is_set | (kind < CATEGORIES)))


def trimmed_rows(atoms: Any) -> Any:
    """Return rows without the zeros behind the longest tree; a row ends with a leaf."""
    used = np.flatnonzero((_nodes(atoms) != 0.0).any(axis=(0, 2)))
    return atoms[:, : FIELDS * (int(used.max(initial=0)) + 1)]


def scaled_leaves(atoms: Any, factors: Any) -> Array:
    """Return rows whose leaves are some factors times as large."""
    nodes = _nodes(atoms).copy()
    is_leaf = nodes[:, :, 0] == -1.0
    nodes[:, :, 1] *= np.where(is_leaf, np.asarray(factors)[:, None], 1.0)
    return nodes.reshape(len(nodes), -1)
