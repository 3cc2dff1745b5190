"""The design whose rows lie on workers: every verb is one round, `Candidates.best` two.

What waits for the next round are new columns; their sizes come back with it. Columns lie on the
workers unscaled, because their sizes are known only when all partitions have answered; what comes
back is scaled here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.dask.shard import Change, Draw, Kind, NewColumns, Proposal
from fcgboost.designs.base import (
    Array,
    Best,
    Candidates,
    Columns,
    Design,
    Divisor,
    Look,
    Point,
    Subsample,
    Sums,
)
from fcgboost.designs.moments import Frame, Moments
from fcgboost.designs.scoring import MANY, Contest, Scores
from fcgboost.dictionaries import Dictionary, Sample, stack_rows
from fcgboost.losses import Loss

_LABELS = np.array([-1.0, 1.0])
# Fingerprints of a partition that are counted; of more rows the number is estimated.
_COUNTED = 1 << 14
# A draw that was too small is repeated with so many times its share of the rows.
_LARGER = 4.0


class Workers(ABC):
    """The workers that have the rows."""

    #: How often they were asked.
    n_rounds = 0

    @abstractmethod
    def call(self, method: str, *args: Any) -> list[dict[int, Any]]:
        """Call a method of every worker's shard; return the answers by partition."""

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Ask all partitions for training; return their answers in order."""
        return self.round("ask", method, *args)

    def ask_validation(self, method: str, *args: Any) -> list[Any]:
        """Ask all partitions for validation; return their answers in order."""
        return self.round("ask_validation", method, *args)

    def round(self, method: str, *args: Any) -> list[Any]:
        """Call a method of every worker's shard; return the partitions' answers in order."""
        self.n_rounds += 1
        answers = {number: a for some in self.call(method, *args) for number, a in some.items()}
        return [answers[number] for number in sorted(answers)]


def add_up(answers: Sequence[Any]) -> Any:
    """Add up the answers of at least one partition, in order; tuples item by item."""
    return reduce(_added, answers)


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(_added(a, b) for a, b in zip(one, other, strict=True))
    return None if one is None else one + other


class DaskDesign(Design):
    """A dictionary laid over rows on workers.

    Parameters
    ----------
    workers : Workers
        Which have laid the same dictionary over their rows.
    dictionary : Dictionary
    moments : Moments
        Of all rows.
    standardize : bool
    class_totals : ndarray of shape (n_classes,)
        The weight of every class.
    laid : sequence of (int, bool)
        The number of rows of every partition, and whether atoms are screened.
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
        self.workers, self.dictionary = workers, dictionary
        self.frame = Frame(moments, standardize)
        self.total_weight = moments.total_weight
        self.scale, self.deviation = self.frame.scale, self.frame.deviation
        self.class_totals = class_totals
        self.is_screened = all(is_screened for _, is_screened in laid)
        self._n_rows = sum(n_rows for n_rows, _ in laid)
        #: Names of columns and candidates.
        self.numbers = count()

    @cached_property
    def n_distinct(self) -> int:
        """The number of distinct rows; an estimate where a partition has very many."""
        answers = self.workers.ask("first_words", _COUNTED)
        words = np.unique(np.concatenate([some for some, _ in answers]))
        ends = [some[-1] for some, is_all in answers if not is_all]
        if not ends:
            return len(words)
        # Words are evenly spread.
        return int(np.count_nonzero(words <= min(ends)) / (float(min(ends)) / 2.0**64))

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw distinct rows: every partition gives its own first ones."""
        draws, bound = self._draws(n, key, turn)
        distances, first = np.unique(
            np.concatenate([draw.distances for draw in draws]), return_index=True
        )
        n = n if bound is None else min(n, int(np.searchsorted(distances, bound)))
        return self.frame.sample(stack_rows([draw.rows for draw in draws])[first[:n]])

    def _draws(self, n: int, key: int, turn: int) -> tuple[list[Draw], np.uint64 | None]:
        """Return draws with n distinct rows, if there are, and the place up to which all came."""
        share = n / self._n_rows
        while True:
            draws: list[Draw] = self.workers.ask("draw", key, turn, share)
            ends = [draw.distances[-1] for draw in draws if not draw.is_all]
            if not ends:
                return draws, None
            distances = np.unique(np.concatenate([draw.distances for draw in draws]))
            if np.searchsorted(distances, min(ends)) >= n:
                return draws, min(ends)
            share *= _LARGER

    def subsample(self, n: int, key: int) -> DaskSubsample:
        """Bring the rows with the smallest hashes here, once."""
        return DaskSubsample(self, key, *_merged(n, *self._draws(n, key, 0)))

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> DaskCandidates:
        """Return atoms that go to the rows with the first question."""
        return DaskCandidates(self, Proposal(next(self.numbers), atoms, reuse, store))

    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        """Add up over the partitions."""
        total: Sums = add_up(self.at(points, "sums", atoms))
        return total

    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> DaskColumns:
        """Return an empty set of columns; targets are the codes of positive classes."""
        return DaskColumns(self, Kind(tuple(targets), loss, capacity, has_constant))

    def at(self, points: Sequence[Point], verb: str, *args: Any) -> list[Any]:
        """Ask a question at points, in one round; what columns wait for comes along."""
        columns = {id(point.columns): point.columns for point in points}.values()
        return self.asked([c for c in columns if isinstance(c, DaskColumns)], points, verb, *args)

    def asked(
        self, columns: Sequence[DaskColumns], points: Sequence[Point], verb: str, *args: Any
    ) -> list[Any]:
        """Ask a question at points of columns, in one round."""
        there = [_there(point) for point in points]
        waiting = [some for some in columns if some.is_waiting]
        changes = [some.change() for some in waiting]
        answers = self.workers.ask("at", changes, there, verb, *args)
        for some, new in zip(waiting, add_up([news for news, _ in answers]), strict=True):
            some.note(new)
        return [answer for _, answer in answers]


def _there(point: Point) -> tuple[int, int, Array]:
    """Return a point of columns that are not scaled."""
    assert isinstance(point.columns, DaskColumns)
    return point.columns.number, point.output, point.columns.unscaled(point.coef)


def _merged(n: int, draws: Sequence[Draw], bound: np.uint64 | None) -> Any:
    """Return at most n rows, their weights, their places by partition, and where they end.

    Rows of several partitions that are equal in values and class are one row.
    """
    keys = [np.concatenate(some) for some in zip(*((d.codes, d.words, d.distances) for d in draws))]
    order = np.lexsort(keys)
    differs = [np.diff(key[order]) != 0 for key in keys]
    is_first, D = np.append(True, np.logical_or.reduce(differs)), keys[2][order]
    ends = D[is_first][n : n + 1]
    bound = ends[0] if len(ends) and (bound is None or ends[0] < bound) else bound
    n_kept = len(D) if bound is None else int(np.searchsorted(D, bound))
    order, is_first = order[:n_kept], is_first[:n_kept]
    first = order[is_first]
    # All rows stand in canonical order, as in memory.
    ranks = np.arange(len(first)) if bound is not None else _ranks(keys[0][first], keys[1][first])
    places = np.full(len(D), -1)
    places[order] = ranks[np.cumsum(is_first) - 1]
    weights = np.concatenate([draw.weights for draw in draws])
    total = np.bincount(places[order], weights[order], len(first))
    parts = np.split(places, np.cumsum([len(draw.codes) for draw in draws])[:-1])
    rows = stack_rows([draw.rows for draw in draws])[first[np.argsort(ranks)]]
    return rows, total, [part[part >= 0] for part in parts], bound


def _ranks(*keys: Any) -> NDArray[np.intp]:
    return np.argsort(np.lexsort(keys))


class DaskSubsample(Subsample):
    """Rows of all partitions: they came once, and only residuals come again."""

    def __init__(
        self,
        design: DaskDesign,
        key: int,
        rows: Any,
        weights: Array,
        places: Sequence[NDArray[np.intp]],
        bound: np.uint64 | None,
    ) -> None:
        self.rows, self.weight = rows, float(weights.sum())
        self._design, self._key, self._bound = design, key, bound
        self._weights, self._places = weights, places

    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Put together what the partitions have of the rows."""
        parts = self._design.at(points, "residuals", self._key, self._bound)
        residuals = np.zeros((len(self._weights), len(points)))
        for places, part in zip(self._places, parts, strict=True):
            np.add.at(residuals, places, part)
        return residuals, (residuals != 0.0) * self._weights[:, None]


