"""How far inputs may lie from the training data: beyond its limits they count as at the limit.

Limits are values of the model and travel with it. A column that has a zero has limits that contain
zero, so what a sparse matrix does not store stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import REACH, Array, beside, namespace

Flags = NDArray[np.bool_]

_LARGEST = float(np.finfo(np.float64).max)
#: Larger numbers, and smaller differences, have no squares.
FAR, NEAR = 1e150, 1e-150
# So few values are wild if they lie more than so many times the range of all others away.
_N_WILD, _TIMES = 4, 10.0


@dataclass(frozen=True, eq=False)
class Limits:
    """The smallest and the largest value of every column, finite, low <= high."""

    low: Array
    high: Array

    def without(self, columns: Flags) -> Limits:
        """Return limits that leave some columns as they are."""
        low, high = np.where(columns, -_LARGEST, self.low), np.where(columns, _LARGEST, self.high)
        return Limits(low, high)

    def apply(self, X: Any) -> Any:
        """Return rows within the limits, X itself where nothing is beyond them.

        Missing values stay missing. What is clipped is of float64: the limits may be no numbers of
        single precision.
        """
        low, high = beside(self.low, X), beside(self.high, X)
        if sparse.issparse(X):
            is_beyond = _is_beyond(X.data, low[X.indices], high[X.indices])
            is_beyond = is_beyond or bool(_gaps(X, low, high).any())
        else:
            is_beyond = _is_beyond(X, low, high)
        return clip(X, low, high) if is_beyond else X


def _is_beyond(values: Any, low: Any, high: Any) -> bool:
    return bool((low > values).any()) or bool((high < values).any())


def clip(X: Any, low: Any, high: Any) -> Any:
    """Return a copy of an array, CSR matrix or tensor, each value within its column's limits."""
    if sparse.issparse(X):
        X = _filled(X, _gaps(X, low, high))
        data = clip(X.data, low[X.indices], high[X.indices])
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    # Faster than numpy.clip, and NaN comes through both.
    xp = namespace(X)
    clipped = xp.maximum(X, low)
    return xp.minimum(clipped, high, out=clipped)


def _gaps(X: Any, low: Array, high: Array) -> Flags:
    """Say which columns have zeros that are not stored and beyond the limits."""
    is_beyond = (low > 0.0) | (high < 0.0)
    if is_beyond.any():
        is_beyond &= np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]
    return is_beyond


def _filled(X: Any, columns: Flags) -> Any:
    """Store every entry of some columns: no training row had a zero there, so hardly one has."""
    if not columns.any():
        return X
    entries = X.tocoo()
    # Entries at one place are added up.
    rows, places = np.indices((X.shape[0], int(columns.sum()))).reshape(2, -1)
    row = np.concatenate([entries.row, rows])
    col = np.concatenate([entries.col, np.flatnonzero(columns)[places]])
    data = np.concatenate([entries.data, np.zeros(len(rows), dtype=X.dtype)])
    return type(X)((data, (row, col)), shape=X.shape)


def zeros_in(X: Any) -> Flags:
    """Say which columns have a zero; the flags of parts of the rows add up to those of all."""
    if not sparse.issparse(X):
        return np.asarray((X == 0.0).any(axis=0))
    stored = np.bincount(X.indices[X.data != 0.0], minlength=X.shape[1])
    return np.asarray(stored < X.shape[0])


def limits_of(
    n_deviations: float, mean: Array, deviation: Array, low: Array, high: Array, has_zero: Flags
) -> Limits:
    """Return limits some deviations from the mean, which contain zero where a training row has it.

    A column without a deviation keeps the values it has: rounding has no say in it.
    """
    with np.errstate(over="ignore"):
        reach = n_deviations * deviation
        least, most = (np.clip(side, -_LARGEST, _LARGEST) for side in (mean - reach, mean + reach))
    is_constant = deviation == 0.0
    least, most = np.where(is_constant, low, least), np.where(is_constant, high, most)
    least = np.where(has_zero, np.minimum(least, 0.0), least)
    most = np.where(has_zero, np.maximum(most, 0.0), most)
    return Limits(least, most)


def ends_of(X: Any, columns: Flags) -> list[list[Array]]:
    """Return the least and the largest values of some columns; those of parts of rows add up."""
    X, found = X.tocsc() if sparse.issparse(X) else X, list[Array]()
    for j in np.flatnonzero(columns):
        own = X.data[X.indptr[j] : X.indptr[j + 1]] if sparse.issparse(X) else X[:, j]
        gaps = np.zeros(int(len(own) < X.shape[0]))
        values = np.unique(np.append(own[~np.isnan(own)], gaps))
        found.append(np.append(values[: _N_WILD + 1], values[-_N_WILD - 1 :]))
    return [found]


def fences_of(columns: Flags, ends: Sequence[Sequence[Array]]) -> Limits:
    """Return limits that leave out the wild values of some columns, and all that is too large."""
    low, high = np.full(len(columns), -FAR), np.full(len(columns), FAR)
    for j, own in zip(np.flatnonzero(columns), zip(*ends, strict=True), strict=True):
        values = np.unique(np.concatenate(own)) / 2.0  # of halves all differences are finite
        ordered, gaps = values.tolist(), np.diff(values).tolist()
        for n in range(1, min(_N_WILD, len(ordered) - 2) + 1):
            for first in range(n + 1):
                last = len(ordered) - n + first - 1
                least, most = ordered[first], ordered[last]
                away = min(gaps[first - 1 : first] + gaps[last : last + 1])
                if NEAR < most - least < away / _TIMES and max(-least, most) < FAR / 8.0:
                    low[j], high[j] = 4.0 * least - 2.0 * most, 4.0 * most - 2.0 * least
    return Limits(low, high)


def within_reach(limits: Limits | None, scale: Array, reach: float = REACH) -> Limits:
    """Return limits, if there are any, that are also at most so many units from zero.

    Where columns have similar units it is the same number for all.
    """
    with np.errstate(over="ignore"):
        far = np.minimum(reach * scale, _LARGEST)
    if far.min() > np.sqrt(reach) * scale.max():
        far[:] = far.min()
    if limits is None:
        return Limits(-far, far)
    return Limits(np.clip(limits.low, -far, far), np.clip(limits.high, -far, far))
