"""The inputs of atoms, derived from the columns of a table.

Families that take missing values and categories, such as trees, see them as they are. The others
see numbers: gaps filled and marked, few levels one-hot encoded, many levels target encoded: of
training rows out of fold, so that no row sees its own target.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from fcgboost import hashing
from fcgboost.arrays import (
    Rows,
    is_sparse,
    namespace,
    to_device_of,
    to_numpy,
)
from fcgboost.dictionaries import Dictionary, TreeDictionary, UnionDictionary
from fcgboost.dictionaries.union import TableUnion
from fcgboost.tables.cells import Array
from fcgboost.tables.columns import (
    FEW_LEVELS,
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    level_codes,
)
from fcgboost.tables.learning import Audience, NumberFacts, number_outputs
from fcgboost.tables.levels import LEAST_GAIN, LabelFacts, LevelFacts, LevelSums, PairFacts
from fcgboost.tables.pairs import Pair, choose_pairs

# Levels with fewer rows are pooled for trees: sets of many levels would learn them by heart. If
# there are many, one also needs this share of the rows.
_LEAST_OF_FEW = 5.0
_LEAST_OF_MANY = 100.0
_LEAST_SHARE = 0.05
# Medians are taken over at most this many rows, and numbers.
_MEDIAN_ROWS = 1 << 14
_MEDIAN_ENTRIES = 1 << 21
_VIEWS = ("smooth", "both", "trees")
# Of a level, what is no statistic of the targets.
_OF_LEVELS = ("level", "missing")

Facts = NumberFacts | LabelFacts


class Inputs:
    """The columns of a table, and the order of the inputs they become.

    First come the numbers that only families without missing values see, then those of all, then
    those of the families that take missing values and categories.
    """

    def __init__(self, columns: Sequence[Column], pairs: Sequence[Pair] = ()) -> None:
        self.columns = tuple(columns)
        self.pairs = tuple(pairs)
        #: What inputs are made of.
        self.origins: tuple[Column | Pair, ...] = (*columns, *pairs)
        outputs = [output for origin in self.origins for output in origin.outputs]
        views = [_VIEWS.index(output.view) for output in outputs]
        self._order = np.argsort(views, kind="stable")
        #: The output of a column or a pair that every input is.
        self.outputs = [outputs[i] for i in self._order]
        n_outputs = [len(origin.outputs) for origin in self.origins]
        #: What every input is made of: a column or, beyond them, a pair.
        self.sources = np.repeat(np.arange(len(self.origins)), n_outputs)[self._order]
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
        names = [name for origin in self.origins for name in origin.output_names()]
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
        of_columns = family.categories(len(self.columns))
        are_listed = np.append(of_columns, np.zeros(len(self.pairs), bool))[self.sources[seen]]
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
        encoded = [column.encode(X[:, j]) for j, column in enumerate(self.columns)]
        encoded += [pair.encode(X) for pair in self.pairs]
        outputs = list(chain.from_iterable(encoded))
        return np.column_stack([outputs[i] for i in self._order])

    def encode_training(
        self, X: Array, row_hashes: hashing.Hashes, facts: Mapping[int, LevelFacts]
    ) -> Array:
        """Return the inputs of training rows, with statistics of levels by other rows."""
        Z: Array = self.encode(X)
        are_shares = np.array([_is_statistic(output) for output in self.outputs])
        for j, fact in facts.items():
            codes = level_codes(X[:, j], len(fact.counts) - 1)
            Z[:, are_shares & (self.sources == j)] = fact.out_of_fold(codes, row_hashes)
        return Z


def _is_statistic(output: NumberOutput | LevelOutput) -> bool:
    return isinstance(output, LevelOutput) and output.part not in _OF_LEVELS


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


def facts_of(
    origins: Sequence[Column | Pair],
    rows: Any,
    sums_of: LevelSums,
) -> tuple[Facts, ...]:
    """Return what determines the outputs of all columns, or of pairs, of rows.

    Facts of parts of a `DataSet` add up.
    """
    facts: list[Facts] = []
    for j, origin in enumerate(origins):
        if isinstance(origin, Pair):
            facts.append(PairFacts.of(origin.sizes, origin.codes(rows.X), rows, sums_of))
        elif isinstance(origin, CategoryColumn):
            codes = level_codes(rows.X[:, j], len(origin.levels))
            facts.append(LevelFacts.of((len(origin.levels) + 1,), codes, rows, sums_of))
        else:
            unit = getattr(origin, "unit", "number")
            facts.append(NumberFacts.of(rows.X[:, j], unit))
    return tuple(facts)


def learn_inputs(
    dictionary: Dictionary,
    columns: Sequence[Column],
    ask: Callable[[Sequence[Column | Pair]], Sequence[Any]],
    sample: Array,
    statistics: Sequence[str],
) -> tuple[Inputs, dict[int, LevelFacts]]:
    """Return what columns become for the families of a dictionary; a sample gives medians.

    `ask` returns the facts of columns, or of pairs, and `statistics` names what they tell. Those
    that the encoding of training rows needs are returned as well.
    """
    audience = audience_of(dictionary)
    facts = ask(columns)
    for least_gain in (LEAST_GAIN, -np.inf):
        learned: list[Column] = []
        for column, fact, values in zip(columns, facts, sample.T, strict=True):
            if isinstance(column, CategoryColumn):
                outputs = _level_outputs(fact, statistics, audience, least_gain)
                column = replace(column, outputs=outputs)
            elif isinstance(column, NumberColumn):
                column = replace(column, outputs=number_outputs(fact, values, audience))
            learned.append(column)
        # Statistics that tell nothing are better than no inputs.
        if any(column.n_outputs for column in learned):
            break
    else:
        raise ValueError("X has no usable column: all are constant, empty or unique identifiers.")
    pairs = [
        replace(pair, outputs=tuple(_share_outputs(fact, statistics)))
        for pair, fact in choose_pairs(learned, ask)
    ]
    used = {
        j: facts[j] for j, column in enumerate(learned) if any(map(_is_statistic, column.outputs))
    }
    return Inputs(learned, pairs), used


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
    return np.vstack([first, np.where(is_empty, others, np.nan)])


def _level_outputs(
    facts: LevelFacts,
    statistics: Sequence[str],
    audience: Audience,
    least_gain: float,
) -> tuple[LevelOutput, ...]:
    """Return codes of levels, marks for few of them, or statistics."""
    counts = facts.counts[:-1]
    has_gaps = bool(facts.counts[-1] > 0.0)
    present = np.flatnonzero(counts)
    # A single level, or levels that occur once each, carry no information.
    if len(present) + has_gaps < 2 or counts.max() < 2.0:
        return ()
    is_few = len(present) <= FEW_LEVELS
    outputs = []
    if not is_few:
        outputs = _share_outputs(facts, statistics) if facts.gain() >= least_gain else []
    elif audience.smooth:
        # Of two levels, one mark tells them apart.
        marked = present if len(present) + has_gaps > 2 else present[1:]
        outputs = [LevelOutput(level=int(code), view=audience.view) for code in marked]
        if has_gaps:
            # A level that no row has counts as missing.
            gap = (*(counts == 0.0).astype(np.float64).tolist(), 1.0)
            outputs.append(LevelOutput("missing", numbers=gap, view=audience.view))
    if audience.trees:
        least_of_many = max(_LEAST_OF_MANY, _LEAST_SHARE * counts.sum())
        codes = _codes(counts, _LEAST_OF_FEW if is_few else least_of_many)
        if max(codes) > 0.0 or has_gaps:
            outputs.append(LevelOutput("level", numbers=codes, view="trees"))
    return tuple(outputs)


def _share_outputs(facts: LabelFacts, statistics: Sequence[str]) -> list[LevelOutput]:
    return [
        LevelOutput(statistic, None, tuple(shares.tolist()))
        for statistic, shares in zip(statistics, facts.shares().T, strict=True)
    ]


def _codes(counts: Array, least: float) -> tuple[float, ...]:
    """Return numbers of levels, frequent ones first; rare ones share the last, gaps have -1."""
    ranks = np.argsort(np.argsort(-counts, kind="stable"))
    codes = np.minimum(ranks, np.count_nonzero(counts >= least)).astype(np.float64)
    codes[counts == 0.0] = -1.0
    return (*codes.tolist(), -1.0)
