"""Gradient descent with step 1 / L, against the formula of its iterates."""

import numpy as np
import pytest

from fcgboost.losses import Square, SquaredHinge
from fcgboost.solvers import GradientDescentSolver
from fcgboost.stopping import Status
from tests.suites.solvers import empty_problem, instance, make_problem, solve


def test_gradient_descent_converges_where_the_ridge_dominates():
    A, y, s = instance(seed=8)
    solution = solve(GradientDescentSolver(), make_problem(Square(), A, y, 100.0, s))
    assert solution.status is Status.CONVERGED


@pytest.mark.parametrize("loss", [Square(), SquaredHinge()], ids=repr)
def test_iterates_are_steps_of_one_over_the_lipschitz_constant(loss):
    A, y, s = instance(seed=1)
    l2 = 0.01
    shares = s / s.sum()
    lipschitz = 2.0 * np.linalg.eigvalsh(A.T @ (shares[:, None] * A))[-1] + 2.0 * l2
    coef = np.zeros(A.shape[1])
    for n in range(6):
        solution = solve(GradientDescentSolver(max_iter=n), make_problem(loss, A, y, l2, s))
        np.testing.assert_allclose(solution.coef, coef, rtol=1e-10, atol=1e-14)
        assert solution.n_iter == n
        slopes = shares * loss.gradient(y, A @ coef)
        coef = coef - (A.T @ slopes + 2.0 * l2 * coef) / lipschitz


def test_descent_starts_at_zero_wherever_the_coefficients_are():
    A, y, s = instance(seed=2)
    problem = make_problem(SquaredHinge(), A, y, 0.01, s)
    solver = GradientDescentSolver(max_iter=3)
    elsewhere = solver.solve(problem, np.full(A.shape[1], 5.0))
    np.testing.assert_array_equal(elsewhere.coef, solve(solver, problem).coef)


def test_without_columns_there_is_nothing_to_solve():
    A, y, s = instance(seed=3)
    solution = solve(GradientDescentSolver(), empty_problem(Square(), A, y, 0.01, s))
    assert solution.coef.shape == (0,)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(1.0)
