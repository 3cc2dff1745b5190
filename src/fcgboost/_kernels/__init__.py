"""The interface to the compiled library, one function each.

The library is built with the package (`hatch_build.py`), and `kernels.h` documents its functions.
Calls release the GIL.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from fcgboost._kernels.header import (
    CONSTANTS,
    FIELDS,
    FUNCTIONS,
    ROUTINES,
    Struct,
    bind,
)
from fcgboost._kernels.sources import FOLDER, source_hash

if TYPE_CHECKING:
    from fcgboost.dictionaries.bins import Bins

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Entry = TypeVar("Entry", bound=np.generic)

SUFFIX = ".dll" if os.name == "nt" else ".so"
_ADVICE = "Build it with: python -m pip install --editable ."

RELU = CONSTANTS["FCG_RELU"]
GAUSS = CONSTANTS["FCG_GAUSS"]
BLOCK = CONSTANTS["FCG_BLOCK"]
#: The bins of a column.
N_BINS = 256


class _Blas(Struct):
    kind = "fcg_blas"
    _fields_ = FIELDS[kind]


class _Columns(Struct):
    kind = "fcg_columns"
    _fields_ = FIELDS[kind]


class Search(Struct):
    """How atoms are drawn and refined; see `kernels.h`."""

    kind = "fcg_search"
    _fields_ = FIELDS[kind]


class BinnedRows(Struct):
    """Bins and codes of rows; see `kernels.h`."""

    kind = "fcg_bins"
    _fields_ = FIELDS[kind]


class Rules(Struct):
    """How a tree grows, with the unit of weight (0 if unknown) and whether all are multiples of it.

    With `max_leaves` 0 there is no limit, and the tree grows level by level.
    """

    kind = "fcg_tree_rules"
    _fields_ = FIELDS[kind]


class _Split(Struct):
    kind = "fcg_split"
    _fields_ = FIELDS[kind]


class _HashedRow(Struct):
    kind = "fcg_hashed_row"
    _fields_ = FIELDS[kind]


def refer_to_bins(bins: Bins, codes: NDArray[np.uint8] | None = None) -> BinnedRows:
    """Return bins and codes for the library."""
    n_features = len(bins.column)
    rows = BinnedRows(n_columns=bins.n_columns, n_features=n_features)
    if codes is not None:
        rows.n_rows = len(codes)
        rows.hold("codes", codes, len(codes) * bins.n_columns)
    for name in ("column", "first", "default_bin", "n_bins", "n_numbers"):
        rows.hold(name, getattr(bins, name), n_features)
    rows.hold("edges", bins.edges, n_features * N_BINS)
    rows.hold("is_category", bins.is_category.view(np.uint8), n_features)
    return rows


#: A split of a node.
SPLIT = np.dtype(_Split)
Splits = NDArray[np.void]


@cache
def library() -> ctypes.CDLL:
    """Load the library, the variant for newer processors if possible."""
    plain = FOLDER / f"kernels{SUFFIX}"
    newer = FOLDER / f"kernels_v3{SUFFIX}"
    loaded = _load_from(plain)
    return _load_from(newer) if loaded.fcg_has_v3() and newer.exists() else loaded


def _load_from(path: Path) -> ctypes.CDLL:
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        problem = f"fcgboost's compiled library cannot be loaded ({error})."
        raise ImportError(f"{problem} {_ADVICE}") from error
    bind(loaded, "fcg_source_hash")
    built_from = loaded.fcg_source_hash().decode()
    if any(FOLDER.glob("*.c")) and built_from != source_hash():
        raise ImportError(f"fcgboost's compiled library is older than its sources. {_ADVICE}")
    for name in FUNCTIONS:
        bind(loaded, name)
    return loaded


@cache
def _blas() -> _Blas:
    """Return the addresses of SciPy's BLAS and LAPACK routines."""
    api = ctypes.pythonapi
    capsule_type = ctypes.py_object
    name_of = api.PyCapsule_GetName
    address_of = api.PyCapsule_GetPointer
    name_of.restype = ctypes.c_char_p
    name_of.argtypes = (capsule_type,)
    address_of.restype = ctypes.c_void_p
    address_of.argtypes = (capsule_type, ctypes.c_char_p)
    exported = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
    addresses = []
    for routine, signature in ROUTINES.items():
        capsule = exported.get(f"d{routine}")
        if capsule is None:
            raise ImportError(f"fcgboost needs the routine d{routine}, which this SciPy lacks.")
        name = name_of(capsule)
        # Cython has names of its own for double.
        found = re.sub(r"\b__pyx_t_\w+_d\b", "double", name.decode())
        if found != signature:
            raise ImportError(
                f"fcgboost cannot call the routine d{routine} of this SciPy, which is {found!r}: "
                f"it needs {signature!r}."
            )
        addresses.append(address_of(capsule, name))
    return _Blas(*addresses)


