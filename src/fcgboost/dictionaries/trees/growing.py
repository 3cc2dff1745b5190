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
from fcgboost.dictionaries.trees.levels import FLOOR, Engine, Groups, Rules, Splits
from fcgboost.dictionaries.trees.nodes import CATEGORIES, N_CODES, Integers
from fcgboost.dictionaries.trees.plain import split_alike

# All weights are at most this many units, rounding up included; the largest residual is this many
# steps; so sums of both are at most 2^53 and exact.
_WEIGHT_BITS, _RESIDUAL_BITS = 30, 22
# Numbers that the sums of a level may be in memory (256 MiB): for more, features come in blocks.
_MOST_NUMBERS = 1 << 25
# Nodes that a table has room for at first, and what they are before they are split.
_ROOM = 256
_LEAF = np.array([-1.0, 0.0, 0.0, 0.0])
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
    is_active = (residual != 0.0) & (weights > 0.0)
    pull = np.zeros(len(residual))
    np.divide(residual, weights, out=pull, where=is_active)
    pull /= max(pull.max(initial=0.0), -pull.min(initial=0.0)) or 1.0
    pull *= 2.0**_RESIDUAL_BITS
    np.rint(pull, out=pull)
    pull *= weights
    order = np.flatnonzero(is_active).astype(np.int32)
    return Groups(order, np.array([0, len(order)]), pull, weights)


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
    table = _Table(np.array([groups.pull.sum(), groups.weight[groups.order].sum()]))
    open_nodes = np.zeros(1, np.int64)
    before = parents = None
    for level in range(rules.depth):
        totals = table.totals[open_nodes]
        if not (totals[:, 1] >= 2.0 * rules.min_leaf).any():
            break
        splits = Splits(totals, rules.smoothing)
        before = _find(bins, groups, rules, engine, splits, before, parents)
        chosen = np.flatnonzero(splits.feature >= 0)
        if len(chosen) == 0:
            break
        children = table.add(open_nodes[chosen], chosen, splits, bins)
        if level + 1 < rules.depth:
            follow = _wait if rules.is_oblivious else _pair
            slots, open_nodes = follow(open_nodes, chosen, children, table, rules)
            groups = engine.part(bins, groups, splits, slots, len(open_nodes))
            parents = np.flatnonzero(slots[:, 0] >= 0)
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
        top = float(splits.parents.sum()) * (FLOOR - 1.0)
        for block in _blocks(bins, len(groups)):
            sums = engine.sums(bins, groups, block)
            top = split_alike(engine, bins, sums, block, rules, splits, top)
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


def _pair(
    open_nodes: Integers, chosen: Integers, children: Integers, table: _Table, rules: Rules
) -> tuple[Integers, Integers]:
    """Say where rows go, and which nodes are open at the next level.

    Nodes with too few rows for two leaves are closed, but siblings together, so that the sums of
    one are what the other leaves.

    Parameters
    ----------
    open_nodes, chosen : ndarray of int64
        The nodes, and the places in there of those that were split.
    children : ndarray of int64, shape (n_split, 2)
    table : _Table
    rules : Rules

    Returns
    -------
    slots : ndarray of int64, shape (n_nodes, 2)
        As `Engine.part` takes them.
    open_nodes : ndarray of int64
    """
    goes_on = (table.totals[children, 1] >= 2.0 * rules.min_leaf).any(axis=1)
    slots = np.full((len(open_nodes), 2), -1)
    kept = children[goes_on].reshape(-1)
    # The left one, which comes first, has the second column.
    slots[chosen[goes_on]] = np.arange(len(kept)).reshape(-1, 2)[:, ::-1]
    return slots, kept


def _wait(
    open_nodes: Integers, chosen: Integers, children: Integers, table: _Table, rules: Rules
) -> tuple[Integers, Integers]:
    """Do what `_pair` does, in oblivious trees.

    There all rows of a level are added up, so each node is closed on its own, and one that the
    split did not fit waits for the next.
    """
    sides = np.repeat(open_nodes[:, None], 2, axis=1)
    sides[chosen] = children
    is_open = table.totals[sides, 1] >= 2.0 * rules.min_leaf
    is_new = is_open & ((sides[:, :1] != sides[:, 1:]) | (np.arange(2) == 0))
    numbers = np.cumsum(is_new).reshape(is_new.shape) - 1
    slots = np.where(is_open, numbers, -1)
    return np.ascontiguousarray(slots[:, ::-1]), sides[is_new]


class _Table:
    """The nodes so far.

    Parameters
    ----------
    totals : ndarray of shape (2,)
        The sums of the root.
    """

    def __init__(self, totals: Array) -> None:
        self._n = 1
        self._nodes = np.tile(_LEAF, (_ROOM, 1))
        self.totals = np.zeros((_ROOM, 2))
        self.totals[0] = totals

    def add(self, nodes: Integers, chosen: Integers, splits: Splits, bins: Bins) -> Integers:
        """Split nodes; give the numbers of their children, of shape (n_split, 2)."""
        features = splits.feature[chosen]
        children = self._n + np.arange(2 * len(chosen)).reshape(-1, 2)
        self._n += children.size
        while self._n > len(self._nodes):
            self._nodes = np.concatenate([self._nodes, np.tile(_LEAF, (len(self._nodes), 1))])
            self.totals = np.concatenate([self.totals, np.zeros_like(self.totals)])
        values, kinds = bins.edges[features, splits.place[chosen]], splits.is_missing_left[chosen]
        if bins.is_category.any():
            is_category = bins.is_category[features]
            values = np.where(is_category, splits.table[chosen, :N_CODES] @ _CODE_BITS, values)
            kinds = kinds + CATEGORIES * is_category
        self._nodes[nodes] = np.column_stack([features, values, children[:, 0], kinds])
        left = splits.left[chosen]
        self.totals[children[:, 0]] = left
        self.totals[children[:, 1]] = splits.totals[chosen] - left
        return children

    def row(self, rules: Rules) -> Array:
        """Set the values of the leaves, the largest to the peak, and give the row."""
        nodes, is_leaf = self._nodes[: self._n], self._nodes[: self._n, 0] == -1.0
        pull, weight = self.totals[: self._n][is_leaf].T
        values = pull / np.maximum(weight + rules.smoothing, np.finfo(np.float64).tiny)
        values /= np.abs(values).max() or 1.0
        nodes[is_leaf, 1] = values * rules.peak
        return nodes.reshape(-1)
