"""The border to the compiled library: arrays in, arrays out, one function each.

The library is a part of the package, built with it (`hatch_build.py`). `kernels.h` says what every
function does. Calls release Python's lock.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from fcgboost._kernels.sources import FOLDER, source_hash

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

_ADVICE = "Build it with: python -m pip install --editable ."

RELU, GAUSS = 0, 1


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


class _Gain(Structure):
    _fields_ = (("ridge", c_double), ("total_weight", c_double), ("is_centered", c_int32))


class _Bins(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("n_rows", "n_features")),
        *((name, c_void_p) for name in ("codes", "n_numbers", "offsets", "edges", "is_category")),
    )


class _TreeRules(Structure):
    _fields_ = (
        ("depth", c_int64),
        *((name, c_double) for name in ("min_leaf", "smoothing", "peak")),
    )


class _Forest(Structure):
    _fields_ = (
        ("n_trees", c_int64),
        *((name, c_void_p) for name in ("feature", "left", "threshold", "leaf", "mask")),
        *((name, c_void_p) for name in ("is_missing_right", "is_category", "roots", "depths")),
        ("has_categories", c_int32),
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
    "fcg_refine": (
        c_int32,
        (c_int32, c_int64, c_int64, *[c_void_p] * 3, POINTER(_Gain), c_void_p, c_int64, c_void_p),
    ),
    "fcg_grow_tree": (
        c_int64,
        (
            *(POINTER(_Bins), POINTER(_TreeRules), c_void_p, c_void_p),
            *(c_int64, c_void_p, c_int64, c_void_p),
        ),
    ),
    "fcg_walk": (None, (POINTER(_Forest), c_int64, c_int64, c_void_p, c_void_p)),
    "fcg_gauss_dots": (
        c_int32,
        (
            *(c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p),
            *(c_int64, c_void_p, c_void_p),
        ),
    ),
    "fcg_stored_dots": (
        c_int32,
        (c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_int64, c_void_p),
    ),
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
        return 0 < k == len(coef) and np.array_equal(self._coef[:k], coef)

    def look(self, coef: Array) -> tuple[float, Array, Array]:
        """Go to a point; return the risk, its gradient and its Hessian there."""
        self._held.k = k = len(coef)
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
        return end, objective.value, residual.value, n_iter

    def drop(self, position: int) -> None:
        """Forget a column; the storage has forgotten it."""
        known = self._held.n_known
        if position < known:
            kept = np.delete(np.arange(known), position)
            self._small[:, : known - 1] = self._small[:, kept]
            self._gram[: known - 1, : known - 1] = self._gram[np.ix_(kept, kept)]
            self._held.n_known = known - 1
        self._coef[0] = np.nan  # so that the next point is another one


def refine(
    family: int,
    rows: tuple[Array, Array, Array],
    gain: tuple[float, float, bool],
    start: Array,
    leash: Array,
    max_steps: int,
) -> Array:
    """Return where a climb of one atom ends.

    Parameters
    ----------
    family : {RELU, GAUSS}
    rows : ndarrays of shape (n_rows, n_features), (n_rows,) and (n_rows,)
        Standardised rows, the residual and the weights.
    gain : tuple
        The ridge, the total weight, and whether a constant is fitted.
    start, leash : ndarray of shape (n_parameters,)
        Parameters without constraints, and how strongly each entry is held.
    max_steps : int
    """
    Z, residual, weights = (np.ascontiguousarray(part, dtype=np.float64) for part in rows)
    theta, held = np.array(start, dtype=np.float64), np.ascontiguousarray(leash)
    measure = _Gain(*gain)
    _check(
        library().fcg_refine(
            *(family, *Z.shape, _at(Z), _at(residual), _at(weights), byref(measure)),
            *(_at(held), max_steps, _at(theta)),
        )
    )
    return theta


def grow_tree(
    bins: Any,
    rules: tuple[int, float, float, float],
    residual: Array,
    weights: Array,
    room: Array,
) -> Array:
    """Return the nodes of a tree, four numbers each.

    Parameters
    ----------
    bins : Bins
    rules : tuple
        The depth, the least weight of a leaf, the smoothing, and the largest value.
    residual, weights : ndarray of shape (n_rows,)
        Weights are exact: no order of sums changes them.
    room : ndarray of shape (n_histograms, n_bins, 2)
        Memory to work in.
    """
    n_features, n_rows = bins.codes.shape
    # No leaf has less than a row.
    max_nodes = max(1, min(2 * n_rows - 1, 2 ** (rules[0] + 1) - 1))
    nodes = np.empty((max_nodes, 4))
    tables = (bins.codes, bins.n_numbers, bins.offsets, bins.edges, bins.is_category)
    n_nodes = library().fcg_grow_tree(
        *(byref(_Bins(n_rows, n_features, *map(_at, tables))), byref(_TreeRules(*rules))),
        *(_at(residual), _at(weights), len(room), _at(room), max_nodes, _at(nodes)),
    )
    _check(n_nodes)
    return nodes[:n_nodes].reshape(-1)


def walk(X: Array, forest: Any) -> Array:
    """Return the values of trees at rows, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(forest.roots)))
    tables = (
        *(forest.feature, forest.left, forest.threshold, forest.leaf, forest.mask),
        *(forest.is_missing_right, forest.is_category, forest.roots, forest.depths),
    )
    held = _Forest(len(forest.roots), *map(_at, tables), forest.has_categories)
    library().fcg_walk(byref(held), *X.shape, _at(X), _at(values))
    return values


def gauss_dots(Z: Floats, centers: Floats, factors: Floats, R: Floats) -> Array:
    """Return the inner products of Gauss atoms 2^(factor |z - c|^2) with residuals."""
    dots = np.zeros((len(centers), R.shape[1]))
    _check(
        library().fcg_gauss_dots(
            *(*Z.shape, _at(Z), len(centers), _at(centers), _at(factors)),
            *(R.shape[1], _at(R), _at(dots)),
        )
    )
    return dots


def stored_dots(G: Floats, rows: NDArray[np.int64], r: Floats, start: int, n: int) -> Array:
    """Return the inner products of n stored columns from start on with a residual."""
    dots = np.zeros(n)
    _check(
        library().fcg_stored_dots(
            *(G.shape[1], _at(G), len(rows), _at(rows), _at(r), start, n, _at(dots))
        )
    )
    return dots


def _at(array: NDArray[Any]) -> int:
    """Return where an array lies; what is no plain array in one piece is our mistake."""
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


def _check(returned: int) -> None:
    if returned < 0:
        raise MemoryError("There is not enough memory for the compiled library.")
