"""The rows of one worker, and what they can be asked.

Every question is put to each partition on its own, and the answers keep the partitions' numbers:
the client adds them up in the order of the partitions, so that no sum depends on which worker has
which partition.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
from fcgboost.losses import Loss
from fcgboost.stopping import Step
from fcgboost.threads import blas
from fcgboost.trace import Validator
from fcgboost.training.dataset import DataSet
from fcgboost.training.scoring import make_validator, winners

_BITS = 8
# More rows of a partition than a draw will want, with hardly an exception.
_SPARE_DEVIATIONS, _SPARE_ROWS = 4.0, 8


class LoadedRows(NamedTuple):
    """A partition as it was loaded: rows, labels and weights."""

    X: Any
    y: NDArray[Any]
    weights: Array


@dataclass(frozen=True)
class Survey:
    """What is seen of rows at first sight."""

    labels: NDArray[Any]
    n_features: int
    is_sparse: bool

    def __add__(self, other: Survey) -> Survey:
        kinds = [some.labels.dtype.kind in "biuf" for some in (self, other)]
        if kinds[0] != kinds[1]:
            some = [survey.labels.tolist()[0] for survey in (self, other)]
            raise ValueError(
                f"Labels are numbers in some partitions and not in others ({some[0]!r} and "
                f"{some[1]!r}): make them all of one kind."
            )
        if self.is_sparse != other.is_sparse:
            raise ValueError(
                "Some partitions of X are sparse and some are not: make them all alike, for "
                "example by X.map_blocks(scipy.sparse.csr_array)."
            )
        labels = np.union1d(self.labels, other.labels)
        return Survey(labels, self.n_features, self.is_sparse)


class Draw(NamedTuple):
    """The first rows from a place of the circle on, how far from it, and whether these are all."""

    distances: hashing.Words
    rows: Any
    words: hashing.Words
    codes: NDArray[np.intp]
    weights: Array
    is_all: bool


class Kind(NamedTuple):
    """What columns are made for: the positive class of every output, and more."""

    positives: tuple[int, ...]
    loss: Loss
    capacity: int
    has_constant: bool


class Change(NamedTuple):
    """What happened to columns since they were asked last: first some went, then others came.

    The kind is None for columns that are there already.
    """

    columns: int
    kind: Kind | None
    dropped: tuple[int, ...]
    atoms: Any


@dataclass(frozen=True)
class NewColumns:
    """Sums over rows of new columns: s g^2, the largest |g|, and first gradients."""

    squares: Array
    largest: Array
    gradients: Array

    def __add__(self, other: NewColumns) -> NewColumns:
        largest = np.maximum(self.largest, other.largest)
        return NewColumns(self.squares + other.squares, largest, self.gradients + other.gradients)


class Proposal(NamedTuple):
    """Candidates by their number; the atoms are None where they are known already."""

    number: int
    atoms: Any
    reuse: bool
    store: Any


class Partition:
    """The rows of one partition, for training or for validation.

    Parameters
    ----------
    data : DataSet
    labels : ndarray
        What its codes stand for.
    """

    def __init__(self, data: DataSet, labels: NDArray[Any]) -> None:
        self._data, self._labels = data, labels
        #: Fingerprints before rows were clipped: the canonical order is theirs.
        self._words = data.words
        self._columns: dict[int, MemoryColumns] = {}
        self._candidates: tuple[int, MemoryCandidates] | None = None
        self._circles: dict[int, hashing.Circle] = {}
        self._atoms: list[Any] = []
        self._design: MemoryDesign
        self._validator: Validator

    @classmethod
    def of(cls, loaded: LoadedRows) -> Partition:
        """Return rows as they were loaded, those of weight zero left out."""
        kept = loaded.weights > 0.0
        labels, codes = np.unique(loaded.y[kept], return_inverse=True)
        X = loaded.X if kept.all() else loaded.X[kept]
        return cls(DataSet.of(X, codes, loaded.weights[kept]), labels)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._data.weights)

    # Before the loop: classes, split, units.

    def survey(self) -> Survey:
        """Look at the labels."""
        X = self._data.X
        return Survey(self._labels, X.shape[1], sparse.issparse(X))

    def encode(self, classes: NDArray[Any]) -> hashing.Digest:
        """Replace labels by codes and put the rows in canonical order; return their digest."""
        codes = np.searchsorted(classes, self._labels)[self._data.codes]
        self._data, self._labels = replace(self._data, codes=codes).canonical(), classes
        self._words = self._data.words
        return self._data.digest()

    def class_totals(self, n_classes: int) -> Array:
        """Return the weight of every class."""
        return np.bincount(self._data.codes, self._data.weights, n_classes)

    def largest_hashes(self, key: int, n_classes: int) -> hashing.Words:
        """Return the largest hash of every class."""
        largest = np.zeros(n_classes, dtype=np.uint64)
        np.maximum.at(largest, self._data.codes, hashing.keyed(self._data.words, key))
        return largest

    def histogram(self, key: int, prefixes: hashing.Words, n_known: int) -> Array:
        """Return weights by the next byte of the hashes that begin with their class's prefix."""
        hashes, codes = hashing.keyed(self._data.words, key), self._data.codes
        shift = np.uint64(64 - _BITS * n_known)
        counted = slice(None) if n_known == 0 else hashes >> shift == prefixes[codes] >> shift
        byte = (hashes >> np.uint64(64 - _BITS * (n_known + 1))).astype(np.intp) & 255
        places, n = (codes * 256 + byte)[counted], 256 * len(prefixes)
        return np.bincount(places, self._data.weights[counted], n).reshape(-1, 256)

    def split(self, key: int, last: hashing.Words) -> tuple[Partition, Partition]:
        """Return the rows for training, and those whose hashes are at most those of their class."""
        data = self._data
        aside = (hashing.keyed(data.words, key) <= last[data.codes]) & (last[data.codes] > 0)
        training, validation = (data.take(rows) for rows in (~aside, aside))
        return Partition(training, self._labels), Partition(validation, self._labels)

    def moments(self, per_class: Array) -> Moments:
        """Return the moments of the rows."""
        return moments_of(self._data.X, self._data.weights * per_class[self._data.codes])

    def zeros(self) -> Flags:
        """Say which columns hold a zero."""
        return zeros_in(self._data.X)

    def clip(self, limits: Limits) -> None:
        """Keep the rows within limits."""
        self._data = self._data.within(limits)

    # The loop.

    def lay(
        self, dictionary: Dictionary, moments: Moments, per_class: Array, options: dict[str, Any]
    ) -> tuple[int, bool]:
        """Lay a dictionary over the rows; return their number, and whether atoms are screened.

        Columns are not scaled here: their sizes are known when all partitions have answered.
        """
        dictionary.check_rows(self._data.X)
        if dictionary.scaling != "none":
            dictionary = copy.copy(dictionary)
            dictionary.scaling = "none"
        data = self._data
        weights = data.weights * per_class[data.codes]
        self._design = MemoryDesign(
            dictionary, data.X, weights, words=data.words, moments=moments, **options
        )
        return self.n_rows, self._design.is_screened

    def first_words(self, n: int) -> tuple[hashing.Words, bool]:
        """Return the smallest distinct fingerprints, and whether these are all."""
        words = self._design.fingerprints
        return words[:n], len(words) <= n

    def draw(self, key: int, turn: int, share: float) -> Draw:
        """Return a share of the rows, and some to spare, from a place of the circle on."""
        expected = min(1.0, share) * self.n_rows
        limit = int(expected + _SPARE_DEVIATIONS * np.sqrt(expected) + _SPARE_ROWS)
        data, circle = self._data, self._circle(key)
        places = circle.after(turn, limit)
        values = (data.X, self._words, data.codes, self._design.weights)
        drawn = (array[places] for array in values)
        return Draw(circle.distances(places, turn), *drawn, limit >= self.n_rows)

    def _circle(self, key: int) -> hashing.Circle:
        if key not in self._circles:
            # The last two: that of the fit, and that of a step with a key of its own.
            self._circles = dict([*self._circles.items()][-1:])
            self._circles[key] = hashing.Circle(self._data.words, key)
        return self._circles[key]

    def at(
        self,
        changes: Sequence[Change],
        points: Sequence[tuple[int, int, Array]],
        verb: str,
        *args: Any,
    ) -> tuple[Any, Any]:
        """Bring columns up to date, and answer one of the questions below at some points.

        Parameters
        ----------
        changes : sequence of Change
        points : sequence of (number of the columns, output, coefficients)
        verb : str
        *args :
            More that the question needs.

        Returns
        -------
        tuple of NewColumns or None, and the answer
        """
        news = tuple(self._change(change) for change in changes)
        here = [Point(self._columns[number], output, coef) for number, output, coef in points]
        return news, getattr(self, verb)(here, *args)

    def _change(self, change: Change) -> NewColumns | None:
        if change.kind is not None:
            codes = self._data.codes
            targets = [np.where(codes == code, 1.0, -1.0) for code in change.kind.positives]
            self._columns[change.columns] = self._design.columns(targets, *change.kind[1:])
        columns = self._columns[change.columns]
        for position in change.dropped:
            columns.drop(position)
        if change.atoms is None:
            return None
        first = columns.n_columns
        columns.append(change.atoms)
        largest = np.abs(columns.A[:, first:]).max(axis=0)
        return NewColumns(columns.norms[first:] ** 2, largest, columns.first_gradients[:, first:])

    def look(self, points: Sequence[Point]) -> tuple[Any, ...]:
        """Return risks, gradients and Gram matrices."""
        looks = [point.columns.look([(point.output, point.coef)])[0] for point in points]
        return tuple(tuple(look) for look in looks)

    def triangle(self, points: Sequence[Point], is_lifted: bool) -> tuple[Array, Array]:
        """Return the triangle, and the sums over straight rows."""
        ((columns, output, coef),) = points
        return columns.triangle(output, coef, is_lifted)

    def residuals(self, points: Sequence[Point], key: int, bound: np.uint64 | None) -> Array:
        """Return the residuals of the rows that are on the circle before a place."""
        circle = self._circle(key)
        places = circle.after(0, self.n_rows)
        if bound is not None:
            places = places[: np.searchsorted(circle.distances(places, 0), bound)]
        return np.asarray(self._design.residuals(points)[places])

    def sums(self, points: Sequence[Point], atoms: Any) -> Sums:
        """Return what the gains of a few atoms are made of."""
        return self._design.sums(atoms, points)

    def estimates(
        self,
        points: Sequence[Point],
        proposal: Proposal,
        divisor: Divisor,
        left: NDArray[np.intp],
        is_screened: bool,
    ) -> Scores:
        """Return scores of some candidates, and how far they may be off."""
        self._design.forget_columns()
        if self._candidates is None or self._candidates[0] != proposal.number:
            number, atoms, reuse, store = proposal
            candidates = self._design.candidates(atoms, reuse=reuse, store=store)
            self._candidates = number, candidates
        R, dtype = self._design.residuals(points), "float32" if is_screened else "float64"
        with np.errstate(all="ignore"):
            return self._candidates[1].estimates(R, divisor, left, dtype)

    def exact(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]
    ) -> Scores:
        """Return exact scores of some of the candidates that were estimated last."""
        assert self._candidates is not None
        return self._candidates[1].exact(self._design.residuals(points), divisor, left)

    # Validation.

    def judge(self, dictionary: Dictionary, scale: Array, n_classes: int) -> None:
        """Prepare to score the steps of a path."""
        data, codes = self._data, np.arange(n_classes)

        def hits(decision: Array) -> float:
            values = decision[:, 0] if n_classes == 2 else decision
            return float(data.weights[winners(values, codes) == data.codes].sum())

        self._validator = make_validator(data.X, dictionary, scale, hits)
        self._atoms = []

    def hits(self, step: Step, new_atoms: Sequence[Any]) -> float:
        """Return the weight of the rows that a step classifies correctly."""
        self._atoms.extend(new_atoms)
        return self._validator(step, self._atoms)


class Shard:
    """All rows of one worker, partition by partition.

    Parameters
    ----------
    training, validation : dict from int to LoadedRows
        Partitions by their numbers; those without rows are left out.
    n_threads : int
    store_limit : int
        Bytes that stored candidates may take here.
    """

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
        pairs = {i: part.split(key, last) for i, part in self._training.items()}
        self._training = _with_rows({i: pair[0] for i, pair in pairs.items()})
        self._validation = _with_rows({i: pair[1] for i, pair in pairs.items()})
        return {i: part.n_rows for i, part in self._validation.items()}

    def lay(
        self,
        dictionary: Dictionary,
        moments: Moments,
        per_class: Array,
        standardize: bool,
        memory_budget: int,
    ) -> dict[int, tuple[int, bool]]:
        """Lay a dictionary over the rows."""
        options = {
            "standardize": standardize,
            "memory_budget": min(memory_budget, self._store_limit) // max(1, len(self._training)),
            "n_threads": self._n_threads,
        }
        return self.ask("lay", dictionary, moments, per_class, options)


def _with_rows(partitions: dict[int, Partition]) -> dict[int, Partition]:
    return {number: part for number, part in partitions.items() if part.n_rows}
