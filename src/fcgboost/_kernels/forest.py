"""Trees stored as the leaf numbers of rows, and sums over leaves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from ctypes import Structure, byref, c_int64, c_void_p

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import Array, ArrayPointer, Reference, checked, library

#: The leaf number of each row, in one or two bytes.
LeafCodes = NDArray[np.unsignedinteger]

# The number of trees for which there is room at first.
_ROOM = 64


class _Forest(Structure):
    _fields_ = [
        *((name, c_int64) for name in ("n_trees", "n_rows")),
        *((name, c_void_p) for name in ("codes", "is_wide", "first")),
    ]


class Forest:
    """Trees stored as the leaf numbers of rows, of one or two bytes each.

    Sums over parts of the rows are added up in order, so threads do not change them.
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
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
        library().fcg_leaf_values(self._reference(), values, f)
        return f

    def sums(self, vectors: Sequence[Array]) -> Array:
        """Return the sum of each vector, followed by its sums over each leaf; one row each."""
        sums = np.empty((len(vectors), 1 + self.n_leaves))
        addresses = np.empty(len(vectors), np.uint64)
        for number, vector in enumerate(vectors):
            assert vector.flags.c_contiguous
            addresses[number] = vector.__array_interface__["data"][0]
        status = library().fcg_leaf_sums(
            self._reference(),
            len(vectors),
            addresses,
            sums,
        )
        checked(status)
        return sums

    def products(self, constant: float, values: Array, h: Array) -> Array:
        """Return the sums of h (constant + A values), as `sums` does, A being the indicators."""
        sums = np.empty(1 + self.n_leaves)
        status = library().fcg_leaf_products(
            self._reference(),
            constant,
            values,
            h,
            sums,
        )
        checked(status)
        return sums

    def terms(
        self,
        is_hinge: bool,
        added: Array,
        f: Array,
        y: Array,
        shares: Array,
        n_vectors: int = 3,
    ) -> tuple[Array, Array]:
        """Add leaf values to the values f of the rows, in place.

        Return the losses, slopes and curvatures there, as `square_terms` does, and the sums of the
        last two or three of them, as `sums` does.
        """
        n_sums = 1 + self.n_leaves
        terms = np.empty((3, self._n_rows))
        sums = np.empty((n_vectors, n_sums))
        status = library().fcg_leaf_terms(
            self._reference(),
            is_hinge,
            added,
            y,
            shares,
            f,
            terms,
            n_vectors,
            sums,
        )
        checked(status)
        return terms, sums

    def _reference(self) -> Reference:
        return byref(
            _Forest(
                len(self.codes),
                self._n_rows,
                ArrayPointer.from_param(self._addresses),
                ArrayPointer.from_param(self._is_wide),
                ArrayPointer.from_param(self.first),
            )
        )
