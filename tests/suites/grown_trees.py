"""Trees grown by the compiled grower and in rounds, for the same rows."""

from typing import Any

import numpy as np

from fcgboost import TreeDictionary
from fcgboost.backends.growth import Growth, HostRows, SummedRows, WeightSummary, quantize
from fcgboost.dictionaries import Sample
from fcgboost.dictionaries.bins import bin_rows


def make_rows(n: int, seed: int, n_codes: int = 6) -> tuple[Any, Any]:
    """Return numbers with gaps, categories with gaps, one-hot columns and ties, and a residual."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.standard_normal((n, 2)),
            rng.integers(0, 9, n),
            np.eye(4)[rng.integers(0, 4, n)],
            rng.integers(0, n_codes, n),
        ]
    ).astype(np.float64)
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, -1] = np.nan
    return X, np.round(rng.standard_normal(n) + np.sin(3.0 * X[:, 1]) + (X[:, 2] > 4), 1)


def grow_in_rounds(trees: TreeDictionary, X: Any, residual: Any, weights: Any) -> tuple[Any, Any]:
    bins, codes = bin_rows(X, trees.categories(X.shape[1]))
    rules = trees.rules(trees.levels(max(weights.sum(), 1.0)), WeightSummary.of(weights).unit)
    rows = HostRows(bins, codes, quantize(residual, weights, abs(residual).sum(), rules.unit))
    growth = Growth(SummedRows(rows.split, bins, rules), bins, rules)
    return growth.atom(), growth.leaf_numbers()[rows.nodes]


def compiled(trees: TreeDictionary, X: Any, residual: Any, weights: Any) -> tuple[Any, Any]:
    zeros, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    grower = trees.grower(Sample(X, zeros, ones, zeros, ones, 1.0, 1.0))
    return grower.grow(residual, weights, 0), grower.leaves
