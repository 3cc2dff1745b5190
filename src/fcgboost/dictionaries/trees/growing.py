"""How a tree grows: level by level, on residuals whose sums are exact.

Residuals and weights are rounded to multiples of powers of two so that no sum over rows is ever
rounded. So a tree depends neither on the order of the rows nor on who adds them up, and a weight
equals a repetition.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from fcgboost import _kernels
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import Bins

# All weights are at most this many units, rounding up included: sums with residuals of 2^22 steps
# are at most 2^53 and exact.
_WEIGHT_BITS = 30
# Numbers that histograms may be in memory (256 MiB).
_MOST_NUMBERS = 1 << 25


@dataclass(frozen=True)
class Rules:
    """What a tree may look like: its levels, the least weight, smoothing and peak of leaves."""

    depth: int
    min_leaf: float
    smoothing: float
    peak: float


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


class Growth:
    """Grows trees on binned rows, one at a time: they share the memory they work in."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._room = np.empty((0, int(bins.offsets[-1]), 2))

    def grow(self, residual: Array, weights: Array, rules: Rules) -> Array:
        """Return the nodes of a tree, of shape (4 n_nodes,); weights must be exact."""
        # Histograms of the two widest levels, whose nodes have a row each at least.
        widest = min(2 ** (rules.depth - 1), len(residual))
        n_room = max(1, min(2 * widest, _MOST_NUMBERS // (2 * self._room.shape[1])))
        if len(self._room) < n_room:
            self._room = np.empty((n_room, *self._room.shape[1:]))
        return _kernels.grow_tree(self.bins, astuple(rules), residual, weights, self._room)
