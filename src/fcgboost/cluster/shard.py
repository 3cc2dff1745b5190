"""The rows of one worker, and what they can be asked.

A question is put to each partition on its own, and the answers keep the partitions' numbers: the
client adds them up in the order of the partitions, so that no sum depends on which worker has which
partition.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.clipping import Flags, Limits, zeros_in
from fcgboost.designs.base import Array, Divisor, Point, Sums
from fcgboost.designs.columns import MemoryColumns
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import Moments, moments_of
from fcgboost.designs.scoring import MemoryCandidates, Scores
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.path import Validator
from fcgboost.stopping import Step
from fcgboost.threads import blas
from fcgboost.training.dataset import DataSet
from fcgboost.training.scoring import make_validator


class LoadedRows(NamedTuple):
    """A partition as it was loaded: rows, labels and weights."""

    X: Any
    y: NDArray[Any]
    weights: Array


class Partition:
    """The rows of one partition, for training or for validation; codes stand for its labels."""

    def __init__(self, data: DataSet, labels: NDArray[Any]) -> None:
        self._data, self._labels = data, labels
        self._columns: dict[int, MemoryColumns] = {}
        self._candidates: MemoryCandidates
        self._design: MemoryDesign
        self._validator: Validator

    @classmethod
    def of(cls, loaded: LoadedRows) -> Partition:
        """Return rows as they were loaded, those of weight zero left out."""
        labels, codes = np.unique(loaded.y, return_inverse=True)
        return cls(DataSet.of(loaded.X, codes, loaded.weights), labels)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._data.weights)

    # Before the loop.

    def survey(self) -> tuple[NDArray[Any], int, bool]:
        """Return the labels, the number of columns, and whether rows are sparse."""
        X, present = self._data.X, np.unique(self._data.codes)
        return self._labels[present], X.shape[1], sparse.issparse(X)

    def encode(self, classes: NDArray[Any]) -> hashing.Digest:
        """Replace labels by codes and put the rows in canonical order; return their digest."""
        codes = np.searchsorted(classes, self._labels)[self._data.codes]
        self._data, self._labels = replace(self._data, codes=codes).canonical(), classes
        return self._data.digest()

    def class_totals(self, n_classes: int) -> Array:
        """Return the weight of every class."""
        return np.asarray(np.bincount(self._data.codes, self._data.weights, n_classes))

    def largest_hashes(self, key: int, n_classes: int) -> hashing.Words:
        """Return the largest hash of every class."""
        largest = np.zeros(n_classes, dtype=np.uint64)
        np.maximum.at(largest, self._data.codes, hashing.keyed(self._data.words, key))
        return largest

    def histogram(self, key: int, prefixes: hashing.Words, n_bits: int) -> Array:
        """Return weights by the eight bits of the hashes that follow their class's prefix."""
        hashes, codes = hashing.keyed(self._data.words, key), self._data.codes
        shift = np.uint64(56 - n_bits)
        byte = ((hashes >> shift) - (prefixes[codes] >> shift)).astype(np.int64)
        counted = (byte >= 0) & (byte < 256)
        places, n = (codes * 256 + byte)[counted], 256 * len(prefixes)
        sums = np.bincount(places, self._data.weights[counted], n)
        return np.asarray(sums.reshape(-1, 256))

    def split(self, key: int, last: hashing.Words) -> Partition:
        """Set rows whose hashes are at most those of their class aside, and return them."""
        data = self._data
        aside = (hashing.keyed(data.words, key) <= last[data.codes]) & (last[data.codes] > 0)
        self._data = data.take(~aside)
        return Partition(data.take(aside), self._labels)

    def moments(self, per_class: Array, limits: Limits | None = None) -> Moments:
        """Return the moments of the rows within limits."""
        data = self._data
        return moments_of(data.within(limits).X, data.weights * per_class[data.codes])

    def zeros(self) -> Flags:
        """Say which columns hold a zero."""
        return zeros_in(self._data.X)

    def lay(
        self,
        budget: int,
        n_threads: int,
        standardize: bool,
        limits: Limits | None,
        dictionary: Dictionary,
        moments: Moments,
        per_class: Array,
    ) -> tuple[int, bool]:
        """Lay a dictionary over the rows; return their number, and whether atoms are screened.

        Columns are not scaled here: their sizes are known when all partitions have answered.
        """
        dictionary = copy.copy(dictionary)
        dictionary.scaling = "none"
        data = self._data.within(limits)
        dictionary.check_rows(data.X)
        weights, options = data.weights * per_class[data.codes], (standardize, budget, n_threads)
        self._data = replace(data, weights=weights)
        self._design = MemoryDesign(
            dictionary, data.X, weights, *options, words=data.words, moments=moments
        )
        # The last two: that of the fit, and that of a step with a key of its own.
        self._circle = lru_cache(maxsize=2)(partial(hashing.Circle, data.words))
        return self.n_rows, self._design.is_screened

    def words_below(self, width: int) -> hashing.Words:
        """Return the distinct fingerprints below a bound."""
        words = self._design.fingerprints
        return words[words <= np.uint64(width - 1)]

    def draw(self, key: int, turn: int, width: int) -> tuple[hashing.Words, DataSet]:
        """Return how far on the rows on a stretch of the circle are, and these."""
        circle, data = self._circle(key), self._data
        at = circle.within(turn, width)
        part = DataSet(data.X[at], data.codes[at], data.weights[at], data.words[at])
        return circle.distances(at, turn), part

    def propose(self, atoms: Any, store: Any) -> None:
        """Lay candidates over the rows that will be scored more than once."""
        self._candidates = self._design.candidates(atoms, reuse=True, store=store)

    # The loop.

    def at(
        self,
        changes: Sequence[tuple[int, int, Sequence[tuple[Any, ...]]]],
        points: Sequence[tuple[int, int, Array]],
        verb: str,
        *args: Any,
    ) -> tuple[Any, Any]:
        """Bring columns up to date, and answer one of the questions below at some points.

        Points are numbers of columns, outputs and coefficients. What is known of new columns comes
        with the answer.
        """
        news = [self._change(*change) for change in changes]
        here = [Point(self._columns[number], output, coef) for number, output, coef in points]
        return news, getattr(self, verb)(here, *args)

    def _change(
        self, number: int, first: int, changes: Sequence[tuple[Any, ...]]
    ) -> tuple[Array, Array, Array]:
        """Return mean squares, largest values and first gradients from the first new column on."""
        for verb, *args in changes:
            if verb == "make":
                positives, *rest = args
                targets = [np.where(self._data.codes == code, 1.0, -1.0) for code in positives]
                self._columns[number] = MemoryColumns(self._design, targets, *rest)
            else:
                getattr(self._columns[number], verb)(*args)
        columns = self._columns[number]
        largest = np.abs(columns.A[:, first:]).max(axis=0)
        return columns.norms[first:] ** 2, largest, columns.first_gradients[:, first:]

    def look(self, points: Sequence[Point], places: Sequence[int] | None = None) -> tuple[Any, ...]:
        """Return risks, gradients and Gram matrices."""
        looks = [columns.look([(c, coef)], places)[0] for columns, c, coef in points]
        return tuple(
            (risk, gradient, columns.gram(c, coef) if gram is None else gram)
            for (columns, c, coef), (risk, gradient, gram) in zip(points, looks, strict=True)
        )

    def triangle(self, points: Sequence[Point], is_lifted: bool) -> tuple[Array, Array]:
        """Return the triangle, and the sums over straight rows."""
        ((columns, output, coef),) = points
        return columns.triangle(output, coef, is_lifted)

    def residuals(self, points: Sequence[Point], key: int, width: int) -> Array:
        """Return the residuals of the rows on the first stretch of the circle."""
        return np.asarray(self._design.residuals(points)[self._circle(key).within(0, width)])

    def sums(self, points: Sequence[Point], atoms: Any) -> Sums:
        """Return what the gains of a few atoms are made of."""
        return self._design.sums(atoms, points)

    def estimates(
        self,
        points: Sequence[Point],
        atoms: Any,
        divisor: Divisor,
        left: NDArray[np.intp],
        dtype: str,
    ) -> Scores:
        """Return scores of candidates, new ones or those before, and how far they may be off."""
        if atoms is not None:
            self._candidates = self._design.candidates(atoms, reuse=False, store=False)
        return self._candidates.estimates(points, divisor, left, dtype)

    def exact(self, points: Sequence[Point], atoms: Any, divisor: Divisor) -> Scores:
        """Return exact scores of a few atoms."""
        return self._design.exact(points, atoms, divisor)

    # Validation.

    def judge(
        self, limits: Limits | None, dictionary: Dictionary, scale: Array, n_classes: int
    ) -> None:
        """Prepare to score the steps of a path."""
        self._data = data = self._data.within(limits)

        def hits(decision: Array) -> float:
            found = decision[:, 0] > 0.0 if n_classes == 2 else decision.argmax(1)
            return float(data.weights[found == data.codes].sum())

        self._validator = make_validator(data.X, dictionary, scale, hits)

    def hits(self, step: Step, atoms: Sequence[Any]) -> float:
        """Return the weight of the rows that a step classifies correctly."""
        return self._validator(step, atoms)


