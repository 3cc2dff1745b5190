"""The alternating direction method of multipliers, Algorithm 2 of the paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import mul

import numpy as np
from scipy import linalg

from fcgboost.backends.base import Array
from fcgboost.losses import Loss, ProximalLoss
from fcgboost.parts import check_positive
from fcgboost.solvers.base import Iteration, Problem, Solution, Solver
from fcgboost.stopping import Status


class AdmmSolver(Solver):
    """ADMM on the split v = A u with multiplier w, to the letter of Appendix A.

    Per iteration, from (u, v, w) = (0, y, 0):

    - u <- (gamma A^T S A + (alpha + 2 lambda) I)^-1 (A^T S (gamma v + w) + alpha u),
    - v_i <- y_i prox of phi with tau = gamma sum(s) at y_i ((A u)_i - w_i / gamma),
    - w <- w + gamma (v - A u).

    With the paper's gamma = alpha = 1 and 100 iterations the result has hardly left the first
    iterate, the ridge *least-squares* fit with lambda = 1 / m; the returned status says so. How
    far it went shrinks with m: for the squared hinge and the square loss A u moves by less than
    5 % at m = 1000; for the hinge it is 1 + 100 / m times that fit while no margin reaches one;
    the cubed hinge goes furthest, 20 % at m = 1000, most of it a factor too. gamma = alpha = 1 / m
    comes close to the minimiser for few, narrow atoms.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the proximal term.
    gamma : float, default=1.0
        Weight of the augmented term.
    max_iter : int, default=100
    tol : float, default=1e-10
        Ends early when the relative primal and dual residuals are below it.
    keep_history : bool, default=False
    """

    needs = ProximalLoss
    needs_text = "a proximal map"

    def __init__(
        self,
        alpha: float = 1.0,
        gamma: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-10,
        keep_history: bool = False,
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.keep_history = keep_history

    def check_parameters(self) -> None:
        """Check alpha, gamma, tol and max_iter."""
        super().check_parameters()
        check_positive(self, "alpha", "gamma")

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from the paper's start; `coef` only says how many there are."""
        start = time.perf_counter()
        columns, y, s, penalty = problem.columns, problem.y, problem.weights, problem.penalty
        gamma, tau = self.gamma, self.gamma * problem.total_weight
        prox = _prox_of(problem.loss)
        (gram,) = columns.fetch(columns.gram(s))
        system = gamma * gram
        system[np.diag_indices_from(system)] += self.alpha + 2.0 * penalty
        factor = linalg.cho_factor(system)
        scale = problem.gradient_scale()
        u, v, w = np.zeros_like(coef), y, columns.rows(lambda y: 0.0 * y, y)
        history: list[Iteration] = []
        primal, dual, n_iter, Au = np.inf, np.inf, 0, w
        (pull,) = columns.fetch(columns.rmatvec(columns.rows(lambda s, v: s * gamma * v, s, v)))
        while max(primal, dual) > self.tol and n_iter < self.max_iter:
            n_iter += 1
            u = linalg.cho_solve(factor, pull + self.alpha * u)
            Au = columns.matvec(u)
            v = columns.rows(lambda y, a, w: y * prox(y * (a - w / gamma), tau), y, Au, w)
            w = columns.rows(lambda w, v, a: w + gamma * (v - a), w, v, Au)
            # One wait per iteration: the next pull comes with the residuals of this one.
            pull, Sw, gap, size = columns.fetch(
                columns.rmatvec(columns.rows(lambda s, v, w: s * (gamma * v + w), s, v, w)),
                columns.rmatvec(columns.rows(mul, s, w)),
                columns.total(lambda s, v, a: s * (v - a) ** 2, s, v, Au),
                columns.total(lambda s, v: s * v**2, s, v),
            )
            # A^T S w = 2 lambda u is stationarity in u; v is optimal for w by construction.
            dual = float(np.abs(Sw - 2.0 * penalty * u).max(initial=0.0)) / scale
            # |v - A u| / |v| in the weighted norm.
            primal = float(np.sqrt(gap / size if size > 0.0 else gap))
            if self.keep_history:
                seconds = time.perf_counter() - start
                history.append(Iteration(problem.objective(u, Au), max(primal, dual), seconds))
        residual = max(primal, dual)
        status = Status.CONVERGED if residual <= self.tol else Status.NOT_CONVERGED
        objective, parts = problem.objective(u, Au), {"primal": primal, "dual": dual}
        return Solution(u, objective, status, n_iter, residual, tuple(history), parts)


def _prox_of(loss: Loss) -> Callable[[Array, float], Array]:
    assert isinstance(loss, ProximalLoss)
    return loss.prox
