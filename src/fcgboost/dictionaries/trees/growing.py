"""How a tree grows: level by level, on residuals whose sums are exact.

Residuals and weights are rounded to multiples of powers of two so that no sum over rows is ever
rounded. So a tree depends neither on the order of the rows nor on who adds them up, and a weight
equals a repetition.
"""

from __future__ import annotations

import numpy as np

from fcgboost import _kernels
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import Bins

# All weights are at most this many units, rounding up included: sums with residuals of 2^22 steps
# are at most 2^53 and exact.
_WEIGHT_BITS = 30
# Numbers that histograms may be in memory (256 MiB).
_MOST_NUMBERS = 1 << 25


def exact_weights(weights: Array) -> Array:
    """Round weights to multiples of a power of two, so that their sums are exact.

    Whole numbers stay as they are.
    """
    is_whole = np.logical_and.reduce(weights == np.rint(weights))
    if is_whole and np.add.reduce(weights) <= 2.0**_WEIGHT_BITS:
        return weights
    # First beside the largest, which gives a sum that no order of rows changes, then beside that.
    exponent = int(np.frexp(weights.max())[1]) - _WEIGHT_BITS
    total = int(np.rint(np.ldexp(weights, -exponent)).astype(np.int64).sum())
    exponent += total.bit_length() - _WEIGHT_BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, -exponent)), exponent))


class Growth:
    """Grows trees on binned rows, one at a time: they share the memory they work in."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._held = _kernels.Bins.of(bins)
        self._deepest = -1

    def _make_room(self, depth: int) -> None:
        """Make room for histograms of the two widest levels, and for nodes of a row each."""
        n_bins, n_rows = int(self.bins.offsets[-1]), self.bins.codes.shape[1]
        n_widest = min(2 ** (depth - 1), n_rows)
        n_histograms = max(1, min(2 * n_widest, _MOST_NUMBERS // (2 * n_bins)))
        self._room = np.empty((n_histograms, n_bins, 2))
        self._nodes = np.empty((max(1, min(2 * n_rows - 1, 2 ** (depth + 1) - 1)), 4))
        self._deepest = depth

    def grow(
        self, residual: Array, weights: Array, rules: tuple[int, float, float, float]
    ) -> Array:
        """Return the nodes of a tree, of shape (4 n_nodes,).

        Parameters
        ----------
        residual, weights : ndarray of shape (n_rows,)
            Weights must be exact.
        rules : tuple
            The levels, and the least weight, the smoothing and the peak of leaves.
        """
        if rules[0] > self._deepest:
            self._make_room(rules[0])
        return _kernels.grow_tree(self._held, rules, residual, weights, self._room, self._nodes)
