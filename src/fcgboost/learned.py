"""Atoms that are learned before they enter.

Families propose on a subsample of the data: those that draw atoms improve the best of a sample along
the gradient in its parameters, those that grow atoms grow one on the residual. What they propose is
scored exactly on all rows, and the best of it enters: an improved atom competes with the one it was
made of, so it is never worse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from fcgboost import hashing
from fcgboost.arrays import is_tensor, namespace
from fcgboost.backends.base import TIE, Array, Design, Sums
from fcgboost.dictionaries import (
    Dictionary,
    Grower,
    GrownDictionary,
    LearnableDictionary,
    Sample,
    UnionDictionary,
    stack_rows,
    wrapped,
)
from fcgboost.learning import Task, Yardstick, improve
from fcgboost.parts import check_count
from fcgboost.selection import Choice, Chooser, Request, Selection

# Numbers that a subsample of sparse or wide rows may hold.
_ENTRIES = 1 << 25
# How far offsets are moved before a climb, as a share of the atom's length.
_NUDGE = 1e-7
# Binary digits of residuals that atoms are learned on.
_DIGITS = 30
# An atom whose values are all below this is not made larger.
_TINY = 1e-12
# The pull on few rows; and on n rows so much over n, as of many rows less is learned by heart.
_PULL, _PULL_OVER_ROWS = 0.3, 40.0


class LearnedCandidates(Selection):
    """Improve the best of a fresh sample on its own parameters before it enters.

    Parameters
    ----------
    size : int, default=128
        Atoms that a family draws in a step.
    n_improved : int, default=1
        How many of them, the best ones, are improved.
    max_steps : int, default=30
        The most steps of limited-memory BFGS; 0 improves nothing.
    pull : float or "auto", default="auto"
        How strongly an atom is held where it started: `pull` |w - w0|^2 / |w0|^2 is taken off the
        logarithm of its gain. "auto" is 40 / n, n being the weight of the rows on which the atom is
        improved, but at most 0.3.
    n_rows : int, default=16384
        Active rows on which atoms are drawn, compared and improved, other ones in every step.
    max_rows : int, default=131072
        Rows that are looked at closely at all, and that trees are grown on; of more rows, these
        are drawn once. What was learned is scored on all of them.
    """

    is_fixed = False

    def __init__(
        self,
        size: int = 128,
        n_improved: int = 1,
        max_steps: int = 30,
        pull: float | Literal["auto"] = "auto",
        n_rows: int = 16_384,
        max_rows: int = 131_072,
    ) -> None:
        self.size = size
        self.n_improved = n_improved
        self.max_steps = max_steps
        self.pull = pull
        self.n_rows = n_rows
        self.max_rows = max_rows

    def check_parameters(self) -> None:
        """Check the counts and the pull."""
        check_count(self, "size", "n_improved", "n_rows", "max_rows")
        is_auto = isinstance(self.pull, str) and self.pull == "auto"
        for name in ("max_steps",) if is_auto else ("max_steps", "pull"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(
                    f"LearnedCandidates: {name} must be a number of at least 0, got {value!r}."
                )

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Look at rows that stay the same during the fit."""
        name = (_School, key, *vars(self).values())
        school = design.once(name, lambda: _School(self, design, key))
        return partial(school.choose, design)

    def pull_on(self, weight: float) -> float:
        """Return the pull on rows of some weight, weights being counts."""
        if self.pull == "auto":
            return min(_PULL, _PULL_OVER_ROWS / weight) if weight > 0.0 else _PULL
        return self.pull


