"""Devices: the memory of this process (NumPy), or a torch device.

Designs use the functions of the arrays' own namespace; a device adds the transfers.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import is_tensor


class Host:
    """The memory of this process."""

    #: The module with its functions, numpy or torch.
    xp: Any = np
    is_torch = False
    has_float64 = True
    #: Whether float32 products have full float32 precision.
    is_float32_exact = True
    #: Whether the package has kernels for it.
    has_kernels = False
    #: The size of temporary blocks: 1 MiB of float64 fits into the cache (half the time of 8 MiB)
    #: and makes the overhead of Python negligible.
    block_entries = 1 << 17
    #: How often results were waited for.
    n_waits = 0

    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return values as an array on the device, without a copy if possible."""
        return np.asarray(values, dtype=dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return an uninitialised array; untouched pages take no memory."""
        return np.empty((n_rows, n_columns), dtype=dtype)

    def places(self, values: Any, n: int) -> Any:
        """Return the positions of the n non-zero values; n avoids a wait."""
        return np.flatnonzero(values)

    def fetch(self, *arrays: Any) -> list[NDArray[Any]]:
        """Return arrays as NumPy arrays, in one wait."""
        self.n_waits += 1
        return list(arrays)


class TorchDevice(Host):
    """A torch device.

    Parameters
    ----------
    name : str
        "cpu", "cuda", "cuda:1", "mps", ...
    """

    is_torch = True

    def __init__(self, name: str) -> None:
        import torch

        self.xp = torch
        self.device = torch.device(name)
        self.has_float64 = self.device.type != "mps"
        self.has_kernels = self.device.type == "cuda" and find_spec("triton") is not None
        # A process-wide setting; "high" and "medium" keep ten bits of the factors.
        self.is_float32_exact = torch.get_float32_matmul_precision() == "highest"
        # Large blocks (256 MiB of float32), because launching a kernel is costly.
        self.block_entries = 1 << (17 if self.device.type == "cpu" else 26)

    def put(self, values: Any, dtype: str = "float64") -> Any:
        kind = getattr(self.xp, dtype)
        if is_tensor(values):
            return values.to(device=self.device, dtype=kind)
        # Tensors share memory with arrays, except with read-only ones.
        values = np.asarray(values)
        host = self.xp.from_numpy(values if values.flags.writeable else values.copy()).to(kind)
        # Pinning memory would take longer than the copy.
        return host.to(self.device, non_blocking=True)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        kind = getattr(self.xp, dtype)
        return self.xp.empty((n_rows, n_columns), dtype=kind, device=self.device)

    def places(self, values: Any, n: int) -> Any:
        ranks = self.xp.arange(1, n + 1, device=self.device)
        return self.xp.searchsorted((values != 0.0).cumsum(0), ranks)

    def fetch(self, *arrays: Any) -> list[NDArray[Any]]:
        """Copy all arrays in one transfer, concatenated as float64."""
        self.n_waits += 1
        if len(arrays) == 1:
            return [arrays[0].cpu().numpy().astype(np.float64, copy=False)]
        double = self.xp.float64 if self.has_float64 else self.xp.float32
        flat = self.xp.cat([array.reshape(-1).to(double) for array in arrays])
        host = flat.cpu().numpy().astype(np.float64, copy=False)
        ends = np.cumsum([array.numel() for array in arrays])
        parts = np.split(host, ends[:-1])
        return [part.reshape(tuple(a.shape)) for part, a in zip(parts, arrays, strict=True)]


def kernels(name: str) -> Any:
    """Import the GPU kernels "scores" or "trees", which need Triton."""
    return import_module(f"fcgboost.designs.triton_{name}")


def find_device(name: str) -> Host:
    """Return the device of a name: "cpu" is NumPy, "torch" is torch on the CPU, else as in torch.

    Raises an ImportError without torch, and a ValueError if the machine has no such device.
    """
    if name == "cpu":
        return Host()
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={name!r} needs torch: pip install 'fcgboost[torch]', or use device='cpu'."
        ) from error
    try:
        device = TorchDevice("cpu" if name == "torch" else name)
        torch.zeros(1, device=device.device)
        if device.device.type == "meta":
            raise NotImplementedError("meta tensors have no values")
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={name!r} is not available: torch says {reason!r}. Use 'cpu' (NumPy), 'torch' "
            "(torch on the CPU), or a device that torch has, such as 'cuda' or 'mps'."
        ) from error
    return device
