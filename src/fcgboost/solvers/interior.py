"""A primal-dual interior-point method, which solves the hinge exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from fcgboost.arrays import Matrix, namespace
from fcgboost.designs.base import Array
from fcgboost.losses import Hinge
from fcgboost.solvers.base import AllRows, History, Problem, Solution, Solver

_TO_BOUNDARY = 0.995
# After this many iterations without progress only rounding is left.
_PATIENCE = 15
# Repeated atoms make the system singular: the smallest sufficient ridge picks one direction.
_RIDGE = 1e-14
_REFINEMENTS = 3


@dataclass(eq=False, repr=False)
class InteriorPointSolver(Solver):
    """Mehrotra's predictor-corrector method for the hinge.

    min over u, xi >= 0 of c xi + lambda |u|^2 subject to xi + B u - 1 >= 0, where c = s / sum(s)
    and B = diag(y) A. The iterates satisfy both constraints and the dual box, so the
    complementarity gap bounds the distance to the optimal objective. Each iteration solves
    k x k systems with the matrix 2 lambda I + B^T W B, W = 1 / (t / a + xi / b).

    Parameters
    ----------
    tol : float, default=1e-10
        Stop when the gap and the relative stationarity residual are below it.
    max_iter : int, default=400
        The largest number of iterations.
    keep_history : bool, default=False
        Whether the solution records every iteration.
    """

    needs = Hinge
    needs_text = "the hinge, a piecewise linear loss"

    tol: float = 1e-10
    max_iter: int = 400
    keep_history: bool = False

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from the middle of the feasible set; `coef` only sets the size."""
        record = History(self)
        rows = problem.rows()
        ridge = 2.0 * problem.penalty
        half = rows.weights / (2.0 * rows.total_weight)
        ones = 0.0 * half + 1.0
        state = _Iterate(
            np.zeros_like(coef),
            2.0 * ones,
            ones,
            half,
            half,
        )
        best = (state.u, np.inf, np.inf)
        lowest = np.inf
        least = np.inf
        last_gain = 0
        for n_iter in range(self.max_iter + 1):
            stationarity = rows.back(rows.y * state.a) - ridge * state.u
            size = float(np.abs(stationarity).max(initial=0.0))
            residual = max(state.gap(), size / problem.gradient_scale)
            objective = problem.objective(state.u)
            record.add(objective, residual)
            if residual < least or objective < lowest:
                last_gain = n_iter
            least = min(least, residual)
            lowest = min(lowest, objective)
            # Before convergence both count: every u is feasible, and the residual bounds the
            # distance of the objective from the minimum.
            if residual <= self.tol or objective + residual < best[1] + best[2]:
                best = state.u, objective, residual
            is_spent = n_iter - last_gain == _PATIENCE or n_iter == self.max_iter
            if residual <= self.tol or is_spent:
                break
            state = _iterate(
                rows,
                ridge,
                state,
                stationarity,
                0.1 * self.tol,
            )
        return record.solution(*best, n_iter)


class _Iterate(NamedTuple):
    """Primal slacks xi and t = xi + B u - 1, duals a in (0, c) and b = c - a; or a move of them."""

    u: Array
    xi: Matrix
    t: Matrix
    a: Matrix
    b: Matrix

    def gap(self) -> float:
        """Return the sum of t a + xi b, which is zero at the solution."""
        return float((self.t * self.a + self.xi * self.b).sum())

    def reach(self, move: _Iterate) -> float:
        """Return the largest step in (0, 1] that keeps all slacks and duals positive."""
        return min(1.0, *(_longest(x, d) for x, d in zip(self[1:], move[1:], strict=True)))

    def moved(self, move: _Iterate, length: float) -> _Iterate:
        return _Iterate(*(x + length * d for x, d in zip(self, move, strict=True)))


def _longest(x: Matrix, d: Matrix) -> float:
    """Return the largest step along d that keeps x > 0."""
    xp = namespace(x)
    return float(xp.where(d < 0.0, -x / xp.where(d < 0.0, d, -1.0), np.inf).min())


def _iterate(
    rows: AllRows,
    ridge: Array,
    state: _Iterate,
    stationarity: Array,
    floor: float,
) -> _Iterate:
    """Predict without centring, derive the centring, correct, and move.

    Stationarity is B^T a - 2 lambda u. The target gap is at least `floor`: a smaller one would only
    spoil the condition of the systems that reduce the stationarity residual.
    """
    weights = 1.0 / (state.t / state.a + state.xi / state.b)
    system = rows.gram(weights)  # B^T W B = A^T W A: labels have size one
    system[np.diag_indices_from(system)] += ridge
    solve = _refined_solve(system)

    def move_by(ta: Matrix, xb: Matrix) -> _Iterate:
        """Return the move that changes t a and xi b by these amounts."""
        p = ta / state.a
        q = xb / state.b
        u = solve(stationarity + rows.back(rows.y * weights * (p - q)))
        Bu = rows.y * rows.values(u)
        a = weights * (p - q - Bu)
        xi = q + state.xi * a / state.b
        return _Iterate(
            u,
            xi,
            xi + Bu,
            a,
            -a,
        )

    gap = state.gap()
    s = rows.weights
    ta = state.t * state.a
    xb = state.xi * state.b
    guess = move_by(-ta, -xb)
    predicted = state.moved(guess, state.reach(guess)).gap()
    # Products are centred in proportion to the weights, so that a weight equals repeated rows.
    mu = max(floor, (predicted / gap) ** 3 * gap) / (2.0 * rows.total_weight)
    move = move_by(mu * s - ta - guess.t * guess.a, mu * s - xb + guess.xi * guess.a)
    return state.moved(move, min(1.0, _TO_BOUNDARY * state.reach(move)))


def _refined_solve(system: Array) -> Callable[[Array], Array]:
    """Return a solver for a semidefinite system; refinement removes the effect of the ridge."""
    sizes = np.sqrt(np.maximum(np.diag(system), np.finfo(np.float64).tiny))
    scaled = system / np.outer(sizes, sizes)
    ridge = _RIDGE
    info = 1
    while info and ridge <= 1.0:
        factor, info = linalg.lapack.dpotrf(scaled + ridge * np.eye(len(scaled)))
        ridge *= 10.0

    def solve(right: Array) -> Array:
        solution = np.zeros_like(right)
        for _ in range(_REFINEMENTS):
            solution += linalg.cho_solve((factor, False), right / sizes - scaled @ solution)
        return solution / sizes

    return solve
