"""Means and variances of columns; those of parts of the rows add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from fcgboost import threads
from fcgboost.arrays import Matrix, SparseMatrix
from fcgboost.clipping import FAR, NEAR
from fcgboost.designs.base import Array
from fcgboost.designs.blocks import row_blocks
from fcgboost.dictionaries import Sample

# Blocks fit into the cache.
_BLOCK_ENTRIES = 1 << 17
# Blocks that a thread takes at once.
_PART = 16
# Larger constants would hide the other columns, so they are their own unit.
_LARGEST_CONSTANT = 2.0**20


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
        size = self.largest
        half = self.high / 2.0 - self.low / 2.0  # the whole may be infinite
        is_constant = half <= np.maximum(4.0 * np.finfo(np.float64).eps * size, NEAR)
        variance = np.nan_to_num(self.variance, nan=FAR**2, posinf=FAR**2)
        object.__setattr__(self, "variance", np.where(is_constant, 0.0, variance))
        object.__setattr__(self, "mean", np.nan_to_num(self.mean))

    @property
    def largest(self) -> Array:
        """The largest magnitude in each column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def __add__(self, other: Moments) -> Moments:
        total = self.total_weight + other.total_weight
        share = self.total_weight / total
        rest = other.total_weight / total
        low = np.minimum(self.low, other.low)
        high = np.maximum(self.high, other.high)
        with np.errstate(over="ignore", under="ignore"):
            mean = share * self.mean + rest * other.mean
            between = share * rest * (self.mean - other.mean) ** 2
            variance = share * self.variance + rest * other.variance + between
        return Moments(
            total_weight=total,
            low=low,
            high=high,
            mean=mean,
            variance=variance,
        )


class Frame:
    """The coordinates that atoms see, standardised if asked for."""

    def __init__(self, moments: Moments, standardize: bool) -> None:
        mean = moments.mean
        variance = moments.variance
        self.low = moments.low
        self.high = moments.high
        #: A point in the middle of the data.
        self.center = np.where(variance > 0.0, mean, self.low)
        if standardize:
            size = np.abs(self.low)
            unit = np.where(size > _LARGEST_CONSTANT, size, 1.0)
            self.shift = mean
            self.scale = np.where(variance > 0.0, np.sqrt(variance), unit)
        else:
            self.shift = np.zeros_like(mean)
            self.scale = np.ones_like(mean)
        self.deviation = np.sqrt(variance)
        with np.errstate(over="ignore"):  # only with trees, which do not use it
            self.variance = float(np.mean(variance / self.scale**2))
            self.mean_square = float(np.sum((variance + (mean - self.shift) ** 2) / self.scale**2))

    def is_within(self, reach: float, farthest: float) -> bool:
        """Return whether no row is farther from the centre than `reach`, nor the centre from 0."""
        spread = np.maximum(self.high - self.center, self.center - self.low) / self.scale
        distance = np.abs(self.center) / self.scale
        return bool((spread <= reach).all() and (distance <= farthest).all())

    def sample(self, rows: Matrix) -> Sample:
        return Sample(
            rows,
            shift=self.shift,
            scale=self.scale,
            low=self.low,
            high=self.high,
            variance=self.variance,
            mean_square=self.mean_square,
        )


def moments_of(X: Matrix, weights: Array) -> Moments:
    """Return the moments of rows in this process."""
    total = float(weights.sum())
    shares = weights / total
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            return Moments(total, *_sparse_moments(X, shares))
        return Moments(total, *_dense_moments(X, shares))


def _dense_moments(X: Matrix, shares: Array) -> tuple[Array, ...]:
    blocks = row_blocks(X.shape[0], _BLOCK_ENTRIES // max(1, X.shape[1]))
    parts = [blocks[start : start + _PART] for start in range(0, len(blocks), _PART)]

    def values(part: Sequence[slice]) -> Iterator[tuple[slice, Array]]:
        """Yield the values of blocks, in the same memory."""
        # In C order: the last digits must not depend on the memory layout of X.
        room = np.empty((part[0].stop - part[0].start, X.shape[1]))
        for rows in part:
            block = room[: rows.stop - rows.start]
            np.copyto(block, X[rows])
            yield rows, block

    def first(part: Sequence[slice]) -> tuple[list[Array], Array, Array]:
        """Return the sums of some blocks, and the extremes."""
        # Blocks are compared elementwise first, because columns may be few.
        sums = []
        low = np.array(X[part[0]], np.float64)
        high = low.copy()
        for rows, block in values(part):
            n_rows = len(block)
            sums.append(shares[rows] @ block)
            np.minimum(low[:n_rows], block, out=low[:n_rows])
            np.maximum(high[:n_rows], block, out=high[:n_rows])
        return sums, low.min(axis=0), high.max(axis=0)

    def second(part: Sequence[slice]) -> list[Array]:
        squares = []
        for rows, block in values(part):
            block -= mean
            np.square(block, out=block)
            squares.append(shares[rows] @ block)
        return squares

    sums, lows, highs = zip(*threads.each(first, parts), strict=True)
    mean = np.sum(list(chain(*sums)), axis=0)
    variance = np.sum(list(chain(*threads.each(second, parts))), axis=0)
    return np.min(lows, axis=0), np.max(highs, axis=0), mean, variance


def _sparse_moments(X: SparseMatrix, shares: Array) -> tuple[Array, ...]:
    low = X.min(0).toarray().ravel().astype(np.float64)
    high = X.max(0).toarray().ravel().astype(np.float64)
    columns = X.indices
    shares_of_entries = np.repeat(shares, np.diff(X.indptr))

    def sums(terms: Array | float) -> Array:
        products = shares_of_entries * terms
        return np.asarray(np.bincount(columns, products, X.shape[1]), np.float64)

    mean = sums(X.data)
    variance = sums((X.data - mean[columns]) ** 2)
    # If all entries are stored, the remaining weight is rounding.
    is_full = np.bincount(columns, minlength=X.shape[1]) == X.shape[0]
    rest = np.where(is_full, 0.0, np.maximum(1.0 - sums(1.0), 0.0))
    return low, high, mean, variance + rest * mean**2
