"""The border to the compiled library: arrays in, arrays out, one function each.

The library is a part of the package, built with it (`hatch_build.py`). `kernels.h` says what every
function does. Calls release Python's lock.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from fcgboost._kernels.sources import FOLDER, source_hash

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_ADVICE = "Build it with: python -m pip install --editable ."

RELU, GAUSS, BLOCK = 0, 1, 64


class _Blas(Structure):
    _fields_ = tuple(
        (name, c_void_p) for name in ("gemv", "gemm", "syrk", "potrf", "potrs", "pocon")
    )


class _Columns(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("m", "k", "room")),
        *((name, c_void_p) for name in ("A", "y", "shares", "f", "g", "h", "coef", "gradient")),
        *(("gram", c_void_p), ("peak", c_void_p), ("blas", POINTER(_Blas)), ("risk", c_double)),
        *((name, c_int64) for name in ("n_known", "n_updates", "n_moves")),
    )


class Search(Structure):
    """How atoms are drawn and refined; `kernels.h` says what every number is."""

    _fields_ = (
        *((name, c_int64) for name in ("family", "size", "n_improved", "n_rows", "max_steps")),
        *((name, c_double) for name in ("pull", "pull_times_weight")),
        *(("max_features", c_int64), ("low", c_double), ("high", c_double)),
        *((name, c_int64) for name in ("memory", "n_shorter")),
        *((name, c_double) for name in ("rounding", "increase", "shorter", "little")),
        *((name, c_double) for name in ("first_step", "nudge", "tie")),
    )


class Bins(Structure):
    """Binned rows of the tables' owner, who keeps them as long as this is used."""

    _fields_ = (
        *((name, c_int64) for name in ("n_rows", "n_features")),
        *((name, c_void_p) for name in ("codes", "n_numbers", "offsets", "edges", "is_category")),
    )

    @classmethod
    def of(cls, tables: Any) -> Bins:
        """Return where the tables of `dictionaries.trees.binning.Bins` lie."""
        n_features, n_rows = tables.codes.shape
        held = tables.codes, tables.n_numbers, tables.offsets, tables.edges, tables.is_category
        return cls(n_rows, n_features, *map(_at, held))


class _TreeRules(Structure):
    _fields_ = (
        ("depth", c_int64),
        *((name, c_double) for name in ("min_leaf", "smoothing", "peak")),
    )


_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "fcg_source_hash": (c_char_p, ()),
    "fcg_has_v3": (c_int32, ()),
    "fcg_look": (c_int32, (POINTER(_Columns), c_void_p)),
    "fcg_newton": (
        c_int32,
        (
            *(POINTER(_Columns), c_void_p, c_void_p, c_double, c_double, c_int64, c_void_p),
            *(POINTER(c_double), POINTER(c_double)),
        ),
    ),
    "fcg_sample": (c_int64, (c_int64, c_void_p, c_int64, c_int64, c_uint64, *[c_void_p] * 2)),
    "fcg_draw": (None, (POINTER(Search), c_int64, c_void_p, c_uint64, c_void_p)),
    "fcg_propose": (
        c_int32,
        (
            *(POINTER(Search), c_int64, c_int64, c_void_p, c_void_p, c_void_p),
            *(c_double, c_double, c_int32, c_uint64, c_void_p),
        ),
    ),
    "fcg_grow_tree": (
        c_int64,
        (
            *(POINTER(Bins), POINTER(_TreeRules), c_void_p, c_void_p),
            *(c_int64, c_void_p, c_int64, c_void_p),
        ),
    ),
    "fcg_check_trees": (c_int64, (c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p)),
    "fcg_walk": (None, (c_int64, c_int64, *[c_void_p] * 2, c_int64, c_int64, *[c_void_p] * 2)),
    "fcg_fingerprint": (None, (c_int64, c_int64, *[c_void_p] * 3)),
    "fcg_gauss_values": (None, (c_int64, c_int64, c_void_p, c_int64, *[c_void_p] * 3)),
}


@cache
def library() -> Any:
    """Load the library, the one for newer processors where this is one."""
    plain, newer = FOLDER / "kernels.so", FOLDER / "kernels_v3.so"
    loaded = _load_from(plain)
    return _load_from(newer) if loaded.fcg_has_v3() and newer.exists() else loaded


