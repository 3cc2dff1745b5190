"""Whether a model in a document has answers: finite ones at rows like those of its training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fcgboost.arrays import host
from fcgboost.dictionaries import Array, GaussDictionary, TreeDictionary
from fcgboost.documents.checking import refuse
from fcgboost.greedy.path import Trace
from fcgboost.model import Model, by_family

# Decision values are far smaller; there is room for those of rows a little farther away.
_LARGEST = 1e300


def check_answers(model: Model, trace: Trace, fills: Any, background: Array | None) -> None:
    """Refuse a model whose decision values are not finite, or so large that others may not be.

    So are those after any step of its path. The rows are training rows, or where a document has
    none, rows a deviation away from `fills`, which stand for missing values; and these themselves.
    Trees may have larger leaves elsewhere.
    """
    center = np.zeros(len(model.scale)) if fills is None else np.array(fills)
    if fills is None and isinstance(model.dictionary, GaussDictionary) and model.n_atoms:
        center = np.asarray(model.atoms.mean(axis=0)).ravel()[:-1]
    away = np.where(np.arange(len(center)) % 2, -1.0, 1.0) * model.scale
    near = [center - away, center + away] if background is None else background
    try:
        with np.errstate(all="ignore"):
            whole = _whole(model, trace)
            # Elsewhere atoms that are small here may be one.
            values = np.abs(whole.columns(np.vstack([*near, center])))
            heights = np.maximum(1.0, values.max(axis=0))
            for family, places, rows, _ in by_family(model.dictionary, whole.atoms, len(center)):
                if isinstance(family, TreeDictionary):
                    heights[places] = [np.abs(family.leaf_values(row[None])).max() for row in rows]
                elif isinstance(family, GaussDictionary):
                    # Where a width has no square, bells have no values.
                    heights[places] += host(rows[:, -1:])[:, 0] ** -2.0 / _LARGEST
            sizes = whole.intercept + whole.coef @ heights
    except Exception as error:  # a user's own dictionary may raise anything
        refuse("$.model", f"cannot be evaluated ({type(error).__name__}: {str(error)[:200]})")
    corrected = {id(own): np.abs(own).max() for step in trace for own in step.leaves}
    if not (np.append(sizes, [*corrected.values()]) < _LARGEST).all():
        refuse("$.model", "has numbers that make decision values infinite or NaN")


def _whole(model: Model, trace: Trace) -> Model:
    """Return a model of all atoms, with the largest size of each coefficient in any step."""
    atoms, coef, intercept = model.atoms, np.abs(model.coef), np.abs(model.intercept)
    if len(trace) and not model.dictionary.corrects_leaves:
        atoms, coef = trace.atoms, np.zeros((len(intercept), len(trace.entered)))
    for step in trace:
        intercept = np.maximum(intercept, np.abs(step.intercept))
        if not step.leaves:
            known = coef[:, : step.n_entered]
            np.maximum(known, np.abs(step.coef), out=known)
    return replace(model, atoms=atoms, coef=coef, intercept=intercept)
