"""Binned rows, on which trees are grown.

The bin of a value is the number of thresholds below it, at most 254. Thresholds depend only on the
distinct rows: not on weights, repetitions or the order of rows.
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

# A bin number, missing values included, is one byte.
N_BINS = 256
#: Category codes are below this, which leaves one bin for missing values.
N_CODES = 255
# The threshold after the last bin: all numbers go left. Finite, as numbers in files are.
_ABOVE_ALL = np.finfo(np.float64).max
#: Thresholds are chosen from the first rows: canonical rows are in random order.
THRESHOLD_ROWS = 1 << 16
# Rows binned at once.
_AT_ONCE = 1 << 16
# Features with at most this many bins, one of which has this share of the rows, may share a
# column; the newest columns with room are tried.
_FEW_BINS, _USUAL_SHARE, _TRIED = 128, 0.8, 16


@dataclass(frozen=True)
class Bins:
    """Maps values to bins; see `kernels.h` for how features share columns."""

    column: IntArray
    first: IntArray
    usual: IntArray
    #: Bins of each feature; the last is for missing values, if there are any.
    n_bins: IntArray
    #: Bins of numbers or categories.
    n_numbers: IntArray
    #: The thresholds between consecutive bins, of shape (n_features, 256).
    edges: Array
    is_category: BoolArray
    #: The number of distinct rows that determined the thresholds.
    n_distinct: int

    def n_rows(self, n: int) -> int:
        """Return the number of distinct rows among n; if there are very many, n itself."""
        return n if n > THRESHOLD_ROWS else self.n_distinct

    @property
    def n_columns(self) -> int:
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
        """As `numbers`, on a device."""
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
        """Return codes by column and row, and the columns whose features clash in some row."""
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
            # In one byte: bins above the usual one move down by one.
            moved = own + int(self.first[j] - 1) + (own < usual)
            codes[column] = namespace(own).where(is_other, moved, codes[column])
        return codes, np.array([column for column, is_bad in clash if is_bad], np.intp)

    def unshared(self, columns: NDArray[np.intp], sample: Array) -> Bins:
        """Return bins in which the features of some columns share none."""
        usual = np.where(np.isin(self.column, columns), -1, self.usual)
        alone = replace(self, column=np.arange(len(usual)), usual=usual)
        return alone._shared(self.numbers(sample), usual)

    def _shared(self, numbers: Codes, usual: IntArray) -> Bins:
        """Let features share a column if no row has unusual bins in two of them."""
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
        # A feature that shares no column uses its bins as codes.
        is_alone = np.bincount(column, minlength=n_columns)[column] == 1
        first, usual = np.where(is_alone, 0, first), np.where(is_alone, -1, usual)
        return replace(self, column=column, first=first, usual=usual)


@dataclass(frozen=True)
class Levels:
    """For each feature, whether a value is missing and the largest category code."""

    is_missing: BoolArray
    top: IntArray

    @classmethod
    def of(cls, rows: Any, is_category: BoolArray) -> Levels:
        """Find the levels of rows."""
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
    """Find the thresholds and columns of all features from a sample of the rows."""
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
    """Return bins and codes: by row and column, or by column and row on a device."""
    sample = np.ascontiguousarray(host(rows[:THRESHOLD_ROWS]))
    bins = find_bins(sample, Levels.of(rows, is_category), is_category, n_thresholds)
    while True:
        codes, clash = codes_of(bins, rows)
        if len(clash) == 0:
            return bins, codes
        # Among very many rows, some outside the sample clash.
        bins = bins.unshared(clash, sample)


def codes_of(bins: Bins, rows: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return codes, block by block, and the columns that clash."""
    codes, clash = np.empty((len(rows), bins.n_columns), np.uint8), np.zeros(0, np.intp)
    if is_tensor(rows):
        # Column by column on a device.
        codes = rows.new_empty(codes.shape[::-1], dtype=namespace(rows).uint8).T
    for start in range(0, len(rows), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        some, found = bins.codes(rows[block])
        codes[block], clash = some.T, np.union1d(clash, found)
    return codes.T if is_tensor(rows) else codes, clash


def _distinct(rows: Any) -> NDArray[np.intp]:
    """Return the positions of distinct rows."""
    is_missing = np.isnan(rows)
    # NaNs may differ in their bits.
    words = hashing.fingerprint(np.where(is_missing, np.nan, rows) if is_missing.any() else rows)
    return np.asarray(np.unique(words, return_index=True)[1])


def _find_usual(numbers: Codes, bins: Bins) -> IntArray:
    """Return the most frequent bin of features that may share a column; -1 for others."""
    usual = np.full(len(numbers), -1)
    for j in np.flatnonzero(~bins.is_category & (bins.n_bins <= _FEW_BINS)):
        counts = np.bincount(numbers[j])
        if counts.max(initial=0) >= _USUAL_SHARE * numbers.shape[1]:
            usual[j] = counts.argmax()
    return usual


def is_code(values: Any) -> Any:
    """Return whether values are valid category codes."""
    xp = namespace(values)
    return (values >= 0.0) & (values < N_CODES) & (values == xp.floor(values))


def find_thresholds(column: Array, n_thresholds: int) -> Array:
    """Choose thresholds of one feature between neighbouring values of the distinct rows.

    All of them if few enough; otherwise half at quantiles of the rows, half at quantiles of the
    distinct values, which resolve the others if most rows are zero.
    """
    # Adding 0.0 merges zeros of either sign.
    column = np.sort(column[~np.isnan(column)]) + 0.0
    ends = np.flatnonzero(np.diff(column) > 0.0)  # the last row of each value but the largest
    if len(ends) > n_thresholds:
        n_by_value = n_thresholds // 2
        by_value = _spaced(n_by_value, len(ends) + 1)
        by_row = np.searchsorted(ends, _spaced(n_thresholds - n_by_value, len(column)))
        ends = ends[np.unique(np.minimum(np.concatenate([by_value, by_row]), len(ends) - 1))]
    lower, upper = column[ends], column[ends + 1]
    middle = 0.5 * lower + 0.5 * upper
    # The upper value must not go left by rounding.
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def _spaced(n: int, size: int) -> IntArray:
    """Return n indices that cut `size` items into n + 1 equal pieces."""
    return (np.arange(1, n + 1) * size - 1) // (n + 1)
