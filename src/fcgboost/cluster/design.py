"""The design whose rows lie on workers: every verb is one round, `Candidates.best` two.

New columns wait for the next round, and their sizes come back with it. Columns lie on the workers
unscaled, because their sizes are known only when all partitions have answered; what comes back is
scaled here.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import count
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.designs.base import Array, Columns, Design, Divisor, Look, Point, Subsample, Sums
from fcgboost.designs.moments import Frame, Moments
from fcgboost.designs.scoring import ScoredCandidates, Scores
from fcgboost.dictionaries import Dictionary, Sample, stack_rows
from fcgboost.losses import Loss
from fcgboost.training.dataset import DataSet

# Up to so many rows are counted; of more the number is estimated.
_COUNTED = 1 << 14
# So many times in a row workers may be lost without an answer in between.
_LOSSES = 6
# The circle of hashes.
_ROUND = 2**64


class WorkerLostError(RuntimeError):
    """A worker that held rows is gone, and with it what it knew."""


class Workers(ABC):
    """The workers that have the rows; where some are lost, others take their places."""

    def __init__(self) -> None:
        #: How often they were asked.
        self.n_rounds = 0
        #: What shards remember, and the answers where they must be the same again.
        self.log: list[tuple[tuple[Any, ...], list[Any] | None]] = []
        self._is_connected = False

    @abstractmethod
    def connect(self) -> None:
        """Load the rows, and make a shard on every worker."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers forget the rows."""

    @abstractmethod
    def ask_all(self, method: str, *args: Any) -> list[dict[int, Any]]:
        """Call a method of every shard; return the answers by partition, or WorkerLostError."""

    def call(self, method: str, *args: Any) -> list[dict[int, Any]]:
        """Ask all shards; if one is lost, make all of them again and repeat what they were told."""
        for _ in range(_LOSSES):
            try:
                if not self._is_connected:
                    self.connect()
                    self._repeat()
                    self._is_connected = True
                return self.ask_all(method, *args)
            except WorkerLostError as error:
                last, self._is_connected = error, False
                self.close()
                message = f"{error}: rows are loaded again, and the fit goes on."
                warnings.warn(message, RuntimeWarning, stacklevel=2)
        raise RuntimeError(
            f"The Dask cluster lost workers {_LOSSES} times in a row: {last}. Do they run out of "
            "memory?"
        ) from last

    def _repeat(self) -> None:
        for call, answers in self.log:
            again = _in_order(self.ask_all(*call))
            if answers is not None and again != answers:
                raise RuntimeError(
                    "The partitions gave other rows when they were loaded again. They must be the "
                    "same every time: set seeds, leave files alone, or persist the collection."
                )

    def round(self, method: str, *args: Any, lasts: bool = False) -> list[Any]:
        """Call a method of every worker's shard; return the partitions' answers in their order.

        What lasts is said again to shards that take the place of others.
        """
        self.n_rounds += 1
        answers = _in_order(self.call(method, *args))
        if lasts:
            self.log.append(((method, *args), answers))
        return answers

    def ask(self, method: str, *args: Any, lasts: bool = False) -> list[Any]:
        """Ask all partitions for training."""
        return self.round("ask", method, *args, lasts=lasts)

    def ask_validation(self, method: str, *args: Any, lasts: bool = False) -> list[Any]:
        """Ask all partitions for validation."""
        return self.round("ask_validation", method, *args, lasts=lasts)


def _in_order(answers: Sequence[dict[int, Any]]) -> list[Any]:
    numbered = {number: answer for some in answers for number, answer in some.items()}
    return [numbered[number] for number in sorted(numbered)]


def add_up(answers: Sequence[Any]) -> Any:
    """Add up the answers of at least one partition, in order; tuples item by item."""
    if isinstance(answers[0], tuple):
        return tuple(map(add_up, zip(*answers, strict=True)))
    return reduce(add, answers)


