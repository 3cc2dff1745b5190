"""The nodes of several trees as tables, for exports: few numbers, of small types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Array
from fcgboost.dictionaries.trees.nodes import CATEGORIES, MISSING_LEFT, nodes_of


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes of trees one after the other, only those that can be reached."""

    #: 0 for a leaf.
    feature: NDArray[np.int64]
    #: A threshold, or the value of a leaf; of categories the number of their set.
    value: Array
    #: How many nodes farther the left child is, with the right one behind it; 0 for a leaf.
    left: NDArray[np.int64]
    is_missing_left: NDArray[np.bool_]
    is_category: NDArray[np.bool_]
    #: Sets of categories: whole numbers whose bits are codes that go left.
    sets: list[int]
    roots: list[int]
    #: The levels below the root of the deepest tree.
    depth: int


def forest_of(rows: Iterable[Array]) -> Forest:
    """Lay out trees level by level: so a child is close to its parent."""
    nodes: list[Array] = []
    left: list[int] = []
    levels: list[int] = []
    roots = []
    for row in rows:
        tree, root = nodes_of(row[None])[0], len(left)
        roots.append(root)
        nodes.append(tree[0])
        levels.append(0)
        while len(left) < len(nodes):
            place, node = len(left), nodes[len(left)]
            is_leaf = node[0] == -1.0
            left.append(0 if is_leaf else len(nodes) - place)
            if not is_leaf:
                nodes += list(tree[int(node[2]) : int(node[2]) + 2])
                levels += [levels[place] + 1] * 2
    feature, value, _, kind = np.array(nodes).T.copy()
    kinds = np.where(feature < 0.0, 0.0, kind).astype(np.int64)
    is_category = (kinds & CATEGORIES) > 0
    sets = value[is_category].astype(np.int64).tolist()
    value[is_category] = np.arange(len(sets))
    return Forest(
        feature=np.maximum(feature, 0.0).astype(np.int64),
        value=value,
        left=np.array(left, dtype=np.int64),
        is_missing_left=(kinds & MISSING_LEFT) > 0,
        is_category=is_category,
        sets=sets,
        roots=roots,
        depth=max(levels),
    )
