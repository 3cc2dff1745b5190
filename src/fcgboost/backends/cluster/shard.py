"""The rows of one worker, and the questions they answer.

A question goes to each partition separately. Answers can be added up: sums, tuples of sums, and
lists with an entry per partition.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fcgboost import hashing, threads
from fcgboost._kernels import Rows, Splits
from fcgboost._kernels.forest import Forest, LeafCodes
from fcgboost.arrays import (
    ClassLabels,
    Codes,
    Flags,
    Matrix,
    Target,
)
from fcgboost.backends.cluster.sums import Pieces
from fcgboost.backends.growth import HostRows, WeightSummary, quantize
from fcgboost.clipping import Limits, extreme_values, zeros_in
from fcgboost.designs.base import ActiveColumns, Array, Point, Residuals, Sums
from fcgboost.designs.columns import RowColumns
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.leaves import LeafColumns
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import Moments, moments_of
from fcgboost.designs.scoring import MemoryCandidates, Scores
from fcgboost.dictionaries import Dictionary
from fcgboost.dictionaries.bins import Bins, Levels, codes_of
from fcgboost.model import Model
from fcgboost.stopping import Step
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import Facts, Inputs, encode, facts_of
from fcgboost.tables.levels import LevelFacts
from fcgboost.tables.pairs import Pair
from fcgboost.training.dataset import DataSet, Labelled
from fcgboost.training.tasks import Task
from fcgboost.training.validation import Validator, make_validator

# As many means of neighbours tell the quantiles of a partition's targets.
_MOST_TARGETS = 1 << 12


class HashSplit(NamedTuple):
    """Which rows of each stratum are held out, and which train: decided by their keyed hashes."""

    key: int
    #: The largest hashes of rows that are held out.
    last_held_out: hashing.Hashes
    #: The smallest hashes of rows that train.
    first_kept: hashing.Hashes


class Change(NamedTuple):
    """A change of columns: a method and its arguments."""

    verb: str
    args: tuple[Any, ...]


class ColumnChanges(NamedTuple):
    """What has changed in the columns of a number."""

    number: int
    changes: Sequence[Change]


class KeptState(NamedTuple):
    """The state of the rows after an evaluation, by the number that the client gave it."""

    evaluation: int
    state: object


class GrownTree(NamedTuple):
    """A tree that has grown on workers: its output, and the leaf number of each node."""

    output: int
    leaf_numbers: LeafCodes


class Partition:
    """The training or validation rows of one partition."""

    def __init__(self, data: DataSet, task: Task) -> None:
        self._hold(data, task)
        self._columns: dict[int, RowColumns] = {}
        #: The state after the last evaluation of columns.
        self._states: dict[ActiveColumns, KeptState] = {}
        self._candidates: MemoryCandidates
        self._design: MemoryDesign
        self._validator: Validator

    def _hold(self, data: DataSet, task: Task) -> None:
        #: The raw rows, for splits, and the rows as atoms see them.
        self._data = self._laid = data
        self._task = task
        # Two keys: that of the fit, and that of a step.
        self._hashes = lru_cache(maxsize=2)(partial(hashing.keyed, data.row_hashes))

    @classmethod
    def of(cls, loaded: Labelled) -> Partition | None:
        """Return the loaded rows of positive weight, or None if there are none."""
        data = loaded.data()
        return cls(data, loaded.task) if len(data.weights) else None

    def count(self) -> int:
        """Return the number of rows."""
        return len(self._data.weights)

    # Before the loop.

    def survey(self) -> tuple[list[ClassLabels], list[bool], list[float], list[int]]:
        """Return some labels, the sparsity, the sum of weights and the number of rows."""
        data = self._data
        labels = self._task.some_labels(data.target)
        is_sparse = sparse.issparse(data.X)
        total = float(data.weights.sum())
        return [labels], [is_sparse], [total], [self.count()]

    def set_task(self, task: Task) -> hashing.Digest:
        """Take over the task of all partitions, and the canonical order; return the digest."""
        target = task.translated(self._data.target, self._task)
        self._hold(replace(self._data, target=target).canonical(), task)
        return self._data.digest()

    def target_totals(self) -> tuple[list[Target], list[Array]]:
        """Return the distinct targets and their weights, many targets as means of neighbours."""
        targets, positions = np.unique(self._data.target, return_inverse=True)
        totals = np.bincount(positions, self._data.weights)
        return _few(targets, totals.astype(np.float64))

    def hash_ranges(
        self, key: int, n_strata: int
    ) -> tuple[list[hashing.Hashes], list[hashing.Hashes]]:
        """Return the smallest and the largest keyed hash of each stratum."""
        hashes = hashing.keyed(self._data.row_hashes, key)
        smallest = np.full(n_strata, np.iinfo(np.uint64).max)
        largest = np.zeros(n_strata, dtype=np.uint64)
        np.minimum.at(smallest, self._data.strata, hashes)
        np.maximum.at(largest, self._data.strata, hashes)
        return [smallest], [largest]

    def part(self, split: HashSplit, is_held_out: bool) -> Partition | None:
        """Return the rows that are held out or train, None if there are none."""
        data = self._data
        hashes = hashing.keyed(data.row_hashes, split.key)
        mask = hashes >= split.first_kept[data.strata]
        if is_held_out:
            mask = hashes <= split.last_held_out[data.strata]
        return Partition(data.take(mask), self._task) if mask.any() else None

    def facts(self, task: Task, origins: Sequence[Column | Pair]) -> tuple[Facts, ...]:
        return facts_of(origins, self._data, task.level_sums)

    def encode(self, inputs: Inputs, facts: dict[int, LevelFacts]) -> int:
        """Encode rows as atoms see them; return 1 if values are missing, else 0."""
        X = inputs.encode_training(self._data.X, self._data.row_hashes, facts)
        self._laid = replace(self._data, X=X)
        return int(self._laid.has_missing)

    def moments(self, task: Task, medians: Array | None, limits: Limits | None) -> Moments:
        data = self._laid
        filled = replace(data, X=data.imputed(medians))
        return moments_of(filled.within(limits).X, task.weights(data.target, data.weights))

    def ends(self, columns: Flags) -> list[list[Array]]:
        return extreme_values(self._laid.X, columns)

    def zeros(self, limits: Limits | None) -> Flags:
        return zeros_in(self._laid.within(limits).X)

    def attach(
        self,
        budget: int,
        n_threads: int,
        standardize: bool,
        limits: Limits | None,
        dictionary: Dictionary,
        moments: Moments,
        task: Task,
    ) -> None:
        """Lay a dictionary over the rows."""
        data = self._laid.within(limits)
        dictionary.check_rows(data.X)
        weights = task.weights(data.target, data.weights)
        self._targets = task.targets(data.target)
        options = (standardize, budget, n_threads)
        self._laid = replace(data, weights=weights)
        self._data = self._laid
        self._design = MemoryDesign(
            dictionary,
            data.X,
            weights,
            *options,
            row_hashes=data.row_hashes,
            moments=moments,
        )

    def draw(self, key: int, turn: int, width: int) -> list[DataSet]:
        """Return the rows whose keyed hashes lie within a width after a turn of their circle."""
        return [self._laid.take(self._is_drawn(key, turn, width))]

    def _is_drawn(self, key: int, turn: int, width: int) -> Flags:
        return self._hashes(key) - np.uint64(turn) <= np.uint64(width - 1)

    def propose(self, atoms: Matrix) -> None:
        self._candidates = self._design.candidates(atoms, reuse=True)

    # The loop.

    def at(
        self,
        changes: Sequence[ColumnChanges],
        dead: Sequence[int],
        points: Sequence[tuple[int, int, Array, int | None]],
        verb: str,
        *args: object,
    ) -> tuple[tuple[tuple[Array, Array], ...], object]:
        """Update columns, and answer one of the questions below at some points.

        Points are numbers of columns, outputs, coefficients and the numbers of their evaluations,
        if any. The answer includes the properties of new columns; dead columns are dropped.
        """
        for number in dead:
            if number in self._columns:
                self._states.pop(self._columns.pop(number), None)
        news = tuple(self._change(*change) for change in changes)
        return news, getattr(self, verb)([self._point(*point) for point in points], *args)

    def _point(self, number: int, output: int, coef: Array, evaluation: int | None) -> Point:
        """Return a point with the state of the rows, if its evaluation was the last one."""
        columns = self._columns[number]
        kept = self._states.get(columns)
        if kept is None or kept.evaluation != evaluation:
            return Point(columns, output, coef)
        return Point(columns, output, coef, kept.state)

    def _change(self, number: int, changes: Sequence[Change]) -> tuple[Array, Array]:
        """Apply changes; return mean squares and first gradients of new columns."""
        first = self._columns[number].n_columns if number in self._columns else 0
        for verb, args in changes:
            if verb == "make":
                output, *options = args
                self._columns[number] = self._design.columns(self._targets[output], *options)
            elif verb == "append":
                self._columns[number].append(*self._with_codes(*args))
            elif verb == "narrow":
                self._columns[number].narrow(*args)
            else:
                self._columns[number].drop(*args)
                first -= 1
        columns = self._columns[number]
        return columns.norms[first:] ** 2, columns.first_gradient[first:]

    def _with_codes(self, atoms: Matrix, entry: GrownTree | None) -> tuple[Matrix, object]:
        """Return atoms and, for a tree that has grown here, the leaves of its rows."""
        if entry is None or entry.output not in self._growing:
            return atoms, None
        rows = self._growing.pop(entry.output)
        return atoms, self._tree(atoms, entry.leaf_numbers[rows.nodes])

    def _tree(self, atom: Array, codes: LeafCodes) -> Forest:
        n_leaves = len(self._design.trees.leaf_values(atom))
        tree: Forest = self._design.tree(codes, n_leaves)
        return tree

    def targets(self, points: Sequence[Point]) -> tuple[list[Array], list[Array]]:
        """Return the targets and their weights, many targets as means of neighbours."""
        (point,) = points
        columns = point.columns
        assert isinstance(columns, RowColumns)
        return _few(*columns.targets())

    def expand(
        self,
        points: Sequence[Point],
        evaluations: Sequence[int],
        subset: Sequence[int] | None = None,
    ) -> tuple[tuple[float, Array, Array], ...]:
        answers = []
        for point, evaluation in zip(points, evaluations, strict=True):
            expansion = point.columns.expand(point, subset)
            gram = expansion.gram
            if gram is None:
                gram = point.columns.gram(point._replace(state=expansion.state))
            self._states[point.columns] = KeptState(evaluation, expansion.state)
            answers.append((expansion.risk, expansion.gradient, gram))
        return tuple(answers)

    def qr_factor(self, points: Sequence[Point], majorize: bool) -> tuple[list[Array], Array]:
        (point,) = points
        R, straight = point.columns.qr_factor(point, majorize)
        return [R], straight

    def product(self, points: Sequence[Point], direction: Array) -> Array:
        (point,) = points
        return point.columns.product(point, direction)

    def terms(
        self, points: Sequence[Point], evaluation: int, added: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return the sums over the leaves of the last tree."""
        (point,) = points
        assert isinstance(point.columns, LeafColumns)
        terms = point.columns.terms(point, added)
        self._states[point.columns] = KeptState(evaluation, terms.state)
        return terms.losses, terms.slopes, terms.curvatures

    def residuals(self, points: Sequence[Point], key: int, width: int) -> list[Array]:
        """Return the residuals, then the weights, of the rows that were drawn with a key."""
        residuals = self._design.residuals(points)
        both = np.hstack([residuals.matrix, residuals.weights])
        return [both[self._is_drawn(key, 0, width)]]

    def sums(self, points: Sequence[Point], atoms: Matrix) -> Sums:
        return replace(self._design.sums(atoms, self._design.residuals(points)), entries=())

    def candidate_scores(self, points: Sequence[Point], atoms: Matrix, normalize: bool) -> Scores:
        """Return the sums for the scores of new candidates, or of the last ones."""
        if atoms is not None:
            self._candidates = self._design.candidates(atoms, reuse=False)
        return self._candidates.scores(self._design.residuals(points), normalize)

    # Trees that grow on all rows.

    def levels(self, is_category: Flags) -> Levels:
        return Levels.of(self._laid.X, is_category)

    def bin(self, bins: Bins) -> tuple[list[Codes], WeightSummary]:
        """Bin the rows; return the columns whose features clash, and the weights."""
        self._bins = bins
        self._growing = dict[int, HostRows]()
        self._codes, clash = codes_of(bins, self._laid.X)
        return [clash], WeightSummary.of(self._laid.weights)

    def size(self, points: Sequence[Point]) -> tuple[float, WeightSummary]:
        """Return the sum of absolute residuals, and the weights with which a tree grows."""
        residuals = self._design.residuals(points)
        total = np.abs(residuals.matrix).sum()
        weights = self._tree_weights(residuals)
        return float(total), WeightSummary.of(weights)

    def _tree_weights(self, residuals: Residuals) -> Array:
        (point,) = residuals.points
        if point.columns.loss.is_even:
            return self._laid.weights
        weights = residuals.weights[:, 0]
        return np.ascontiguousarray(weights)

    def start_tree(
        self,
        points: Sequence[Point],
        output: int,
        size: float,
        unit: float,
    ) -> None:
        """Put all rows at the root of the tree of an output."""
        residuals = self._design.residuals(points)
        residual = residuals.matrix[:, 0]
        weights = self._tree_weights(residuals)
        is_light = weights < unit
        if is_light.any():
            # Among very many rows: a unit or nothing at random, instead of nothing.
            chance = hashing.keyed(self._laid.row_hashes, 0) / 2.0**64
            weights = np.where(is_light, unit * (chance < weights / unit), weights)
        steps = quantize(
            residual,
            weights,
            np.float64(size),
            unit,
        )
        self._growing[output] = HostRows(self._bins, self._codes, steps)

    def split_tree(self, output: int, slots: Rows, splits: Splits) -> Rows:
        return self._growing[output].split(slots, splits)

    def tree_sums(
        self, points: Sequence[Point], atoms: Matrix, entries: Sequence[GrownTree]
    ) -> Sums:
        """Return the sums of grown trees."""
        trees = [
            self._tree(atoms[j : j + 1], leaf_numbers[self._growing[j].nodes])
            for j, leaf_numbers in entries
        ]
        sums = self._design.tree_sums(atoms, trees, self._design.residuals(points))
        return replace(sums, entries=())

    # Validation.

    def make_validator(
        self,
        inputs: Inputs | None,
        limits: Limits | None,
        dictionary: Dictionary,
        scale: Array,
        task: Task,
        is_smoothed: bool,
    ) -> float:
        """Prepare to score the steps of a path; return the weight of the rows."""
        seen = replace(self._data, X=encode(inputs, self._data.X))
        data = self._laid = seen.within(limits)
        sums = task.sums(data.target, data.weights, is_smoothed)
        self._validator = make_validator(
            data.X,
            dictionary,
            scale,
            sums,
            HostDevice(),
        )
        return float(data.weights.sum())

    def scores(self, n_known: int, atoms: Sequence[Matrix], steps: Sequence[Step]) -> Array:
        """Return the sums that make up the scores of steps; atoms are sent once."""
        if n_known == 0:
            self._validator = self._validator.fresh()
        return np.array(self._validator(steps, [None] * n_known + list(atoms)))

    def predicted(self, model: Model) -> tuple[list[Array], list[Target], list[Array]]:
        """Return the decision values, the targets and the weights of the rows."""
        data = self._laid
        return [np.asarray(model.decision(data.X))], [data.target], [data.weights]


