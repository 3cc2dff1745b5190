"""Semismooth Newton with an active set: the default solver."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from operator import mul
from typing import Any

import numpy as np
from scipy import linalg

from fcgboost.arrays import namespace
from fcgboost.backends.base import Array, Small
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.solvers.rows import unforeseen, weighted_terms
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
# A u is computed from scratch after so many moves of it.
_MOVES = 64
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
        if problem.memory.age > _MOVES:
            problem.remember(coef, problem.columns.matvec(coef), 0)
        point, scale = _start(problem, coef)
        history: list[Iteration] = []
        n_iter, damping = 0, 0.0
        while True:
            residual = float(np.abs(point.gradient).max(initial=0.0)) / scale
            if self.keep_history:
                seconds = time.perf_counter() - start
                history.append(Iteration(point.objective, residual, seconds))
            if residual <= self.tol or n_iter == self.max_iter:
                break
            # What the sums in A u and in the objective may lose.
            rounding = _ROUNDING * (point.objective + scale * float(np.abs(point.coef).sum()))
            direction, is_safe = _direction(problem, point, damping)
            moved = _line_search(problem, point, direction, rounding, is_safe)
            if moved is not None:
                point, damping = moved, _relaxed(damping)
                n_iter += 1
            elif damping < _LAST_DAMPING:
                damping = max(100.0 * damping, _FIRST_DAMPING)
            else:
                break
        problem.remember(point.coef, point.f, problem.memory.age + n_iter)
        problem.memory.point = point
        status = Status.CONVERGED if residual <= self.tol else Status.NOT_CONVERGED
        return Solution(point.coef, point.objective, status, n_iter, residual, tuple(history))


@dataclass(frozen=True)
class _Point:
    """Coefficients, and all that is known there: one look brings it, whatever the device."""

    coef: Array
    f: Any
    slopes: Any
    curvatures: Any
    objective: float
    gradient: Array
    gram: Array


def _start(problem: Problem, coef: Array) -> tuple[_Point, float]:
    """Look at the first point, and at the size of the gradient at zero.

    Mostly it is the last point of the solve before, seen along new columns as well.
    """
    last, f = problem.memory.point, problem.values(coef)
    if last is None or last.f is not f:
        point, unknown = _look(problem, coef, f, problem.unknown_start())
        return point, problem.gradient_scale(unknown)
    columns = problem.columns
    along, gram, unknown = columns.fetch(
        columns.rmatvec(last.slopes, first=len(last.coef)),
        columns.gram(last.curvatures),
        problem.unknown_start(),
    )
    gradient = np.append(last.gradient, along)
    point = replace(last, coef=coef, gradient=gradient, gram=gram)
    return point, problem.gradient_scale(unknown)


@dataclass(frozen=True)
class _Line:
    """A way on which the gradient is known but for the rows whose curvature changes."""

    start: _Point
    along: Any
    length: float
    gradient: Array


def _look(
    problem: Problem, coef: Array, f: Any, *more: Small, line: _Line | None = None
) -> tuple[Any, ...]:
    """Return what is known at a point with f = A coef, and more small values, at one go."""
    columns, shares = problem.columns, problem.shares
    terms = partial(weighted_terms, _curved(problem.loss))
    values, slopes, curvatures = columns.rows(terms, problem.y, shares, f, n_results=3)
    penalty, foreseen = problem.penalty, None
    if line is not None:
        foreseen, gap = line.gradient, partial(unforeseen, line.length)
        before = line.start.slopes, line.start.curvatures
        rest = columns.rows(gap, *before, line.along, slopes, curvatures)
    risk, along, gram, *others = columns.fetch(
        columns.total(mul, shares, values),
        columns.rmatvec(slopes if foreseen is None else rest),
        columns.gram(curvatures),
        *more,
    )
    gradient = along + (2.0 * penalty * coef if foreseen is None else foreseen)
    objective = risk + float(penalty @ coef**2)
    return _Point(coef, f, slopes, curvatures, objective, gradient, gram), *others


def _lifted(problem: Problem, curvatures: Any, slopes: Any) -> Any:
    """Return rows that have a slope but no curvature the bound of the curvature.

    Where the loss is straight the quadratic model is unbounded; the bound majorises the loss.
    """
    loss = problem.loss
    bound = loss.curvature_bound if isinstance(loss, SmoothLoss) else 1.0
    bound /= problem.total_weight
    return problem.columns.rows(partial(_lift, bound), curvatures, slopes, problem.weights)


def _curved(loss: Loss) -> CurvedLoss:
    assert isinstance(loss, CurvedLoss)
    return loss


def _relaxed(damping: float) -> float:
    """Return the damping to try next, none once it is small."""
    return damping / 100.0 if damping > _FIRST_DAMPING else 0.0


def _direction(problem: Problem, point: _Point, damping: float) -> tuple[Array, bool]:
    """Return the Newton direction, from the normal equations where they are safe; and say so."""
    if damping == 0.0:
        direction = _normal_direction(problem, point)
        if direction is not None:
            return direction, True
    direction, left = _least_norm_direction(problem, point, point.curvatures, damping)
    if left > _FLAT_SHARE * np.abs(point.gradient).max():
        lifted = _lifted(problem, point.curvatures, point.slopes)
        direction, _ = _least_norm_direction(problem, point, lifted, damping)
    return direction, False


def _normal_direction(problem: Problem, point: _Point) -> Array | None:
    """Solve the normal equations; None where they are ill conditioned."""
    ridge = 2.0 * problem.penalty
    # With the ridge: a column that is tiny beside it would look ill conditioned.
    units = 1.0 / np.sqrt(_unit_sizes(problem) ** 2 + ridge)
    scaled = point.gram * units
    scaled *= units[:, None]
    np.einsum("ii->i", scaled)[:] += ridge * units**2
    factor = problem.memory.factor.of(scaled)
    if factor is None:
        return None
    condition, _ = linalg.lapack.dpocon(factor, linalg.lapack.dlange("1", scaled.T))
    if condition <= _SAFE_CONDITION:
        return None
    solution, _ = linalg.lapack.dpotrs(factor, point.gradient * units)
    return np.asarray(-solution * units)


def _unit_sizes(problem: Problem) -> Array:
    """Return the sizes of the columns over *all* rows, the units of the coefficients.

    A column that is large but vanishes on the active rows must look small to a rank-revealing
    solve: its coefficient is free there, and would throw the other rows far away.
    """
    norms = problem.columns.norms
    return np.where(norms > 0.0, norms, 1.0)


def _least_norm_direction(
    problem: Problem, point: _Point, curvatures: Any, damping: float
) -> tuple[Array, float]:
    """Minimise the quadratic model by a singular value decomposition.

    The model is half of sum_i h_i (a_i d - r_i)^2 + |sqrt(2 lambda) (d + u)|^2, plus q d, with
    r = -slope / h on curved rows; q collects the slopes of rows without curvature. Also give
    the largest entry of the part of q that the model cannot balance.
    """
    columns = problem.columns
    target = columns.rows(_targets, curvatures, point.slopes)
    flat = columns.rows(_flat, curvatures, point.slopes)
    (straight,) = columns.fetch(columns.rmatvec(flat))
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
    problem: Problem, point: _Point, direction: Array, rounding: float, is_safe: bool
) -> _Point | None:
    """Find a step that halves the slope and lowers the objective (strong Wolfe conditions).

    From length 1 a step that is too short is doubled, one between two others is their middle.
    None where rounding is all that is left. Objectives are compared up to rounding, slopes
    decide near the minimum, as in Hager and Zhang (2005).
    """
    slope = float(point.gradient @ direction)
    if not slope < 0.0:
        return None
    columns = problem.columns
    along = columns.matvec(direction)
    shortest, longest, length, line = 0.0, np.inf, 1.0, None
    # A sum over few rows, where the rest of the gradient is known.
    is_foreseen = is_safe and columns.saves_zeros and _curved(problem.loss).is_quadratic_in_pieces
    change = point.gram @ direction + 2.0 * problem.penalty * direction if is_foreseen else None
    for _ in range(_TRIALS):
        f = columns.rows(partial(_moved, length), point.f, along)
        if change is not None:
            line = _Line(point, along, length, point.gradient + length * change)
        moved: _Point
        (moved,) = _look(problem, point.coef + length * direction, f, line=line)
        there = float(moved.gradient @ direction)
        fallen = moved.objective <= point.objective + _ARMIJO * length * slope + rounding
        if fallen and abs(there) <= 0.5 * abs(slope):
            return moved
        if fallen and there < 0.0:
            shortest = length
        else:
            longest = length
        length = min(2.0 * length, (shortest + longest) / 2.0)
    return None


def _moved(length: float, f: Any, along: Any) -> Any:
    return f + length * along


def _lift(bound: float, h: Any, g: Any, s: Any) -> Any:
    return _where((h == 0.0) & (g != 0.0), s * bound, h)


def _targets(h: Any, g: Any) -> Any:
    return _where(h > 0.0, -g / _where(h > 0.0, h, 1.0), 0.0)


def _flat(h: Any, g: Any) -> Any:
    return _where(h > 0.0, 0.0 * g, g)


def _where(condition: Any, first: Any, second: Any) -> Any:
    return namespace(condition).where(condition, first, second)
