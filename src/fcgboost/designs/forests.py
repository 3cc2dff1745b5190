"""Trees as the leaves that rows belong to, on a device.

A sum over the rows of a leaf is one of whole numbers, so it does not depend on the order in which
the device's threads add: two runs give one model.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost._kernels.forest import Each, Forest, one_by_one
from fcgboost.arrays import Array, host
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import Host
from fcgboost.dictionaries import TreeDictionary
from fcgboost.dictionaries.bins import N_BINS, THRESHOLD_ROWS, bin_rows
from fcgboost.dictionaries.growth import Growth, Weights, steps_of

# The sizes of all numbers of a sum add up to fewer steps than that power of two.
_BITS = 61
# Trees that room is taken for at once.
_ROOM = 64


class DeviceForest:
    """Trees as the numbers of leaves, of one byte each, or of four: what `Forest` is on a device.

    Parameters
    ----------
    n_rows : int
    device : TorchDevice
    """

    def __init__(self, n_rows: int, device: Host) -> None:
        self._device = device
        #: Of shape (room, n_rows).
        self._codes = device.empty(0, n_rows, "uint8")
        self._set_first(np.zeros(1, np.int64))

    def _set_first(self, first: Any) -> None:
        #: Where the leaves of a tree begin if those of all trees stand in one line, and the end.
        self.first = first
        self.n_trees, sizes = len(first) - 1, np.diff(first)
        self._begin = self._device.put(first[:-1, None], "int64")
        self._width = int(sizes.max(initial=0))
        # Where leaves are if all trees have room for as many.
        starts = np.arange(self.n_trees) * self._width - first[:-1]
        places = np.repeat(starts, sizes) + np.arange(first[-1])
        self._places = self._device.put(places, "int64")

    def append(self, codes: Any, n_leaves: int) -> None:
        """Add a tree."""
        if n_leaves > 256:
            self._codes = self._codes.int()
        if self.n_trees == len(self._codes):
            more = self._codes.new_empty((max(_ROOM, self.n_trees), self._codes.shape[1]))
            self._codes = self._device.xp.concatenate([self._codes, more])
        self._codes[self.n_trees] = codes
        self._set_first(np.append(self.first, self.first[-1] + n_leaves))

    def first_trees(self, n_trees: int) -> DeviceForest:
        """Return the first trees alone."""
        return self if n_trees == self.n_trees else self._some(slice(0, n_trees))

    def last(self) -> DeviceForest:
        """Return the newest tree alone."""
        return self._some(slice(self.n_trees - 1, self.n_trees))

    def _some(self, trees: slice) -> DeviceForest:
        some = DeviceForest(0, self._device)
        some._codes = self._codes[trees]
        some._set_first(self.first[trees.start : trees.stop + 1] - self.first[trees.start])
        return some

    def add_values(self, values: Any, f: Any) -> Any:
        """Add the values of the leaves of all trees to those of the rows."""
        values = self._device.put(values)
        for some in self._blocks():
            f += values[self._codes[some].long() + self._begin[some]].sum(0)
        return f

    def sums(self, r: Any) -> Any:
        """Return the sums of the rows of every leaf."""
        xp = self._device.xp
        unit = xp.ldexp(xp.ones_like(r[:1]), xp.frexp(r.abs().sum())[1] - _BITS)
        steps = (r / unit).round().long()
        sums = xp.zeros((self.n_trees, self._width), dtype=xp.int64, device=r.device)
        for some in self._blocks():
            codes = self._codes[some].long()
            sums[some].scatter_add_(1, codes, steps.expand(codes.shape))
        return sums.view(-1)[self._places] * unit

    def _blocks(self) -> list[slice]:
        n_rows = max(1, self._codes.shape[1])
        return row_blocks(self.n_trees, self._device.block_entries // n_rows)


def make_forest(n_rows: int, device: Host, each: Each = one_by_one) -> Any:
    """Return a forest without trees in the memory of a device."""
    return DeviceForest(n_rows, device) if device.is_torch else Forest(n_rows, each)


class DeviceGrower:
    """Grows trees on a device in rounds: bins and histograms stay there, the sums come here."""

    def __init__(self, trees: TreeDictionary, rows: Any, weights: Any, device: Host) -> None:
        self._device, self._weights = device, weights
        is_category = trees.categories(rows.shape[1])
        self._bins, self._codes = bin_rows(rows, is_category, int(trees.n_thresholds))
        n_rows = len(rows) if len(rows) > THRESHOLD_ROWS else self._bins.n_distinct
        self._rules = trees.rules(Weights.of(host(weights)), n_rows)
        self._places = device.xp.arange(len(rows), device=rows.device)
        #: The numbers of the leaves that rows belong to in the last tree.
        self.leaves: Any = None

    def grow(self, rows: Any, residual: Any, weights: Any, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters), on the rows that it was made for."""
        (size,) = self._device.fetch(residual.abs().sum())
        self._steps = steps_of(residual, self._weights, float(size), self._rules.unit)
        self._nodes = 0 * self._places
        growth = Growth(self._split, self._bins, self._rules)
        self.leaves = self._device.put(growth.leaf_numbers(), "int64")[self._nodes]
        return growth.atom()

    def _split(self, slots: Any, splits: Any) -> Any:
        """Send rows on, and add up by bin those of one child of every split."""
        put, xp = self._device.put, self._device.xp
        slot = put(slots, "int64")[self._nodes]
        split = slot.clamp(min=0)
        goes_left = np.unpackbits(
            np.ascontiguousarray(splits["goes_left"]).view(np.uint8), axis=1, bitorder="little"
        )
        column, children, added = (put(splits[n], "int64") for n in ("column", "children", "added"))
        codes = self._codes[column[split], self._places].long()
        is_right = 1 - put(goes_left, "int64")[split, codes]
        is_split = slot >= 0
        self._nodes = xp.where(is_split, children[split] + is_right, self._nodes)
        rows = (is_split & (is_right == added[split])).nonzero()[:, 0]
        return self._histograms(rows, split[rows] * N_BINS, len(splits))

    def _histograms(self, rows: Any, first: Any, n: int) -> Any:
        """Return sums by bin, of shape (n, n_columns * N_BINS); `first` is the first of a row."""
        xp, n_columns = self._device.xp, len(self._codes)
        sums = xp.zeros((n_columns, n * N_BINS), dtype=xp.int64, device=rows.device)
        steps = self._steps[rows]
        for some in row_blocks(n_columns, self._device.block_entries // max(1, len(rows))):
            places = self._codes[some][:, rows].long() + first
            sums[some].scatter_add_(1, places, steps.expand(places.shape))
        return sums.view(n_columns, n, N_BINS).transpose(0, 1).reshape(n, -1).cpu().numpy()
