"""Rows as numbers of bins, which trees are grown on.

The bin of a value is the number of thresholds below it, at most 254. Thresholds depend on the
distinct rows alone, so weights, repetitions and the order of rows do not move them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels, hashing
from fcgboost.arrays import Array, namespace

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.uint8]

# Bins of a feature, missing values included, are numbered by one byte.
N_BINS = 256
#: Categories are codes below this: a set of them is a whole number that float64 holds.
N_CODES = 52
# Behind the last bin of numbers: all of them go left. Finite, as numbers in files are.
_ABOVE_ALL = np.finfo(np.float64).max
# Rows that thresholds are chosen by, the first ones: canonical rows stand in a random order.
_THRESHOLD_ROWS = 1 << 16
# Rows that are binned at once.
_AT_ONCE = 1 << 16
# Features of so few bins with a usual one of so many rows may share a column; of the columns that
# have room, the newest ones are tried.
_FEW_BINS, _USUAL_SHARE, _TRIED = 128, 0.8, 16


@dataclass(frozen=True)
class Bins:
    """Binned rows; `kernels.h` says how features share columns."""

    #: Of shape (n_rows, n_columns).
    codes: Codes
    column: IntArray
    first: IntArray
    usual: IntArray
    #: Bins of every feature; the last one is of missing values, where there are any.
    n_bins: IntArray
    #: Bins of numbers, or of categories.
    n_numbers: IntArray
    #: The threshold between a bin and the next one, of shape (n_features, 256).
    edges: Array
    is_category: BoolArray
    #: The number of distinct rows; of very many rows, of all.
    n_distinct: int


class _Columns(NamedTuple):
    """Where the bins of features are: as in `Bins`."""

    column: IntArray
    first: IntArray
    usual: IntArray


@dataclass(frozen=True)
class _Binning:
    """What turns values into bins."""

    thresholds: Sequence[Array]
    n_numbers: IntArray
    is_category: BoolArray

    def codes(self, rows: Any) -> Codes:
        """Return the bins of values, of shape (n_features, n_rows)."""
        values = np.ascontiguousarray(rows.T, dtype=np.float64)
        codes = np.empty(values.shape, np.uint8)
        for j, (own, n) in enumerate(zip(self.thresholds, self.n_numbers.tolist(), strict=True)):
            if self.is_category[j]:
                codes[j] = np.where(is_code(values[j]), values[j], n)
            else:
                _kernels.bin_values(values[j], own, n, codes[j])
        return codes


def bin_rows(rows: Any, is_category: BoolArray, n_thresholds: int) -> Bins:
    """Find thresholds for every feature, and the bin of every value."""
    sample = rows[:_THRESHOLD_ROWS]
    distinct = np.asarray(sample[_distinct(sample)], dtype=np.float64)
    thresholds = [
        np.zeros(0) if is_category[j] else find_thresholds(distinct[:, j], n_thresholds)
        for j in range(rows.shape[1])
    ]
    n_numbers = np.array([len(own) + 1 for own in thresholds], np.int64)
    for j in np.flatnonzero(is_category):
        n_numbers[j] += int(np.where(is_code(rows[:, j]), rows[:, j], 0.0).max(initial=0.0))
    edges = np.full((rows.shape[1], N_BINS), _ABOVE_ALL)
    for row, own in zip(edges, thresholds, strict=True):
        row[: len(own)] = own
    binning, n_bins = _Binning(thresholds, n_numbers, is_category), n_numbers.copy()
    for block in _blocks(rows):
        n_bins = np.maximum(n_bins, n_numbers + _is_missing(rows[block], is_category).any(axis=0))
    first_codes = binning.codes(sample)
    usual = _find_usual(first_codes, n_bins, is_category)
    while True:
        columns, clash = _share_columns(first_codes, usual, n_bins), np.zeros(0, np.intp)
        codes = np.empty((len(rows), int(columns.column.max(initial=-1)) + 1), np.uint8)
        for block in _blocks(rows):
            is_known = block.stop <= len(sample)
            some = first_codes[:, block] if is_known else binning.codes(rows[block])
            codes[block], found = _compose(some, columns)
            clash = np.union1d(clash, found)
        if len(clash) == 0:
            break
        # Of very many rows, some that were not looked at have two of them.
        usual[np.isin(columns.column, clash)] = -1
    n_distinct = len(distinct) if len(sample) == len(rows) else len(rows)
    return Bins(codes, *columns, n_bins, n_numbers, edges, is_category, n_distinct)


def _blocks(rows: Any) -> list[slice]:
    n = len(rows)
    return [slice(start, min(start + _AT_ONCE, n)) for start in range(0, n, _AT_ONCE)]


def _distinct(rows: Any) -> NDArray[np.intp]:
    """Return where distinct rows are."""
    is_missing = np.isnan(rows)
    # Not all NaN have the same bits.
    words = hashing.fingerprint(np.where(is_missing, np.nan, rows) if is_missing.any() else rows)
    return np.asarray(np.unique(words, return_index=True)[1])


def _is_missing(rows: Any, is_category: BoolArray) -> BoolArray:
    missing: BoolArray = np.isnan(rows)
    for j in np.flatnonzero(is_category):
        missing[:, j] = ~is_code(rows[:, j])
    return missing


def _find_usual(codes: Codes, n_bins: IntArray, is_category: BoolArray) -> IntArray:
    """Return the bin that most rows have, for features that may share a column; else -1."""
    usual = np.full(len(codes), -1)
    for j in np.flatnonzero(~is_category & (n_bins <= _FEW_BINS)):
        counts = np.bincount(codes[j])
        if counts.max(initial=0) >= _USUAL_SHARE * codes.shape[1]:
            usual[j] = counts.argmax()
    return usual


def _share_columns(codes: Codes, usual: IntArray, n_bins: IntArray) -> _Columns:
    """Put features into one column of which no row has two other bins than usual ones."""
    column, first = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    shared: list[tuple[int, BoolArray]] = []
    n_columns, sizes = 0, dict[int, int]()
    for j in range(len(codes)):
        is_other = codes[j] != usual[j] if usual[j] >= 0 else np.ones(0, bool)
        room = [
            i
            for i, (number, is_taken) in enumerate(shared[-_TRIED:], max(0, len(shared) - _TRIED))
            if usual[j] >= 0
            and sizes[number] + n_bins[j] - 1 <= N_BINS
            and not (is_taken & is_other).any()
        ]
        if room:
            number, is_taken = shared[room[0]]
            shared[room[0]] = number, is_taken | is_other
        else:
            number, n_columns = n_columns, n_columns + 1
            sizes[number] = 1
            if usual[j] >= 0:
                shared.append((number, is_other))
        column[j], first[j] = number, sizes[number]
        sizes[number] += int(n_bins[j]) - 1
    # A feature that is alone has its bins as codes.
    is_alone = np.bincount(column, minlength=n_columns)[column] == 1
    return _Columns(column, np.where(is_alone, 0, first), np.where(is_alone, -1, usual))


def _compose(codes: Codes, columns: _Columns) -> tuple[Codes, NDArray[np.intp]]:
    """Return codes by row and column, and the columns of which some row has two other bins."""
    column, first, usual = columns
    composed = np.zeros((int(column.max(initial=-1)) + 1, codes.shape[1]), np.uint8)
    clash = []
    for j, own in enumerate(codes):
        if usual[j] < 0:
            composed[column[j]] = own
            continue
        places = np.flatnonzero(own != usual[j])
        if composed[column[j], places].any():
            clash.append(column[j])
        composed[column[j], places] = first[j] + own[places] - (own[places] > usual[j])
    return composed.T, np.array(clash, np.intp)


def is_code(values: Any) -> Any:
    """Whether values are whole numbers that a set of categories can hold."""
    xp = namespace(values)
    return (values >= 0.0) & (values < N_CODES) & (values == xp.floor(values))


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
