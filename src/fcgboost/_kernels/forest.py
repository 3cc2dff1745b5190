"""Trees stored as the leaf numbers of rows, and sums over leaves."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from ctypes import Structure, byref, c_int64, c_void_p

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import Array, ArrayPointer, Reference, library

#: The leaf number of each row, in one or two bytes.
LeafCodes = NDArray[np.unsignedinteger]

# Rows added up by one thread.
_PART = 1 << 18
# The number of trees for which there is room at first.
_ROOM = 64


class _Forest(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_trees", "start", "stop")),
        *((name, c_void_p) for name in ("codes", "is_wide", "first")),
    ]


#: Runs independent pieces of work, in threads or not; returns their results in order.
Each = Callable[[Callable[[int], Array], Sequence[int]], Iterable[Array]]


class Forest:
    """Trees stored as the leaf numbers of rows, of one or two bytes each.

    Sums over parts of the rows are added up in order, so threads do not change them.
    """

    def __init__(self, n_rows: int, each: Each = map) -> None:
        self._n_rows = n_rows
        self._each = each
        self.codes: list[LeafCodes] = []
        #: The first leaf of each tree in the sequence of all leaves, and the end.
        self.first = np.zeros(1, np.int64)
        self._addresses = np.zeros(_ROOM, np.uint64)
        self._is_wide = np.zeros(_ROOM, np.uint8)

    def append(self, codes: LeafCodes, n_leaves: int) -> None:
        n_trees = len(self.codes)
        if n_trees == len(self._addresses):
            self._addresses = np.concatenate((self._addresses, self._addresses))
            self._is_wide = np.concatenate((self._is_wide, self._is_wide))
        codes = np.ascontiguousarray(codes, np.uint8 if n_leaves <= 256 else np.uint16)
        self.codes.append(codes)
        self.first = np.concatenate((self.first, (self.first[-1] + n_leaves,)))
        self._addresses[n_trees] = codes.__array_interface__["data"][0]
        self._is_wide[n_trees] = codes.itemsize == 2

    def first_trees(self, n_trees: int) -> Forest:
        if n_trees == len(self.codes):
            return self
        forest = copy.copy(self)
        forest.codes = self.codes[:n_trees]
        forest.first = self.first[: n_trees + 1]
        return forest

    def append_tree(self, tree: Forest) -> None:
        """Append the only tree of another forest."""
        self.append(tree.codes[0], tree.n_leaves)

    @property
    def n_leaves(self) -> int:
        return int(self.first[-1])

    def add_values(self, values: Array, f: Array) -> Array:
        """Add the leaf values of all trees to the values f of the rows."""

        def add(start: int) -> Array:
            library().fcg_leaf_values(self._refer(start), values, f)
            return f

        list(self._each(add, range(0, self._n_rows, _PART)))
        return f

    def sums(self, r: Array) -> Array:
        """Return the sums of r over each leaf."""

        def add_up(start: int) -> Array:
            sums = np.zeros(self.n_leaves)
            library().fcg_leaf_sums(self._refer(start), r, sums)
            return sums

        return np.asarray(np.add.reduce(list(self._each(add_up, range(0, self._n_rows, _PART)))))

    def _refer(self, start: int) -> Reference:
        return byref(
            _Forest(
                len(self.codes),
                start,
                min(start + _PART, self._n_rows),
                ArrayPointer.from_param(self._addresses),
                ArrayPointer.from_param(self._is_wide),
                ArrayPointer.from_param(self.first),
            )
        )
