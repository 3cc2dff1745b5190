"""Random draws that depend on the values of rows, not on their order.

Every draw is keyed by a seed and by the *values* of the rows. A row's fingerprint is a sum over its
non-zero entries of a mixed (column, bits of the value), so it is the same for dense and sparse
matrices, for any order or weights of the rows, and for any partition over machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels
from fcgboost.arrays import Array, Codes, Matrix, Target, is_sparse

Hashes = NDArray[np.uint64]

_GOLDEN = 0x9E3779B97F4A7C15
_ALL = 2**64 - 1
# With so many times as many hashes as are wanted, most of them need not be sorted.
_MANY = 16
# Rows fingerprinted, and words mixed, at once.
_AT_ONCE = 1 << 16


def mix(words: Any) -> Any:
    """Mix 64-bit words, an array or an int (the finaliser of splitmix64, a bijection)."""
    if np.size(words) > _AT_ONCE:
        # In blocks that stay in the cache.
        return np.concatenate([mix(block) for block in np.split(words, _starts(words)[1:])])
    words = (words ^ (words >> 30)) * 0xBF58476D1CE4E5B9 & _ALL
    words = (words ^ (words >> 27)) * 0x94D049BB133111EB & _ALL
    return words ^ (words >> 31)


def derive(key: int, word: int) -> int:
    """Derive a new key from a key and a number, such as a step."""
    return int(mix(mix(key & _ALL) + (word + 1) * _GOLDEN & _ALL))


def fingerprint(X: Matrix) -> Hashes:
    """Return one word per row of an ndarray or CSR matrix, from its float64 values."""
    columns = _column_hashes(X.shape[1])
    if is_sparse(X):
        exact = np.ascontiguousarray(X.data, dtype=np.float64)
        # Zeros of either sign do not count, so sparse equals dense.
        mixed = mix(exact.view(np.uint64) ^ columns[X.indices])
        entries = np.where(exact == 0.0, np.uint64(0), mixed)
        sums = np.append(np.uint64(0), np.cumsum(entries, dtype=np.uint64))
        return np.asarray(mix(np.diff(sums[X.indptr])))
    # In blocks, as rows of another order are copied.
    blocks = [X[start : start + _AT_ONCE] for start in _starts(X)]
    return np.concatenate([_kernels.fingerprint(block, columns) for block in blocks])


def _starts(rows: Any) -> range:
    """Return where blocks of rows or words begin."""
    return range(0, len(rows) or 1, _AT_ONCE)


@lru_cache(maxsize=8)
def _column_hashes(n_columns: int) -> Hashes:
    hashes: Hashes = mix(np.arange(1, n_columns + 1, dtype=np.uint64) * _GOLDEN)
    hashes.setflags(write=False)
    return hashes


def keyed(fingerprints: Hashes, key: int) -> Hashes:
    """Return the hashes of fingerprints under a key."""
    return np.asarray(mix(fingerprints ^ derive(key, 0)))


def order_of(hashes: Hashes) -> Codes:
    """Return the indices that sort hashes; the sort is stable."""
    return _kernels.order(np.ascontiguousarray(hashes))


def least(hashes: Hashes, n: int) -> Codes:
    """Return the indices of the n smallest hashes in their order, or of all."""
    if _MANY * n < len(hashes):
        # Hashes are evenly spread: these are about four times as many.
        few = np.flatnonzero(hashes < np.uint64(4 * n * _ALL // len(hashes)))
        if len(few) >= n:
            return np.asarray(few[order_of(hashes[few])[:n]])
    return order_of(hashes)[:n]


@dataclass(frozen=True)
class Digest:
    """A digest of rows, targets and weights that does not depend on order or partition."""

    n_rows: int
    total: int

    @classmethod
    def of(cls, hashes: Hashes, target: Target, weights: Array) -> Digest:
        labelled = hashes ^ mix(np.ascontiguousarray(target).view(np.uint64))
        rows = mix(labelled + np.ascontiguousarray(weights).view(np.uint64))
        return cls(len(rows), int(rows.sum(dtype=np.uint64)))

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.n_rows + other.n_rows, (self.total + other.total) % 2**64)


class Circle:
    """Rows on a circle, at the places of their keyed 64-bit hashes."""

    def __init__(self, fingerprints: Hashes, key: int) -> None:
        hashes = keyed(fingerprints, key)
        self._order = order_of(hashes)
        self._hashes = hashes[self._order]

    def after(self, place: int, n: int) -> Codes:
        """Return the positions of the first n rows from a place on, or of all."""
        start = int(np.searchsorted(self._hashes, np.uint64(place)))
        stop = min(start + n, len(self._order))
        wrapped = min(start, n - (stop - start))
        return np.concatenate([self._order[start:stop], self._order[:wrapped]])
