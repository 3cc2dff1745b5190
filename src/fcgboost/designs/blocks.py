"""Rows in blocks, and sums over them."""

from __future__ import annotations

from typing import Any

from fcgboost.arrays import Matrix


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cut rows into blocks of at most `size`."""
    size = max(1, size)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def block_sums(values: Matrix, W: Matrix, block: int) -> Any:
    """Return values^T W: the products of blocks of rows, which are then added up."""
    whole = len(values) // block * block
    total: Any = 0.0
    for part in (slice(0, whole), slice(whole, len(values))):
        V = values[part]
        U = W[part]
        if len(V):
            size = min(block, len(V))
            n = len(V) // size
            V = V.reshape((n, size, V.shape[1]))
            U = U.reshape((n, size, U.shape[1])).swapaxes(1, 2)
            total = total + (U @ V).sum(0)
    return total.T
