"""Rows that descend trees, and sums of the atoms of several families."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import Array, Rows, as_read, checked, library
from fcgboost._kernels.header import FIELDS, Struct


class _Branch(Struct):
    kind = "fcg_branch"
    _fields_ = FIELDS[kind]


#: A node of a tree, as rows descend from it.
BRANCH = np.dtype(_Branch)


class _Part(Struct):
    kind = "fcg_part"
    _fields_ = FIELDS[kind]


#: Atoms of one kind in a sum.
PART = np.dtype(_Part)


class Sum(Struct):
    """A sum of the atoms of parts; see `kernels.h`."""

    kind = "fcg_sum"
    _fields_ = FIELDS[kind]


class Trees(NamedTuple):
    """Checked trees: nodes of shape (n_trees, n_nodes, 4), the same as branches, and depths."""

    nodes: Array
    branches: NDArray[np.void]
    depths: Rows


def check_trees(nodes: Array, n_features: int) -> Trees:
    """Return trees as rows descend from them; raise a ValueError for an invalid node."""
    n_trees, n_nodes = nodes.shape[:2]
    if n_nodes == 0:
        raise ValueError("A row without nodes is not a tree.")
    levels = np.empty(n_nodes, dtype=np.int64)
    depths = np.empty(n_trees, dtype=np.int64)
    branches = np.empty((n_trees, n_nodes), BRANCH)
    bad = library().fcg_check_trees(
        n_trees,
        n_nodes,
        nodes,
        n_features,
        levels,
        depths,
        branches,
    )
    if bad >= 0:
        raise ValueError(
            f"A row is not a tree over {n_features} features: node {bad % n_nodes} is "
            f"{nodes.reshape(-1, 4)[bad].tolist()}."
        )
    return Trees(nodes, branches, depths)


def walk(X: Array, trees: Trees) -> Array:
    """Return the values of trees at rows, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(trees.nodes)))
    is_single, X = as_read(X)
    library().fcg_walk(
        *trees.branches.shape,
        trees.nodes,
        trees.branches,
        *X.shape,
        is_single,
        X,
        values,
    )
    return values


def add_up(sum_of_parts: Sum, X: Array) -> Array:
    """Return a sum at rows, of shape (n_rows, n_outputs)."""
    if X.shape[1] != sum_of_parts.n_features:
        raise ValueError(f"X has {X.shape[1]} features, not {sum_of_parts.n_features}.")
    values = np.empty((len(X), sum_of_parts.n_outputs))
    is_single, X = as_read(X)
    checked(
        library().fcg_add_up(
            sum_of_parts,
            len(X),
            is_single,
            X,
            values,
        )
    )
    return values


def walk_to_leaves(X: Array, tree: Trees, numbers: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the leaf number of each row in one tree, given those of the nodes."""
    leaves = np.empty(len(X), np.uint16)
    is_single, X = as_read(X)
    library().fcg_walk_to_leaves(
        tree.branches.size,
        tree.nodes,
        tree.branches,
        *X.shape,
        is_single,
        X,
        numbers,
        leaves,
    )
    return leaves
