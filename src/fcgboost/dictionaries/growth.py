"""Trees that are grown in rounds, over rows that are elsewhere: on a device, or on workers.

A round splits many nodes at once. Which ones are needed is known only when the best split always
comes first, so a round also splits those that would come next as far as is known, and what turns
out not to be needed is dropped. Sums by bin are whole numbers, so the tree is that of the compiled
grower to the bit, wherever and in whatever order rows are added up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
WEIGHT_BITS, _RESIDUAL_BITS = 28, 34
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


class GrowingRows(ABC):
    """Rows, wherever they are, that know which node of a growing tree they belong to."""

    @abstractmethod
    def start(self) -> tuple[int, Splits]:
        """Bring all rows to node 0; return the sum of all, and the best split."""

    @abstractmethod
    def split(self, parents: list[int], first: int, added: list[int], totals: list[int]) -> Splits:
        """Send the rows of nodes to their children, and return the best splits of these.

        Parameters
        ----------
        parents : list of int
        first : int
            The number of the first child; each parent has two.
        added : list of int
            0 or 1: which child of each has the smaller weight. Its rows are added up by bin, and
            those of the other are what that leaves.
        totals : list of int
            The sums of the children.
        """


class Growth:
    """The growth of one tree; its splits come in the order of the compiled grower.

    Nodes are numbered as they are made; some of them are not in the tree.
    """

    def __init__(self, rows: GrowingRows, bins: Bins, rules: Rules) -> None:
        self._rows, self._bins, self._rules = rows, bins, rules
        # Of every node: its sums, its level, its left child, or 0, and what its best split gains.
        self._totals, self._levels, self._children = list[int](), list[int](), list[int]()
        self._gains, self._lefts = list[float](), list[int]()
        self._splits: list[Splits] = []
        #: The nodes of the tree in its order, and where the left children of some stand there.
        self._order, self._places = [0], dict[int, int]()
        total, splits = rows.start()
        self._add([total], [0], splits)
        most = rules.max_leaves or np.inf
        heap = self._entries(0, 0) if most > 1 else []
        while heap and self._n_leaves < most:
            self._split(self._plan(heap.copy(), most))
            while heap and self._n_leaves < most and self._children[heap[0][-1]]:
                self._take(heap)

    @property
    def _n_leaves(self) -> int:
        return 1 + len(self._order) // 2

    def _add(self, totals: list[int], levels: list[int], splits: Splits) -> None:
        """Take down new nodes."""
        is_able = (splits["feature"] >= 0) & (np.array(levels) < self._rules.depth)
        self._gains += np.where(is_able, splits["score"], -1.0).tolist()
        self._lefts += splits["left"].tolist()
        self._totals += totals
        self._levels += levels
        self._children += [0] * len(totals)
        self._splits.append(splits)

    def _entries(self, node: int, number: int) -> list[tuple[float, int, int]]:
        """Return the place of a node among those that can be split, if it can."""
        gain = self._gains[node]
        return [(-gain if self._rules.max_leaves else 0.0, number, node)] if gain >= 0.0 else []

    def _take(self, heap: list[tuple[float, int, int]]) -> None:
        """Let the next split become a part of the tree."""
        _, number, node = heappop(heap)
        self._places[number] = len(self._order)
        for child in (self._children[node], self._children[node] + 1):
            for entry in self._entries(child, len(self._order)):
                heappush(heap, entry)
            self._order.append(child)

    def _plan(self, heap: list[tuple[float, int, int]], most: float) -> list[int]:
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
        """Split nodes that were not split yet."""
        totals, levels, added, first = list[int](), list[int](), list[int](), len(self._totals)
        for place, node in enumerate(wanted):
            left, right = self._lefts[node], self._totals[node] - self._lefts[node]
            totals += [left, right]
            levels += [self._levels[node] + 1] * 2
            added.append(int(_weight_of(right) < _weight_of(left)))
            self._children[node] = first + 2 * place
        self._add(totals, levels, self._rows.split(wanted, first, added, totals))

    def atom(self) -> Array:
        """Return the tree as a row of a dictionary; the largest value of a leaf is the peak."""
        rows, rules, splits = np.zeros((len(self._order), FIELDS)), self._rules, self._all_splits()
        for number, node in enumerate(self._order):
            if number in self._places:
                rows[number] = _written(self._bins, splits[node], self._places[number])
                continue
            total = self._totals[node]
            weight = _weight_of(total) * rules.unit + rules.smoothing
            rows[number, :2] = -1.0, (total >> WEIGHT_BITS) / max(weight, _TINY)
        is_leaf = rows[:, 0] == -1.0
        largest = np.abs(rows[is_leaf, 1]).max()
        rows[is_leaf, 1] = rows[is_leaf, 1] / (largest or 1.0) * rules.peak
        return rows.reshape(1, -1)

    def _all_splits(self) -> list[Any]:
        """Return feature, place, side of missing values and codes of every node's split."""
        splits = np.concatenate(self._splits)
        names = ("feature", "place", "is_missing_left")
        return list(
            zip(*(splits[n].tolist() for n in names), splits["goes_left"][:, 0], strict=True)
        )

    def leaf_numbers(self) -> NDArray[np.uint16]:
        """Return the number of the leaf that the rows of every node belong to."""
        numbers, leaf = np.zeros(len(self._totals), np.uint16), 0
        for number, node in enumerate(self._order):
            if number in self._places:
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
    return total & ((1 << WEIGHT_BITS) - 1)


