"""What the atoms of a classifier see of a table: numbers made of its columns.

Families that take missing values and categories, as trees do, see them as they are. The others see
numbers: gaps filled and marked, few levels one-hot encoded, many levels target encoded. Training
rows are encoded out of fold, so that no row sees its own class.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.arrays import beside, host, is_sparse, namespace
from fcgboost.dictionaries import Dictionary, TreeDictionary, UnionDictionary
from fcgboost.dictionaries.bins import N_CODES
from fcgboost.tables.cells import Array
from fcgboost.tables.columns import (
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    View,
)
from fcgboost.tables.learning import NumberFacts, number_outputs
from fcgboost.threads import cached

# Levels at most that have a column each.
_FEW_LEVELS = 12
# Rows of a level at least that trees tell from other rare ones: of many levels some are unlike the
# others by chance alone.
_LEAST_OF_FEW, _LEAST_OF_MANY = 5.0, 100.0
# Statistics: parts of the rows, and the key of their draw.
_N_FOLDS, _KEY = 5, 19
# Medians are those of so many rows, or numbers.
_MEDIAN_ROWS, _MEDIAN_ENTRIES = 1 << 14, 1 << 21
_VIEWS = ("smooth", "both", "trees")
# How the names of statistics begin.
_SHARE = "share of "


class Inputs:
    """The columns of a table, and the order in which atoms see what they become.

    First come the numbers that only families without missing values see, then those of all, then
    those of the families that take missing values and categories.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        outputs = [(j, one) for j, column in enumerate(columns) for one in column.outputs]
        views = np.array([_VIEWS.index(one.view) for _, one in outputs], dtype=np.intp)
        self._order = np.argsort(views, kind="stable")
        #: The column that every input is made of.
        self.sources = self.ordered(np.array([j for j, _ in outputs], dtype=np.intp))
        levels = [one if isinstance(one, LevelOutput) else LevelOutput() for _, one in outputs]
        #: Whether inputs are codes of categories.
        self.are_codes = self.ordered(np.array([one.view == "trees" for one in levels], dtype=bool))
        are_shares = np.array([one.part.startswith(_SHARE) for one in levels], dtype=bool)
        self._are_shares = self.ordered(are_shares)
        n_smooth, n_both, n_trees = np.bincount(views, minlength=3).tolist()
        #: What families see: those without missing values, and those that take them.
        self.smooth = 0, n_smooth + n_both
        self.trees = n_smooth, n_smooth + n_both + n_trees

    @property
    def n_inputs(self) -> int:
        """The number of inputs."""
        return len(self.sources)

    def names(self) -> list[str]:
        """Return the names of the inputs."""
        names = [name for column in self.columns for name in column.output_names()]
        return [str(name) for name in self.ordered(np.array(names, dtype=object))]

    def ordered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reorder values of the columns' outputs by input."""
        return np.asarray(values[self._order])

    def dictionary(self, dictionary: Dictionary) -> Dictionary:
        """Return a dictionary whose families see the inputs made for them."""
        if not isinstance(dictionary, UnionDictionary):
            return self._with_categories(dictionary, slice(0, self.n_inputs))
        if dictionary.ranges is not None:
            raise ValueError(
                "UnionDictionary(ranges=...) counts inputs, and X has gaps or categories, of which "
                "there are other inputs than columns: use ranges=None."
            )
        ranges = [self.trees if own.takes_missing else self.smooth for own in dictionary.families]
        families = [
            self._with_categories(family, slice(*own))
            for family, own in zip(dictionary.families, ranges, strict=True)
        ]
        is_whole = set(ranges) == {(0, self.n_inputs)}
        return UnionDictionary(families, None if is_whole else ranges)

    def _with_categories(self, family: Dictionary, seen: slice) -> Dictionary:
        """Return trees that know which inputs are categories; other families unchanged."""
        if not isinstance(family, TreeDictionary):
            return family
        given = family.categories(len(self.columns))[self.sources[seen]]
        is_category = self.are_codes[seen] | given
        if not is_category.any():
            return family
        trees = copy.copy(family)
        trees.categorical_features = np.flatnonzero(is_category).tolist()
        return trees

    def encode(self, X: Any) -> Any:
        """Return the inputs of rows that were read."""
        X, Z = np.asarray(host(X), dtype=np.float64), np.empty((len(X), self.n_inputs))
        outputs = (own for j, column in enumerate(self.columns) for own in column.encode(X[:, j]))
        for place, own in zip(np.argsort(self._order), outputs, strict=True):
            Z[:, place] = own
        return Z

    def encode_training(self, X: Array, words: hashing.Words, facts: Any) -> Any:
        """Return the inputs of rows that they were learned from: statistics of other rows.

        Facts are those of all columns, or those that are used.
        """
        Z = self.encode(X)
        for j in self.used(facts):
            inputs = self._are_shares & (self.sources == j)
            Z[:, inputs] = facts[j].out_of_fold(X[:, j], words)
        return Z

    def used(self, facts: Any) -> dict[int, Facts]:
        """Return the facts that training rows are encoded by, by column."""
        return {j: facts[j] for j in np.unique(self.sources[self._are_shares]).tolist()}


