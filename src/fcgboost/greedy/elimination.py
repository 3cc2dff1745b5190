"""Which atoms leave again: those that later ones have made superfluous.

After a correction the atom that would be missed least is looked for. At a solution u of the
corrective problem with Hessian H, the quadratic model says that the objective rises by

    u_j^2 / (2 [H^-1]_jj)

if atom j leaves and all other coefficients are corrected. Newton's method has H already. The model
also says where the others go, u - (u_j / [H^-1]_jj) H^-1 e_j, and what the objective really is at
that point decides: correction can only lower it from there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from fcgboost.designs.base import Array
from fcgboost.greedy.outputs import Output
from fcgboost.parts import Part, check_positive
from fcgboost.solvers.base import Point, Solution

# Relative to the diagonal: keeps the inverse finite where atoms depend on each other.
_JITTER = 1e-10
# Rises within this share of the least are ties, which go to the oldest atom: rounding on another
# machine must not decide who leaves.
_TIE = 1e-6


class Removal(Part):
    """Atoms leave when what they give is small beside what the newest one gave.

    After the correction of a step, the atom that would be missed least leaves as long as the
    objective rises by no more than `share` times what the step has gained, all atoms that leave in
    the step taken together (after T. Zhang, "Adaptive forward-backward greedy algorithm for
    learning sparse representations", IEEE Trans. Inform. Theory 57, 2011). So every step lowers the
    objective by at least 1 - share of its gain, and the loop cannot run in circles. An atom that
    left may be chosen again.

    Parameters
    ----------
    share : float, default=0.5
        Between 0 and 1.
    """

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def check_parameters(self) -> None:
        check_positive(self, "share")
        if self.share >= 1.0:
            raise ValueError(f"Removal: share must be less than 1, got {self.share!r}.")

    def limit(self, before: float, after: float) -> float:
        """Return what the objective may rise to again after a step that lowered it."""
        return after + self.share * max(0.0, before - after)


def least_missed(output: Output, newest: int, limit: float) -> tuple[int, Point] | None:
    """Find the column of a solved output that is missed least, and the best point without it.

    The newest column stays. None if the objective would be above the limit, by the quadratic model
    or in truth.
    """
    inverse = _inverse_hessian(output)
    rises = output.coef**2 / (2.0 * np.diag(inverse))
    rises[: int(output.columns.has_constant)] = np.inf
    rises[newest] = np.inf
    least = rises.min()
    if least == np.inf or least > limit - output.objective:
        return None
    j = int(np.flatnonzero(rises <= (1.0 + _TIE) * least)[0])
    # Where the quadratic model without the column is lowest.
    coef = output.coef - output.coef[j] / inverse[j, j] * inverse[:, j]
    coef[j] = 0.0
    point = output.problem.look(coef)
    return (j, point) if point.objective <= limit else None


def _inverse_hessian(output: Output) -> Array:
    """Return the inverse of the Hessian of the objective, a k x k matrix."""
    hessian = output.problem.gram(output.problem.look(output.coef))
    np.einsum("ii->i", hessian)[:] += 2.0 * output.problem.penalty
    sizes = np.sqrt(np.diag(hessian))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = hessian / (sizes[:, None] * sizes)
    np.einsum("ii->i", scaled)[:] += _JITTER
    inverse: Array = linalg.inv(scaled) / (sizes[:, None] * sizes)
    return inverse


#: Corrects the coefficients of an output; is given the column of the newest atom.
Correct = Callable[[Output, int], Solution]


def eliminate(
    output: Output, newest: int, limit: float, correct: Correct
) -> tuple[list[Solution], list[int]]:
    """Let atoms leave an output at its solution as long as the objective stays within a limit.

    The newest column stays. Return the corrections, and the positions of the atoms that left.
    """
    solutions: list[Solution] = []
    gone = []
    while (found := least_missed(output, newest, limit)) is not None:
        column, point = found
        newest -= newest > column
        gone.append(output.drop(column))
        output.coef = start = np.delete(point.coef, column)
        solutions.append(correct(output, newest))
        if output.objective > point.objective:
            # A solver that is stopped early may end above where it began.
            output.coef, output.objective = start, point.objective
    return solutions, gone
