"""A device of PyTorch as the figures of a GPU see it: its clock, its memory, and their sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.measure import seconds

# Share of the device's free memory that a stored dictionary may take.
SHARE = 0.8


@dataclass(frozen=True)
class Sizes:
    """How large the figures are."""

    runs: int = 3
    skin_rows: int = 245_057
    skin_steps: int = 103
    large_rows: int = 1_000_000
    large_columns: int = 28
    large_candidates: int = 1024
    large_steps: int = 269
    stored_candidates: int = 65_536
    stored_steps: int = 30
    bandwidth_entries: int = 2**30
    test_rows: int = 200_000
    covtype_rows: int = 100_000
    beside: tuple[int, ...] = (10_000, 20_000, 50_000, 100_000, 400_000)
    # The first fit of a process compiles.
    fast: tuple[int, ...] = (1_000_000, 10_000_000, 50_000, 100_000, 400_000)


QUICK = Sizes(1, 600, 5, 200, 28, 16, 5, 100, 4, 2**16, 200, 100, (100,), (100,))


class Device:
    """A device of PyTorch: its name for the estimator, its clock, its memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.torch = "cpu" if name in ("cpu", "torch") else name
        self.is_cuda = self.torch.startswith("cuda")

    def synchronise(self) -> None:
        """Wait until the device has done what it was asked to do."""
        if self.is_cuda:
            torch.cuda.synchronize(self.torch)
        elif self.torch.startswith("mps"):
            torch.mps.synchronize()

    def seconds(self, work: Callable[[], Any]) -> float:
        """Time a piece of work to its end on the device."""

        def whole() -> None:
            work()
            self.synchronise()

        self.synchronise()
        return seconds(whole)

    def fastest(self, work: Callable[[], Any], runs: int = 10) -> float:
        work()
        return min(self.seconds(work) for _ in range(runs))

    def room(self) -> int:
        """Give the MiB that a stored dictionary may take."""
        free = torch.cuda.mem_get_info(self.torch)[0] if self.is_cuda else 2**30
        return int(SHARE * free) // 2**20

    def describe(self) -> str:
        return torch.cuda.get_device_name(self.torch) if self.is_cuda else self.torch


def bandwidths(device: Device, sizes: Sizes) -> dict[str, float]:
    """Measure what the device's memory gives, in GB/s: a copy, and a float32 product."""
    n = sizes.bandwidth_entries
    source = torch.ones(n, dtype=torch.float32, device=device.torch)
    target = torch.empty_like(source)
    copy = 8 * n / device.fastest(lambda: target.copy_(source)) / 1e9
    columns = 2 ** (n.bit_length() // 2)
    matrix, vector = source.view(-1, columns), target[:columns]
    product = 4 * n / device.fastest(lambda: matrix @ vector) / 1e9
    transposed = matrix.T
    vector = target[: len(matrix)]
    product = max(product, 4 * n / device.fastest(lambda: transposed @ vector) / 1e9)
    return {"copy (GB/s)": copy, "float32 product (GB/s)": product}