def encode(inputs: Inputs | None, X: Any) -> Any:
    """Return what atoms see of rows that were read."""
    return X if inputs is None else inputs.encode(X)


def views_of(dictionary: Dictionary) -> tuple[bool, bool]:
    """Say whether some family sees numbers only, and whether some takes missing values."""
    families = dictionary.families if isinstance(dictionary, UnionDictionary) else [dictionary]
    takes = {bool(family.takes_missing) for family in families}
    return False in takes, True in takes


class PlainInputs(Inputs):
    """Columns of numbers that atoms see as they are; a fill stands for each that is missing.

    Without fills missing values stay missing.
    """

    def __init__(self, names: Sequence[str], fills: Array | None) -> None:
        self._names, self.fills = names, fills
        self.sources = np.arange(len(names))
        self.are_codes = self._are_shares = np.zeros(len(names), dtype=bool)
        self.smooth = self.trees = 0, len(names)

    @cached
    def columns(self) -> tuple[Column, ...]:
        fills = [None] * len(self._names) if self.fills is None else self.fills.tolist()
        return tuple(
            NumberColumn(name, (NumberOutput(fill=fill),))
            for name, fill in zip(self._names, fills, strict=True)
        )

    def names(self) -> list[str]:
        return list(self._names)

    def encode(self, X: Any) -> Any:
        if self.fills is None or is_sparse(X):
            return X
        xp = namespace(X)
        is_gap = xp.isnan(X)
        return xp.where(is_gap, beside(self.fills, X), X) if is_gap.any() else X


def plain_inputs(dictionary: Dictionary, names: Sequence[str], some: Array) -> Inputs:
    """Return inputs of columns without missing values, with medians for later gaps."""
    smooth, _ = views_of(dictionary)
    return PlainInputs(names, 2.0 * np.median(some / 2.0, axis=0) if smooth else None)


def facts_of(columns: Sequence[Column], rows: Any, n_classes: int) -> tuple[Facts, ...]:
    """Return what determines the outputs of columns; facts of parts of a `DataSet` add up."""
    return tuple(
        LevelFacts.of(len(column.levels), rows.X[:, j], rows, n_classes)
        if isinstance(column, CategoryColumn)
        else NumberFacts.of(rows.X[:, j], getattr(column, "unit", "number"))
        for j, column in enumerate(columns)
    )


