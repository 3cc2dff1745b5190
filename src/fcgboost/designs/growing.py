"""Trees grown on a device, where bins and histograms stay.

Histograms are sums of integers and so do not depend on the order of additions: a tree equals that
of the compiled grower to the bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fcgboost.arrays import Array, host
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import Host, kernels
from fcgboost.dictionaries import TreeDictionary
from fcgboost.dictionaries.bins import N_BINS, bin_rows
from fcgboost.dictionaries.growth import Growth, SummedRows, Weights, steps_of


class DeviceGrower:
    """Grows trees on the rows of a device."""

    def __init__(self, trees: TreeDictionary, rows: Any, weights: Any, device: Host) -> None:
        self._device, self._weights = device, weights
        is_category = trees.categories(rows.shape[1])
        self._bins, self._codes = bin_rows(rows, is_category, int(trees.n_thresholds))
        known = Weights.of(host(weights))
        depth = trees.levels(max(known.total, self._bins.n_rows(len(rows))))
        self._rules = rules = trees.rules(depth, known.unit)
        names = ("column", "first", "usual", "n_numbers", "n_bins", "is_category")
        facts = np.stack([getattr(self._bins, name) for name in names])
        least = max(1.0, math.ceil(rules.min_leaf / rules.unit))
        #: Features and rules, for the search on a GPU.
        self._search = (
            device.put(facts, "int64"),
            (rules.smoothing / rules.unit, least, bool(is_category.any())),
        )
        #: The leaf numbers of the rows in the last tree.
        self.leaves: Any = None

    def grow(self, rows: Any, residual: Any, weights: Any, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters), on the rows of the constructor."""
        (size,) = self._device.fetch(residual.abs().sum())
        steps = steps_of(residual, self._weights, float(size), self._rules.unit)
        if self._device.has_kernels:
            own = kernels("trees").GpuRows(self._codes, steps, *self._search, self._device)
            # Kernels run on the current device, which may not be that of the rows.
            with self._device.xp.cuda.device_of(steps):
                growth = Growth(own, self._bins, self._rules)
        else:
            own = TorchRows(self._codes, steps, self._device)
            growth = Growth(SummedRows(own.split, self._bins, self._rules), self._bins, self._rules)
        self.leaves = self._device.put(growth.leaf_numbers(), "int64")[own.nodes]
        return growth.atom()


class TorchRows:
    """Torch rows, sent from node to node by its functions; codes are (n_columns, n_rows)."""

    def __init__(self, codes: Any, steps: Any, device: Host) -> None:
        self._codes, self._steps, self._device = codes, steps, device
        self._places = device.xp.arange(len(steps), device=steps.device)
        self.nodes = 0 * self._places

    def split(self, slots: Any, splits: Any) -> Any:
        """Send rows to their children; return a histogram of one child per split."""
        put, xp = self._device.put, self._device.xp
        slot = put(slots, "int64")[self.nodes]
        bits = np.ascontiguousarray(splits["goes_left"]).view(np.uint8)
        goes_left = put(np.unpackbits(bits, axis=1, bitorder="little"), "int64")
        column, children, added = (put(splits[n], "int64") for n in ("column", "children", "added"))
        split, is_split = slot.clamp(min=0), slot >= 0
        codes = self._codes[column[split], self._places].long()
        is_right = 1 - goes_left[split, codes]
        self.nodes = xp.where(is_split, children[split] + is_right, self.nodes)
        rows = (is_split & (is_right == added[split])).nonzero()[:, 0]
        return host(self._histograms(rows, N_BINS * split[rows], len(splits)))

    def _histograms(self, rows: Any, first: Any, n: int) -> Any:
        """Return sums by bin, of shape (n, n_columns * N_BINS); `first` is a row's first bin."""
        n_columns, steps = len(self._codes), self._steps[rows]
        sums = steps.new_zeros((n_columns, n * N_BINS))
        for some in row_blocks(n_columns, self._device.block_entries // max(1, len(rows))):
            places = self._codes[some][:, rows].long() + first
            sums[some].scatter_add_(1, places, steps.expand(places.shape))
        return sums.view(n_columns, n, N_BINS).transpose(0, 1).reshape(n, -1)
