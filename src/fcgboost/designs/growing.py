"""Trees that are grown on a device: bins, histograms and the search for splits stay there.

Histograms are sums of whole numbers, which do not depend on the order in which threads add, and
scores are computed as the compiled grower does. So the tree is the same to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost import _kernels
from fcgboost._kernels import Splits
from fcgboost.arrays import Array, host
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import Host, kernels
from fcgboost.dictionaries import TreeDictionary
from fcgboost.dictionaries.bins import N_BINS, N_CODES, THRESHOLD_ROWS, Bins, bin_rows
from fcgboost.dictionaries.growth import (
    WEIGHT_BITS,
    GrowingRows,
    Growth,
    Rules,
    Weights,
    steps_of,
)

# A split must raise the sum of squares by more than rounding does.
_FLOOR = 1.0 + 2.0**-40
# Histograms that room is taken for at once.
_ROOM = 256
_ALL_WEIGHT = (1 << WEIGHT_BITS) - 1


class DeviceGrower:
    """Grows trees on the rows of a device."""

    def __init__(self, trees: TreeDictionary, rows: Any, weights: Any, device: Host) -> None:
        self._device, self._weights = device, weights
        is_category = trees.categories(rows.shape[1])
        self._bins, self._codes = bin_rows(rows, is_category, int(trees.n_thresholds))
        n_rows = len(rows) if len(rows) > THRESHOLD_ROWS else self._bins.n_distinct
        self._rules = trees.rules(Weights.of(host(weights)), n_rows)
        self._search = _Search(self._bins, self._rules, device)
        #: The numbers of the leaves that rows belong to in the last tree.
        self.leaves: Any = None

    def grow(self, rows: Any, residual: Any, weights: Any, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters), on the rows that it was made for."""
        (size,) = self._device.fetch(residual.abs().sum())
        steps = steps_of(residual, self._weights, float(size), self._rules.unit)
        growing = _DeviceRows(self._codes, steps, self._search, self._device)
        growth = Growth(growing, self._bins, self._rules)
        self.leaves = self._device.put(growth.leaf_numbers(), "int64")[growing.nodes]
        return growth.atom()


