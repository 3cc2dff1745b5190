"""Rows as small whole numbers: which of at most 254 thresholds lie below a value.

Thresholds depend on the distinct rows alone, so weights, repetitions and the order of rows do not
move them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.nodes import N_CODES, BoolArray, IntArray

#: Bins of a feature, missing values included, are numbered by one byte.
N_BINS = 256
MOST_THRESHOLDS = N_BINS - 2
# Behind the last bin of numbers: all of them go left. Finite, as numbers in files are.
_ABOVE_ALL = np.finfo(np.float64).max


@dataclass(frozen=True)
class Bins:
    """Binned rows."""

    #: The bin of every value, of shape (n_features, n_rows); missing values are behind numbers.
    codes: NDArray[np.uint8]
    #: Bins of numbers, or of categories, of every feature.
    n_numbers: IntArray
    #: Where the bins of a feature begin if those of all features stand in one line, and the end.
    offsets: IntArray
    #: The threshold between a bin and the next one, of shape (n_features, 256).
    edges: Array
    is_category: BoolArray
    #: The number of distinct rows.
    n_distinct: int


def bin_rows(rows: Array, is_category: BoolArray, n_thresholds: int) -> Bins:
    """Find thresholds for every feature, and the bin of every value."""
    n_rows, n_features = rows.shape
    distinct = _distinct_rows(rows)
    codes = np.empty((n_features, n_rows), np.uint8)
    n_numbers, widths = np.ones(n_features, np.int64), np.ones(n_features, np.int64)
    edges = np.full((n_features, N_BINS), _ABOVE_ALL)
    for j in range(n_features):
        column = np.ascontiguousarray(rows[:, j], dtype=np.float64)
        if is_category[j]:
            is_number = is_code(column)
            places = np.where(is_number, column, 0.0).astype(np.int64)
            n_numbers[j] = places.max(initial=0) + 1
        else:
            is_number = ~np.isnan(column)
            thresholds = find_thresholds(distinct[:, j], n_thresholds)
            places = np.searchsorted(thresholds, column)
            n_numbers[j] = len(thresholds) + 1
            edges[j, : len(thresholds)] = thresholds
        codes[j] = np.where(is_number, places, n_numbers[j])
        widths[j] = n_numbers[j] + (not is_number.all())
    offsets = np.concatenate([[0], np.cumsum(widths)])
    return Bins(codes, n_numbers, offsets, edges, is_category, len(distinct))


def is_code(column: Array) -> BoolArray:
    """Whether values are whole numbers that a set of categories can hold."""
    with np.errstate(invalid="ignore"):
        return np.asarray((column >= 0.0) & (column < N_CODES) & (column == np.floor(column)))


def find_thresholds(column: Array, n_thresholds: int) -> Array:
    """Choose thresholds of one feature between neighbouring values of the distinct rows.

    All of them if they are few enough. Else half at quantiles of the rows, half at quantiles of
    the distinct values: where most rows are zero, the former do not tell the others apart.
    """
    # Zeros of either sign are one value.
    column = np.sort(column[~np.isnan(column)]) + 0.0
    ends = np.flatnonzero(np.diff(column) > 0.0)  # the last row of every value but the largest
    if len(ends) > n_thresholds:
        n_by_value = n_thresholds // 2
        by_value = _spaced(n_by_value, len(ends) + 1)
        by_row = np.searchsorted(ends, _spaced(n_thresholds - n_by_value, len(column)))
        ends = ends[np.unique(np.minimum(np.concatenate([by_value, by_row]), len(ends) - 1))]
    lower, upper = column[ends], column[ends + 1]
    middle = 0.5 * lower + 0.5 * upper
    # Rounding must not let the upper value go left.
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def _spaced(n: int, size: int) -> IntArray:
    """Return n places in a line of some size that cut it into n + 1 pieces alike."""
    return (np.arange(1, n + 1) * size - 1) // (n + 1)


def _distinct_rows(rows: Array) -> Array:
    is_missing = np.isnan(rows)
    # Not all NaN have the same bits.
    words = hashing.fingerprint(np.where(is_missing, np.nan, rows) if is_missing.any() else rows)
    return rows[np.unique(words, return_index=True)[1]]
