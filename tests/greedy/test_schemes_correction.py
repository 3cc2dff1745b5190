"""What the correction keeps from step to step changes its time, and not its results."""

from typing import Any

import numpy as np
import pytest

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary, GaussDictionary, ReluDictionary, SigmoidDictionary
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import FullyCorrective, Rescaled
from fcgboost.losses import CubedHinge, Loss, Square, SquaredHinge
from fcgboost.solvers import NewtonSolver, Problem
from fcgboost.stopping import Status
from tests.suites.designs import OwnSquaredHinge
from tests.suites.paths import fit_one, make_recipe
from tests.suites.solvers import empty_problem, make_problem, solve
from tests.suites.strategies import Data, simulation

M = 240
DATA = simulation(M, 0.2, seed=4)
LOSSES: list[Loss] = [SquaredHinge(), OwnSquaredHinge(), Square(), CubedHinge()]
DICTIONARIES: list[Dictionary] = [
    GaussDictionary(width=0.4),
    ReluDictionary(),
    SigmoidDictionary(),
]


def run(data: Data, dictionary: Dictionary, **changes: Any) -> tuple[Trace, MemoryDesign]:
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=True)
    usual = {"n_candidates": len(data.y), "fit_intercept": True, "max_iter": 25}
    trace, _ = fit_one(design, [data.y], make_recipe(**{**usual, **changes}))
    return trace, design


def fresh_problem(data: Data, design: MemoryDesign, atoms: Any, loss: Loss, l2: float) -> Problem:
    """Return the problem of a step over a design and columns that know of no step before."""
    new = MemoryDesign(design.dictionary, data.X, data.weights, standardize=True)
    columns = new.columns(data.y, loss, len(atoms), has_constant=True)
    columns.append(atoms)
    return Problem(columns, 0, l2)


@pytest.mark.covering
@pytest.mark.parametrize("l2", [1.0 / M, 1e-8 / M, 0.0], ids=["ridge", "little ridge", "no ridge"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
def test_every_step_is_a_fresh_solve(dictionary: Dictionary, loss: Loss, l2: float) -> None:
    trace, design = run(DATA, dictionary, loss=loss, l2=l2)
    assert len(trace) == 25
    for step in trace:
        problem = fresh_problem(DATA, design, trace.atoms[: step.n_atoms], loss, l2)
        fresh = solve(NewtonSolver(), problem)
        kept = np.append(step.intercept, step.coef[0])
        assert step.objectives[0] == pytest.approx(problem.objective(kept), rel=1e-12)
        assert step.is_corrected
        assert fresh.status is Status.CONVERGED
        # The cube is flat where it ends: its objective, 1e-10 of the gradient away, is less sharp.
        precision = 1e-9 if isinstance(loss, CubedHinge) else 1e-12
        assert step.objectives[0] == pytest.approx(fresh.objective, rel=precision)
        if l2 == 1.0 / M:
            np.testing.assert_allclose(kept, fresh.coef, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("l2", [1.0 / M, 1e-8 / M])
@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
def test_every_step_of_the_square_loss_is_ridge_regression(
    dictionary: Dictionary, l2: float
) -> None:
    data = Data(DATA.X, DATA.y, np.random.default_rng(0).integers(1, 4, M).astype(float))
    trace, design = run(data, dictionary, loss=Square(), l2=l2)
    for step in trace:
        problem = fresh_problem(data, design, trace.atoms[: step.n_atoms], Square(), l2)
        A = problem.columns.A
        shares = np.sqrt(data.weights / data.weights.sum())
        ridge = np.sqrt(l2) * np.eye(A.shape[1])[1:]
        stacked = np.vstack([shares[:, None] * A, ridge])
        right = np.concatenate([shares * data.y, np.zeros(len(ridge))])
        coef, *_ = np.linalg.lstsq(stacked, right, rcond=None)
        objective = float(np.sum((stacked @ coef - right) ** 2))
        assert step.objectives[0] == pytest.approx(objective, rel=1e-12)
        if l2 == 1.0 / M:
            kept = np.append(step.intercept, step.coef[0])
            np.testing.assert_allclose(kept, coef, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("l2", [1.0 / 90, 1e-8 / 90, 0.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_columns_that_repeat_others_are_corrected_as_in_a_fresh_solve(
    loss: Loss, l2: float
) -> None:
    rng = np.random.default_rng(2)
    base = rng.standard_normal((90, 6))
    y = np.where(base[:, 0] + base[:, 1] + rng.standard_normal(90) > 0.0, 1.0, -1.0)
    mixed = base @ rng.standard_normal((6, 4))
    A = np.column_stack([base, base[:, ::-1], -base[:, :3], mixed, base + 1e-9 * mixed[:, :1]])
    problem = empty_problem(loss, A, y, l2)
    coef = np.zeros(0)
    for k in range(A.shape[1]):
        problem.columns.append(np.eye(A.shape[1])[[k]])
        kept = NewtonSolver().solve(problem, np.append(coef, 0.0))
        fresh = solve(NewtonSolver(), make_problem(loss, A[:, : k + 1], y, l2))
        # A gradient g leaves |g|^2 / (4 l2) of the objective at most.
        is_sharp = l2 != 1e-8 / 90 and not isinstance(loss, CubedHinge)
        precision = 1e-12 if is_sharp else 1e-9
        assert kept.objective == pytest.approx(fresh.objective, rel=precision)
        assert kept.objective == pytest.approx(problem.objective(kept.coef), rel=1e-13)
        assert kept.status is Status.CONVERGED
        coef = kept.coef


def test_an_atom_chosen_again_is_corrected_as_the_first_time() -> None:
    trace, design = run(DATA, GaussDictionary(width=0.4), reselect=True, scheme=Rescaled())
    chosen = [int(step.chosen[0]) for step in trace]
    assert len(set(chosen)) < len(chosen)
    for step in trace:
        problem = fresh_problem(DATA, design, trace.atoms[: step.n_atoms], SquaredHinge(), 0.0)
        kept = np.append(step.intercept, step.coef[0])
        assert step.objectives[0] == pytest.approx(problem.objective(kept), rel=1e-12)


def test_rounding_does_not_put_a_correction_off() -> None:
    scheme = FullyCorrective(growth=1.1)
    assert 1.1 * 50 > 55.0
    assert scheme.is_due(55, 50)
    assert not scheme.is_due(54, 50)