def learn_inputs(
    dictionary: Dictionary,
    columns: Sequence[Column],
    facts: Sequence[Facts],
    some: Array,
    labels: Sequence[Any],
) -> Inputs:
    """Return what columns become for the families of a dictionary; `some` rows give medians."""
    smooth, trees = views_of(dictionary)
    found: list[Column] = []
    for j, (column, own) in enumerate(zip(columns, facts, strict=True)):
        if isinstance(column, CategoryColumn) and isinstance(own, LevelFacts):
            column = replace(column, outputs=_level_outputs(own, labels, smooth, trees))
        elif isinstance(column, NumberColumn) and isinstance(own, NumberFacts):
            column = replace(column, outputs=number_outputs(own, some[:, j], smooth, trees))
        found.append(column)
    if not any(column.n_outputs for column in found):
        raise ValueError("No column of X is of use: all are constant, empty or ids.")
    told = list(map(_without_priors, found))
    return Inputs(told if any(column.n_outputs for column in told) else found)


def _without_priors(column: Column) -> Column:
    """Drop the shares of a column if they are the same for all levels."""
    shares = [one.numbers for one in column.outputs if one.part.startswith(_SHARE)]
    if not shares or any(min(own) < max(own) for own in shares):
        return column
    return replace(column, outputs=column.outputs[len(shares) :])  # type: ignore[call-arg]


def has_categories(readers: Sequence[Column | str]) -> bool:
    """Whether some column is a category."""
    return any(isinstance(reader, CategoryColumn) for reader in readers)


def words_of(readers: Sequence[Column | str]) -> list[str]:
    """Return a word for how the columns of a table are read; none where all are numbers."""
    texts = [repr(reader) for reader in readers if not isinstance(reader, str)]
    return [hashlib.sha256("".join(texts).encode()).hexdigest()] if texts else []


def number_columns(readers: Sequence[Column | str]) -> list[Column]:
    """Return the columns that readers stand for: a name is that of numbers."""
    return [NumberColumn(one) if isinstance(one, str) else one for one in readers]


