"""What the targets of training rows say about levels of categories, and about pairs of levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from fcgboost import hashing
from fcgboost.arrays import Codes, Target
from fcgboost.tables.cells import Array

# The number of folds out of which levels of training rows are encoded, and gains are measured; and
# the key of their draw. Pairs are encoded by all rows: their levels are few, and trees recognise
# folds by values that differ.
_N_FOLDS = 5
_KEY = 19
# The effects of both levels of pairs are fitted in turn, so often; so many rows draw them to zero.
_N_SWEEPS = 4
_RIDGE = 10.0
#: Statistics enter if they explain at least so much out of fold, in units of chance.
LEAST_GAIN = 12.0


#: Adds up targets by bin, given the bins, their number, the targets and the weights.
LevelSums = Callable[[Codes, int, Target, Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class LabelFacts(ABC):
    """The weights of the classes by level, missing values last, and part of the rows.

    A number z counts as 1 - z of one class and z of another.

    Parameters
    ----------
    sums : ndarray of shape (n_levels + 1, n_folds, n_classes)
        Of a pair of columns, the levels of each have an axis.
    excess : ndarray of shape (n_classes,)
        The sum of z^2 - z: 0 for classes, whose variance is that of their shares.
    """

    sums: Array
    excess: Array

    @classmethod
    def of(
        cls,
        sizes: tuple[int, ...],
        codes: Codes,
        rows: Any,
        sums_of: LevelSums,
    ) -> Self:
        """Add up the weights of rows with these codes, of axes of these sizes."""
        bins = codes * _N_FOLDS + _folds(rows.row_hashes)
        n_bins = _N_FOLDS * int(np.prod(sizes))
        sums, excess = sums_of(
            bins,
            n_bins,
            rows.target,
            rows.weights,
        )
        return cls(sums.reshape(*sizes, _N_FOLDS, -1), excess)

    def __add__(self, other: Self) -> Self:
        """Return the facts of both."""
        return replace(self, sums=self.sums + other.sums, excess=self.excess + other.excess)

    @property
    def counts(self) -> Array:
        """The weights of levels, missing values last."""
        return np.asarray(self.sums.sum(axis=(-2, -1)))

    @abstractmethod
    def shares(self) -> Array:
        """Return what each code tells of the classes but the first: (n_codes, n_classes - 1)."""

    def gain(self) -> float:
        """Return how many squares the codes explain out of fold, in units of chance."""
        sizes = self.sums.sum(axis=-1, keepdims=True)
        effects = self._effects(self._others)
        gaps = self.sums - sizes * self._expected(self._others)
        explained = 2.0 * gaps * effects - sizes * effects**2
        within = np.maximum(self._within, 1e-300)
        by_class = explained.sum(axis=tuple(range(sizes.ndim - 1))) / within
        return float(by_class[1:].max())

    @property
    def _others(self) -> Array:
        """The sums over all other folds."""
        return np.asarray(self.sums.sum(axis=-2, keepdims=True) - self.sums)

    @property
    def _prior(self) -> Array:
        """The shares of the classes."""
        totals = self.sums.sum(axis=tuple(range(self.sums.ndim - 1)))
        return np.asarray(totals / totals.sum())

    @property
    def _within(self) -> Array:
        """The variances of the classes' shares, or of numbers, over all rows."""
        prior = self._prior
        return np.asarray(prior * (1.0 - prior) + self.excess / self.sums.sum())

    @abstractmethod
    def _expected(self, sums: Array) -> Array:
        """Return the shares of the classes that are expected of levels."""

    @abstractmethod
    def _n_expected(self, counts: Array) -> int:
        """Return how many numbers determine what is expected."""

    def _effects(self, sums: Array) -> Array:
        """Return by how much shares of classes differ from those expected, drawn to zero.

        What is expected counts as many rows as make a level's share vary by chance as much as the
        shares of levels differ: where that is chance, by up to a standard error, all are zero.
        """
        by_level = self.sums.sum(axis=-2)
        sizes = by_level.sum(axis=-1, keepdims=True)
        total = sizes.sum()
        n_free = max(int(np.count_nonzero(sizes)) - self._n_expected(sizes[..., 0]), 0)
        gaps = by_level / np.maximum(sizes, 1e-300) - self._expected(by_level)
        within = self._within
        by_chance = n_free + np.sqrt(2.0 * n_free)
        levels = tuple(range(sizes.ndim - 1))
        between = (sizes * gaps**2).sum(axis=levels) - by_chance * within
        between = np.maximum(between, 0.0) / (total - (sizes**2).sum() / total)
        # The share of the level itself, and of what is expected, in a mean of both.
        n_rows = sums.sum(axis=-1, keepdims=True)
        weight = between * n_rows / np.maximum(between * n_rows + within, 1e-300)
        shares = sums / np.maximum(n_rows, 1e-300)
        return np.asarray(weight * (shares - self._expected(sums)))


class LevelFacts(LabelFacts):
    """Facts of one column: all levels are expected to have the shares of all rows."""

    def shares(self) -> Array:
        shares = self._prior + self._effects(self.sums.sum(axis=-2))
        # A level that no row has counts as missing.
        return np.where(self.counts[:, None] > 0.0, shares, shares[-1])[:, 1:]

    def out_of_fold(self, codes: Codes, row_hashes: hashing.Hashes) -> Array:
        """Return what the levels of rows tell, by the rows of all other folds."""
        shares = self._prior + self._effects(self._others)
        return np.asarray(shares[codes, _folds(row_hashes), 1:])

    def _expected(self, sums: Array) -> Array:
        return self._prior

    def _n_expected(self, counts: Array) -> int:
        return 1


class PairFacts(LabelFacts):
    """Facts of two columns: their levels are expected to have effects that add up.

    So combinations tell what both levels do not tell alone; nothing, if no row has them.
    """

    def shares(self) -> Array:
        effects = self._effects(self.sums.sum(axis=-2))[..., 1:]
        return effects.reshape(-1, effects.shape[-1])

    def _expected(self, sums: Array) -> Array:
        sizes = sums.sum(axis=-1, keepdims=True)
        gaps = sums - sizes * self._prior
        first = second = np.zeros(1)
        for _ in range(_N_SWEEPS):
            first = _means(gaps - sizes * second, sizes, 1)
            second = _means(gaps - sizes * first, sizes, 0)
        return np.asarray(self._prior + first + second)

    def _n_expected(self, counts: Array) -> int:
        return int(sum(np.count_nonzero(counts.sum(axis=axis)) for axis in (0, 1))) - 1


def _means(gaps: Array, sizes: Array, axis: int) -> Array:
    """Return the mean gap of levels over the other axis, drawn to zero."""
    n_rows = sizes.sum(axis=axis, keepdims=True) + _RIDGE
    return np.asarray(gaps.sum(axis=axis, keepdims=True) / n_rows)


def _folds(row_hashes: hashing.Hashes) -> Codes:
    """Return the part of every row, by its values alone."""
    return (hashing.keyed(row_hashes, _KEY) % np.uint64(_N_FOLDS)).astype(np.intp)
