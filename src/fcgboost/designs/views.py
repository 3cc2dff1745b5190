"""The rows as candidates of one precision see them, and sums of their values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scipy import sparse

from fcgboost.designs.base import Divisor
from fcgboost.designs.blocks import block_sums
from fcgboost.designs.devices import Host, kernels
from fcgboost.designs.moments import Frame
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    ScreenedDictionary,
)

# For fewer values, matrix products are as fast as fused kernels.
_WORTH_FUSING = 1 << 26
# Candidates evaluated at once: their values should fit into a CPU's cache; a device needs many.
_AT_ONCE, _AT_ONCE_ON_DEVICE = 256, 4096
# The registers of a GPU hold at most this many columns without spilling, and its kernels index
# fewer numbers than this.
_MOST_FEATURES, _MOST_NUMBERS = 63, 2**31
# Rows with a residual are gathered if they are at most this share of all.
_WORTH_GATHERING = 0.8


@dataclass(frozen=True)
class View:
    """The rows as candidates of one precision see them.

    In float32, `inputs` are standardised rows and `scale` is ones; `frame` is the standardisation,
    None if the rows are raw.
    """

    dictionary: Dictionary
    device: Host
    dtype: str
    inputs: Any
    scale: Any
    frame: Frame | None = None

    @property
    def at_once(self) -> int:
        return _AT_ONCE_ON_DEVICE if self.device.is_torch else _AT_ONCE

    def placed(self, atoms: Any) -> Any:
        """Return atoms in the coordinates and the memory of the rows."""
        if self.frame is not None:
            assert isinstance(self.dictionary, ScreenedDictionary)
            atoms = self.dictionary.moved(atoms, self.frame.center, self.frame.scale)
        is_sparse = sparse.issparse(atoms)
        return atoms if is_sparse else self.device.put(atoms, self.dtype)

    def evaluate(self, rows: slice, atoms: Any) -> Any:
        return self.dictionary.evaluate(self.inputs[rows], atoms, self.scale)

    def sums(self, values: Any, W: Any) -> Any:
        """Return values^T W, added up in double precision if the device has it."""
        double = "float64" if self.device.has_float64 else "float32"
        return block_sums(values, W, getattr(self.device.xp, double))

    def extents(self, values: Any, shares: Any, divisor: Divisor) -> Any:
        """Return the largest absolute values, or the mean squares, of columns."""
        if divisor == "max":
            return self.device.xp.amax(abs(values), axis=0)
        return self.sums(values * values, shares)[:, 0]

    def is_fused(self, n_atoms: int) -> bool:
        """Return whether a fused kernel, which stores no values, is worth it for n_atoms."""
        is_known = type(self.dictionary) in (GaussDictionary, ReluDictionary)
        if not (is_known and self.dtype == "float32" and self.device.has_kernels):
            return False
        n_rows, n_features = self.inputs.shape
        is_able = max(n_rows, n_atoms) * (n_features + 1) < _MOST_NUMBERS
        return bool(n_rows * n_atoms >= _WORTH_FUSING and is_able and n_features <= _MOST_FEATURES)

    def fused_sums(self, atoms: Any, W: Any) -> Any:
        """Return values^T W by the fused kernel."""
        known = kernels("scores")
        is_gauss = isinstance(self.dictionary, GaussDictionary)
        return (known.gauss_sums if is_gauss else known.ramp_sums)(self.inputs, atoms, W)

    def with_residuals(self, W: Any) -> tuple[View, Any]:
        """Drop rows without a residual if they are many; counting them takes one wait."""
        has_one = (W != 0.0).any(1)
        n = int(self.device.fetch(has_one.sum())[0])
        if not 0 < n <= _WORTH_GATHERING * len(W):
            return self, W
        rows = self.device.places(has_one, n)
        return replace(self, inputs=self.inputs[rows]), W[rows]
