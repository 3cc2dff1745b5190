"""The border to the compiled library: arrays in, arrays out, one function each.

The library is a part of the package, built with it (`hatch_build.py`). `kernels.h` says what every
function does. Calls release Python's lock.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
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

from fcgboost._kernels.sources import FOLDER, source_hash

Array = NDArray[np.float64]
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_ADVICE = "Build it with: python -m pip install --editable ."

RELU, GAUSS, BLOCK = 0, 1, 64


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
    "fcg_squared_hinge": (None, (c_int64, *[c_void_p] * 6)),
    "fcg_unforeseen": (None, (c_int64, c_double, *[c_void_p] * 6)),
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
    "fcg_walk": (None, (POINTER(_Forest), c_int64, c_int64, c_void_p, c_void_p)),
    "fcg_gauss_dots": (
        c_int32,
        (
            *(c_int64, c_int64, c_void_p, c_int64, c_void_p, c_void_p),
            *(c_int64, c_void_p, c_void_p, c_void_p),
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


def squared_hinge(y: Array, shares: Array, f: Array) -> tuple[Array, Array, Array]:
    """Return the losses, and their slopes and curvatures times the rows' shares."""
    values, slopes, curvatures = np.empty((3, len(f)))
    library().fcg_squared_hinge(
        *(len(f), _at(y), _at(shares), _at(f), _at(values), _at(slopes), _at(curvatures))
    )
    return values, slopes, curvatures


def unforeseen(
    length: float, g: Array, h: Array, along: Array, new_g: Array, new_h: Array
) -> Array:
    """Return how far slopes are from those that a constant curvature would have led to."""
    rest = np.empty(len(g))
    vectors = (g, h, along, new_g, new_h, rest)
    library().fcg_unforeseen(len(g), length, *map(_at, vectors))
    return rest


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


def walk(X: Array, forest: Any) -> Array:
    """Return the values of trees at rows, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(forest.roots)))
    tables = (
        *(forest.feature, forest.left, forest.threshold, forest.leaf, forest.mask),
        *(forest.is_missing_right, forest.is_category, forest.roots, forest.depths),
    )
    held = _Forest(len(forest.roots), *map(_at, tables), forest.has_categories)
    library().fcg_walk(held, *X.shape, _at(X), _at(values))
    return values


def gauss_dots(Z: Floats, centers: Floats, factors: Floats, R: Floats) -> tuple[Array, Array]:
    """Return the inner products of Gauss atoms, and of their sizes, with residuals."""
    dots, sizes = np.zeros((2, len(centers), R.shape[1]))
    _check(
        library().fcg_gauss_dots(
            *(*Z.shape, _at(Z), len(centers), _at(centers), _at(factors)),
            *(R.shape[1], _at(R), _at(dots), _at(sizes)),
        )
    )
    return dots, sizes


def stored_dots(G: Floats, rows: Rows, r: Floats, start: int, n: int) -> Array:
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
    # `array.ctypes` makes two objects more.
    where: int = array.__array_interface__["data"][0]
    return where


def _check(returned: int) -> None:
    if returned < 0:
        raise MemoryError("There is not enough memory for the compiled library.")
