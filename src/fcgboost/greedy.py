"""THE loop: select, correct, record, stop.

One loop serves every dictionary, loss, scheme, solver, selection and stopping rule, and any
number of outputs: one-against-rest is one loop whose outputs each keep their own atoms and
share the pass over the candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import neg
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.backends.base import Array, Design, Divisor
from fcgboost.dictionaries import Dictionary
from fcgboost.losses import CurvedLoss, Loss
from fcgboost.model import Model
from fcgboost.schemes import Scheme
from fcgboost.selection import Choice, Selection, choose
from fcgboost.solvers.base import Problem, Solution
from fcgboost.stopping import Status, Step, StoppingRule

# A score below this share of what the residual could give, or of the first score, is a sum of
# rounding errors.
_ROUNDING = 1e-14
_SMALL = 1e-10
_LABELS = np.array([-1.0, 1.0])
# Margins this close to a kink of the loss stand at it.
_AT_A_KINK = 1e-9


@dataclass(frozen=True, eq=False)
class Trace(Sequence[Step]):
    """One record per step, with the coefficients, so nothing needs to be run again.

    Attributes
    ----------
    steps : tuple of Step
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
        Every atom that entered, in order of entry.
    entered : ndarray of shape (n_atoms,)
        The step at which each atom entered.
    start : ndarray of shape (n_outputs,)
        The constants before the first step.
    endings : tuple of Status or None
        How each output ended by itself; None for one that could go on.
    """

    steps: tuple[Step, ...]
    atoms: Any
    entered: NDArray[np.intp]
    start: Array
    endings: tuple[Status | None, ...]

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def column(self, name: str) -> NDArray[Any]:
        """Give one attribute of all steps, of one shape, as an array: "n_atoms", "seconds", ..."""
        return np.array([getattr(step, name) for step in self.steps])

    def model(self, k: int, dictionary: Dictionary, scale: Array) -> Model:
        """Give the model after k steps."""
        coef = self.steps[k - 1].coef if k else np.zeros((len(self.start), 0))
        intercept = self.steps[k - 1].intercept if k else self.start
        n_atoms = coef.shape[1]
        atoms, entered = self.atoms[:n_atoms], self.entered[:n_atoms]
        return Model(dictionary, atoms, coef, intercept, scale, entered)


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


@dataclass(eq=False)
class Output:
    """The state of one output: its columns, which atoms they are, and its coefficients."""

    problem: Problem
    coef: Array
    objective: float
    atoms: list[int] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    first_score: float = 0.0
    choice: Choice | None = None
    status: Status | None = None

    def atom_coef(self, n_atoms: int) -> Array:
        """Give the coefficients of atoms (not of columns), in the order of the trace."""
        columns = self.problem.columns
        full = np.zeros(n_atoms)
        full[self.atoms] = (self.coef * columns.factors)[int(columns.has_constant) :]
        return full

    @property
    def intercept(self) -> float:
        """The coefficient of the constant."""
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0

    def take(self, position: int, atom: Any, id_: int) -> int:
        """Give the column of an atom, appending it if the output does not have it yet."""
        if id_ not in self.ids:
            self.ids.add(id_)
            self.atoms.append(position)
            self.problem.columns.append(atom)
            self.coef = np.append(self.coef, 0.0)
        return self.atoms.index(position) + int(self.problem.columns.has_constant)


class Registry:
    """All atoms that entered, once each, in order of entry."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.positions: dict[int, int] = {}
        self.entered: list[int] = []

    def place(self, atom: Any, id_: int, k: int) -> int:
        """Give the position of an atom, adding it if it is new."""
        if id_ not in self.positions:
            self.positions[id_] = len(self.rows)
            self.rows.append(atom)
            self.entered.append(k)
        return self.positions[id_]

    def atoms(self, empty: Any) -> Any:
        """Give all rows as one array; `empty` is an array of no atoms."""
        stack = sparse.vstack if sparse.issparse(empty) else np.vstack
        return stack([empty, *self.rows]) if self.rows else empty


