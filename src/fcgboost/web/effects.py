"""Permutation importance and partial dependence of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance

from fcgboost.tables import CategoryColumn
from fcgboost.training.scoring import winners
from fcgboost.web.models import Array, Evaluation, FittedModel

_N_REPEATS = 5
_MOST_COLUMNS, _MOST_ROWS, _FEWEST_ROWS = 60, 2000, 100
# Products of a row and an atom that all permutations may take, a few seconds' worth.
_MOST_PRODUCTS = 2_000_000_000
_N_VALUES, _MOST_MEANS, _MOST_LEVELS = 25, 300, 12


@dataclass(frozen=True, eq=False)
class Importances:
    """Permutation importances: the drop in accuracy when a column of `n_rows` rows is permuted."""

    places: list[int]
    mean: Array
    std: Array
    n_rows: int


@dataclass(frozen=True, eq=False)
class Dependence:
    """Partial dependence: mean predictions if all rows had the same value in one column.

    The means, of shape (n_values, n_outputs), are probabilities, or decision values if the model
    has none; with two classes, of the second.
    """

    place: int
    values: Any
    means: Array


def find_importances(model: FittedModel, evaluation: Evaluation) -> Importances | None:
    """Permute every column in a sample of rows; None for a constant, or if it would take long."""
    if model.classifier.n_atoms_ == 0:
        return None
    places = model.largest(_MOST_COLUMNS)
    n_tries = 1 + _N_REPEATS * len(places)
    cost = n_tries * max(1, model.classifier.n_atoms_) * len(model.feature_names)
    most = min(_MOST_ROWS, _MOST_PRODUCTS // cost)
    if most < min(_FEWEST_ROWS, len(evaluation)):
        return None
    rows = evaluation.some(most)
    numbers = evaluation.some_numbers(rows)

    def accuracy(classifier: Any, sources: Any, y: Any) -> float:
        changed = numbers.copy()
        changed[:, places] = numbers[sources, places]
        decision = model.decision(changed)
        values = decision[:, 0] if decision.shape[1] == 1 else decision
        return float(np.mean(winners(values, classifier.classes_) == y))

    # A column is permuted as a whole, however it is encoded: so row numbers are permuted.
    sources = np.tile(np.arange(len(rows))[:, None], len(places))
    options = {"scoring": accuracy, "n_repeats": _N_REPEATS, "random_state": 0}
    found = permutation_importance(model.classifier, sources, evaluation.y[rows], **options)
    return Importances(places, found.importances_mean, found.importances_std, len(rows))


def find_dependences(
    model: FittedModel, evaluation: Evaluation, importances: Importances, most: int
) -> list[Dependence]:
    """Return the partial dependence on the most important columns, on a sample of rows.

    scikit-learn's `partial_dependence` sets one feature at a time, and a column may be several.
    """
    rows = evaluation.some(min(_MOST_MEANS, importances.n_rows))
    numbers = evaluation.some_numbers(rows)
    order = np.argsort(-importances.mean, kind="stable")[:most]
    return [_dependence(model, numbers, importances.places[i]) for i in order]


def _dependence(model: FittedModel, numbers: Array, place: int) -> Dependence:
    column = model.columns[place]
    there = numbers[~np.isnan(numbers[:, place]), place]
    values: Any = []
    settings: Any = []
    if isinstance(column, CategoryColumn):
        counts = np.bincount(there.astype(np.intp), minlength=len(column.levels))
        often = np.argsort(-counts[: len(column.levels)], kind="stable")
        settings = sorted(often[:_MOST_LEVELS].tolist())
        values = [column.levels[code] for code in settings]
        if len(there) < len(numbers):
            settings, values = [*settings, np.nan], [*values, "missing"]
    elif len(there):
        low, high = np.quantile(there, [0.05, 0.95])
        values = settings = np.linspace(low, high, _N_VALUES) if low < high else np.array([low])
    means = np.zeros((len(settings), len(model.classifier.intercept_)))
    for i, setting in enumerate(settings):
        changed = numbers.copy()
        changed[:, place] = setting
        means[i] = model.response(changed).mean(axis=0)
    return Dependence(place, values, means)
