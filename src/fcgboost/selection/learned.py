"""Atoms that are learned before they enter.

Families propose atoms on a subsample of the rows: they draw some and refine the best, or grow one
on the residual. Proposals are scored exactly on all rows, and the best enters. A refined atom
competes with its original, so it is never worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from fcgboost import _kernels, hashing
from fcgboost.arrays import host, is_sparse
from fcgboost.designs.base import TIE, Array, Design, Sums
from fcgboost.dictionaries import (
    GaussDictionary,
    GrownDictionary,
    LearnableDictionary,
    ReluDictionary,
    Sample,
    UnionDictionary,
    stack_rows,
    wrapped,
)
from fcgboost.parts import check_count, check_not_negative
from fcgboost.selection.fixed import Choice, Chooser, Request, Selection
from fcgboost.selection.gain import CONSTANTS, NUDGE, ROUNDING, Gain, Task, refine
from fcgboost.threads import cached

# The largest size of a subsample.
_ENTRIES = 1 << 25
# The pull is 40 / n on n rows, as many rows overfit less, but at most 0.3.
_PULL, _PULL_TIMES_WEIGHT = 0.3, 40.0


@dataclass(eq=False, repr=False)
class LearnedCandidates(Selection):
    """Draw a fresh sample of candidates in every step and improve the best by gradient steps.

    Parameters
    ----------
    size : int, default=128
        The number of atoms that a family draws per step.
    n_improved : int, default=1
        How many of the best atoms are improved.
    max_steps : int, default=30
        The largest number of limited-memory BFGS steps; 0 improves nothing.
    pull : float or "auto", default="auto"
        Penalty for moving away from the start w0: `pull` |w - w0|^2 / |w0|^2 is subtracted from the
        log gain. "auto" is 40 / n for n rows (their weight), but at most 0.3.
    n_rows : int, default=16384
        The number of active rows on which atoms are drawn, compared and improved, drawn anew in
        every step.
    max_rows : int, default=131072
        The largest number of rows from which these are drawn and on which trees are grown, itself
        drawn once. Learned atoms are scored on all rows.
    """

    is_fixed = False

    size: int = 128
    n_improved: int = 1
    max_steps: int = 30
    pull: float | Literal["auto"] = "auto"
    n_rows: int = 16_384
    max_rows: int = 131_072

    def check_parameters(self) -> None:
        check_count(self, "size", "n_improved", "n_rows", "max_rows")
        is_auto = isinstance(self.pull, str) and self.pull == "auto"
        check_not_negative(self, "max_steps", *(() if is_auto else ("pull",)))

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        if design.dictionary.corrects_leaves:
            return partial(_grow, design)
        name = (_Learner, key, *vars(self).values())
        learner = design.once(name, lambda: _Learner(self, design, key))
        return partial(learner.choose, design)

    def pulls(self) -> tuple[float, float]:
        """Return the largest pull, and the largest pull times the weight of the rows."""
        return (_PULL, _PULL_TIMES_WEIGHT) if self.pull == "auto" else (self.pull, np.inf)


def _grow(design: Design, request: Request) -> list[Choice | None]:
    """Grow a tree on all rows for each output."""
    chosen: list[Choice | None] = [None] * len(request.points)
    trees = design.grow(request.points)
    owners = list(range(len(chosen)))
    _choose_best(trees, owners, design.sums(trees, request.points), request, chosen)
    return chosen


class _Learner:
    """Learns the atoms of one fit; all its paths share it."""

    def __init__(self, selection: LearnedCandidates, design: Design, key: int) -> None:
        self._key, dictionary = key, design.dictionary
        self._is_union = isinstance(dictionary, UnionDictionary)
        families = dictionary.families if isinstance(dictionary, UnionDictionary) else [dictionary]
        frame, width = design.sample(1, key), len(design.scale)
        if is_sparse(frame.rows):
            width = max(family.n_dense(width) for family in families)
        n_rows = max(selection.size, min(selection.max_rows, _ENTRIES // width))
        self._subsample = design.subsample(n_rows, key)
        data = _Data(self._subsample.rows, frame, self._subsample.weights)
        self._families = []
        self._are_grown = all(isinstance(family, GrownDictionary) for family in families)
        for number, family in enumerate(families):
            own = data
            if isinstance(dictionary, UnionDictionary):
                own = data.of_columns(dictionary.seen(number, len(design.scale)))
            kind = _Grown if isinstance(family, GrownDictionary) else _Drawn
            self._families.append(kind(family, selection, own))

    def choose(self, design: Design, request: Request) -> list[Choice | None]:
        """Let one family propose, or all if all are grown, and take the best on all rows.

        For outputs that already have all proposed atoms, the next family proposes.
        """
        residuals, active = self._subsample.residuals(request.points)
        chosen: list[Choice | None] = [None] * len(request.points)
        n = len(self._families)
        turns = [[(request.k - 1 + turn) % n] for turn in range(n)]
        # Grown families propose one atom each, which costs little.
        for numbers in [range(n)] if self._are_grown else turns:
            proposals, owners = [], list[int]()
            for c in (c for c, choice in enumerate(chosen) if choice is None):
                for number in numbers:
                    key = hashing.derive(self._key, (request.k << 32) + (c << 16) + number)
                    learned = residuals[:, c], active[:, c], request.gains[c], key
                    rows = self._families[number].propose(*learned)
                    proposals.append(wrapped(number, rows) if self._is_union else rows)
                    owners += [c] * rows.shape[0]
            if not owners:
                continue
            atoms = stack_rows(proposals)
            _choose_best(atoms, owners, design.sums(atoms, request.points), request, chosen)
            if all(chosen):
                break
        return chosen


def _choose_best(
    atoms: Any, owners: list[int], sums: Sums, request: Request, chosen: list[Choice | None]
) -> None:
    """Choose the best proposal that is new to each output."""
    ids = hashing.fingerprint(atoms).tolist()
    for c in dict.fromkeys(owners):
        parts = sums.dots[:, c], sums.firsts[:, c], sums.squares[:, c], sums.active[c]
        own = request.gains[c].scores(*parts)
        for j, id_ in enumerate(ids):
            if id_ in request.excluded[c] or owners[j] != c:
                own[j] = -1.0
        j, score = _take_best(own)
        if score >= 0.0:
            chosen[c] = Choice(atoms[j : j + 1].copy(), ids[j], score)


def _take_best(scores: Array) -> tuple[int, float]:
    """Return the first of the best, up to rounding, and its score; mark it as taken."""
    j = int((scores >= (1.0 - TIE) * scores[scores.argmax()]).argmax())
    score, scores[j] = float(scores[j]), -1.0
    return j, score


@dataclass(frozen=True)
class _Data:
    """The raw rows that atoms are learned on, the frame of the data, and the weights."""

    rows: Any
    frame: Sample
    weights: Any

    def of_columns(self, columns: slice) -> _Data:
        if columns.stop - columns.start == self.frame.n_features:
            return self
        return _Data(self.rows[:, columns], self.frame.of_columns(columns), self.weights)

    @cached
    def weight(self) -> float:
        return float(self.weights.sum())

    @cached
    def standardized(self) -> Any:
        return (host(self.rows) - self.frame.shift) / self.frame.scale

    @cached
    def blocks(self) -> Array:
        return _kernels.in_blocks(self.standardized)


class _Grown:
    """A family whose atoms are grown."""

    def __init__(self, family: Any, selection: LearnedCandidates, data: _Data) -> None:
        rows = data.rows
        self._rows = rows if is_sparse(rows) else np.ascontiguousarray(host(rows))
        self._grower = family.grower(replace(data.frame, rows=self._rows))

    def propose(self, residual: Any, active: Any, gain: Gain, key: int) -> Any:
        return self._grower.grow(self._rows, residual, active, key)


class _Drawn:
    """A family whose atoms are drawn and, if possible, refined."""

    def __init__(self, family: Any, selection: LearnedCandidates, data: _Data) -> None:
        self._family, self._selection, self._data = family, selection, data
        self._search = _search(family, selection, data.frame)
        # Back from standardised coordinates.
        self._back = -data.frame.shift / data.frame.scale, 1.0 / data.frame.scale

    def propose(self, residual: Any, active: Any, gain: Gain, key: int) -> Any:
        """Return raw atoms: the refined ones, then their originals."""
        data, search = self._data, self._search
        if search is None:
            return self.propose_any(residual, active, gain, key)
        residual, active = np.ascontiguousarray(residual), np.ascontiguousarray(active)
        measure = gain.ridge, data.weight, gain.is_centered
        atoms = _kernels.propose(search, data.blocks, residual, active, measure, key)
        return self._family.moved(atoms, *self._back)

    def propose_any(self, residual: Any, active: Any, gain: Gain, key: int) -> Any:
        """Do the same for any dictionary."""
        family, selection, data = self._family, self._selection, self._data
        weights = np.ascontiguousarray(active)
        rows, points, n_active = _kernels.sample(weights, selection.n_rows, selection.size, key)
        weight = data.weight * min(1.0, selection.n_rows / max(1, n_active))
        gain = Gain(gain.ridge, gain.is_centered, weight)
        task = Task(family, data.standardized[rows], residual[rows], active[rows], gain)
        atoms = self._drawn(points, key)
        scores = task.scores(self._values(data.rows[rows], atoms))
        n_improved = min(selection.n_improved, len(atoms))
        atoms = atoms[[_take_best(scores)[0] for _ in range(n_improved)]]
        if isinstance(family, LearnableDictionary) and selection.max_steps > 0:
            pull, most = selection.pulls()
            pull = min(pull, most / max(float(weights[rows].sum()), ROUNDING))
            atoms = np.vstack([*(self._refined(task, atom, pull) for atom in atoms), atoms])
        if family.scaled(atoms[:1], np.ones(1)) is None:
            return atoms
        values = self._values(data.rows, atoms)
        largest = np.amax(abs(values), 0)
        return np.asarray(family.scaled(atoms, 1.0 / np.where(largest > ROUNDING, largest, 1.0)))

    def _values(self, X: Any, atoms: Array) -> Any:
        return self._family.evaluate(X, atoms, self._data.frame.scale)

    def _drawn(self, points: Any, key: int) -> Array:
        if self._search is None:
            sample = replace(self._data.frame, rows=host(self._data.rows[points]))
            return np.asarray(host(self._family.candidates(sample, len(points), key)))
        at = np.ascontiguousarray(self._data.standardized[points])
        theta = _kernels.draw(self._search, at, key)
        return np.asarray(self._family.moved(self._family.bound(theta), *self._back))

    def _refined(self, task: Task, atom: Array, pull: float) -> Array:
        """Return the refined atom, or the original if that is not finite."""
        family, frame = self._family, self._data.frame
        theta = np.array(family.free(family.moved(atom[None], frame.shift, frame.scale))[0])
        theta[-1] += NUDGE * np.sqrt(theta @ theta)
        theta = refine(task, theta, int(self._selection.max_steps), pull)
        raw = family.moved(family.bound(theta[None]), *self._back)[0]
        return raw if np.isfinite(raw).all() else atom


def _search(family: Any, selection: Any, frame: Sample) -> _kernels.Search | None:
    """Return how the compiled library draws and refines a family; None if it cannot."""
    d, low, high = frame.n_features, 0.0, 0.0
    # Subclasses may evaluate something else.
    if type(family) is ReluDictionary and family.weights == "sparse":
        number, d = _kernels.RELU, min(family.max_features or d, d)
    elif type(family) is GaussDictionary and family.centers == "data":
        number, (low, high) = _kernels.GAUSS, np.log(family.width_range(frame))
    else:
        return None
    n_improved = min(selection.n_improved, selection.size)
    counts = selection.size, n_improved, selection.n_rows, int(selection.max_steps)
    return _kernels.Search(number, *counts, *selection.pulls(), d, low, high, *CONSTANTS)
