"""Rows in blocks: which rows count, how they are cut, and how sums over them are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcgboost.backends.places import Place

#: Rows that are added up in the precision of the values.
BLOCK = 512
# Rows with a residual are gathered up to this share of all.
_WORTH_GATHERING = 0.8


@dataclass(frozen=True)
class Focus:
    """The rows that have a residual, where that are few enough to be gathered.

    Attributes
    ----------
    rows : array of positions, or None for all rows
    R : array of shape (len(rows), n_outputs)
    count : int, or a tensor with one
    is_valid : bool, or a tensor with one
        Whether the rows fit their room.
    """

    rows: Any
    R: Any
    count: Any
    is_valid: Any

    @classmethod
    def on(cls, R: Any, place: Place, room: int | None) -> Focus:
        """Look for the rows; no more than `room` where their number is not known in time."""
        xp, n_rows = place.xp, len(R)
        if room == n_rows and not place.is_ahead:
            return cls(None, R, n_rows, True)
        mask = (R != 0.0).any(axis=1) if R.shape[1] > 1 else R[:, 0] != 0.0
        if room is not None and room > _WORTH_GATHERING * n_rows:
            return cls(None, R, mask.sum(), True)
        rows, count = place.find(mask, room if place.is_ahead else None)
        if not place.is_ahead:
            is_worth_it = count <= _WORTH_GATHERING * n_rows
            return cls(rows, R[rows], count, True) if is_worth_it else cls(None, R, count, True)
        is_used = xp.arange(len(rows), device=rows.device) < count
        return cls(rows, xp.where(is_used[:, None], R[rows], 0.0), count, count <= len(rows))


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cut rows into blocks of at most `size`."""
    size = max(1, size)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def block_sums(values: Any, W: Any, place: Place) -> Any:
    """Return values^T W: sums within blocks of rows as they are, between blocks in float64."""
    whole = len(values) // BLOCK * BLOCK
    total: Any = 0.0
    for part in (slice(0, whole), slice(whole, len(values))):
        V, U = values[part], W[part]
        if len(V):
            size = min(BLOCK, len(V))
            V = V.reshape((-1, size, V.shape[1]))
            U = U.reshape((-1, size, U.shape[1])).swapaxes(1, 2)
            total = total + place.add_up(U @ V)
    return total.T
