"""Rows as numbers of bins, which trees are grown on.

The bin of a value is the number of thresholds below it, at most 254. Thresholds depend on the
distinct rows alone, so weights, repetitions and the order of rows do not move them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels, hashing
from fcgboost.arrays import Array, beside, host, is_tensor, namespace

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Codes = NDArray[np.uint8]

# Bins of a feature, missing values included, are numbered by one byte.
N_BINS = 256
#: Categories are codes below this: with missing values they have as many bins as there are.
N_CODES = 255
# Behind the last bin of numbers: all of them go left. Finite, as numbers in files are.
_ABOVE_ALL = np.finfo(np.float64).max
#: Rows that thresholds are chosen by, the first ones: canonical rows stand in a random order.
THRESHOLD_ROWS = 1 << 16
# Rows that are binned at once.
_AT_ONCE = 1 << 16
# Features of so few bins with a usual one of so many rows may share a column; of the columns that
# have room, the newest ones are tried.
_FEW_BINS, _USUAL_SHARE, _TRIED = 128, 0.8, 16


@dataclass(frozen=True)
class Bins:
    """What turns values into bins; `kernels.h` says how features share columns."""

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
    #: The number of distinct rows that thresholds were chosen by.
    n_distinct: int

    def n_rows(self, n: int) -> int:
        """Return the number of distinct rows among n; of very many, of all."""
        return n if n > THRESHOLD_ROWS else self.n_distinct

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.column.max(initial=-1)) + 1

    def numbers(self, rows: Any) -> Any:
        """Return the bins of values, of shape (n_features, n_rows)."""
        if is_tensor(rows):
            return self._numbers_there(rows.T.contiguous())
        values = np.ascontiguousarray(rows.T, dtype=np.float64)
        numbers = np.empty(values.shape, np.uint8)
        for j, n in enumerate(self.n_numbers.tolist()):
            if self.is_category[j]:
                numbers[j] = np.where(is_code(values[j]), values[j], n)
            else:
                _kernels.bin_values(values[j], self.edges[j, : n - 1], n, numbers[j])
        return numbers

    def _numbers_there(self, values: Any) -> Any:
        """Return the bins of values on a device, of shape (n_features, n_rows)."""
        xp, edges = namespace(values), beside(self.edges[:, :-1], values)
        n_numbers = beside(self.n_numbers, values)[:, None]
        numbers = xp.searchsorted(edges, values, out_int32=True).clamp(max=n_numbers - 1)
        numbers = xp.where(xp.isnan(values), n_numbers, numbers)
        if not self.is_category.any():
            return numbers.to(xp.uint8)
        levels = xp.where(is_code(values), values, n_numbers.to(values.dtype))
        is_category = beside(self.is_category, values)[:, None]
        return xp.where(is_category, levels.to(numbers.dtype), numbers).to(xp.uint8)

    def codes(self, rows: Any) -> tuple[Any, NDArray[np.intp]]:
        """Return codes by column and row, and the columns that some row may not share."""
        numbers = self.numbers(rows)
        codes = 0 * numbers[: self.n_columns]
        clash = []
        for j, own in enumerate(numbers):
            column, usual = int(self.column[j]), int(self.usual[j])
            if usual < 0:
                codes[column] = own
                continue
            is_other = own != usual
            clash.append((column, (is_other & (codes[column] != 0)).any()))
            # In one byte: less one above the usual bin.
            moved = own + int(self.first[j] - 1) + (own < usual)
            codes[column] = namespace(own).where(is_other, moved, codes[column])
        return codes, np.array([column for column, is_bad in clash if is_bad], np.intp)

    def unshared(self, columns: NDArray[np.intp], sample: Array) -> Bins:
        """Return bins of which the features of some columns share none."""
        usual = np.where(np.isin(self.column, columns), -1, self.usual)
        alone = replace(self, column=np.arange(len(usual)), usual=usual)
        return alone._shared(self.numbers(sample), usual)

    def _shared(self, numbers: Codes, usual: IntArray) -> Bins:
        """Put features into one column of which no row has two other bins than usual ones."""
        column, first = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
        shared: list[tuple[int, BoolArray]] = []
        n_columns, sizes = 0, dict[int, int]()
        for j in range(len(numbers)):
            is_other = numbers[j] != usual[j] if usual[j] >= 0 else np.ones(0, bool)
            room = [
                i
                for i, (place, is_taken) in enumerate(
                    shared[-_TRIED:], max(0, len(shared) - _TRIED)
                )
                if usual[j] >= 0
                and sizes[place] + self.n_bins[j] - 1 <= N_BINS
                and not (is_taken & is_other).any()
            ]
            if room:
                place, is_taken = shared[room[0]]
                shared[room[0]] = place, is_taken | is_other
            else:
                place, n_columns = n_columns, n_columns + 1
                sizes[place] = 1
                if usual[j] >= 0:
                    shared.append((place, is_other))
            column[j], first[j] = place, sizes[place]
            sizes[place] += int(self.n_bins[j]) - 1
        # A feature that is alone has its bins as codes.
        is_alone = np.bincount(column, minlength=n_columns)[column] == 1
        first, usual = np.where(is_alone, 0, first), np.where(is_alone, -1, usual)
        return replace(self, column=column, first=first, usual=usual)


@dataclass(frozen=True)
class Levels:
    """Of every feature: whether a value is missing, and the largest code of a category."""

    is_missing: BoolArray
    top: IntArray

    @classmethod
    def of(cls, rows: Any, is_category: BoolArray) -> Levels:
        """Look at rows."""
        missing, top = namespace(rows).isnan(rows).any(0), np.zeros(rows.shape[1], np.int64)
        missing = np.array(host(missing))
        for j in np.flatnonzero(is_category):
            values = host(rows[:, int(j)])
            missing[j] = not is_code(values).all()
            top[j] = np.where(is_code(values), values, 0.0).max(initial=0.0)
        return cls(missing, top)

    def __add__(self, other: Levels) -> Levels:
        return Levels(self.is_missing | other.is_missing, np.maximum(self.top, other.top))


def find_bins(sample: Any, levels: Levels, is_category: BoolArray, n_thresholds: int) -> Bins:
    """Find thresholds for every feature, and columns, by a sample of the rows."""
    distinct = np.asarray(sample[_distinct(sample)], dtype=np.float64)
    n_numbers = np.where(is_category, levels.top + 1, 1)
    edges = np.full((len(is_category), N_BINS), _ABOVE_ALL)
    for j in np.flatnonzero(~is_category):
        own = find_thresholds(distinct[:, j], n_thresholds)
        edges[j, : len(own)] = own
        n_numbers[j] = len(own) + 1
    alone, n_bins = np.arange(len(is_category)), n_numbers + levels.is_missing
    facts = n_bins, n_numbers, edges, is_category, len(distinct)
    bins = Bins(alone, np.zeros_like(alone), np.full_like(alone, -1), *facts)
    numbers = bins.numbers(sample)
    return bins._shared(numbers, _find_usual(numbers, bins))


def bin_rows(rows: Any, is_category: BoolArray, n_thresholds: int) -> tuple[Bins, Any]:
    """Return bins, and codes: by row and column, or by column and row on a device."""
    sample = np.ascontiguousarray(host(rows[:THRESHOLD_ROWS]))
    bins = find_bins(sample, Levels.of(rows, is_category), is_category, n_thresholds)
    while True:
        codes, clash = codes_of(bins, rows)
        if len(clash) == 0:
            return bins, codes
        # Of very many rows, some that were not looked at have two of them.
        bins = bins.unshared(clash, sample)


def codes_of(bins: Bins, rows: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return codes, made block by block, and the columns that clash."""
    codes, clash = np.empty((len(rows), bins.n_columns), np.uint8), np.zeros(0, np.intp)
    if is_tensor(rows):
        # Column by column there.
        codes = rows.new_empty(codes.shape[::-1], dtype=namespace(rows).uint8).T
    for start in range(0, len(rows), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        some, found = bins.codes(rows[block])
        codes[block], clash = some.T, np.union1d(clash, found)
    return codes.T if is_tensor(rows) else codes, clash


def _distinct(rows: Any) -> NDArray[np.intp]:
    """Return where distinct rows are."""
    is_missing = np.isnan(rows)
    # Not all NaN have the same bits.
    words = hashing.fingerprint(np.where(is_missing, np.nan, rows) if is_missing.any() else rows)
    return np.asarray(np.unique(words, return_index=True)[1])


def _find_usual(numbers: Codes, bins: Bins) -> IntArray:
    """Return the bin that most rows have, for features that may share a column; else -1."""
    usual = np.full(len(numbers), -1)
    for j in np.flatnonzero(~bins.is_category & (bins.n_bins <= _FEW_BINS)):
        counts = np.bincount(numbers[j])
        if counts.max(initial=0) >= _USUAL_SHARE * numbers.shape[1]:
            usual[j] = counts.argmax()
    return usual


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
