"""Trees that are grown in rounds, over rows that are elsewhere: on a device, or on workers.

A round splits many nodes at once. Which ones are needed is known only when the best split always
comes first, so a round also splits those that would come next as far as is known, and what turns
out not to be needed is dropped. Sums by bin are whole numbers, so the tree is that of the compiled
grower to the bit, wherever and in whatever order rows are added up.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels
from fcgboost._kernels import Array, Rows, Splits
from fcgboost.arrays import host
from fcgboost.dictionaries.bins import N_BINS, N_CODES, Bins, Codes

# The numbers of a node.
FIELDS = 4
# Bits of a node's kind: missing values go left; the value is a set of categories.
MISSING_LEFT, CATEGORIES = 1, 2
# A sum of residuals, in the upper bits, and one of weights are one whole number; sizes of all
# residuals add up to fewer steps than that power of two.
_WEIGHT_BITS, _RESIDUAL_BITS = 28, 34
# Weights that are not whole have so many steps a row on average, but together so many at least, and
# at most.
_STEPS_A_ROW, _LEAST_STEPS, _WEIGHT_STEPS = 64.0, 2.0**17, 2.0**27
_TINY = np.finfo(np.float64).tiny


def nodes_of(atoms: Any) -> Array:
    """Return the nodes of rows, of shape (n_trees, n_nodes, 4), in NumPy's memory."""
    dense = host(atoms)
    n_nodes = dense.shape[1] // FIELDS
    rows = np.ascontiguousarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)


class Weights(NamedTuple):
    """What is known of the weights of rows; that of parts of the rows adds up."""

    n_rows: int
    total: float
    least: float
    largest: float
    is_whole: bool

    @classmethod
    def of(cls, weights: Array) -> Weights:
        """Look at weights, of which those of zero do not count."""
        if not (least := weights.min(initial=np.inf)) > 0.0:
            weights = weights[weights > 0.0]
            least = weights.min(initial=np.inf)
        is_whole = bool((weights == np.floor(weights)).all())
        largest = float(weights.max(initial=0.0))
        return cls(len(weights), float(np.add.reduce(weights)), float(least), largest, is_whole)

    def joined(self, other: Weights) -> Weights:
        """Return what is known of the rows of both."""
        n_rows, total = self.n_rows + other.n_rows, self.total + other.total
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        return Weights(n_rows, total, least, largest, self.is_whole and other.is_whole)

    @property
    def unit(self) -> tuple[float, bool]:
        """The weight of a step, and whether it tells all weights exactly."""
        if self.is_whole and self.total <= _WEIGHT_STEPS:
            return 1.0, True
        if self.least == self.largest and self.total <= _WEIGHT_STEPS * self.least:
            return self.least, True
        n_steps = min(_WEIGHT_STEPS, max(_LEAST_STEPS, _STEPS_A_ROW * self.n_rows))
        return self.total / n_steps, False


class Rules(NamedTuple):
    """What a tree may be; `max_leaves` 0 is no limit, and then it grows level by level."""

    depth: int
    max_leaves: int
    min_leaf: float
    smoothing: float
    peak: float
    #: The weight of a step, and whether it tells all weights exactly.
    unit: float
    is_exact: bool


#: Sends rows, which are all at node 0 at first, to the children of their nodes; takes the number of
#: every node's split, or -1, and the splits; returns a histogram of one child of every split.
SplitRows = Callable[[Rows, Splits], Rows]
_Heap = list[tuple[float, int, int]]


