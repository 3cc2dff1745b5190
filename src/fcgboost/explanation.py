"""Explanations of predictions: what each column adds to the decision values of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.arrays import Array, host
from fcgboost.shapley import MOST_ROWS, Game

# Of many inputs a background has as many rows as this many numbers are, or ten.
_LEAST_ROWS, _MOST_NUMBERS = 10, 1 << 24


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of rows, with the attribute names of shap's Explanation.

    A row's base value and its Shapley values add up to its decision value.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features), or (n_samples, n_features, n_classes)
        Shapley values; for two classes, in favour of the second.
    base_values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The mean decision value of the background, the same for all rows.
    data : array-like, data frame or sparse matrix
        The rows that were explained.
    feature_names : list of str
        The names of the columns.
    errors : ndarray of shape (n_samples,)
        Three standard errors of the least certain value; 0 if all are exact. At most one per cent
        of the largest value, unless 100,000 orders were not enough.
    """

    values: Array
    base_values: Array
    data: Any
    feature_names: list[str]
    errors: Array

    def towards(self, codes: Any) -> tuple[Array, Array]:
        """Return values and base values in favour of classes, given by their codes."""
        codes = np.broadcast_to(codes, len(self.values))
        if self.values.ndim == 2:
            signs = 2 * codes - 1
            return self.values * signs[:, None], self.base_values * signs
        rows = np.arange(len(codes))
        return self.values[rows, :, codes], self.base_values[rows, codes]


def explain(classifier: Any, X: Any, background: Any = None, *, encoder: Any = None) -> Explanation:
    """Explain predictions, as `FCGBoostClassifier.explain`, with an encoder in front if any."""
    inputs = vars(classifier).get("_inputs_")
    n_columns, sources = classifier.n_features_in_, np.arange(classifier.n_features_in_)
    if encoder is not None:
        counts = [column.n_outputs for column in encoder.columns_]
        n_columns, sources = len(counts), np.repeat(np.arange(len(counts)), counts)
        names = [column.name for column in encoder.columns_]
    elif inputs is not None:
        sources, names = inputs.sources, [column.name for column in inputs.columns]
    else:
        names = [str(one) for one in getattr(classifier, "feature_names_in_", ())]

    def seen(rows: Any) -> Any:
        return classifier._encoded(rows if encoder is None else encoder.transform(rows))

    Z = seen(X)
    game = Game(classifier.model_, _background(classifier, background, seen), sources, n_columns)
    found = [game.values(_dense(Z[i : i + 1])[0]) for i in range(Z.shape[0])]
    values, base = np.array([own for own, _ in found]), np.tile(game.base, (len(found), 1))
    if len(classifier.classes_) == 2:
        values, base = values[:, :, 0], base[:, 0]
    names = names or [f"x{j}" for j in range(n_columns)]
    return Explanation(values, base, X, names, np.array([error for _, error in found]))


def _background(classifier: Any, given: Any, seen: Any) -> Array:
    """Return the rows to explain against: some of those given, or of the training rows."""
    if given is not None:
        rows = seen(given)
        size = most_rows(rows.shape[1])
        if rows.shape[0] > size:
            drawn = np.random.default_rng(0).choice(rows.shape[0], size, replace=False)
            rows = rows[np.sort(drawn)]
        return _dense(rows)
    if (rows := classifier._background()) is None:
        raise ValueError(
            "The model file holds no background rows: pass some, for example "
            "explain(X, background=X_train), or --background FILE on the command line."
        )
    return _dense(rows)


def most_rows(n_inputs: int) -> int:
    """Return the largest number of background rows."""
    return min(MOST_ROWS, max(_LEAST_ROWS, _MOST_NUMBERS // n_inputs))


def _dense(rows: Any) -> Array:
    return np.ascontiguousarray(host(rows), dtype=np.float64)
