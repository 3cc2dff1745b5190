"""Binned rows, on which trees are grown.

The bin of a value is the number of thresholds below it, at most 254. Thresholds depend only on the
distinct rows: not on weights, repetitions or the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels, hashing, threads
from fcgboost.arrays import (
    Array,
    Codes,
    Flags,
    Matrix,
    Tensor,
    is_tensor,
    namespace,
    to_device_of,
    to_numpy,
)

IntArray = NDArray[np.int64]
ByteCodes = NDArray[np.uint8]
#: Bin numbers or codes, in memory or on a device.
ByteMatrix: TypeAlias = ByteCodes | Tensor

# A bin number, missing values included, is one byte.
N_BINS = 256
#: The largest number of thresholds of a feature, which leaves bins for missing values.
N_THRESHOLDS = 250
#: Category codes are below this, which leaves one bin for missing values.
N_CODES = 255
# The threshold after the last bin: all numbers go left. Finite, as numbers in files are.
_ABOVE_ALL = np.finfo(np.float64).max
#: Thresholds are chosen from the first rows: canonical rows are in random order.
THRESHOLD_ROWS = 1 << 16
# Rows binned at once on a device.
_AT_ONCE = 1 << 16
# Fewer rows are sorted in less time than a thread takes to start.
_WORTH_A_THREAD = 1 << 12
# Features with at most this many bins, one of which has this share of the rows, may share a
# column; the newest columns with room are tried.
_FEW_BINS = 128
_USUAL_SHARE = 0.8
_TRIED = 16


@dataclass(frozen=True)
class Bins:
    """Maps values to bins; see `kernels.h` for how features share columns."""

    column: IntArray
    first: IntArray
    default_bin: IntArray
    #: Bins of each feature; the last is for missing values, if there are any.
    n_bins: IntArray
    #: Bins of numbers or categories.
    n_numbers: IntArray
    #: The thresholds between consecutive bins, of shape (n_features, 256).
    edges: Array
    is_category: Flags
    #: The number of distinct rows that determined the thresholds.
    n_distinct: int

    def n_rows(self, n: int) -> int:
        """Return the number of distinct rows among n; if there are very many, n itself."""
        return n if n > THRESHOLD_ROWS else self.n_distinct

    @property
    def n_columns(self) -> int:
        return int(self.column.max(initial=-1)) + 1

    def numbers(self, rows: Matrix) -> ByteMatrix:
        """Return the bins of values, of shape (n_features, n_rows)."""
        if is_tensor(rows):
            return self._numbers_there(rows.T.contiguous())
        alone = replace(
            self,
            column=np.arange(len(self.column)),
            default_bin=np.full_like(self.default_bin, -1),
        )
        return np.ascontiguousarray(_kernels.code_rows(alone, rows)[0].T)

    def _numbers_there(self, values: Tensor) -> Tensor:
        """As `numbers`, on a device."""
        xp = namespace(values)
        edges = to_device_of(self.edges[:, :-1], values)
        n_numbers = to_device_of(self.n_numbers, values)[:, None]
        numbers = xp.searchsorted(edges, values, out_int32=True).clamp(max=n_numbers - 1)
        numbers = xp.where(xp.isnan(values), n_numbers, numbers)
        if not self.is_category.any():
            return numbers.to(xp.uint8)
        levels = xp.where(is_code(values), values, n_numbers.to(values.dtype))
        is_category = to_device_of(self.is_category, values)[:, None]
        return xp.where(is_category, levels.to(numbers.dtype), numbers).to(xp.uint8)

    def codes_there(self, rows: Tensor) -> tuple[Tensor, Codes]:
        """Return codes by column and row, and the columns whose features clash, on a device."""
        numbers = self.numbers(rows)
        codes = 0 * numbers[: self.n_columns]
        clash = []
        for j, feature in enumerate(numbers):
            column = int(self.column[j])
            default_bin = int(self.default_bin[j])
            if default_bin < 0:
                codes[column] = feature
                continue
            is_other = feature != default_bin
            if (is_other & (codes[column] != 0)).any():
                clash.append(column)
            # In one byte: bins above the default one move down by one.
            moved = feature + int(self.first[j] - 1) + (feature < default_bin)
            codes[column] = namespace(rows).where(is_other, moved, codes[column])
        return codes, np.array(clash, np.intp)

    def unshared(self, columns: Codes, sample: Array) -> Bins:
        """Return bins in which the features of some columns share none."""
        default_bin = np.where(np.isin(self.column, columns), -1, self.default_bin)
        alone = replace(self, column=np.arange(len(default_bin)), default_bin=default_bin)
        return alone._shared(self.numbers(sample), default_bin)

    def _shared(self, numbers: ByteCodes, default_bin: IntArray) -> Bins:
        """Let features share a column if no row has other than the default bin in two of them."""
        column = np.zeros(len(numbers), np.int64)
        first = np.zeros(len(numbers), np.int64)
        #: The columns with room, and their rows that have other than the default bin.
        shared: dict[int, Flags] = {}
        sizes = list[int]()
        for j in range(len(numbers)):
            n_others = int(self.n_bins[j]) - 1
            home = len(sizes)
            if default_bin[j] >= 0:
                is_other = numbers[j] != default_bin[j]
                for candidate in list(shared)[-_TRIED:]:
                    has_room = sizes[candidate] + n_others <= N_BINS
                    if has_room and not (shared[candidate] & is_other).any():
                        home = candidate
                        break
                shared[home] = is_other | shared.get(home, False)
            if home == len(sizes):
                sizes.append(1)
            column[j] = home
            first[j] = sizes[home]
            sizes[home] += n_others
        # A feature that shares no column uses its bins as codes.
        is_alone = np.bincount(column)[column] == 1
        return replace(
            self,
            column=column,
            first=np.where(is_alone, 0, first),
            default_bin=np.where(is_alone, -1, default_bin),
        )


@dataclass(frozen=True)
class Levels:
    """For each feature, whether a value is missing and the largest category code."""

    is_missing: Flags
    top: IntArray

    @classmethod
    def of(cls, rows: Matrix, is_category: Flags) -> Levels:
        """Find the levels of rows."""
        missing: Flags = np.array(to_numpy(namespace(rows).isnan(rows).any(0)), bool)
        top = np.zeros(rows.shape[1], np.int64)
        for j in np.flatnonzero(is_category):
            values = to_numpy(rows[:, int(j)])
            missing[j] = not is_code(values).all()
            top[j] = np.where(is_code(values), values, 0.0).max(initial=0.0)
        return cls(missing, top)

    def __add__(self, other: Levels) -> Levels:
        return Levels(self.is_missing | other.is_missing, np.maximum(self.top, other.top))


def find_bins(sample: Matrix, levels: Levels, is_category: Flags) -> Bins:
    """Find the thresholds and columns of all features from a sample of the rows."""
    distinct = sample[_distinct(sample)]
    n_numbers = np.where(is_category, levels.top + 1, 1)
    edges = np.full((len(is_category), N_BINS), _ABOVE_ALL)
    numbers = np.flatnonzero(~is_category).tolist()

    def thresholds_of(j: int) -> Array:
        return find_thresholds(distinct[:, j].astype(np.float64), N_THRESHOLDS)

    found = threads.each(
        thresholds_of,
        numbers,
        None if len(distinct) >= _WORTH_A_THREAD else 1,
    )
    for j, thresholds in zip(numbers, found, strict=True):
        edges[j, : len(thresholds)] = thresholds
        n_numbers[j] = len(thresholds) + 1
    alone = np.arange(len(is_category))
    bins = Bins(
        column=alone,
        first=np.zeros_like(alone),
        default_bin=np.full_like(alone, -1),
        n_bins=n_numbers + levels.is_missing,
        n_numbers=n_numbers,
        edges=edges,
        is_category=is_category,
        n_distinct=len(distinct),
    )
    codes = bins.numbers(sample)
    return bins._shared(codes, _find_default(codes, bins))


def bin_rows(rows: Matrix, is_category: Flags) -> tuple[Bins, ByteMatrix]:
    """Return bins and codes: by row and column, or by column and row on a device."""
    sample = np.ascontiguousarray(to_numpy(rows[:THRESHOLD_ROWS]))
    bins = find_bins(sample, Levels.of(rows, is_category), is_category)
    while True:
        codes, clash = codes_of(bins, rows)
        if len(clash) == 0:
            return bins, codes
        # Among very many rows, some outside the sample clash.
        bins = bins.unshared(clash, sample)


def codes_of(bins: Bins, rows: Matrix) -> tuple[ByteMatrix, Codes]:
    """Return the codes of rows and the columns that clash, block by block on a device."""
    if not is_tensor(rows):
        by_row, clashes = _kernels.code_rows(bins, rows)
        return by_row, np.flatnonzero(clashes)
    # Column by column on a device.
    codes = rows.new_empty((bins.n_columns, len(rows)), dtype=namespace(rows).uint8)
    clash = np.zeros(0, np.intp)
    for start in range(0, len(rows), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        codes[:, block], clash_here = bins.codes_there(rows[block])
        clash = np.union1d(clash, clash_here)
    return codes, clash


def _distinct(rows: Matrix) -> Codes:
    """Return the positions of distinct rows."""
    is_missing = np.isnan(rows)
    if is_missing.any():
        # NaNs may differ in their bits.
        rows = np.where(is_missing, np.nan, rows)
    row_hashes = hashing.fingerprint(rows)
    return np.unique(row_hashes, return_index=True)[1]


def _find_default(numbers: ByteCodes, bins: Bins) -> IntArray:
    """Return the most frequent bin of features that may share a column; -1 for others."""
    default_bin = np.full(len(numbers), -1)
    for j in np.flatnonzero(~bins.is_category & (bins.n_bins <= _FEW_BINS)):
        counts = np.bincount(numbers[j])
        if counts.max(initial=0) >= _USUAL_SHARE * numbers.shape[1]:
            default_bin[j] = counts.argmax()
    return default_bin


def is_code(values: Matrix) -> Matrix:
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
        rows = _spaced(n_thresholds - n_by_value, len(column))
        by_row = np.searchsorted(ends, rows)
        chosen = np.concatenate([by_value, by_row])
        ends = ends[np.unique(np.minimum(chosen, len(ends) - 1))]
    lower = column[ends]
    upper = column[ends + 1]
    middle = 0.5 * lower + 0.5 * upper
    # The upper value must not go left by rounding.
    return np.where((middle >= lower) & (middle < upper), middle, lower)


def _spaced(n: int, size: int) -> IntArray:
    """Return n indices that cut `size` items into n + 1 equal pieces."""
    return (np.arange(1, n + 1) * size - 1) // (n + 1)
