"""Means and variances of columns; those of parts of the rows add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.clipping import FAR, NEAR, Limits, fences_of, limits_of
from fcgboost.designs.base import Array
from fcgboost.designs.blocks import row_blocks
from fcgboost.dictionaries import Dictionary, Sample
from fcgboost.tables.inputs import views_of

# Blocks fit into the cache.
_BLOCK_ENTRIES = 1 << 17
# Values this many deviations from the mean may be wild; larger constants would hide other columns.
_ODD, _LARGEST_CONSTANT = 4.0, 2.0**20
# With more columns, such as word counts, none is examined for wild values.
_MOST_COLUMNS = 256


@dataclass(frozen=True)
class Moments:
    """The moments of all rows, for standardisation.

    The variance of a column is zero if its spread is rounding, or too small to square.
    """

    total_weight: float
    low: Array
    high: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        # Standardisation must not amplify rounding.
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        half = self.high / 2.0 - self.low / 2.0  # the whole may be infinite
        is_constant = half <= np.maximum(4.0 * np.finfo(np.float64).eps * size, NEAR)
        variance = np.nan_to_num(self.variance, nan=FAR**2, posinf=FAR**2)
        object.__setattr__(self, "variance", np.where(is_constant, 0.0, variance))
        object.__setattr__(self, "mean", np.nan_to_num(self.mean))

    def __add__(self, other: Moments) -> Moments:
        total = self.total_weight + other.total_weight
        share, rest = self.total_weight / total, other.total_weight / total
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        with np.errstate(over="ignore", under="ignore"):
            mean = share * self.mean + rest * other.mean
            between = share * rest * (self.mean - other.mean) ** 2
            variance = share * self.variance + rest * other.variance + between
        return Moments(total, low, high, mean, variance)


class Frame:
    """The coordinates that atoms see, standardised if asked for."""

    def __init__(self, moments: Moments, standardize: bool) -> None:
        mean, variance = moments.mean, moments.variance
        self.low, self.high = moments.low, moments.high
        #: A point in the middle of the data.
        self.center = np.where(variance > 0.0, mean, self.low)
        if standardize:
            unit = np.where(np.abs(self.low) > _LARGEST_CONSTANT, np.abs(self.low), 1.0)
            self.shift, self.scale = mean, np.where(variance > 0.0, np.sqrt(variance), unit)
        else:
            self.shift, self.scale = np.zeros_like(mean), np.ones_like(mean)
        self.deviation = np.sqrt(variance)
        with np.errstate(over="ignore"):  # only with trees, which do not use it
            self.variance = float(np.mean(variance / self.scale**2))
            self.mean_square = float(np.sum((variance + (mean - self.shift) ** 2) / self.scale**2))

    def sample(self, rows: Any) -> Sample:
        return Sample(
            rows, self.shift, self.scale, self.low, self.high, self.variance, self.mean_square
        )


def find_limits(
    clip: float | None, dictionary: Dictionary, *asked: Callable[[Any], Any]
) -> tuple[Limits | None, Moments]:
    """Return the limits to which rows are clipped, if any, and the moments within them."""
    moments_within, ends_of, zeros_within = asked
    limits, moments = None, moments_within(None)
    categories, ends = dictionary.categories(len(moments.mean)), (moments.low, moments.high)
    half = np.abs(np.divide(ends, 2.0) - moments.mean / 2.0).max(axis=0)
    is_odd = np.abs(ends).max(axis=0) > FAR
    if len(is_odd) <= _MOST_COLUMNS:
        is_odd |= half > _ODD / 2.0 * np.sqrt(moments.variance)
    if is_odd.any() and views_of(dictionary)[0]:  # wild values do not harm trees
        fences = fences_of(is_odd, ends_of(is_odd)).without(categories)
        # Values that determine the mean, such as zeros of sparse rows, are not outliers.
        low, high = fences.low / 1.5 + ends[0] / 3.0, fences.high / 1.5 + ends[1] / 3.0
        is_usual = (moments.mean < low) | (moments.mean > high)
        fences = fences.without(is_usual & (np.abs(ends).max(axis=0) <= FAR))
        if (ends[0] < fences.low).any() or (ends[1] > fences.high).any():
            limits, moments = fences, moments_within(fences)
    if clip is not None:
        known = moments.mean, np.sqrt(moments.variance), moments.low, moments.high
        limits = limits_of(clip, *known, zeros_within(limits)).without(categories)
        moments = moments_within(limits)
    return limits, moments


def moments_of(X: Any, weights: Array) -> Moments:
    """Return the moments of rows in this process."""
    total = float(weights.sum())
    find = _sparse_moments if sparse.issparse(X) else _dense_moments
    with np.errstate(over="ignore", under="ignore"):
        return Moments(total, *find(X, weights / total))


def _dense_moments(X: Any, shares: Array) -> tuple[Array, ...]:
    blocks = row_blocks(X.shape[0], _BLOCK_ENTRIES // max(1, X.shape[1]))

    def parts() -> Iterator[tuple[Array, Array]]:
        # In C order: the last digits must not depend on the memory layout of X.
        return ((np.ascontiguousarray(X[rows], np.float64), shares[rows]) for rows in blocks)

    # Blocks are compared elementwise first, because columns may be few.
    sums, (low, high) = [], (np.array(X[blocks[0]], np.float64, order="C") for _ in range(2))
    for part, own in parts():
        sums.append(own @ part)
        np.minimum(low[: len(part)], part, out=low[: len(part)])
        np.maximum(high[: len(part)], part, out=high[: len(part)])
    mean = np.sum(sums, axis=0)
    variance = np.sum([own @ (part - mean) ** 2 for part, own in parts()], axis=0)
    return low.min(axis=0), high.max(axis=0), mean, variance


def _sparse_moments(X: Any, shares: Array) -> tuple[Array, ...]:
    low, high = (side.toarray().ravel().astype(np.float64) for side in (X.min(0), X.max(0)))
    columns, own = X.indices, np.repeat(shares, np.diff(X.indptr))

    def sums(terms: Any) -> Array:
        return np.asarray(np.bincount(columns, own * terms, X.shape[1]), np.float64)

    mean = sums(X.data)
    variance = sums((X.data - mean[columns]) ** 2)
    # If all entries are stored, the remaining weight is rounding.
    is_full = np.bincount(columns, minlength=X.shape[1]) == X.shape[0]
    rest = np.where(is_full, 0.0, np.maximum(1.0 - sums(1.0), 0.0))
    return low, high, mean, variance + rest * mean**2
