"""The interface to the compiled library, one function each.

The library is built with the package (`hatch_build.py`), and `kernels.h` documents its functions.
Calls release the GIL.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
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

# The types of the result and the arguments, by the letters of `_TYPES`.
_FUNCTIONS = {
    "source_hash": "s",
    "has_v3": "b",
    "look": "bpa",
    "newton": "bpaaddia",
    "step": "-pibdaaa",
    "sample": "iiaiiuaa",
    "draw": "-piaua",
    "propose": "bpiiaaaddbua",
    "bin": "-iaiaia",
    "weights": "-iaa",
    "weight_unit": "daa",
    "grow_tree": "ippaaiaiap",
    "find_splits": "-ppiaaa",
    "split_rows": "-paaaaa",
    "plan_tree": "iiaaaaaaa",
    "leaf_values": "-paa",
    "leaf_sums": "-paa",
    "check_trees": "iiiaiaa",
    "walk": "-iiaaiiaa",
    "walk_to_leaves": "-iaiiaaa",
    "fingerprint": "-iiaaa",
    "order": "-iaaa",
    "gauss_values": "-iiaiaaa",
    "shapley_trees": "-iiaiiaaaiaiaa",
    "shapley_products": "-iiiaaiaaaa",
    "shapley_walks": "-iiaiaaiaaiipaa",
}


class ArrayPointer:
    @staticmethod
    def from_param(array: NDArray[Any]) -> c_void_p:
        assert array.flags.c_contiguous
        return c_void_p(array.__array_interface__["data"][0])


_TYPES: dict[str, Any] = {"a": ArrayPointer, "p": c_void_p, "d": c_double, "i": c_int64}
_TYPES |= {"b": c_int32, "u": c_uint64, "s": c_char_p, "-": None}


def _fields(text: str) -> list[tuple[str, Any]]:
    """Return the fields of a structure; "type: names" groups are separated by semicolons."""
    kinds = (group.split(":") for group in text.split("; "))
    return [(name, _TYPES[kind]) for kind, names in kinds for name in names.split()]


_ARRAYS = "A y shares f g h coef gradient gram peak"


class _Blas(Structure):
    _fields_ = _fields("p: gemv gemm syrk potrf potrs pocon")


class _Columns(Structure):
    _fields_ = _fields(
        f"i: m k room; p: {_ARRAYS} blas; d: risk objective residual; i: n_known n_updates n_moves"
    )


class Search(Structure):
    """How atoms are drawn and refined; see `kernels.h`."""

    _fields_ = _fields(
        "i: family size n_improved n_rows max_steps; d: pull pull_times_weight; "
        "i: max_features; "
        "d: low high; i: memory n_shorter; d: rounding increase shorter little first_step nudge tie"
    )


class _Bins(Structure):
    _fields_ = _fields(
        "i: n_rows n_columns n_features; "
        "p: codes column first usual n_bins n_numbers edges is_category"
    )


def refer_to_bins(bins: Any, codes: NDArray[np.uint8] | None = None) -> Any:
    """Return a reference to bins and codes; the caller keeps both alive."""
    arrays = (getattr(bins, name) for name, _ in _Bins._fields_[4:])
    where = None if codes is None else ArrayPointer.from_param(codes)
    sizes = 0 if codes is None else len(codes), bins.n_columns, len(bins.column)
    return byref(_Bins(*sizes, where, *map(ArrayPointer.from_param, arrays)))


class TreeRules(Structure):
    _fields_ = _fields("i: depth max_leaves; d: min_leaf smoothing peak unit; i: is_exact")


#: A split of a node, `fcg_split` in C.
SPLIT = np.dtype(
    [
        *((name, np.int64) for name in ("feature", "place", "is_missing_left", "left")),
        ("score", np.float64),
        ("goes_left", np.uint64, 4),
        *((name, np.int64) for name in ("column", "children", "added")),
    ]
)
Splits = NDArray[np.void]


@cache
def library() -> Any:
    """Load the library, the variant for newer processors if possible."""
    plain, newer = FOLDER / "kernels.so", FOLDER / "kernels_v3.so"
    loaded = _load_from(plain)
    return _load_from(newer) if loaded.fcg_has_v3() and newer.exists() else loaded


def _load_from(path: Path) -> Any:
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        problem = f"fcgboost's compiled library cannot be loaded ({error})."
        raise ImportError(f"{problem} {_ADVICE}") from error
    for name, letters in _FUNCTIONS.items():
        function = getattr(loaded, f"fcg_{name}")
        function.restype, *function.argtypes = [_TYPES[letter] for letter in letters]
    built_from = loaded.fcg_source_hash().decode()
    if any(FOLDER.glob("*.c")) and built_from != source_hash():
        raise ImportError(f"fcgboost's compiled library is older than its sources. {_ADVICE}")
    return loaded


@cache
def _blas() -> _Blas:
    """Return the addresses of SciPy's BLAS and LAPACK routines."""
    api, capsule_type = ctypes.pythonapi, ctypes.py_object
    name_of, address_of = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = c_char_p, (capsule_type,)
    address_of.restype, address_of.argtypes = c_void_p, (capsule_type, c_char_p)
    exported = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
    capsules = [exported[f"d{field[0]}"] for field in _Blas._fields_]
    return _Blas(*(address_of(capsule, name_of(capsule)) for capsule in capsules))


