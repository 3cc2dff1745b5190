"""Atoms in a document: a row of numbers each, checked by family."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import UNSET
from scipy import sparse

from fcgboost._kernels.walks import check_trees
from fcgboost.arrays import Array, Rows, to_numpy
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PlaneDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.dictionaries.nodes import FIELDS, nodes_of
from fcgboost.documents.checking import JsonObject, Memory, increases, refuse, sized
from fcgboost.documents.schema import AtomRecord, ModelRecord, StorageRecord

# Not all JSON readers represent larger integers exactly.
_LARGEST_WHOLE = 2**53
# No dictionary grows deeper trees.
_DEEPEST = 30
# All rows of these have the same length.
_EVEN = GaussDictionary | PlaneDictionary
# Rows of these omit trailing zeros.
_UNEVEN = TreeDictionary | UnionDictionary

#: The place of an invalid atom, and what is wrong with it.
_Fault = tuple[int, str]


def storage_document(atoms: Rows) -> JsonObject:
    """Return how atoms are stored: dense or sparse, and their number of parameters."""
    kind = type(atoms).__name__ if sparse.issparse(atoms) else "dense"
    return {"kind": kind, "n_parameters": int(atoms.shape[1])}


def rows_document(dictionary: Dictionary, atoms: Rows) -> list[JsonObject]:
    """Return the parameters of each atom."""
    if not sparse.issparse(atoms):
        rows = [_short(row) if isinstance(dictionary, _UNEVEN) else row for row in atoms]
        return [{"row": list(map(_plain, row.tolist()))} for row in rows]
    ends = pairwise(atoms.indptr.tolist())
    pairs = [(atoms.indices[i:j].tolist(), atoms.data[i:j].tolist()) for i, j in ends]
    return [{"columns": columns, "row": list(map(_plain, row))} for columns, row in pairs]


def _short(row: Array) -> Array:
    """Omit trailing zeros, but not negative ones."""
    is_number = (row != 0.0) | np.signbit(row)
    return row[: np.flatnonzero(is_number).max(initial=-1) + 1]


def _plain(number: float) -> float | int:
    """Return integers as int, which are half of the numbers of trees; -0.0 is none."""
    is_whole = float(number).is_integer() and abs(number) <= _LARGEST_WHOLE
    return int(number) if is_whole and str(number) != "-0.0" else number


def read_atoms(model: ModelRecord, dictionary: Dictionary, memory: Memory, place: str) -> Rows:
    """Return the atoms of a model as one array; omitted zeros take memory too."""
    storage = model.storage
    records = model.atoms
    n_inputs = len(model.scale)
    _check_storage(
        storage,
        dictionary,
        n_inputs,
        f"{place}.storage",
    )
    place += ".atoms"
    if storage.kind != "dense":
        atoms = _read_csr(records, storage, place)
    else:
        n_parameters = storage.n_parameters
        memory.take(8 * len(records) * n_parameters, place)
        atoms = _read_dense(
            records,
            n_parameters,
            isinstance(dictionary, _UNEVEN),
            place,
        )
    if records and (fault := _fault(dictionary, atoms, n_inputs)) is not None:
        refuse(f"{place}[{fault[0]}]", fault[1])
    return atoms


def _check_storage(
    storage: StorageRecord, dictionary: Dictionary, n_features: int, place: str
) -> None:
    """Refuse a storage that does not fit the dictionary."""
    n = storage.n_parameters
    name = type(dictionary).__name__
    if isinstance(dictionary, _EVEN) and n != (wanted := dictionary.n_parameters(n_features)):
        refuse(f"{place}.n_parameters", f"must be {wanted} for {name}, got {n}")
    if isinstance(dictionary, _UNEVEN) and storage.kind != "dense":
        refuse(place, f"must be dense for {name}")
    if isinstance(dictionary, TreeDictionary) and n % FIELDS:
        refuse(f"{place}.n_parameters", f"must be a multiple of {FIELDS}, got {n}")


def _read_dense(records: list[AtomRecord], n: int, is_uneven: bool, place: str) -> Array:
    atoms = np.zeros((len(records), n))
    for i, record in enumerate(records):
        if record.columns is not UNSET:
            refuse(f"{place}[{i}]", "must not have columns")
        length = len(record.row)
        if length > n or (length < n and not is_uneven):
            most = "at most " if is_uneven else ""
            refuse(f"{place}[{i}].row", f"must have {most}{n} entries, got {length}")
        atoms[i, :length] = record.row
    return atoms


def _read_csr(records: list[AtomRecord], storage: StorageRecord, place: str) -> Rows:
    n = storage.n_parameters
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for i, record in enumerate(records):
        if record.columns is UNSET:
            refuse(f"{place}[{i}]", "must have columns")
        if not increases([*record.columns, n]):
            refuse(f"{place}[{i}].columns", f"must increase, up to {n - 1}")
        columns += record.columns
        values += sized(record.row, len(record.columns), f"{place}[{i}].row")
        ends.append(len(columns))
    # SciPy's usual indices; more entries would be a file of gigabytes.
    indices = np.array(columns, dtype=np.int32)
    entries = (np.array(values), indices, np.array(ends, dtype=np.int32))
    return getattr(sparse, storage.kind)(entries, shape=(len(records), n))


def _fault(dictionary: Dictionary, atoms: Rows, n_features: int) -> _Fault | None:
    """Return the place of an atom that does not fit the dictionary, and what is wrong."""
    if isinstance(dictionary, UnionDictionary):
        return _union_fault(dictionary, atoms, n_features)
    if isinstance(dictionary, TreeDictionary):
        problem = "is not a tree"
        is_wrong = np.array([not _is_tree(row, n_features) for row in atoms])
    elif isinstance(dictionary, GaussDictionary):
        problem = "is a Gaussian atom without a positive width"
        is_wrong = ~(to_numpy(atoms[:, -1:])[:, 0] > 0.0)
    else:
        return None
    return (int(is_wrong.argmax()), problem) if is_wrong.any() else None


def _union_fault(dictionary: UnionDictionary, atoms: Array, n_features: int) -> _Fault | None:
    is_family = np.isin(atoms[:, 0], np.arange(len(dictionary.families)))
    if not is_family.all():
        return int(is_family.argmin()), "belongs to a family that does not exist"
    for family, places, rows, seen in dictionary.members(atoms, n_features):
        if seen.stop > n_features:
            return int(places[0]), "belongs to a family with inputs that do not exist"
        n_seen = seen.stop - seen.start
        n_read = rows.shape[1]
        is_longer = atoms[places, 1 + n_read :].any(axis=1)
        is_short = n_read < family.n_parameters(n_seen) and not isinstance(family, TreeDictionary)
        if is_short or is_longer.any():
            return int(places[is_longer.argmax()]), f"is not a row of {type(family).__name__}"
        fault = _fault(family, rows, n_seen)
        if fault is not None:
            return int(places[fault[0]]), fault[1]
    return None


def _is_tree(row: Array, n_features: int) -> bool:
    """Return whether each reachable node is valid and reached once."""
    try:
        return bool(check_trees(nodes_of(row[None]), n_features).depths[0] <= _DEEPEST)
    except (IndexError, ValueError):
        return False
