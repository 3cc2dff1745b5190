"""The bare model in a document: one line per atom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Dictionary
from fcgboost.documents.atoms import (
    Storage,
    check_atoms,
    read_rows,
    read_storage,
    rows_document,
    storage_of,
)
from fcgboost.documents.parts import Known, plain, read_part
from fcgboost.documents.spots import Spot
from fcgboost.inputs import Limits
from fcgboost.model import Model

_MOST_STEPS = 2**31 - 1


def model_document(model: Model, loss: Any) -> dict[str, Any]:
    """Give a bare model, and the loss that its decision values belong to."""
    storage = storage_of(model.atoms)
    coef = model.coef.T.tolist()
    atoms = zip(
        model.entered.tolist(), coef, rows_document(model.dictionary, model.atoms), strict=True
    )
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
    spot: Spot, known: Known, n_features: int, n_outputs: int, max_bytes: float = math.inf
) -> tuple[Model, Any, Storage]:
    """Give a bare model, the loss, and how its atoms lie in memory.

    One whose atoms take more than `max_bytes` in memory is refused.
    """
    names = ("dictionary", "loss", "scale", "limits", "intercept", "storage", "atoms")
    part, loss, scale, limits_spot, intercept, storage_spot, atoms_spot = spot.fields(*names)
    dictionary: Dictionary = read_part(part, "dictionary", known)
    units = scale.reals(n_features)
    if not (units > 0.0).all():
        scale.refuse("must have positive numbers")
    storage = read_storage(storage_spot, dictionary, n_features)
    keys = ("step", "coef")
    atoms, rest = read_rows(atoms_spot.items(), dictionary, storage, keys, max_bytes)
    check_atoms(atoms_spot, dictionary, atoms, n_features)
    entered = read_entered([step for step, _ in rest])
    coef = np.array([own.reals(n_outputs) for _, own in rest]).reshape(len(rest), n_outputs)
    coef = np.ascontiguousarray(coef.T)
    limits, constants = _read_limits(limits_spot, n_features), intercept.reals(n_outputs)
    model = Model(dictionary, atoms, coef, constants, units, entered, limits)
    for array in (model.coef, model.intercept):
        array.setflags(write=False)
    return model, read_part(loss, "loss", known), storage


def read_entered(steps: Iterable[Spot], after: int = 1) -> NDArray[np.intp]:
    """Give the steps at which atoms entered, which never fall."""
    entered = []
    for spot in steps:
        after = spot.whole(after, _MOST_STEPS)
        entered.append(after)
    return np.array(entered, dtype=np.intp)
