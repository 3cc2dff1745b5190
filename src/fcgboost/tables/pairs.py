"""Pairs of columns of categories: what combinations of levels tell beyond both levels alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fcgboost.arrays import Array, Codes
from fcgboost.tables.columns import (
    FEW_LEVELS,
    CategoryColumn,
    Column,
    LevelOutput,
    level_codes,
)
from fcgboost.tables.levels import LEAST_GAIN, PairFacts

# So many pairs are tried, those with the fewest combinations first.
_MOST_TRIED = 256


@dataclass(frozen=True)
class Pair:
    """Two columns of categories, whose combinations of levels become inputs.

    Parameters
    ----------
    name : str
    columns : tuple of two int
        The positions of the columns.
    sizes : tuple of two int
        How many codes they have: one for each level, and one for missing values.
    outputs : tuple of LevelOutput
        With a number for every combination, those of the first column's first level first.
    """

    name: str
    columns: tuple[int, int]
    sizes: tuple[int, int]
    outputs: tuple[LevelOutput, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[Column], first: int, second: int) -> Pair:
        """Return the pair of two columns of categories."""
        pair = [columns[first], columns[second]]
        first_size, second_size = (
            len(column.levels) + 1 for column in pair if isinstance(column, CategoryColumn)
        )
        return cls(
            " and ".join(column.name for column in pair),
            columns=(first, second),
            sizes=(first_size, second_size),
        )

    @property
    def n_combinations(self) -> int:
        return self.sizes[0] * self.sizes[1]

    def output_names(self) -> tuple[str, ...]:
        """Return the names of the numeric columns it becomes."""
        return tuple(f"{output.part} beyond {self.name}" for output in self.outputs)

    def codes(self, X: Array) -> Codes:
        """Return the combination of every row that was read."""
        first, second = (
            level_codes(X[:, j], size - 1) for j, size in zip(self.columns, self.sizes, strict=True)
        )
        return first * self.sizes[1] + second

    def encode(self, X: Array) -> list[Array]:
        """Return the outputs, one vector each, of rows that were read."""
        codes = self.codes(X)
        return [np.array(output.numbers)[codes] for output in self.outputs]


def choose_pairs(
    columns: Sequence[Column],
    facts_of: Callable[[Sequence[Pair]], Iterable[PairFacts]],
) -> list[tuple[Pair, PairFacts]]:
    """Return the pairs of columns with few levels that tell most beyond both columns.

    A column is in one pair at most: further ones mostly tell the same.
    """
    used = [
        j
        for j, column in enumerate(columns)
        if isinstance(column, CategoryColumn)
        and column.outputs
        and len(column.levels) <= FEW_LEVELS
    ]
    pairs = [Pair.of(columns, first, second) for first, second in combinations(used, 2)]
    pairs.sort(key=lambda pair: pair.n_combinations)
    tried = pairs[:_MOST_TRIED]
    if not tried:
        return []
    ranked = [(fact.gain(), pair, fact) for pair, fact in zip(tried, facts_of(tried), strict=True)]
    ranked.sort(key=lambda entry: -entry[0])
    chosen: list[tuple[Pair, PairFacts]] = []
    paired: set[int] = set()
    for gain, pair, fact in ranked:
        if gain >= LEAST_GAIN and paired.isdisjoint(pair.columns):
            paired.update(pair.columns)
            chosen.append((pair, fact))
    return chosen
