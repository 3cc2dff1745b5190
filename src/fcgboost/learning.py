"""What an atom gains, and how it is refined to gain more.

An atom g that enters a model lowers the squared hinge, to second order, by a multiple of

    gain(g) = <r, g>^2 / (v(g) + lambda),   v(g) = (sum s g^2 - (sum s g)^2 / sum s) / m,

r being the residual, and the sums going over the active rows, those whose residual is not zero:
only there does the loss bend. The constant in the model takes the mean of the atom (the second
term). The score of an atom is the root of its gain. It is refined along the gradient of the
logarithm of the gain, less a pull back to where it started, which keeps small data from being
learned by heart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.arrays import beside, host, namespace
from fcgboost.backends.base import TIE, Array, Sums
from fcgboost.dictionaries import LearnableDictionary

#: A share of an atom's mean square below this is rounding.
ROUNDING = 1e-12
#: Sufficient increase, and how often a step is shortened, to which share.
INCREASE, N_SHORTER, SHORTER = 1e-4, 4, 0.4
#: Directions that are remembered.
MEMORY = 6
#: A step that gains less than this share is the last.
LITTLE = 1e-3
#: The length of the first step, as a share of the atom's.
FIRST_STEP = 0.1
#: How far offsets are moved before that: of a hinge that goes through a row, rounding would decide
#: whether the row has a slope.
NUDGE = 1e-7
#: An atom whose values are all below this is not made larger.
TINY = 1e-12
#: All of them, as `_kernels.Search` takes them.
CONSTANTS = (
    *(MEMORY, N_SHORTER, ROUNDING, INCREASE, SHORTER, LITTLE, FIRST_STEP, NUDGE, TINY, TIE),
)


@dataclass(frozen=True)
class Gain:
    """What gains are measured with: the ridge lambda, whether a constant is fitted, and m."""

    ridge: float
    is_centered: bool
    total_weight: float

    def scores(self, dots: Any, firsts: Any, squares: Any, active: Any) -> Any:
        """Return |<r, g>| / (v(g) + lambda)^(1/2), 0 for atoms that are nothing."""
        xp, size = namespace(dots), self.size(firsts, squares, active)
        is_there = size > ROUNDING * squares / self.total_weight
        return xp.where(is_there, abs(dots) / xp.sqrt(xp.where(is_there, size, 1.0)), 0.0)

    def size(self, firsts: Any, squares: Any, active: Any) -> Any:
        """Return v(g) + lambda."""
        if self.is_centered:
            # A column that is constant on the active rows gains nothing that is not there.
            spread = squares - firsts * firsts / max(active, ROUNDING)
            squares = namespace(squares).where(spread > ROUNDING * squares, spread, 0.0)
        return squares / self.total_weight + self.ridge

    def of_sums(self, sums: Sums, output: int) -> Array:
        """Return the scores of atoms for one output."""
        dots, firsts = sums.dots[:, output], sums.firsts[:, output]
        scores: Array = self.scores(dots, firsts, sums.squares[:, output], sums.active[output])
        return scores


@dataclass(frozen=True)
class Task:
    """What atoms are to go along with: standardised active rows, and their residual.

    Attributes
    ----------
    dictionary : LearnableDictionary
    Z : array of shape (n_rows, n_features)
    residual, weights : array of shape (n_rows,)
    gain : Gain
    """

    dictionary: LearnableDictionary
    Z: Any
    residual: Any
    weights: Any
    gain: Gain

    def scores(self, G: Any) -> Any:
        """Return the scores of atoms that have these values."""
        dots, firsts, squares = self.residual @ G, self.weights @ G, self.weights @ (G * G)
        return self.gain.scores(dots, firsts, squares, self.weights.sum())

    def height(self, theta: Array) -> float:
        """Return the logarithm of the gain of an atom."""
        (score,) = self.scores(self._values(theta))
        return 2.0 * math.log(score) if score > 0.0 else -math.inf

    def slope(self, theta: Array) -> Array:
        """Return the gradient of the height."""
        G, weights = self._values(theta), self.weights[:, None]
        dot, first, total = self.residual @ G, self.weights @ G, self.weights.sum()
        size = self.gain.size(first, self.weights @ (G * G), total) * self.gain.total_weight
        mean = first / total if self.gain.is_centered else 0.0
        V = self.residual[:, None] * (2.0 / dot) - weights * (G - mean) * (2.0 / size)
        (slope,) = host(self.dictionary.free_gradient(self.Z, beside(theta[None], self.Z), V))
        return np.asarray(slope)

    def _values(self, theta: Array) -> Any:
        atom, ones = self.dictionary.bound(theta[None]), np.ones(self.Z.shape[1])
        return self.dictionary.evaluate(self.Z, beside(atom, self.Z), beside(ones, self.Z))


def refine(task: Task, start: Array, max_steps: int, pull: float) -> Array:
    """Move an atom uphill by limited-memory BFGS; return where it ends.

    Parameters
    ----------
    task : Task
    start : ndarray of shape (n_parameters,)
        A vector without constraints.
    max_steps : int
    pull : float
        `pull` |w - w0|^2 / |w0|^2 is taken off the logarithm of the gain; w are all parameters but
        the last, an offset or a width.
    """
    hold = np.full(len(start), pull / (start[:-1] @ start[:-1] or 1.0))
    hold[-1] = 0.0

    def height_at(theta: Array) -> float:
        return task.height(theta) - float(hold @ (theta - start) ** 2)

    def slope_at(theta: Array) -> Array:
        return task.slope(theta) - 2.0 * hold * (theta - start)

    theta, height = start, height_at(start)
    moves: list[tuple[Array, Array, float]] = []
    slope = slope_at(start) if height > -math.inf else np.zeros(len(start))
    for _ in range(max_steps):
        direction = _direction(theta, slope, moves)
        direction = direction if direction @ slope > 0.0 else slope
        rise = float(direction @ slope)
        # Uphill, or not at all; and not farther than the atom is long.
        if not rise > 0.0:
            break
        step = min(1.0, float(_length(theta) / _length(direction)))
        for _ in range(N_SHORTER + 1):
            trial = theta + step * direction
            tried = height_at(trial)
            if tried >= height + INCREASE * step * rise:
                break
            step *= SHORTER
        else:
            break
        before, gained = slope, tried - height
        slope = slope_at(trial)
        moved, bent = trial - theta, before - slope
        moves = [*moves[1 - MEMORY :], (moved, bent, float(moved @ bent))]
        theta, height = trial, tried
        if not gained > LITTLE:
            break
    return theta


def _direction(theta: Array, slope: Array, moves: list[tuple[Array, Array, float]]) -> Array:
    """Return the inverse curvature times the slope, as far as the last moves tell."""
    if not moves:
        return slope * (FIRST_STEP * _length(theta) / (_length(slope) or 1.0))
    q, used = slope, []
    for moved, bent, curvature in reversed(moves):
        share = moved @ q / curvature if curvature > 0.0 else 0.0
        q = q - share * bent
        used.append((share, moved, bent, curvature))
    _, bent, curvature = moves[-1]
    q = q * (curvature / (bent @ bent) if curvature > 0.0 else 1.0)
    for share, moved, bent, curvature in reversed(used):
        q = q + (share - bent @ q / curvature) * moved if curvature > 0.0 else q
    return q


def _length(theta: Array) -> float:
    return math.sqrt(theta @ theta)