class ClusterDesign(Design):
    """A dictionary that workers have laid over their rows.

    `class_totals` are the weights of the classes; of every partition it was `laid` over are known
    the number of rows and whether atoms are screened.
    """

    def __init__(
        self,
        workers: Workers,
        dictionary: Dictionary,
        moments: Moments,
        standardize: bool,
        class_totals: Array,
        laid: Sequence[tuple[int, bool]],
    ) -> None:
        self.workers, self.dictionary, self.class_totals = workers, dictionary, class_totals
        self.frame = Frame(moments, standardize)
        self.total_weight = moments.total_weight
        self.scale, self.deviation = self.frame.scale, self.frame.deviation
        self.is_screened = all(is_screened for _, is_screened in laid)
        self._n_rows = sum(n_rows for n_rows, _ in laid)
        #: The numbers by which workers know columns.
        self.numbers = count()

    @cached_property
    def n_distinct(self) -> int:
        """The number of distinct rows, estimated where there are many."""
        width = _ROUND * _COUNTED // max(_COUNTED, self._n_rows)
        words = np.concatenate(self.workers.ask("words_below", width))
        return len(np.unique(words)) * _ROUND // width

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        distances, parts, _ = self.draw(n, key, turn)
        first = np.unique(distances, return_index=True)[1][:n]
        return self.frame.sample(stack_rows([part.X for part in parts])[first])

    def draw(self, n: int, key: int, turn: int = 0) -> tuple[hashing.Words, list[DataSet], int]:
        """Return how far on rows of a stretch of the circle with n distinct ones are, and all."""
        # Hashes are evenly spread: with hardly an exception this is wide enough.
        width = int((n + 4.0 * np.sqrt(n) + 8.0) / self._n_rows * _ROUND)
        while True:
            answers = self.workers.ask("draw", key, turn, width)
            distances = np.concatenate([own for own, _ in answers])
            if width >= _ROUND or len(np.unique(distances)) >= n:
                return distances, [part for _, part in answers], width
            width *= 4

    def subsample(self, n: int, key: int) -> ClusterSubsample:
        """Bring the rows with the smallest hashes here, once."""
        return ClusterSubsample(self, n, key)

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> ClusterCandidates:
        """Send atoms that will be scored again; others go with the question."""
        if reuse:
            self.workers.ask("propose", atoms, store, lasts=True)
        return ClusterCandidates(self, atoms, reuse)

    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        total: Sums = add_up(self.at(points, "sums", atoms))
        return total

    def grow(self, points: Sequence[Point]) -> Any:
        """Refuse to: leaves are not corrected on workers."""
        raise TypeError("Leaves are not corrected on workers.")

    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> ClusterColumns:
        """Return an empty set of columns; targets are the codes of positive classes."""
        return ClusterColumns(self, tuple(targets), loss, capacity, has_constant)

    def at(self, points: Sequence[Point], verb: str, *args: Any) -> list[Any]:
        """Ask a question at points, in one round; what columns wait for comes along."""
        columns = [p.columns for p in points if isinstance(p.columns, ClusterColumns)]
        there = [
            (c.number, p.output, c.unscaled(p.coef)) for c, p in zip(columns, points, strict=True)
        ]
        changed = [*dict.fromkeys(c for c in columns if c.changes)]
        changes = [(c.number, c.n_known, c.changes) for c in changed]
        answers = self.workers.ask("at", changes, there, verb, *args)
        if changes:
            self.workers.log.append((("ask", "at", changes, [], "look"), None))
        for i, some in enumerate(changed):
            some.note([news[i] for news, _ in answers])
        return [answer for _, answer in answers]