class _DeviceRows(GrowingRows):
    """Rows on a device; histograms of nodes that were not split yet are kept there, too.

    `codes` has the shape (n_columns, n_rows).
    """

    def __init__(self, codes: Any, steps: Any, search: _Search, device: Host) -> None:
        self._codes, self._steps, self._search, self._device = codes, steps, search, device
        self._places = device.xp.arange(len(steps), device=steps.device)
        self.nodes = 0 * self._places
        #: Room for histograms, and where that of every node is.
        self._sums = steps.new_empty((_ROOM, len(codes) * N_BINS))
        self._kept: list[int] = []
        #: Of every node: the column of its split, and which of its codes go left.
        self._column = steps.new_empty(2 * _ROOM)
        self._goes_left = device.empty(2 * _ROOM, N_BINS, "uint8")

    def start(self) -> tuple[int, Splits]:
        # All rows go to the left, and stay where they are.
        self._kept, self._column[0], self._goes_left[0], here = [0], 0, 1, self._column[:1]
        self._sums[:1] = self._send(here, here, here, 0)
        total = int(self._sums[0, :N_BINS].sum())
        return total, self._open(0, [total], self._sums[:1])

    def split(self, parents: list[int], first: int, added: list[int], totals: list[int]) -> Splits:
        n, free = len(parents), 1 + first // 2
        kept, slots, there = [self._kept[node] for node in parents], np.full(first, -1), []
        slots[parents] = np.arange(n)
        for place, (own, side) in enumerate(zip(kept, added, strict=True)):
            # The heavier child takes the place of its parent.
            there += [own, free + place] if side else [free + place, own]
        self._kept += there
        if free + n > len(self._sums):
            self._sums, self._column, self._goes_left = (
                self._device.xp.concatenate([held, self._device.xp.empty_like(held)])
                for held in (self._sums, self._column, self._goes_left)
            )
        sent = self._device.put(np.concatenate([slots, parents, added, kept, there]), "int64")
        slots, parents, added, kept, there = sent.split([first, n, n, n, 2 * n])
        less = self._send(slots, parents, added, first)
        self._sums[free : free + n] = less
        self._sums[kept] -= less
        return self._open(first, totals, self._sums[there])

    def _send(self, slots: Any, parents: Any, added: Any, first: int) -> Any:
        """Send rows to their children; return histograms of those that are added up."""
        if self._device.has_kernels:
            tables = slots, parents, added, self._column, self._goes_left
            rows = self._codes, self._steps, self.nodes
            return kernels().send_rows(*rows, tables, len(parents), first)
        slot = slots[self.nodes]
        split = slot.clamp(min=0)
        parent = parents[split]
        codes = self._codes[self._column[parent], self._places].long()
        is_split, is_right = slot >= 0, 1 - self._goes_left[parent, codes].long()
        self.nodes = self._device.xp.where(is_split, first + 2 * split + is_right, self.nodes)
        rows = (is_split & (is_right == added[split])).nonzero()[:, 0]
        return self._histograms(rows, split[rows], len(parents))

    def _histograms(self, rows: Any, split: Any, n: int) -> Any:
        """Return the sums of rows by split, column and bin, of shape (n, n_columns * N_BINS)."""
        n_columns, steps = len(self._codes), self._steps[rows]
        sums = steps.new_zeros((n_columns, n * N_BINS))
        for some in row_blocks(n_columns, self._device.block_entries // max(1, len(rows))):
            places = self._codes[some][:, rows].long() + split * N_BINS
            sums[some].scatter_add_(1, places, steps.expand(places.shape))
        return sums.view(n_columns, n, N_BINS).transpose(0, 1).reshape(n, -1)

    def _open(self, first: int, totals: list[int], histograms: Any) -> Splits:
        """Find the best splits of nodes, and keep what rows need of them."""
        own = slice(first, first + len(totals))
        found, self._column[own], self._goes_left[own] = self._search.best(histograms, totals)
        return found


class _Search:
    """The search for the best splits of nodes in their histograms, as `splits.c` does it."""

    def __init__(self, bins: Bins, rules: Rules, device: Host) -> None:
        self._device, self._bins, put = device, bins, device.put
        self._smoothing = rules.smoothing / rules.unit
        self._least = max(1.0, float(np.ceil(rules.min_leaf / rules.unit)))
        bin_ = np.arange(N_BINS)
        column, first, usual, n_numbers, n_bins = (
            getattr(bins, name)[:, None]
            for name in ("column", "first", "usual", "n_numbers", "n_bins")
        )
        is_shared = usual >= 0
        places = column * N_BINS + first + bin_ - (is_shared & (bin_ > usual))
        #: Where a feature's bins are in a histogram, and which of its bins these are.
        is_there = (bin_ < n_bins) & (bin_ != usual)
        self._places, self._is_bin = (
            put(np.where(is_there, places, 0), "int64"),
            put(is_there, "int64"),
        )
        self._is_usual, self._is_number = (
            put(bin_ == usual, "int64"),
            put(bin_ < n_numbers, "int64"),
        )
        self._is_missing = put((bin_ == n_numbers) & (bin_ < n_bins), "int64")
        # The bin of a feature that a code of its column stands for; other features' are the usual.
        of_code = bin_ - first
        of_code = of_code + (is_shared & (of_code >= usual))
        is_own = (bin_ >= first) & (of_code < n_bins)
        of_code = np.where(is_shared & ~is_own, usual, of_code)
        self._bin_of = put(of_code, "int64")
        self._column, self._n_numbers = put(bins.column, "int64"), put(bins.n_numbers, "int64")
        self._has_shared, self._has_missing = is_shared.any(), (n_bins > n_numbers).any()
        self._category, self._has_categories = put(bins.is_category, "bool"), bins.is_category.any()
        self._levels = put(2.0 ** np.arange(N_CODES))

    def best(self, histograms: Any, totals: list[int]) -> tuple[Splits, Any, Any]:
        """Return the best splits, the columns that rows are sent by, and which codes go left."""
        xp, n = self._device.xp, len(totals)
        total = self._device.put(np.array(totals), "int64")[:, None, None]
        sums = histograms[:, self._places]
        sums = sums * self._is_bin
        if self._has_shared:
            sums = sums + (total - sums.sum(2, keepdims=True)) * self._is_usual
        missing = (sums * self._is_missing).sum(2, keepdims=True)
        sums = sums * self._is_number
        order = self._ranked(sums) if self._has_categories else None
        below = (sums if order is None else sums.gather(2, order)).cumsum(2)
        # Of equal scores the lowest bin wins, then missing values on the left.
        left = xp.stack([below + missing, below], 3) if self._has_missing else below[..., None]
        total = total[..., None]
        a, b = (left >> WEIGHT_BITS).double(), (left & _ALL_WEIGHT).double()
        c, d = (total >> WEIGHT_BITS).double() - a, (total & _ALL_WEIGHT).double() - b
        scores = a * a / (b + self._smoothing) + c * c / (d + self._smoothing)
        scores = xp.where((b >= self._least) & (d >= self._least), scores, -1.0)
        best, at = scores.view(n, -1).max(1)
        rows, n_sides = xp.arange(n, device=best.device), left.shape[-1]
        feature, place, side = at // (N_BINS * n_sides), at // n_sides % N_BINS, at % n_sides
        weight, gaps = b.view(n, -1)[rows, at], missing[rows, feature, 0] & _ALL_WEIGHT
        whole = (total & _ALL_WEIGHT).view(n)
        is_left = xp.where(gaps == 0, 2.0 * weight >= whole, side == 0)
        of = sums[rows, feature], None if order is None else order[rows, feature]
        goes_left = self._goes_left(feature, place, is_left, *of)
        levels = goes_left[:, :N_CODES].double() @ self._levels
        facts = best, feature, place, is_left, a.view(n, -1)[rows, at], weight, levels
        (found,) = self._device.fetch(xp.stack([fact.double() for fact in facts]))
        return self._splits(found, np.array(totals)), self._column[feature], goes_left

    def _ranked(self, sums: Any) -> Any:
        """Return the order of bins: as they are, or levels by their mean residuals."""
        xp, weights = self._device.xp, sums & _ALL_WEIGHT
        means = (sums >> WEIGHT_BITS).double() / (weights + self._smoothing)
        bins = xp.arange(N_BINS, device=sums.device).double()
        # Levels that no row has are the last ones.
        means = xp.where(weights > 0, means, np.inf)
        keys = xp.where(self._category[:, None], means, bins)
        return keys.sort(dim=2, stable=True).indices

    def _goes_left(self, feature: Any, place: Any, is_left: Any, sums: Any, order: Any) -> Any:
        """Return which codes of columns go left; values that nobody has go with missing ones."""
        xp, bins, place = self._device.xp, self._bin_of[feature], place[:, None]
        is_known, is_below = bins < self._n_numbers[feature][:, None], bins <= place
        if order is not None:
            is_category = self._category[feature][:, None]
            has_rows, ranks = (sums & _ALL_WEIGHT) > 0, order.argsort(1)
            is_known = xp.where(is_category, has_rows, is_known)
            is_below = xp.where(is_category, ranks <= place, is_below)
        return xp.where(is_known, is_below, is_left[:, None])

    def _splits(self, found: Array, totals: Any) -> Splits:
        """Return splits by what came from the device."""
        scores, feature, place, is_left, pull, weight, levels = found
        pulls, weights = (totals >> WEIGHT_BITS).astype(np.float64), totals & _ALL_WEIGHT
        none = pulls * pulls / (weights + self._smoothing)
        splits = np.zeros(len(totals), _kernels.SPLIT)
        splits["feature"] = np.where(scores > none * _FLOOR, feature, -1)
        splits["score"], splits["place"], splits["is_missing_left"] = scores - none, place, is_left
        splits["left"] = (pull.astype(np.int64) << WEIGHT_BITS) + weight.astype(np.int64)
        splits["goes_left"][:, 0] = levels.astype(np.uint64)
        return splits