class HingeState(NamedTuple):
    """The rows at some coefficients: their values, and the slopes times the shares."""

    f: Array
    slopes: Array


class HingeSums:
    """The squared hinge, or the square, at the last point of one output; the next updates its sums.

    The storage has shape (room, n_rows); y and shares are m-vectors.
    """

    def __init__(self, storage: Array, y: Array, shares: Array, bend: float = np.inf) -> None:
        self._y = np.ascontiguousarray(y)
        #: Values, slopes and curvatures at the point of the sums.
        self._rows = np.zeros((3, len(y)))
        self._blas = _blas()
        self._held = _Columns(
            m=len(y),
            bend=bend,
            blas=ctypes.addressof(self._blas),
        )
        for name, array in zip("fgh", self._rows, strict=True):
            self._held.hold(name, array, len(y))
        self._held.hold("y", self._y, len(y))
        self._held.hold("shares", shares, len(y))
        self._small = np.zeros((3, 0))
        self._gram = np.zeros((0, 0))
        self.resize(storage)

    def resize(self, storage: Array) -> None:
        """Switch to a larger storage with the same first columns."""
        room = len(storage)
        n_columns = len(self._gram)
        small = np.zeros((3, room))
        gram = np.zeros((room, room))
        small[:, :n_columns] = self._small
        gram[:n_columns, :n_columns] = self._gram
        self._small = small
        self._gram = gram
        self._coef, self._gradient, self._peak = small
        held = self._held
        held.room = room
        held.hold("A", storage, room * held.m)
        for name, vector in zip(("coef", "gradient", "peak"), small, strict=True):
            held.hold(name, vector, room)
        held.hold("gram", gram, room * room)

    def _set_size(self, n_columns: int) -> None:
        if n_columns > self._held.room:
            raise ValueError(f"There are {n_columns} coefficients, and {self._held.room} columns.")
        self._held.k = n_columns

    def _state(self) -> HingeState:
        """Return a copy of the rows at the point of the sums."""
        return HingeState(self._rows[0].copy(), self._rows[1].copy())

    def expand(self, coef: Array) -> tuple[float, Array, Array, HingeState]:
        """Move to a point; return the risk, its gradient, its Hessian and the rows."""
        k = len(coef)
        self._set_size(k)
        checked(library().fcg_look(self._held, coef))
        return self._held.risk, self._gradient[:k].copy(), self._gram[:k, :k].copy(), self._state()

    def newton(
        self,
        coef: Array,
        penalty: Array,
        norms: Array,
        scale: float,
        tol: float,
        max_iter: int,
    ) -> tuple[Array, float, float, int, HingeState]:
        """Run Newton's method; return coefficients, objective, residual, iterations and rows."""
        end = coef.copy()
        self._set_size(len(coef))
        n_iter = checked(
            library().fcg_newton(
                self._held,
                penalty,
                norms,
                scale,
                tol,
                max_iter,
                end,
            )
        )
        # Read-only: a solution and the record of a step may share it.
        end.setflags(write=False)
        return end, self._held.objective, self._held.residual, n_iter, self._state()

    def step(
        self,
        coef: Array,
        j: int,
        has_constant: bool,
        l2: float,
        state: HingeState | None,
    ) -> tuple[Array, float, HingeState]:
        """Minimise over the constant and the coefficient of column j, which is 0.

        The state is that of the rows at `coef`. Return the coefficients, the risk and the rows.
        """
        if not 0 <= j < len(self._gram):
            raise ValueError(f"There is no column {j}.")
        f, slopes = self.expand(coef)[3] if state is None else state
        f = f.copy()
        slopes = slopes.copy()
        end = coef.copy()
        added = np.empty(3)
        library().fcg_step(
            self._held,
            j,
            has_constant,
            l2,
            f,
            slopes,
            added,
        )
        end[: int(has_constant)] += added[0]
        end[j] += added[1]
        end.setflags(write=False)
        return end, float(added[2]), HingeState(f, slopes)

    def drop(self, position: int) -> None:
        """Forget a column that was removed from the storage."""
        n_known = self._held.n_known
        if position < n_known:
            kept = np.delete(np.arange(n_known), position)
            self._held.n_known = len(kept)
            self._small[:, : len(kept)] = self._small[:, kept]
            self._gram[: len(kept), : len(kept)] = self._gram[np.ix_(kept, kept)]
        self._coef[0] = np.nan


