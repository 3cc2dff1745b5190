"""How a tree grows: level by level, on binned rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fcgboost import _kernels
from fcgboost.dictionaries.base import Array, Grower
from fcgboost.dictionaries.trees.binning import Bins, bin_rows
from fcgboost.dictionaries.trees.nodes import BoolArray

# Numbers that histograms may be in memory (256 MiB).
_MOST_NUMBERS = 1 << 25

#: The levels of a tree, the least weight of a leaf, the smoothing, the peak.
Rules = tuple[int, float, float, float]


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
        self._held: _kernels.Bins
        self._deepest = -1

    def grow(self, rows: Array, residual: Array, weights: Array, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters); the key is not needed."""
        if rows is not self._rows:
            self._bins = bin_rows(np.asarray(rows), self._is_category, self._n_thresholds)
            self._held, self._rows, self._deepest = _kernels.Bins.of(self._bins), rows, -1
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        residual = np.ascontiguousarray(residual, dtype=np.float64)
        # Weights may be those of the rows that have a residual alone.
        rules = self._rules(max(float(np.add.reduce(weights)), self._bins.n_distinct, 1.0))
        if rules[0] > self._deepest:
            self._make_room(rules[0])
        room = self._histograms, self._nodes
        return _kernels.grow_tree(self._held, rules, residual, weights, *room)[None, :]

    def _make_room(self, depth: int) -> None:
        """Make room for histograms of the two widest levels, and for nodes of a row each."""
        n_bins, n_rows = int(self._bins.offsets[-1]), self._bins.codes.shape[1]
        widest = min(2 ** (depth - 1), n_rows)
        n_histograms = max(1, min(2 * widest, _MOST_NUMBERS // (2 * n_bins)))
        self._histograms = np.empty((n_histograms, n_bins, 2))
        self._nodes = np.empty((max(1, min(2 * n_rows - 1, 2 ** (depth + 1) - 1)), 4))
        self._deepest = depth
