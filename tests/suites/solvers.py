"""What solver tests share: problems made of a given matrix, naive formulas, cvxpy's answer."""

import warnings

import numpy as np
import pytest

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary
from fcgboost.losses import CubedHinge, Hinge, Square, SquaredHinge
from fcgboost.solvers import (
    Problem,
)


class MatrixDictionary(Dictionary):
    """Atoms that are the columns of X: rows of the identity."""

    def candidates(self, sample, n, key):
        return np.eye(sample.n_features)[:n]

    def evaluate(self, X, atoms, scale):
        return X @ atoms.T


def empty_problem(loss, A, y, l2, weights=None, has_constant=False):
    """Return a problem over the rows of A that has no columns yet, but the constant."""
    weights = np.ones(len(y)) if weights is None else weights
    design = MemoryDesign(MatrixDictionary(), A, weights, standardize=False)
    return Problem(design.columns(y, loss, A.shape[1], has_constant), 0, l2)


def make_problem(loss, A, y, l2, weights=None, has_constant=False):
    """Return the problem whose columns are those of A, after the constant if there is one."""
    problem = empty_problem(loss, A, y, l2, weights, has_constant)
    problem.columns.append(np.eye(A.shape[1]))
    return problem


def solve(solver, problem):
    """Solve from zero."""
    return solver.solve(problem, np.zeros(problem.columns.n_columns))


def with_constant(A, has_constant):
    return np.column_stack([np.ones(len(A)), A]) if has_constant else A


def naive_objective(loss, A, y, l2, weights, has_constant, coef):
    """Return the objective, summed row by row and coefficient by coefficient."""
    f = with_constant(A, has_constant) @ coef
    risk = sum(s * loss.value(a, b) for s, a, b in zip(weights, y, f, strict=True))
    return risk / sum(weights) + l2 * sum(c**2 for c in coef[int(has_constant) :])


def _cvxpy_loss(loss, margins):
    import cvxpy as cp

    shortfall = cp.pos(1.0 - margins)
    formulas = {
        SquaredHinge: lambda: cp.square(shortfall),
        Square: lambda: cp.square(1.0 - margins),
        CubedHinge: lambda: cp.power(shortfall, 3),
        Hinge: lambda: shortfall,
    }
    if type(loss) in formulas:
        return formulas[type(loss)]()
    return cp.huber(shortfall, loss.threshold)  # the Huberised squared hinge of the examples


def cvxpy_coef(loss, A, y, l2, weights, has_constant):
    """Return cvxpy's minimiser."""
    A = with_constant(A, has_constant)
    import cvxpy as cp

    u = cp.Variable(A.shape[1])
    losses = _cvxpy_loss(loss, cp.multiply(y, A @ u))
    risk = cp.sum(cp.multiply(weights / weights.sum(), losses))
    ridge = l2 * cp.sum_squares(u[int(has_constant) :])
    with warnings.catch_warnings():
        # cvxpy says "may be inaccurate" where it misses tolerances as tight as these.
        warnings.simplefilter("ignore")
        cp.Problem(cp.Minimize(risk + ridge)).solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )
    return u.value


with_and_without_constant = pytest.mark.parametrize("has_constant", [False, True])


def instance(seed, m=100, k=7):
    """Give columns of unlike sizes, noisy labels and whole weights."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, k)) * np.linspace(0.5, 2.0, k)
    y = np.where(A @ rng.standard_normal(k) + 2.0 * rng.standard_normal(m) > 0.3, 1.0, -1.0)
    return A, y, rng.integers(1, 5, size=m).astype(float)