class Validator:
    """The atoms' values on validation data, and a score of the decision values there.

    Parameters
    ----------
    evaluate : callable
        Gives the columns of parameter rows on the validation data.
    score : callable
        Maps decision values of shape (n_samples, n_outputs) to a number, larger is better.
    """

    def __init__(self, evaluate: Callable[[Any], Array], score: Callable[[Array], float]) -> None:
        self._evaluate = evaluate
        self._score = score
        self._values: Array = np.empty((0, 0))
        self._n_atoms = 0

    def __call__(self, step: Step, registry: Registry) -> float:
        """Score a step."""
        for atom in registry.rows[self._n_atoms :]:
            self._append(self._evaluate(atom))
        decision = self._values[:, : self._n_atoms] @ step.coef.T + step.intercept
        return self._score(decision)

    def _append(self, column: Array) -> None:
        if self._n_atoms == self._values.shape[1]:
            larger = np.empty((len(column), 2 * self._n_atoms or 64), order="F")
            larger[:, : self._n_atoms] = self._values.reshape(len(column), -1)
            self._values = larger
        self._values[:, self._n_atoms] = column[:, 0]
        self._n_atoms += 1


def fit_path(
    design: Design,
    targets: Sequence[Array],
    recipe: Recipe,
    rules: Sequence[StoppingRule] = (),
    validator: Validator | None = None,
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
    validator : Validator or None
    watcher : callable or None
        Sees every step together with a function that gives the path so far; may end it.
    resume : Trace or None
        A path on the same data to go on from.

    Returns
    -------
    Trace, Status
    """
    path = _Path(design, targets, recipe, resume)
    steps = list(resume.steps) if resume is not None else []
    status: Status | None = None
    while status is None and len(steps) < recipe.max_iter:
        k = len(steps) + 1
        if not path.select(k):
            break
        step = path.record(path.correct(k), k)
        if validator is not None:
            step = replace(step, validation_score=validator(step, path.registry))
        steps.append(step)
        endings = [rule(step) for rule in rules]
        if watcher is not None:
            endings.append(watcher(step, lambda: path.trace(steps)))
        status = next((ending for ending in endings if ending is not None), None)
    return path.trace(steps), status or path.status


class _Path:
    """The state of one run of the loop."""

    def __init__(
        self, design: Design, targets: Sequence[Array], recipe: Recipe, resume: Trace | None
    ) -> None:
        self.design = design
        self.recipe = recipe
        self.registry = Registry()
        self.outputs = [_new_output(design, y, recipe) for y in targets]
        self.start = np.array([output.intercept for output in self.outputs])
        self.started = time.perf_counter()
        self.pools = recipe.selection.pools(design, recipe.n_candidates, recipe.key)
        self.divisor: Divisor = "norm" if recipe.normalize else design.dictionary.scaling
        self.no_atoms = design.dictionary.candidates(design.sample(1, recipe.key), 1, 0)[:0]
        if resume is not None and len(resume):
            self._replay(resume)

    @property
    def status(self) -> Status:
        """How the outputs ended; the step limit where one could have gone on."""
        endings = [output.status for output in self.outputs]
        return endings[0] or Status.STEP_LIMIT if all(endings) else Status.STEP_LIMIT

    def select(self, k: int) -> bool:
        """Choose an atom for every output that can go on; say whether there is one."""
        running = [output for output in self.outputs if output.status is None]
        if running:
            scheme = self.recipe.scheme
            residuals = [_residual(scheme, output, k) for output in running]
            repeats = scheme.reselects or self.recipe.reselect
            pool = self.pools(k, [set() if repeats else output.ids for output in running])
            chosen = choose(pool, self.design.stack(residuals), self.divisor)
            for output, residual, choice in zip(running, residuals, chosen, strict=True):
                output.choice = choice
                output.status = self._ending(output, choice, residual)
        return any(output.status is None for output in self.outputs)

    def _ending(self, output: Output, choice: Choice | None, residual: Any) -> Status | None:
        """Say why an output can not take its choice, if so."""
        if choice is None:
            return Status.EXHAUSTED
        if choice.score <= _SMALL * output.first_score or output.first_score == 0.0:
            # Only now is it worth asking how large the residual is.
            columns = output.problem.columns
            (size,) = columns.fetch(columns.total(abs, residual))
            if choice.score <= _ROUNDING * max(size, output.first_score):
                return Status.ZERO_SCORE
        if choice.score < self.recipe.tol * output.first_score:
            return Status.TOLERANCE
        if choice.id in output.ids and not self.recipe.scheme.reselects:
            return Status.STALLED
        return None

    def correct(self, k: int) -> list[Solution]:
        """Let the chosen atoms in and move the coefficients."""
        solutions = []
        for output in self.outputs:
            choice = output.choice
            if choice is None or output.status is not None:
                continue
            output.first_score = output.first_score or choice.score
            place = self.registry.place(choice.atom, choice.id, k)
            newest = output.take(place, choice.atom, choice.id)
            solution = self.recipe.scheme.update(output.problem, output.coef, newest, k)
            output.coef, output.objective = solution.coef, solution.objective
            solutions.append(solution)
        return solutions

    def record(self, solutions: list[Solution], k: int) -> Step:
        """Write down a step."""
        coef = np.stack([output.atom_coef(len(self.registry.rows)) for output in self.outputs])
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
        )

    def trace(self, steps: list[Step]) -> Trace:
        """Collect the steps and the atoms that entered."""
        entered = np.array(self.registry.entered, dtype=np.intp)
        atoms = self.registry.atoms(self.no_atoms)
        endings = tuple(output.status for output in self.outputs)
        return Trace(tuple(steps), atoms, entered, self.start, endings)

    def _replay(self, trace: Trace) -> None:
        """Bring back the state at the end of a trace, without solving anything again."""
        last = trace[-1]
        self.started -= last.seconds
        ids = hashing.fingerprint(trace.atoms)
        for position, k in enumerate(trace.entered):
            atom = trace.atoms[position : position + 1]
            self.registry.place(atom, int(ids[position]), int(k))
        for c, output in enumerate(self.outputs):
            output.status = trace.endings[c]
            for step in trace:
                if step.chosen[c] >= 0:
                    output.first_score = output.first_score or float(step.scores[c])
                    place = int(step.chosen[c])
                    output.take(place, self.registry.rows[place], int(ids[place]))
            columns = output.problem.columns
            coef = last.coef[c, output.atoms]
            constant = last.intercept[c : c + int(columns.has_constant)]
            output.coef = np.concatenate([constant, coef]) / columns.factors
            output.objective = float(last.objectives[c])


def _new_output(design: Design, y: Array, recipe: Recipe) -> Output:
    columns, y = design.columns(recipe.max_iter, recipe.fit_intercept), design.put(y)
    problem = Problem(recipe.loss, y, design.weights, columns, recipe.l2)
    # Two rows with the weights of the two labels stand for all: weights are counts.
    totals = [
        columns.total(lambda y, s, label=label: s * (y == label), y, design.weights)
        for label in _LABELS.tolist()
    ]
    constant = recipe.loss.initial(_LABELS, np.array(columns.fetch(*totals)))
    coef = np.full(int(recipe.fit_intercept), constant)
    return Output(problem, coef, problem.objective(coef))


def _residual(scheme: Scheme, output: Output, k: int) -> Any:
    """Give the negative gradient of the mean loss at the scheme's anchor."""
    problem = output.problem
    f = problem.values(scheme.anchor(problem, output.coef, k))
    if not isinstance(problem.loss, CurvedLoss):
        # Line searches and exact solvers put rows right at a kink, where rounding would choose
        # the subgradient: margins that close to it count as beyond it.
        f = problem.columns.rows(lambda y, f: f + _AT_A_KINK * y, problem.y, f)
    return problem.columns.rows(neg, problem.slopes(f))