class Growth:
    """The growth of one tree; its splits come in the order of the compiled grower.

    Nodes are numbered as they are made; some of them are not in the tree.
    """

    def __init__(self, split_rows: SplitRows, bins: Bins, rules: Rules) -> None:
        self._split_rows, self._bins, self._rules = split_rows, bins, rules
        self._held = _kernels.refer_to_bins(bins)
        # Of every node: its sums, its level, its left child, or 0, what its best split gains.
        self._totals, self._levels, self._children = [0], [0], [0]
        self._gains, self._splits = [-np.inf], [np.zeros((), _kernels.SPLIT)]
        self._histograms: dict[int, Rows] = {}
        #: The nodes of the tree in its order, and where the left children of some stand there.
        self._order, self._lefts = [0], dict[int, int]()
        # All rows go to the left, and stay where they are.
        everybody = np.zeros(1, _kernels.SPLIT)
        everybody["goes_left"] = 2**64 - 1
        histogram = split_rows(np.zeros(1, np.int64), everybody).reshape(1, -1)
        self._totals[0] = int(histogram[0, :N_BINS].sum())
        self._search([0], histogram)
        self._grow()

    def _grow(self) -> None:
        most = self._rules.max_leaves or np.inf
        heap: _Heap = self._entries(0, 0)
        while heap and self._n_leaves < most:
            self._split(self._plan(heap.copy(), most))
            while heap and self._n_leaves < most and self._children[heap[0][-1]]:
                self._take(heap)

    @property
    def _n_leaves(self) -> int:
        return 1 + len(self._order) // 2

    def _entries(self, node: int, number: int) -> _Heap:
        """Return the place of a node among those that can be split, if it can."""
        gain = self._gains[node]
        return [(-gain if self._rules.max_leaves else 0.0, number, node)] if gain >= 0.0 else []

    def _take(self, heap: _Heap) -> None:
        """Let the next split become a part of the tree."""
        _, number, node = heappop(heap)
        self._lefts[number] = len(self._order)
        for child in (self._children[node], self._children[node] + 1):
            for entry in self._entries(child, len(self._order)):
                heappush(heap, entry)
            self._order.append(child)

    def _plan(self, heap: _Heap, most: float) -> list[int]:
        """Return the nodes that come next as far as is known, and were not split yet."""
        wanted, n_leaves, number = list[int](), self._n_leaves, len(self._order)
        while heap and n_leaves < most:
            node, n_leaves = heappop(heap)[-1], n_leaves + 1
            first = self._children[node]
            if not first:
                wanted.append(node)
                continue
            for child in (first, first + 1):
                for entry in self._entries(child, number):
                    heappush(heap, entry)
                number += 1
        return wanted

    def _split(self, wanted: list[int]) -> None:
        """Split nodes: the lighter child of each is added up, the other is what that leaves."""
        splits = np.stack([self._splits[node] for node in wanted])
        slots, added, others = np.full(len(self._totals), -1), list[int](), list[int]()
        slots[wanted] = np.arange(len(wanted))
        for node, left in zip(wanted, splits["left"].tolist(), strict=True):
            first = self._children[node] = len(self._totals)
            right = self._totals[node] - left
            self._totals += [left, right]
            for column, value in ((self._levels, self._levels[node] + 1), (self._children, 0)):
                column += [value, value]
            self._gains += [-np.inf, -np.inf]
            self._splits += [self._splits[0]] * 2
            is_right = _weight_of(right) < _weight_of(left)
            added.append(first + is_right)
            others.append(first + 1 - is_right)
        splits["children"] = firsts = [self._children[node] for node in wanted]
        splits["added"] = np.array(added) - firsts
        less = self._split_rows(slots, splits).reshape(len(wanted), -1)
        above = np.stack([self._histograms.pop(node) for node in wanted])
        self._search(added + others, np.concatenate([less, above - less]))

    def _search(self, nodes: list[int], histograms: Rows) -> None:
        """Find the best splits of nodes that may be split."""
        rules, least = self._rules, 2.0 * max(1.0, np.ceil(self._rules.min_leaf / self._rules.unit))
        is_open = [
            self._levels[node] < rules.depth and _weight_of(self._totals[node]) >= least
            for node in nodes
        ]
        if rules.max_leaves == 1 or not any(is_open):
            return
        if not all(is_open):
            nodes = [node for node, is_able in zip(nodes, is_open, strict=True) if is_able]
            histograms = histograms[is_open]
        totals = np.array([self._totals[node] for node in nodes])
        splits = _kernels.find_splits(self._held, rules, totals, histograms)
        found = zip(splits["feature"].tolist(), splits["score"].tolist(), strict=True)
        for place, (node, (feature, score)) in enumerate(zip(nodes, found, strict=True)):
            if feature >= 0:
                self._splits[node], self._gains[node] = splits[place], score
                self._histograms[node] = histograms[place]

    def atom(self) -> Array:
        """Return the tree as a row of a dictionary; the largest value of a leaf is the peak."""
        rows, rules = np.zeros((len(self._order), FIELDS)), self._rules
        for number, node in enumerate(self._order):
            if number in self._lefts:
                rows[number] = _written(self._bins, self._splits[node], self._lefts[number])
                continue
            total = self._totals[node]
            weight = _weight_of(total) * rules.unit + rules.smoothing
            rows[number, :2] = -1.0, (total >> _WEIGHT_BITS) / max(weight, _TINY)
        is_leaf = rows[:, 0] == -1.0
        largest = np.abs(rows[is_leaf, 1]).max()
        rows[is_leaf, 1] = rows[is_leaf, 1] / (largest or 1.0) * rules.peak
        return rows.reshape(1, -1)

    def leaf_numbers(self) -> NDArray[np.uint16]:
        """Return the number of the leaf that the rows of every node belong to."""
        numbers, leaf = np.zeros(len(self._totals), np.uint16), 0
        for number, node in enumerate(self._order):
            if number in self._lefts:
                continue
            below = [node]
            while below:
                own = below.pop()
                numbers[own], first = leaf, self._children[own]
                below += [first, first + 1] if first else []
            leaf += 1
        return numbers


def _weight_of(total: int) -> int:
    """Return the weight of a sum, in steps."""
    return total & ((1 << _WEIGHT_BITS) - 1)


def _written(bins: Bins, split: Any, left: int) -> tuple[float, ...]:
    """Return a split as a row of a dictionary has it."""
    feature, kind = int(split["feature"]), MISSING_LEFT * int(split["is_missing_left"])
    if not bins.is_category[feature]:
        return feature, bins.edges[feature, split["place"]], left, kind
    codes = int(split["goes_left"][0]) & ((1 << N_CODES) - 1)
    return feature, float(codes), left, kind + CATEGORIES


def steps_of(residual: Any, weights: Any, size: float, unit: float) -> Any:
    """Return residuals and weights of rows as one whole number each.

    The sizes of all residuals, of these rows and others, add up to `size`.
    """
    steps = 2.0 ** (_RESIDUAL_BITS - np.frexp(size)[1])
    pulls, counts = (residual * steps).round(), (weights / unit).round()
    if isinstance(pulls, np.ndarray):
        pulls, counts = pulls.astype(np.int64), counts.astype(np.int64)
    else:
        pulls, counts = pulls.long(), counts.long()
    return (pulls << _WEIGHT_BITS) + counts


class HostRows:
    """Rows in NumPy's memory, sent from node to node by the compiled library."""

    def __init__(self, bins: Bins, codes: Codes, steps: Rows) -> None:
        self._bins, self._codes, self._steps = bins, codes, steps
        self._held = _kernels.refer_to_bins(bins, codes)
        self.nodes = np.zeros(len(steps), np.int32)

    def split(self, slots: Rows, splits: Splits) -> Rows:
        """Send rows on, and add up."""
        histograms = np.zeros((len(splits), self._codes.shape[1] * N_BINS), np.int64)
        _kernels.split_rows(self._held, slots, splits, self._steps, self.nodes, histograms)
        return histograms
