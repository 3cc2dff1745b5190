"""Atoms in a document: a row of numbers each, checked by family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray
from scipy import sparse

from fcgboost._kernels import check_trees
from fcgboost.arrays import host
from fcgboost.dictionaries import (
    Array,
    Dictionary,
    GaussDictionary,
    PlaneDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.dictionaries.growth import FIELDS, nodes_of
from fcgboost.documents.checking import exact, refuse, sized
from fcgboost.documents.older import EllipticDictionary
from fcgboost.documents.schema import AtomRecord, Document, StorageRecord

_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
# The limit of SciPy's indices.
_MOST_PARAMETERS = 2**31 - 2
# Not all JSON readers represent larger integers exactly.
_LARGEST_WHOLE = 2**53
# No dictionary grows deeper trees.
_DEEPEST = 30
# All rows of these have the same length.
_EVEN = GaussDictionary | PlaneDictionary | EllipticDictionary
# Rows of these omit trailing zeros.
_UNEVEN = TreeDictionary | UnionDictionary

#: The place of an invalid atom, and what is wrong with it.
_Fault = tuple[int, str]


def storage_document(atoms: Any) -> dict[str, Any]:
    """Return how atoms are stored: dense or sparse, their dtype and number of parameters."""
    kind = type(atoms).__name__ if sparse.issparse(atoms) else "dense"
    return {"kind": kind, "dtype": atoms.dtype.name, "n_parameters": int(atoms.shape[1])}


def rows_document(dictionary: Dictionary, atoms: Any) -> list[dict[str, Any]]:
    """Return the parameters of each atom."""
    if not sparse.issparse(atoms):
        rows = [_short(row) if isinstance(dictionary, _UNEVEN) else row for row in atoms]
        return [{"row": list(map(_plain, row.tolist()))} for row in rows]
    if not atoms.has_canonical_format:
        atoms = atoms.copy()
        atoms.sum_duplicates()
    ends = pairwise(atoms.indptr.tolist())
    pairs = [(atoms.indices[i:j].tolist(), atoms.data[i:j].tolist()) for i, j in ends]
    return [{"places": places, "values": list(map(_plain, values))} for places, values in pairs]


def _short(row: Array) -> Array:
    """Omit trailing zeros, but not negative ones."""
    is_number = (row != 0.0) | np.signbit(row)
    return row[: np.flatnonzero(is_number).max(initial=-1) + 1]


def _plain(number: float | int) -> float | int:
    """Return integers as int, which are half of the numbers of trees."""
    is_whole = type(number) is float and number.is_integer() and abs(number) <= _LARGEST_WHOLE
    return int(number) if is_whole and (number or math.copysign(1.0, number) > 0.0) else number


def read_entered(
    records: Sequence[AtomRecord], place: str, first: int = 0, least: int = 1
) -> list[int]:
    """Return the steps at which atoms entered, which must not decrease, from `first` on."""
    entered = []
    for i, record in enumerate(records[first:], first):
        if record.step < least:
            refuse(f"{place}[{i}].step", f"must be at least {least}, got {record.step}")
        entered.append(least := record.step)
    return entered


def read_atoms(
    records: Sequence[AtomRecord],
    document: Document,
    dictionary: Dictionary,
    place: str,
    max_bytes: float,
) -> Any:
    """Return the atoms of the model or of the path as one array of at most `max_bytes`.

    Omitted zeros take memory too.
    """
    storage, n_features = document.model.storage, document.n_features
    _check_storage(storage, dictionary, n_features)
    if storage.kind != "dense":
        atoms = _read_csr(records, storage, place)
    elif len(records) * storage.n_parameters * np.dtype(storage.dtype).itemsize > max_bytes:
        refuse(place, f"has {len(records)} rows, which take too much memory")
    else:
        atoms = _read_dense(records, storage, place, isinstance(dictionary, _UNEVEN))
    if records and (fault := _fault(dictionary, atoms, n_features)) is not None:
        refuse(f"{place}[{fault[0]}]", fault[1])
    return atoms


def _check_storage(storage: StorageRecord, dictionary: Dictionary, n_features: int) -> None:
    """Refuse a storage that does not fit the dictionary."""
    place, n, name = "$.model.storage", storage.n_parameters, type(dictionary).__name__
    if isinstance(dictionary, _EVEN) and n != (wanted := dictionary.n_parameters(n_features)):
        refuse(f"{place}.n_parameters", f"must be {wanted} for {name}, got {n}")
    is_plain = (storage.kind, storage.dtype) == ("dense", "float64")
    if isinstance(dictionary, _UNEVEN) and not is_plain:
        refuse(place, f"must be dense and float64 for {name}")
    if isinstance(dictionary, TreeDictionary) and n % FIELDS:
        refuse(f"{place}.n_parameters", f"must be a multiple of {FIELDS}, got {n}")


def _read_dense(
    records: Sequence[AtomRecord], storage: StorageRecord, place: str, is_uneven: bool
) -> NDArray[Any]:
    n = storage.n_parameters
    atoms = np.zeros((len(records), n), dtype=storage.dtype)
    for i, record in enumerate(records):
        if record.row is UNSET or record.places is not UNSET or record.values is not UNSET:
            refuse(f"{place}[{i}]", "must have a row and neither places nor values")
        row, own = record.row, f"{place}[{i}].row"
        if len(row) > n or (len(row) < n and not is_uneven):
            most = "at most " if is_uneven else ""
            refuse(own, f"must have {most}{n} entries, got {len(row)}")
        atoms[i, : len(row)] = exact(row, storage.dtype, own)
    return atoms


def _read_csr(records: Sequence[AtomRecord], storage: StorageRecord, place: str) -> Any:
    places: list[int] = []
    values: list[Any] = []
    ends = [0]
    for i, record in enumerate(records):
        if record.row is not UNSET or record.places is UNSET or record.values is UNSET:
            refuse(f"{place}[{i}]", "must have places and values but no row")
        if any(a >= b for a, b in pairwise([*record.places, storage.n_parameters])):
            refuse(f"{place}[{i}].places", f"must increase, up to {storage.n_parameters - 1}")
        places += record.places
        values += sized(record.values, len(record.places), f"{place}[{i}].values")
        ends.append(len(places))
    index = np.int32 if len(places) < 2**31 else np.int64
    data = exact(values, storage.dtype, place)
    parts = (data, np.array(places, dtype=index), np.array(ends, dtype=index))
    return _SPARSE[storage.kind](parts, shape=(len(records), storage.n_parameters))


def _fault(dictionary: Dictionary, atoms: Any, n_features: int) -> _Fault | None:
    """Return the place of an atom that does not fit the dictionary, and what is wrong."""
    if isinstance(dictionary, UnionDictionary):
        return _union_fault(dictionary, atoms, n_features)
    if isinstance(dictionary, TreeDictionary):
        problem = "is not a tree"
        is_wrong = np.array([not _is_tree(row, n_features) for row in atoms])
    elif isinstance(dictionary, GaussDictionary):
        problem = "is a Gaussian atom without a positive width"
        is_wrong = ~(host(atoms[:, -1:])[:, 0] > 0.0)
    else:
        return None
    return (int(is_wrong.argmax()), problem) if is_wrong.any() else None


def _union_fault(dictionary: UnionDictionary, atoms: Array, n_features: int) -> _Fault | None:
    families = list(dictionary.families)
    numbers = atoms[:, 0]
    is_family = np.isin(numbers, np.arange(len(families)))
    if not is_family.all():
        return int(is_family.argmin()), "belongs to a family that does not exist"
    for number in np.unique(numbers).astype(int).tolist():
        family, places = families[number], np.flatnonzero(numbers == number)
        rows, seen = atoms[places, 1:], dictionary.seen(number, n_features)
        if seen.stop > n_features:
            return int(places[0]), "belongs to a family with inputs that do not exist"
        n_seen = seen.stop - seen.start
        width = min(family.n_parameters(n_seen), _MOST_PARAMETERS)
        is_longer = rows[:, width:].any(axis=1)
        is_short = width > rows.shape[1] and not isinstance(family, TreeDictionary)
        if is_short or is_longer.any():
            place = int(places[is_longer.argmax()])
            return place, f"is not a row of {type(family).__name__}"
        fault = _fault(family, rows[:, :width], n_seen)
        if fault is not None:
            return int(places[fault[0]]), fault[1]
    return None


def _is_tree(row: Array, n_features: int) -> bool:
    """Return whether each reachable node is valid and reached once."""
    try:
        return bool(check_trees(nodes_of(row[None]), n_features)[0] <= _DEEPEST)
    except (IndexError, ValueError):
        return False
