"""Partial dependence of predictions on the columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fcgboost.report.models import Array, EvaluatedRows, FittedModel

_N_VALUES = 25
_MOST_ROWS = 300
_MOST_LEVELS = 12
# Atoms times features; with more, thousands of predictions would take minutes.
_MOST_PRODUCTS = 1_000_000


@dataclass(frozen=True, eq=False)
class Dependence:
    """Partial dependence: mean predictions if all rows had the same value in one column.

    The means, of shape (n_values, n_outputs), are probabilities, or decision values if the model
    has none; with two classes, of the second.
    """

    position: int
    values: list[str] | Array
    means: Array


def find_dependences(evaluation: EvaluatedRows, most: int) -> list[Dependence]:
    """Return the partial dependence on the columns that matter most, on a sample of rows.

    There is none for a constant, and none for a very large model.

    scikit-learn's `partial_dependence` sets one feature at a time, and a column may be several.
    """
    model = evaluation.model
    fitted = [member.model for member in model.members]
    n_products = sum(member.n_atoms * len(member.scale) for member in fitted)
    if not 0 < n_products <= _MOST_PRODUCTS:
        return []
    numbers = evaluation.numbers(evaluation.sample(_MOST_ROWS))
    dependences = [_dependence(model, numbers, position) for position in model.largest(most)]
    return [dependence for dependence in dependences if len(dependence.values)]


def _dependence(model: FittedModel, numbers: Array, position: int) -> Dependence:
    column = model.columns[position]
    is_gap = np.isnan(numbers[:, position])
    cells = numbers[~is_gap, position]
    settings = np.array([])
    values: list[str] | Array = settings
    levels = getattr(column, "levels", None)  # of a category
    if levels is not None:
        counts = np.bincount(cells.astype(np.intp), minlength=len(levels))
        frequent = np.argsort(-counts[: len(levels)], kind="stable")
        settings = np.sort(frequent[:_MOST_LEVELS])
        values = [levels[code] for code in settings]
        if is_gap.any():
            settings = np.append(settings, np.nan)
            values.append("missing")
    elif len(cells):
        low, high = np.quantile(cells, [0.05, 0.95])
        values = settings = np.unique(np.linspace(low, high, _N_VALUES))
    means = np.zeros((len(settings), len(model.coef)))
    for i, setting in enumerate(settings):
        changed = numbers.copy()
        changed[:, position] = setting
        means[i] = model.response(changed).mean(axis=0)
    return Dependence(position, values, means)
