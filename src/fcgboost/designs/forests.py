"""Trees on a device, stored as the leaf numbers of rows.

Sums over leaves are sums of integers and do not depend on the order of additions: fits are
reproducible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost._kernels.forest import Each, Forest, one_by_one
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import Host, kernels

# Absolute values add up to less than this power of two, in units.
_BITS = 61
_TINY = float(np.finfo(np.float64).tiny)
# Trees allocated at once.
_ROOM = 64


class DeviceForest:
    """The counterpart of `Forest` on a device; leaf numbers take one byte, or four."""

    def __init__(self, n_rows: int, device: Host) -> None:
        self._device = device
        #: Of shape (room, n_rows).
        self._codes = device.empty(0, n_rows, "uint8")
        self._set_first(np.zeros(1, np.int64))

    def _set_first(self, first: Any) -> None:
        #: The first leaf of each tree in the sequence of all leaves, and the end.
        self.first = first
        self.n_trees, sizes = len(first) - 1, np.diff(first)
        self._begin = self._device.put(first[:-1, None], "int64")
        self._width = int(sizes.max(initial=0))
        # The positions of leaves if all trees are padded to the same width.
        starts = np.arange(self.n_trees) * self._width - first[:-1]
        places = np.repeat(starts, sizes) + np.arange(first[-1])
        self._places = self._device.put(places, "int64")

    def append(self, codes: Any, n_leaves: int) -> None:
        if n_leaves > 256:
            self._codes = self._codes.int()
        if self.n_trees == len(self._codes):
            more = self._codes.new_empty((max(_ROOM, self.n_trees), self._codes.shape[1]))
            self._codes = self._device.xp.concatenate([self._codes, more])
        self._codes[self.n_trees] = codes
        self._set_first(np.append(self.first, self.first[-1] + n_leaves))

    def first_trees(self, n_trees: int) -> DeviceForest:
        return self if n_trees == self.n_trees else self._some(slice(0, n_trees))

    def last(self) -> DeviceForest:
        return self._some(slice(self.n_trees - 1, self.n_trees))

    def _some(self, trees: slice) -> DeviceForest:
        some = DeviceForest(0, self._device)
        some._codes = self._codes[trees]
        some._set_first(self.first[trees.start : trees.stop + 1] - self.first[trees.start])
        return some

    def add_values(self, values: Any, f: Any) -> Any:
        """Add the leaf values of all trees to the values f of the rows."""
        values = self._device.put(values)
        if self._device.has_kernels:
            kernels("trees").leaf_values(self._codes[: self.n_trees], self._begin, values, f)
            return f
        for some in self._blocks():
            f += values[self._codes[some].long() + self._begin[some]].sum(0)
        return f

    def sums(self, r: Any) -> Any:
        """Return the sums of r over each leaf."""
        unit = r.abs().sum() * 2.0**-_BITS + _TINY
        return self._sums(r, unit).view(-1)[self._places] * unit

    def _sums(self, r: Any, unit: Any) -> Any:
        """Return sums in integer units, of shape (n_trees, width)."""
        if self._device.has_kernels:
            return kernels("trees").leaf_sums(self._codes[: self.n_trees], r, unit, self._width)
        steps = (r / unit).round().long()
        sums = steps.new_zeros((self.n_trees, self._width))
        for some in self._blocks():
            codes = self._codes[some].long()
            sums[some].scatter_add_(1, codes, steps.expand(codes.shape))
        return sums

    def _blocks(self) -> list[slice]:
        n_rows = max(1, self._codes.shape[1])
        return row_blocks(self.n_trees, self._device.block_entries // n_rows)


def make_forest(n_rows: int, device: Host, each: Each = one_by_one) -> Any:
    """Return an empty forest on a device."""
    return DeviceForest(n_rows, device) if device.is_torch else Forest(n_rows, each)
