"""An output's columns and coefficients, and what a correction may do to them."""

import numpy as np
import pytest

from fcgboost.greedy.elimination import eliminate
from fcgboost.greedy.outputs import Coefficients
from fcgboost.losses import CubedHinge, Loss, Square, SquaredHinge
from fcgboost.solvers import NewtonSolver
from fcgboost.solvers.base import Solution
from tests.suites.outputs import solved


@pytest.mark.parametrize("loss", [SquaredHinge(), CubedHinge(), Square()], ids=repr)
def test_an_output_without_a_column_is_one_that_never_had_it(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    A, y = rng.standard_normal((40, 7)), np.sign(rng.standard_normal(40))
    output = solved(A, y, loss, 0.01, constant=True)

    def correct(one: Coefficients, newest: int) -> Solution:
        assert output.atoms[newest - 1] == 4
        solution = NewtonSolver().solve(one.problem, one.coef)
        one.coef, one.objective = solution.coef, solution.objective
        fresh = solved(A[:, output.atoms], y, loss, 0.01, constant=True)
        assert one.objective == pytest.approx(fresh.objective, rel=1e-9)
        np.testing.assert_allclose(one.coef, fresh.coef, atol=1e-6)
        assert one.problem.gradient_scale == pytest.approx(fresh.problem.gradient_scale)
        return solution

    solutions, gone = eliminate(output, 5, np.inf, correct)
    assert len(solutions) == 6
    assert sorted(gone) == [0, 1, 2, 3, 5, 6]


@pytest.mark.parametrize("is_worse", [True, False])
def test_a_correction_that_ends_above_its_start_is_taken_back(is_worse: bool) -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 3))
    output = solved(A, np.sign(A.sum(axis=1)), SquaredHinge(), 0.001, constant=False)
    starts: list[float] = []

    def correct(one: Coefficients, newest: int) -> Solution:
        starts.append(one.problem.objective(one.coef))
        solution = NewtonSolver().solve(one.problem, one.coef)
        one.coef = 10.0 * solution.coef if is_worse else solution.coef
        one.objective = one.problem.objective(one.coef)
        return solution

    eliminate(output, 0, np.inf, correct)
    assert output.objective == pytest.approx(output.problem.objective(output.coef), rel=1e-12)
    assert len(starts) == 2
    if is_worse:
        assert output.objective == pytest.approx(starts[-1], rel=1e-12)
    else:
        assert output.objective < starts[-1]
