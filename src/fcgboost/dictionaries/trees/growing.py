"""How a tree grows: level by level, on residuals whose sums are exact.

Residuals and weights are rounded to multiples of powers of two so that no sum over rows is ever
rounded. So a tree depends neither on the order of the rows nor on who adds them up, and a weight
equals a repetition.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fcgboost import _kernels
from fcgboost.dictionaries.base import Array, Grower
from fcgboost.dictionaries.trees.binning import Bins, bin_rows
from fcgboost.dictionaries.trees.nodes import BoolArray

# All weights are at most this many units, rounding up included: sums with residuals of 2^22 steps
# are at most 2^53 and exact.
_WEIGHT_BITS = 30
# Numbers that histograms may be in memory (256 MiB).
_MOST_NUMBERS = 1 << 25

#: The levels of a tree, the least weight of a leaf, the smoothing, the peak.
Rules = tuple[int, float, float, float]


def exact_weights(weights: Array) -> Array:
    """Round weights to multiples of a power of two, so that their sums are exact.

    Whole numbers stay as they are.
    """
    if (weights == np.rint(weights)).all() and weights.sum() <= 2.0**_WEIGHT_BITS:
        return weights
    # First beside the largest, which gives a sum that no order of rows changes, then beside that.
    exponent = int(np.frexp(weights.max())[1]) - _WEIGHT_BITS
    total = int(np.rint(np.ldexp(weights, -exponent)).astype(np.int64).sum())
    exponent += total.bit_length() - _WEIGHT_BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, -exponent)), exponent))


class TreeGrower(Grower):
    """Grows one tree on a residual, by the rules for as many rows as there are, in weights."""

    def __init__(
        self, rules: Callable[[float], Rules], is_category: BoolArray, n_thresholds: int
    ) -> None:
        self._rules = rules
        self._is_category = is_category
        self._n_thresholds = n_thresholds
        self._rows: Array | None = None
        self._bins: Bins
        self._histograms: Array

    def grow(self, rows: Array, residual: Array, weights: Array, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters); the key is not needed."""
        if rows is not self._rows:
            self._bins = bin_rows(np.asarray(rows), self._is_category, self._n_thresholds)
            self._histograms = np.empty((0, int(self._bins.offsets[-1]), 2))
            self._rows = rows
        weights = exact_weights(np.ascontiguousarray(weights, dtype=np.float64))
        residual = np.ascontiguousarray(residual, dtype=np.float64)
        # Weights may be those of the rows that have a residual alone.
        rules = self._rules(max(float(weights.sum()), float(self._bins.n_distinct), 1.0))
        self._make_room(rules[0], len(residual))
        nodes = _kernels.grow_tree(self._bins, rules, residual, weights, self._histograms)
        return nodes[None, :]

    def _make_room(self, depth: int, n_rows: int) -> None:
        """Make room for the histograms of the two widest levels; a node has at least one row."""
        n_bins, widest = self._histograms.shape[1], min(2 ** (depth - 1), n_rows)
        n_nodes = max(1, min(2 * widest, _MOST_NUMBERS // (2 * n_bins)))
        if len(self._histograms) < n_nodes:
            self._histograms = np.empty((n_nodes, n_bins, 2))
