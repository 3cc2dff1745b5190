"""A primal-dual interior point method: what solves the hinge exactly."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import add, mul, neg, truediv
from typing import NamedTuple

import numpy as np
from scipy import linalg

from fcgboost.arrays import namespace
from fcgboost.backends.base import Array
from fcgboost.losses import Hinge
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.stopping import Status

_TO_BOUNDARY = 0.995
# Iterations without a better residual after which rounding is all that is left.
_PATIENCE = 15
# Repeated atoms make the system singular: the smallest ridge that helps picks one direction.
_RIDGE = 1e-14
_REFINEMENTS = 3


class InteriorPointSolver(Solver):
    """Mehrotra's predictor-corrector method for the hinge.

    min over u, xi >= 0 of c xi + lambda |u|^2 subject to xi + B u - 1 >= 0, c = s / sum(s) and
    B = diag(y) A. The iterates satisfy both constraints and the dual box, so the
    complementarity gap bounds the distance to the optimal objective. Each iteration solves
    k x k systems with the matrix 2 lambda I + B^T W B, W = 1 / (t / a + xi / b).

    Parameters
    ----------
    tol : float, default=1e-10
        Ends when the gap and the relative stationarity residual are below it.
    max_iter : int, default=400
    keep_history : bool, default=False
    """

    needs = Hinge
    needs_text = "the hinge, a piecewise linear loss"

    def __init__(self, tol: float = 1e-10, max_iter: int = 400, keep_history: bool = False) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.keep_history = keep_history

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from the middle of the feasible set; `coef` only says how many there are."""
        start = time.perf_counter()
        state = _State.middle(problem, np.zeros_like(coef))
        scale = problem.gradient_scale()
        best = _Found(state.u, np.inf, np.inf)
        lowest, least, last_gain = np.inf, np.inf, 0
        history: list[Iteration] = []
        for n_iter in range(self.max_iter + 1):
            gap, stationarity = state.gap(problem), state.stationarity(problem)
            residual = max(gap, float(np.abs(stationarity).max(initial=0.0)) / scale)
            objective = problem.objective(state.u)
            if self.keep_history:
                seconds = time.perf_counter() - start
                history.append(Iteration(objective, residual, seconds))
            if residual < least or objective < lowest:
                last_gain = n_iter
            least, lowest = min(least, residual), min(lowest, objective)
            # Short of the solution both count: every u is feasible, and the residual bounds
            # how far the objective may be from the lowest one.
            if residual <= self.tol or objective + residual < best.objective + best.residual:
                best = _Found(state.u, objective, residual)
            # Past the attainable accuracy nothing improves.
            is_spent = n_iter - last_gain == _PATIENCE or n_iter == self.max_iter
            if residual <= self.tol or is_spent:
                break
            state = _iterate(problem, state, stationarity, 0.1 * self.tol)
        status = Status.CONVERGED if best.residual <= self.tol else Status.NOT_CONVERGED
        return Solution(best.u, best.objective, status, n_iter, best.residual, tuple(history))


class _Found(NamedTuple):
    """The best iterate so far."""

    u: Array
    objective: float
    residual: float


@dataclass(frozen=True)
class _Move:
    """A direction; b moves against a."""

    u: Array
    xi: Array
    t: Array
    a: Array


@dataclass(frozen=True)
class _State:
    """Primal slacks xi and t = xi + B u - 1, duals a in (0, c) and b = c - a."""

    u: Array
    xi: Array
    t: Array
    a: Array
    b: Array

    @classmethod
    def middle(cls, problem: Problem, u: Array) -> _State:
        """Return u = 0 with the duals half-way."""
        rows, total = problem.columns.rows, problem.total_weight
        half = rows(lambda s: s / (2.0 * total), problem.weights)
        ones = rows(lambda s: 1.0 + 0.0 * s, half)
        return cls(u, rows(lambda x: 2.0 * x, ones), ones, half, half)

    def gap(self, problem: Problem) -> float:
        """Return the sum of t a + xi b, zero at the solution."""
        total = problem.columns.total
        gap = problem.columns.fetch(total(mul, self.t, self.a), total(mul, self.xi, self.b))
        return float(sum(gap))

    def stationarity(self, problem: Problem) -> Array:
        """Return B^T a - 2 lambda u, zero at the solution."""
        return _back(problem, self.a) - 2.0 * problem.penalty * self.u

    def reach(self, problem: Problem, move: _Move) -> float:
        """Return the largest step in (0, 1] that keeps all slacks and duals positive."""
        longest = problem.columns.rows(
            lambda x, dx, t, dt, a, da, b: _smaller(
                _smaller(_longest(x, dx), _longest(t, dt)),
                _smaller(_longest(a, da), _longest(b, -da)),
            ),
            *(self.xi, move.xi, self.t, move.t, self.a, move.a, self.b),
        )
        (least,) = problem.columns.fetch(problem.columns.least(longest))
        return min(1.0, float(least))

    def moved(self, problem: Problem, move: _Move, length: float) -> _State:
        """Return the state after a step."""

        def forward(x: Array, d: Array) -> Array:
            return x + length * d

        rows = problem.columns.rows
        return _State(
            forward(self.u, move.u),
            rows(forward, self.xi, move.xi),
            rows(forward, self.t, move.t),
            rows(forward, self.a, move.a),
            rows(lambda b, d: b - length * d, self.b, move.a),
        )


