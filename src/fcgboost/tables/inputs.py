"""The inputs of atoms, derived from the columns of a table.

Families that take missing values and categories, such as trees, see them as they are. The others
see numbers: gaps filled and marked, few levels one-hot encoded, many levels target encoded.
Training rows are encoded out of fold, so that no row sees its own class.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fcgboost import hashing
from fcgboost.arrays import (
    Codes,
    Rows,
    is_sparse,
    namespace,
    to_device_of,
    to_numpy,
)
from fcgboost.dictionaries import Dictionary, TreeDictionary, UnionDictionary
from fcgboost.dictionaries.bins import N_CODES
from fcgboost.dictionaries.union import TableUnion
from fcgboost.tables.cells import Array
from fcgboost.tables.columns import (
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    level_codes,
)
from fcgboost.tables.learning import Audience, NumberFacts, number_outputs

# Columns with at most this many levels are one-hot encoded.
_FEW_LEVELS = 12
# Levels with fewer rows are pooled for trees: among many levels some differ by chance.
_LEAST_OF_FEW = 5.0
_LEAST_OF_MANY = 100.0
# Target statistics are out of fold: the number of folds, and the key of their draw.
_N_FOLDS = 5
_KEY = 19
# Medians are taken over at most this many rows, and numbers.
_MEDIAN_ROWS = 1 << 14
_MEDIAN_ENTRIES = 1 << 21
_VIEWS = ("smooth", "both", "trees")
# How the names of statistics begin.
_SHARE = "share of "


class Inputs:
    """The columns of a table, and the order of the inputs they become.

    First come the numbers that only families without missing values see, then those of all, then
    those of the families that take missing values and categories.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        outputs = [output for column in columns for output in column.outputs]
        views = [_VIEWS.index(output.view) for output in outputs]
        self._order = np.argsort(views, kind="stable")
        #: The output of a column that every input is.
        self.outputs = [outputs[i] for i in self._order]
        n_outputs = [column.n_outputs for column in columns]
        #: The column that every input is made of.
        self.sources = np.repeat(np.arange(len(columns)), n_outputs)[self._order]
        n_smooth = views.count(0)
        #: What families see: those without missing values, and those that take them.
        self.smooth = 0, n_smooth + views.count(1)
        self.trees = n_smooth, len(outputs)

    @property
    def n_inputs(self) -> int:
        """The number of inputs."""
        return len(self.outputs)

    def names(self) -> list[str]:
        """Return the names of the inputs."""
        names = [name for column in self.columns for name in column.output_names()]
        return [names[i] for i in self._order]

    def dictionary(self, dictionary: Dictionary) -> Dictionary:
        """Return a dictionary whose families see the inputs made for them."""
        if not isinstance(dictionary, UnionDictionary):
            return self._with_categories(dictionary, slice(0, self.n_inputs))
        ranges = [
            self.trees if family.takes_missing else self.smooth for family in dictionary.families
        ]
        families = [
            self._with_categories(family, slice(*ends))
            for family, ends in zip(dictionary.families, ranges, strict=True)
        ]
        is_whole = set(ranges) == {(0, self.n_inputs)}
        return UnionDictionary(families) if is_whole else TableUnion(families, ranges)

    def _with_categories(self, family: Dictionary, seen: slice) -> Dictionary:
        """Return trees that know which inputs are categories; other families unchanged."""
        if not isinstance(family, TreeDictionary):
            return family
        are_listed = family.categories(len(self.columns))[self.sources[seen]]
        # Those that only trees see are codes of categories.
        are_codes = [
            isinstance(output, LevelOutput) and output.view == "trees"
            for output in self.outputs[seen]
        ]
        are_categories = are_listed | np.array(are_codes, dtype=bool)
        if not are_categories.any():
            return family
        trees = copy.copy(family)
        trees.categorical_features = np.flatnonzero(are_categories).tolist()
        return trees

    def encode(self, X: Rows) -> Rows:
        """Return the inputs of rows that were read."""
        X = np.asarray(to_numpy(X), dtype=np.float64)
        Z = np.empty((len(X), self.n_inputs))
        positions = iter(np.argsort(self._order))
        for j, column in enumerate(self.columns):
            for values in column.encode(X[:, j]):
                Z[:, next(positions)] = values
        return Z

    def encode_training(
        self, X: Array, row_hashes: hashing.Hashes, facts: Mapping[int, Facts]
    ) -> Array:
        """Return the inputs of training rows, with statistics of other rows."""
        Z: Array = self.encode(X)
        are_shares = np.array([output.part.startswith(_SHARE) for output in self.outputs])
        for j, fact in facts.items():
            assert isinstance(fact, LevelFacts)
            Z[:, are_shares & (self.sources == j)] = fact.out_of_fold(X[:, j], row_hashes)
        return Z

    def used(self, facts: Sequence[Facts]) -> dict[int, Facts]:
        """Return the facts that the encoding of training rows needs, by column."""
        pairs = zip(self.sources.tolist(), self.outputs, strict=True)
        return {j: facts[j] for j, output in pairs if output.part.startswith(_SHARE)}


