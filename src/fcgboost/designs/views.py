"""The rows as candidates of one precision see them, and sums of their values."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import _kernels
from fcgboost.designs.base import Divisor
from fcgboost.designs.blocks import block_sums, row_blocks
from fcgboost.designs.devices import Host, TorchDevice
from fcgboost.designs.moments import Frame
from fcgboost.dictionaries import Dictionary, GaussDictionary, ScreenedDictionary

#: Passes of fewer values than these are as quick by products of matrices.
WORTH_FUSING = 1 << 26
# Candidates that are evaluated at once: the processor's cache should hold their values; a device
# wants many.
_AT_ONCE, _AT_ONCE_ON_DEVICE = 256, 4096
# The registers of a GPU hold no more columns than these without spilling.
_MOST_FEATURES = 64
_LOG2_E = 1.4426950408889634

#: Does pieces of work, in threads or not, and returns the results in their order.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class View:
    """The rows as candidates of one precision see them.

    Attributes
    ----------
    dictionary : Dictionary
    device : Host
    dtype : {"float32", "float64"}
    inputs, scale : arrays of the device
        In single precision standardised rows, and ones.
    frame : Frame or None
        What rows were standardised with; None if they are as they were.
    """

    dictionary: Dictionary
    device: Host
    dtype: str
    inputs: Any
    scale: Any
    frame: Frame | None = None

    @property
    def at_once(self) -> int:
        """How many candidates are evaluated at once."""
        return _AT_ONCE_ON_DEVICE if self.device.is_torch else _AT_ONCE

    def placed(self, atoms: Any) -> Any:
        """Return atoms in the coordinates of the rows, where these are."""
        if self.frame is not None:
            assert isinstance(self.dictionary, ScreenedDictionary)
            atoms = self.dictionary.moved(atoms, self.frame.center, self.frame.scale)
        is_sparse = sparse.issparse(atoms)
        return atoms if is_sparse else self.device.put(atoms, self.dtype)

    def evaluate(self, rows: slice, atoms: Any) -> Any:
        """Return the values of atoms at rows."""
        return self.dictionary.evaluate(self.inputs[rows], atoms, self.scale)

    def sums(self, values: Any, W: Any) -> Any:
        """Return values^T W, added up in double precision where there is one."""
        double = "float64" if self.device.has_float64 else "float32"
        return block_sums(values, W, getattr(self.device.xp, double))

    def extents(self, values: Any, shares: Any, divisor: Divisor) -> Any:
        """Return the largest absolute values, or the mean squares, of columns."""
        if divisor == "max":
            return self.device.xp.amax(abs(values), axis=0)
        return self.sums(values * values, shares)[:, 0]

    def is_fused(self, n_values: int) -> bool:
        """Whether Gauss atoms have a kernel here that writes no value to memory."""
        is_gauss = type(self.dictionary) is GaussDictionary and self.dtype == "float32"
        if not is_gauss or n_values < WORTH_FUSING or not isinstance(self.device, TorchDevice):
            return is_gauss and n_values >= WORTH_FUSING
        is_able = self.device.device.type == "cuda" and self.inputs.shape[1] <= _MOST_FEATURES
        return is_able and importlib.util.find_spec("triton") is not None

    def gauss_sums(self, atoms: Any, W: Any, each: Each) -> Any:
        """Return values^T W of Gauss atoms by a kernel."""
        centers, steepness = atoms[:, :-1], 0.5 / atoms[:, -1] ** 2
        if self.device.is_torch:
            from fcgboost.designs.triton_kernels import gauss_sums

            outputs = [gauss_sums(self.inputs, centers, steepness, w)[0] for w in W.T]
            return self.device.xp.stack(outputs, 1)
        centers, W = np.ascontiguousarray(centers), np.ascontiguousarray(W)
        Z = np.ascontiguousarray(self.inputs)
        factors = (-_LOG2_E * steepness.astype(np.float64)).astype(np.float32)
        blocks = row_blocks(len(atoms), self.at_once)
        return np.concatenate(
            each(lambda b: _kernels.gauss_dots(Z, centers[b], factors[b], W), blocks)
        )
