"""Semismooth Newton with an active set: the default solver."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fcgboost.backends.base import Array
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.stopping import Status

# Below this reciprocal condition the normal equations lose too much; the triangle takes over.
_SAFE_CONDITION = 1e-10
# Directions whose singular value is smaller than this share of the largest are rounding.
_RANK_TOLERANCE = 1e-10
# Share of the gradient that straight parts of the loss may leave without curvature.
_FLAT_SHARE = 1e-2
_ARMIJO = 1e-4
# A search that has not ended by then asks for a damped direction.
_TRIALS = 20
_FIRST_DAMPING, _LAST_DAMPING = 1e-8, 1.0
# Changes of the objective below this share of its terms are not trusted.
_ROUNDING = 1e-15


class NewtonSolver(Solver):
    """Newton's method with a line search.

    For the squared hinge the Hessian is 2 A_act^T S A_act / sum(s) + 2 lambda I over the rows
    with y f < 1, constant between changes of the active set, so the method ends at the exact
    minimiser after a few iterations (finite termination: Mangasarian, "A finite Newton method
    for classification", 2002). Where the normal equations are ill conditioned (lambda = 0,
    repeated atoms) the direction is the least-norm one from a rank-revealing factorisation,
    damped (Levenberg and Marquardt) where it would carry the rows that are not active too far.

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
        point = _Point.at(problem, coef, columns.matvec(coef))
        history: list[Iteration] = []
        n_iter, damping = 0, 0.0
        while True:
            gradient = columns.rmatvec(point.slopes) + 2.0 * penalty * point.coef
            residual = float(np.abs(gradient).max(initial=0.0)) / scale
            if self.keep_history:
                seconds = time.perf_counter() - start
                history.append(Iteration(point.objective, residual, seconds))
            if residual <= self.tol or n_iter == self.max_iter:
                break
            # What the sums in A u and in the objective may lose.
            rounding = _ROUNDING * (point.objective + scale * float(np.abs(point.coef).sum()))
            direction = _direction(problem, point, gradient, damping)
            moved = _line_search(problem, point, direction, float(gradient @ direction), rounding)
            if moved is not None:
                point, damping = moved, _relaxed(damping)
                n_iter += 1
            elif damping < _LAST_DAMPING:
                damping = max(100.0 * damping, _FIRST_DAMPING)
            else:
                break
        status = Status.CONVERGED if residual <= self.tol else Status.NOT_CONVERGED
        return Solution(point.coef, point.objective, status, n_iter, residual, tuple(history))


@dataclass(frozen=True)
class _Point:
    """Coefficients, and there f = A coef, the objective and the slopes in f."""

    coef: Array
    f: Array
    objective: float
    slopes: Array

    @classmethod
    def at(cls, problem: Problem, coef: Array, f: Array) -> _Point:
        return cls(coef, f, problem.objective(coef, f), problem.slopes(f))


def _curvatures(problem: Problem, f: Array) -> Array:
    """Give the second derivative of the weighted mean loss in every f_i, an m-vector."""
    loss = _curved(problem.loss)
    return problem.columns.rows(
        lambda y, s, f: s * loss.curvature(y, f) / problem.total_weight,
        problem.y,
        problem.weights,
        f,
    )


def _lifted(problem: Problem, curvatures: Array, slopes: Array) -> Array:
    """Give rows that have a slope but no curvature the bound of the curvature.

    Where the loss is straight the quadratic model is unbounded; the bound majorises the loss.
    """
    loss = problem.loss
    bound = loss.curvature_bound if isinstance(loss, SmoothLoss) else 1.0
    bound /= problem.total_weight
    return problem.columns.rows(
        lambda h, g, s: np.where((h == 0.0) & (g != 0.0), s * bound, h),
        curvatures,
        slopes,
        problem.weights,
    )


def _curved(loss: Loss) -> CurvedLoss:
    assert isinstance(loss, CurvedLoss)
    return loss


def _relaxed(damping: float) -> float:
    """Give the damping to try next, none once it is small."""
    return damping / 100.0 if damping > _FIRST_DAMPING else 0.0