def _load_from(path: Path) -> Any:
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(
            f"fcgboost's compiled library cannot be loaded ({error}). {_ADVICE}"
        ) from error
    for function, (returned, arguments) in _FUNCTIONS.items():
        getattr(loaded, function).restype = returned
        getattr(loaded, function).argtypes = arguments
    built_from = loaded.fcg_source_hash().decode()
    if any(FOLDER.glob("*.c")) and built_from != source_hash():
        raise ImportError(f"fcgboost's compiled library is older than its sources. {_ADVICE}")
    return loaded


@cache
def _blas() -> _Blas:
    """Return where SciPy's routines of BLAS and LAPACK are."""
    get_name, get_pointer = (
        ctypes.pythonapi.PyCapsule_GetName,
        ctypes.pythonapi.PyCapsule_GetPointer,
    )
    get_name.restype, get_name.argtypes = c_char_p, (ctypes.py_object,)
    get_pointer.restype, get_pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)
    exported = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
    capsules = [exported[f"d{field[0]}"] for field in _Blas._fields_]
    return _Blas(*(get_pointer(capsule, get_name(capsule)) for capsule in capsules))


class HingeSums:
    """The squared hinge at the last point of one output, whose sums the next point needs.

    Parameters
    ----------
    storage : ndarray of shape (room, n_rows)
        Column after column.
    y, shares : ndarray of shape (n_rows,)
    """

    def __init__(self, storage: Array, y: Array, shares: Array) -> None:
        self._y, self._shares = np.ascontiguousarray(y), shares
        self.f, self.slopes, self.curvatures = self._rows = np.zeros((3, len(y)))
        self._held = _Columns(m=len(y), blas=ctypes.pointer(_blas()))
        self._small, self._gram = np.zeros((3, 0)), np.zeros((0, 0))
        #: The coefficients that the last run ended at, as long as no other point was looked at.
        self._last: Array | None = None
        self.resize(storage)

    def resize(self, storage: Array) -> None:
        """Take a larger storage, whose first columns are those of the last one."""
        room, known = len(storage), len(self._gram)
        small, gram = np.zeros((3, room)), np.zeros((room, room))
        small[:, :known], gram[:known, :known] = self._small, self._gram
        self._storage, self._small, self._gram = storage, small, gram
        self._coef, self._gradient, self._peak = small
        held, self._held.room = self._held, room
        for name, array in (
            *(("A", storage), ("y", self._y), ("shares", self._shares)),
            *zip(("f", "g", "h"), self._rows, strict=True),
            *(("coef", self._coef), ("gradient", self._gradient), ("peak", self._peak)),
            ("gram", gram),
        ):
            setattr(held, name, _at(array))

    def is_at(self, coef: Array) -> bool:
        """Whether the last point was this one."""
        k = self._held.n_known
        is_same = coef is self._last or np.array_equal(self._coef[:k], coef)
        return is_same and 0 < k == len(coef)

    def look(self, coef: Array) -> tuple[float, Array, Array]:
        """Go to a point; return the risk, its gradient and its Hessian there."""
        self._held.k, self._last = len(coef), None
        k = len(coef)
        _check(library().fcg_look(byref(self._held), _at(coef)))
        return self._held.risk, self._gradient[:k].copy(), self._gram[:k, :k].copy()

    def newton(
        self, coef: Array, penalty: Array, norms: Array, scale: float, tol: float, max_iter: int
    ) -> tuple[Array, float, float, int]:
        """Run Newton's method; return where it ended, and objective, residual and iterations."""
        self._held.k, end = len(coef), coef.copy()
        objective, residual = c_double(), c_double()
        n_iter = library().fcg_newton(
            *(byref(self._held), _at(penalty), _at(norms), scale, tol, max_iter),
            *(_at(end), byref(objective), byref(residual)),
        )
        _check(n_iter)
        self._last = end
        return end, objective.value, residual.value, n_iter

    def drop(self, position: int) -> None:
        """Forget a column; the storage has forgotten it."""
        known = self._held.n_known
        if position < known:
            kept = np.delete(np.arange(known), position)
            self._small[:, : known - 1] = self._small[:, kept]
            self._gram[: known - 1, : known - 1] = self._gram[np.ix_(kept, kept)]
            self._held.n_known = known - 1
        self._coef[0], self._last = np.nan, None  # so that the next point is another one


