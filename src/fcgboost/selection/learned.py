"""Atoms that are learned before they enter.

Families propose atoms on a subsample of the rows: they draw some and refine the best, or grow one
on the residual. Proposals are scored exactly on all rows, and the best enters. A refined atom
competes with its original, so it is never worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from fcgboost import _kernels, hashing
from fcgboost.arrays import Codes, Matrix, is_sparse, stack_rows, to_numpy
from fcgboost.designs.base import Array, Design, Subsample, Sums, first_best
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    GrownDictionary,
    LearnableDictionary,
    ReluDictionary,
    Sample,
    UnionDictionary,
)
from fcgboost.dictionaries.union import wrapped
from fcgboost.parts import check_count, check_not_negative
from fcgboost.selection.base import Choice, Chooser, Request, Selection
from fcgboost.selection.gain import CONSTANTS, NUDGE, ROUNDING, Gain, Task, refine
from fcgboost.threads import Copies, cached

# The largest size of a subsample.
_ENTRIES = 1 << 25
# On n rows the penalty is 40 / n, as many rows overfit less, but at most 0.3.
_PROXIMITY = 0.3
_PROXIMITY_TIMES_WEIGHT = 40.0


@dataclass(eq=False, repr=False)
class LearnedCandidates(Selection):
    """Draw a fresh sample of candidates in every step and improve the best one by gradient steps.

    Parameters
    ----------
    size : int, default=128
        The number of atoms that a family draws per step.
    max_steps : int, default=30
        The largest number of limited-memory BFGS steps; 0 improves nothing.
    proximity : float or "auto", default="auto"
        Penalty for moving away from the start w0: `proximity` |w - w0|^2 / |w0|^2 is subtracted
        from the log gain. "auto" is 40 / n for n rows (their weight), but at most 0.3.
    n_rows : int, default=16384
        The number of active rows on which atoms are drawn, compared and improved, drawn anew in
        every step.
    max_rows : int, default=131072
        The largest number of rows from which these are drawn and on which trees are grown, itself
        drawn once. Learned atoms are scored on all rows.
    """

    is_fixed = False

    size: int = 128
    max_steps: int = 30
    proximity: float | Literal["auto"] = "auto"
    n_rows: int = 16_384
    max_rows: int = 131_072

    def check_parameters(self) -> None:
        check_count(
            self,
            "size",
            "n_rows",
            "max_rows",
        )
        is_auto = isinstance(self.proximity, str) and self.proximity == "auto"
        check_not_negative(self, "max_steps", *(() if is_auto else ("proximity",)))

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        if design.dictionary.corrects_leaves:
            return partial(_grow, design)
        width = len(design.scale)
        if design.is_sparse:
            width = max(family.n_dense(width) for family in design.dictionary.families)
        n_rows = max(self.size, min(self.max_rows, _ENTRIES // width))
        learner = _Learner(self, design, design.subsample(n_rows, key))
        return partial(learner.choose, design, key)

    def proximities(self) -> tuple[float, float]:
        """Return the largest proximity, and the largest proximity times the weight of the rows."""
        if self.proximity == "auto":
            return _PROXIMITY, _PROXIMITY_TIMES_WEIGHT
        return self.proximity, np.inf


def _grow(design: Design, request: Request) -> list[Choice | None]:
    """Grow a tree on all rows for each output."""
    chosen: list[Choice | None] = [None] * len(request.gains)
    trees, sums = design.grow(request.residuals)
    _choose_best(
        trees,
        range(len(chosen)),
        sums,
        request,
        chosen,
    )
    return chosen


class _Learner:
    """Learns atoms on some rows."""

    def __init__(self, selection: LearnedCandidates, design: Design, subsample: Subsample) -> None:
        dictionary = design.dictionary
        self._is_union = isinstance(dictionary, UnionDictionary)
        self._subsample = subsample
        data = _LearningRows(design.as_sample(subsample.rows), subsample.weights)
        families = dictionary.families
        self._are_grown = all(isinstance(family, GrownDictionary) for family in families)
        self._proposers: list[Proposer] = []
        for number, family in enumerate(families):
            seen = data.of_columns(dictionary.seen(number, data.frame.n_features))
            self._proposers.append(_proposer(family, selection, seen))

    def choose(self, design: Design, key: int, request: Request) -> list[Choice | None]:
        """Let one family propose, or all if all are grown, and take the best on all rows.

        For outputs that already have all proposed atoms, the next family proposes.
        """
        residuals, active = self._subsample.residuals(request.residuals)
        chosen: list[Choice | None] = [None] * len(request.gains)
        n = len(self._proposers)
        turns = [[(request.k - 1 + turn) % n] for turn in range(n)]
        # Grown families propose one atom each, which costs little.
        for numbers in [range(n)] if self._are_grown else turns:
            waiting = [c for c, choice in enumerate(chosen) if choice is None]

            def propose(task: tuple[int, int]) -> Matrix:
                c, number = task
                rows = self._proposers[number](
                    residuals[:, c],
                    active[:, c],
                    request.gains[c],
                    hashing.derive(key, (request.k << 32) + (c << 16) + number),
                )
                return wrapped(number, rows) if self._is_union else rows

            tasks = [(c, number) for c in waiting for number in numbers]
            proposals = design.each_output(propose, tasks)
            owners = list[int]()
            for (c, _), rows in zip(tasks, proposals, strict=True):
                owners += [c] * rows.shape[0]
            if not owners:
                continue
            atoms = stack_rows(proposals)
            sums = design.sums(atoms, request.residuals)
            _choose_best(
                atoms,
                owners,
                sums,
                request,
                chosen,
            )
            if all(chosen):
                break
        return chosen


def _choose_best(
    atoms: Matrix,
    owners: Sequence[int],
    sums: Sums,
    request: Request,
    chosen: list[Choice | None],
) -> None:
    """Choose the best proposal that is new to each output."""
    ids = hashing.fingerprint(atoms).tolist()
    for c in dict.fromkeys(owners):
        scores = request.gains[c].scores(
            sums.dots[:, c],
            sums.firsts[:, c],
            sums.squares[:, c],
            sums.active[c],
        )
        for j, id_ in enumerate(ids):
            if id_ in request.excluded[c] or owners[j] != c:
                scores[j] = -1.0
        j = first_best(scores)
        if scores[j] >= 0.0:
            entry = sums.entries[j] if sums.entries else None
            chosen[c] = Choice(
                atoms[j : j + 1].copy(),
                ids[j],
                float(scores[j]),
                entry,
            )


@dataclass(frozen=True)
class _LearningRows:
    """The raw rows that atoms are learned on, with the frame of the data, and their weights."""

    frame: Sample
    weights: Array

    def of_columns(self, columns: slice) -> _LearningRows:
        frame = self.frame.of_columns(columns)
        return self if frame is self.frame else _LearningRows(frame, self.weights)

    @cached
    def weight(self) -> float:
        return float(self.weights.sum())

    @cached
    def standardized(self) -> Array:
        rows = to_numpy(self.frame.rows)
        return (rows - self.frame.shift) / self.frame.scale

    @cached
    def blocks(self) -> Array:
        return _kernels.in_blocks(self.standardized)

    def raw(self, family: LearnableDictionary, atoms: Array) -> Array:
        """Return standardised atoms in the units of the raw rows."""
        frame = self.frame
        origin = -frame.shift / frame.scale
        return family.moved(atoms, origin, 1.0 / frame.scale)


#: Returns raw atoms of a family: for a residual, the weights of active rows, a gain and a key.
Proposer = Callable[[Array, Array, Gain, int], Array]


def _proposer(family: Dictionary, selection: LearnedCandidates, data: _LearningRows) -> Proposer:
    """Return what proposes the atoms of a family."""
    if isinstance(family, GrownDictionary):
        rows = data.frame.rows
        rows = rows if is_sparse(rows) else np.ascontiguousarray(to_numpy(rows))
        growers = Copies(family.grower(replace(data.frame, rows=rows)))

        def grow(
            residual: Array,
            active: Array,
            gain: Gain,
            key: int,
        ) -> Array:
            with growers.lent() as grower:
                return grower.grow(residual, active, key)

        return grow
    search = _search(family, selection, data.frame)
    if search is None or not isinstance(family, LearnableDictionary):
        return _Drawn(family, selection, data).propose

    def propose(
        residual: Array,
        active: Array,
        gain: Gain,
        key: int,
    ) -> Array:
        atoms = _kernels.propose(
            search,
            data.blocks,
            np.ascontiguousarray(residual),
            np.ascontiguousarray(active),
            (gain.ridge, data.weight, gain.is_centered),
            key,
        )
        return data.raw(family, atoms)

    return propose


@dataclass(frozen=True)
class _Drawn:
    """A family without compiled functions: its atoms are drawn and, if possible, refined."""

    family: Dictionary
    selection: LearnedCandidates
    data: _LearningRows

    def propose(
        self,
        residual: Array,
        active: Array,
        gain: Gain,
        key: int,
    ) -> Array:
        """Return raw atoms: the refined one, then its original."""
        family = self.family
        selection = self.selection
        data = self.data
        raw_rows = data.frame.rows
        rows, points, n_active = _kernels.sample(
            np.ascontiguousarray(active),
            selection.n_rows,
            selection.size,
            key,
        )
        weight = data.weight * min(1.0, selection.n_rows / max(1, n_active))
        task = Task(
            data.standardized[rows],
            residual[rows],
            active[rows],
            Gain(gain.ridge, gain.is_centered, weight),
        )
        atoms = self._draw(points, key)
        values = self._values(raw_rows[rows], atoms)
        best = first_best(task.scores(values))
        atoms = atoms[best : best + 1]
        if isinstance(family, LearnableDictionary) and selection.max_steps > 0:
            refined = self._refined(family, task, atoms)
            atoms = np.vstack([refined, atoms])
        if family.scaled(atoms[:1], np.ones(1)) is None:
            return atoms
        values = self._values(raw_rows, atoms)
        largest = np.amax(abs(values), 0)
        units = np.where(largest > ROUNDING, largest, 1.0)
        return np.asarray(family.scaled(atoms, 1.0 / units))

    def _values(self, X: Matrix, atoms: Array) -> Array:
        return self.family.evaluate(X, atoms, self.data.frame.scale)

    def _draw(self, points: Codes, key: int) -> Array:
        """Return raw atoms, drawn at some of the rows."""
        frame = self.data.frame
        sample = replace(frame, rows=to_numpy(frame.rows[points]))
        return to_numpy(self.family.candidates(sample, len(points), key))

    def _refined(self, family: LearnableDictionary, task: Task, atom: Array) -> Array:
        """Return the refined atom, or the original if that is not finite."""
        frame = self.data.frame
        proximity, most = self.selection.proximities()
        weight = float(task.weights.sum())
        proximity = min(proximity, most / max(weight, ROUNDING))
        moved = family.moved(atom, frame.shift, frame.scale)
        theta = np.array(family.free(moved)[0])
        theta[-1] += NUDGE * np.sqrt(theta @ theta)
        theta = refine(
            family,
            task,
            theta,
            int(self.selection.max_steps),
            proximity,
        )
        bound = family.bound(theta[None])
        raw = self.data.raw(family, bound)
        return raw if np.isfinite(raw).all() else atom


def _search(
    family: Dictionary, selection: LearnedCandidates, frame: Sample
) -> _kernels.Search | None:
    """Return how the compiled library draws and refines a family; None if it cannot."""
    d = frame.n_features
    low = 0.0
    high = 0.0
    # Subclasses may evaluate something else.
    if type(family) is ReluDictionary and family.weights == "sparse":
        number = _kernels.RELU
        d = min(family.max_features or d, d)
    elif type(family) is GaussDictionary and family.centers == "data":
        number = _kernels.GAUSS
        (low, high) = np.log(family.width_range(frame))
    else:
        return None
    return _kernels.Search(
        number,
        selection.size,
        selection.n_rows,
        int(selection.max_steps),
        *selection.proximities(),
        d,
        low,
        high,
        *CONSTANTS,
    )