def _direction(problem: Problem, point: _Point, gradient: Array, damping: float) -> Array:
    """Give the Newton direction, from the normal equations where they are safe."""
    curvatures = _curvatures(problem, point.f)
    if damping == 0.0:
        direction = _normal_direction(problem, curvatures, gradient)
        if direction is not None:
            return direction
    direction, left = _least_norm_direction(problem, point, curvatures, damping)
    if left > _FLAT_SHARE * np.abs(gradient).max():
        lifted = _lifted(problem, curvatures, point.slopes)
        direction, _ = _least_norm_direction(problem, point, lifted, damping)
    return direction


def _normal_direction(problem: Problem, curvatures: Array, gradient: Array) -> Array | None:
    """Solve the normal equations; None where they are ill conditioned."""
    hessian = problem.columns.gram(curvatures)
    hessian[np.diag_indices_from(hessian)] += 2.0 * problem.penalty
    sizes = _unit_sizes(problem)
    scaled = hessian / np.outer(sizes, sizes)
    factor, info = linalg.lapack.dpotrf(scaled, lower=0)
    if info != 0:
        return None
    condition, _ = linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max())
    if condition <= _SAFE_CONDITION:
        return None
    return np.asarray(-linalg.cho_solve((factor, False), gradient / sizes) / sizes)


def _unit_sizes(problem: Problem) -> Array:
    """Give the sizes of the columns over *all* rows, the units of the coefficients.

    A column that is large but vanishes on the active rows must look small to a rank-revealing
    solve: its coefficient is free there, and would throw the other rows far away.
    """
    norms = problem.columns.norms
    return np.where(norms > 0.0, norms, 1.0)


def _least_norm_direction(
    problem: Problem, point: _Point, curvatures: Array, damping: float
) -> tuple[Array, float]:
    """Minimise the quadratic model by a singular value decomposition.

    The model is half of sum_i h_i (a_i d - r_i)^2 + |sqrt(2 lambda) (d + u)|^2, plus q d, with
    r = -slope / h on curved rows; q collects the slopes of rows without curvature. Also give
    the largest entry of the part of q that the model cannot balance.
    """
    columns = problem.columns
    target = columns.rows(
        lambda h, g: np.where(h > 0.0, -g / np.where(h > 0.0, h, 1.0), 0.0),
        curvatures,
        point.slopes,
    )
    straight = columns.rmatvec(
        columns.rows(lambda h, g: np.where(h > 0.0, 0.0, g), curvatures, point.slopes)
    )
    R = columns.triangle(curvatures, target)[:-1]
    ridge = np.sqrt(2.0 * problem.penalty)
    stacked = np.vstack([R[:, :-1], np.diag(ridge)])
    right = np.concatenate([R[:, -1], -ridge * point.coef])
    sizes = _unit_sizes(problem)
    U, singular, Vt = linalg.svd(stacked / sizes, full_matrices=False)
    largest = singular[0]
    kept = singular > _RANK_TOLERANCE * largest
    U, singular, Vt = U[:, kept], singular[kept], Vt[kept]
    pull = Vt @ (straight / sizes)
    step = (singular * (U.T @ right) - pull) / (singular**2 + damping * largest**2)
    left = straight - sizes * (Vt.T @ pull)
    return np.asarray(Vt.T @ step) / sizes, float(np.abs(left).max())


def _line_search(
    problem: Problem, point: _Point, direction: Array, slope: float, rounding: float
) -> _Point | None:
    """Find a step that halves the slope and lowers the objective (strong Wolfe conditions).

    From length 1 a step that is too short is doubled, one between two others is their middle.
    None where rounding is all that is left. Objectives are compared up to rounding, slopes
    decide near the minimum, as in Hager and Zhang (2005).
    """
    if not slope < 0.0:
        return None
    columns = problem.columns
    along = columns.matvec(direction)
    shortest, longest, length = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        f = columns.rows(lambda f, a, t=length: f + t * a, point.f, along)
        moved = _Point.at(problem, point.coef + length * direction, f)
        there = columns.total(np.multiply, moved.slopes, along)
        there += 2.0 * float(problem.penalty * moved.coef @ direction)
        fallen = moved.objective <= point.objective + _ARMIJO * length * slope + rounding
        if fallen and abs(there) <= 0.5 * abs(slope):
            return moved
        if fallen and there < 0.0:
            shortest = length
        else:
            longest = length
        length = min(2.0 * length, (shortest + longest) / 2.0)
    return None
