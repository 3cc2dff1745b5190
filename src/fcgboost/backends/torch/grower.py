"""Trees grown on a GPU, where bins and histograms stay.

Histograms are sums of integers and so do not depend on the order of additions: a tree equals that
of the compiled grower to the bit.
"""

from __future__ import annotations

import math

import numpy as np

from fcgboost._kernels.forest import LeafCodes
from fcgboost.arrays import Array, Tensor, to_numpy
from fcgboost.backends.growth import Growth, WeightSummary, quantize
from fcgboost.designs.devices import HostDevice
from fcgboost.dictionaries import TreeDictionary
from fcgboost.dictionaries.bins import N_BINS, bin_rows
from fcgboost.dictionaries.trees import TreeGrower


class HostGrower:
    """Grows trees on the processor, which is faster than torch's own functions."""

    def __init__(self, trees: TreeDictionary, rows: Tensor) -> None:
        self._grower = TreeGrower(trees, rows)

    @property
    def leaves(self) -> LeafCodes | None:
        return self._grower.leaves

    def grow(self, residual: Tensor, weights: Tensor, key: int) -> Array:
        return self._grower.grow(to_numpy(residual), to_numpy(weights), key)


class DeviceGrower:
    """Grows trees on the rows of a device that has kernels for trees."""

    def __init__(
        self,
        trees: TreeDictionary,
        rows: Tensor,
        weights: Tensor,
        device: HostDevice,
    ) -> None:
        self._device = device
        self._weights = weights
        is_category = trees.categories(rows.shape[1])
        self._bins, codes = bin_rows(rows, is_category)
        summary = WeightSummary.of(to_numpy(weights))
        depth = trees.levels(max(summary.total, self._bins.n_rows(len(rows))))
        self._rules = rules = trees.rules(depth, summary.unit)
        names = ("column", "first", "default_bin", "n_numbers", "n_bins", "is_category")
        facts = np.stack([getattr(self._bins, name) for name in names])
        least = max(1.0, math.ceil(rules.min_leaf / rules.unit))
        from fcgboost.backends.torch.triton_trees import GpuRows  # needs Triton

        # Kernels run on the current device, which may not be that of the rows.
        with device.xp.cuda.device_of(weights):
            self._rows = GpuRows(
                codes,
                device.put(facts, "int64"),
                (rules.smoothing / rules.unit, least, bool(is_category.any())),
                rules,
                device,
            )
        #: The leaf numbers of the rows in the last tree.
        self.leaves: Tensor = None

    def grow(self, residual: Tensor, weights: Tensor, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters), on the rows of the constructor."""
        steps = quantize(
            residual,
            self._weights,
            residual.abs().sum(),
            self._rules.unit,
        )
        with self._device.xp.cuda.device_of(steps):
            self._rows.begin(steps)
            growth = Growth(self._rows, self._bins, self._rules)
        numbers = growth.leaf_numbers()
        kind = "uint8" if numbers.max() < N_BINS else "int32"
        self.leaves = self._device.put(numbers, kind)[self._rows.row_nodes]
        return growth.atom()
