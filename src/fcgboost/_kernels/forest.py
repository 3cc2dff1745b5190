"""Trees stored as the leaf numbers of rows, and sums over leaves."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import (
    Array,
    check_sizes,
    checked,
    library,
)
from fcgboost._kernels.header import (
    FIELDS,
    Struct,
    Variable,
    check_array,
)

#: The leaf number of each row, in one or two bytes.
LeafCodes = NDArray[np.unsignedinteger]

# The number of trees for which there is room at first.
_ROOM = 64

_check_vector = check_array(
    "fcg_leaf_sums",
    Variable(
        type="double",
        name="r",
        is_const=True,
        n_stars=0,
        size="forest->n_rows",
    ),
)


class _Forest(Struct):
    kind = "fcg_forest"
    _fields_ = FIELDS[kind]


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
        self._held = self._structure()

    def append(self, codes: LeafCodes, n_leaves: int) -> None:
        n_trees = len(self.codes)
        check_sizes(codes=(codes, self._n_rows))
        if n_trees == len(self._addresses):
            self._addresses = np.concatenate((self._addresses, self._addresses))
            self._is_wide = np.concatenate((self._is_wide, self._is_wide))
        codes = np.ascontiguousarray(codes, np.uint8 if n_leaves <= 256 else np.uint16)
        self.codes.append(codes)
        self.first = np.concatenate((self.first, (self.first[-1] + n_leaves,)))
        self._addresses[n_trees] = codes.ctypes.data
        self._is_wide[n_trees] = codes.itemsize == 2
        self._held = self._structure()

    def first_trees(self, n_trees: int) -> Forest:
        if n_trees == len(self.codes):
            return self
        forest = copy.copy(self)
        forest.codes = self.codes[:n_trees]
        forest.first = self.first[: n_trees + 1]
        forest._held = forest._structure()
        return forest

    def append_tree(self, tree: Forest) -> None:
        """Append the only tree of another forest."""
        self.append(tree.codes[0], tree.n_leaves)

    @property
    def n_leaves(self) -> int:
        return int(self.first[-1])

    def add_values(self, values: Array, f: Array) -> Array:
        """Add the leaf values of all trees to the values f of the rows."""
        library().fcg_leaf_values(self._held, values, f)
        return f

    def sums(self, vectors: Sequence[Array]) -> Array:
        """Return the sum of each vector, followed by its sums over each leaf; one row each."""
        sums = np.empty((len(vectors), 1 + self.n_leaves))
        addresses = np.empty(len(vectors), np.uint64)
        for number, vector in enumerate(vectors):
            _check_vector(vector, self._n_rows)
            addresses[number] = vector.ctypes.data
        status = library().fcg_leaf_sums(
            self._held,
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
            self._held,
            constant,
            values,
            h,
            sums,
        )
        checked(status)
        return sums

    def terms(
        self,
        bend: float,
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
            self._held,
            bend,
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

    def _structure(self) -> _Forest:
        n_trees = len(self.codes)
        forest = _Forest(
            n_trees=n_trees,
            n_rows=self._n_rows,
            n_leaves=self.n_leaves,
        )
        forest.hold("codes", self._addresses, n_trees)
        forest.hold("is_wide", self._is_wide, n_trees)
        forest.hold("first", self.first, n_trees + 1)
        return forest
