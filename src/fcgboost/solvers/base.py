"""The fully corrective problem and what a solver of it returns.

min over u of  F(u) = sum_i s_i phi(y_i (A u)_i) / sum(s) + lambda |u|^2,

A the selected columns; the constant column carries no lambda. The paper's problem (its equation
"FCG") is lambda = 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from fcgboost.backends.base import Array, Columns
from fcgboost.losses import Loss
from fcgboost.parts import Part, check_count, check_positive
from fcgboost.stopping import Status


@dataclass(frozen=True, eq=False)
class Problem:
    """A loss, its target and weights, and the columns: all a solver or scheme sees.

    Attributes
    ----------
    loss : Loss
    y : m-vector of -1 and +1
    weights : m-vector of positive weights
    columns : Columns
    l2 : float
        lambda.
    """

    loss: Loss
    y: Array
    weights: Array
    columns: Columns
    l2: float
    total_weight: float = field(init=False)

    def __post_init__(self) -> None:
        total = self.columns.total(lambda s: s, self.weights)
        object.__setattr__(self, "total_weight", total)

    @property
    def penalty(self) -> Array:
        """Lambda for every column, 0 for the constant; a k-vector."""
        penalty = np.full(self.columns.n_columns, self.l2)
        penalty[: int(self.columns.has_constant)] = 0.0
        return penalty

    def objective(self, coef: Array, f: Array | None = None) -> float:
        """Give F(coef); f = A coef may be handed in where it is known."""
        f = self.columns.matvec(coef) if f is None else f
        risk = self.columns.total(
            lambda y, s, f: s * self.loss.value(y, f), self.y, self.weights, f
        )
        return risk / self.total_weight + float(self.penalty @ coef**2)

    def slopes(self, f: Array) -> Array:
        """Give the derivative of the weighted mean loss in every f_i, an m-vector."""
        return self.columns.rows(
            lambda y, s, f: s * self.loss.gradient(y, f) / self.total_weight,
            self.y,
            self.weights,
            f,
        )

    def gradient(self, coef: Array) -> Array:
        """Give the gradient of F, a k-vector."""
        slopes = self.slopes(self.columns.matvec(coef))
        return self.columns.rmatvec(slopes) + 2.0 * self.penalty * coef

    def gradient_scale(self) -> float:
        """Give the size of the gradient at coef = 0, the unit of optimality residuals."""
        start = self.slopes(self.columns.rows(np.zeros_like, self.y))
        return float(np.abs(self.columns.rmatvec(start)).max(initial=0.0)) or 1.0


@dataclass(frozen=True)
class Iteration:
    """One line of a solver's history."""

    objective: float
    residual: float
    seconds: float


@dataclass(frozen=True)
class Solution:
    """What a solver or scheme returns.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,)
    objective : float
        F(coef).
    status : Status
        CONVERGED or NOT_CONVERGED.
    n_iter : int
    residual : float
        How far from optimal, relative; 0 at a solution.
    history : tuple of Iteration
        Only where the solver was asked to keep it.
    parts : dict from str to float
        What the residual is the largest of, where there are several: ADMM's "primal" and "dual".
    """

    coef: Array
    objective: float
    status: Status
    n_iter: int
    residual: float
    history: tuple[Iteration, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)


class Solver(Part):
    """An algorithm for the fully corrective problem."""

    #: What the loss must offer, and the same in words for the error message.
    needs: type[Loss]
    needs_text: str
    tol: float
    max_iter: int

    def check_parameters(self) -> None:
        """Check tol and max_iter."""
        check_positive(self, "tol")
        check_count(self, "max_iter")

    @abstractmethod
    def solve(self, problem: Problem, coef: Array) -> Solution:
        """Solve a problem; `coef` is where to start, for solvers that use a start."""

    def accepts(self, loss: Loss) -> bool:
        """Whether the solver can minimise this loss."""
        return isinstance(loss, self.needs)