def n_median_rows(n_columns: int) -> int:
    """Return how many rows medians are taken of."""
    return max(1, min(_MEDIAN_ROWS, _MEDIAN_ENTRIES // n_columns))


def median_rows(X: Array) -> Array:
    """Return the rows that medians are taken of: canonical rows stand in a random order."""
    return with_others(*np.split(X, [n_median_rows(X.shape[1])]))


def with_others(first: Array, others: Array) -> Array:
    """Return first rows, and what others have in columns that are empty in these."""
    is_empty = np.isnan(first).all(axis=0)
    others = others[~np.isnan(others[:, is_empty]).all(axis=1)]
    return np.vstack([first, np.where(is_empty, others, np.nan)]) if len(others) else first


@dataclass(frozen=True, eq=False)
class LevelFacts:
    """The weights of the classes by level, missing values last, and part of the rows."""

    sums: Array

    @classmethod
    def of(cls, n_levels: int, numbers: Array, rows: Any, n_classes: int) -> LevelFacts:
        """Add up the weights of rows."""
        folds = _levels(numbers, n_levels) * _N_FOLDS + _folds(rows.words)
        place = folds * n_classes + rows.codes
        flat = np.bincount(place, rows.weights, (n_levels + 1) * _N_FOLDS * n_classes)
        return cls(flat.astype(np.float64).reshape(n_levels + 1, _N_FOLDS, n_classes))

    def __add__(self, other: LevelFacts) -> LevelFacts:
        """Return the facts of both."""
        return LevelFacts(self.sums + other.sums)

    @property
    def counts(self) -> Array:
        """The weights of levels, missing values last."""
        return np.asarray(self.sums.sum(axis=(1, 2)))

    def shares(self) -> Array:
        """Return smoothed shares of the classes but the first: (n_levels + 1, n_classes - 1)."""
        shares = self._smoothed(self.sums.sum(axis=1))
        # A level that no row has counts as missing.
        return np.where(self.counts[:, None] > 0.0, shares, shares[-1])

    def out_of_fold(self, numbers: Array, words: hashing.Words) -> Array:
        """Return the out-of-fold shares of rows."""
        others = self._smoothed(self.sums.sum(axis=1, keepdims=True) - self.sums)
        return np.asarray(others[_levels(numbers, len(self.sums) - 1), _folds(words)])

    def _smoothed(self, sums: Array) -> Array:
        """Return shares of the classes but the first that are drawn to those of all rows.

        The prior counts as many rows as make a level's share vary by chance as much as the shares
        of levels differ: where that is chance, by up to a standard error, only the prior is left.
        """
        prior, own = self.sums.sum(axis=(0, 1)), self.sums.sum(axis=1)
        prior, sizes = prior / prior.sum(), own.sum(axis=1, keepdims=True)
        total, n_levels = sizes.sum(), np.count_nonzero(sizes)
        gaps = own / np.maximum(sizes, 1e-300) - prior
        within = prior * (1.0 - prior)
        by_chance = n_levels - 1.0 + np.sqrt(2.0 * (n_levels - 1.0))
        between = (sizes * gaps**2).sum(axis=0) - by_chance * within
        between = np.maximum(between, 0.0) / (total - (sizes**2).sum() / total)
        # The share of the level itself, and of the prior, in a mean of both.
        n_rows = sums.sum(axis=-1, keepdims=True)
        weight = between * n_rows / np.maximum(between * n_rows + within, 1e-300)
        shares = sums / np.maximum(n_rows, 1e-300)
        return np.asarray(prior + weight * (shares - prior))[..., 1:]


Facts = NumberFacts | LevelFacts


def _levels(numbers: Array, n_levels: int) -> NDArray[np.intp]:
    return np.where(np.isnan(numbers), n_levels, numbers).astype(np.intp)


def _folds(words: hashing.Words) -> NDArray[np.intp]:
    """Return the part of every row, by its values alone."""
    return (hashing.keyed(words, _KEY) % np.uint64(_N_FOLDS)).astype(np.intp)


def _level_outputs(
    facts: LevelFacts, labels: Sequence[Any], smooth: bool, trees: bool
) -> tuple[LevelOutput, ...]:
    """Return codes of levels, marks for few of them, or statistics."""
    counts, has_gaps = facts.counts[:-1], bool(facts.counts[-1] > 0.0)
    present = np.flatnonzero(counts)
    # Of one level, or where each is there once, there is nothing to learn.
    if len(present) + has_gaps < 2 or counts.max() < 2.0:
        return ()
    is_few = len(present) <= _FEW_LEVELS
    outputs = []
    if not is_few:
        outputs = [
            LevelOutput(f"{_SHARE}{label}", None, tuple(own.tolist()))
            for label, own in zip(labels[1:], facts.shares().T, strict=True)
        ]
    elif smooth:
        view: View = "smooth" if trees else "both"
        # One of two levels tells which it is.
        marked = present if len(present) + has_gaps > 2 else present[1:]
        outputs = [LevelOutput(level=int(code), view=view) for code in marked]
        # A level that no row has counts as missing.
        gap = (*(counts == 0.0).astype(np.float64).tolist(), 1.0)
        outputs += [LevelOutput("missing", None, gap, view)] * has_gaps
    if trees:
        codes = _codes(counts, _LEAST_OF_FEW if is_few else _LEAST_OF_MANY)
        outputs += [LevelOutput("level", None, codes, "trees")] * (max(codes) > 0.0 or has_gaps)
    return tuple(outputs)


def _codes(counts: Array, least: float) -> tuple[float, ...]:
    """Return numbers of levels, frequent ones first; rare ones share the last, gaps have -1."""
    order = np.argsort(-counts, kind="stable")
    is_own = counts[order] >= least
    is_own[N_CODES - 1 :] = False
    numbers = np.where(is_own, np.arange(len(order)), is_own.sum()).astype(np.float64)
    codes = np.full(len(counts) + 1, -1.0)
    codes[order] = np.where(counts[order] > 0.0, numbers, -1.0)
    return tuple(codes.tolist())
