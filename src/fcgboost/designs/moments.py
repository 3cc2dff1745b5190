"""Means and variances of columns; those of parts of the rows add up.

Limits that are off by their last digit give other hashes to the rows that they clip, and so other
draws: sparse and dense rows would have other models. So terms are rounded to multiples of 2^-62 of
a bound of their size, and these are added up in two halves, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.clipping import Flags, Limits, limits_of
from fcgboost.designs.base import Array
from fcgboost.designs.blocks import row_blocks
from fcgboost.dictionaries import Sample

# Small enough for the cache.
_BLOCK_ENTRIES = 1 << 17
_HALF = 2.0**31
# Powers of two beyond these, and their reciprocals, are not for multiplying.
_LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class Moments:
    """What standardisation knows of all rows.

    The variance of a column is zero where its spread between `low` and `high` is mere rounding.
    """

    total_weight: float
    low: Array
    high: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        # A unit scale must not blow up rounding.
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        is_constant = self.high - self.low <= 8.0 * np.finfo(np.float64).eps * size
        object.__setattr__(self, "variance", np.where(is_constant, 0.0, self.variance))

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of the rows of both."""
        total = self.total_weight + other.total_weight
        share, rest = self.total_weight / total, other.total_weight / total
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        with np.errstate(over="ignore", under="ignore"):
            mean = share * self.mean + rest * other.mean
            between = share * rest * (self.mean - other.mean) ** 2
            variance = share * self.variance + rest * other.variance + between
        return Moments(total, low, high, mean, variance)

    def limits(self, n_deviations: float, has_zero: Flags) -> Limits:
        """Return limits so many deviations from the mean; `has_zero` as in `limits_of`."""
        deviation = np.sqrt(self.variance)
        return limits_of(n_deviations, self.mean, deviation, self.low, self.high, has_zero)


class Frame:
    """The coordinates that atoms see: of mean 0 and variance 1 where columns are standardised."""

    def __init__(self, moments: Moments, standardize: bool) -> None:
        mean, variance = moments.mean, moments.variance
        self.low, self.high = moments.low, moments.high
        #: A point in the middle of the data.
        self.center = np.where(variance > 0.0, mean, self.low)
        if standardize:
            self.shift, self.scale = mean, np.where(variance > 0.0, np.sqrt(variance), 1.0)
        else:
            self.shift, self.scale = np.zeros_like(mean), np.ones_like(mean)
        self.deviation = np.sqrt(variance)
        self.variance = float(np.mean(variance / self.scale**2))
        self.mean_square = float(np.sum((variance + (mean - self.shift) ** 2) / self.scale**2))

    def sample(self, rows: Any) -> Sample:
        """Return what a dictionary may look at."""
        return Sample(
            rows, self.shift, self.scale, self.low, self.high, self.variance, self.mean_square
        )


def moments_of(X: Any, weights: Array) -> Moments:
    """Return the moments of rows in this process."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    low, high = low.astype(np.float64), high.astype(np.float64)
    total, shares = float(weights.sum()), weights * np.ldexp(1.0, -_exponents(weights.max()))
    with np.errstate(over="ignore", under="ignore"):
        exponents = _exponents(np.maximum(np.abs(low), np.abs(high)))
        mean = np.ldexp(_column_sums(X, shares, exponents) / shares.sum(), exponents)
        exponents = _exponents(np.maximum(np.abs(low - mean), np.abs(high - mean)))
        squares = _column_sums(X, shares, exponents, mean)
        variance = np.ldexp(squares / shares.sum(), 2 * exponents)
    return Moments(total, low, high, mean, variance)


def _column_sums(X: Any, shares: Array, exponents: Any, mean: Array | None = None) -> Array:
    """Return the weighted sums of the columns or, with a mean, of their squared deviations.

    In units of powers of two, so that no square is too large or too small, and in two halves of 31
    bits, which are added up exactly.
    """
    factors, n_features = np.ldexp(1.0, -exponents), X.shape[1]
    high, low = np.zeros((2, n_features))
    if not sparse.issparse(X):
        for rows in row_blocks(X.shape[0], _BLOCK_ENTRIES // max(1, n_features)):
            terms = X[rows] * factors if mean is None else ((X[rows] - mean) * factors) ** 2
            for total, half in zip((high, low), _halves(terms * shares[rows, None]), strict=True):
                total += half.sum(axis=0)
        return np.asarray(np.ldexp(high, -31) + np.ldexp(low, -62))
    columns, heavy = X.indices, np.repeat(shares, np.diff(X.indptr))
    terms, others = X.data * factors[columns], np.zeros(n_features)
    if mean is not None:
        terms = ((X.data - mean[columns]) * factors[columns]) ** 2
        not_stored = np.maximum(shares.sum() - np.bincount(columns, heavy, n_features), 0.0)
        others = not_stored * (mean * factors) ** 2
    high, low = (np.bincount(columns, half, n_features) for half in _halves(terms * heavy))
    return np.asarray(np.ldexp(high, -31) + np.ldexp(low, -62) + others)


def _halves(terms: Array) -> tuple[Array, Array]:
    """Return terms in units of 2^-31 as whole numbers, and what is left in units of 2^-62."""
    scaled = terms * _HALF
    whole = np.rint(scaled)
    scaled -= whole
    scaled *= _HALF
    return whole, np.rint(scaled, out=scaled)


def _exponents(sizes: Any) -> NDArray[np.intp]:
    """Return e with sizes at most 2^e."""
    exponents = np.frexp(np.atleast_1d(np.asarray(sizes, dtype=np.float64)))[1].astype(np.intp)
    return np.clip(exponents, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)
