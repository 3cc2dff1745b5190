"""Where arrays live: this process's memory through NumPy, or a device through torch.

Designs are written once, with the functions of the arrays' own namespace. A place adds what has to
know the memory: how arrays come and go, and how rows are found without waiting for a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import is_tensor

Host = NDArray[Any]


class Place(ABC):
    """A memory that holds arrays."""

    #: The module with its functions, numpy or torch.
    xp: Any
    #: Temporary blocks hold about this many numbers.
    block_entries: int
    #: Whether Python can run ahead of the work, so that looking at a result means waiting.
    is_ahead: bool
    #: Whether float32 products are rounded no coarser than float32.
    is_float32_exact: bool
    #: What sums over blocks of rows are added up in.
    sum_dtype: str
    #: How often results were brought to the host, each time with one transfer.
    n_fetches: int = 0

    @abstractmethod
    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return an array of the place with these values; the same one if it is that already."""

    @abstractmethod
    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return an array without values whose columns are contiguous."""

    @abstractmethod
    def fetch(self, *arrays: Any) -> list[Host]:
        """Bring small arrays to the host, all of them in one transfer."""

    @abstractmethod
    def add_up(self, sums: Any) -> Any:
        """Return the sum over the first axis in `sum_dtype`."""

    @abstractmethod
    def find(self, mask: Any, room: int | None) -> tuple[Any, Any]:
        """Return the positions of the true entries, in order, and how many there are.

        Parameters
        ----------
        mask : array of bool, shape (n,)
        room : int or None
            Where looking means waiting, so many positions are given: the first ones, and zeros
            if there are fewer. None, or no need to wait: all of them.
        """


class NumpyPlace(Place):
    """The memory of this process."""

    xp = np
    # 1 MiB of float64: small enough for the cache to help (half the time of blocks of 8 MiB), large
    # enough that Python's part of it is nothing.
    block_entries = 1 << 17
    is_ahead = False
    is_float32_exact = True
    sum_dtype = "float64"

    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return a NumPy array."""
        return np.asarray(values, dtype=dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return a Fortran-ordered array: pages that were never written take no memory."""
        return np.empty((n_rows, n_columns), dtype=dtype, order="F")

    def fetch(self, *arrays: Any) -> list[Host]:
        """Return the arrays as they are."""
        self.n_fetches += 1
        return [np.asarray(array) for array in arrays]

    def add_up(self, sums: Any) -> Any:
        """Add up in float64."""
        return sums.sum(axis=0, dtype=np.float64)

    def find(self, mask: Any, room: int | None) -> tuple[Any, Any]:
        """Return all positions."""
        positions = np.flatnonzero(mask)
        return positions, len(positions)


class TorchPlace(Place):
    """A torch device.

    Parameters
    ----------
    device : str
        "cpu", "cuda", "cuda:1", "mps", ...
    """

    def __init__(self, device: str) -> None:
        import torch

        self.xp = torch
        self.device = torch.device(device)
        self.is_ahead = True
        # A setting of the process; "high" and "medium" keep ten bits of a product's factors.
        self.is_float32_exact = torch.get_float32_matmul_precision() == "highest"
        self.sum_dtype = "float64" if self.has_float64 else "float32"
        # Launching a kernel takes as long as some hundred thousand values: 256 MiB of float32.
        self.block_entries = 1 << (17 if self.device.type == "cpu" else 26)

    @property
    def has_float64(self) -> bool:
        """Whether the device has double precision."""
        return bool(self.device.type != "mps")

    def put(self, values: Any, dtype: str = "float64") -> Any:
        """Return a tensor on the device."""
        kind = getattr(self.xp, dtype)
        if is_tensor(values):
            return values.to(device=self.device, dtype=kind)
        # Tensors share memory with arrays, and read-only ones are not for sharing.
        values = np.asarray(values)
        host = self.xp.from_numpy(values if values.flags.writeable else values.copy())
        if self.device.type == "cuda":
            # From pinned memory a copy does not wait for what the device was asked before.
            return host.to(kind).pin_memory().to(self.device, non_blocking=True)
        return host.to(device=self.device, dtype=kind)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        """Return the transpose of a row-ordered tensor."""
        kind = getattr(self.xp, dtype)
        return self.xp.empty((n_columns, n_rows), dtype=kind, device=self.device).T

    def fetch(self, *arrays: Any) -> list[Host]:
        """Copy all arrays, laid end to end as float64, and cut them apart again."""
        self.n_fetches += 1
        double = self.xp.float64 if self.has_float64 else self.xp.float32
        tensors = [array if is_tensor(array) else self.put(array) for array in arrays]
        flat = self.xp.cat([tensor.reshape(-1).to(double) for tensor in tensors])
        host = flat.cpu().numpy().astype(np.float64, copy=False)
        found, start = [], 0
        for tensor in tensors:
            stop = start + tensor.numel()
            found.append(host[start:stop].reshape(tuple(tensor.shape)))
            start = stop
        return found

    def add_up(self, sums: Any) -> Any:
        """Add up in float64, where there is one."""
        return sums.sum(0, dtype=getattr(self.xp, self.sum_dtype))

    def find(self, mask: Any, room: int | None) -> tuple[Any, Any]:
        """Return so many positions that no one has to wait to learn how many there are."""
        xp = self.xp
        if room is None:
            return xp.nonzero(mask)[:, 0], mask.sum()
        counts = xp.cumsum(mask, 0)
        # The j-th true entry is where the count comes to j. One that does not come is looked for
        # behind the last entry, and that position becomes zero.
        positions = xp.searchsorted(counts, xp.arange(1, room + 1, device=self.device))
        return positions.remainder_(len(mask)), counts[-1]


def place_for(device: str) -> Place:
    """Return the place that a device's name stands for.

    Parameters
    ----------
    device : str
        "cpu" is NumPy; "torch" is torch on the processor; anything else is torch's own name.

    Raises
    ------
    ImportError
        Without torch; names the extra to install.
    ValueError
        For a device that this machine does not have.
    """
    if device == "cpu":
        return NumpyPlace()
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs torch: pip install 'fcgboost[torch]', or use device='cpu'."
        ) from error
    try:
        place = TorchPlace("cpu" if device == "torch" else device)
        torch.zeros(1, device=place.device)
        if place.device.type == "meta":
            raise NotImplementedError("meta tensors have no values")
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={device!r} is not there: torch says {reason!r}. Use 'cpu' (NumPy), 'torch' "
            "(torch on the processor), or a device that torch has, such as 'cuda' or 'mps'."
        ) from error
    return place
