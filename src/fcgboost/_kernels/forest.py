"""Trees stored as the leaf numbers of rows, and sums over leaves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from ctypes import Structure, byref, c_int64, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import Array, ArrayPointer, library

# Rows added up by one thread.
_PART = 1 << 18


class _Forest(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_trees", "start", "stop")),
        *((name, c_void_p) for name in ("codes", "is_wide", "first")),
    ]


#: Runs independent pieces of work, in threads or not; returns their results in order.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def one_by_one(work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
    """Run pieces of work in this thread."""
    return [work(piece) for piece in pieces]


class Forest:
    """Trees stored as the leaf numbers of rows, of one or two bytes each.

    Sums over parts of the rows are added up in order, so threads do not change them.
    """

    def __init__(self, n_rows: int, each: Each = one_by_one) -> None:
        self._n_rows, self._each = n_rows, each
        self.codes: list[NDArray[Any]] = []
        #: The first leaf of each tree in the sequence of all leaves, and the end.
        self.first = np.zeros(1, np.int64)

    @property
    def n_trees(self) -> int:
        return len(self.codes)

    def append(self, codes: NDArray[Any], n_leaves: int) -> None:
        self.codes.append(np.ascontiguousarray(codes, np.uint8 if n_leaves <= 256 else np.uint16))
        self.first = np.append(self.first, self.first[-1] + n_leaves)
        self._places = np.array([one.ctypes.data for one in self.codes], np.uint64)
        self._is_wide = np.array([one.itemsize == 2 for one in self.codes], np.uint8)

    def first_trees(self, n_trees: int) -> Forest:
        if n_trees == len(self.codes):
            return self
        some = copy.copy(self)
        some.codes, some.first = self.codes[:n_trees], self.first[: n_trees + 1]
        return some

    def last(self) -> Forest:
        alone = Forest(self._n_rows, self._each)
        alone.append(self.codes[-1], int(self.first[-1] - self.first[-2]))
        return alone

    def add_values(self, values: Array, f: Array) -> Array:
        """Add the leaf values of all trees to the values f of the rows."""
        if self.codes:
            add = library().fcg_leaf_values
            self._each(lambda start: add(self._refer(start), values, f), self._starts)
        return f

    def sums(self, r: Array) -> Array:
        """Return the sums of r over each leaf."""

        def add_up(start: int) -> Array:
            own = np.zeros(int(self.first[-1]))
            library().fcg_leaf_sums(self._refer(start), r, own)
            return own

        parts = self._each(add_up, self._starts) if self.codes else [np.zeros(0)]
        return parts[0] if len(parts) == 1 else np.add.reduce(parts)

    @property
    def _starts(self) -> range:
        return range(0, max(1, self._n_rows), _PART)

    def _refer(self, start: int) -> Any:
        arrays: tuple[NDArray[Any], ...] = self._places, self._is_wide, self.first
        pointers = map(ArrayPointer.from_param, arrays)
        stop = min(start + _PART, self._n_rows)
        return byref(_Forest(len(self.codes), start, stop, *pointers))
