"""Feature importances: how much a model depends on each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import Array, host
from fcgboost.dictionaries import GaussDictionary, PlaneDictionary, SmoothDictionary, TreeDictionary
from fcgboost.dictionaries.growth import FIELDS, nodes_of
from fcgboost.model import Model, by_family

# Numbers per block of slopes.
_ENTRIES = 1 << 20
# Changes evaluate rows once per feature: this many numbers in all, but at least some rows.
_LOOKS, _FEWEST_ROWS = 1 << 30, 16


def importances_of(
    model: Model, rows: Any, deviation: Array, sources: NDArray[np.intp], n_features: int
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
        totals = _changes(model, rows, sources, n_features)
    return np.asarray(totals / (totals.sum() or 1.0))


def _slopes(model: Model, rows: Any) -> Array:
    totals, dictionary = np.zeros(len(model.scale)), model.dictionary
    assert isinstance(dictionary, SmoothDictionary)
    rows_at_once = max(1, _ENTRIES // len(totals))
    for start in range(0, rows.shape[0], rows_at_once):
        some = rows[start : start + rows_at_once]
        for coef in model.coef:
            slopes = dictionary.input_gradient(some, model.atoms, coef, model.scale)
            totals += np.abs(slopes).sum(axis=0)
    return totals


def _changes(model: Model, rows: Any, sources: NDArray[np.intp], n_features: int) -> Array:
    totals = np.zeros(n_features)
    some = rows[: max(_FEWEST_ROWS, _LOOKS // len(model.scale) ** 2)]
    X = np.array(host(some), dtype=np.float64)
    others, before = np.roll(X, 1, axis=0), model.decision(X)
    # Missing values count as equal.
    is_other = (others != X) & ~(np.isnan(X) & np.isnan(others))
    for j in np.unique(sources[is_other.any(axis=0)]):
        inputs = sources == j
        own = X[:, inputs]
        X[:, inputs] = others[:, inputs]
        totals[j] = np.abs(model.decision(X) - before).sum()
        X[:, inputs] = own
    return totals


def weights_of(family: Any, rows: Any, scale: Array) -> Array | None:
    """Return how much each atom of a family uses each feature, (n_atoms, n_features).

    For planes, the weights per standardised unit; for Gaussian atoms, the centres relative to their
    mean; for trees, the share of the splits, each level counting half the one above. None for an
    unknown family.
    """
    dense = np.asarray(host(rows), dtype=np.float64)
    if isinstance(family, PlaneDictionary):
        return dense[:, :-1] * scale
    if isinstance(family, GaussDictionary):
        centers = dense[:, :-1]
        return np.asarray((centers - centers.mean(axis=0)) / scale)
    if isinstance(family, TreeDictionary):
        return np.array([_splits(nodes, len(scale)) for nodes in nodes_of(dense)])
    return None


def _splits(nodes: Array, n_features: int) -> Array:
    totals, level, weight = np.zeros(n_features), np.zeros(1, dtype=np.intp), 1.0
    while len(level):
        inner = nodes[level[nodes[level, 0] != -1.0]]
        np.add.at(totals, inner[:, 0].astype(np.intp), weight)
        left = inner[:, 2].astype(np.intp)
        level, weight = np.concatenate([left, left + 1]), weight / 2.0
    return np.asarray(totals / (totals.sum() or 1.0))


def n_numbers_of(model: Model) -> int:
    """Return how many numbers a model holds, without padding."""
    total = int(model.coef.size + len(model.intercept))
    total += 0 if model.limits is None else 2 * len(model.scale)
    for family, _, rows, _ in by_family(model.dictionary, model.atoms, len(model.scale)):
        if isinstance(family, TreeDictionary):
            total += FIELDS * int((nodes_of(rows) != 0.0).any(axis=2).sum())
        else:
            # The size of a sparse array counts the stored entries.
            total += int(rows.size)
    return total
