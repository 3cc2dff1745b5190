"""Sums that depend on no order of their terms, and can be made in parts.

Terms are rounded to multiples of 2^-62 of a bound of their size, and these whole numbers are added
up exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_HALF = 2.0**31
# Sums of so many whole numbers of 31 bits are exact in float64.
_AT_ONCE = 1 << 20
# Whole numbers below this are exact in float64.
_EXACT = 2**53
# Powers of two beyond these, and their reciprocals, are not for multiplying.
_LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class ExactSum:
    """Sums of several columns of terms that are at most 1 in size.

    Attributes
    ----------
    high, low : ndarray of int64
        Each sum is high x 2^31 + low, in units of 2^-62.
    """

    high: NDArray[np.int64]
    low: NDArray[np.int64]

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.high + other.high, self.low + other.low)

    def __sub__(self, other: ExactSum) -> ExactSum:
        return ExactSum(self.high - other.high, self.low - other.low)

    @classmethod
    def nothing(cls, n_columns: int) -> ExactSum:
        """Return zeros."""
        return cls(np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64))

    @classmethod
    def of(cls, terms: Array) -> ExactSum:
        """Add up the rows of terms."""
        total = cls.nothing(terms.shape[1])
        for start in range(0, len(terms), _AT_ONCE):
            whole, rest = halves(terms[start : start + _AT_ONCE])
            sums = (part.sum(axis=0).astype(np.int64) for part in (whole, rest))
            total = total + cls(*sums)
        return total

    @classmethod
    def of_columns(cls, terms: Array, columns: NDArray[Any], n_columns: int) -> ExactSum:
        """Add up terms by the column that each stands in."""
        total = cls.nothing(n_columns)
        for start in range(0, len(terms), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            parts = halves(terms[part])
            sums = (np.bincount(columns[part], half, minlength=n_columns) for half in parts)
            total = total + cls(*(some.astype(np.int64) for some in sums))
        return total

    def whole(self) -> list[int]:
        """Return the sums as whole numbers of units of 2^-62."""
        pairs = zip(self.high.ravel().tolist(), self.low.ravel().tolist(), strict=True)
        return [high * 2**31 + low for high, low in pairs]

    @property
    def value(self) -> Array:
        """The sums, each rounded once."""
        if abs(self.high).max(initial=0) < _EXACT:
            # Both parts are exact, so this rounds once as well.
            return np.ldexp(self.high.ravel(), -31) + np.ldexp(self.low.ravel(), -62)
        return np.array([float(number) for number in self.whole()]) * 2.0**-62


def halves(terms: Array) -> tuple[Array, Array]:
    """Return terms in units of 2^-31 as whole numbers, and what is left in units of 2^-62."""
    scaled = terms * _HALF
    whole = np.rint(scaled)
    scaled -= whole
    scaled *= _HALF
    return whole, np.rint(scaled, out=scaled)


def exponents_of(sizes: Any) -> NDArray[np.intp]:
    """Return e with sizes at most 2^e."""
    exponents = np.frexp(np.atleast_1d(np.asarray(sizes, dtype=np.float64)))[1].astype(np.intp)
    return np.clip(exponents, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)


def power_above(heaviest: float) -> float:
    """Return a power of two that is at least as large."""
    return float(np.ldexp(1.0, exponents_of(heaviest))[0])


def units_of(weights: Array, heaviest: float) -> Array:
    """Return weights divided by a power of two that makes the heaviest at most 1."""
    return weights * np.ldexp(1.0, -exponents_of(heaviest))


def totals_of(weights: Array, codes: NDArray[Any], n_codes: int, heaviest: float) -> ExactSum:
    """Add up weights by their codes, in units of the heaviest one's power of two."""
    return ExactSum.of_columns(units_of(weights, heaviest), codes, n_codes)
