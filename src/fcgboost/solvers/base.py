"""The fully corrective problem and what a solver of it returns.

min over u of  F(u) = sum_i s_i phi(y_i (A u)_i) / sum(s) + lambda |u|^2,

A the selected columns; the constant column carries no lambda. The paper's problem (its equation
"FCG") is lambda = 0.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fcgboost.arrays import beside, host
from fcgboost.designs.base import Array, Columns
from fcgboost.losses import Loss
from fcgboost.parts import Part, check_count, check_positive
from fcgboost.stopping import Status


class Point(NamedTuple):
    """Coefficients, and the objective and its derivatives there, the ridge's Hessian left out.

    `Problem.gram` has the Hessian where the columns leave it out.
    """

    coef: Array
    objective: float
    gradient: Array
    gram: Array | None


@dataclass(frozen=True)
class Rows:
    """All rows, for solvers that work on them: A, of shape (m, k), and m-vectors, maybe torch's."""

    A: Any
    y: Any
    weights: Any
    loss: Loss
    total_weight: float

    def values(self, coef: Array) -> Any:
        """Return A coef."""
        return self.A @ beside(coef, self.A)

    def mean(self, values: Any) -> float:
        """Return the weighted mean of an m-vector."""
        return float((self.weights * values).sum()) / self.total_weight

    def slopes(self, f: Any) -> Any:
        """Return the derivatives of the mean loss in the values f."""
        return self.weights * self.loss.gradient(self.y, f) / self.total_weight

    def back(self, vector: Any) -> Array:
        """Return A^T vector."""
        return np.asarray(host(vector @ self.A))

    def gram(self, weights: Any) -> Array:
        """Return A^T diag(weights) A."""
        return np.asarray(host(self.A.T @ (weights[:, None] * self.A)))


@dataclass(frozen=True, eq=False)
class Problem:
    """One output of some columns, and the ridge lambda: all a solver or scheme sees."""

    columns: Columns
    output: int
    l2: float

    @property
    def loss(self) -> Loss:
        return self.columns.loss

    @property
    def penalty(self) -> Array:
        """Lambda for every column, 0 for the constant; a k-vector."""
        penalty = np.full(self.columns.n_columns, self.l2)
        penalty[: self.columns.has_constant] = 0.0
        return penalty

    @property
    def gradient_scale(self) -> float:
        """The size of the gradient at coef = 0, the unit of optimality residuals."""
        return float(np.abs(self.columns.first_gradients[self.output]).max(initial=0.0)) or 1.0

    def look(self, coef: Array) -> Point:
        """Return all that is known at a point, in one round."""
        penalty = self.penalty
        ((risk, gradient, gram),) = self.columns.look([(self.output, coef)])
        objective = risk + float(penalty @ coef**2)
        return Point(coef, objective, gradient + 2.0 * penalty * coef, gram)

    def gram(self, point: Point) -> Array:
        """Return the Hessian of the mean loss at a point, of leaves its diagonal."""
        return self.columns.gram(self.output, point.coef) if point.gram is None else point.gram

    def objective(self, coef: Array, f: Any = None) -> float:
        """Return F(coef), from all rows; f = A coef may be handed in where it is known."""
        rows = self.rows()
        risk = rows.mean(self.loss.value(rows.y, rows.values(coef) if f is None else f))
        return risk + float(self.penalty @ coef**2)

    def rows(self) -> Rows:
        """Return all rows; columns on other machines do not have them."""
        columns = self.columns
        return Rows(*columns.arrays(self.output), columns.loss, columns.total_weight)


class Iteration(NamedTuple):
    """One line of a solver's history."""

    objective: float
    residual: float
    seconds: float


@dataclass
class Solution:
    """What a solver or scheme returns; the status is CONVERGED or NOT_CONVERGED."""

    coef: Array
    objective: float
    status: Status
    n_iter: int
    #: How far from optimal, relative; 0 at a solution.
    residual: float
    #: Only where the solver was asked to keep it.
    history: tuple[Iteration, ...] = ()
    #: What the residual is the largest of, where there are several: ADMM's "primal" and "dual".
    parts: dict[str, float] = field(default_factory=dict)


class Solver(Part):
    """An algorithm for the fully corrective problem."""

    #: What the loss must offer, and the same in words for the error message.
    needs: type[Loss]
    needs_text: str
    tol: float
    max_iter: int
    keep_history: bool = False

    def check_parameters(self) -> None:
        check_positive(self, "tol")
        check_count(self, "max_iter")

    @abstractmethod
    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve a problem; `coef` is where to start, for solvers that use a start."""

    def accepts(self, loss: Loss) -> bool:
        """Whether the solver can minimise this loss."""
        return isinstance(loss, self.needs)


class Record:
    """What a run of a solver leaves behind: its history, where that is kept, and its solution."""

    def __init__(self, solver: Solver) -> None:
        self._solver, self._start = solver, time.perf_counter()
        self._history: list[Iteration] = []

    def add(self, objective: float, residual: float) -> None:
        if self._solver.keep_history:
            seconds = time.perf_counter() - self._start
            self._history.append(Iteration(objective, residual, seconds))

    def solution(
        self, coef: Array, objective: float, residual: float, n_iter: int, **parts: float
    ) -> Solution:
        """Return the solution; it has converged if the residual is within the tolerance."""
        has_converged = residual <= self._solver.tol
        status = Status.CONVERGED if has_converged else Status.NOT_CONVERGED
        return Solution(coef, objective, status, n_iter, residual, tuple(self._history), parts)
