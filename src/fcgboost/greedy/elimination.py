"""Removal of atoms that later ones have made superfluous.

At a solution u of the corrective problem with Hessian H, the quadratic model predicts that the
objective rises by

    u_j^2 / (2 [H^-1]_jj)

if atom j is removed and all other coefficients are corrected, to u - (u_j / [H^-1]_jj) H^-1 e_j.
The true objective at that point decides: correction can only lower it from there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from fcgboost.designs.base import Array
from fcgboost.greedy.outputs import Output
from fcgboost.parts import Part, check_positive
from fcgboost.solvers.base import QuadraticModel, Solution

# Relative to the diagonal; keeps the inverse finite if atoms are linearly dependent.
_JITTER = 1e-10
# Rises within this share of the least are ties, which go to the oldest atom, so that rounding does
# not decide.
_TIE = 1e-6


class Removal(Part):
    """Remove atoms whose contribution is small compared with the newest one's.

    After the correction of a step, the least useful atom is removed as long as all removals of the
    step together raise the objective by at most `share` times the step's gain (after T. Zhang,
    "Adaptive forward-backward greedy algorithm for learning sparse representations", IEEE Trans.
    Inform. Theory 57, 2011). So every step keeps at least 1 - share of its gain, and the loop
    cannot cycle. A removed atom may be chosen again.

    Parameters
    ----------
    share : float, default=0.5
        Between 0 and 1, both excluded.
    """

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def check_parameters(self) -> None:
        check_positive(self, "share")
        if self.share >= 1.0:
            raise ValueError(f"Removal: share must be less than 1, got {self.share!r}.")

    def limit(self, before: float, after: float) -> float:
        """Return the largest objective that removals after a step may lead to."""
        return after + self.share * max(0.0, before - after)


def least_missed(output: Output, newest: int, limit: float) -> tuple[int, QuadraticModel] | None:
    """Return the least useful column of a solved output but the newest, and the point without it.

    None if the objective would exceed the limit, by the quadratic model or in truth.
    """
    inverse = _inverse_hessian(output)
    rises = output.coef**2 / (2.0 * np.diag(inverse))
    rises[: int(output.columns.has_constant)] = np.inf
    rises[newest] = np.inf
    least = rises.min()
    if least == np.inf or least > limit - output.objective:
        return None
    j = int(np.flatnonzero(rises <= (1.0 + _TIE) * least)[0])
    # The minimum of the quadratic model without the column.
    share = output.coef[j] / inverse[j, j]
    coef = output.coef - share * inverse[:, j]
    coef[j] = 0.0
    point = output.problem.expand(coef)
    return (j, point) if point.objective <= limit else None


def _inverse_hessian(output: Output) -> Array:
    point = output.problem.expand(output.coef, output.state)
    hessian = output.problem.gram(point)
    np.einsum("ii->i", hessian)[:] += 2.0 * output.problem.penalty
    sizes = np.sqrt(np.diag(hessian))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = hessian / (sizes[:, None] * sizes)
    np.einsum("ii->i", scaled)[:] += _JITTER
    inverse: Array = linalg.inv(scaled) / (sizes[:, None] * sizes)
    return inverse


#: Corrects the coefficients of an output, given the column of the newest atom.
Correct = Callable[[Output, int], Solution]


def eliminate(
    output: Output, newest: int, limit: float, correct: Correct
) -> tuple[list[Solution], list[int]]:
    """Remove atoms from a solved output while the objective stays within a limit.

    The newest column stays. Return the corrections and the positions of the removed atoms.
    """
    solutions: list[Solution] = []
    removed = []
    while (least := least_missed(output, newest, limit)) is not None:
        column, point = least
        newest -= newest > column
        removed.append(output.drop(column))
        output.coef = start = np.delete(point.coef, column)
        solutions.append(correct(output, newest))
        if output.objective > point.objective:
            # A solver that stops early may end above its start.
            output.coef = start
            output.objective = point.objective
            output.state = None
    return solutions, removed