class _School:
    """What one fit learns its atoms with; all its paths learn with the same."""

    def __init__(self, selection: LearnedCandidates, design: Design, key: int) -> None:
        self._key = key
        dictionary = design.dictionary
        self._union = dictionary if isinstance(dictionary, UnionDictionary) else None
        n_features = len(design.scale)
        n_rows = max(selection.size, min(selection.max_rows, _ENTRIES // max(1, n_features)))
        self._subsample = design.subsample(n_rows, key)
        frame = design.sample(1, key)
        lessons = _Lessons(self._subsample.rows, frame)
        families = [dictionary] if self._union is None else list(self._union.families)
        self._families = [_proposer(family, selection, lessons) for family in families]
        # How much of the data the subsample is.
        whole = design.stack([design.weights])
        self._weight = float(self._subsample.residuals(whole)[0].sum())

    def choose(self, design: Design, request: Request) -> list[Choice | None]:
        """Let the families propose, and take the best on all rows."""
        residuals, active = self._subsample.residuals(request.R)
        residuals = _rounded(residuals)
        proposals, owners = [], []
        for c, yardstick in enumerate(request.yardsticks):
            here = replace(yardstick, total_weight=self._weight)
            rows = self._proposals(request.k, c, residuals[:, c], active[:, c], here)
            proposals += rows
            owners += [c] * sum(len(part) for part in rows)
        atoms = stack_rows(proposals)
        sums = design.candidates(atoms, reuse=False, store=False).sums(request.R)
        return _best(atoms, np.array(owners), sums, request)

    def _proposals(
        self, k: int, c: int, residual: Any, active: Any, yardstick: Yardstick
    ) -> list[Array]:
        numbers = [0] if self._union is None else self._union.at_step(k)
        rows = []
        for number in numbers:
            key = hashing.derive(hashing.derive(hashing.derive(self._key, k), c), number)
            own = self._families[number].propose(residual, active, yardstick, key)
            rows.append(own if self._union is None else wrapped(number, own))
        return rows


def _best(atoms: Any, owners: Any, sums: Sums, request: Request) -> list[Choice | None]:
    """Take for every output the best of what was proposed for it, or for all the best for all."""
    ids = hashing.fingerprint(atoms)
    if request.is_joint:
        squares = [
            yardstick.of_sums(sums, c) ** 2 for c, yardstick in enumerate(request.yardsticks)
        ]
        scores = np.where(_is_new(ids, request.excluded[0]), np.sqrt(np.sum(squares, axis=0)), -1.0)
        return [_first_of_best(atoms, ids, scores)] * len(squares)
    chosen = []
    for c, yardstick in enumerate(request.yardsticks):
        scores = yardstick.of_sums(sums, c)
        scores = np.where((owners == c) & _is_new(ids, request.excluded[c]), scores, -1.0)
        chosen.append(_first_of_best(atoms, ids, scores))
    return chosen


@dataclass(frozen=True)
class _Lessons:
    """The rows that atoms are learned on.

    Attributes
    ----------
    rows : ndarray, CSR matrix or tensor
    frame : Sample
        The shape of the data.
    """

    rows: Any
    frame: Sample

    @cached_property
    def standardized(self) -> Any:
        """The rows, dense and standardised."""
        rows = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        shift, scale = self.frame.shift, self.frame.scale
        if is_tensor(rows):
            xp = namespace(rows)
            shift, scale = (xp.as_tensor(a, device=rows.device) for a in (shift, scale))
        return (rows - shift) / scale

    def on_the_host(self) -> Array:
        """Return the rows as a dense NumPy array."""
        rows = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        rows = rows.cpu().numpy() if is_tensor(rows) else rows
        return np.ascontiguousarray(rows, dtype=np.float64)

    def sample(self, places: Any) -> Sample:
        """Return some of the rows as a sample."""
        rows = self.rows[places]
        rows = rows.cpu().numpy() if is_tensor(rows) else rows
        return replace(self.frame, rows=rows)


class _Proposer(ABC):
    """A family that proposes atoms for a residual."""

    @abstractmethod
    def propose(self, residual: Any, active: Any, yardstick: Yardstick, key: int) -> Array:
        """Return parameter rows, the best guess first."""


class _Grows(_Proposer):
    """A family whose atoms are grown."""

    def __init__(self, grower: Grower, rows: Array) -> None:
        self._grower, self._rows = grower, rows

    def propose(self, residual: Any, active: Any, yardstick: Yardstick, key: int) -> Array:
        residual, active = (a.cpu().numpy() if is_tensor(a) else a for a in (residual, active))
        return self._grower.grow(
            self._rows, np.ascontiguousarray(residual), np.ascontiguousarray(active), key
        )


class _Draws(_Proposer):
    """A family whose atoms are drawn, and improved where it knows how."""

    def __init__(self, family: Dictionary, selection: LearnedCandidates, lessons: _Lessons) -> None:
        self._family, self._selection, self._lessons = family, selection, lessons
        self._Z = lessons.standardized
        self._ones = np.ones(lessons.frame.n_features)

    def propose(self, residual: Any, active: Any, yardstick: Yardstick, key: int) -> Array:
        places = (active > 0.0).nonzero()
        places = places[:, 0] if is_tensor(active) else places[0]
        if len(places) == 0:
            places = places.new_zeros(1) if is_tensor(places) else np.zeros(1, np.intp)
        draw, n_rows = np.random.default_rng(key), self._selection.n_rows
        if len(places) > n_rows:
            share = n_rows / len(places)
            yardstick = replace(yardstick, total_weight=share * yardstick.total_weight)
            places = places[draw.choice(len(places), n_rows, replace=False, shuffle=False)]
        atoms = self._drawn(places, draw, key)
        Z, residual, active = self._Z[places], residual[places], active[places]
        task = Task(self._family, Z, residual, active, yardstick)
        return self._fitted(self._improved(task, atoms))

    def _drawn(self, places: Any, draw: np.random.Generator, key: int) -> Array:
        """Draw atoms that look at active rows."""
        size, n_places = self._selection.size, len(places)
        some = draw.choice(n_places, size, replace=n_places < size)
        sample = self._lessons.sample(places[some])
        atoms = self._family.candidates(sample, size, key)
        atoms = atoms.toarray() if sparse.issparse(atoms) else atoms
        return np.asarray(atoms)

    def _improved(self, task: Task, atoms: Array) -> Array:
        """Return the best of the atoms, what became of them, and in raw units."""
        frame, family = self._lessons.frame, self._family
        if not isinstance(family, LearnableDictionary):
            G = family.evaluate(self._raw(task.Z), _beside(atoms, task.Z), self._scale(task.Z))
            return atoms[_best_first(_host(task.scores_of(G)), self._selection.n_improved)]
        theta = _beside(family.free(family.moved(atoms, frame.shift, frame.scale)), task.Z)
        best = _best_first(_host(task.scores(theta)), self._selection.n_improved)
        if self._selection.max_steps == 0:
            return atoms[best]
        pull = self._selection.pull_on(float(task.weights.sum()))
        better = improve(task, _off_the_kink(theta[best]), self._selection.max_steps, pull)
        moved = family.bound(_host(better))
        raw = family.moved(moved, -frame.shift / frame.scale, 1.0 / frame.scale)
        return np.vstack([raw[np.isfinite(raw).all(axis=1)], atoms[best]])

    def _raw(self, Z: Any) -> Any:
        frame = self._lessons.frame
        return Z * _beside(frame.scale, Z) + _beside(frame.shift, Z)

    def _scale(self, Z: Any) -> Any:
        return _beside(self._lessons.frame.scale, Z)

    def _fitted(self, atoms: Array) -> Array:
        """Make the largest value of every atom 1, where the family can."""
        frame, family = self._lessons.frame, self._family
        if family.scaled(atoms[:1], np.ones(1)) is None:
            return atoms
        if isinstance(family, LearnableDictionary):
            moved = family.moved(atoms, frame.shift, frame.scale)
            values = family.evaluate(self._Z, _beside(moved, self._Z), _beside(self._ones, self._Z))
        else:
            values = family.evaluate(
                self._raw(self._Z), _beside(atoms, self._Z), self._scale(self._Z)
            )
        if is_tensor(values):
            largest = _host(namespace(values).amax(abs(values), axis=0))
        else:
            # One column after the other: rows of two numbers are slow to compare.
            largest = np.array([abs(column).max() for column in values.T])
        return np.asarray(family.scaled(atoms, 1.0 / np.where(largest > _TINY, largest, 1.0)))


def _proposer(family: Dictionary, selection: LearnedCandidates, lessons: _Lessons) -> _Proposer:
    if isinstance(family, GrownDictionary):
        rows = lessons.on_the_host()
        return _Grows(family.grower(replace(lessons.frame, rows=rows)), rows)
    return _Draws(family, selection, lessons)


def _off_the_kink(theta: Any) -> Any:
    """Move offsets a little.

    Of a hinge that goes through a row, rounding would decide whether the row has a slope, and every
    library rounds in its own way.
    """
    xp, last = namespace(theta), theta[:, -1:]
    lengths = xp.sqrt((theta * theta).sum(1, keepdims=True))
    return xp.concatenate([theta[:, :-1], last + _NUDGE * lengths], axis=1)


def _rounded(residuals: Any) -> Any:
    """Return residuals in units of a billionth of the largest.

    Sums in another order of the rows, or on other machines, leave other last digits, and a climb
    would make them grow: without them it is the same climb.
    """
    xp = namespace(residuals)
    largest = float(abs(residuals).max())
    if not 0.0 < largest < np.inf:
        return residuals
    unit = 2.0 ** (np.frexp(largest)[1] - _DIGITS)
    return xp.round(residuals / unit) * unit


def _beside(array: Array, other: Any) -> Any:
    """Return an array where another one is."""
    if not is_tensor(other):
        return array
    return namespace(other).as_tensor(np.ascontiguousarray(array), device=other.device)


def _host(array: Any) -> Array:
    return np.asarray(array.cpu().numpy() if is_tensor(array) else array)


def _best_first(scores: Array, n: int) -> list[int]:
    """Return the places of the best scores; rounding has no say in which of equals comes first."""
    left, best = scores.copy(), []
    for _ in range(min(n, len(scores))):
        best.append(int(np.argmax(left >= (1.0 - TIE) * left.max())))
        left[best[-1]] = -1.0
    return best


def _is_new(ids: hashing.Words, excluded: Collection[int]) -> Any:
    return np.array([int(id_) not in excluded for id_ in ids], dtype=bool)


def _first_of_best(atoms: Any, ids: hashing.Words, scores: Array) -> Choice | None:
    """Take the first of those that are as good as the best."""
    best = float(scores.max(initial=-1.0))
    if best < 0.0:
        return None
    j = int(np.argmax(scores >= (1.0 - TIE) * best))
    return Choice(atoms[j : j + 1].copy(), int(ids[j]), float(scores[j]))
