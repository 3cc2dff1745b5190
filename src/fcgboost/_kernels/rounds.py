"""Compiled functions for trees grown in rounds."""

from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import SPLIT, Array, Rows, Splits, TreeRules, library


def find_splits(bins: Any, rules: tuple[float, ...], totals: Rows, histograms: Rows) -> Splits:
    """Return the best splits of nodes, with bins and rules as in `grow_tree`."""
    splits, histograms = np.zeros(len(totals), SPLIT), np.ascontiguousarray(histograms)
    rules_of = byref(TreeRules(*rules))
    library().fcg_find_splits(bins, rules_of, len(totals), totals, histograms, splits)
    return splits


def plan_tree(max_leaves: int, gains: Array, children: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the nodes of a tree, the places of their left children, and what to split next."""
    room, n_wanted = np.empty((6, len(gains)), np.int64), np.empty(1, np.int64)
    order, lefts, wanted = room[3:]
    given = max_leaves, gains, children, room
    n = library().fcg_plan_tree(*given, order, lefts, n_wanted, wanted)
    return order[:n], lefts[:n], wanted[: n_wanted[0]]


def split_rows(
    bins: Any, slots: Rows, splits: Splits, sums: Rows, nodes: NDArray[np.int32], histograms: Rows
) -> None:
    """Send rows to the children of their nodes, and add up one child per split."""
    library().fcg_split_rows(bins, slots, splits, sums, nodes, histograms)