def _longest(x: Array, d: Array) -> Array:
    """Return how far x > 0 can go along d, elementwise."""
    xp = namespace(x)
    longest: Array = xp.where(d < 0.0, -x / xp.where(d < 0.0, d, -1.0), np.inf)
    return longest


def _smaller(x: Array, y: Array) -> Array:
    smaller: Array = namespace(x).minimum(x, y)
    return smaller


def _back(problem: Problem, vector: Array) -> Array:
    """Return B^T vector."""
    columns = problem.columns
    (back,) = columns.fetch(columns.rmatvec(columns.rows(mul, problem.y, vector)))
    return np.asarray(back)


def _iterate(problem: Problem, state: _State, stationarity: Array, floor: float) -> _State:
    """Predict with no centring, choose the centring from it, correct, and move.

    A gap below `floor` is not aimed at: it would only spoil the condition of the systems that
    the stationarity residual still needs.
    """
    rows = problem.columns.rows
    gap = state.gap(problem)
    move_by = _newton_system(problem, state, stationarity)
    ta, xb = rows(mul, state.t, state.a), rows(mul, state.xi, state.b)
    guess = move_by(rows(neg, ta), rows(neg, xb))
    predicted = state.moved(problem, guess, state.reach(problem, guess)).gap(problem)
    # Products are centred in proportion to the weights, so that a weight equals a repetition.
    mu = max(floor, (predicted / gap) ** 3 * gap) / (2.0 * problem.total_weight)
    s = problem.weights
    move = move_by(
        rows(lambda s, q, dt, da: mu * s - q - dt * da, s, ta, guess.t, guess.a),
        rows(lambda s, q, dx, da: mu * s - q + dx * da, s, xb, guess.xi, guess.a),
    )
    return state.moved(problem, move, min(1.0, _TO_BOUNDARY * state.reach(problem, move)))


def _newton_system(
    problem: Problem, state: _State, stationarity: Array
) -> Callable[[Array, Array], _Move]:
    """Return the function from wanted changes of t a and xi b to the move that makes them."""
    columns = problem.columns
    rows = columns.rows
    weights = rows(lambda t, a, x, b: 1.0 / (t / a + x / b), state.t, state.a, state.xi, state.b)
    (system,) = columns.fetch(columns.gram(weights))  # B^T W B = A^T W A: labels have size one
    system[np.diag_indices_from(system)] += 2.0 * problem.penalty
    solve = _refined_solve(system)

    def move_by(ta: Array, xb: Array) -> _Move:
        p, q = rows(truediv, ta, state.a), rows(truediv, xb, state.b)
        push = rows(lambda w, p, q: w * (p - q), weights, p, q)
        u = solve(stationarity + _back(problem, push))
        Bu = rows(mul, problem.y, columns.matvec(u))
        a = rows(lambda w, p, q, e: w * (p - q - e), weights, p, q, Bu)
        xi = rows(lambda q, x, b, a: q + x * a / b, q, state.xi, state.b, a)
        return _Move(u, xi, rows(add, xi, Bu), a)

    return move_by


def _refined_solve(system: Array) -> Callable[[Array], Array]:
    """Return the solver of a semidefinite system; refinement takes out what the ridge puts in."""
    sizes = np.sqrt(np.maximum(np.diag(system), np.finfo(np.float64).tiny))
    scaled = system / np.outer(sizes, sizes)
    ridge, info = _RIDGE, 1
    while info and ridge <= 1.0:
        factor, info = linalg.lapack.dpotrf(scaled + ridge * np.eye(len(scaled)))
        ridge *= 10.0

    def solve(right: Array) -> Array:
        solution = np.zeros_like(right)
        for _ in range(_REFINEMENTS):
            solution += linalg.cho_solve((factor, False), right / sizes - scaled @ solution)
        return solution / sizes

    return solve