class Shard:
    """All rows of one worker: partitions by their numbers, those without rows left out."""

    def __init__(
        self,
        training: dict[int, LoadedRows],
        validation: dict[int, LoadedRows],
        n_threads: int = 1,
        store_limit: int = 2**62,
    ) -> None:
        # As long as the shard lives: setting a limit takes longer than a small question.
        limit = ExitStack()
        limit.enter_context(blas.one_thread())
        weakref.finalize(self, limit.close)
        self._training, self._validation = (
            _with_rows({number: Partition.of(rows) for number, rows in some.items()})
            for some in (training, validation)
        )
        self._n_threads, self._store_limit = n_threads, store_limit

    def ask(self, method: str, *args: Any) -> dict[int, Any]:
        """Call a method of every partition for training."""
        return {i: getattr(part, method)(*args) for i, part in self._training.items()}

    def ask_validation(self, method: str, *args: Any) -> dict[int, Any]:
        """Call a method of every partition for validation."""
        return {i: getattr(part, method)(*args) for i, part in self._validation.items()}

    def set_aside(self, key: int, last: hashing.Words) -> dict[int, int]:
        """Move rows to validation; return how many."""
        aside = {i: part.split(key, last) for i, part in self._training.items()}
        self._training, self._validation = _with_rows(self._training), _with_rows(aside)
        return {i: part.n_rows for i, part in self._validation.items()}

    def lay(self, budget: int, *args: Any) -> dict[int, tuple[int, bool]]:
        """Lay a dictionary over the rows; stored candidates of all share the memory."""
        share = min(budget, self._store_limit) // max(1, len(self._training))
        return self.ask("lay", share, self._n_threads, *args)


def _with_rows(partitions: dict[int, Partition]) -> dict[int, Partition]:
    return {number: part for number, part in partitions.items() if part.n_rows}
