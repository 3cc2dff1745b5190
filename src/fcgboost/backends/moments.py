"""Means and variances of columns: of rows in this process, or of rows that lie in parts.

A scale that is off by its last digit shows in every atom. So terms are rounded to multiples of
2^-62 of a bound of their size, and these are added up as whole numbers (`sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.backends.base import Array
from fcgboost.backends.blocks import row_blocks
from fcgboost.clipping import Flags, Limits, limits_of
from fcgboost.dictionaries import Sample
from fcgboost.sums import ExactSum, exponents_of, halves, units_of

# Small enough for the cache.
_BLOCK_ENTRIES = 1 << 17


@dataclass(frozen=True)
class Extent:
    """The bounding box of weighted rows, and the largest weight."""

    low: Array
    high: Array
    heaviest: float

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            max(self.heaviest, other.heaviest),
        )


@dataclass(frozen=True)
class Moments:
    """What standardisation knows of all rows.

    Attributes
    ----------
    total_weight : float
    low, high : ndarray of shape (n_features,)
        The bounding box.
    mean, variance : ndarray of shape (n_features,)
        The variance is zero where a column's spread is mere rounding.
    """

    total_weight: float
    low: Array
    high: Array
    mean: Array
    variance: Array

    def limits(self, n_deviations: float, has_zero: Flags) -> Limits:
        """Return limits so many deviations from the mean; `has_zero` as in `limits_of`."""
        deviation = np.sqrt(self.variance)
        return limits_of(n_deviations, self.mean, deviation, self.low, self.high, has_zero)


class Frame:
    """The coordinates that atoms see: where the data lies, and its units.

    Parameters
    ----------
    moments : Moments
    standardize : bool
        Whether atoms see columns of mean 0 and variance 1.
    """

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


#: Gives the sum over all parts of the rows of a function of X, the weights, and more.
Ask = Callable[..., Any]


def gather_moments(ask: Ask) -> Moments:
    """Find the moments of rows that lie in parts, in three rounds.

    Parameters
    ----------
    ask : callable
        ``ask(function, *arguments)`` adds up ``function(X, weights, *arguments)`` over the parts.
    """
    extent: Extent = ask(measure_extent)
    mass, sums = ask(sum_up, extent)
    (heaviest,) = exponents_of(extent.heaviest)
    counted = float(mass.value[0])
    with np.errstate(over="ignore", under="ignore"):
        mean = np.ldexp(sums.value / counted, exponents_of(_reach(extent, 0.0)))
        exponents = exponents_of(_reach(extent, mean))
        zeros, squares = ask(sum_up_squares, extent, mean)
        far = zeros.value * np.ldexp(mean, -exponents) ** 2
        variance = np.ldexp((squares.value + far) / counted, 2 * exponents)
        total = float(np.ldexp(counted, heaviest))
    return _moments(total, extent, mean, variance)


def _moments(total: float, extent: Extent, mean: Array, variance: Array) -> Moments:
    # A unit scale must not blow up what is mere rounding.
    size = np.maximum(np.abs(extent.low), np.abs(extent.high))
    is_constant = extent.high - extent.low <= 8.0 * np.finfo(np.float64).eps * size
    return Moments(total, extent.low, extent.high, mean, np.where(is_constant, 0.0, variance))


def moments_of(X: Any, weights: Array) -> Moments:
    """Find the moments of rows in this process."""
    extent, total = measure_extent(X, weights), float(weights.sum())
    shares = units_of(weights, extent.heaviest)
    with np.errstate(over="ignore", under="ignore"):
        exponents = exponents_of(_reach(extent, 0.0))
        mean = np.ldexp(_column_sums(X, shares, exponents) / shares.sum(), exponents)
        exponents = exponents_of(_reach(extent, mean))
        squares = _column_sums(X, shares, exponents, mean)
        variance = np.ldexp(squares / shares.sum(), 2 * exponents)
    return _moments(total, extent, mean, variance)


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
            for total, half in zip((high, low), halves(terms * shares[rows, None]), strict=True):
                total += half.sum(axis=0)
        return np.asarray(np.ldexp(high, -31) + np.ldexp(low, -62))
    columns, heavy = X.indices, np.repeat(shares, np.diff(X.indptr))
    terms, others = X.data * factors[columns], np.zeros(n_features)
    if mean is not None:
        terms = ((X.data - mean[columns]) * factors[columns]) ** 2
        not_stored = np.maximum(shares.sum() - np.bincount(columns, heavy, n_features), 0.0)
        others = not_stored * (mean * factors) ** 2
    high, low = (np.bincount(columns, half, n_features) for half in halves(terms * heavy))
    return np.asarray(np.ldexp(high, -31) + np.ldexp(low, -62) + others)


def measure_extent(X: Any, weights: Array) -> Extent:
    """Look for the smallest and the largest values."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray(), high.toarray()
    low, high = (np.asarray(side, np.float64).ravel() for side in (low, high))
    return Extent(low, high, float(weights.max()))


