"""Semismooth Newton with an active set: the default solver."""

from __future__ import annotations

import time

import numpy as np
from scipy import linalg

from fcgboost.backends.base import Array
from fcgboost.losses import CurvedLoss, Loss
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.stopping import Status

# Below this reciprocal condition the normal equations lose too much; the triangle takes over.
_SAFE_CONDITION = 1e-10
# Directions whose singular value is smaller than this share of the largest are rounding.
_RANK_TOLERANCE = 1e-10
_ARMIJO = 1e-4


class NewtonSolver(Solver):
    """Newton's method with a backtracking line search.

    For the squared hinge the Hessian is 2 A_act^T S A_act / sum(s) + 2 lambda I over the rows
    with y f < 1, constant between changes of the active set, so the method ends at the exact
    minimiser after a few iterations (finite termination: Mangasarian, "A finite Newton method
    for classification", 2002). Where the normal equations are ill conditioned (lambda = 0,
    repeated atoms) the direction is the least-norm one from a rank-revealing factorisation.

    Parameters
    ----------
    tol : float, default=1e-10
        Ends when the gradient's largest entry is below tol times that at coef = 0.
    max_iter : int, default=100
    keep_history : bool, default=False
    """

    needs = CurvedLoss
    needs_text = "a second derivative"

    def __init__(self, tol: float = 1e-10, max_iter: int = 100, keep_history: bool = False) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.keep_history = keep_history

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from `coef`."""
        start = time.perf_counter()
        columns, penalty = problem.columns, problem.penalty
        scale = problem.gradient_scale()
        f = columns.matvec(coef)
        objective = problem.objective(coef, f)
        history: list[Iteration] = []
        n_iter = 0
        while True:
            slopes = problem.slopes(f)
            gradient = columns.rmatvec(slopes) + 2.0 * penalty * coef
            residual = float(np.abs(gradient).max(initial=0.0)) / scale
            if self.keep_history:
                history.append(Iteration(objective, residual, time.perf_counter() - start))
            if residual <= self.tol or n_iter == self.max_iter:
                break
            direction = _direction(problem, coef, f, slopes, gradient)
            moved = _line_search(
                problem, coef, f, direction, objective, float(gradient @ direction)
            )
            if moved is None:
                break
            coef, f, objective = moved
            n_iter += 1
        status = Status.CONVERGED if residual <= self.tol else Status.NOT_CONVERGED
        return Solution(coef, objective, status, n_iter, residual, tuple(history))


def _curvatures(problem: Problem, f: Array) -> Array:
    loss: Loss = problem.loss
    assert isinstance(loss, CurvedLoss)
    curvature = loss.curvature
    return problem.columns.rows(
        lambda y, s, f: s * curvature(y, f) / problem.total_weight, problem.y, problem.weights, f
    )


def _direction(problem: Problem, coef: Array, f: Array, slopes: Array, gradient: Array) -> Array:
    """Give the Newton direction, from the normal equations where they are safe."""
    curvatures = _curvatures(problem, f)
    hessian = problem.columns.gram(curvatures)
    hessian[np.diag_indices_from(hessian)] += 2.0 * problem.penalty
    # Columns of unit size: what a bad scale spoils is not what a rank-revealing solve mends.
    sizes = np.sqrt(np.maximum(np.diag(hessian), np.finfo(np.float64).tiny))
    scaled = hessian / np.outer(sizes, sizes)
    factor, info = linalg.lapack.dpotrf(scaled, lower=0)
    if info == 0:
        condition, _ = linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max())
        if condition > _SAFE_CONDITION:
            return -linalg.cho_solve((factor, False), gradient / sizes) / sizes
    return _least_norm_direction(problem, coef, curvatures, slopes)


def _least_norm_direction(problem: Problem, coef: Array, curvatures: Array, slopes: Array) -> Array:
    """Minimise the quadratic model by a singular value decomposition.

    The model is half of sum_i h_i (a_i d - r_i)^2 + |sqrt(2 lambda) (d + u)|^2 + q d, with
    r = -slope / h on curved rows; q collects the slopes of rows without curvature.
    """
    columns = problem.columns
    target = columns.rows(
        lambda h, g: np.where(h > 0.0, -g / np.where(h > 0.0, h, 1.0), 0.0), curvatures, slopes
    )
    straight = columns.rmatvec(
        columns.rows(lambda h, g: np.where(h > 0.0, 0.0, g), curvatures, slopes)
    )
    R = columns.triangle(curvatures, target)[:-1]
    ridge = np.sqrt(2.0 * problem.penalty)
    stacked = np.vstack([R[:, :-1], np.diag(ridge)])
    right = np.concatenate([R[:, -1], -ridge * coef])
    sizes = np.linalg.norm(stacked, axis=0)
    sizes[sizes == 0.0] = 1.0
    U, singular, Vt = linalg.svd(stacked / sizes, full_matrices=False)
    kept = singular > _RANK_TOLERANCE * singular[0]
    U, singular, Vt = U[:, kept], singular[kept], Vt[kept]
    step = (U.T @ right - (Vt @ (straight / sizes)) / singular) / singular
    return np.asarray(Vt.T @ step) / sizes


def _line_search(
    problem: Problem, coef: Array, f: Array, direction: Array, objective: float, slope: float
) -> tuple[Array, Array, float] | None:
    """Halve the step until the objective falls enough; None where rounding is all that is left."""
    if not slope < 0.0:
        return None
    along = problem.columns.matvec(direction)
    length = 1.0
    while length > 1e-10:
        moved, values = coef + length * direction, f + length * along
        new = problem.objective(moved, values)
        if new <= objective + _ARMIJO * length * slope:
            return moved, values, new
        length /= 2.0
    return None
