"""The gain of an atom, and its refinement by gradient steps.

An atom g that enters the model lowers the loss, to second order, by a multiple of

    gain(g) = <r, g>^2 / (v(g) + lambda),   v(g) = (sum h g^2 - (sum h g)^2 / sum h) / m,

where r is the residual and h are the weights of the rows times `Loss.stiffness`, half the
curvature. The intercept absorbs the mean of the atom (the second term). The score of an atom is the
square root of its gain. Atoms are refined along the gradient of the log gain minus a
penalty for moving away from the start, which prevents overfitting on small data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from fcgboost.designs.base import TIE, Array
from fcgboost.dictionaries import LearnableDictionary

#: Shares of an atom's mean square, or largest values, below this are rounding.
ROUNDING = 1e-12
#: Directions kept by BFGS, and the length of the first step relative to the atom's.
MEMORY = 6
FIRST_STEP = 0.1
#: Sufficient increase, largest number of shorter steps, their factor, and the gain that ends.
INCREASE = 1e-4
N_SHORTER = 4
SHORTER = 0.4
LITTLE = 1e-3
#: Shift of offsets before the first step, relative to the atom's length: exactly at a kink,
#: rounding would decide the slope.
NUDGE = 1e-7
#: All of them, in the order of `_kernels.Search`.
CONSTANTS = (MEMORY, N_SHORTER, ROUNDING, INCREASE, SHORTER, LITTLE, FIRST_STEP, NUDGE, TIE)


@dataclass(frozen=True)
class Gain:
    """How gains are measured: the ridge lambda, whether there is an intercept, and m."""

    ridge: float
    is_centered: bool
    total_weight: float

    def scores(
        self,
        dots: Array,
        firsts: Array,
        squares: Array,
        active: float,
    ) -> Array:
        """Return |<r, g>| / (v(g) + lambda)^(1/2), or 0 for atoms that vanish."""
        size = self.size(firsts, squares, active)
        is_there = size > ROUNDING * squares / self.total_weight
        units = np.where(is_there, size, 1.0) ** 0.5
        return np.where(is_there, abs(dots) / units, 0.0)

    def size(self, firsts: Array, squares: Array, active: float) -> Array:
        """Return v(g) + lambda."""
        if self.is_centered:
            # Rounding must not make a constant column look useful.
            spread = squares - firsts * firsts / max(active, ROUNDING)
            squares = np.where(spread > ROUNDING * squares, spread, 0.0)
        return squares / self.total_weight + self.ridge


@dataclass(frozen=True)
class Task:
    """The data that atoms are refined on: standardised active rows, residuals and weights."""

    Z: Array
    residual: Array
    weights: Array
    gain: Gain

    def scores(self, G: Array) -> Array:
        """Return the scores of atoms from their values."""
        return self.gain.scores(
            self.residual @ G,
            self.weights @ G,
            self.weights @ (G * G),
            self.weights.sum(),
        )

    def look(self, dictionary: LearnableDictionary, theta: Array) -> tuple[float, Array]:
        """Return the log gain at unconstrained parameters, and its gradient."""
        Z = self.Z
        weights = self.weights
        total = self.weights.sum()
        atom = dictionary.bound(theta[None])
        ones = np.ones(Z.shape[1])
        g = dictionary.evaluate(Z, atom, ones)
        (score,) = self.scores(g)
        if not score > 0.0:
            return -math.inf, np.zeros(len(theta))
        first = weights @ g
        square = weights @ (g * g)
        size = self.gain.size(first, square, total)
        mean = first / total if self.gain.is_centered else 0.0
        V = self.residual[:, None] * (2.0 / (self.residual @ g))
        share = 2.0 / (size * self.gain.total_weight)
        V = V - weights[:, None] * (g - mean) * share
        (slope,) = dictionary.free_gradient(Z, theta[None], V)
        return 2.0 * math.log(score), slope


class _Move(NamedTuple):
    """A step, how much it changed the slope, and the inner product of both."""

    step: Array
    bend: Array
    curvature: float


def refine(
    dictionary: LearnableDictionary,
    task: Task,
    start: Array,
    max_steps: int,
    proximity: float,
) -> Array:
    """Maximise the gain by limited-memory BFGS; the last parameter is not pulled back."""
    square = start[:-1] @ start[:-1]
    hold = np.full(len(start), proximity / (square or 1.0))
    hold[-1] = 0.0

    def look(theta: Array) -> tuple[float, Array]:
        height, slope = task.look(dictionary, theta)
        away = theta - start
        return height - float(hold @ away**2), slope - 2.0 * hold * away

    theta = start
    (height, slope) = look(start)
    moves: list[_Move] = []
    for _ in range(max_steps):
        direction = _direction(theta, slope, moves[-MEMORY:])
        # Uphill, and no farther than the norm of the atom.
        direction = direction if direction @ slope > 0.0 else slope
        rise = float(direction @ slope)
        if not rise > 0.0:
            break
        step = min(1.0, float(norm(theta) / norm(direction)))
        for _ in range(N_SHORTER + 1):
            trial = theta + step * direction
            tried, after = look(trial)
            if tried >= height + INCREASE * step * rise:
                break
            step *= SHORTER
        else:
            break
        moved = trial - theta
        bent = slope - after
        gained = tried - height
        moves.append(_Move(moved, bent, float(moved @ bent)))
        theta = trial
        height = tried
        slope = after
        if not gained > LITTLE:
            break
    return theta


def _direction(theta: Array, slope: Array, moves: Sequence[_Move]) -> Array:
    """Return the BFGS direction: the approximate inverse curvature times the slope."""
    if not moves:
        steepness = norm(slope) or 1.0
        return slope * (FIRST_STEP * norm(theta) / steepness)
    # Moves without curvature are left out.
    curved = [move for move in moves if move.curvature > 0.0]
    q = slope
    shares = []
    for move in reversed(curved):
        share = move.step @ q / move.curvature
        q = q - share * move.bend
        shares.append(share)
    last = moves[-1]
    if last.curvature > 0.0:
        q = q * (last.curvature / (last.bend @ last.bend))
    for move, share in zip(curved, reversed(shares), strict=True):
        q = q + (share - move.bend @ q / move.curvature) * move.step
    return q
