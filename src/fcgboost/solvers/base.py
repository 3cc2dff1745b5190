"""The fully corrective problem and the contract of its solvers.

min over u of  F(u) = sum_i s_i loss(y_i, (A u)_i) / sum(s) + lambda |u|^2,

where A holds the selected columns; the constant column is not penalised. The paper's problem (its
equation "FCG") has lambda = 0.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fcgboost.arrays import Matrix, to_device_of, to_numpy
from fcgboost.designs.base import ActiveColumns, Array, Point
from fcgboost.losses import Loss
from fcgboost.parts import Part, check_count, check_positive
from fcgboost.stopping import Status


class QuadraticModel(NamedTuple):
    """Coefficients with the objective, its gradient, and the Hessian of the mean loss.

    The Hessian is None if the columns left it out; `Problem.gram` computes it.
    """

    coef: Array
    objective: float
    gradient: Array
    gram: Array | None
    #: The state of the rows, for further questions at these coefficients.
    state: object = None


@dataclass(frozen=True)
class AllRows:
    """All rows, for solvers that work on them: A of shape (m, k) and m-vectors, NumPy or torch."""

    A: Matrix
    y: Matrix
    weights: Matrix
    loss: Loss
    total_weight: float

    def values(self, coef: Array) -> Matrix:
        return self.A @ to_device_of(coef, self.A)

    def mean(self, values: Matrix) -> float:
        """Return the weighted mean of an m-vector."""
        return float((self.weights * values).sum()) / self.total_weight

    def slopes(self, f: Matrix) -> Matrix:
        """Return the derivatives of the mean loss with respect to the values f."""
        return self.weights * self.loss.gradient(self.y, f) / self.total_weight

    def back(self, vector: Matrix) -> Array:
        """Return A^T vector."""
        return to_numpy(vector @ self.A)

    def gram(self, weights: Matrix) -> Array:
        """Return A^T diag(weights) A."""
        return to_numpy(self.A.T @ (weights[:, None] * self.A))


@dataclass(frozen=True, eq=False)
class Problem:
    """One output of the columns and the ridge penalty: all that a solver or scheme sees."""

    columns: ActiveColumns
    output: int
    l2: float
    #: The state of the rows at the coefficients from which a solver starts, if known.
    state: object = None

    @property
    def loss(self) -> Loss:
        return self.columns.loss

    @property
    def penalty(self) -> Array:
        """The k-vector of lambda per column, 0 for the constant."""
        penalty = np.full(self.columns.n_columns, self.l2)
        penalty[: self.columns.has_constant] = 0.0
        return penalty

    @property
    def gradient_scale(self) -> float:
        """The size of the gradient at coef = 0, the unit of optimality residuals."""
        return float(np.abs(self.columns.first_gradient).max(initial=0.0)) or 1.0

    def point(self, coef: Array, state: object = None) -> Point:
        """Return coefficients as the columns' verbs take them."""
        return Point(
            self.columns,
            self.output,
            coef,
            state,
        )

    def expand(self, coef: Array, state: object = None) -> QuadraticModel:
        """Evaluate the objective and its derivatives, in one round."""
        penalty = self.penalty
        expansion = self.columns.expand(self.point(coef, state))
        return QuadraticModel(
            coef=coef,
            objective=expansion.risk + float(penalty @ coef**2),
            gradient=expansion.gradient + 2.0 * penalty * coef,
            gram=expansion.gram,
            state=expansion.state,
        )

    def gram(self, evaluation: QuadraticModel) -> Array:
        """Return the Hessian of the mean loss; for leaves, its diagonal."""
        if evaluation.gram is not None:
            return evaluation.gram
        return self.columns.gram(self.point(evaluation.coef, evaluation.state))

    def objective(self, coef: Array, f: Matrix | None = None) -> float:
        """Return F(coef) from all rows; pass f = A coef if it is known."""
        rows = self.rows()
        risk = rows.mean(self.loss.value(rows.y, rows.values(coef) if f is None else f))
        return risk + float(self.penalty @ coef**2)

    def rows(self) -> AllRows:
        """Return all rows; not available for columns on other machines."""
        columns = self.columns
        return AllRows(*columns.arrays(), columns.loss, columns.total_weight)


class Iteration(NamedTuple):
    """One entry of a solver's history."""

    objective: float
    residual: float
    seconds: float


@dataclass
class Solution:
    """The result of a solver or scheme; its status is CONVERGED or NOT_CONVERGED."""

    coef: Array
    objective: float
    status: Status
    n_iter: int
    #: Relative distance from optimality; 0 at a solution.
    residual: float
    #: Empty unless the solver has keep_history=True.
    history: tuple[Iteration, ...] = ()
    #: The residuals of which `residual` is the largest, if several: ADMM's "primal" and "dual".
    parts: dict[str, float] = field(default_factory=dict)
    #: The state of the rows at the solution, if the solver knows it.
    state: object = field(default=None, repr=False)


class Solver(Part):
    """An algorithm for the fully corrective problem."""

    #: What the loss must offer, as a class and in words for the error message.
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
        """Solve a problem, starting at `coef` if the solver uses a start."""

    def accepts(self, loss: Loss) -> bool:
        """Return whether the solver can minimise this loss."""
        return isinstance(loss, self.needs)


class History:
    """Collects the history of a solver, if it is kept, and makes its solution."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._start = time.perf_counter()
        self._history: list[Iteration] = []

    def add(self, objective: float, residual: float) -> None:
        if self._solver.keep_history:
            seconds = time.perf_counter() - self._start
            self._history.append(Iteration(objective, residual, seconds))

    def solution(
        self,
        coef: Array,
        objective: float,
        residual: float,
        n_iter: int,
        **parts: float,
    ) -> Solution:
        has_converged = residual <= self._solver.tol
        status = Status.CONVERGED if has_converged else Status.NOT_CONVERGED
        return Solution(
            coef,
            objective,
            status,
            n_iter,
            residual,
            tuple(self._history),
            parts,
        )
