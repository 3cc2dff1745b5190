"""The rows of one worker, and the questions they answer.

A question goes to each partition separately. Answers can be added up: sums, tuples of sums, and
lists with an entry per partition.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.clipping import Flags, Limits, ends_of, zeros_in
from fcgboost.cluster.sums import Pieces
from fcgboost.designs.base import Array, Divisor, Point, Sums
from fcgboost.designs.columns import RowColumns
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import Moments, moments_of
from fcgboost.designs.scoring import MemoryCandidates, Scores
from fcgboost.dictionaries import Dictionary
from fcgboost.dictionaries.bins import Bins, Levels, codes_of
from fcgboost.dictionaries.growth import HostRows, Weights, steps_of
from fcgboost.model import Model
from fcgboost.stopping import Step
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import Facts, Inputs, encode, facts_of
from fcgboost.threads import blas
from fcgboost.training.dataset import LEAST_ROWS, DataSet
from fcgboost.training.scoring import make_sums
from fcgboost.training.validation import Validator, make_validator

# Questions answered by the columns of a point.
_OF_LEAVES = ("product", "terms")


class LoadedRows(NamedTuple):
    """A partition as it was loaded: rows, labels and weights."""

    X: Any
    y: NDArray[Any]
    weights: Array


class Partition:
    """The training or validation rows of one partition."""

    def __init__(self, data: DataSet, labels: NDArray[Any]) -> None:
        self._hold(data, labels)
        self._columns: dict[int, RowColumns] = {}
        self._candidates: MemoryCandidates
        self._design: MemoryDesign
        self._validator: Validator

    def _hold(self, data: DataSet, labels: NDArray[Any]) -> None:
        #: The raw rows, for splits, and the rows as atoms see them.
        self._data = self._laid = data
        self._labels = labels
        # Two circles: that of the fit, and that of a step with its own key.
        self._circle = lru_cache(maxsize=2)(partial(hashing.Circle, data.words))

    @classmethod
    def of(cls, loaded: LoadedRows) -> Partition | None:
        """Return the loaded rows of positive weight, or None if there are none."""
        labels, codes = np.unique(loaded.y, return_inverse=True)
        data = DataSet.of(loaded.X, codes, loaded.weights)
        return cls(data, labels) if len(data.weights) else None

    @property
    def n_rows(self) -> int:
        return len(self._data.weights)

    # Before the loop.

    def survey(self) -> tuple[list[Any], ...]:
        """Return labels, number of columns, sparsity, sum of weights and number of rows."""
        data = self._data
        kind = (self._labels[np.unique(data.codes)], data.X.shape[1], sparse.issparse(data.X))
        return tuple([one] for one in (*kind, data.weights.sum(), self.n_rows))

    def encode(self, classes: NDArray[Any]) -> hashing.Digest:
        """Replace labels by codes and put the rows in canonical order; return their digest."""
        codes = np.searchsorted(classes, self._labels)[self._data.codes]
        self._hold(replace(self._data, codes=codes).canonical(), classes)
        return self._data.digest()

    def some_words(self, n_classes: int) -> tuple[list[hashing.Words], ...]:
        """Return a few fingerprints of each class."""
        words = [np.unique(self._data.words[self._data.codes == code]) for code in range(n_classes)]
        return tuple([own[:LEAST_ROWS]] for own in words)

    def class_totals(self, n_classes: int) -> Array:
        return np.asarray(np.bincount(self._data.codes, self._data.weights, n_classes))

    def largest_hashes(self, key: int, n_classes: int) -> list[hashing.Words]:
        largest = np.zeros(n_classes, dtype=np.uint64)
        np.maximum.at(largest, self._data.codes, hashing.keyed(self._data.words, key))
        return [largest]

    def histogram(self, key: int, prefixes: hashing.Words, n_bits: int) -> Array:
        """Return weights by class and by the eight bits after the class's prefix of hashes."""
        hashes, codes = hashing.keyed(self._data.words, key), self._data.codes
        shift = np.uint64(56 - n_bits)
        byte = ((hashes >> shift) - (prefixes[codes] >> shift)).astype(np.int64)
        counted = (byte >= 0) & (byte < 256)
        places, n = (codes * 256 + byte)[counted], 256 * len(prefixes)
        sums = np.bincount(places, self._data.weights[counted], n)
        return np.asarray(sums.reshape(-1, 256))

    def part(self, key: int, last: hashing.Words, is_aside: bool) -> Partition | None:
        """Return the rows whose hashes are at most the last of their class, or the others."""
        data = self._data
        aside = hashing.keyed(data.words, key) <= last[data.codes]
        mask = aside if is_aside else ~aside
        return Partition(data.take(mask), self._labels) if mask.any() else None

    def facts(self, columns: Sequence[Column]) -> tuple[Facts, ...]:
        return facts_of(columns, self._data, len(self._labels))

    def rows_with(self, columns: Flags) -> list[DataSet]:
        """Return the rows in which at least one of some columns is not missing."""
        return [self._data.take(~np.isnan(self._data.X[:, columns]).all(axis=1))]

    def see(self, inputs: Inputs, facts: dict[int, Facts]) -> int:
        """Encode rows as atoms see them; return 1 if values are missing, else 0."""
        X = inputs.encode_training(self._data.X, self._data.words, facts)
        self._laid = replace(self._data, X=X)
        return int(self._laid.has_missing)

    def moments(self, per_class: Array, medians: Array | None, limits: Limits | None) -> Moments:
        data = self._laid
        X = data.within(limits).imputed(medians)
        return moments_of(X, data.weights * per_class[data.codes])

    def ends(self, columns: Flags) -> list[list[Array]]:
        return ends_of(self._laid.X, columns)

    def zeros(self, limits: Limits | None) -> Flags:
        return zeros_in(self._laid.within(limits).X)

    def lay(
        self,
        budget: int,
        n_threads: int,
        standardize: bool,
        limits: Limits | None,
        dictionary: Dictionary,
        moments: Moments,
        per_class: Array,
        keeps_rows: bool,
    ) -> int:
        """Lay a dictionary over the rows; return 0 if atoms are screened, else 1.

        Columns are scaled later, once the sizes over all partitions are known. Rows that will be
        split are kept in raw form too.
        """
        dictionary = copy.copy(dictionary)
        dictionary.scaling = "none"
        data = self._laid.within(limits)
        dictionary.check_rows(data.X)
        weights, options = data.weights * per_class[data.codes], (standardize, budget, n_threads)
        self._laid = replace(data, weights=weights)
        self._data = self._data if keeps_rows else self._laid
        self._design = MemoryDesign(
            dictionary, data.X, weights, *options, words=data.words, moments=moments
        )
        return int(not self._design.is_screened)

    def words_below(self, width: int, by_class: bool) -> list[hashing.Words]:
        """Return the fingerprints below a bound, combined with the class if asked for."""
        is_below = self._data.words <= np.uint64(width - 1)
        words, codes = self._data.words[is_below], self._data.codes[is_below]
        return [words ^ hashing.mix(codes.astype(np.uint64)) if by_class else words]

    def draw(self, key: int, turn: int, width: int) -> tuple[list[hashing.Words], list[DataSet]]:
        """Return the rows on an arc of the circle, and their distances from its start."""
        circle, data = self._circle(key), self._laid
        at = circle.within(turn, width)
        part = DataSet(data.X[at], data.codes[at], data.weights[at], data.words[at])
        return [circle.distances(at, turn)], [part]

    def propose(self, atoms: Any, store: Any) -> None:
        self._candidates = self._design.candidates(atoms, reuse=True, store=store)

    # The loop.

    def at(
        self,
        changes: Sequence[tuple[int, int, Sequence[tuple[Any, ...]]]],
        dead: Sequence[int],
        points: Sequence[tuple[int, int, Array]],
        verb: str,
        *args: Any,
    ) -> tuple[Any, Any]:
        """Update columns, and answer one of the questions below at some points.

        Points are numbers of columns, outputs and coefficients. The answer includes the properties
        of new columns; dead columns are dropped.
        """
        for number in dead:
            self._columns.pop(number, None)
        news = tuple(self._change(*change) for change in changes)
        here = [Point(self._columns[number], output, coef) for number, output, coef in points]
        if verb not in _OF_LEAVES:
            return news, getattr(self, verb)(here, *args)
        ((columns, output, coef),) = here
        return news, getattr(columns, verb)(output, coef, *args)

    def _change(
        self, number: int, first: int, changes: Sequence[tuple[Any, ...]]
    ) -> tuple[Array, list[Array], Array]:
        """Apply changes; return mean squares, largest values and first gradients of new columns."""
        for verb, *args in changes:
            if verb == "make":
                positives, *rest = args
                targets = [np.where(self._laid.codes == code, 1.0, -1.0) for code in positives]
                self._columns[number] = self._design.columns(targets, *rest)
            else:
                getattr(self._columns[number], verb)(*args)
        columns = self._columns[number]
        largest = [columns.largest(first)]
        return columns.norms[first:] ** 2, largest, columns.first_gradients[:, first:]

    def look(self, points: Sequence[Point], places: Sequence[int] | None = None) -> tuple[Any, ...]:
        looks = [columns.look([(c, coef)], places)[0] for columns, c, coef in points]
        return tuple(
            (risk, gradient, columns.gram(c, coef) if gram is None else gram)
            for (columns, c, coef), (risk, gradient, gram) in zip(points, looks, strict=True)
        )

    def triangle(self, points: Sequence[Point], is_lifted: bool) -> tuple[list[Array], Array]:
        ((columns, output, coef),) = points
        R, straight = columns.triangle(output, coef, is_lifted)
        return [R], straight

    def residuals(self, points: Sequence[Point], key: int, width: int) -> list[Array]:
        """Return the residuals of the rows on the first arc of the circle."""
        return [self._design.residuals(points)[self._circle(key).within(0, width)]]

    def sums(self, points: Sequence[Point], atoms: Any) -> Sums:
        return self._design.sums(atoms, points)

    def estimates(self, points: Sequence[Point], atoms: Any, *question: Any) -> Scores:
        """Return estimated scores of new candidates, or of the last ones, with error bounds."""
        if atoms is not None:
            self._candidates = self._design.candidates(atoms, reuse=False, store=False)
        return self._candidates.estimates(points, *question)

    def exact(self, points: Sequence[Point], atoms: Any, divisor: Divisor) -> Scores:
        return self._design.exact(points, atoms, divisor)

    # Trees that grow on all rows.

    def levels(self, is_category: Flags) -> Levels:
        return Levels.of(self._laid.X, is_category)

    def first_rows(self, width: int) -> list[DataSet]:
        """Return the rows whose fingerprints are below a bound."""
        return [self._laid.take(self._laid.words <= np.uint64(width - 1))]

    def bin(self, bins: Bins) -> tuple[list[NDArray[np.intp]], Weights]:
        """Bin the rows; return the columns whose features clash, and the weights."""
        self._bins, self._growing = bins, dict[int, HostRows]()
        self._codes, clash = codes_of(bins, self._laid.X)
        return [clash], Weights.of(self._laid.weights)

    def size(self, points: Sequence[Point]) -> float:
        return float(np.abs(self._design.residuals(points)).sum())

    def start_tree(
        self, points: Sequence[Point], number: int, size: float, unit: float, is_thinned: bool
    ) -> None:
        """Put all rows at the root of tree `number`."""
        residual, weights = self._design.residuals(points)[:, 0], self._laid.weights
        if is_thinned:
            # Rows lighter than a unit get one or nothing at random, instead of nothing.
            chance = hashing.keyed(self._laid.words, 0) / 2.0**64
            weights = np.where(weights < unit, unit * (chance < weights / unit), weights)
        steps = steps_of(residual, weights, size, unit)
        self._growing[number] = HostRows(self._bins, self._codes, steps)

    def split_tree(self, number: int, slots: Any, splits: Any) -> Any:
        return self._growing[number].split(slots, splits)

    def tree_sums(self, points: Sequence[Point], trees: Any, leaves: Sequence[Any]) -> Sums:
        """Return the sums of grown trees; `leaves` has the leaf numbers of their nodes."""
        self._design.residuals(points)
        for number, own in enumerate(leaves):
            rows = self._growing.pop(number)
            self._design.keep_leaves(trees[number : number + 1], own[rows.nodes])
        return self._design.sums(trees, points)

    # Validation.

    def judge(
        self,
        inputs: Inputs | None,
        limits: Limits | None,
        dictionary: Dictionary,
        scale: Array,
        n_classes: int,
        is_steadied: bool,
    ) -> float:
        """Prepare to score the steps of a path; return the weight of the rows."""
        seen = replace(self._data, X=encode(inputs, self._data.X))
        data = self._laid = seen.within(limits)
        shares = data.weights if is_steadied else None
        sums = make_sums(data.codes, n_classes, data.weights, shares)
        self._validator = make_validator(data.X, dictionary, scale, sums)
        return float(data.weights.sum())

    def scores(self, n_known: int, atoms: Sequence[Any], steps: Sequence[Step]) -> Array:
        """Return the sums that make up the scores of steps; atoms are sent once."""
        if n_known == 0:
            self._validator = self._validator.anew()
        return np.array(self._validator(steps, [None] * n_known + list(atoms)))

    def predicted(self, model: Model) -> tuple[list[Array], list[NDArray[np.intp]], list[Array]]:
        data = self._laid
        return [model.decision(data.X)], [data.codes], [data.weights]


