"""THE loop: select, correct, record, stop.

One loop serves every dictionary, loss, scheme, solver, selection and stopping rule, and any
number of outputs: one-against-rest is one loop whose outputs each keep their own atoms and
share the pass over the candidates, or share the atoms as well. Paths that differ in their ridge
alone share the pass the same way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.backends.base import Array, Design, Divisor
from fcgboost.losses import Loss
from fcgboost.outputs import Output, columns_of, new_output, residual
from fcgboost.removal import Removal, shed, shed_one
from fcgboost.schemes import Scheme
from fcgboost.selection.fixed import Choice, Chooser, Request, Selection
from fcgboost.selection.gain import Gain
from fcgboost.solvers.base import Solution
from fcgboost.stopping import Status, Step, StoppingRule, gains_nothing
from fcgboost.trace import Presence, Registry, StepScore, Trace

# A score below this share of what the residual could give, or of the first score, is a sum of
# rounding errors.
_ROUNDING = 1e-14
_SMALL = 1e-10
# Outputs that share their atoms take so many of their choices in a step: every one is a burden to
# all of them.
_AT_ONCE = 3

Watcher = Callable[[Step, Callable[[], Trace]], Status | None]


@dataclass(frozen=True)
class Recipe:
    """What the loop needs to know besides the data.

    Attributes
    ----------
    loss : Loss
    scheme : Scheme
    selection : Selection
    n_candidates : int
        The size of a fixed dictionary.
    max_iter : int
        The step limit, which is also the room kept for columns.
    l2 : float
    fit_intercept, normalize, reselect : bool
    tol : float
        A best score below tol times the first one ends an output.
    key : int
        The seed of all draws.
    removal : Removal or None
        Whether atoms may leave.
    is_shared : bool
        Whether all outputs take, and lose, the same atoms: in a step the three best of what they
        chose; a scheme that moves along one atom takes the one that is best for all.
    """

    loss: Loss
    scheme: Scheme
    selection: Selection
    n_candidates: int
    max_iter: int
    l2: float
    fit_intercept: bool
    normalize: bool
    reselect: bool
    tol: float
    key: int
    removal: Removal | None = None
    is_shared: bool = False

    @property
    def is_joint(self) -> bool:
        """Whether a step takes one atom for all outputs."""
        return self.is_shared and self.scheme.reselects


def fit_path(
    design: Design,
    targets: Sequence[Array],
    recipe: Recipe,
    rules: Sequence[StoppingRule] = (),
    validator: StepScore | None = None,
    watcher: Watcher | None = None,
    resume: Trace | None = None,
) -> tuple[Trace, Status]:
    """Run the greedy loop.

    Parameters
    ----------
    design : Design
    targets : sequence of m-vectors of -1 and +1
        One per output.
    recipe : Recipe
    rules : sequence of stopping rules
        Asked after every step, in order; the first answer counts.
    validator : callable or None
        Scores every step, such as a `Validator`.
    watcher : callable or None
        Sees every step together with a function that gives the path so far; may end it.
    resume : Trace or None
        A path on the same data to go on from.

    Returns
    -------
    Trace, Status
    """
    path = _Path(design, targets, recipe, rules, validator, watcher, resume)
    _run([path])
    is_pruned = recipe.removal is not None and recipe.removal.prune
    is_given_up = path.status in (Status.CALLBACK, Status.TIME_LIMIT, Status.BEHIND)
    if is_pruned and validator is not None and not is_given_up:
        path.prune()
    return path.trace(), path.status or path.ending


def fit_paths(
    design: Design,
    targets: Sequence[Array],
    recipes: Sequence[Recipe],
    rules: Sequence[StoppingRule] = (),
) -> list[Trace]:
    """Run the greedy loop once for recipes that differ in l2 alone.

    They share every pass over the candidates; each path is the one `fit_path` gives.

    Parameters
    ----------
    design, targets, rules :
        As in `fit_path`; the rules hear the steps of all paths.
    recipes : sequence of Recipe

    Returns
    -------
    list of Trace
    """
    paths = [_Path(design, targets, recipe, rules) for recipe in recipes]
    _run(paths)
    return [path.trace() for path in paths]


def _run(paths: Sequence[_Path]) -> None:
    """Let paths go side by side until every one has ended."""
    recipe, design = paths[0].recipe, paths[0].design
    chooser = recipe.selection.chooser(design, recipe.n_candidates, recipe.key)
    while running := [path for path in paths if path.status is None]:
        k = len(running[0].steps) + 1
        _select(running, chooser, k)
        for path in running:
            path.advance(k)


def _select(paths: Sequence[_Path], chooser: Chooser, k: int) -> None:
    """Choose an atom for every output that can go on, in one pass over the candidates."""
    is_shared = paths[0].recipe.is_shared
    for some in [[path] for path in paths] if is_shared else [paths]:
        if running := [(path, o) for path in some for o in path.outputs if o.status is None]:
            _choose(running, chooser, k)


def _choose(running: Sequence[tuple[_Path, Output]], chooser: Chooser, k: int) -> None:
    """Choose an atom for every output, or one for all."""
    recipe, design = running[0][0].recipe, running[0][0].design
    divisor: Divisor = "norm" if recipe.normalize else design.dictionary.scaling
    residuals = [residual(recipe.scheme, output, k) for _, output in running]
    repeats = recipe.scheme.reselects or recipe.reselect
    request = Request(
        k=k,
        R=design.stack(residuals),
        excluded=[() if repeats else output.places for _, output in running],
        divisor=divisor,
        gains=[
            Gain(path.recipe.l2, recipe.fit_intercept, design.total_weight) for path, _ in running
        ],
        is_joint=recipe.is_joint,
    )
    for (_, output), r, choice in zip(running, residuals, chooser(request), strict=True):
        output.choice = choice
        output.status = _ending(recipe, output, choice, r)
    if recipe.is_shared:
        _end_together(
            [output for _, output in running], len(running) if recipe.is_joint else _AT_ONCE
        )


def _end_together(team: Sequence[Output], n_kept: int) -> None:
    """Let outputs that share their atoms go on while one can choose; the best choices stay."""
    if all(output.status for output in team):
        return
    scores = [o.choice.score if o.choice and not o.status else -np.inf for o in team]
    best = sorted(range(len(team)), key=lambda i: -scores[i])[:n_kept]
    for i, output in enumerate(team):
        if i not in best or output.status is not None:
            output.choice = output.status = None


def _ending(recipe: Recipe, output: Output, choice: Choice | None, residual: Any) -> Status | None:
    """Say why an output cannot take its choice, if so."""
    if choice is None:
        return Status.EXHAUSTED
    if choice.score <= _SMALL * output.first_score or output.first_score == 0.0:
        # Only now is it worth asking how large the residual is.
        columns = output.problem.columns
        (size,) = columns.fetch(columns.total(abs, residual))
        if choice.score <= _ROUNDING * max(size, output.first_score):
            return Status.ZERO_SCORE
    if choice.score < recipe.tol * output.first_score:
        return Status.TOLERANCE
    if choice.id in output.places and not recipe.scheme.reselects:
        return Status.STALLED
    return None


@dataclass(eq=False)
class _Path:
    """The state of one path, and who hears of its steps."""

    design: Design
    targets: InitVar[Sequence[Array]]
    recipe: Recipe
    rules: Sequence[StoppingRule]
    validator: StepScore | None = None
    watcher: Watcher | None = None
    resume: InitVar[Trace | None] = None
    registry: Registry = field(default_factory=Registry)
    steps: list[Step] = field(default_factory=list)
    #: How the path ended; None while it goes on.
    status: Status | None = None

    def __post_init__(self, targets: Sequence[Array], resume: Trace | None) -> None:
        design, recipe = self.design, self.recipe
        n_columns = recipe.max_iter * (_AT_ONCE if recipe.is_shared and not recipe.is_joint else 1)
        room = columns_of(design, len(targets), n_columns, recipe.fit_intercept, recipe.is_shared)
        self.outputs = [
            new_output(design, y, recipe.loss, recipe.l2, columns)
            for y, columns in zip(targets, room, strict=True)
        ]
        #: Outputs that have the same atoms.
        self.teams = [self.outputs] if recipe.is_shared else [[o] for o in self.outputs]
        self.start = np.array([output.intercept for output in self.outputs])
        self.started = time.perf_counter()
        self.no_atoms = design.dictionary.candidates(design.sample(1, recipe.key), 1, 0)[:0]
        if resume is not None and len(resume):
            self._replay(resume.forward())
        self.status = self._limit()

    def _limit(self) -> Status | None:
        """Return why the path ends here, if so."""
        # Candidates made anew in every step never run out, even when nothing is left to fit.
        is_endless = not (self.recipe.selection.is_fixed or self.recipe.scheme.reselects)
        if is_endless and gains_nothing(self.steps, sum(output.null for output in self.outputs)):
            return Status.NO_GAIN
        return self.ending if len(self.steps) >= self.recipe.max_iter else None

    @property
    def ending(self) -> Status:
        """How the outputs ended; the step limit where one could have gone on."""
        endings = [output.status for output in self.outputs]
        return endings[0] or Status.STEP_LIMIT if all(endings) else Status.STEP_LIMIT

    def advance(self, k: int) -> None:
        """Make a step with what the outputs chose, or end where none can go on."""
        if all(output.status for output in self.outputs):
            self.status = self.ending
            return
        step = self._scored(self._record(*self._correct(k), k))
        self.steps.append(step)
        endings = [rule(step) for rule in self.rules]
        endings.append(self.watcher(step, self.trace) if self.watcher else None)
        self.status = next((ending for ending in (*endings, self._limit()) if ending), None)

    def prune(self) -> None:
        """Let atoms of every output leave one by one until one is left: a step each time."""
        while True:
            k, solutions, removed = len(self.steps) + 1, [], []
            for output in self.outputs:
                output.choice = None
            for team in self.teams:
                corrections, gone = shed_one(team, partial(self._move, k))
                solutions += corrections
                removed += self._pairs(team, gone)
            if not removed:
                return
            self.steps.append(self._scored(self._record(solutions, removed, k)))

    def _scored(self, step: Step) -> Step:
        if self.validator is None:
            return step
        return replace(step, validation_score=self.validator(step, self.registry.rows))

    def _correct(self, k: int) -> tuple[list[Solution], list[tuple[int, int]]]:
        """Let the chosen atoms in, move the coefficients, and let others leave."""
        solutions: list[Solution] = []
        removed: list[tuple[int, int]] = []
        for team in self.teams:
            entering = self._entering(team, k)
            if not entering:
                continue
            before = sum(output.objective for output in team)
            for output in team:
                newest = [output.take(place, one.atom, one.id) for place, one in entering]
                solutions.append(self._move(k, output, newest[-1]))
            if self.recipe.removal is not None:
                limit = self.recipe.removal.limit(before, sum(o.objective for o in team))
                corrections, gone = shed(team, newest, limit, partial(self._move, k))
                solutions += corrections
                removed += self._pairs(team, gone)
        return solutions, removed

    def _entering(self, team: list[Output], k: int) -> list[tuple[int, Choice]]:
        """Return what a team has chosen, each atom once, and their positions."""
        choices: dict[int, Choice] = {}
        for output in team:
            if output.choice is not None and output.status is None:
                output.first_score = output.first_score or output.choice.score
                choices.setdefault(output.choice.id, output.choice)
        return [(self.registry.place(c.atom, c.id, k), c) for c in choices.values()]

    def _move(self, k: int, output: Output, newest: int) -> Solution:
        """Move the coefficients of an output."""
        solution = self.recipe.scheme.update(output.problem, output.coef, newest, k)
        output.coef, output.objective = solution.coef, solution.objective
        return solution

    def _pairs(self, team: list[Output], gone: list[int]) -> list[tuple[int, int]]:
        """Return the numbers of outputs and the atoms that they lost."""
        return [(self.outputs.index(output), place) for place in gone for output in team]

    def _record(self, solutions: list[Solution], removed: list[tuple[int, int]], k: int) -> Step:
        """Write down a step."""
        coef = np.zeros((len(self.outputs), len(self.registry.rows)))
        for row, output in zip(coef, self.outputs, strict=True):
            row[output.atoms] = output.atom_coef
        intercept = np.array([output.intercept for output in self.outputs])
        for values in (coef, intercept):
            values.setflags(write=False)
        choices = [output.choice if output.status is None else None for output in self.outputs]
        places = [self.registry.positions[c.id] if c is not None else -1 for c in choices]
        return Step(
            k=k,
            chosen=np.array(places),
            scores=np.array([c.score if c is not None else 0.0 for c in choices]),
            objectives=np.array([output.objective for output in self.outputs]),
            coef=coef,
            intercept=intercept,
            solver_iterations=sum(solution.n_iter for solution in solutions),
            residual=max(solution.residual for solution in solutions),
            is_corrected=all(solution.status is Status.CONVERGED for solution in solutions),
            seconds=time.perf_counter() - self.started,
            removed=np.array(removed, dtype=np.intp).reshape(-1, 2),
            gone=self._gone(),
        )

    def _gone(self) -> NDArray[np.intp]:
        """Return the positions of the atoms that no output has."""
        is_gone = np.ones(len(self.registry.rows), dtype=bool)
        for output in self.outputs:
            is_gone[output.atoms] = False
        return np.flatnonzero(is_gone)

    def trace(self) -> Trace:
        """Collect the steps and the atoms that entered."""
        entered = np.array(self.registry.entered, dtype=np.intp)
        atoms = self.registry.atoms(self.no_atoms)
        endings = tuple(output.status for output in self.outputs)
        return Trace(tuple(self.steps), atoms, entered, self.start, endings, self.recipe.is_shared)

    def _replay(self, trace: Trace) -> None:
        """Bring back the state at the end of a trace, without solving anything again."""
        last = trace[-1]
        self.steps = list(trace)
        self.started -= last.seconds
        ids = hashing.fingerprint(trace.atoms)
        for position, k in enumerate(trace.entered):
            self.registry.place(trace.atoms[position : position + 1], int(ids[position]), int(k))
        presence = Presence(len(self.outputs), trace.is_shared)
        for step in trace:
            presence.take(step.chosen, step.removed.tolist())
        for c, output in enumerate(self.outputs):
            output.status = trace.endings[c]
            for step in trace:
                output.first_score = output.first_score or float(step.scores[c])
            for place in presence.atoms[c]:
                output.take(place, self.registry.rows[place], int(ids[place]))
            columns = output.problem.columns
            constant = last.intercept[c : c + int(columns.has_constant)]
            output.coef = np.concatenate([constant, last.coef[c, output.atoms]]) / columns.factors
            output.objective = float(last.objectives[c])
