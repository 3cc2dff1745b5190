"""The atoms in a document: a row of numbers each, and what rows each family has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.dictionaries import (
    Array,
    ConstantDictionary,
    Dictionary,
    EllipticDictionary,
    GaussDictionary,
    PlaneDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.documents.spots import LARGEST_WHOLE, Spot

_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_DTYPES = ("float64", "float32", "int64", "int32")
# Larger shapes than SciPy's indices are for no dictionary.
_MOST_PARAMETERS = 2**31 - 2
# A node of a tree is four numbers; no dictionary grows trees of more levels.
_NODE, _DEEPEST = 4, 30
_LARGEST_MASK = 2.0**52
# Rows of these have one length for all.
_EVEN = GaussDictionary | PlaneDictionary | ConstantDictionary | EllipticDictionary
# Rows of these may be short: zeros at their end are left out.
_UNEVEN = TreeDictionary | UnionDictionary


@dataclass(frozen=True)
class Storage:
    """How atoms lie in memory: dense or sparse, of which type, and how many numbers each."""

    kind: str
    dtype: str
    n_parameters: int


def storage_of(atoms: Any) -> Storage:
    """Say how atoms lie in memory."""
    kind = "dense"
    if sparse.issparse(atoms):
        kind = "csr_array" if isinstance(atoms, sparse.sparray) else "csr_matrix"
    return Storage(kind, atoms.dtype.name, int(atoms.shape[1]))


def read_storage(spot: Spot, dictionary: Dictionary, n_features: int) -> Storage:
    """Give how atoms of a dictionary lie in memory."""
    kind_spot, dtype_spot, n_parameters = spot.fields("kind", "dtype", "n_parameters")
    n = n_parameters.whole(1, _MOST_PARAMETERS)
    kind, dtype = kind_spot.word("dense", *_SPARSE), dtype_spot.word(*_DTYPES)
    if isinstance(dictionary, _EVEN) and n != (wanted := dictionary.n_parameters(n_features)):
        n_parameters.refuse(
            f"must be {wanted} for {type(dictionary).__name__} of {n_features} features, and is {n}"
        )
    if isinstance(dictionary, _UNEVEN) and (kind, dtype) != ("dense", "float64"):
        spot.refuse(f"must be dense and float64 for {type(dictionary).__name__}")
    if isinstance(dictionary, TreeDictionary) and n % _NODE:
        n_parameters.refuse(f"must be a multiple of {_NODE}, and is {n}")
    return Storage(kind, dtype, n)


def rows_document(dictionary: Dictionary, atoms: Any) -> list[dict[str, Any]]:
    """Give the parameters of every atom."""
    if not sparse.issparse(atoms):
        rows = [_short(row) if isinstance(dictionary, _UNEVEN) else row for row in atoms]
        return [{"row": _plain(row.tolist())} for row in rows]
    if not atoms.has_canonical_format:
        atoms = atoms.copy()
        atoms.sum_duplicates()
    ends = zip(atoms.indptr[:-1].tolist(), atoms.indptr[1:].tolist(), strict=True)
    return [
        {"places": atoms.indices[i:j].tolist(), "values": _plain(atoms.data[i:j].tolist())}
        for i, j in ends
    ]


def _short(row: Array) -> Array:
    """Leave out the zeros at the end; a negative one is none."""
    is_number = (row != 0.0) | np.signbit(row)
    return row[: np.flatnonzero(is_number).max(initial=-1) + 1]


def _plain(numbers: list[Any]) -> list[Any]:
    """Write whole numbers without a point: half of the numbers of trees are such."""
    return [_without_point(n) if type(n) is float else n for n in numbers]


def _without_point(number: float) -> float | int:
    is_whole = number.is_integer() and abs(number) <= LARGEST_WHOLE
    return int(number) if is_whole and (number or math.copysign(1.0, number) > 0.0) else number


def read_rows(
    spots: Iterable[Spot],
    dictionary: Dictionary,
    storage: Storage,
    other: tuple[str, ...],
    max_bytes: float,
) -> Any:
    """Give atoms as one array, and what else each of them has.

    Parameters
    ----------
    spots : iterable of Spot
    dictionary : Dictionary
    storage : Storage
    other : tuple of str
        The keys of an atom besides its parameters.
    max_bytes : float
        The memory that they may take: zeros that are not in the document take some.

    Returns
    -------
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
    rest : list of tuples of Spot
    """
    keys = ("row",) if storage.kind == "dense" else ("places", "values")
    fields = [spot.fields(*other, *keys) for spot in spots]
    own, rest = [f[len(other) :] for f in fields], [f[: len(other)] for f in fields]
    if storage.kind != "dense":
        return _read_csr([(places, values) for places, values in own], storage), rest
    n, is_uneven = storage.n_parameters, isinstance(dictionary, _UNEVEN)
    rows = [_cast(row, None if is_uneven else n, storage.dtype) for (row,) in own]
    if rows and len(rows) * n * np.dtype(storage.dtype).itemsize > max_bytes:
        own[0][0].refuse(f"is one of {len(rows)} rows that take too much memory")
    atoms = np.zeros((len(rows), n), dtype=storage.dtype)
    for atom, row, (spot,) in zip(atoms, rows, own, strict=True):
        if len(row) > n:
            spot.refuse(f"must have at most {n} entries, and has {len(row)}")
        atom[: len(row)] = row
    return atoms, rest


def _cast(spot: Spot, length: int | None, dtype: str) -> NDArray[Any]:
    """Give numbers in the type they had; what does not fit it is refused."""
    if dtype.startswith("int"):
        limits = np.iinfo(dtype)
        return np.array(spot.wholes(int(limits.min), int(limits.max), length), dtype=dtype)
    numbers = spot.reals(length)
    if dtype == "float64":
        return numbers
    with np.errstate(over="ignore"):
        rounded = numbers.astype(dtype)
    if not np.array_equal(rounded, numbers):
        spot.refuse(f"has a number that is no {dtype}")
    return rounded


def _read_csr(rows: Iterable[tuple[Spot, Spot]], storage: Storage) -> Any:
    places: list[int] = []
    pieces: list[NDArray[Any]] = []
    ends = [0]
    for spot, values in rows:
        own = spot.wholes(0, storage.n_parameters - 1)
        if any(first >= second for first, second in pairwise(own)):
            spot.refuse("must grow from one place to the next")
        places += own
        pieces.append(_cast(values, len(own), storage.dtype))
        ends.append(len(places))
    data = np.concatenate([np.zeros(0, dtype=storage.dtype), *pieces])
    shape = (len(ends) - 1, storage.n_parameters)
    index = np.int32 if len(places) < 2**31 else np.int64
    parts = (data, np.array(places, dtype=index), np.array(ends, dtype=index))
    return _SPARSE[storage.kind](parts, shape=shape)


def check_atoms(spot: Spot, dictionary: Dictionary, atoms: Any, n_features: int) -> None:
    """Refuse atoms that no dictionary proposes."""
    if atoms.shape[0]:
        fault = _fault(dictionary, atoms, n_features)
        if fault is not None:
            spot.refuse(f"has {fault[1]}, the one at [{fault[0]}]")


def _fault(dictionary: Dictionary, atoms: Any, n_features: int) -> tuple[int, str] | None:
    """Give the place of an atom that is none, and what it is instead."""
    if isinstance(dictionary, UnionDictionary):
        return _union_fault(dictionary, atoms, n_features)
    if isinstance(dictionary, TreeDictionary):
        return next(
            ((i, "no tree") for i, row in enumerate(atoms) if not _is_tree(row, n_features)), None
        )
    if isinstance(dictionary, GaussDictionary):
        widths = atoms[:, -1:]
        widths = widths.toarray() if sparse.issparse(widths) else widths
        for i in np.flatnonzero(~(widths[:, 0] > 0.0)).tolist():
            return i, "a Gauss atom without a positive width"
    return None


def _union_fault(
    dictionary: UnionDictionary, atoms: Array, n_features: int
) -> tuple[int, str] | None:
    families = list(dictionary.families)
    numbers = atoms[:, 0]
    for i in np.flatnonzero(~np.isin(numbers, np.arange(len(families)))).tolist():
        return i, "an atom of a family that is not there"
    for number in np.unique(numbers).astype(int).tolist():
        family, places = families[number], np.flatnonzero(numbers == number)
        rows = atoms[places, 1:]
        width = min(family.n_parameters(n_features), _MOST_PARAMETERS)
        is_longer = rows[:, width:].any(axis=1)
        is_short = width > rows.shape[1] and not isinstance(family, TreeDictionary)
        if is_short or is_longer.any():
            place = int(places[is_longer.argmax()])
            return place, f"an atom that is no row of {type(family).__name__}"
        fault = _fault(family, rows[:, :width], n_features)
        if fault is not None:
            return int(places[fault[0]]), fault[1]
    return None


def _is_tree(row: Array, n_features: int) -> bool:
    """Whether every node that can be reached is reached once, and is sound."""
    nodes = row[: len(row) // _NODE * _NODE].reshape(-1, _NODE)
    is_reached = np.zeros(len(nodes), dtype=bool)
    level = np.zeros(1, dtype=np.intp)
    for _ in range(_DEEPEST + 1):
        if is_reached[level].any() or len(set(level.tolist())) < len(level):
            return False
        is_reached[level] = True
        is_inner = nodes[level, 0] != -1.0
        splits, level = nodes[level[is_inner]], level[is_inner]
        if not _are_splits(splits, level, len(nodes), n_features):
            return False
        left = splits[:, 2].astype(np.intp)
        level = np.concatenate([left, left + 1])
        if not len(level):
            return len(nodes) > 0
    return False


def _are_splits(splits: Array, places: Any, n_nodes: int, n_features: int) -> bool:
    feature, value, left, kind = splits.T
    is_whole = (splits[:, [0, 2, 3]] == np.rint(splits[:, [0, 2, 3]])).all(axis=1)
    is_sound = is_whole & (feature >= 0) & (feature < n_features) & (kind >= 0) & (kind <= 3)
    is_sound &= (left > places) & (left + 1 < n_nodes)
    is_mask = (value >= 0.0) & (value < _LARGEST_MASK) & (value == np.rint(value))
    return bool((is_sound & (is_mask | (kind < 2.0))).all())
