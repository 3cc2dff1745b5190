"""THE loop: select, correct, record, stop.

One loop serves every dictionary, loss, scheme, solver, selection and stopping rule, and any number
of outputs: one-versus-rest is one loop whose outputs keep their own atoms and share the pass over
the candidates, as do paths that differ only in their ridge penalty.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fcgboost import hashing
from fcgboost.designs.base import Array, Design
from fcgboost.dictionaries import TreeDictionary
from fcgboost.greedy.choice import Recipe, choose
from fcgboost.greedy.elimination import eliminate
from fcgboost.greedy.outputs import Coefficients, Output, make_output
from fcgboost.greedy.path import Presence, Registry, StepScore, Trace, gone
from fcgboost.solvers.base import Solution
from fcgboost.stopping import Status, Step, StoppingRule, gains_nothing

Watcher = Callable[[Step, Callable[[], Trace]], Status | None]


def fit_path(
    design: Design,
    targets: Sequence[Array],
    recipe: Recipe,
    rules: Sequence[StoppingRule] = (),
    validator: StepScore | None = None,
    watcher: Watcher | None = None,
    resume: Trace | None = None,
) -> tuple[Trace, Status]:
    """Run the greedy loop for targets of -1 and +1, one vector per output.

    After every step the validator scores it and the rules are asked, in order: the first answer
    counts. The watcher sees the step and a function that returns the path so far, and may end it.
    `resume` is a path on the same data to continue.
    """
    path = _Path(design, targets, recipe, rules, validator, watcher, resume)
    _run([path])
    return path.trace(), path.status or path.ending


def fit_ridges(
    design: Design,
    targets: Sequence[Array],
    recipe: Recipe,
    rules: Sequence[StoppingRule],
    validator: StepScore | None,
) -> list[Trace]:
    """Run the greedy loop once; return the corrected steps of each ridge, `l2`, then `other_l2`.

    All have the atoms that the first one chose. Rules see the step of the best-scoring ridge.
    """
    path = _Path(design, targets, recipe, rules, validator)
    _run([path])
    n_ridges = 1 + len(recipe.other_l2)
    return [path.trace([steps[i] for steps in path.judged]) for i in range(n_ridges)]


def fit_paths(
    design: Design,
    targets: Sequence[Array],
    recipes: Sequence[Recipe],
    rules: Sequence[StoppingRule] = (),
) -> list[Trace]:
    """Run the greedy loop once for recipes that differ only in l2.

    They share every pass over the candidates; each path equals that of `fit_path`. The rules see
    the steps of all paths.
    """
    paths = [_Path(design, targets, recipe, rules) for recipe in recipes]
    _run(paths)
    return [path.trace() for path in paths]


def _run(paths: Sequence[_Path]) -> None:
    """Advance paths side by side until all have ended."""
    recipe, design = paths[0].recipe, paths[0].design
    chooser = recipe.selection.chooser(design, recipe.n_candidates, recipe.key)
    while running := [path for path in paths if path.status is None]:
        k = len(running[0].steps) + 1
        if outputs := [one for path in running for one in path.outputs if one.status is None]:
            choose(design, recipe, outputs, chooser, k)
        for path in running:
            path.advance(k)


@dataclass(eq=False)
class _Path:
    """The state of one path."""

    design: Design
    targets: InitVar[Sequence[Array]]
    recipe: Recipe
    rules: Sequence[StoppingRule]
    validator: StepScore | None = None
    watcher: Watcher | None = None
    resume: InitVar[Trace | None] = None
    registry: Registry = field(default_factory=Registry)
    steps: list[Step] = field(default_factory=list)
    #: Why the path ended; None while it continues.
    status: Status | None = None

    def __post_init__(self, targets: Sequence[Array], resume: Trace | None) -> None:
        design, recipe = self.design, self.recipe
        ridges = recipe.l2, *recipe.other_l2
        self.outputs = [
            make_output(design, target, recipe.loss, ridges, recipe.max_iter, recipe.fit_intercept)
            for target in targets
        ]
        #: The corrected steps, each for all ridges.
        self.judged: list[list[Step]] = []
        self.start = np.array([output.intercept for output in self.outputs])
        self.start.setflags(write=False)
        #: The objective without a model.
        self.null = sum(output.null for output in self.outputs)
        self.started = time.perf_counter()
        self.no_atoms = design.dictionary.candidates(design.sample(1, recipe.key), 1, 0)[:0]
        if resume is not None and len(resume):
            self._replay(resume)
        self.status = self._limit()
        if self.status is not None and not (self.steps and self.steps[-1].is_corrected):
            self._finish()

    def _limit(self) -> Status | None:
        """Return why the path ends here, if so."""
        if len(self.steps) >= self.recipe.max_iter:
            return self.ending
        # Fresh candidates never run out, even if nothing is left to fit.
        is_endless = not (self.recipe.selection.is_fixed or self.recipe.scheme.reselects)
        return Status.NO_GAIN if is_endless and gains_nothing(self.steps, self.null) else None

    @property
    def ending(self) -> Status:
        """Why the outputs ended; the step limit if one could have continued."""
        endings = [output.status for output in self.outputs]
        return endings[0] or Status.STEP_LIMIT if all(endings) else Status.STEP_LIMIT

    def advance(self, k: int) -> None:
        """Make a step with what the outputs chose, or end if none can continue."""
        if all(output.status for output in self.outputs):
            self.status = self.ending
            self._finish()
            return
        heard = self._record(*self._correct(k), k)
        endings = [rule(heard) for rule in self.rules]
        if self.watcher is not None:
            endings.append(self.watcher(heard, self.trace))
        self.status = next(filter(None, endings), None) or self._limit()
        if self.status is not None:
            self._finish()

    @property
    def is_behind(self) -> bool:
        return any(output.is_behind for output in self.outputs)

    def _finish(self) -> None:
        """Correct all coefficients in the last step, unless already done."""
        if not self.is_behind:
            return
        last, solutions = self.steps.pop(), list[Solution]()
        for output in self.outputs:
            solutions += self._correct_all(last.k, output, None)[0]
        self._record(solutions, [], last.k, last)

    def _correct(self, k: int) -> tuple[list[Solution], list[tuple[int, int]]]:
        """Add the chosen atoms, update the coefficients, and remove atoms."""
        solutions, removed = list[Solution](), list[tuple[int, int]]()
        pairs = [(output, self._take(k, output)) for output in self.outputs]
        if not self._is_due(k, [len(output.atoms) for output in self.outputs]):
            for output, newest in pairs:
                solutions += [] if newest is None else self._advance(output, newest)
            if solutions:
                return solutions, removed
        for number, (output, newest) in enumerate(pairs):
            if newest is not None or output.is_behind:
                corrections, left = self._correct_all(k, output, newest)
                solutions += corrections
                removed += [(number, place) for place in left]
        return solutions, removed

    def _is_due(self, k: int, n_atoms: Sequence[int]) -> bool:
        """Return whether step k corrects all coefficients of outputs with n_atoms."""
        recipe = self.recipe
        # Removal and reselection are decided at corrected coefficients.
        if k == recipe.max_iter or recipe.removal is not None or recipe.reselect:
            return True
        pairs = zip(self.outputs, n_atoms, strict=True)
        return any(recipe.scheme.is_due(n, output.n_corrected) for output, n in pairs)

    def _take(self, k: int, output: Output) -> int | None:
        """Add the atom that an output chose; return its column, None if it has ended."""
        choice = output.choice
        if choice is None or output.status is not None:
            return None
        output.first_score = output.first_score or choice.score
        place = self.registry.place(
            choice.atom, self._key(choice.id, self.outputs.index(output)), k
        )
        return output.take(place, choice.atom, choice.id)

    def _key(self, id_: int, number: int) -> int:
        """Return the key of an atom; with corrected leaves it belongs to one output."""
        return id_ + (number << 64) if self.design.dictionary.corrects_leaves else id_

    def _correct_all(
        self, k: int, output: Output, newest: int | None
    ) -> tuple[list[Solution], list[int]]:
        """Correct an output for all ridges; return the solutions and the removed atoms."""
        before, left = output.objective, list[int]()
        output.n_corrected = len(output.atoms)
        solutions = [self._move(k, output, newest or 0)]
        if newest is not None and self.recipe.removal is not None:
            limit = self.recipe.removal.limit(before, output.objective)
            corrections, left = eliminate(output, newest, limit, partial(self._move, k))
            solutions += corrections
        for follower in output.followers:
            self._move(k, follower, newest or 0)
        return solutions, left

    def _advance(self, output: Output, newest: int) -> list[Solution]:
        """Fit the coefficients of a new column only; return nothing if that is impossible."""
        problem = output.problem
        found = output.columns.step(problem.output, output.coef, newest, problem.l2)
        if found is None:
            return []
        output.coef, risk = found
        output.objective = risk + float(problem.penalty @ output.coef**2)
        return [Solution(output.coef, output.objective, Status.NOT_CONVERGED, 0, 0.0)]

    def _move(self, k: int, one: Coefficients, newest: int) -> Solution:
        solution = self.recipe.scheme.update(one.problem, one.coef, newest, k)
        one.coef, one.objective = solution.coef, solution.objective
        return solution

    def _record(
        self,
        solutions: list[Solution],
        removed: list[tuple[int, int]],
        k: int,
        last: Step | None = None,
    ) -> Step:
        """Record and score a step, or the last one again; return that of the best ridge."""
        is_judged = not self.is_behind
        n_ridges = 1 + len(self.recipe.other_l2) if is_judged else 1
        changes: dict[str, Any] = {}
        if last is not None:
            changes = {"chosen": last.chosen, "scores": last.scores}
        if self.recipe.removal is not None:
            changes["removed"] = np.array(removed, np.intp).reshape(-1, 2)
            changes["gone"] = gone(len(self.registry.rows), [one.atoms for one in self.outputs])
        steps = [replace(self._step(i, solutions, k), **changes) for i in range(n_ridges)]
        if is_judged and self.validator is not None:
            scores = self.validator(steps, self.registry.rows)
            steps = [replace(s, validation_score=v) for s, v in zip(steps, scores, strict=True)]
        self.steps.append(steps[0])
        if is_judged:
            self.judged.append(steps)
        return max(steps, key=lambda step: step.validation_score or 0.0)

    def _step(self, ridge: int, solutions: list[Solution], k: int) -> Step:
        """Return the record of a step for one of the ridges."""
        n_outputs = len(self.outputs)
        coef = np.zeros((n_outputs, len(self.registry.rows)))
        chosen, small = [-1] * n_outputs, np.zeros((3, n_outputs))
        for c, output in enumerate(self.outputs):
            one, choice = (output, *output.followers)[ridge], output.choice
            coef[c, output.atoms] = one.atom_coef
            small[1, c], small[2, c] = one.objective, one.intercept
            if choice is not None and output.status is None:
                chosen[c] = self.registry.positions[self._key(choice.id, c)]
                small[0, c] = choice.score
        return Step(
            k=k,
            chosen=np.array(chosen),
            scores=small[0],
            objectives=small[1],
            coef=coef,
            intercept=small[2],
            solver_iterations=sum([solution.n_iter for solution in solutions]),
            residual=max([solution.residual for solution in solutions]),
            is_corrected=all(solution.status is Status.CONVERGED for solution in solutions),
            seconds=time.perf_counter() - self.started,
            leaves=self._leaves(ridge) if self.design.dictionary.corrects_leaves else (),
        )

    def _leaves(self, ridge: int) -> tuple[Array, ...]:
        """Return the leaf values of all trees."""
        # Unless corrected, earlier trees keep their arrays.
        known = self.steps[-1].leaves if self.is_behind and self.steps else ()
        leaves = dict(enumerate(known))
        for output in self.outputs:
            values = (output, *output.followers)[ridge].leaf_values
            for place, own in zip(output.atoms, values, strict=True):
                own.setflags(write=False)
                leaves.setdefault(place, own)
        return tuple(leaves[place] for place in sorted(leaves))

    def trace(self, steps: Sequence[Step] | None = None) -> Trace:
        """Return the path so far, or with the steps of another ridge."""
        steps = self.steps if steps is None else steps
        entered = np.array(self.registry.entered, dtype=np.intp)
        atoms, dictionary = self.registry.atoms(self.no_atoms), self.design.dictionary
        if isinstance(dictionary, TreeDictionary) and dictionary.corrects_leaves:
            atoms = dictionary.bare(atoms)
        endings = tuple(output.status for output in self.outputs)
        return Trace(tuple(steps), atoms, entered, self.start, endings)

    def _replay(self, trace: Trace) -> None:
        """Restore the state at the end of a trace without solving anything."""
        last = trace[-1]
        self.steps = list(trace)
        self.started -= last.seconds
        ids = hashing.fingerprint(trace.atoms)
        owners = {place: c for step in trace for c, place in enumerate(step.chosen.tolist())}
        for position, k in enumerate(trace.entered):
            key = self._key(int(ids[position]), owners.get(position, 0))
            self.registry.place(trace.atoms[position : position + 1], key, int(k))
        presence = Presence(len(self.outputs))
        for step in trace:
            presence.take(step.chosen, step.removed.tolist())
            n_atoms = [len(own) for own in presence.atoms]
            if self._is_due(step.k, n_atoms):
                for output, n in zip(self.outputs, n_atoms, strict=True):
                    output.n_corrected = n
        for c, output in enumerate(self.outputs):
            for place in presence.atoms[c]:
                output.take(place, self.registry.rows[place], int(ids[place]))
            output.status = trace.endings[c]
            output.first_score = next((float(s.scores[c]) for s in trace if s.scores[c]), 0.0)
            constant = last.intercept[c : c + int(output.columns.has_constant)]
            own = [last.coef[c, output.atoms]]
            if last.leaves and output.atoms:
                own = [last.leaves[place] for place in output.atoms]
            output.coef = np.concatenate([constant, *own]) / output.columns.factors
            output.objective = float(last.objectives[c])
