"""Gradient descent with step 1 / L, which the paper compares ADMM with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fcgboost.designs.base import Array
from fcgboost.losses import SmoothLoss
from fcgboost.solvers.base import History, Problem, Solution, Solver


@dataclass(eq=False, repr=False)
class GradientDescentSolver(Solver):
    """Gradient descent from u = 0 with step 1 / L (figure "ADMM against GD" of the paper).

    L = c lambda_max(A^T S A) / sum(s) + 2 lambda, where c bounds the curvature of the loss.

    Parameters
    ----------
    tol : float, default=1e-10
        Stop when the largest entry of the gradient is below tol times that at u = 0.
    max_iter : int, default=10000
        The largest number of iterations.
    keep_history : bool, default=False
        Whether the solution records every iteration.
    """

    needs = SmoothLoss
    needs_text = "a gradient with a Lipschitz constant"

    tol: float = 1e-10
    max_iter: int = 10_000
    keep_history: bool = False

    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve from zero, as the paper does; `coef` only sets the size."""
        record = History(self)
        loss = problem.loss
        rows = problem.rows()
        assert isinstance(loss, SmoothLoss)
        gram = rows.gram(rows.weights) / rows.total_weight
        largest = float(np.linalg.eigvalsh(gram)[-1]) if len(gram) else 0.0
        smoothness = (loss.curvature_bound * largest + 2.0 * problem.l2) or 1.0
        ridge = 2.0 * problem.penalty
        scale = 0.0
        coef = np.zeros_like(coef)
        for n_iter in range(self.max_iter + 1):
            f = rows.values(coef)
            gradient = rows.back(rows.slopes(f)) + ridge * coef
            size = float(np.abs(gradient).max(initial=0.0))
            scale = scale or size or 1.0
            if self.keep_history:
                record.add(problem.objective(coef, f), size / scale)
            if size / scale <= self.tol or n_iter == self.max_iter:
                break
            coef = coef - gradient * (1.0 / smoothness)
        return record.solution(
            coef,
            problem.objective(coef, f),
            size / scale,
            n_iter,
        )
