"""The alternating direction method of multipliers, Algorithm 2 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fcgboost.designs.base import Array
from fcgboost.losses import ProximalLoss
from fcgboost.parts import check_positive
from fcgboost.solvers.base import History, Problem, Solution, Solver


@dataclass(eq=False, repr=False)
class AdmmSolver(Solver):
    """ADMM on the split v = A u with multiplier w, as in the paper's Appendix A.

    Per iteration, from (u, v, w) = (0, y, 0):

    - u <- (gamma A^T S A + (alpha + 2 lambda) I)^-1 (A^T S (gamma v + w) + alpha u),
    - v_i <- prox of the loss with tau = gamma sum(s) at (A u)_i - w_i / gamma,
    - w <- w + gamma (v - A u).

    With the paper's gamma = alpha = 1, 100 iterations barely leave the first iterate, the ridge
    *least-squares* fit with lambda = 1 / m, the less so the larger m; the status then tells that it
    has not converged. gamma = alpha = 1 / m comes close to the minimiser for few, narrow atoms.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the proximal term.
    gamma : float, default=1.0
        Weight of the augmented term.
    max_iter : int, default=100
        The largest number of iterations.
    tol : float, default=1e-10
        Stop when the relative primal and dual residuals are below it.
    keep_history : bool, default=False
        Whether the solution records every iteration.
    """

    needs = ProximalLoss
    needs_text = "a proximal map"

    alpha: float = 1.0
    gamma: float = 1.0
    max_iter: int = 100
    tol: float = 1e-10
    keep_history: bool = False

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive(self, "alpha", "gamma")

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from the paper's start; `coef` only sets the size."""
        record = History(self)
        loss = problem.loss
        rows = problem.rows()
        gamma = self.gamma
        assert isinstance(loss, ProximalLoss)
        y = rows.y
        s = rows.weights
        ridge = 2.0 * problem.penalty
        system = gamma * rows.gram(s)
        system[np.diag_indices_from(system)] += self.alpha + ridge
        factor = linalg.cho_factor(system)
        scale = problem.gradient_scale
        u = np.zeros_like(coef)
        v = y
        w = 0.0 * y
        primal = np.inf
        dual = np.inf
        n_iter = 0
        while max(primal, dual) > self.tol and n_iter < self.max_iter:
            n_iter += 1
            u = linalg.cho_solve(factor, rows.back(s * (gamma * v + w)) + self.alpha * u)
            Au = rows.values(u)
            v = loss.prox(y, Au - w / gamma, gamma * rows.total_weight)
            w = w + gamma * (v - Au)
            # A^T S w = 2 lambda u is stationarity in u; v is optimal for w by construction.
            dual = float(np.abs(rows.back(s * w) - ridge * u).max(initial=0.0)) / scale
            # |v - A u| / |v| in the weighted norm.
            gap = float((s * (v - Au) ** 2).sum())
            size = float((s * v**2).sum())
            primal = float(np.sqrt(gap / size if size > 0.0 else gap))
            if self.keep_history:
                record.add(problem.objective(u), max(primal, dual))
        return record.solution(
            u,
            problem.objective(u),
            max(primal, dual),
            n_iter,
            primal=primal,
            dual=dual,
        )
