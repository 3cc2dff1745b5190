"""THE loop: select, correct, record, stop.

One loop serves every dictionary, loss, scheme, solver, selection and stopping rule, and any number
of outputs: one-versus-rest is one loop whose outputs keep their own atoms and share the pass over
the candidates, as do paths that differ only in their ridge penalty.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from itertools import cycle

import numpy as np

from fcgboost import hashing
from fcgboost.arrays import Codes, stack_rows
from fcgboost.designs.base import Array, Design
from fcgboost.greedy.choice import Recipe, choose
from fcgboost.greedy.elimination import eliminate
from fcgboost.greedy.outputs import Coefficients, Output, make_output
from fcgboost.greedy.path import AtomsByOutput, AtomTable, StepScore, Trace, removed_atoms
from fcgboost.selection.base import Choice
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
) -> tuple[list[Trace], Status]:
    """Run the greedy loop for targets, one vector per output.

    After every step the validator scores it and the rules are asked, in order: the first answer
    counts. The watcher sees the step and a function that returns the path so far, and may end it.
    `resume` is a path on the same data to continue.

    The path is returned for each ridge, `l2`, then `other_l2`. All have the atoms that the first
    one chose; if there are several, they consist of the corrected steps. Rules see the step of the
    ridge with the best score.
    """
    path = _GreedyPath(
        design,
        targets,
        recipe,
        rules,
        validator,
        watcher,
        resume,
    )
    chooser = recipe.selection.chooser(design, recipe.n_candidates, recipe.key)
    while path.status is None:
        k = len(path.steps) + 1
        outputs = [output for output in path.outputs if output.status is None]
        for output in outputs:
            output.narrow(output.objective)
        if outputs:
            choose(
                design,
                recipe,
                outputs,
                chooser,
                k,
            )
        path.advance(k)
    return path.traces(), path.status


def recorrect(
    design: Design,
    targets: Sequence[Array],
    recipe: Recipe,
    trace: Trace,
    validator: StepScore | None = None,
) -> Trace:
    """Return a path whose last coefficients minimise the loss of a recipe for the same atoms."""
    path = _GreedyPath(
        design,
        targets,
        recipe,
        (),
        validator,
        resume=trace,
    )
    if path.steps:
        path.correct_again()
    return path.trace()


def _merged(steps: Sequence[Step], corrected: Sequence[Step]) -> tuple[Step, ...]:
    """Return corrected steps with the choices of the steps since the last one before each."""
    merged = []
    first = 0
    for step in corrected:
        since = steps[first : step.k]
        first = step.k
        chosen = np.concatenate([other.chosen for other in since])
        scores = np.concatenate([other.scores for other in since])
        merged.append(replace(step, chosen=chosen, scores=scores))
    return tuple(merged)


@dataclass
class _Update:
    """What a step did to the coefficients."""

    #: The solution of each correction.
    solutions: list[Solution] = field(default_factory=list)
    #: The removed atoms: output and position.
    removed: list[tuple[int, int]] = field(default_factory=list)


@dataclass(eq=False)
class _GreedyPath:
    """The state of one path."""

    design: Design
    targets: InitVar[Sequence[Array]]
    recipe: Recipe
    rules: Sequence[StoppingRule]
    validator: StepScore | None = None
    watcher: Watcher | None = None
    resume: InitVar[Trace | None] = None
    atoms: AtomTable = field(default_factory=AtomTable)
    steps: list[Step] = field(default_factory=list)
    #: Why the path ended; None while it continues.
    status: Status | None = None
    #: The number of the last step, or of the one that is being made.
    k: int = 0
    #: The positions of the atoms that the outputs chose in this step, or -1, and their scores.
    chosen: Codes = field(init=False)
    scores: Array = field(init=False)

    def __post_init__(self, targets: Sequence[Array], resume: Trace | None) -> None:
        recipe = self.recipe
        self.outputs = [
            make_output(
                self.design,
                target,
                recipe.loss,
                ridges=(recipe.l2, *recipe.other_l2),
                capacity=recipe.max_iter,
                has_constant=recipe.fit_intercept,
            )
            for target in targets
        ]
        #: The steps that corrected all coefficients, each for all ridges.
        self.corrected_steps: list[list[Step]] = []
        self.start = np.array([output.intercept for output in self.outputs])
        self.start.setflags(write=False)
        #: The objective without a model.
        self.null = sum(output.null for output in self.outputs)
        self.started = time.perf_counter()
        if resume is not None and len(resume):
            self._replay(resume)
        self.status = self._limit()
        is_corrected = bool(self.steps) and self.steps[-1].is_corrected
        if self.status is not None and not is_corrected:
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
        self.k = k
        best_step = self._record(self._correct())
        endings = [rule(best_step) for rule in self.rules]
        if self.watcher is not None:
            endings.append(self.watcher(best_step, self.trace))
        self.status = next(filter(None, endings), None) or self._limit()
        if self.status is not None:
            self._finish()

    @property
    def needs_correction(self) -> bool:
        return any(output.needs_correction for output in self.outputs)

    def _finish(self) -> None:
        """Correct all coefficients in the last step, unless already done."""
        if self.needs_correction:
            self.correct_again()

    def correct_again(self) -> None:
        """Correct all coefficients in the last step."""
        self.steps.pop()
        update = _Update()
        self._correct_outputs(update, dict.fromkeys(range(len(self.outputs))))
        self._record(update)

    def _correct(self) -> _Update:
        """Add the chosen atoms, update the coefficients, and remove atoms."""
        update = _Update()
        newest = self._take_choices()
        n_atoms = [len(output.atoms) for output in self.outputs]
        if not self._is_due(self.k, n_atoms):
            outputs = list(zip(self.outputs, newest, strict=True))
            fitted = self.design.each_output(self._fit_newest, outputs)
            update.solutions += filter(None, fitted)
            if update.solutions:
                return update
        due = dict[int, int | None]()
        for number, output in enumerate(self.outputs):
            if newest[number] is not None or output.needs_correction:
                due[number] = newest[number]
        self._correct_outputs(update, due)
        return update

    def _correct_outputs(self, update: _Update, newest: Mapping[int, int | None]) -> None:
        """Correct all coefficients of some outputs, with their new columns."""
        numbers = list(newest)
        updates = self.design.each_output(
            lambda number: self._correct_all(number, newest[number]),
            numbers,
        )
        for corrected in updates:
            update.solutions += corrected.solutions
            update.removed += corrected.removed

    def _is_due(self, k: int, n_atoms: Sequence[int]) -> bool:
        """Return whether step k corrects all coefficients of outputs with n_atoms."""
        recipe = self.recipe
        # Removal and reselection are decided at corrected coefficients.
        if k == recipe.max_iter or recipe.removal is not None or recipe.reselect:
            return True
        for output, n in zip(self.outputs, n_atoms, strict=True):
            if recipe.scheme.is_due(n, output.n_corrected):
                return True
        return False

    def _take_choices(self) -> list[int | None]:
        """Add the atoms that the outputs chose; return their columns, None for ended outputs."""
        columns: list[int | None] = []
        self.chosen = np.full(len(self.outputs), -1)
        self.scores = np.zeros(len(self.outputs))
        for number, output in enumerate(self.outputs):
            choice = output.choice
            column = None
            if choice is not None:
                output.first_score = output.first_score or choice.score
                key = self._key(choice.id, number)
                position = self.atoms.add(choice.atom, key, self.k)
                column = output.take(position, choice)
                self.chosen[number] = position
                self.scores[number] = choice.score
            columns.append(column)
        return columns

    def _key(self, id_: int, number: int) -> int:
        """Return the key of an atom, which may belong to one output alone."""
        if self.outputs[number].columns.shares_atoms:
            return id_
        return id_ + (number << 64)

    def _correct_all(self, number: int, newest: int | None) -> _Update:
        """Correct all coefficients of an output, for all ridges."""
        update = _Update()
        output = self.outputs[number]
        before = output.objective
        output.n_corrected = len(output.atoms)
        update.solutions.append(self._move_leading(output, newest or 0))
        if newest is not None and self.recipe.removal is not None:
            limit = self.recipe.removal.limit(before, output.objective)
            solutions, removed = eliminate(
                output,
                newest,
                limit,
                self._move_leading,
            )
            update.solutions += solutions
            update.removed += [(number, position) for position in removed]
        for ridge in output.other_ridges:
            self._move(ridge, newest or 0)
        return update

    def _fit_newest(self, changed: tuple[Output, int | None]) -> Solution | None:
        """Fit the coefficients of an output's new column only, if that is possible."""
        output, newest = changed
        if newest is None:
            return None
        problem = output.problem
        step = output.columns.step(output.point, newest, problem.l2)
        if step is None:
            return None
        output.coef = step.coef
        output.state = step.state
        output.objective = step.risk + float(problem.penalty @ output.coef**2)
        return Solution(
            output.coef,
            output.objective,
            Status.NOT_CONVERGED,
            n_iter=0,
            residual=0.0,
        )

    def _move_leading(self, output: Output, newest: int) -> Solution:
        """Correct the coefficients that lead the path; only their state is worth its memory."""
        solution = self._move(output, newest, output.state)
        output.state = solution.state
        return solution

    def _move(self, ridge: Coefficients, newest: int, state: object = None) -> Solution:
        problem = replace(ridge.problem, state=state)
        solution = self.recipe.scheme.update(
            problem,
            ridge.coef,
            newest,
            self.k,
        )
        ridge.coef = solution.coef
        ridge.objective = solution.objective
        return solution

    def _record(self, update: _Update) -> Step:
        """Record and score a step; return that of the best ridge."""
        if self.needs_correction:
            self.steps.append(self._step(0, update))
            return self.steps[-1]
        n_ridges = len(self.outputs[0].ridges)
        steps = [self._step(i, update) for i in range(n_ridges)]
        if self.validator is not None:
            scores = self.validator(steps, self.atoms.rows)
            for i, score in enumerate(scores):
                steps[i] = replace(steps[i], validation_score=score)
        self.steps.append(steps[0])
        self.corrected_steps.append(steps)
        return max(steps, key=lambda step: step.validation_score or 0.0)

    def _step(self, ridge: int, update: _Update) -> Step:
        """Return the record of a step for one of the ridges."""
        solutions = update.solutions
        fits = [output.ridges[ridge] for output in self.outputs]
        n_atoms = len(self.atoms.rows)
        coef = np.zeros((len(self.outputs), n_atoms))
        for number, output in enumerate(self.outputs):
            coef[number, output.atoms] = fits[number].atom_coef
        step = Step(
            k=self.k,
            chosen=self.chosen,
            scores=self.scores,
            objectives=np.array([fit.objective for fit in fits]),
            coef=coef,
            intercept=np.array([fit.intercept for fit in fits]),
            # Lists, because a generator would add a call per output.
            solver_iterations=sum([solution.n_iter for solution in solutions]),
            residual=max([solution.residual for solution in solutions]),
            is_corrected=all(solution.status is Status.CONVERGED for solution in solutions),
            seconds=time.perf_counter() - self.started,
            leaves=self._leaves(ridge),
        )
        if self.recipe.removal is None:
            return step
        kept = [output.atoms for output in self.outputs]
        return replace(
            step,
            removed=np.array(update.removed, np.intp).reshape(-1, 2),
            removed_atoms=removed_atoms(n_atoms, kept),
        )

    def _leaves(self, ridge: int) -> tuple[Array, ...]:
        """Return the leaf values of all trees whose leaves are corrected, if any."""
        if self.outputs[0].columns.shares_atoms:
            return ()
        # Unless corrected, earlier trees keep their arrays.
        unchanged: tuple[Array, ...] = ()
        if self.needs_correction and self.steps:
            unchanged = self.steps[-1].leaves
        values: dict[int, Array] = {}
        for output in self.outputs:
            first = bisect_left(output.atoms, len(unchanged))
            newer = output.columns.leaf_values(output.ridges[ridge].coef, first)
            values.update(zip(output.atoms[first:], newer, strict=True))
        for array in values.values():
            array.setflags(write=False)
        return (*unchanged, *(values[position] for position in sorted(values)))

    def traces(self) -> list[Trace]:
        """Return the path for each ridge; of several ridges, the corrected steps."""
        whole = self.trace()
        if not self.recipe.other_l2:
            return [whole]
        traces = []
        for ridge in range(1 + len(self.recipe.other_l2)):
            corrected = [steps[ridge] for steps in self.corrected_steps]
            merged = _merged(self.steps, corrected)
            traces.append(replace(whole, steps=merged))
        return traces

    def trace(self) -> Trace:
        """Return the path so far."""
        dictionary = self.design.dictionary
        if self.atoms.rows:
            atoms = dictionary.bare(stack_rows(self.atoms.rows))
        else:
            # An array without atoms, of the kind that the dictionary has for these rows.
            sample = self.design.sample(1, self.recipe.key)
            atoms = dictionary.candidates(sample, 1, 0)[:0]
        return Trace(
            steps=tuple(self.steps),
            atoms=atoms,
            entered=np.array(self.atoms.entered, dtype=np.intp),
            start=self.start,
            endings=tuple(output.status for output in self.outputs),
        )

    def _replay(self, trace: Trace) -> None:
        """Restore the state at the end of a trace without solving anything."""
        last = trace[-1]
        self.steps = list(trace)
        self.k = last.k
        self.chosen = last.chosen
        self.scores = last.scores
        self.started -= last.seconds
        ids = hashing.fingerprint(trace.atoms).tolist()
        owners: dict[int, int] = {}
        for step in trace:
            owners.update(zip(step.chosen.tolist(), cycle(range(len(self.outputs))), strict=False))
        for position, k in enumerate(trace.entered.tolist()):
            key = self._key(ids[position], owners.get(position, 0))
            self.atoms.add(trace.atoms[position : position + 1], key, k)
        atoms_by_output = AtomsByOutput(len(self.outputs))
        for step in trace:
            atoms_by_output.take(step.chosen, step.removed.tolist())
            n_atoms = [len(atoms) for atoms in atoms_by_output.atoms]
            if self._is_due(step.k, n_atoms):
                for output, n in zip(self.outputs, n_atoms, strict=True):
                    output.n_corrected = n
        for c, output in enumerate(self.outputs):
            for position in atoms_by_output.atoms[c]:
                choice = Choice(self.atoms.rows[position], ids[position], 0.0)
                output.take(position, choice)
            output.status = trace.endings[c]
            scores = [float(step.scores[c]) for step in trace]
            output.first_score = next(filter(None, scores), 0.0)
            coef = [last.coef[c, output.atoms]]
            if last.leaves and output.atoms:
                coef = [last.leaves[position] for position in output.atoms]
            if output.columns.has_constant:
                coef.insert(0, last.intercept[c : c + 1])
            output.coef = np.concatenate(coef)
            for step in trace:
                output.narrow(output.objective)
                output.objective = float(step.objectives[c])