def encode(inputs: Inputs | None, X: Rows) -> Rows:
    """Return the inputs of rows that were read."""
    return X if inputs is None else inputs.encode(X)


def audience_of(dictionary: Dictionary) -> Audience:
    """Return which kinds of families a dictionary has."""
    takes = {bool(family.takes_missing) for family in dictionary.families}
    return Audience(smooth=False in takes, trees=True in takes)


class PlainInputs(Inputs):
    """Columns of numbers that atoms see as they are; a fill stands for each that is missing.

    Without fills missing values stay missing.
    """

    def __init__(self, names: Sequence[str], fills: Array | None) -> None:
        values = [None] * len(names) if fills is None else fills.tolist()
        pairs = zip(names, values, strict=True)
        super().__init__([NumberColumn(name, (NumberOutput(fill=fill),)) for name, fill in pairs])
        self.fills = fills

    def encode(self, X: Rows) -> Rows:
        if self.fills is None or is_sparse(X):
            return X
        xp = namespace(X)
        is_gap = xp.isnan(X)
        return xp.where(is_gap, to_device_of(self.fills, X), X) if is_gap.any() else X


def plain_inputs(dictionary: Dictionary, columns: Sequence[Column], sample: Array) -> Inputs:
    """Return inputs of plain columns without missing values, with medians for later gaps."""
    has_smooth = audience_of(dictionary).smooth
    fills = 2.0 * np.median(sample / 2.0, axis=0) if has_smooth else None
    return PlainInputs([column.name for column in columns], fills)


def column_facts(columns: Sequence[Column], rows: Any, n_classes: int) -> tuple[Facts, ...]:
    """Return what determines the outputs of columns; facts of parts of a `DataSet` add up."""
    return tuple(
        LevelFacts.of(
            len(column.levels),
            rows.X[:, j],
            rows,
            n_classes,
        )
        if isinstance(column, CategoryColumn)
        else NumberFacts.of(rows.X[:, j], getattr(column, "unit", "number"))
        for j, column in enumerate(columns)
    )


def learn_inputs(
    dictionary: Dictionary,
    columns: Sequence[Column],
    facts: Sequence[Facts],
    sample: Array,
    labels: Sequence[object],
) -> Inputs:
    """Return what columns become for the families of a dictionary; a sample gives medians."""
    audience = audience_of(dictionary)
    learned: list[Column] = []
    for j, (column, fact) in enumerate(zip(columns, facts, strict=True)):
        if isinstance(column, CategoryColumn) and isinstance(fact, LevelFacts):
            column = replace(column, outputs=_level_outputs(fact, labels, audience))
        elif isinstance(column, NumberColumn) and isinstance(fact, NumberFacts):
            column = replace(column, outputs=number_outputs(fact, sample[:, j], audience))
        learned.append(column)
    for choice in (list(map(_without_priors, learned)), learned):
        if any(column.n_outputs for column in choice):
            return Inputs(choice)
    raise ValueError("X has no usable column: all are constant, empty or unique identifiers.")


def _without_priors(column: Column) -> Column:
    """Drop the shares of a column if they are the same for all levels."""
    shares = [
        output.numbers
        for output in column.outputs
        if isinstance(output, LevelOutput) and output.part.startswith(_SHARE)
    ]
    if not shares or any(min(numbers) < max(numbers) for numbers in shares):
        return column
    return replace(column, outputs=column.outputs[len(shares) :])  # type: ignore[call-arg]


def are_plain(columns: Sequence[Column]) -> bool:
    """Return whether all columns hold plain numbers."""
    return all(column == NumberColumn(column.name) for column in columns)


