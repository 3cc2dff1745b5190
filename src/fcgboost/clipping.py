"""Limits to which inputs are clipped, learned from the training data.

Limits belong to the model. If a column has a zero, its limits contain zero, so that entries which a
sparse matrix does not store stay zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fcgboost.arrays import (
    REACH,
    Array,
    Flags,
    Matrix,
    SparseMatrix,
    is_sparse,
    namespace,
    to_device_of,
)

_LARGEST = float(np.finfo(np.float64).max)
#: The squares of larger numbers overflow, those of smaller differences underflow.
FAR = 1e150
NEAR = 1e-150
# Up to _N_WILD values are outliers if they lie more than _TIMES ranges away from the rest.
_N_WILD = 4
_TIMES = 10.0


@dataclass(frozen=True, eq=False)
class Limits:
    """The smallest and the largest value of every column, finite, low <= high."""

    low: Array
    high: Array

    def without(self, columns: Flags) -> Limits:
        """Return limits that leave some columns as they are."""
        low = np.where(columns, -_LARGEST, self.low)
        high = np.where(columns, _LARGEST, self.high)
        return Limits(low, high)

    def apply(self, X: Matrix) -> Matrix:
        """Return rows within the limits, X itself where nothing is beyond them.

        Missing values stay missing. Clipped rows are float64: float32 may not represent the
        limits.
        """
        low = to_device_of(self.low, X)
        high = to_device_of(self.high, X)
        if is_sparse(X):
            is_beyond = _is_beyond(X.data, low[X.indices], high[X.indices])
            is_beyond |= bool(_gaps(X, low, high).any())
        else:
            is_beyond = _is_beyond(X, low, high)
        return clip(X, low, high) if is_beyond else X


def _is_beyond(values: Matrix, low: Array, high: Array) -> bool:
    return bool((low > values).any() or (high < values).any())


def clip(X: Matrix, low: Array, high: Array) -> Matrix:
    """Return a copy of an array, CSR matrix or tensor, each value within its column's limits."""
    if is_sparse(X):
        X = _filled(X, _gaps(X, low, high))
        data = clip(X.data, low[X.indices], high[X.indices])
        return type(X)((data, X.indices, X.indptr), shape=X.shape)
    # Faster than numpy.clip, and NaN comes through both.
    xp = namespace(X)
    clipped = xp.maximum(X, low)
    return xp.minimum(clipped, high, out=clipped)


def _gaps(X: SparseMatrix, low: Array, high: Array) -> Flags:
    """Return which columns have zeros that are not stored and lie beyond the limits."""
    is_beyond = (low > 0.0) | (high < 0.0)
    if is_beyond.any():
        is_beyond &= np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]
    return is_beyond


def _filled(X: SparseMatrix, columns: Flags) -> SparseMatrix:
    """Store every entry of some columns; few are added, as no training row had a zero there."""
    if not columns.any():
        return X
    entries = X.tocoo()
    filled = np.flatnonzero(columns)
    numbers = np.arange(X.shape[0])
    rows = np.append(entries.row, np.repeat(numbers, len(filled)))
    cols = np.append(entries.col, np.tile(filled, len(numbers)))
    data = np.zeros(len(rows), dtype=X.dtype)
    data[: X.nnz] = entries.data
    # Duplicate entries are added up.
    return type(X)((data, (rows, cols)), shape=X.shape)


def zeros_in(X: Matrix) -> Flags:
    """Return which columns have a zero; flags of parts of the rows are combined by `or`."""
    if not is_sparse(X):
        return np.asarray((X == 0.0).any(axis=0))
    stored = np.bincount(X.indices[X.data != 0.0], minlength=X.shape[1])
    return np.asarray(stored < X.shape[0])


def limits_of(
    n_deviations: float,
    mean: Array,
    deviation: Array,
    low: Array,
    high: Array,
    has_zero: Flags,
) -> Limits:
    """Return limits some deviations from the mean, which contain zero where a training row has it.

    A constant column keeps its value exactly.
    """
    with np.errstate(over="ignore"):
        reach = n_deviations * deviation
        least = np.clip(mean - reach, -_LARGEST, _LARGEST)
        most = np.clip(mean + reach, -_LARGEST, _LARGEST)
    is_constant = deviation == 0.0
    least = np.where(is_constant, low, least)
    most = np.where(is_constant, high, most)
    least = np.where(has_zero, np.minimum(least, 0.0), least)
    most = np.where(has_zero, np.maximum(most, 0.0), most)
    return Limits(least, most)


def extreme_values(X: Matrix, columns: Flags) -> list[list[Array]]:
    """Return the extreme values of some columns, a list that parts of the rows can extend."""
    if is_sparse(X):
        X = X.tocsc()
    ends = []
    for j in np.flatnonzero(columns):
        column = X[:, [j]].data if is_sparse(X) else X[:, j]
        present = column[~np.isnan(column)]
        if len(column) < X.shape[0]:
            present = np.append(present, 0.0)
        values = np.unique(present)
        ends.append(np.append(values[: _N_WILD + 1], values[-_N_WILD - 1 :]))
    return [ends]


def outlier_limits(columns: Flags, ends: Sequence[Sequence[Array]]) -> Limits:
    """Return limits that exclude the outliers of some columns, and numbers that are too large."""
    low = np.full(len(columns), -FAR)
    high = -low
    values_of_columns = map(np.concatenate, zip(*ends, strict=True))
    for j, values in zip(np.flatnonzero(columns), values_of_columns, strict=True):
        ordered = np.unique(values)
        # Of halves all differences are finite.
        for least, most in _usual_ends(ordered / 2.0):
            low[j] = 4.0 * least - 2.0 * most
            high[j] = 4.0 * most - 2.0 * least
    return Limits(low, high)


def _usual_ends(values: Array) -> Iterator[tuple[float, float]]:
    """Yield the ends of sorted values without a few outliers, with ever more of these."""
    ordered = [-np.inf, *values.tolist(), np.inf]
    for n_wild in range(1, min(_N_WILD, len(values) - 2) + 1):
        for n_low in range(n_wild + 1):
            n_high = n_wild - n_low
            least = ordered[n_low + 1]
            most = ordered[-n_high - 2]
            away = min(least - ordered[n_low], ordered[-n_high - 1] - most)
            is_narrow = NEAR < most - least < away / _TIMES
            if is_narrow and max(-least, most) < FAR / 8.0:
                yield least, most


def within_reach(limits: Limits | None, scale: Array, reach: float = REACH) -> Limits:
    """Return the limits, if any, narrowed to a distance of `reach` standardised units from zero.

    If the units of the columns are similar, the distance is the same for all columns.
    """
    with np.errstate(over="ignore"):
        far = np.minimum(reach * scale, _LARGEST)
    if far.min() > np.sqrt(reach) * scale.max():
        far[:] = far.min()
    if limits is None:
        return Limits(-far, far)
    low = np.clip(limits.low, -far, far)
    high = np.clip(limits.high, -far, far)
    return Limits(low, high)
