"""How much a model depends on every feature, at some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import Array, SmoothDictionary
from fcgboost.model import Model

# Numbers that slopes look at in one go.
_ENTRIES = 1 << 20
# Changes look at rows once per feature, so at this many numbers in all; but at some rows.
_LOOKS, _FEWEST_ROWS = 1 << 30, 16


def importances_of(model: Model, rows: Any, deviation: Array) -> Array:
    """Give numbers that sum to one, or are all zero.

    Of smooth atoms: the mean size of the slope, times the feature's deviation. Of others: the mean
    size of what changes where a row has the feature's value of another row.

    Parameters
    ----------
    model : Model
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
        Distinct, in an order that says nothing.
    deviation : ndarray of shape (n_features,)
    """
    if model.n_atoms == 0:
        return np.zeros(len(model.scale))
    is_smooth = isinstance(model.dictionary, SmoothDictionary)
    totals = _slopes(model, rows) * deviation if is_smooth else _changes(model, rows)
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


def _changes(model: Model, rows: Any) -> Array:
    totals = np.zeros(len(model.scale))
    some = rows[: max(_FEWEST_ROWS, _LOOKS // len(totals) ** 2)]
    X = np.array(some.toarray() if sparse.issparse(some) else some, dtype=np.float64)
    others, before = np.roll(X, 1, axis=0), model.decision(X)
    # Missing values are equal here: nothing changes between them.
    is_other = (others != X) & ~(np.isnan(X) & np.isnan(others))
    for j in np.flatnonzero(is_other.any(axis=0)):
        own = X[:, j].copy()
        X[:, j] = others[:, j]
        totals[j] = np.abs(model.decision(X) - before).sum()
        X[:, j] = own
    return totals