class DaskCandidates(Candidates):
    """Candidates over rows on workers: one round for estimates, one for whoever can win."""

    def __init__(self, design: DaskDesign, proposal: Proposal) -> None:
        self.atoms = proposal.atoms
        self._design, self._proposal = design, proposal

    def best(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        allowed: NDArray[np.bool_],
        is_joint: bool = False,
    ) -> list[Best | None]:
        """Add up estimates, and then exact scores; a round more where estimates leave many."""
        contest = Contest(allowed, is_joint)
        if len(contest.left) == 0:
            return [None] * len(points)
        is_screened = self._design.is_screened
        with np.errstate(all="ignore"):
            contest.narrow(self._estimates(points, divisor, contest.left, is_screened))
            if len(contest.left) > MANY and is_screened:
                contest.narrow(self._estimates(points, divisor, contest.left, False))
            exact: Scores = add_up(self._design.at(points, "exact", divisor, contest.left))
            return contest.winners(exact)

    def _estimates(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        left: NDArray[np.intp],
        is_screened: bool,
    ) -> Scores:
        question = (self._proposal, divisor, left, is_screened)
        scores: Scores = add_up(self._design.at(points, "estimates", *question))
        # The workers have them now.
        self._proposal = self._proposal._replace(atoms=None)
        return scores


