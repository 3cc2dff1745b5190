"""Semismooth Newton with an active set: the default solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fcgboost.designs.base import Array
from fcgboost.losses import CurvedLoss
from fcgboost.solvers.base import History, Problem, QuadraticModel, Solution, Solver
from fcgboost.stopping import Status

# Below this reciprocal condition number the factorisation replaces the normal equations.
_SAFE_CONDITION = 1e-10
# Singular values smaller than this share of the largest are rounding.
_RANK_TOLERANCE = 1e-10
# Share of the gradient that may lie in directions without curvature.
_FLAT_SHARE = 1e-2
# Conjugate gradients stop at this share of the gradient, or after this many products.
_FORCING = 0.3
_MOST_PRODUCTS = 50
_ARMIJO = 1e-4
# A line search that fails after this many trials asks for a damped direction.
_TRIALS = 20
_FIRST_DAMPING = 1e-8
_LAST_DAMPING = 1.0
# Changes of the objective below this share of its terms are not trusted.
_ROUNDING = 1e-15


@dataclass(eq=False, repr=False)
class NewtonSolver(Solver):
    """Newton's method with a line search.

    For the squared hinge the Hessian is 2 A_act^T S A_act / sum(s) + 2 lambda I over the active
    rows, those with y f < 1. It is constant between changes of the active set, so the method ends
    at the exact minimiser after a few iterations (Mangasarian, "A finite Newton method for
    classification", 2002). If the normal equations are ill-conditioned (lambda = 0, repeated
    atoms), the direction is the least-norm one from a rank-revealing factorisation, damped
    (Levenberg and Marquardt) where it would move the inactive rows too far.

    Parameters
    ----------
    tol : float, default=1e-10
        Stop when the largest entry of the gradient is below tol times that at coef = 0.
    max_iter : int, default=100
        The largest number of iterations.
    keep_history : bool, default=False
        Whether the solution records every iteration.
    """

    needs = CurvedLoss
    needs_text = "a second derivative"

    tol: float = 1e-10
    max_iter: int = 100
    keep_history: bool = False

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from `coef`, with the compiled method as far as it gets."""
        end = None
        if not self.keep_history:
            end = problem.columns.newton(
                problem.output,
                coef,
                problem.penalty,
                self.tol,
                self.max_iter,
            )
        if end is None:
            return self._search(problem, problem.expand(coef, problem.state), 0)
        if end.residual > self.tol:
            return self._search(problem, problem.expand(end.coef, end.state), end.n_iter)
        return Solution(
            end.coef,
            end.objective,
            Status.CONVERGED,
            end.n_iter,
            end.residual,
            state=end.state,
        )

    def _search(self, problem: Problem, point: QuadraticModel, n_iter: int) -> Solution:
        """Solve in Python, one evaluation after the other."""
        record = History(self)
        scale = problem.gradient_scale
        damping = 0.0
        while True:
            residual = float(np.abs(point.gradient).max(initial=0.0)) / scale
            record.add(point.objective, residual)
            if residual <= self.tol or n_iter == self.max_iter:
                break
            # The rounding error of A u and of the objective.
            rounding = _ROUNDING * (point.objective + scale * float(np.abs(point.coef).sum()))
            moved = _line_search(
                problem,
                point,
                _direction(problem, point, damping),
                rounding,
            )
            if moved is not None:
                point = moved
                damping = damping / 100.0 if damping > _FIRST_DAMPING else 0.0
                n_iter += 1
            elif damping < _LAST_DAMPING:
                damping = max(100.0 * damping, _FIRST_DAMPING)
            else:
                break
        solution = record.solution(
            point.coef,
            point.objective,
            residual,
            n_iter,
        )
        solution.state = point.state
        return solution


def _direction(problem: Problem, point: QuadraticModel, damping: float) -> Array:
    """Return the Newton direction, from the normal equations if they are well-conditioned."""
    if damping == 0.0:
        point = point._replace(gram=problem.gram(point))
    if point.gram is not None and point.gram.ndim == 1:
        return _conjugate_direction(problem, point)
    direction = _normal_direction(problem, point) if damping == 0.0 else None
    if direction is not None:
        return direction
    for majorize in (False, True):
        least, left = _least_norm_direction(
            problem,
            point,
            damping,
            majorize,
        )
        if not left > _FLAT_SHARE * np.abs(point.gradient).max():
            break
    return least


