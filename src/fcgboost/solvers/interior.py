"""A primal-dual interior point method: what solves the hinge exactly."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fcgboost.backends.base import Array
from fcgboost.losses import Hinge
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.stopping import Status

_TO_BOUNDARY = 0.995


@dataclass(frozen=True)
class _State:
    """Primal slacks xi and t = xi + B u - 1, duals a in (0, c) and b = c - a; B = diag(y) A."""

    u: Array
    xi: Array
    t: Array
    a: Array
    b: Array


class InteriorPointSolver(Solver):
    """Mehrotra's predictor-corrector method for the hinge.

    min over u, xi >= 0 of c xi + lambda |u|^2 subject to xi + B u - 1 >= 0, c = s / sum(s). The
    iterates satisfy both constraints and the dual box, so the complementarity gap bounds the
    distance to the optimal objective. Each iteration solves k x k systems with the matrix
    2 lambda I + B^T W B, W = 1 / (t / a + xi / b).

    Parameters
    ----------
    tol : float, default=1e-10
        Ends when the gap and the relative stationarity residual are below it.
    max_iter : int, default=100
    keep_history : bool, default=False
    """

    needs = Hinge
    needs_text = "the hinge, a piecewise linear loss"

    def __init__(self, tol: float = 1e-10, max_iter: int = 100, keep_history: bool = False) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.keep_history = keep_history

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from the middle of the feasible set; `coef` only says how many there are."""
        start = time.perf_counter()
        columns = problem.columns
        c = columns.rows(lambda s: s / problem.total_weight, problem.weights)
        ones = columns.rows(np.ones_like, c)
        half = columns.rows(lambda c: c / 2.0, c)
        state = _State(np.zeros_like(coef), 2.0 * ones, ones, half, half)
        scale = problem.gradient_scale()
        best, best_residual = state.u, np.inf
        history: list[Iteration] = []
        for n_iter in range(self.max_iter + 1):
            stationarity = _back(problem, state.a) - 2.0 * problem.penalty * state.u
            gap = columns.total(
                lambda t, a, x, b: t * a + x * b, state.t, state.a, state.xi, state.b
            )
            residual = max(gap, float(np.abs(stationarity).max(initial=0.0)) / scale)
            if residual < best_residual:
                best, best_residual = state.u, residual
            if self.keep_history:
                seconds = time.perf_counter() - start
                history.append(Iteration(problem.objective(state.u), residual, seconds))
            # Past the attainable accuracy the residual grows again: the best iterate is kept.
            if residual <= self.tol or n_iter == self.max_iter or residual > 1e3 * best_residual:
                break
            state = _iterate(problem, state, stationarity, gap)
        status = Status.CONVERGED if best_residual <= self.tol else Status.NOT_CONVERGED
        objective = problem.objective(best)
        return Solution(best, objective, status, n_iter, best_residual, tuple(history))


def _back(problem: Problem, vector: Array) -> Array:
    """Give B^T vector."""
    return problem.columns.rmatvec(problem.columns.rows(np.multiply, problem.y, vector))


def _iterate(problem: Problem, state: _State, stationarity: Array, gap: float) -> _State:
    """Predict with no centring, choose the centring from it, correct, and move."""
    columns = problem.columns
    n_products = 2.0 * columns.total(np.ones_like, state.t)
    weights = columns.rows(
        lambda t, a, x, b: 1.0 / (t / a + x / b), state.t, state.a, state.xi, state.b
    )
    system = columns.gram(weights)  # B^T W B = A^T W A: labels have size one
    system[np.diag_indices_from(system)] += 2.0 * problem.penalty
    # Repeated atoms make the system singular; a rounding-sized ridge only picks one direction.
    system[np.diag_indices_from(system)] += 1e-14 * np.diag(system).max(initial=1e-300)
    factor = linalg.cho_factor(system)

    def moves(mu: float, second: tuple[Array, Array] | None) -> tuple[Array, ...]:
        zero = columns.rows(np.zeros_like, state.t)
        ta, xb = second if second is not None else (zero, zero)
        r1 = columns.rows(lambda t, a, q: (mu - t * a - q) / a, state.t, state.a, ta)
        r2 = columns.rows(lambda x, b, q: (mu - x * b - q) / b, state.xi, state.b, xb)
        push = columns.rows(lambda w, p, q: w * (p - q), weights, r1, r2)
        du = linalg.cho_solve(factor, stationarity + _back(problem, push))
        Bdu = columns.rows(np.multiply, problem.y, columns.matvec(du))
        da = columns.rows(lambda w, p, q, e: w * (p - q - e), weights, r1, r2, Bdu)
        dxi = columns.rows(lambda q, x, b, d: q + x * d / b, r2, state.xi, state.b, da)
        dt = columns.rows(np.add, dxi, Bdu)
        return du, dxi, dt, da

    du, dxi, dt, da = moves(0.0, None)
    primal = min(_reach(problem, state.xi, dxi), _reach(problem, state.t, dt))
    dual = min(_reach(problem, state.a, da), _reach(problem, state.b, -da))
    predicted = columns.total(
        lambda t, dt, a, da: (t + primal * dt) * (a + dual * da), state.t, dt, state.a, da
    ) + columns.total(
        lambda x, dx, b, da: (x + primal * dx) * (b - dual * da), state.xi, dxi, state.b, da
    )
    mu = (predicted / gap) ** 3 * gap / n_products
    second = (columns.rows(np.multiply, dt, da), columns.rows(lambda d, a: -d * a, dxi, da))
    du, dxi, dt, da = moves(mu, second)
    primal = min(_reach(problem, state.xi, dxi), _reach(problem, state.t, dt))
    dual = min(_reach(problem, state.a, da), _reach(problem, state.b, -da))
    # One length for both: with a ridge the stationarity condition couples primal and dual.
    length = min(1.0, _TO_BOUNDARY * min(primal, dual))
    return _State(
        state.u + length * du,
        columns.rows(lambda x, d: x + length * d, state.xi, dxi),
        columns.rows(lambda x, d: x + length * d, state.t, dt),
        columns.rows(lambda x, d: x + length * d, state.a, da),
        columns.rows(lambda x, d: x - length * d, state.b, da),
    )


def _reach(problem: Problem, vector: Array, move: Array) -> float:
    """Give the largest step in (0, 1] that keeps vector + step x move >= 0."""
    steps = problem.columns.rows(
        lambda v, d: np.where(d < 0.0, -v / np.where(d < 0.0, d, -1.0), np.inf), vector, move
    )
    return min(1.0, problem.columns.least(steps))
