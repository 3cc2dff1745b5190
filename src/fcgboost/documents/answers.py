"""Whether a model in a document has answers: finite ones at rows like those of its training."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.dictionaries import Array, GaussDictionary, TreeDictionary
from fcgboost.dictionaries.growth import nodes_of
from fcgboost.documents.checking import refuse
from fcgboost.model import Model, by_family

# Decision values are far smaller; there is room for those of rows a little farther away.
_LARGEST = 1e300


def check_answers(model: Model, fills: Any, background: Array | None) -> None:
    """Refuse a model whose decision values are not finite, or so large that others may not be.

    The rows are training rows, or where a document has none, rows a deviation away from `fills`,
    which stand for missing values; and these themselves.
    """
    try:
        with np.errstate(all="ignore"):
            rows = _rows(model, fills, background)
            size = np.abs(model.intercept) + np.abs(model.coef) @ _heights(model)
            found = np.vstack([size, model.decision(rows)])
    except Exception as error:  # a user's own dictionary may raise anything
        refuse("$.model", f"cannot be evaluated ({type(error).__name__}: {str(error)[:200]})")
    if not (np.abs(found) < _LARGEST).all():
        refuse("$.model", "has numbers that make decision values infinite, or no numbers at all")


def _rows(model: Model, fills: Any, background: Array | None) -> Array:
    center = np.zeros(len(model.scale)) if fills is None else np.array(fills)
    if fills is None and isinstance(model.dictionary, GaussDictionary) and model.n_atoms:
        center = np.asarray(model.atoms.mean(axis=0)).ravel()[:-1]
    if background is None:
        away = np.where(np.arange(len(center)) % 2, -1.0, 1.0) * model.scale
        background = np.array([center - away, center + away])
    return np.vstack([background, center])


def _heights(model: Model) -> Array:
    """Return the largest values that trees have, and 1 for other atoms."""
    heights = np.ones(model.n_atoms)
    for family, places, rows, _ in by_family(model.dictionary, model.atoms, len(model.scale)):
        if isinstance(family, TreeDictionary):
            feature, value = np.moveaxis(nodes_of(rows), 2, 0)[:2]
            heights[places] = np.abs(np.where(feature == -1.0, value, 0.0)).max(axis=1)
    return heights
