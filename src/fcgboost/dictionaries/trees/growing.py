"""How a tree grows: level by level, on residuals whose sums are exact.

Residuals and weights are rounded to multiples of powers of two so that no sum over rows is ever
rounded. So a tree depends neither on the order of the rows nor on who adds them up, and a weight
equals a repetition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import Bins
from fcgboost.dictionaries.trees.levels import FLOOR, Engine, Groups, Rules, Splits, square
from fcgboost.dictionaries.trees.nodes import (
    CATEGORIES,
    FIELDS,
    MISSING_LEFT,
    N_CODES,
    Integers,
)
from fcgboost.dictionaries.trees.plain import split_alike

# All weights are at most this many units, rounding up included; the largest residual is this many
# steps; so sums of both are at most 2^53 and exact.
_WEIGHT_BITS, _RESIDUAL_BITS = 30, 22
# Numbers that the sums of a level may be in memory (256 MiB): for more, features come in blocks.
_MOST_NUMBERS = 1 << 25
_CODE_BITS = 2.0 ** np.arange(N_CODES)


def exact_weights(weights: Array) -> Array:
    """Round weights to multiples of a power of two, so that their sums are exact.

    Whole numbers stay as they are.
    """
    if (weights == np.rint(weights)).all() and weights.sum() <= 2.0**_WEIGHT_BITS:
        return weights
    # First beside the largest, which gives a sum that no order of rows changes, then beside that.
    exponent = int(np.frexp(weights.max())[1]) - _WEIGHT_BITS
    total = int(np.rint(np.ldexp(weights, -exponent)).astype(np.int64).sum())
    exponent += total.bit_length() - _WEIGHT_BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, -exponent)), exponent))


def group_rows(residual: Array, weights: Array) -> Groups:
    """Put all rows that have a residual into one node.

    Parameters
    ----------
    residual : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        Exact.
    """
    order = np.flatnonzero((residual != 0.0) & (weights > 0.0)).astype(np.int32)
    weight = weights[order]
    pull = residual[order] / weight
    largest = np.abs(pull).max(initial=0.0)
    pull /= largest or 1.0
    pull *= 2.0**_RESIDUAL_BITS
    np.rint(pull, out=pull)
    pull *= weight
    return Groups(order, pull, weight, np.array([0, len(order)]))


def grow_tree(bins: Bins, groups: Groups, rules: Rules, engine: Engine) -> Array:
    """Grow one tree.

    Parameters
    ----------
    bins : Bins
    groups : Groups
        One node, the root.
    rules : Rules
    engine : Engine

    Returns
    -------
    ndarray of shape (4 n_nodes,)
    """
    table = _Table(np.array([[groups.pull.sum(), groups.weight.sum()]]))
    open_nodes = np.zeros(1, np.int64)
    before = parents = None
    for level in range(rules.depth):
        totals = table.totals[open_nodes]
        if not (totals[:, 1] >= 2.0 * rules.min_leaf).any():
            break
        splits = Splits(totals, rules.smoothing)
        before = _find(bins, groups, rules, engine, splits, before, parents)
        if not (splits.feature >= 0).any():
            break
        children = table.add(open_nodes, splits, bins)
        if level + 1 == rules.depth:
            break
        slots, kept = _next(children, open_nodes, table, rules)
        groups = engine.part(bins, groups, splits, slots, len(kept))
        open_nodes, parents = kept, np.flatnonzero(slots[:, 0] >= 0)
    return table.row(rules)


def _find(
    bins: Bins,
    groups: Groups,
    rules: Rules,
    engine: Engine,
    splits: Splits,
    before: Array | None,
    parents: Integers | None,
) -> Array | None:
    """Find the splits of a level; give its sums if they can serve the next one."""
    if rules.is_oblivious:
        squares = square(splits.totals[:, 0], splits.totals[:, 1], rules.smoothing)
        top = float(squares.sum()) * (FLOOR - 1.0)
        for block in _blocks(bins, len(groups)):
            sums = engine.sums(bins, groups, block)
            top = split_alike(bins, sums, block, rules, splits, top)
        return None
    blocks = list(_blocks(bins, len(groups)))
    if len(blocks) > 1:
        before = None
    for block in blocks:
        sums = engine.sums(bins, groups, block, before, parents)
        engine.split(bins, sums, block, rules, splits)
    return sums if len(blocks) == 1 else None


def _blocks(bins: Bins, n_nodes: int) -> Iterator[slice]:
    """Cut the features into blocks whose sums fit the memory."""
    first = 0
    while first < bins.n_features:
        room = bins.offsets[first] + _MOST_NUMBERS // (2 * n_nodes)
        stop = max(first + 1, int(np.searchsorted(bins.offsets, room, side="right")) - 1)
        yield slice(first, stop)
        first = stop


def _next(
    children: Integers, open_nodes: Integers, table: _Table, rules: Rules
) -> tuple[Integers, Integers]:
    """Say which nodes are open at the next level, and where rows go.

    Nodes with too few rows for two leaves are closed, but siblings together, so that the sums of
    one are what the other leaves. In oblivious trees, where all rows of a level are added up, each
    is closed on its own, and a node that the split did not fit waits for the next.

    Returns
    -------
    slots : ndarray of int64, shape (n_nodes, 2)
        As `Engine.part` takes them.
    open_nodes : ndarray of int64
    """
    has_split = (children >= 0)[:, None]
    sides = np.where(has_split, children[:, None] + np.arange(2), open_nodes[:, None])
    is_open = table.totals[sides, 1] >= 2.0 * rules.min_leaf
    if not rules.is_oblivious:
        is_open = np.repeat(is_open.any(axis=1, keepdims=True) & has_split, 2, axis=1)
    is_new = is_open & (has_split | (np.arange(2) == 0))
    numbers = np.cumsum(is_new).reshape(is_new.shape) - 1
    slots = np.where(is_open, numbers, -1)
    return np.ascontiguousarray(slots[:, ::-1]), sides[is_new]


class _Table:
    """The nodes so far."""

    def __init__(self, totals: Array) -> None:
        self.totals = totals
        self._nodes = np.array([[-1.0, 0.0, 0.0, 0.0]])

    def add(self, nodes: Integers, splits: Splits, bins: Bins) -> Integers:
        """Split nodes; give the numbers of their left children, -1 where there are none."""
        split = np.flatnonzero(splits.feature >= 0)
        features, n_nodes = splits.feature[split], len(self._nodes)
        is_category = bins.is_category[features]
        masks = splits.table[split, :N_CODES] @ _CODE_BITS
        kinds = MISSING_LEFT * splits.is_missing_left[split] + CATEGORIES * is_category
        children = np.full(len(nodes), -1)
        children[split] = n_nodes + 2 * np.arange(len(split))
        self._nodes[nodes[split], 0] = features
        thresholds = bins.edges[features, splits.place[split]]
        self._nodes[nodes[split], 1] = np.where(is_category, masks, thresholds)
        self._nodes[nodes[split], 2] = children[split]
        self._nodes[nodes[split], 3] = kinds
        left = splits.left[split]
        both = np.stack([left, splits.totals[split] - left], axis=1).reshape(-1, 2)
        self.totals = np.concatenate([self.totals, both])
        leaves = np.tile([-1.0, 0.0, 0.0, 0.0], (len(both), 1))
        self._nodes = np.concatenate([self._nodes, leaves])
        return children

    def row(self, rules: Rules) -> Array:
        """Set the values of the leaves, the largest to the peak, and give the row."""
        is_leaf = self._nodes[:, 0] == -1.0
        pull, weight = self.totals[is_leaf].T
        values = pull / np.maximum(weight + rules.smoothing, np.finfo(np.float64).tiny)
        values /= np.abs(values).max() or 1.0
        self._nodes[is_leaf, 1] = values * rules.peak
        return self._nodes.reshape(FIELDS * len(self._nodes))
