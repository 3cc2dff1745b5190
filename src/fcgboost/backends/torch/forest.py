"""Trees on a device, stored as the leaf numbers of rows.

Sums over leaves are sums of integers and do not depend on the order of additions: fits are
reproducible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fcgboost.arrays import Array, Codes, Tensor, is_tensor
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import HostDevice

# Absolute values add up to less than this power of two, in units.
_BITS = 61
_TINY = float(np.finfo(np.float64).tiny)
# Trees allocated at once.
_ROOM = 64


class DeviceForest:
    """The counterpart of `Forest` on a device; leaf numbers take one byte, or four."""

    def __init__(self, n_rows: int, device: HostDevice) -> None:
        self._device = device
        #: Of shape (room, n_rows).
        self._codes = device.empty(0, n_rows, "uint8")
        self._set_first(np.zeros(1, np.int64))

    def _set_first(self, first: Codes) -> None:
        #: The first leaf of each tree in the sequence of all leaves, and the end.
        self.first = first
        self.n_trees = len(first) - 1
        self._begin = self._device.put(first[:-1, None], "int64")

    def append(self, codes: Tensor, n_leaves: int) -> None:
        if n_leaves > 256:
            self._codes = self._codes.int()
        if self.n_trees == len(self._codes):
            more = self._codes.new_empty((max(_ROOM, self.n_trees), self._codes.shape[1]))
            self._codes = self._device.xp.concatenate([self._codes, more])
        if not is_tensor(codes):
            # Torch has few functions for 16 bits.
            codes = self._device.put(codes, "int64")
        self._codes[self.n_trees] = codes
        self._set_first(np.append(self.first, self.first[-1] + n_leaves))

    def first_trees(self, n_trees: int) -> DeviceForest:
        if n_trees == self.n_trees:
            return self
        first = DeviceForest(0, self._device)
        first._codes = self._codes[:n_trees]
        first._set_first(self.first[: n_trees + 1])
        return first

    def append_tree(self, tree: DeviceForest) -> None:
        """Append the only tree of another forest."""
        self.append(tree._codes[0], tree.n_leaves)

    @property
    def n_leaves(self) -> int:
        return int(self.first[-1])

    def add_values(self, values: Array, f: Tensor) -> Tensor:
        """Add the leaf values of all trees to the values f of the rows."""
        values = self._device.put(values)
        if self._device.kernels is not None:
            self._device.kernels.leaf_values(
                self._codes[: self.n_trees],
                self._begin,
                values,
                f,
            )
            return f
        for trees in self._blocks():
            f += values[self._codes[trees].long() + self._begin[trees]].sum(0)
        return f

    def sums(self, vectors: Sequence[Tensor]) -> Tensor:
        """Return the sum of each vector, followed by its sums over each leaf; one row each."""
        return self._sums(self._device.xp.stack(list(vectors)))

    def products(self, constant: float, values: Array, h: Tensor) -> Tensor:
        """Return the sums of h (constant + A values), as `sums` does, A being the indicators."""
        start = self._device.xp.full_like(h, constant)
        return self._sums((h * self.add_values(values, start))[None])[0]

    def _sums(self, vectors: Tensor) -> Tensor:
        units = vectors.abs().sum(1, keepdims=True) * 2.0**-_BITS + _TINY
        sums = self._steps(vectors, units) * units
        return self._device.xp.concatenate([vectors.sum(1, keepdims=True), sums], 1)

    def _steps(self, vectors: Tensor, units: Tensor) -> Tensor:
        """Return sums over the leaves in integer units."""
        if self._device.kernels is not None:
            return self._device.kernels.leaf_sums(
                self._codes[: self.n_trees],
                self._begin,
                vectors,
                units,
                self.n_leaves,
            )
        steps = (vectors / units).round().long()
        sums = steps.new_zeros(len(vectors), self.n_leaves)
        for trees in self._blocks():
            leaves = self._codes[trees].long() + self._begin[trees]
            n_rows = leaves.numel()
            sums.scatter_add_(
                1,
                leaves.view(1, -1).expand(len(vectors), n_rows),
                steps.repeat(1, len(leaves)),
            )
        return sums

    def _blocks(self) -> list[slice]:
        n_rows = max(1, self._codes.shape[1])
        return row_blocks(self.n_trees, self._device.block_entries // n_rows)
