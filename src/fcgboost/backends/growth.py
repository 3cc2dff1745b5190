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
from fcgboost.arrays import Matrix, Tensor, is_tensor, namespace
from fcgboost.dictionaries.bins import N_BINS, Bins, ByteCodes

# A sum of residuals (upper bits) and one of weights share an integer; the absolute residuals add up
# to less than this power of two.
WEIGHT_BITS = 28
_RESIDUAL_BITS = 34
_TINY = np.finfo(np.float64).tiny
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


@dataclass
class Nodes:
    """The nodes of a growing tree as they were made; not all of them end up in the tree."""

    #: The sums of their rows.
    totals: Rows
    levels: Rows
    #: The left child of each node, or 0 if it is not split; the right one comes next.
    children: Rows
    #: The best splits, and what they gain; negative if a node cannot be split.
    splits: Splits
    gains: Array

    @classmethod
    def of(
        cls,
        totals: Rows,
        levels: Rows,
        splits: Splits,
        rules: Rules,
    ) -> Nodes:
        """Return nodes without children."""
        is_able = (splits["feature"] >= 0) & (levels < rules.depth)
        gains = np.where(is_able, splits["score"], -1.0)
        return cls(
            totals,
            levels=levels,
            children=np.zeros_like(totals),
            splits=splits,
            gains=gains,
        )

    def __add__(self, newer: Nodes) -> Nodes:
        pairs = zip(vars(self).values(), vars(newer).values(), strict=True)
        return Nodes(*map(np.concatenate, pairs))


class GrowingRows(ABC):
    """Rows, wherever they are, that know their node of a growing tree."""

    #: The root at first.
    nodes: Nodes

    @abstractmethod
    def split(self, wanted: Rows) -> None:
        """Split nodes, or some of them; there may be others that come next."""


class Growth:
    """The growth of one tree, in the order of the compiled grower."""

    def __init__(self, rows: GrowingRows, bins: Bins, rules: Rules) -> None:
        self._rules = rules
        self._held = _kernels.refer_to_bins(bins)
        while True:
            nodes = rows.nodes
            #: The nodes of the tree in order, and the places of their left children or 0.
            self._order, self._lefts, wanted = rounds.plan_tree(
                rules.max_leaves, nodes.gains, nodes.children
            )
            if len(wanted) == 0:
                break
            rows.split(wanted)
        self._nodes = nodes

    def atom(self) -> Array:
        """Return the tree as an atom; the largest leaf value is the peak."""
        return rounds.write_tree(
            self._held,
            self._rules,
            self._order,
            self._lefts,
            self._nodes.totals,
            self._nodes.splits,
        )

    def leaf_numbers(self) -> NDArray[np.uint16]:
        """Return the leaf number of the rows of each node."""
        leaves = self._order[self._lefts == 0]
        children = self._nodes.children
        numbers = np.zeros(len(children), np.uint16)
        numbers[leaves] = np.arange(len(leaves))
        # Unneeded splits belong to the leaf above; parents come before their children.
        inner = np.zeros(len(numbers), bool)
        inner[self._order] = self._lefts > 0
        for node in np.flatnonzero((children > 0) & ~inner):
            first = children[node]
            numbers[first : first + 2] = numbers[node]
        return numbers


def weight_of(totals: Rows) -> Rows:
    """Return the weights of sums, in units."""
    return totals & ((1 << WEIGHT_BITS) - 1)


def quantize(residual: Matrix, weights: Matrix, size: Matrix, unit: float) -> Rows | Tensor:
    """Return the residual and weight of each row as one integer.

    `size` is the sum of absolute residuals over all rows, here and elsewhere: a number of NumPy,
    or a tensor without dimensions.
    """
    # As in trees.c: the power of two does not depend on the order of the sum.
    size = (size * (1.0 + 2.0**-20)).clip(_TINY)
    power = namespace(size).frexp(size)[0] / size
    steps = power * 2.0**_RESIDUAL_BITS
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
        self._most = max(1, _AT_ONCE // (bins.n_columns * N_BINS))
        self._held = _kernels.refer_to_bins(bins)
        #: Of nodes not yet split.
        self._histograms: list[Rows | None] = []
        # All rows go left and stay in node 0.
        everybody = np.zeros(1, _kernels.SPLIT)
        everybody["goes_left"] = 2**64 - 1
        histogram = self._split_rows(np.zeros(1, np.int64), everybody).reshape(1, -1)
        total = histogram[:, :N_BINS].sum(1)
        self.nodes = self._made(total, np.zeros(1, np.int64), histogram)

    def split(self, wanted: Rows) -> None:
        parents = wanted[: self._most]
        nodes = self.nodes
        first = len(nodes.totals)
        splits = nodes.splits[parents]
        left = splits["left"]
        totals = np.stack([left, nodes.totals[parents] - left], 1)
        # Only the rows of the child with the smaller weight are added up by bin.
        right_weights = weight_of(totals[:, 1])
        added = (right_weights < weight_of(left)).astype(np.int64)
        nodes.children[parents] = first + 2 * np.arange(len(parents))
        splits["children"] = nodes.children[parents]
        splits["added"] = added
        slots = np.full(first, -1)
        slots[parents] = np.arange(len(parents))
        less = self._split_rows(slots, splits).reshape(len(parents), -1)
        children = np.empty((len(parents), 2, less.shape[1]), np.int64)
        for i, (node, side) in enumerate(zip(parents, added, strict=True)):
            children[i, side] = less[i]
            np.subtract(self._histograms[node], less[i], out=children[i, 1 - side])
            self._histograms[node] = None
        levels = np.repeat(nodes.levels[parents] + 1, 2)
        self.nodes += self._made(totals.ravel(), levels, children.reshape(2 * len(parents), -1))

    def _made(self, totals: Rows, levels: Rows, histograms: Rows) -> Nodes:
        """Return new nodes with their best splits."""
        splits = rounds.find_splits(
            self._held,
            self._rules,
            totals,
            histograms,
        )
        # Copies, so that the memory of a split node is freed.
        self._histograms += [histogram.copy() for histogram in histograms]
        return Nodes.of(
            totals,
            levels,
            splits,
            self._rules,
        )


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
