"""Trees grown in rounds over rows that live on a device or on workers.

A round splits many nodes at once. Growing best split first, it also splits those that are likely to
come next; what turns out not to be needed is dropped. Sums by bin are whole numbers, so the tree is
that of the compiled grower to the bit, in whatever order rows are added up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels
from fcgboost._kernels import Array, Rows, Splits, rounds
from fcgboost.arrays import host
from fcgboost.dictionaries.bins import N_BINS, N_CODES, Bins, Codes

# Numbers per node.
FIELDS = 4
# Bits of a node's kind: missing values go left; the value is a set of categories. The bits above
# hold the place of the set's four further numbers, each -2 minus a word.
MISSING_LEFT, CATEGORIES, MORE_WORDS = 1, 2, 4
#: Categories per word, the bits of an integer in float64; words per set.
WORD, N_WORDS = 52, 1 + FIELDS
# A sum of residuals (upper bits) and one of weights share an integer; the absolute residuals add up
# to less than this power of two.
WEIGHT_BITS, _RESIDUAL_BITS = 28, 34
_TINY = np.finfo(np.float64).tiny
# Size of the histograms of one round (64 MiB).
_AT_ONCE = 1 << 23


def nodes_of(atoms: Any) -> Array:
    """Return the nodes of rows as a NumPy array of shape (n_trees, n_nodes, 4)."""
    dense = host(atoms)
    n_nodes = dense.shape[1] // FIELDS
    rows = np.ascontiguousarray(dense[:, : n_nodes * FIELDS], dtype=np.float64)
    return rows.reshape(len(rows), n_nodes, FIELDS)


def as_rows(nodes: Array) -> Array:
    """Return nodes as rows, the inverse of `nodes_of`."""
    return nodes.reshape(len(nodes), nodes.shape[1] * FIELDS)


def sets_of(nodes: Array) -> Rows:
    """Return sets of categories that go left, of shape (n_trees, n_nodes, 5): words of 52 codes.

    Codes beyond the words of a set go where missing values go.
    """
    is_split, n_nodes = nodes[:, :, :1] >= 0.0, nodes.shape[1]
    kinds = np.where(is_split, nodes[:, :, 3:], 0.0).astype(np.int64)
    is_set, places = kinds & CATEGORIES > 0, (kinds // MORE_WORDS).clip(max=n_nodes - 1)
    others = -2.0 - np.take_along_axis(nodes, places, axis=1)
    words = np.where(places > 0, others, (kinds & MISSING_LEFT) * (2.0**WORD - 1.0))
    return np.where(is_set, np.dstack([nodes[:, :, 1], words]), 0.0).astype(np.int64)


@dataclass
class Weights:
    """A summary of row weights; those of parts of the rows add up."""

    total: float
    least: float
    largest: float
    n_rows: float
    is_whole: float

    @classmethod
    def of(cls, weights: Array) -> Weights:
        """Summarise weights; zeros do not count."""
        return cls(*_kernels.weigh(weights))

    def __add__(self, other: Weights) -> Weights:
        n_rows, is_whole = self.n_rows + other.n_rows, self.is_whole and other.is_whole
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        return Weights(self.total + other.total, least, largest, n_rows, is_whole)

    @property
    def unit(self) -> tuple[float, bool]:
        """The unit of weight, and whether all weights are multiples of it."""
        return _kernels.weight_unit(*vars(self).values())


class Rules(NamedTuple):
    """How a tree grows; with `max_leaves` 0 there is no limit, and it grows level by level."""

    depth: int
    max_leaves: int
    min_leaf: float
    smoothing: float
    peak: float
    #: The unit of weight, and whether all weights are multiples of it.
    unit: float
    is_exact: bool


class GrowingRows(ABC):
    """Rows, wherever they are, that know their node of a growing tree."""

    @abstractmethod
    def start(self) -> tuple[int, Splits]:
        """Put all rows into node 0; return their sum and the best split."""

    @abstractmethod
    def split(self, parents: Rows, first: int, added: Rows, totals: Rows) -> Splits:
        """Send the rows of nodes to their children; return the children's best splits.

        Parameters
        ----------
        parents : ndarray of int
        first : int
            The number of the first child; each parent has two.
        added : ndarray of int
            Which child, 0 or 1, has the smaller weight: only its rows are added up by bin.
        totals : ndarray of int
            The sums of the children.
        """


class Growth:
    """The growth of one tree, in the order of the compiled grower.

    Nodes are numbered as they are made; not all of them end up in the tree.
    """

    def __init__(self, rows: GrowingRows, bins: Bins, rules: Rules) -> None:
        self._rows, self._bins, self._rules = rows, bins, rules
        # For each node: its sums, its left child or 0, its level, its best split and the gain.
        self._totals, self._children, self._levels = (np.zeros(0, np.int64) for _ in range(3))
        self._splits, self._gains = np.zeros(0, _kernels.SPLIT), np.zeros(0)
        total, splits = rows.start()
        self._add(np.array([total]), np.zeros(1, np.int64), splits)
        while True:
            known = rules.max_leaves, self._gains, self._children
            #: The nodes of the tree in order, and the places of their left children or 0.
            self._order, self._lefts, wanted = rounds.plan_tree(*known)
            if len(wanted) == 0:
                break
            self._split(wanted[: max(1, _AT_ONCE // (bins.n_columns * N_BINS))])

    def _add(self, totals: Rows, levels: Rows, splits: Splits) -> None:
        is_able = (splits["feature"] >= 0) & (levels < self._rules.depth)
        self._gains = np.append(self._gains, np.where(is_able, splits["score"], -1.0))
        self._totals, self._levels = (
            np.append(self._totals, totals),
            np.append(self._levels, levels),
        )
        self._children = np.append(self._children, np.zeros_like(totals))
        self._splits = np.append(self._splits, splits)

    def _split(self, wanted: Rows) -> None:
        first, left = len(self._totals), self._splits["left"][wanted]
        right = self._totals[wanted] - left
        added = (weight_of(right) < weight_of(left)).astype(np.int64)
        self._children[wanted] = first + 2 * np.arange(len(wanted))
        totals, levels = np.column_stack([left, right]).ravel(), self._levels[wanted] + 1
        splits = self._rows.split(wanted, first, added, totals)
        self._add(totals, np.repeat(levels, 2), splits)

    def atom(self) -> Array:
        """Return the tree as an atom; the largest leaf value is the peak."""
        rules, nodes, totals = self._rules, np.zeros((len(self._order), FIELDS)), self._totals
        is_leaf, splits, totals = self._lefts == 0, self._splits[self._order], totals[self._order]
        weights = np.maximum(weight_of(totals) * rules.unit + rules.smoothing, _TINY)
        values = np.where(is_leaf, (totals >> WEIGHT_BITS) / weights, 0.0)
        values = values / (np.abs(values).max() or 1.0) * rules.peak
        feature = np.where(is_leaf, -1, splits["feature"])
        is_set = ~is_leaf & self._bins.is_category[feature]
        values = np.where(is_leaf, values, self._bins.edges[feature, splits["place"]])
        kinds = MISSING_LEFT * splits["is_missing_left"] + CATEGORIES * is_set
        nodes[:, 0], nodes[:, 1], nodes[:, 2] = feature, values, self._lefts
        nodes[:, 3] = np.where(is_leaf, 0, kinds)
        words = _words_of(splits["goes_left"][is_set])
        nodes[is_set, 1] = words[:, 0]
        is_wide = is_set & (self._bins.n_numbers[feature] > WORD)
        nodes[is_wide, 3] += MORE_WORDS * (len(nodes) + np.arange(is_wide.sum()))
        return np.vstack([nodes, -2.0 - words[is_wide[is_set], 1:]]).reshape(1, -1)

    def leaf_numbers(self) -> NDArray[np.uint16]:
        """Return the leaf number of the rows of each node."""
        leaves = self._order[self._lefts == 0]
        numbers = np.zeros(len(self._totals), np.uint16)
        numbers[leaves] = np.arange(len(leaves))
        # Unneeded splits belong to the leaf above; parents come before their children.
        inner = np.zeros(len(numbers), bool)
        inner[self._order] = self._lefts > 0
        for node in np.flatnonzero((self._children > 0) & ~inner):
            first = self._children[node]
            numbers[first : first + 2] = numbers[node]
        return numbers


def _words_of(goes_left: NDArray[np.uint64]) -> Array:
    """Return the words of bit sets, of shape (n_sets, 5)."""
    codes = np.ascontiguousarray(goes_left).view(np.uint8)
    bits = np.zeros((len(codes), N_WORDS * WORD))
    bits[:, :N_CODES] = np.unpackbits(codes, axis=1, count=N_CODES, bitorder="little")
    return np.asarray(bits.reshape(-1, N_WORDS, WORD) @ 2.0 ** np.arange(WORD))


def weight_of(totals: Rows) -> Rows:
    """Return the weights of sums, in units."""
    return totals & ((1 << WEIGHT_BITS) - 1)


def steps_of(residual: Any, weights: Any, size: float, unit: float) -> Any:
    """Return the residual and weight of each row as one integer.

    `size` is the sum of absolute residuals over all rows, here and elsewhere.
    """
    # As in trees.c: the power of two does not depend on the order of the sum.
    steps = 2.0 ** (_RESIDUAL_BITS - int(np.frexp(size * (1.0 + 2.0**-20))[1]))
    pulls, counts = (residual * steps).round(), (weights / unit).round()
    if isinstance(pulls, np.ndarray):
        return (pulls.astype(np.int64) << WEIGHT_BITS) + counts.astype(np.int64)
    return (pulls.long() << WEIGHT_BITS) + counts.long()


class SummedRows(GrowingRows):
    """Rows known here only by their histograms.

    Parameters
    ----------
    split_rows : callable
        Sends rows, initially at node 0, to the children of their nodes. Takes the number of each
        node's split, or -1, and the splits; returns a histogram of one child per split.
    bins : Bins
    rules : Rules
    """

    def __init__(
        self, split_rows: Callable[[Rows, Splits], Rows], bins: Bins, rules: Rules
    ) -> None:
        self._split_rows, self._rules = split_rows, rules
        self._bins, self._held = bins, _kernels.refer_to_bins(bins)
        #: Of nodes not yet split.
        self._histograms: list[Any] = []
        self._splits: list[Any] = []

    def start(self) -> tuple[int, Splits]:
        # All rows go left and stay in node 0.
        everybody = np.zeros(1, _kernels.SPLIT)
        everybody["goes_left"] = 2**64 - 1
        histogram = self._split_rows(np.zeros(1, np.int64), everybody).reshape(1, -1)
        total = int(histogram[0, :N_BINS].sum())
        return total, self._search(np.array([total]), histogram)

    def split(self, parents: Rows, first: int, added: Rows, totals: Rows) -> Splits:
        splits = np.array([self._splits[node] for node in parents], _kernels.SPLIT)
        splits["children"], splits["added"] = first + 2 * np.arange(len(parents)), added
        slots = np.full(first, -1)
        slots[parents] = np.arange(len(parents))
        less = self._split_rows(slots, splits).reshape(len(parents), -1)
        children = np.empty((len(parents), 2, less.shape[1]), np.int64)
        for place, (node, side) in enumerate(zip(parents, added, strict=True)):
            children[place, side] = less[place]
            np.subtract(self._histograms[node], less[place], out=children[place, 1 - side])
            self._histograms[node] = None
        return self._search(totals, children.reshape(2 * len(parents), -1))

    def _search(self, totals: Rows, histograms: Rows) -> Splits:
        splits = rounds.find_splits(self._held, self._rules, totals, histograms)
        self._splits += list(splits)
        # Copies, so that the memory of a split node is freed.
        self._histograms += [own.copy() for own in histograms]
        return splits


class HostRows:
    """Rows in memory, sent from node to node by the compiled library."""

    def __init__(self, bins: Bins, codes: Codes, steps: Rows) -> None:
        self._bins, self._codes, self._steps = bins, codes, steps
        self._held = _kernels.refer_to_bins(bins, codes)
        self.nodes = np.zeros(len(steps), np.int32)

    def split(self, slots: Rows, splits: Splits) -> Rows:
        """Send rows to their children and return histograms."""
        histograms = np.zeros((len(splits), self._codes.shape[1] * N_BINS), np.int64)
        rounds.split_rows(self._held, slots, splits, self._steps, self.nodes, histograms)
        return histograms
