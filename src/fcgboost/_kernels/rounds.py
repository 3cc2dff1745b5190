"""Compiled functions for trees grown in rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import (
    N_BINS,
    SPLIT,
    Array,
    BinnedRows,
    Rows,
    Rules,
    Splits,
    check_sizes,
    library,
)


def find_splits(bins: BinnedRows, rules: Rules, totals: Rows, histograms: Rows) -> Splits:
    """Return the best splits of nodes, with bins and rules as in `grow_tree`."""
    splits = np.zeros(len(totals), SPLIT)
    histograms = np.ascontiguousarray(histograms)
    library().fcg_find_splits(
        bins,
        rules,
        len(totals),
        totals,
        histograms,
        splits,
    )
    return splits


def plan_tree(max_leaves: int, gains: Array, children: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the nodes of a tree, the places of their left children, and what to split next."""
    check_sizes(
        gains=(gains, 1),
        children=(children, len(gains)),
    )
    room = np.empty((6, len(gains)), np.int64)
    n_wanted = np.empty(1, np.int64)
    order, lefts, wanted = room[3:]
    n = library().fcg_plan_tree(
        max_leaves,
        gains,
        children,
        room,
        order,
        lefts,
        n_wanted,
        wanted,
    )
    return order[:n], lefts[:n], wanted[: n_wanted[0]]


def split_rows(
    bins: BinnedRows,
    slots: Rows,
    splits: Splits,
    sums: Rows,
    nodes: NDArray[np.int32],
    histograms: Rows,
) -> None:
    """Send rows to the children of their nodes, and add up one child per split."""
    check_sizes(histograms=(histograms, len(splits) * bins.n_columns * N_BINS))
    library().fcg_split_rows(
        bins,
        slots,
        splits,
        sums,
        nodes,
        histograms,
    )


def write_tree(
    bins: BinnedRows,
    rules: Rules,
    order: Rows,
    lefts: Rows,
    totals: Rows,
    splits: Splits,
) -> Array:
    """Return a tree as an atom, given its plan and the sums and splits of all nodes."""
    n_nodes = 1 + order.max()
    check_sizes(
        totals=(totals, n_nodes),
        splits=(splits, n_nodes),
    )
    nodes = np.empty((2 * len(order), 4))
    n_entries = library().fcg_write_tree(
        bins,
        rules,
        len(order),
        order,
        lefts,
        totals,
        splits,
        nodes,
    )
    used = nodes[:n_entries]
    return used.reshape(1, -1)
