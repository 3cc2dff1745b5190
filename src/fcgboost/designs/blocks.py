"""Rows in blocks, and sums over them."""

from __future__ import annotations

from typing import Any

#: Rows added up in the precision of the values.
BLOCK = 512


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cut rows into blocks of at most `size`."""
    size = max(1, size)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def block_sums(values: Any, W: Any, dtype: Any, block: int | None = None) -> Any:
    """Return values^T W: sums within blocks in the given precision, between blocks in `dtype`."""
    block = BLOCK if block is None else block
    whole = len(values) // block * block
    total: Any = 0.0
    for part in (slice(0, whole), slice(whole, len(values))):
        V, U = values[part], W[part]
        if len(V):
            size = min(block, len(V))
            n = len(V) // size
            V = V.reshape((n, size, V.shape[1]))
            U = U.reshape((n, size, U.shape[1])).swapaxes(1, 2)
            total = total + (U @ V).sum(0, dtype=dtype)
    return total.T