class HingeSums:
    """The squared hinge at the last point of one output; the next point updates its sums.

    The storage has shape (room, n_rows); y and shares are m-vectors.
    """

    def __init__(self, storage: Array, y: Array, shares: Array) -> None:
        self._y, self._shares = np.ascontiguousarray(y), shares
        #: Values, slopes and curvatures at the point of the sums.
        self._rows = np.zeros((3, len(y)))
        #: Values and slopes after later steps of single columns, if any.
        self._ahead: Array | None = None
        self._held = _Columns(m=len(y), blas=ctypes.addressof(_blas()))
        self._at_held = byref(self._held)
        self._small, self._gram = np.zeros((3, 0)), np.zeros((0, 0))
        self._point: Array | None = None
        self.resize(storage)

    def resize(self, storage: Array) -> None:
        """Switch to a larger storage with the same first columns."""
        room, known = len(storage), len(self._gram)
        small, gram = np.zeros((3, room)), np.zeros((room, room))
        small[:, :known], gram[:known, :known] = self._small, self._gram
        self._storage, self._small, self._gram = storage, small, gram
        self._coef, self._gradient, self._peak = small
        self._held.room = room
        arrays = storage, self._y, self._shares, *self._rows, *small[:2], gram, self._peak
        for name, array in zip(_ARRAYS.split(), arrays, strict=True):
            setattr(self._held, name, ArrayPointer.from_param(array))

    @property
    def slopes(self) -> Array:
        """The slopes at the last point, times the shares."""
        slopes: Array = (self._rows if self._ahead is None else self._ahead)[1]
        return slopes

    def is_at(self, coef: Array) -> bool:
        """Return whether this was the last point; new columns have coefficient 0."""
        point = self._point
        if point is None or coef is point:
            return point is not None
        n = len(point)
        return coef[:n].tobytes() == point.tobytes() and not any(coef[n:].tolist())

    def look(self, coef: Array) -> tuple[float, Array, Array]:
        """Move to a point; return the risk, its gradient and its Hessian."""
        k = self._held.k = len(coef)
        _checked(library().fcg_look(self._at_held, coef))
        self._ahead, self._point = None, coef.copy()
        return self._held.risk, self._gradient[:k].copy(), self._gram[:k, :k].copy()

    def newton(
        self, coef: Array, penalty: Array, norms: Array, scale: float, tol: float, max_iter: int
    ) -> tuple[Array, float, float, int]:
        """Run Newton's method; return coefficients, objective, residual and iterations."""
        self._held.k, end = len(coef), coef.copy()
        given = self._at_held, penalty, norms, scale, tol, max_iter
        n_iter = _checked(library().fcg_newton(*given, end))
        # Read-only: `is_at` compares by identity.
        end.setflags(write=False)
        self._ahead, self._point = None, end
        return end, self._held.objective, self._held.residual, n_iter

    def step(self, coef: Array, j: int, has_constant: bool, l2: float) -> tuple[Array, float]:
        """Minimise over the constant and the coefficient of column j, which is 0.

        Return the coefficients and the risk.
        """
        if not self.is_at(coef):
            self.look(coef)
        if self._ahead is None:
            self._ahead = self._rows[:2].copy()
        end, added = coef.copy(), np.empty(3)
        f, g = self._ahead
        library().fcg_step(self._at_held, j, has_constant, l2, f, g, added)
        end[: int(has_constant)] += added[0]
        end[j] += added[1]
        end.setflags(write=False)
        self._point = end
        return end, float(added[2])

    def drop(self, position: int) -> None:
        """Forget a column that was removed from the storage."""
        known = self._held.n_known
        if position < known:
            kept = np.delete(np.arange(known), position)
            self._small[:, : known - 1] = self._small[:, kept]
            self._gram[: known - 1, : known - 1] = self._gram[np.ix_(kept, kept)]
            self._held.n_known = known - 1
        self._coef[0], self._ahead, self._point = np.nan, None, None