def _conjugate_direction(problem: Problem, point: QuadraticModel) -> Array:
    """Solve the normal equations approximately by conjugate gradients.

    The preconditioner is the Hessian's diagonal: the leaves of one tree have no rows in common.
    """
    assert point.gram is not None
    ridge = 2.0 * problem.penalty
    diagonal = point.gram + ridge
    units = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)
    direction = np.zeros_like(point.coef)
    rest = -point.gradient
    scaled = units * rest
    way = scaled
    size = float(rest @ scaled)
    enough = _FORCING**2 * size
    here = problem.point(point.coef, point.state)
    for _ in range(_MOST_PRODUCTS):
        bent = problem.columns.product(here, way) + ridge * way
        curvature = float(way @ bent)
        # A loss with straight sides may have none along the intercept.
        if not curvature > _SAFE_CONDITION * float(way @ (way / units)):
            break
        direction = direction + (size / curvature) * way
        rest = rest - (size / curvature) * bent
        scaled = units * rest
        last = size
        size = float(rest @ scaled)
        if size <= enough:
            break
        way = scaled + (size / last) * way
    return direction


def _normal_direction(problem: Problem, point: QuadraticModel) -> Array | None:
    """Solve the normal equations; None if they are ill-conditioned."""
    assert point.gram is not None
    ridge = 2.0 * problem.penalty
    # Including the ridge: a column that is tiny compared with it would look ill-conditioned.
    units = 1.0 / np.sqrt(_unit_sizes(problem) ** 2 + ridge)
    scaled = point.gram * units * units[:, None]
    np.einsum("ii->i", scaled)[:] += ridge * units**2
    factor, info = linalg.lapack.dpotrf(scaled.T)
    if info != 0:
        return None
    condition, _ = linalg.lapack.dpocon(factor, linalg.lapack.dlange("1", scaled.T))
    if condition <= _SAFE_CONDITION:
        return None
    solution, _ = linalg.lapack.dpotrs(factor, point.gradient * units)
    return np.asarray(-solution * units)


def _unit_sizes(problem: Problem) -> Array:
    """Return the norms of the columns over *all* rows, the units of the coefficients.

    A large column that vanishes on the active rows must look small to the rank-revealing solve: its
    coefficient is free there and would move the other rows far away.
    """
    norms = problem.columns.norms
    return np.where(norms > 0.0, norms, 1.0)


def _least_norm_direction(
    problem: Problem, point: QuadraticModel, damping: float, majorize: bool
) -> tuple[Array, float]:
    """Minimise the quadratic model by a singular value decomposition.

    The model is half of sum_i h_i (a_i d - r_i)^2 + |sqrt(2 lambda) (d + u)|^2, plus q d, with
    r = -slope / h on curved rows; q sums the slopes of rows without curvature. Also return the
    largest entry of q that the model cannot balance.
    """
    here = problem.point(point.coef, point.state)
    R, straight = problem.columns.qr_factor(here, majorize)
    ridge = np.sqrt(2.0 * problem.penalty)
    stacked = np.vstack([R[:-1, :-1], np.diag(ridge)])
    right = np.concatenate([R[:-1, -1], -ridge * point.coef])
    sizes = _unit_sizes(problem)
    U, singular, Vt = linalg.svd(stacked / sizes, full_matrices=False)
    largest = singular[0]
    kept = singular > _RANK_TOLERANCE * largest
    U = U[:, kept]
    singular = singular[kept]
    Vt = Vt[kept]
    pull = Vt @ (straight / sizes)
    step = (singular * (U.T @ right) - pull) / (singular**2 + damping * largest**2)
    left = straight - sizes * (Vt.T @ pull)
    return Vt.T @ step / sizes, float(np.abs(left).max())


def _line_search(
    problem: Problem,
    point: QuadraticModel,
    direction: Array,
    rounding: float,
) -> QuadraticModel | None:
    """Find a step that halves the slope and lowers the objective (strong Wolfe conditions).

    From length 1, steps are doubled or bisected. Objectives are compared up to rounding and slopes
    decide near the minimum, as in Hager and Zhang (2005). None if only rounding is left.
    """
    slope = float(point.gradient @ direction)
    if not slope < 0.0:
        return None
    shortest = 0.0
    longest = np.inf
    length = 1.0
    for _ in range(_TRIALS):
        moved = problem.expand(point.coef + length * direction)
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