def _few(targets: Target, weights: Array) -> tuple[list[Target], list[Array]]:
    """Return targets and weights, many as means of neighbours."""
    if len(targets) <= _MOST_TARGETS:
        return [targets], [weights]
    order = np.argsort(targets)
    starts = len(targets) * np.arange(_MOST_TARGETS) // _MOST_TARGETS
    totals = np.add.reduceat(weights[order], starts)
    return [np.add.reduceat((weights * targets)[order], starts) / totals], [totals]


class Partitions(NamedTuple):
    """The partitions of a set of rows on one worker, by their numbers, None if empty."""

    #: How many the set has on all workers.
    n_parts: int
    parts: Mapping[int, Partition | None]

    def ask(self, method: str, *args: object) -> Pieces:
        """Call a method of each partition."""
        parts = self.parts.items()
        answers = {i: None if part is None else getattr(part, method)(*args) for i, part in parts}
        return Pieces.of(self.n_parts, answers)


class Shard:
    """All rows of one worker; `n_parts` are the numbers of partitions on all of them."""

    def __init__(
        self,
        training: Mapping[int, Labelled],
        validation: Mapping[int, Labelled],
        n_parts: Sequence[int],
        n_threads: int = 1,
        store_limit: int = 2**62,
    ) -> None:
        # For the lifetime of the shard: setting the limit takes longer than a small question.
        limit = ExitStack()
        limit.enter_context(threads.shared.ours(n_threads))
        weakref.finalize(self, limit.close)
        tables = enumerate(zip(n_parts, (training, validation), strict=True))
        self._datasets = {
            dataset_id: Partitions(n, {i: Partition.of(rows) for i, rows in table.items()})
            for dataset_id, (n, table) in tables
        }
        self._n_threads = n_threads
        self._store_limit = store_limit

    def ask(self, dataset_id: int, method: str, *args: object) -> Pieces:
        """Call a method of each partition."""
        return self._datasets[dataset_id].ask(method, *args)

    def split(self, dataset_id: int, new_id: int, *args: Any) -> Pieces:
        """Make a set of some rows of another; return their number."""
        whole = self._datasets[dataset_id]
        parts = {i: part and part.part(*args) for i, part in whole.parts.items()}
        self._datasets[new_id] = Partitions(whole.n_parts, parts)
        return self.ask(new_id, "count")

    def clear_cache(self, dataset_ids: Sequence[int]) -> Pieces:
        for dataset_id in dataset_ids:
            partitions = self._datasets.pop(dataset_id)
        return Pieces.of(partitions.n_parts, dict.fromkeys(partitions.parts))

    def attach(self, dataset_id: int, budget: int, *args: object) -> Pieces:
        """Lay a dictionary over the rows; partitions share the memory for stored candidates."""
        dataset = self._datasets[dataset_id]
        share = min(budget, self._store_limit) // max(1, len(dataset.parts))
        return dataset.ask(
            "attach",
            share,
            self._n_threads,
            *args,
        )