class Shard:
    """All rows of one worker: the partitions of each place by their numbers, None if empty.

    `n_parts` are the total numbers of partitions, for training and for validation.
    """

    def __init__(
        self,
        training: Mapping[int, LoadedRows],
        validation: Mapping[int, LoadedRows],
        n_parts: Sequence[int],
        n_threads: int = 1,
        store_limit: int = 2**62,
    ) -> None:
        # For the lifetime of the shard: setting the limit takes longer than a small question.
        limit = ExitStack()
        limit.enter_context(blas.one_thread())
        weakref.finalize(self, limit.close)
        self._places: dict[int, dict[int, Partition | None]] = {
            place: {i: Partition.of(rows) for i, rows in some.items()}
            for place, some in enumerate((training, validation))
        }
        self._n_parts = dict(enumerate(n_parts))
        self._n_threads, self._store_limit = n_threads, store_limit

    def ask(self, place: int, method: str, *args: Any) -> Pieces:
        """Call a method of each partition."""
        parts = self._places[place].items()
        answers = {i: None if part is None else getattr(part, method)(*args) for i, part in parts}
        return Pieces.of(self._n_parts[place], answers)

    def split(self, place: int, new: Sequence[int], key: int, last: hashing.Words) -> Pieces:
        """Make one or two places of the rows of another; return their numbers of rows."""
        parts, n_parts = self._places[place].items(), self._n_parts[place]
        for number, is_aside in zip(new, (False, True), strict=False):
            self._n_parts[number] = n_parts
            self._places[number] = {i: p and p.part(key, last, is_aside) for i, p in parts}
        made = [self._places[number] for number in new]
        sizes = {i: tuple(p.n_rows if (p := own[i]) else 0 for own in made) for i, _ in parts}
        return Pieces.of(n_parts, sizes)

    def forget(self, places: Sequence[int]) -> Pieces:
        n_parts = [self._n_parts.pop(place) for place in places]
        gone = [self._places.pop(place) for place in places]
        return Pieces.of(n_parts[0], dict.fromkeys(gone[0]))

    def lay(self, place: int, budget: int, *args: Any) -> Pieces:
        """Lay a dictionary over the rows; partitions share the memory for stored candidates."""
        share = min(budget, self._store_limit) // max(1, len(self._places[place]))
        return self.ask(place, "lay", share, self._n_threads, *args)
