"""The bare model and its path in a document: one line per atom and per step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.dictionaries import Dictionary, GaussDictionary, InnerProductDictionary
from fcgboost.documents.parts import Known, plain, read_part
from fcgboost.documents.spots import Spot
from fcgboost.inputs import Limits
from fcgboost.model import Model

_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
_DTYPES = ("float64", "float32", "int64", "int32")
# Larger shapes than SciPy's indices are for no dictionary.
_MOST_PARAMETERS = 2**31 - 2
_MOST_STEPS = 2**31 - 1


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


def rows_document(atoms: Any) -> list[dict[str, Any]]:
    """Give the parameters of every atom."""
    if not sparse.issparse(atoms):
        return [{"row": row} for row in atoms.tolist()]
    if not atoms.has_canonical_format:
        atoms = atoms.copy()
        atoms.sum_duplicates()
    ends = zip(atoms.indptr[:-1].tolist(), atoms.indptr[1:].tolist(), strict=True)
    return [
        {"places": atoms.indices[i:j].tolist(), "values": atoms.data[i:j].tolist()} for i, j in ends
    ]


def read_rows(spots: Iterable[Spot], storage: Storage, other: tuple[str, ...]) -> Any:
    """Give atoms as one array, and what else each of them has.

    Parameters
    ----------
    spots : iterable of Spot
    storage : Storage
    other : tuple of str
        The keys of an atom besides its parameters.

    Returns
    -------
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
    rest : list of tuples of Spot
    """
    keys = ("row",) if storage.kind == "dense" else ("places", "values")
    fields = [spot.fields(*other, *keys) for spot in spots]
    own, rest = [f[len(other) :] for f in fields], [f[: len(other)] for f in fields]
    if storage.kind == "dense":
        rows = [_cast(row, storage.n_parameters, storage.dtype) for (row,) in own]
        shape = (len(rows), storage.n_parameters)
        return np.array(rows, dtype=storage.dtype).reshape(shape), rest
    return _read_csr([(places, values) for places, values in own], storage), rest


def _cast(spot: Spot, length: int, dtype: str) -> NDArray[Any]:
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


def model_document(model: Model, loss: Any) -> dict[str, Any]:
    """Give a bare model, and the loss that its decision values belong to."""
    storage = storage_of(model.atoms)
    coef = model.coef.T.tolist()
    atoms = zip(model.entered.tolist(), coef, rows_document(model.atoms), strict=True)
    return {
        "dictionary": plain(model.dictionary, "dictionary"),
        "loss": plain(loss, "loss"),
        "scale": model.scale.tolist(),
        "limits": _limits_document(model.limits),
        "intercept": model.intercept.tolist(),
        "storage": vars(storage),
        "atoms": [{"step": step, "coef": own, **row} for step, own, row in atoms],
    }


def _limits_document(limits: Limits | None) -> dict[str, Any] | None:
    if limits is None:
        return None
    return {"low": limits.low.tolist(), "high": limits.high.tolist()}


def _read_limits(spot: Spot, n_features: int) -> Limits | None:
    if spot.is_null:
        return None
    low, high = (side.reals(n_features) for side in spot.fields("low", "high"))
    for i in np.flatnonzero(low > high)[:1]:
        spot.refuse(f"has a lower limit above the upper one, at [{i}]")
    return Limits(low, high)


def read_model(
    spot: Spot, known: Known, n_features: int, n_outputs: int
) -> tuple[Model, Any, Storage]:
    """Give a bare model, the loss, and how its atoms lie in memory."""
    names = ("dictionary", "loss", "scale", "limits", "intercept", "storage", "atoms")
    part, loss, scale, limits_spot, intercept, storage_spot, atoms_spot = spot.fields(*names)
    dictionary: Dictionary = read_part(part, "dictionary", known)
    units = scale.reals(n_features)
    if not (units > 0.0).all():
        scale.refuse("must have positive numbers")
    storage = _read_storage(storage_spot, dictionary, n_features)
    atoms, rest = read_rows(atoms_spot.items(), storage, ("step", "coef"))
    check_atoms(atoms_spot, dictionary, atoms)
    entered = read_entered([step for step, _ in rest])
    coef = np.array([own.reals(n_outputs) for _, own in rest]).reshape(len(rest), n_outputs)
    coef = np.ascontiguousarray(coef.T)
    limits, constants = _read_limits(limits_spot, n_features), intercept.reals(n_outputs)
    model = Model(dictionary, atoms, coef, constants, units, entered, limits)
    for array in (model.coef, model.intercept):
        array.setflags(write=False)
    return model, read_part(loss, "loss", known), storage


def _read_storage(spot: Spot, dictionary: Dictionary, n_features: int) -> Storage:
    kind, dtype, n_parameters = spot.fields("kind", "dtype", "n_parameters")
    n = n_parameters.whole(1, _MOST_PARAMETERS)
    is_wide = isinstance(dictionary, GaussDictionary | InnerProductDictionary)
    if is_wide and n != n_features + 1:
        n_parameters.refuse(f"must be {n_features + 1}, one more than n_features, and is {n}")
    return Storage(kind.word("dense", *_SPARSE), dtype.word(*_DTYPES), n)


def check_atoms(spot: Spot, dictionary: Dictionary, atoms: Any) -> None:
    """Refuse atoms that no dictionary proposes."""
    if isinstance(dictionary, GaussDictionary) and atoms.shape[0]:
        widths = atoms[:, -1:]
        widths = widths.toarray() if sparse.issparse(widths) else widths
        for i in np.flatnonzero(~(widths[:, 0] > 0.0))[:1]:
            spot.refuse(f"has a Gauss atom without a positive width, the one at [{i}]")


def read_entered(steps: Iterable[Spot], after: int = 1) -> NDArray[np.intp]:
    """Give the steps at which atoms entered, which never fall."""
    entered = []
    for spot in steps:
        after = spot.whole(after, _MOST_STEPS)
        entered.append(after)
    return np.array(entered, dtype=np.intp)