def in_blocks(Z: Array) -> Array:
    """Return rows in the layout of `propose`, of shape (n_blocks, n_features, BLOCK)."""
    n, d = Z.shape
    padded = np.zeros((-(-n // BLOCK), BLOCK, d))
    padded.reshape(-1, d)[:n] = Z
    return np.ascontiguousarray(padded.transpose(0, 2, 1))


def sample(weights: Array, n_rows: int, n_points: int, key: int) -> tuple[Rows, Rows, int]:
    """Return some rows of positive weight, points among these, and the number of such rows."""
    rows, points = np.empty(min(n_rows, len(weights)), np.int64), np.empty(n_points, np.int64)
    n_active = library().fcg_sample(len(weights), weights, n_rows, n_points, key, rows, points)
    return rows[: max(1, n_active)], points, n_active


def draw(search: Search, points: Array, key: int) -> Array:
    """Draw atoms at points: unconstrained parameters of shape (n_points, n_features + 1)."""
    atoms = np.empty((len(points), points.shape[1] + 1))
    library().fcg_draw(byref(search), points.shape[1], points, key, atoms)
    return atoms


def propose(
    search: Search, Z: Array, residual: Array, weights: Array, gain: tuple[float, ...], key: int
) -> Array:
    """Return refined atoms, if there are steps, then their originals.

    Z are standardised rows in the layout of `in_blocks`; the gain is the ridge, the total weight,
    and whether there is an intercept.
    """
    d, n_best = Z.shape[1], search.n_improved
    atoms = np.empty((2 * n_best if search.max_steps else n_best, d + 1))
    data = residual.size, d, Z, residual, weights
    _checked(library().fcg_propose(byref(search), *data, *gain, key, atoms))
    return atoms


def bin_values(values: Array, thresholds: Array, n_numbers: int, codes: NDArray[np.uint8]) -> None:
    """Write the number of thresholds below each value, at most 255, or n_numbers for NaN."""
    library().fcg_bin(len(values), values, len(thresholds), thresholds, n_numbers, codes)


def weigh(weights: Array) -> list[float]:
    """Return sum, minimum, maximum and number of weights, and whether all are integers."""
    facts = np.empty(5)
    library().fcg_weights(len(weights), weights, facts)
    return facts.tolist()


def weight_unit(*facts: float) -> tuple[float, bool]:
    """Return the unit for weights summarised by `weigh`, and whether all are multiples of it."""
    is_exact = np.empty(1, np.int64)
    return library().fcg_weight_unit(np.array(facts), is_exact), bool(is_exact[0])


def grow_tree(
    bins: Any,
    rules: tuple[float, ...],
    residual: Array,
    weights: Array,
    room: Rows,
    nodes: Array,
    leaves: NDArray[np.uint16] | None,
) -> Array:
    """Return the nodes of a tree, four numbers each; write the leaf number of each row.

    The bins are from `refer_to_bins`, the rules those of `growth.Rules`, with unit 0 if unknown.
    Room for histograms, of shape (n_histograms, 256 * n_columns), and nodes, (most_nodes, 4), are
    work space.
    """
    data = bins, byref(TreeRules(*rules)), residual, weights
    where = None if leaves is None else ArrayPointer.from_param(leaves)
    n_nodes = library().fcg_grow_tree(*data, len(room), room, len(nodes), nodes, where)
    return nodes[: _checked(n_nodes)].flatten()


def check_trees(nodes: Array, n_features: int) -> Rows:
    """Return the depths of trees; raise a ValueError for an invalid node."""
    n_trees, n_nodes = nodes.shape[:2]
    if n_nodes == 0:
        raise ValueError("A row without nodes is not a tree.")
    levels, depths = np.empty(n_nodes, dtype=np.int64), np.empty(n_trees, dtype=np.int64)
    bad = library().fcg_check_trees(n_trees, n_nodes, nodes, n_features, levels, depths)
    if bad >= 0:
        raise ValueError(
            f"A row is not a tree over {n_features} features: node {bad % n_nodes} is "
            f"{nodes.reshape(-1, 4)[bad].tolist()}."
        )
    return depths


def walk(X: Array, nodes: Array, depths: Rows) -> Array:
    """Return the values of checked trees at rows, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(nodes)))
    library().fcg_walk(*nodes.shape[:2], nodes, depths, *X.shape, X, values)
    return values


def walk_to_leaves(X: Array, nodes: Array, depth: int) -> NDArray[np.uint16]:
    """Return the leaf number, in the order of nodes, of each row in one checked tree."""
    leaves, is_leaf = np.empty(len(X), np.uint16), nodes[:, 0] == -1.0
    numbers = np.cumsum(is_leaf, dtype=np.uint16) - np.uint16(1)
    library().fcg_walk_to_leaves(depth, nodes, *X.shape, X, numbers, leaves)
    return leaves


def fingerprint(X: Array, columns: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a word per row, from the words of the columns."""
    words = np.empty(len(X), dtype=np.uint64)
    library().fcg_fingerprint(*X.shape, X, columns, words)
    return words


def order(words: NDArray[np.uint64]) -> Rows:
    """Return the indices that sort words; the sort is stable."""
    found, room = np.empty(len(words), np.int64), np.empty((2, len(words), 2), np.uint64)
    library().fcg_order(len(words), words, room, found)
    return found


def gauss_values(X: Array, centers: Array, units: Array) -> Array:
    """Return exp(-|(x - c) u|^2), of shape (n_rows, n_atoms)."""
    values = np.empty((len(X), len(centers)))
    library().fcg_gauss_values(*X.shape, X, len(centers), centers, units, values)
    return values


def _checked(returned: int) -> int:
    """Return a count; raise a MemoryError for a negative one."""
    if returned < 0:
        raise MemoryError("There is not enough memory for the compiled library.")
    return returned
