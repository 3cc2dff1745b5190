"""Which atoms leave again: those that later ones have made superfluous.

After a correction the atom that would be missed least is looked for. At a solution u of the
corrective problem with Hessian H, the quadratic model says that the objective rises by

    u_j^2 / (2 [H^-1]_jj)

if atom j leaves and all other coefficients are corrected. Newton's method has H already. The model
also says where the others go, u - (u_j / [H^-1]_jj) H^-1 e_j, and what the objective really is at
that point decides: correction can only lower it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from fcgboost.designs.base import Array
from fcgboost.greedy.outputs import Group, Output
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
        """Check share."""
        check_positive(self, "share")
        if self.share >= 1.0:
            raise ValueError(f"Removal: share must be less than 1, got {self.share!r}.")

    def limit(self, before: float, after: float) -> float:
        """Return what the objective may rise to again after a step that lowered it."""
        return after + self.share * max(0.0, before - after)


@dataclass(frozen=True)
class Departure:
    """A column that may go, and for every output the best point without it."""

    column: int
    points: list[Point]

    @property
    def objective(self) -> float:
        """The sum of the outputs' objectives."""
        return sum(point.objective for point in self.points)


def least_missed(group: Group, newest: Sequence[int], limit: float) -> Departure | None:
    """Find the atom that would be missed least, and points without it.

    Parameters
    ----------
    group : Group
        Every output at its solution.
    newest : sequence of int
        Columns that stay.
    limit : float
        What the sum of the objectives may be.

    Returns
    -------
    Departure or None
        None if it would be larger, by the quadratic model or in truth.
    """
    inverses = [_inverse_hessian(output) for output in group.outputs]
    pairs = list(zip(group.outputs, inverses, strict=True))
    rises = np.sum([output.coef**2 / (2.0 * np.diag(H)) for output, H in pairs], axis=0)
    rises[: int(group.columns.has_constant)] = np.inf
    rises[list(newest)] = np.inf
    least = rises.min(initial=np.inf)
    if least == np.inf or least > limit - group.objective:
        return None
    j = int(np.flatnonzero(rises <= (1.0 + _TIE) * least)[0])
    found = Departure(j, [_point_without(output, j, H) for output, H in pairs])
    return found if found.objective <= limit else None


def _point_without(output: Output, j: int, inverse: Array) -> Point:
    """Return the point at which the quadratic model without a column is lowest."""
    coef = output.coef - output.coef[j] / inverse[j, j] * inverse[:, j]
    coef[j] = 0.0
    return output.problem.look(coef)


def _inverse_hessian(output: Output) -> Array:
    """Return the inverse of the Hessian of the objective, a k x k matrix."""
    hessian = output.problem.look(output.coef).gram
    assert hessian is not None
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
    group: Group, newest: Sequence[int], limit: float, correct: Correct
) -> tuple[list[Solution], list[int]]:
    """Let atoms leave as long as the objective stays within a limit.

    Parameters
    ----------
    group : Group
        Every output at its solution.
    newest : sequence of int
        The columns of the newest atoms, which stay.
    limit : float
        What the sum of the objectives may be.
    correct : callable

    Returns
    -------
    list of Solution, list of int
        The corrections, and the positions of the atoms that left.
    """
    solutions: list[Solution] = []
    gone = []
    while (found := least_missed(group, newest, limit)) is not None:
        newest = [j - (j > found.column) for j in newest]
        gone.append(group.drop(found.column))
        for output, point in zip(group.outputs, found.points, strict=True):
            output.coef = start = np.delete(point.coef, found.column)
            solutions.append(correct(output, newest[-1]))
            if output.objective > point.objective:
                # A solver that is stopped early may end above where it began.
                output.coef, output.objective = start, point.objective
    return solutions, gone