def in_blocks(Z: Array) -> Array:
    """Lay rows out as `propose` takes them, of shape (n_blocks, n_features, BLOCK)."""
    n, d = Z.shape
    padded = np.zeros((-(-n // BLOCK), BLOCK, d))
    padded.reshape(-1, d)[:n] = Z
    return np.ascontiguousarray(padded.transpose(0, 2, 1))


def sample(weights: Array, n_rows: int, n_points: int, key: int) -> tuple[Rows, Rows, int]:
    """Return some rows that have a weight, points among these, and how many rows have one."""
    rows, points = np.empty(min(n_rows, len(weights)), np.int64), np.empty(n_points, np.int64)
    n_active = library().fcg_sample(
        len(weights), _at(weights), n_rows, n_points, key, _at(rows), _at(points)
    )
    return rows[: max(1, n_active)], points, n_active


def draw(search: Search, points: Array, key: int) -> Array:
    """Return atoms at points, vectors without constraints of shape (n_points, n_features + 1)."""
    atoms = np.empty((len(points), points.shape[1] + 1))
    library().fcg_draw(search, points.shape[1], _at(points), key, _at(atoms))
    return atoms


def propose(
    search: Search,
    Z: Array,
    residual: Array,
    weights: Array,
    gain: tuple[float, float, bool],
    key: int,
) -> Array:
    """Return refined atoms, if there are steps, and behind them those that they were made of.

    Parameters
    ----------
    search : Search
    Z : ndarray of shape (n_blocks, n_features, BLOCK)
        Standardised rows, as `in_blocks` lays them out.
    residual, weights : ndarray of shape (n_rows,)
    gain : tuple
        The ridge, the total weight, and whether a constant is fitted.
    key : int
    """
    d, n_best = Z.shape[1], search.n_improved
    atoms = np.empty((2 * n_best if search.max_steps else n_best, d + 1))
    vectors = _at(Z), _at(residual), _at(weights)
    _check(library().fcg_propose(search, residual.size, d, *vectors, *gain, key, _at(atoms)))
    return atoms


def grow_tree(
    bins: Bins,
    rules: tuple[int, float, float, float],
    residual: Array,
    weights: Array,
    room: Array,
    nodes: Array,
) -> Array:
    """Return the nodes of a tree, four numbers each.

    Parameters
    ----------
    bins : Bins
    rules : tuple
        The depth, the least weight of a leaf, the smoothing, and the largest value.
    residual, weights : ndarray of shape (n_rows,)
        Weights are exact: no order of sums changes them.
    room, nodes : ndarray of shape (n_histograms, n_bins, 2) and (most_nodes, 4)
        Memory to work in.
    """
    n_nodes = library().fcg_grow_tree(
        *(bins, _TreeRules(*rules), _at(residual), _at(weights)),
        *(room.shape[0], _at(room), nodes.shape[0], _at(nodes)),
    )
    _check(n_nodes)
    return nodes[:n_nodes].flatten()


def check_trees(nodes: Array, n_features: int) -> NDArray[np.int64]:
    """Return the depths of trees, nodes of shape (n_trees, n_nodes, 4).

    Raises
    ------
    ValueError
        For a node that sends rows nowhere.
    """
    n_trees, n_nodes = nodes.shape[:2]
    if n_nodes == 0:
        raise ValueError("A row of no node is no tree.")
    room = np.empty(n_nodes + n_trees, dtype=np.int64)
    levels, depths = room[:n_nodes], room[n_nodes:]
    bad = library().fcg_check_trees(
        n_trees, n_nodes, _at(nodes), n_features, _at(levels), _at(depths)
    )
    if bad >= 0:
        raise ValueError(
            f"A row is no tree over {n_features} features: node {bad % n_nodes} is "
            f"{nodes.reshape(-1, 4)[bad].tolist()}."
        )
    return depths


def walk(X: Array, nodes: Array, depths: NDArray[np.int64]) -> Array:
    """Return the values of checked trees at rows, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(nodes)))
    library().fcg_walk(
        *(len(nodes), nodes.shape[1], _at(nodes), _at(depths)), *X.shape, _at(X), _at(values)
    )
    return values


def fingerprint(X: Array, columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a word per row, from the words of the columns."""
    words = np.empty(len(X), dtype=np.uint64)
    library().fcg_fingerprint(*X.shape, _at(X), _at(columns), _at(words))
    return words


def gauss_values(X: Array, centers: Array, units: Array) -> Array:
    """Return exp(-|(x - c) u|^2), of shape (n_rows, n_atoms)."""
    values = np.empty((len(X), len(centers)))
    library().fcg_gauss_values(
        *X.shape, _at(X), len(centers), _at(centers), _at(units), _at(values)
    )
    return values


def _at(array: NDArray[Any]) -> int:
    """Return where an array lies; what is no plain array in one piece is our mistake."""
    assert array.flags.c_contiguous
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _check(returned: int) -> None:
    if returned < 0:
        raise MemoryError("There is not enough memory for the compiled library.")