def square_terms(
    bend: float,
    f: Array,
    y: Array,
    shares: Array,
) -> tuple[Array, Array, Array]:
    """Return the losses, slopes and curvatures, times the shares.

    With a bend of 0 the loss is the square, else a squared hinge with linear tails from there on.
    """
    losses, slopes, curvatures = np.empty((3, len(f)))
    library().fcg_terms(
        len(f),
        bend,
        f,
        y,
        shares,
        losses,
        slopes,
        curvatures,
    )
    return losses, slopes, curvatures


def in_blocks(Z: Array) -> Array:
    """Return rows in the layout of `propose`, of shape (n_blocks, n_features, BLOCK)."""
    n, d = Z.shape
    padded = np.zeros((-(-n // BLOCK), BLOCK, d))
    padded.reshape(-1, d)[:n] = Z
    return np.ascontiguousarray(padded.transpose(0, 2, 1))


def sample(weights: Array, n_rows: int, n_points: int, key: int) -> tuple[Rows, Rows, int]:
    """Return some rows of positive weight, points among these, and the number of such rows."""
    n_rows = max(1, min(n_rows, len(weights)))
    rows = np.empty(n_rows, np.int64)
    points = np.empty(n_points, np.int64)
    n_active = library().fcg_sample(
        len(weights),
        weights,
        n_rows,
        n_points,
        key,
        rows,
        points,
    )
    return rows[: max(1, n_active)], points, n_active


def propose(
    search: Search,
    Z: Array,
    residual: Array,
    weights: Array,
    gain: tuple[float, ...],
    key: int,
) -> Array:
    """Return the refined atom, if there are steps, then its original.

    Z are standardised rows in the layout of `in_blocks`; the gain is the ridge, the total weight,
    and whether there is an intercept.
    """
    d = Z.shape[1]
    atoms = np.empty((2 if search.max_steps else 1, d + 1))
    checked(
        library().fcg_propose(
            search,
            residual.size,
            d,
            Z,
            residual,
            weights,
            *gain,
            key,
            atoms,
        )
    )
    return atoms


def as_read(rows: Array) -> tuple[bool, Array]:
    """Return whether rows are read in single precision, and these rows."""
    is_single = rows.dtype == np.float32
    # Rows that came from another process need not be aligned.
    return is_single, np.require(rows, np.float32 if is_single else np.float64, ["C", "A"])


def code_rows(bins: Bins, rows: Array) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the codes of rows, and for each column, whether its features clash."""
    if rows.shape[1] != len(bins.column):
        raise ValueError(f"There are {rows.shape[1]} columns, and bins of {len(bins.column)}.")
    is_single, rows = as_read(rows)
    n_columns = bins.n_columns
    codes = np.empty((len(rows), n_columns), np.uint8)
    clashes = np.zeros(n_columns, np.uint8)
    coded = refer_to_bins(bins, codes)
    library().fcg_code_rows(
        coded,
        is_single,
        rows,
        codes,
        clashes,
    )
    return codes, clashes


def weigh(weights: Array) -> list[float]:
    """Return sum, minimum, maximum and number of weights, and whether all are integers."""
    facts = np.empty(5)
    library().fcg_weights(len(weights), weights, facts)
    return facts.tolist()


class WeightUnit(NamedTuple):
    """The unit of weight, 0 if unknown, and whether all weights are multiples of it."""

    size: float = 0.0
    is_exact: bool = False


def weight_unit(*facts: float) -> WeightUnit:
    """Return the unit for weights summarised by `weigh`."""
    is_exact = np.empty(1, np.int64)
    return WeightUnit(library().fcg_weight_unit(np.array(facts), is_exact), bool(is_exact[0]))


def grow_tree(
    bins: BinnedRows,
    rules: Rules,
    residual: Array,
    weights: Array,
    room: Rows,
    nodes: Array,
    leaves: NDArray[np.unsignedinteger] | None,
) -> Array:
    """Return the nodes of a tree, four numbers each; write the leaf number of each row.

    The bins are from `refer_to_bins`. Room for histograms, of shape (n_histograms,
    256 * n_columns), and nodes, (most_nodes, 4), are work space.
    """
    check_sizes(nodes=(nodes, 4))
    if leaves is not None:
        check_sizes(leaves=(leaves, bins.n_rows))
    n_nodes = library().fcg_grow_tree(
        bins,
        rules,
        residual,
        weights,
        len(room),
        room,
        len(nodes),
        nodes,
        0 if leaves is None else leaves.itemsize,
        leaves,
    )
    return nodes[: checked(n_nodes)].flatten()


def fingerprint(X: Array, columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash per row, from the hashes of the columns."""
    hashes = np.empty(len(X), dtype=np.uint64)
    is_single, X = as_read(X)
    library().fcg_fingerprint(
        *X.shape,
        is_single,
        X,
        columns,
        hashes,
    )
    return hashes


def order(hashes: NDArray[np.uint64]) -> Rows:
    """Return the indices that sort hashes; the sort is stable."""
    indices = np.empty(len(hashes), np.int64)
    room = np.empty(2 * len(hashes), _HashedRow)
    library().fcg_order(
        len(hashes),
        hashes,
        room,
        indices,
    )
    return indices


def take_rows(X: NDArray[Entry], rows: Rows) -> NDArray[Entry]:
    """Return the rows of a matrix, or entries of a vector, at positions that are not negative."""
    if not (X.flags.c_contiguous and X.flags.aligned):
        return X.take(rows, axis=0)
    n = len(rows)
    taken = np.empty((n, *X.shape[1:]), X.dtype)
    library().fcg_take_rows(
        n,
        X[:1].nbytes,
        X,
        rows,
        taken,
    )
    return taken


def gauss_values(X: Array, centers: Array, units: Array) -> Array:
    """Return exp(-|(x - c) u|^2), of shape (n_rows, n_atoms)."""
    values = np.empty((len(X), len(centers)))
    library().fcg_gauss_values(
        *X.shape,
        X,
        len(centers),
        centers,
        units,
        values,
    )
    return values


def check_sizes(**arrays: tuple[NDArray[np.generic], int]) -> None:
    """Raise a ValueError for an array with fewer numbers than it needs."""
    for name, (array, size) in arrays.items():
        if array.size < size:
            raise ValueError(f"{name} needs {size} numbers, and has {array.size}.")


def checked(returned: int) -> int:
    """Return a count; raise a MemoryError for a negative one."""
    if returned < 0:
        raise MemoryError("There is not enough memory for the compiled library.")
    return returned
