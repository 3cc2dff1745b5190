"""A torch device as the place of a design."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import Matrix, Tensor, is_tensor
from fcgboost.backends.torch.forest import DeviceForest
from fcgboost.backends.torch.grower import DeviceGrower, HostGrower
from fcgboost.designs.devices import FusedSums, HostDevice
from fcgboost.dictionaries import Dictionary, TreeDictionary


class TorchDevice(HostDevice):
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
        if self.device.type == "cuda" and find_spec("triton") is not None:
            self.kernels = import_module("fcgboost.backends.torch.triton_forest")
            self.walk = self.kernels.walk
        # A process-wide setting; "high" and "medium" keep ten bits of the factors.
        self.is_float32_faster = torch.get_float32_matmul_precision() == "highest"
        # Large blocks (256 MiB of float32), because launching a kernel is costly.
        self.block_entries = 1 << (17 if self.device.type == "cpu" else 26)

    def put(self, values: Matrix, dtype: str = "float64") -> Tensor:
        kind = getattr(self.xp, dtype)
        if is_tensor(values):
            return values.to(device=self.device, dtype=kind)
        # Tensors share memory with arrays, except with read-only ones.
        values = np.asarray(values)
        host = self.xp.from_numpy(values if values.flags.writeable else values.copy())
        # Few bytes travel. Pinning memory would take longer than the copy.
        if host.dtype.itemsize > kind.itemsize:
            host = host.to(kind)
        return host.to(self.device, non_blocking=True).to(kind)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Tensor:
        kind = getattr(self.xp, dtype)
        return self.xp.empty((n_rows, n_columns), dtype=kind, device=self.device)

    def positions(self, mask: Tensor, n: int) -> Tensor:
        ranks = self.xp.arange(1, n + 1, device=self.device)
        return self.xp.searchsorted(mask.cumsum(0), ranks)

    def fetch(self, *arrays: Tensor) -> list[NDArray[Any]]:
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

    @property
    def with_float64(self) -> HostDevice:
        return self if self.has_float64 else TorchDevice("cpu")

    def fused_sums(self, dictionary: Dictionary, n_features: int) -> FusedSums | None:
        if self.kernels is None:
            return None
        scores = import_module("fcgboost.backends.torch.triton_scores")
        sums: FusedSums | None = scores.find_sums(dictionary, n_features)
        return sums

    def forest(self, n_rows: int) -> DeviceForest:
        return DeviceForest(n_rows, self)

    def grower(
        self, trees: TreeDictionary, rows: Tensor, weights: Tensor | None
    ) -> DeviceGrower | HostGrower:
        if self.kernels is None or weights is None:
            return HostGrower(trees, rows)
        return DeviceGrower(
            trees,
            rows,
            weights,
            self,
        )


def find_device(name: str) -> HostDevice:
    """Return the device of a name: "cpu" is NumPy, "torch" is torch on the CPU, else as in torch.

    Raises an ImportError without torch, and a ValueError if the machine has no such device.
    """
    if name == "cpu":
        return HostDevice()
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