def sum_up(X: Any, weights: Array, extent: Extent) -> Pair:
    """Return the sums of the weights, and of the weighted columns."""
    units, reach = units_of(weights, extent.heaviest), _reach(extent, 0.0)
    factors = np.ldexp(1.0, -exponents_of(reach))
    mass = ExactSum.of(units[:, None])
    if sparse.issparse(X):
        terms = X.data * factors[X.indices] * np.repeat(units, np.diff(X.indptr))
        return Pair(mass, ExactSum.of_columns(terms, X.indices, X.shape[1]))
    return Pair(mass, _sum_blocks(X, lambda rows: (X[rows] * factors) * units[rows, None]))


def sum_up_squares(X: Any, weights: Array, extent: Extent, mean: Array) -> Pair:
    """Return the weights of zeros that are not stored, and the other squared deviations' sums."""
    units = units_of(weights, extent.heaviest)
    factors = np.ldexp(1.0, -exponents_of(_reach(extent, mean)))
    if sparse.issparse(X):
        return _sparse_squares(X, units, mean, factors)

    def terms(rows: slice) -> Array:
        deviations: Array = (X[rows] - mean) * factors
        deviations *= deviations
        deviations *= units[rows, None]
        return deviations

    return Pair(ExactSum.nothing(X.shape[1]), _sum_blocks(X, terms))


@dataclass(frozen=True)
class Pair:
    """Two sums that are made together."""

    mass: ExactSum
    sums: ExactSum

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.mass + other.mass, self.sums + other.sums)

    def __iter__(self) -> Any:
        return iter((self.mass, self.sums))


def _sum_blocks(X: Any, terms: Callable[[slice], Array]) -> ExactSum:
    n_features = X.shape[1]
    total = ExactSum.nothing(n_features)
    for rows in row_blocks(X.shape[0], _BLOCK_ENTRIES // max(1, n_features)):
        total = total + ExactSum.of(np.asarray(terms(rows), dtype=np.float64))
    return total


def _sparse_squares(X: Any, units: Array, mean: Array, factors: Array) -> Pair:
    """Add up the weights of what is not stored, and the squared deviations of what is."""
    n_features = X.shape[1]
    heavy = np.repeat(units, np.diff(X.indptr))
    deviations = (X.data - mean[X.indices]) * factors[X.indices]
    squares = ExactSum.of_columns(deviations**2 * heavy, X.indices, n_features)
    mass = ExactSum.of(units[:, None])
    return Pair(mass - ExactSum.of_columns(heavy, X.indices, n_features), squares)


def _reach(extent: Extent, origin: Any) -> Array:
    """Return how far from an origin the columns reach."""
    return np.asarray(np.maximum(np.abs(extent.low - origin), np.abs(extent.high - origin)))


def add_up(parts: Sequence[Any]) -> Any:
    """Add up at least one thing."""
    total, *others = parts
    for other in others:
        total = total + other
    return total
