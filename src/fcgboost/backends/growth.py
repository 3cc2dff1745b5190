"""Trees grown in rounds over rows that live on a GPU or on workers.

A round splits many nodes at once. Growing best split first, it also splits those that are likely to
come next; what turns out not to be needed is dropped. Sums by bin are whole numbers, so the tree is
that of the compiled grower to the bit, in whatever order rows are added up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels
from fcgboost._kernels import Array, Rows, Rules, Splits, rounds
from fcgboost.arrays import Matrix, Tensor, is_tensor
from fcgboost.dictionaries.bins import N_BINS, Bins, ByteCodes

# A sum of residuals (upper bits) and one of weights share an integer; the absolute residuals add up
# to less than this power of two.
WEIGHT_BITS = 28
_RESIDUAL_BITS = 34
# Size of the histograms of one round (64 MiB).
_AT_ONCE = 1 << 23


@dataclass
class WeightSummary:
    """A summary of row weights; those of parts of the rows add up."""

    total: float
    least: float
    largest: float
    n_rows: float
    is_whole: float

    @classmethod
    def of(cls, weights: Array) -> WeightSummary:
        """Summarise weights; zeros do not count."""
        return cls(*_kernels.weigh(weights))

    def __add__(self, other: WeightSummary) -> WeightSummary:
        return WeightSummary(
            total=self.total + other.total,
            least=min(self.least, other.least),
            largest=max(self.largest, other.largest),
            n_rows=self.n_rows + other.n_rows,
            is_whole=self.is_whole and other.is_whole,
        )

    @property
    def unit(self) -> _kernels.WeightUnit:
        return _kernels.weight_unit(*vars(self).values())


class GrowingRows(ABC):
    """Rows, wherever they are, that know their node of a growing tree."""

    @abstractmethod
    def start(self) -> tuple[int, Splits]:
        """Put all rows into node 0; return their sum and the best split."""

    @abstractmethod
    def split(
        self,
        parents: Rows,
        first: int,
        added: Rows,
        totals: Rows,
    ) -> Splits:
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
        self._rows = rows
        self._rules = rules
        self._bins = bins
        self._held = _kernels.refer_to_bins(bins)
        # For each node: its sums, its left child or 0, its level, its best split and the gain.
        self._totals, self._children, self._levels = (np.zeros(0, np.int64) for _ in range(3))
        self._splits = np.zeros(0, _kernels.SPLIT)
        self._gains = np.zeros(0)
        total, splits = rows.start()
        self._add(np.array([total]), np.zeros(1, np.int64), splits)
        while True:
            #: The nodes of the tree in order, and the places of their left children or 0.
            self._order, self._lefts, wanted = rounds.plan_tree(
                rules.max_leaves, self._gains, self._children
            )
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
        first = len(self._totals)
        left = self._splits["left"][wanted]
        right = self._totals[wanted] - left
        added = (weight_of(right) < weight_of(left)).astype(np.int64)
        self._children[wanted] = first + 2 * np.arange(len(wanted))
        totals = np.column_stack([left, right]).ravel()
        levels = self._levels[wanted] + 1
        splits = self._rows.split(
            wanted,
            first,
            added,
            totals,
        )
        self._add(totals, np.repeat(levels, 2), splits)

    def atom(self) -> Array:
        """Return the tree as an atom; the largest leaf value is the peak."""
        return rounds.write_tree(
            self._held,
            self._rules,
            self._order,
            self._lefts,
            self._totals,
            self._splits,
        )

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


def weight_of(totals: Rows) -> Rows:
    """Return the weights of sums, in units."""
    return totals & ((1 << WEIGHT_BITS) - 1)


def quantize(residual: Matrix, weights: Matrix, size: float, unit: float) -> Rows | Tensor:
    """Return the residual and weight of each row as one integer.

    `size` is the sum of absolute residuals over all rows, here and elsewhere.
    """
    # As in trees.c: the power of two does not depend on the order of the sum.
    steps = 2.0 ** (_RESIDUAL_BITS - int(np.frexp(size * (1.0 + 2.0**-20))[1]))
    return (_rounded(residual * steps) << WEIGHT_BITS) + _rounded(weights / unit)


def _rounded(values: Matrix) -> Rows | Tensor:
    rounded = values.round()
    return rounded.long() if is_tensor(rounded) else rounded.astype(np.int64)


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
        self._split_rows = split_rows
        self._rules = rules
        self._bins = bins
        self._held = _kernels.refer_to_bins(bins)
        #: Of nodes not yet split.
        self._histograms: list[Rows | None] = []
        self._splits: list[np.void] = []

    def start(self) -> tuple[int, Splits]:
        # All rows go left and stay in node 0.
        everybody = np.zeros(1, _kernels.SPLIT)
        everybody["goes_left"] = 2**64 - 1
        histogram = self._split_rows(np.zeros(1, np.int64), everybody).reshape(1, -1)
        total = int(histogram[0, :N_BINS].sum())
        return total, self._search(np.array([total]), histogram)

    def split(
        self,
        parents: Rows,
        first: int,
        added: Rows,
        totals: Rows,
    ) -> Splits:
        splits = np.array([self._splits[node] for node in parents], _kernels.SPLIT)
        splits["children"] = first + 2 * np.arange(len(parents))
        splits["added"] = added
        slots = np.full(first, -1)
        slots[parents] = np.arange(len(parents))
        less = self._split_rows(slots, splits).reshape(len(parents), -1)
        children = np.empty((len(parents), 2, less.shape[1]), np.int64)
        for i, (node, side) in enumerate(zip(parents, added, strict=True)):
            children[i, side] = less[i]
            np.subtract(self._histograms[node], less[i], out=children[i, 1 - side])
            self._histograms[node] = None
        return self._search(totals, children.reshape(2 * len(parents), -1))

    def _search(self, totals: Rows, histograms: Rows) -> Splits:
        splits = rounds.find_splits(
            self._held,
            self._rules,
            totals,
            histograms,
        )
        self._splits += list(splits)
        # Copies, so that the memory of a split node is freed.
        self._histograms += [histogram.copy() for histogram in histograms]
        return splits


class HostRows:
    """Rows in memory, sent from node to node by the compiled library."""

    def __init__(self, bins: Bins, codes: ByteCodes, steps: Rows) -> None:
        self._bins = bins
        self._codes = codes
        self._steps = steps
        self._held = _kernels.refer_to_bins(bins, codes)
        self.nodes = np.zeros(len(steps), np.int32)

    def split(self, slots: Rows, splits: Splits) -> Rows:
        """Send rows to their children and return histograms."""
        histograms = np.zeros((len(splits), self._codes.shape[1] * N_BINS), np.int64)
        rounds.split_rows(
            self._held,
            slots,
            splits,
            self._steps,
            self.nodes,
            histograms,
        )
        return histograms
