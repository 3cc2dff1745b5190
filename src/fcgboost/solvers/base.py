"""The fully corrective problem and what a solver of it returns.

min over u of  F(u) = sum_i s_i phi(y_i (A u)_i) / sum(s) + lambda |u|^2,

A the selected columns; the constant column carries no lambda. The paper's problem (its equation
"FCG") is lambda = 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from operator import mul, pos
from typing import Any

import numpy as np
from scipy import linalg

from fcgboost.backends.base import Array, Columns, Small
from fcgboost.losses import Loss
from fcgboost.parts import Part, check_count, check_positive
from fcgboost.stopping import Status


class KeptFactor:
    """The Cholesky factor of the last matrix, from which that of a larger one is made.

    Between two steps the rows of the Hessian stay what they are, and one more comes: that takes
    k^2 operations instead of k^3 / 3.
    """

    def __init__(self) -> None:
        self._matrix: Array = np.zeros((0, 0))
        self._factor: Array = np.zeros((0, 0))

    def of(self, matrix: Array) -> Array | None:
        """Return the upper factor of a symmetric matrix; None if it is not positive definite."""
        n = len(self._matrix)
        # The first row tells most matrices apart.
        is_larger = 0 < n <= len(matrix) and np.array_equal(self._matrix[0], matrix[0, :n])
        is_larger = is_larger and np.array_equal(self._matrix, matrix[:n, :n])
        factor = self._extended(matrix) if is_larger else None
        if factor is None:
            factor, info = linalg.lapack.dpotrf(matrix.T)
            if info != 0:
                return None
        self._matrix, self._factor = matrix, factor
        return factor

    def _extended(self, matrix: Array) -> Array | None:
        """Add the rows and columns that are new."""
        n, size = len(self._matrix), len(matrix)
        if n == size:
            return self._factor
        corner, info = linalg.lapack.dtrtrs(self._factor, matrix[:n, n:], trans=1)
        last, failed = linalg.lapack.dpotrf(matrix[n:, n:] - corner.T @ corner)
        if info != 0 or failed != 0:
            return None
        factor = np.zeros((size, size), order="F")
        factor[:n, :n], factor[:n, n:], factor[n:, n:] = self._factor, corner, last
        return factor


@dataclass(eq=False)
class Memory:
    """What is known of a problem from the last time it was looked at.

    Attributes
    ----------
    coef, f : k-vector, m-vector
        The last point, and A coef there.
    age : int
        How often f was moved since it was computed from scratch.
    start : k-vector
        The gradient at coef = 0, of the columns there were.
    start_slopes : m-vector
        The slopes of the loss at f = 0.
    point : object
        What the solver knew of the last point.
    penalty : k-vector
        Lambda for every column there was.
    factor : KeptFactor
        Of the last normal equations.
    """

    coef: Array | None = None
    f: Any = None
    age: int = 0
    start: Array = field(default_factory=lambda: np.zeros(0))
    start_slopes: Any = None
    point: Any = None
    penalty: Array = field(default_factory=lambda: np.zeros(0))
    factor: KeptFactor = field(default_factory=KeptFactor)


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
    total_weight, shares : float, m-vector
        The sum of the weights, and every weight's share of it.
    """

    loss: Loss
    y: Any
    weights: Any
    columns: Columns
    l2: float
    total_weight: float = field(init=False)
    shares: Any = field(init=False)
    memory: Memory = field(init=False, default_factory=Memory)

    def __post_init__(self) -> None:
        (total,) = self.columns.fetch(self.columns.total(pos, self.weights))
        object.__setattr__(self, "total_weight", total)
        shares = self.columns.rows(partial(mul, 1.0 / total), self.weights)
        object.__setattr__(self, "shares", shares)

    @property
    def penalty(self) -> Array:
        """Lambda for every column, 0 for the constant; a k-vector."""
        memory, n_columns = self.memory, self.columns.n_columns
        if len(memory.penalty) != n_columns:
            memory.penalty = np.full(n_columns, self.l2)
            memory.penalty[: int(self.columns.has_constant)] = 0.0
            memory.penalty.setflags(write=False)
        return memory.penalty

    def values(self, coef: Array) -> Any:
        """Return f = A coef, an m-vector; from memory where the last point was the same."""
        known = self.memory.coef
        if known is None or not _is_same_point(known, coef):
            self.remember(coef, self.columns.matvec(coef), 0)
        return self.memory.f

    def remember(self, coef: Array, f: Any, age: int) -> None:
        """Keep f = A coef, which was moved `age` times since it was computed from scratch."""
        self.memory.coef, self.memory.f, self.memory.age = coef.copy(), f, age

    def drop(self, position: int, coef: Array, f: Any) -> None:
        """Take a column out; f = A coef, where the column's coefficient is zero."""
        self.columns.drop(position)
        memory = self.memory
        if position < len(memory.start):
            memory.start = np.delete(memory.start, position)
        memory.point = None
        self.remember(np.delete(coef, position), f, 0)

    def risk(self, f: Any) -> Small:
        """Return the weighted mean of the losses at f, a small number."""
        return self.columns.total(partial(_risks, self.loss), self.y, self.shares, f)

    def objective(self, coef: Array, f: Any = None) -> float:
        """Return F(coef); f = A coef may be handed in where it is known."""
        (risk,) = self.columns.fetch(self.risk(self.values(coef) if f is None else f))
        return float(risk) + float(self.penalty @ coef**2)

    def slopes(self, f: Any) -> Any:
        """Return the derivative of the weighted mean loss in every f_i, an m-vector."""
        point = self.memory.point
        if point is not None and point.f is f:
            return point.slopes
        return self.columns.rows(partial(_slopes, self.loss), self.y, self.shares, f)

    def gradient(self, coef: Array) -> Array:
        """Return the gradient of F, a k-vector."""
        slopes = self.slopes(self.values(coef))
        (along,) = self.columns.fetch(self.columns.rmatvec(slopes))
        gradient: Array = along + 2.0 * self.penalty * coef
        return gradient

    def unknown_start(self) -> Small:
        """Return the gradient at coef = 0 of columns that `gradient_scale` does not know yet."""
        memory = self.memory
        if memory.start_slopes is None:
            memory.start_slopes = self.slopes(self.columns.rows(partial(mul, 0.0), self.y))
        return self.columns.rmatvec(memory.start_slopes, first=len(memory.start))

    def gradient_scale(self, unknown: Array | None = None) -> float:
        """Return the size of the gradient at coef = 0, the unit of optimality residuals.

        `unknown` is what `unknown_start` gave, where it was fetched along with other things.
        """
        if unknown is None:
            (unknown,) = self.columns.fetch(self.unknown_start())
        self.memory.start = np.append(self.memory.start, unknown)
        return float(np.abs(self.memory.start).max(initial=0.0)) or 1.0


def _risks(loss: Loss, y: Any, shares: Any, f: Any) -> Any:
    return shares * loss.value(y, f)


def _slopes(loss: Loss, y: Any, shares: Any, f: Any) -> Any:
    return shares * loss.gradient(y, f)


def _is_same_point(known: Array, coef: Array) -> bool:
    """Whether two points are equal; columns that came later have coefficient 0."""
    n = len(known)
    return n <= len(coef) and np.array_equal(known, coef[:n]) and not coef[n:].any()


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
