"""Whether a model in a document has answers: finite ones at rows like those of its training."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.arrays import host
from fcgboost.dictionaries import Array, GaussDictionary, TreeDictionary
from fcgboost.documents.checking import refuse
from fcgboost.model import Model, by_family

# Decision values are far smaller; there is room for those of rows a little farther away.
_LARGEST = 1e300


def check_answers(model: Model, fills: Any, background: Array | None) -> None:
    """Refuse a model whose decision values are not finite, or so large that others may not be.

    The rows are training rows, or where a document has none, rows a deviation away from `fills`,
    which stand for missing values; and these themselves. Trees may have larger leaves elsewhere.
    """
    center = np.zeros(len(model.scale)) if fills is None else np.array(fills)
    if fills is None and isinstance(model.dictionary, GaussDictionary) and model.n_atoms:
        center = np.asarray(model.atoms.mean(axis=0)).ravel()[:-1]
    away = np.where(np.arange(len(center)) % 2, -1.0, 1.0) * model.scale
    heights = np.ones(model.n_atoms)
    try:
        for family, places, rows, _ in by_family(model.dictionary, model.atoms, len(center)):
            if isinstance(family, TreeDictionary):
                heights[places] = [np.abs(family.leaf_values(row[None])).max() for row in rows]
            elif isinstance(family, GaussDictionary):
                # Where a width has no square, bells have no values.
                with np.errstate(all="ignore"):
                    heights[places] = np.maximum(1.0, host(rows[:, -1:])[:, 0] ** -2.0 / _LARGEST)
        with np.errstate(all="ignore"):
            near = [center - away, center + away] if background is None else background
            size = np.abs(model.intercept) + np.abs(model.coef) @ heights
            found = np.vstack([size, model.decision(np.vstack([*near, center]))])
    except Exception as error:  # a user's own dictionary may raise anything
        refuse("$.model", f"cannot be evaluated ({type(error).__name__}: {str(error)[:200]})")
    if not (np.abs(found) < _LARGEST).all():
        refuse("$.model", "has numbers that make decision values infinite or NaN")