class ClusterSubsample(Subsample):
    """Rows of all partitions: they came once, and only residuals come again.

    Rows of several partitions that are equal in values and class are one row. All rows together
    are in canonical order, fewer in that of their hashes, as in memory.
    """

    def __init__(self, design: ClusterDesign, n: int, key: int) -> None:
        distances, parts, width = design.draw(n, key)
        rows = stack_rows([part.X for part in parts])
        codes = np.concatenate([part.codes for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        words = np.concatenate([part.words for part in parts])
        data = DataSet(rows, codes, weights, words).canonical(keeps_written=True)
        assert data.positions is not None
        kept = np.arange(len(data.codes))
        hashes = np.empty(len(kept), dtype=np.uint64)
        hashes[data.positions] = distances
        if len(kept) > n:
            width = int(np.sort(hashes)[n])
        if width < _ROUND:
            kept = np.argsort(hashes, kind="stable")
            kept = kept[hashes[kept] < width]
        order = np.full(len(hashes), -1)
        order[kept] = np.arange(len(kept))
        places = order[data.positions]
        self._places = places[places >= 0]
        self.weights = np.bincount(data.positions, weights)[kept]
        self._design, self._key, self._width = design, key, width
        self.rows = data.X[kept]

    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Put together what the partitions have of the rows."""
        parts = self._design.at(points, "residuals", self._key, self._width)
        residuals = np.zeros((len(self.weights), len(points)))
        np.add.at(residuals, self._places, np.concatenate(parts))
        return residuals, (residuals != 0.0) * self.weights[:, None]


class ClusterCandidates(ScoredCandidates):
    """Candidates over rows on workers: one round for estimates, one for whoever can win."""

    def __init__(self, design: ClusterDesign, atoms: Any, is_there: bool) -> None:
        self.atoms, self.is_screened = atoms, design.is_screened
        self._design, self._sent = design, None if is_there else atoms

    def estimates(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp], dtype: str
    ) -> Scores:
        """Add up over the partitions."""
        answers = self._design.at(points, "estimates", self._sent, divisor, left, dtype)
        total: Scores = add_up(answers)
        return total

    def exact(self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        """Add up over the partitions, which may not have the candidates any more."""
        total: Scores = add_up(self._design.at(points, "exact", self.atoms[left], divisor))
        return total


class ClusterColumns(Columns):
    """Columns on workers; classes are the positive ones of the outputs."""

    def __init__(
        self,
        design: ClusterDesign,
        classes: tuple[int, ...],
        loss: Loss,
        capacity: int,
        has_constant: bool,
    ) -> None:
        self.loss, self.has_constant = loss, has_constant
        self.n_columns, self.n_outputs = int(has_constant), len(classes)
        self.total_weight, totals = design.total_weight, design.class_totals
        self.label_weights = np.array([[np.delete(totals, c).sum(), totals[c]] for c in classes])
        self._design, self.number = design, next(design.numbers)
        #: What the workers do not know yet: methods and their arguments.
        self.changes: list[tuple[Any, ...]] = [("make", classes, loss, capacity, has_constant)]
        # Factors, norms and first gradients; two rows stand for all where the constant is alone.
        slopes = (
            self.label_weights
            @ loss.gradient(np.array([-1.0, 1.0]), np.zeros(2))
            / self.total_weight
        )
        known = np.concatenate([[1.0, 1.0], slopes])[:, None]
        self._known: Array = known[:, : self.n_columns]

    @property
    def n_known(self) -> int:
        """The number of columns of which the workers have told."""
        return int(self._known.shape[1])

    @property
    def factors(self) -> Array:
        return np.asarray(self._read()[0])

    @property
    def norms(self) -> Array:
        return np.asarray(self._read()[1])

    @property
    def first_gradients(self) -> Array:
        return self._read()[2:]

    def append(self, atoms: Any) -> None:
        """Add columns, with the next round; those that wait are evaluated together."""
        self.n_columns += atoms.shape[0]
        if self.changes and self.changes[-1][0] == "append":
            atoms = stack_rows([self.changes.pop()[1], atoms])
        self.changes.append(("append", atoms))

    def drop(self, position: int) -> None:
        """Take a column out, with the next round."""
        self._known = np.delete(self._read(), position, axis=1)
        self.changes.append(("drop", position))
        self.n_columns -= 1

    def _read(self) -> Array:
        """Return what is known of all columns; of new ones it has to be asked."""
        if self.n_known < self.n_columns:
            self.look([(0, np.zeros(self.n_columns))])
        return self._known

    def note(self, news: Sequence[tuple[Array, Array, Array]]) -> None:
        """Take down what the partitions, which know all now, say of new columns."""
        squares, largest, gradients = zip(*news, strict=True)
        norms = np.sqrt(add_up(squares))
        sizes = {"max": np.max(largest, axis=0), "norm": norms, "none": np.ones_like(norms)}
        size = sizes[self._design.dictionary.scaling]
        factors = 1.0 / np.where(size > 0.0, size, 1.0)
        known = np.vstack([factors, norms * factors, add_up(gradients) * factors])
        self._known, self.changes = np.hstack([self._known, known]), []

    def unscaled(self, coef: Array) -> Array:
        """Return coefficients of the columns as the workers have them."""
        if coef[self.n_known :].any():
            self._read()
        # Coefficients of new columns are zero, whatever the scale.
        unscaled = coef.copy()
        unscaled[: self.n_known] *= self._known[0]
        return unscaled

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points, in one round."""
        asked = [Point(self, output, coef) for output, coef in points]
        sums, factors = add_up(self._design.at(asked, "look", places)), self._known[0]
        factors = factors if places is None else factors[places]
        return [
            Look(float(risk), gradient * factors, gram * (factors * factors[:, None]))
            for risk, gradient, gram in sums
        ]

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Return the triangle of the partitions' triangles."""
        points = [Point(self, output, coef)]
        answers = self._design.at(points, "triangle", is_lifted)
        R = np.asarray(np.linalg.qr(np.vstack([triangle for triangle, _ in answers]), mode="r"))
        straight: Array = add_up([straight for _, straight in answers])
        return R * np.append(self._known[0], 1.0), straight * self._known[0]
