"""The nodes of several trees as tables, for exports: few numbers, of small types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Array

_FIELDS = 4
_MISSING_LEFT, _CATEGORIES = 1, 2

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes of trees one after the other, only those that can be reached.

    Attributes
    ----------
    feature : ndarray of int64, shape (n_nodes,)
        0 for a leaf.
    value : ndarray of shape (n_nodes,)
        A threshold, or the value of a leaf; of categories the number of their set.
    left : ndarray of int64, shape (n_nodes,)
        How many nodes farther the left child is, with the right one behind it; 0 for a leaf.
    is_missing_left, is_category : ndarray of bool, shape (n_nodes,)
    sets : list of int
        Sets of categories: whole numbers whose bits are codes that go left.
    roots, depths : ndarray of int64, shape (n_trees,)
    """

    feature: Integers
    value: Array
    left: Integers
    is_missing_left: NDArray[np.bool_]
    is_category: NDArray[np.bool_]
    sets: list[int]
    roots: Integers
    depths: Integers

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.asarray(self.left == 0)

    @classmethod
    def joined(cls, forests: Sequence[Forest]) -> Forest:
        """Put forests one after the other."""
        n_nodes, shifted = 0, []
        sets: list[int] = []
        for one in forests:
            value, roots = one.value + len(sets) * one.is_category, one.roots + n_nodes
            shifted.append(vars(replace(one, value=value, roots=roots)))
            n_nodes, sets = n_nodes + len(one.left), [*sets, *one.sets]
        names = [field.name for field in fields(cls) if field.name != "sets"]
        arrays = {name: np.concatenate([one[name] for one in shifted]) for name in names}
        return cls(**arrays, sets=sets)


def forest_of(atoms: Array) -> Forest:
    """Lay out rows of trees, of shape (n_trees, n_parameters)."""
    trees = [_tree_of(np.asarray(row, dtype=np.float64)) for row in atoms]
    none, no_flags = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    empty = Forest(none, np.zeros(0), none, no_flags, no_flags, [], none, none)
    return Forest.joined([empty, *trees])


def _tree_of(row: Array) -> Forest:
    """Lay out one tree level by level: a child is close to its parent so."""
    nodes = row[: len(row) // _FIELDS * _FIELDS].reshape(-1, _FIELDS)
    order, ends = [0], [0]
    left: list[int] = []
    place = 0
    while place < len(order):
        if place == ends[-1] + 1:
            ends.append(len(order) - 1)
        node = nodes[order[place]]
        is_leaf = node[0] == -1.0
        left.append(0 if is_leaf else len(order) - place)
        if not is_leaf:
            order += [int(node[2]), int(node[2]) + 1]
        place += 1
    feature, value, _, kind = nodes[order].T
    kinds = np.where(np.array(left) > 0, kind, 0.0).astype(np.int64)
    is_category = (kinds & _CATEGORIES) > 0
    sets = [int(mask) for mask in value[is_category]]
    value = value.copy()
    value[is_category] = np.arange(len(sets))
    return Forest(
        np.maximum(feature, 0.0).astype(np.int64),
        value,
        np.array(left, dtype=np.int64),
        (kinds & _MISSING_LEFT) > 0,
        is_category,
        sets,
        np.zeros(1, dtype=np.int64),
        np.array([len(ends) - 1], dtype=np.int64),
    )