def _written(bins: Bins, split: tuple[int, int, int, Any], left: int) -> tuple[float, ...]:
    """Return a split as a row of a dictionary has it."""
    feature, place, is_missing_left, codes = split
    if not bins.is_category[feature]:
        return feature, bins.edges[feature, place], left, MISSING_LEFT * is_missing_left
    levels = float(int(codes) & ((1 << N_CODES) - 1))
    return feature, levels, left, MISSING_LEFT * is_missing_left + CATEGORIES


def steps_of(residual: Any, weights: Any, size: float, unit: float) -> Any:
    """Return residuals and weights of rows as one whole number each.

    The sizes of all residuals, of these rows and others, add up to `size`.
    """
    steps = 2.0 ** (_RESIDUAL_BITS - int(np.frexp(size)[1]))
    pulls, counts = (residual * steps).round(), (weights / unit).round()
    if isinstance(pulls, np.ndarray):
        return (pulls.astype(np.int64) << WEIGHT_BITS) + counts.astype(np.int64)
    return (pulls.long() << WEIGHT_BITS) + counts.long()


class SummedRows(GrowingRows):
    """Rows of which only histograms are here.

    Parameters
    ----------
    split_rows : callable
        Sends rows, which are all at node 0 at first, to the children of their nodes. Takes the
        number of every node's split, or -1, and the splits; returns a histogram of one child of
        every split.
    bins : Bins
    rules : Rules
    """

    def __init__(
        self, split_rows: Callable[[Rows, Splits], Rows], bins: Bins, rules: Rules
    ) -> None:
        self._split_rows, self._rules = split_rows, rules
        self._bins, self._held = bins, _kernels.refer_to_bins(bins)
        self._histograms: list[Rows] = []
        self._splits: list[Any] = []

    def start(self) -> tuple[int, Splits]:
        # All rows go to the left, and stay where they are.
        everybody = np.zeros(1, _kernels.SPLIT)
        everybody["goes_left"] = 2**64 - 1
        histogram = self._split_rows(np.zeros(1, np.int64), everybody).reshape(1, -1)
        total = int(histogram[0, :N_BINS].sum())
        return total, self._search([total], histogram)

    def split(self, parents: list[int], first: int, added: list[int], totals: list[int]) -> Splits:
        splits = np.stack([self._splits[node] for node in parents])
        splits["children"] = first + 2 * np.arange(len(parents))
        splits["added"] = added
        slots = np.full(first, -1)
        slots[parents] = np.arange(len(parents))
        less = self._split_rows(slots, splits).reshape(len(parents), -1)
        children = np.empty((len(parents), 2, less.shape[1]), np.int64)
        for place, (node, side) in enumerate(zip(parents, added, strict=True)):
            children[place, side] = less[place]
            np.subtract(self._histograms[node], less[place], out=children[place, 1 - side])
            self._histograms[node] = less[:0]
        return self._search(totals, children.reshape(2 * len(parents), -1))

    def _search(self, totals: list[int], histograms: Rows) -> Splits:
        splits = _kernels.find_splits(self._held, self._rules, np.array(totals), histograms)
        self._splits += list(splits)
        self._histograms += list(histograms)
        return splits


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
