"""The interior-point method where columns are hard to tell apart."""

import numpy as np
import pytest

from fcgboost.losses import Hinge
from fcgboost.solvers import (
    InteriorPointSolver,
)
from fcgboost.stopping import Status
from tests.suites.solvers import (
    instance,
    make_problem,
    solve,
    with_and_without_constant,
)


@pytest.mark.covering
@pytest.mark.parametrize("seed", [2, 7, 8, 9])
@pytest.mark.parametrize("profile", [np.abs, lambda A: np.exp(-np.abs(A[:, :1] - A[:8, 0]))])
@with_and_without_constant
def test_interior_point_converges_on_correlated_columns(seed, profile, has_constant):
    A, y, s = instance(seed, m=120, k=8)
    for l2 in (1.0 / s.sum(), 0.01, 0.1):
        problem = make_problem(Hinge(), profile(A), y, l2, s, has_constant)
        assert solve(InteriorPointSolver(), problem).status is Status.CONVERGED


@pytest.mark.parametrize("seed", [0, 2, 19, 20])
def test_interior_point_is_accurate_on_ill_conditioned_columns_without_a_ridge(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((200, 2))
    y = np.where(X[:, 1] + 0.3 * rng.standard_normal(200) > 0.5, 1.0, -1.0)
    A = np.exp(-((X[:, None] - X[:25]) ** 2).sum(axis=2) / (2.0 * 0.3**2))
    assert np.linalg.cond(A) > 1e5
    assert solve(InteriorPointSolver(), make_problem(Hinge(), A, y, 0.0)).residual <= 1e-9


@pytest.mark.parametrize("width", [1.0, 5.0])
def test_interior_point_survives_far_more_columns_than_rank(width):
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = np.where(X[:, 1] + 0.3 * rng.standard_normal(300) > 0.5, 1.0, -1.0)
    A = np.exp(-((X[:, None] - X[:150]) ** 2).sum(axis=2) / (2.0 * width**2))
    assert np.linalg.matrix_rank(A) < 75
    solution = solve(InteriorPointSolver(), make_problem(Hinge(), A, y, 0.0, None, True))
    assert np.isfinite(solution.coef).all()
    assert solution.residual <= 1e-7