def n_median_rows(n_columns: int) -> int:
    """Return how many rows medians are taken of."""
    return max(1, min(_MEDIAN_ROWS, _MEDIAN_ENTRIES // n_columns))


def median_rows(X: Array) -> Array:
    """Return the rows that medians are taken of: canonical rows stand in a random order.

    Rows that have values in columns which are empty among the first ones are added.
    """
    first, others = np.split(X, [n_median_rows(X.shape[1])])
    is_empty = np.isnan(first).all(axis=0)
    others = others[~np.isnan(others[:, is_empty]).all(axis=1)]
    return np.vstack([first, np.where(is_empty, others, np.nan)]) if len(others) else first


@dataclass(frozen=True, eq=False)
class LevelFacts:
    """The weights of the classes by level, missing values last, and part of the rows."""

    sums: Array

    @classmethod
    def of(
        cls,
        n_levels: int,
        numbers: Array,
        rows: Any,
        n_classes: int,
    ) -> LevelFacts:
        """Add up the weights of rows."""
        folds = level_codes(numbers, n_levels) * _N_FOLDS + _folds(rows.row_hashes)
        bins = folds * n_classes + rows.codes
        flat = np.bincount(bins, rows.weights, (n_levels + 1) * _N_FOLDS * n_classes)
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

    def out_of_fold(self, numbers: Array, row_hashes: hashing.Hashes) -> Array:
        """Return the out-of-fold shares of rows."""
        others = self._smoothed(self.sums.sum(axis=1, keepdims=True) - self.sums)
        return np.asarray(others[level_codes(numbers, len(self.sums) - 1), _folds(row_hashes)])

    def _smoothed(self, sums: Array) -> Array:
        """Return shares of the classes but the first that are drawn to those of all rows.

        The prior counts as many rows as make a level's share vary by chance as much as the shares
        of levels differ: where that is chance, by up to a standard error, only the prior is left.
        """
        prior = self.sums.sum(axis=(0, 1))
        prior = prior / prior.sum()
        by_level = self.sums.sum(axis=1)
        sizes = by_level.sum(axis=1, keepdims=True)
        total = sizes.sum()
        n_levels = np.count_nonzero(sizes)
        gaps = by_level / np.maximum(sizes, 1e-300) - prior
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


def _folds(row_hashes: hashing.Hashes) -> Codes:
    """Return the part of every row, by its values alone."""
    return (hashing.keyed(row_hashes, _KEY) % np.uint64(_N_FOLDS)).astype(np.intp)


def _level_outputs(
    facts: LevelFacts, labels: Sequence[object], audience: Audience
) -> tuple[LevelOutput, ...]:
    """Return codes of levels, marks for few of them, or statistics."""
    counts = facts.counts[:-1]
    has_gaps = bool(facts.counts[-1] > 0.0)
    present = np.flatnonzero(counts)
    # A single level, or levels that occur once each, carry no information.
    if len(present) + has_gaps < 2 or counts.max() < 2.0:
        return ()
    is_few = len(present) <= _FEW_LEVELS
    outputs = []
    if not is_few:
        outputs = [
            LevelOutput(f"{_SHARE}{label}", None, tuple(shares.tolist()))
            for label, shares in zip(labels[1:], facts.shares().T, strict=True)
        ]
    elif audience.smooth:
        # Of two levels, one mark tells them apart.
        marked = present if len(present) + has_gaps > 2 else present[1:]
        outputs = [LevelOutput(level=int(code), view=audience.view) for code in marked]
        if has_gaps:
            # A level that no row has counts as missing.
            gap = (*(counts == 0.0).astype(np.float64).tolist(), 1.0)
            outputs.append(LevelOutput("missing", numbers=gap, view=audience.view))
    if audience.trees:
        codes = _codes(counts, _LEAST_OF_FEW if is_few else _LEAST_OF_MANY)
        if max(codes) > 0.0 or has_gaps:
            outputs.append(LevelOutput("level", numbers=codes, view="trees"))
    return tuple(outputs)


def _codes(counts: Array, least: float) -> tuple[float, ...]:
    """Return numbers of levels, frequent ones first; rare ones share the last, gaps have -1."""
    order = np.argsort(-counts, kind="stable")
    is_frequent = counts[order] >= least
    is_frequent[N_CODES - 1 :] = False
    numbers = np.where(is_frequent, np.arange(len(order)), is_frequent.sum()).astype(np.float64)
    codes = np.full(len(counts) + 1, -1.0)
    codes[order] = np.where(counts[order] > 0.0, numbers, -1.0)
    return tuple(codes.tolist())
