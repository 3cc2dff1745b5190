"""Where arrays live: in this process's memory, through NumPy, or on a device, through torch.

Designs are written once, with the functions of the arrays' own namespace. A device adds what has to
know the memory: how arrays come and go.
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
    #: Whether arrays are torch's.
    is_torch = False
    #: Whether there is double precision.
    has_float64 = True
    #: Whether float32 products are rounded no coarser than float32.
    is_float32_exact = True
    #: Whether there are kernels of ours for it.
    has_kernels = False
    #: Temporary blocks hold about this many numbers. 1 MiB of float64: small enough for the cache
    #: to help (half the time of blocks of 8 MiB), large enough that Python's part is nothing.
    block_entries = 1 << 17
    #: How often results were waited for.
    n_waits = 0

    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return an array here with these values; the same one if it is that already."""
        return np.asarray(values, dtype=dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return an array without values; pages that were never written take no memory."""
        return np.empty((n_rows, n_columns), dtype=dtype)

    def places(self, values: Any, n: int) -> Any:
        """Return where the n values are that are not zero; they are counted, so nothing waits."""
        return np.flatnonzero(values)

    def fetch(self, *arrays: Any) -> list[NDArray[Any]]:
        """Return arrays as they are."""
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
        # A setting of the process; "high" and "medium" keep ten bits of a product's factors.
        self.is_float32_exact = torch.get_float32_matmul_precision() == "highest"
        # Launching a kernel takes as long as some hundred thousand values: 256 MiB of float32.
        self.block_entries = 1 << (17 if self.device.type == "cpu" else 26)

    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return a tensor on the device."""
        kind = getattr(self.xp, dtype)
        if is_tensor(values):
            return values.to(device=self.device, dtype=kind)
        # Tensors share memory with arrays, and read-only ones are not for sharing.
        values = np.asarray(values)
        host = self.xp.from_numpy(values if values.flags.writeable else values.copy()).to(kind)
        # Not from pinned memory, which takes longer to be had than the copy does; it does not wait
        # for what the device was asked before, either.
        return host.to(self.device, non_blocking=True)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return a tensor without values."""
        kind = getattr(self.xp, dtype)
        return self.xp.empty((n_rows, n_columns), dtype=kind, device=self.device)

    def places(self, values: Any, n: int) -> Any:
        """Look for the first place of each count."""
        ranks = self.xp.arange(1, n + 1, device=self.device)
        return self.xp.searchsorted((values != 0.0).cumsum(0), ranks)

    def fetch(self, *arrays: Any) -> list[NDArray[Any]]:
        """Copy all arrays, laid end to end as float64, in one transfer, and cut them apart."""
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
    """Return kernels for GPUs, "scores" or "trees", which only some machines can import."""
    return import_module(f"fcgboost.designs.triton_{name}")


def find_device(name: str) -> Host:
    """Return the device of a name.

    Parameters
    ----------
    name : str
        "cpu" is NumPy; "torch" is torch on the processor; anything else is torch's own name.

    Raises
    ------
    ImportError
        Without torch; names the extra to install.
    ValueError
        For a device that this machine does not have.
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
            f"device={name!r} is not there: torch says {reason!r}. Use 'cpu' (NumPy), 'torch' "
            "(torch on the processor), or a device that torch has, such as 'cuda' or 'mps'."
        ) from error
    return device
