"""Update schemes: how the coefficients change once an atom has been chosen.

The classical schemes have the form f_k = (1 - a_k) f_{k-1} + l g: they differ in the contraction
a_k and in the length l that they make of the exact line search b. Full correction calls a solver.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fcgboost.arrays import Array, Matrix
from fcgboost.losses import CurvedLoss
from fcgboost.parts import Part, check_positive, is_positive, refuse
from fcgboost.solvers.base import Problem, Solution, Solver
from fcgboost.stopping import Status

__all__ = [
    "Epsilon",
    "FullyCorrective",
    "LineScheme",
    "Original",
    "Rescaled",
    "Scheme",
    "Shrinkage",
    "Truncation",
    "line_search",
]


class Scheme(Part):
    """How coefficients change once an atom has been chosen."""

    #: Whether an atom of the model may be chosen again.
    reselects: bool

    @abstractmethod
    def update(
        self,
        problem: Problem,
        coef: Array,
        newest: int,
        k: int,
    ) -> Solution:
        """Return the coefficients after step k = 1, 2, ...

        The chosen column is at position `newest`; its coefficient is 0 if it is new.
        """

    def is_due(self, n_atoms: int, n_corrected: int) -> bool:
        """Return whether to correct all coefficients, given the atoms at the last correction."""
        return True


class FullyCorrective(Scheme):
    """Minimise over the coefficients of all selected atoms (equation "FCG" of the paper).

    Parameters
    ----------
    solver : Solver or None, default=None
        None uses the estimator's solver.
    growth : float, default=1.0
        Correct all coefficients once the number of atoms has grown by this factor since the last
        correction, and at the end of the path. In between, only the new atom's coefficient and the
        intercept are fitted. 1.0 corrects in every step, as do losses without a second derivative,
        `removal` and `reselect`.
    """

    reselects = False
    # For user-defined subclasses, which may have other parameters.
    growth = 1.0

    def __init__(self, solver: Solver | None = None, growth: float = 1.0) -> None:
        self.solver = solver
        self.growth = growth

    def check_parameters(self) -> None:
        if not is_positive(self.growth) or self.growth < 1.0:
            refuse(self, "growth", "a number of at least 1")

    def is_due(self, n_atoms: int, n_corrected: int) -> bool:
        return n_atoms >= self.growth * n_corrected - 1e-9

    def update(
        self,
        problem: Problem,
        coef: Array,
        newest: int,
        k: int,
    ) -> Solution:
        assert self.solver is not None
        return self.solver.solve(problem, coef)


class LineScheme(Scheme):
    """A scheme that moves along the newest atom only and ignores the ridge penalty."""

    reselects = True

    def contraction(self, k: int) -> float:
        """Return a_k, by which the old function shrinks (the intercept does not)."""
        return 0.0

    def search(
        self,
        problem: Problem,
        base: Array,
        newest: int,
    ) -> float:
        """Return b, the exact line search along the newest atom."""
        return line_search(problem, base, newest)

    def length(self, b: float, k: int) -> float:
        """Return how far to go along the newest atom, given b."""
        return b

    def update(
        self,
        problem: Problem,
        coef: Array,
        newest: int,
        k: int,
    ) -> Solution:
        """Return (1 - a_k) coef with the length added at `newest`."""
        moved = (1.0 - self.contraction(k)) * coef
        if problem.columns.has_constant:
            moved[0] = coef[0]
        b = self.search(problem, moved, newest)
        moved[newest] += self.length(b, k)
        return Solution(
            moved,
            problem.objective(moved),
            Status.CONVERGED,
            1,
            0.0,
        )


class Original(LineScheme):
    """f + b g, b by exact line search (Freund and Schapire; Friedman's gradient view)."""


class Shrinkage(LineScheme):
    """RSBoosting: f + nu b g, b by exact line search (Friedman 2001).

    Parameters
    ----------
    nu : float, default=0.1
        The learning rate.
    """

    def __init__(self, nu: float = 0.1) -> None:
        self.nu = nu

    def check_parameters(self) -> None:
        check_positive(self, "nu")

    def length(self, b: float, k: int) -> float:
        return self.nu * b


class Truncation(LineScheme):
    """RTBoosting: f + b g, line search on [-s_k, s_k], s_k = c k^(-2/3) (Zhang and Yu 2005).

    Parameters
    ----------
    c : float, default=1.0
        The factor of the bound, which in the paper's simulation never binds for Gaussian atoms of
        width 0.35 and more.
    """

    def __init__(self, c: float = 1.0) -> None:
        self.c = c

    def check_parameters(self) -> None:
        check_positive(self, "c")

    def length(self, b: float, k: int) -> float:
        # The objective is convex along the line, so clipping is exact.
        bound = self.c * k ** (-2.0 / 3.0)
        return float(np.clip(b, -bound, bound))


class Epsilon(LineScheme):
    """epsilon-boosting: f + epsilon sign(b) g (forward stagewise; Hastie et al. 2007).

    Parameters
    ----------
    epsilon : float, default=0.01
        The length of every step.
    """

    def __init__(self, epsilon: float = 0.01) -> None:
        self.epsilon = epsilon

    def check_parameters(self) -> None:
        check_positive(self, "epsilon")

    def search(
        self,
        problem: Problem,
        base: Array,
        newest: int,
    ) -> float:
        """Return the slope downwards: its sign is that of b, and only that counts."""
        rows = problem.rows()
        values = rows.values(base)
        slopes = rows.slopes(values)
        column = rows.A[:, newest]
        slope = (slopes * column).sum()
        return -float(slope)

    def length(self, b: float, k: int) -> float:
        return self.epsilon * float(np.sign(b))


class Rescaled(LineScheme):
    """RBoosting: (1 - a_k) f + b g, a_k = 2 / (k + 2), b by exact line search (Wang et al. 2019).

    The gradient is taken at f, before it shrinks.
    """

    def contraction(self, k: int) -> float:
        return 2.0 / (k + 2.0)


def line_search(problem: Problem, coef: Array, newest: int) -> float:
    """Return the b that minimises the mean loss of A coef + b g, where g is the newest column.

    The slope along the line is monotone. Its root is bracketed and found by Newton steps, or by
    doubling and bisection if the loss has no curvature or a step leaves the bracket. If the minimum
    is flat (all margins beyond the hinge), the shortest step is returned.
    """
    rows = problem.rows()
    loss = problem.loss
    is_curved = isinstance(loss, CurvedLoss)
    f = rows.values(coef)
    g = rows.A[:, newest]

    def slope_at(values: Matrix) -> float:
        return float((rows.slopes(values) * g).sum())

    start = slope_at(f)
    sign = -np.sign(start)
    flat = 1e-14 * abs(start)
    low = 0.0
    high = np.inf
    b = 0.0
    slope = -abs(start)
    values = f
    if start == 0.0:
        return 0.0
    for _ in range(200):
        bend = 0.0
        if is_curved:
            bend = rows.mean(loss.curvature(rows.y, values) * g**2)
        b = b - slope / bend if bend > 0.0 else np.inf
        if not low < b < high:
            b = 2.0 * low or 1.0
            if high < np.inf:
                b = 0.5 * (low + high)
        values = f + sign * b * g
        slope = sign * slope_at(values)
        if slope < -flat:
            low = b
        else:
            high = b
        if (is_curved and abs(slope) <= flat) or high - low <= 1e-15 * low:
            break
    return float(sign * b)
