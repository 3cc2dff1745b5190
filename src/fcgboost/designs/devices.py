"""The memory of this process, which is also the contract of devices.

Designs use the functions of the arrays' own namespace; a device adds the transfers, and how trees
are stored and grown there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels.forest import Forest
from fcgboost.arrays import Matrix
from fcgboost.dictionaries import Dictionary, TreeDictionary
from fcgboost.dictionaries.trees import TreeGrower, Walk

#: From inputs, atoms, W and whether values are squared: values^T W as float64.
FusedSums: TypeAlias = Callable[[Any, Any, Any, bool], Any]


class HostDevice:
    """The memory of this process."""

    #: The module with its functions, numpy or torch.
    xp: Any = np
    is_torch = False
    #: Whether candidates are scored in float32.
    is_float32_faster = False
    #: The module with its kernels for forests, if there are any.
    kernels: Any = None
    #: The size of temporary blocks: 1 MiB of float64 fits into the cache (half the time of 8 MiB)
    #: and makes the overhead of Python negligible.
    block_entries = 1 << 17
    #: How rows walk down trees; None means by its functions.
    walk: Walk | None = None
    #: How often results were waited for.
    n_waits = 0

    def put(self, values: Matrix, dtype: str = "float64") -> Any:
        """Return values as an array on the device, without a copy if possible."""
        return np.asarray(values, dtype=dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return an uninitialised array; untouched pages take no memory."""
        return np.empty((n_rows, n_columns), dtype=dtype)

    def positions(self, mask: Matrix, n: int) -> Matrix:
        """Return the positions of the n true values; n avoids a wait."""
        return np.flatnonzero(mask)

    def fetch(self, *arrays: Matrix) -> list[NDArray[Any]]:
        """Return arrays as NumPy arrays, in one wait."""
        self.n_waits += 1
        return list(arrays)

    @property
    def with_float64(self) -> HostDevice:
        """Where everything but scoring runs: this device, if it has float64."""
        return self

    def fused_sums(self, dictionary: Dictionary, n_features: int) -> FusedSums | None:
        """Return sums of float32 values that are never stored, None if the device has none."""
        return None

    def forest(self, n_rows: int) -> Any:
        """Return an empty forest of trees stored as the leaf numbers of rows."""
        return Forest(n_rows)

    def grower(self, trees: TreeDictionary, rows: Matrix, weights: Matrix | None) -> Any:
        """Return a grower of trees on all rows, which have these weights in every tree or any."""
        return TreeGrower(trees, rows, weights)
