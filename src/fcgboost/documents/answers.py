"""Whether a model in a document has answers: finite ones at rows like those of its training."""

from __future__ import annotations

import numpy as np

from fcgboost.arrays import Array, to_numpy
from fcgboost.dictionaries import GaussDictionary, TreeDictionary
from fcgboost.documents.checking import refuse
from fcgboost.greedy.path import Trace
from fcgboost.model import Model

# Decision values are far smaller; there is room for those of rows a little farther away.
_LARGEST = 1e300


def check_answers(
    whole: Model,
    trace: Trace,
    missing: Array | None,
    background: Array | None,
    place: str = "$",
) -> None:
    """Refuse a model whose decision values are not finite, or so large that others may not be.

    So are those after any step of its path, all of whose atoms the model has. The rows are training
    rows, or where a document has none, rows a deviation away from those of a row without values;
    and this row itself, which becomes `missing`. Trees may have larger leaves elsewhere.
    """
    center = np.zeros(len(whole.scale)) if missing is None else np.nan_to_num(missing)
    if missing is None and isinstance(whole.dictionary, GaussDictionary) and whole.n_atoms:
        center = np.asarray(whole.atoms.mean(axis=0)).ravel()[:-1]
    away = np.where(np.arange(len(center)) % 2, -1.0, 1.0) * whole.scale
    near = [center - away, center + away] if background is None else background
    last = center if missing is None else missing
    place += ".model"
    try:
        with np.errstate(all="ignore"):
            # An atom that is small here may reach one elsewhere.
            values = np.abs(whole.columns(np.vstack([*near, last])))
            heights = np.maximum(1.0, values.max(axis=0))
            for family, places, rows, _ in whole.by_family():
                if isinstance(family, TreeDictionary):
                    heights[places] = [np.abs(family.leaf_values(row[None])).max() for row in rows]
                elif isinstance(family, GaussDictionary):
                    # Where a width has no square, Gauss atoms have no values.
                    heights[places] += to_numpy(rows[:, -1:])[:, 0] ** -2.0 / _LARGEST
            coef, intercept = _largest(whole, trace)
            sizes = intercept + coef @ heights
    except Exception as error:  # a user's own dictionary may raise anything
        refuse(place, f"cannot be evaluated ({type(error).__name__}: {str(error)[:200]})")
    corrected = {id(leaves): np.abs(leaves).max() for step in trace for leaves in step.leaves}
    if not (np.append(sizes, [*corrected.values()]) < _LARGEST).all():
        refuse(place, "has numbers that make decision values infinite or NaN")


def _largest(whole: Model, trace: Trace) -> tuple[Array, Array]:
    """Return the largest size of each coefficient and intercept in any step."""
    coef = np.abs(whole.coef)
    intercept = np.abs(whole.intercept)
    for step in trace:
        intercept = np.maximum(intercept, np.abs(step.intercept))
        largest = coef[:, : step.n_entered]
        np.maximum(largest, np.abs(step.coef), out=largest)
    return coef, intercept