class DaskColumns(Columns):
    """Columns on workers."""

    def __init__(self, design: DaskDesign, kind: Kind) -> None:
        self.loss, self.has_constant = kind.loss, kind.has_constant
        self.n_columns, self.n_outputs = int(kind.has_constant), len(kind.positives)
        self.total_weight = total = design.total_weight
        totals = design.class_totals
        self.label_weights = np.array([[np.delete(totals, c).sum(), totals[c]] for c in kind.positives])
        self.number = next(design.numbers)
        self._design = design
        self._kind: Kind | None = kind
        self._dropped: list[int] = []
        self._atoms: list[Any] = []
        # Of the columns that are known; those of the constant are sums over two rows.
        self._factors, self._norms = np.ones((2, self.n_columns))
        slopes = self.loss.gradient(_LABELS, np.zeros(2)) / total
        self._first_gradients = (self.label_weights @ slopes)[:, None][:, : self.n_columns]

    @property
    def factors(self) -> Array:
        """Coefficient of the atom = factor x coefficient of its column."""
        self._read()
        return self._factors

    @property
    def norms(self) -> Array:
        """The empirical norm of every column."""
        self._read()
        return self._norms

    @property
    def first_gradients(self) -> Array:
        """The gradients where all coefficients are 0."""
        self._read()
        return self._first_gradients

    def append(self, atoms: Any) -> None:
        """Add columns, with the next round."""
        self._atoms.append(atoms)
        self.n_columns += atoms.shape[0]

    def drop(self, position: int) -> None:
        """Take a column out, with the next round."""
        self._read()
        self._dropped.append(position)
        self.n_columns -= 1
        self._factors = np.delete(self._factors, position)
        self._norms = np.delete(self._norms, position)
        self._first_gradients = np.delete(self._first_gradients, position, axis=1)

    def _read(self) -> None:
        """Let new columns come into being, unless they are there."""
        if self._atoms:
            self._design.asked([self], [], "look")

    @property
    def is_waiting(self) -> bool:
        """Whether the workers do not know all yet."""
        return self._kind is not None or bool(self._dropped) or bool(self._atoms)

    def change(self) -> Change:
        """Return what the workers do not know yet."""
        atoms = stack_rows(self._atoms) if self._atoms else None
        return Change(self.number, self._kind, tuple(self._dropped), atoms)

    def note(self, new: NewColumns | None) -> None:
        """Take down what the workers say of new columns; now they know all."""
        self._kind, self._dropped, self._atoms = None, [], []
        if new is None:
            return
        norms = np.sqrt(new.squares)
        sizes = {"max": new.largest, "norm": norms, "none": np.ones_like(norms)}
        size = sizes[self._design.dictionary.scaling]
        factors = 1.0 / np.where(size > 0.0, size, 1.0)
        self._factors = np.concatenate([self._factors, factors])
        self._norms = np.concatenate([self._norms, norms * factors])
        self._first_gradients = np.hstack([self._first_gradients, new.gradients * factors])

    def unscaled(self, coef: Array) -> Array:
        """Return coefficients of the columns as the workers have them."""
        if coef[len(self._factors) :].any():
            self._read()
        # Those of new columns are zero, whatever their scale.
        scaled = coef.copy()
        scaled[: len(self._factors)] *= self._factors
        return scaled

    def look(self, points: Sequence[tuple[int, Array]]) -> list[Look]:
        """Return the sums at points, in one round."""
        asked = [Point(self, output, coef) for output, coef in points]
        sums, factors = add_up(self._design.asked([self], asked, "look")), self._factors
        return [
            Look(float(risk), gradient * factors, gram * (factors * factors[:, None]))
            for risk, gradient, gram in sums
        ]

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Return the triangle of the partitions' triangles."""
        points = [Point(self, output, coef)]
        answers = self._design.asked([self], points, "triangle", is_lifted)
        R = np.linalg.qr(np.vstack([triangle for triangle, _ in answers]), mode="r")
        straight = add_up([straight for _, straight in answers])
        return R * np.append(self._factors, 1.0), straight * self._factors
