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
from fcgboost.arrays import is_sparse

Words = NDArray[np.uint64]

_GOLDEN, _ALL = 0x9E3779B97F4A7C15, 2**64 - 1
# Rows fingerprinted at once.
_AT_ONCE = 1 << 12


def mix(words: Any) -> Any:
    """Mix 64-bit words, an array or an int (the finaliser of splitmix64, a bijection)."""
    words = (words ^ (words >> 30)) * 0xBF58476D1CE4E5B9 & _ALL
    words = (words ^ (words >> 27)) * 0x94D049BB133111EB & _ALL
    return words ^ (words >> 31)


def derive(key: int, word: int) -> int:
    """Derive a new key from a key and a number, such as a step."""
    return int(mix(mix(key & _ALL) + (word + 1) * _GOLDEN & _ALL))


def fingerprint(X: Any) -> Words:
    """Return one word per row of an ndarray or CSR matrix, from its float64 values."""
    columns = _column_words(X.shape[1])
    if is_sparse(X):
        exact = np.ascontiguousarray(X.data, dtype=np.float64)
        # Zeros of either sign do not count, so sparse equals dense.
        words = mix(exact.view(np.uint64) ^ columns[X.indices])
        entries = np.where(exact == 0.0, np.uint64(0), words)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
        return np.asarray(mix(sums[X.indptr[1:]] - sums[X.indptr[:-1]]))
    # In blocks, as rows of another precision or order are copied.
    blocks = (X[i : i + _AT_ONCE] for i in range(0, len(X) or 1, _AT_ONCE))
    exact_blocks = (np.ascontiguousarray(block, dtype=np.float64) for block in blocks)
    return np.concatenate([_kernels.fingerprint(block, columns) for block in exact_blocks])


@lru_cache(maxsize=8)
def _column_words(n_columns: int) -> Words:
    words: Words = mix(np.arange(1, n_columns + 1, dtype=np.uint64) * _GOLDEN)
    words.setflags(write=False)
    return words


def keyed(fingerprints: Words, key: int) -> Words:
    """Return the hashes of fingerprints under a key."""
    return np.asarray(mix(fingerprints ^ derive(key, 0)))


def order_of(words: Words) -> NDArray[np.intp]:
    """Return the indices that sort words; the sort is stable."""
    return _kernels.order(np.ascontiguousarray(words))


@dataclass(frozen=True)
class Digest:
    """A digest of rows, labels and weights that does not depend on order or partition."""

    n_rows: int
    first: int
    second: int

    @classmethod
    def of(cls, words: Words, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> Digest:
        labelled = words ^ mix(codes.astype(np.uint64))
        rows = mix(labelled + np.ascontiguousarray(weights).view(np.uint64))
        first, second = (int(part.sum(dtype=np.uint64)) for part in (rows, mix(rows ^ _GOLDEN)))
        return cls(len(rows), first, second)

    def __add__(self, other: Digest) -> Digest:
        first, second = self.first + other.first, self.second + other.second
        return Digest(self.n_rows + other.n_rows, first % 2**64, second % 2**64)


class Circle:
    """Rows on a circle, at the places of their keyed 64-bit hashes."""

    def __init__(self, fingerprints: Words, key: int) -> None:
        self._places = keyed(fingerprints, key)
        self._order = order_of(self._places)
        self._hashes = self._places[self._order]

    def after(self, place: int, n: int) -> NDArray[np.intp]:
        """Return the positions of the first n rows from a place on, or of all."""
        start = int(np.searchsorted(self._hashes, np.uint64(place)))
        stop = min(start + n, len(self._order))
        wrapped = min(start, n - (stop - start))
        return np.concatenate([self._order[start:stop], self._order[:wrapped]])

    def within(self, place: int, width: int) -> NDArray[np.intp]:
        """Return the positions of the rows within a distance after a place; 2^64 is once around."""
        if width > _ALL:
            return self.after(place, len(self._order))
        ends = np.array([place, (place + width) & _ALL], dtype=np.uint64)
        start, stop = np.searchsorted(self._hashes, ends)
        is_wrapped = place + width > _ALL
        return self.after(place, int(stop - start) + is_wrapped * len(self._order))

    def distances(self, positions: NDArray[np.intp], place: int) -> Words:
        """Return the distances of rows from a place; equal rows have equal distances."""
        return self._places[positions] - np.uint64(place)
