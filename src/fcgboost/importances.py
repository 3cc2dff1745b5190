"""Feature importances: how much a model depends on each feature."""

from __future__ import annotations

import numpy as np

from fcgboost.arrays import Array, Codes, Flags, Matrix, differ, to_numpy
from fcgboost.dictionaries import SmoothDictionary, TreeDictionary
from fcgboost.dictionaries.nodes import FIELDS, nodes_of
from fcgboost.dictionaries.planes import PlaneDictionary
from fcgboost.model import Model

# Numbers per block of slopes.
_ENTRIES = 1 << 20
# Changes evaluate rows once per feature: this many numbers in all, but at least some rows.
_LOOKS = 1 << 30
_FEWEST_ROWS = 16


def importances_of(
    model: Model,
    rows: Matrix,
    deviation: Array,
    sources: Codes,
    n_features: int,
) -> Array:
    """Return one importance per feature; they sum to one, or are all zero.

    For smooth atoms, the mean absolute slope times the feature's standard deviation. For others,
    the mean absolute change if a row takes the feature's value from another row. The rows are
    distinct and in random order.
    """
    if model.n_atoms == 0:
        return np.zeros(n_features)
    if isinstance(model.dictionary, SmoothDictionary):
        slopes = _slopes(model, rows) * deviation
        totals = np.bincount(sources, slopes, n_features).astype(np.float64)
    else:
        totals = _changes(
            model,
            rows,
            sources,
            n_features,
        )
    return totals / (totals.sum() or 1.0)


def _slopes(model: Model, rows: Matrix) -> Array:
    totals = np.zeros(len(model.scale))
    dictionary = model.dictionary
    assert isinstance(dictionary, SmoothDictionary)
    rows_at_once = max(1, _ENTRIES // len(totals))
    for start in range(0, rows.shape[0], rows_at_once):
        block = rows[start : start + rows_at_once]
        for coef in model.coef:
            slopes = dictionary.input_gradient(
                block,
                model.atoms,
                coef,
                model.scale,
            )
            totals += np.abs(slopes).sum(axis=0)
    return totals


def _changes(model: Model, rows: Matrix, sources: Codes, n_features: int) -> Array:
    totals = np.zeros(n_features)
    n_rows = max(_FEWEST_ROWS, _LOOKS // len(model.scale) ** 2)
    X = np.array(to_numpy(rows[:n_rows]), dtype=np.float64)
    others = np.roll(X, 1, axis=0)
    before = model.decision(X)
    for j in np.unique(sources[differ(X, others) & _are_used(model)]):
        inputs = sources == j
        values = X[:, inputs]
        X[:, inputs] = others[:, inputs]
        totals[j] = np.abs(model.decision(X) - before).sum()
        X[:, inputs] = values
    return totals


def _are_used(model: Model) -> Flags:
    """Return which inputs the atoms look at."""
    are_used = np.zeros(len(model.scale), dtype=bool)
    for group in model.by_family():
        seen = are_used[group.inputs]
        if isinstance(group.family, TreeDictionary):
            nodes = nodes_of(group.rows)
            features = nodes[:, :, 0]
            split = features[features >= 0.0]
            seen[split.astype(np.intp)] = True
        elif isinstance(group.family, PlaneDictionary):
            weights = to_numpy(group.rows)[:, :-1]
            seen |= weights.any(axis=0)
        else:
            seen[:] = True
    return are_used


def n_numbers_of(model: Model) -> int:
    """Return how many numbers a model holds, without padding."""
    total = int(model.coef.size + len(model.intercept))
    total += 0 if model.limits is None else 2 * len(model.scale)
    for family, _, rows, _ in model.by_family():
        if isinstance(family, TreeDictionary):
            total += FIELDS * int(nodes_of(rows).any(axis=2).sum())
        else:
            # The size of a sparse array counts the stored entries.
            total += int(rows.size)
    return total
