"""The gain of an atom, and its refinement by gradient steps.

An atom g that enters the model lowers the squared hinge, to second order, by a multiple of

    gain(g) = <r, g>^2 / (v(g) + lambda),   v(g) = (sum s g^2 - (sum s g)^2 / sum s) / m,

where r is the residual and the sums are over the active rows, those with a non-zero residual: only
there is the loss curved. The intercept absorbs the mean of the atom (the second term). The score of
an atom is the square root of its gain. Atoms are refined along the gradient of the log gain minus a
penalty for moving away from the start, which prevents overfitting on small data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import norm

from fcgboost.designs.base import TIE, Array
from fcgboost.dictionaries import LearnableDictionary

#: Shares of an atom's mean square, or largest values, below this are rounding.
ROUNDING = 1e-12
#: Directions kept by BFGS, and the length of the first step relative to the atom's.
MEMORY, FIRST_STEP = 6, 0.1
#: Sufficient increase, largest number of shorter steps, their factor, and the gain that ends.
INCREASE, N_SHORTER, SHORTER, LITTLE = 1e-4, 4, 0.4, 1e-3
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

    def scores(self, dots: Any, firsts: Any, squares: Any, active: Any) -> Any:
        """Return |<r, g>| / (v(g) + lambda)^(1/2), or 0 for atoms that vanish."""
        size = self.size(firsts, squares, active)
        is_there = size > ROUNDING * squares / self.total_weight
        return np.where(is_there, abs(dots) / np.where(is_there, size, 1.0) ** 0.5, 0.0)

    def size(self, firsts: Any, squares: Any, active: Any) -> Any:
        """Return v(g) + lambda."""
        if self.is_centered:
            # Rounding must not make a constant column look useful.
            spread = squares - firsts * firsts / max(active, ROUNDING)
            squares = np.where(spread > ROUNDING * squares, spread, 0.0)
        return squares / self.total_weight + self.ridge


@dataclass(frozen=True)
class Task:
    """The data that atoms are refined on: standardised active rows, residuals and weights."""

    dictionary: LearnableDictionary
    Z: Any
    residual: Any
    weights: Any
    gain: Gain

    def scores(self, G: Any) -> Any:
        """Return the scores of atoms from their values."""
        dots, firsts, squares = self.residual @ G, self.weights @ G, self.weights @ (G * G)
        return self.gain.scores(dots, firsts, squares, self.weights.sum())

    def look(self, theta: Array) -> tuple[float, Array]:
        """Return the log gain at unconstrained parameters, and its gradient."""
        Z, dictionary, weights, total = self.Z, self.dictionary, self.weights, self.weights.sum()
        g = dictionary.evaluate(Z, dictionary.bound(theta[None]), np.ones(Z.shape[1]))
        (score,) = self.scores(g)
        if not score > 0.0:
            return -math.inf, np.zeros(len(theta))
        first = weights @ g
        size = self.gain.size(first, weights @ (g * g), total)
        mean = first / total if self.gain.is_centered else 0.0
        V = self.residual[:, None] * (2.0 / (self.residual @ g))
        V = V - weights[:, None] * (g - mean) * (2.0 / (size * self.gain.total_weight))
        (slope,) = dictionary.free_gradient(Z, theta[None], V)
        return 2.0 * math.log(score), np.asarray(slope)


def refine(task: Task, start: Array, max_steps: int, pull: float) -> Array:
    """Maximise the gain by limited-memory BFGS; the last parameter is not pulled back."""
    hold = np.full(len(start), pull / (start[:-1] @ start[:-1] or 1.0))
    hold[-1] = 0.0

    def look(theta: Array) -> tuple[float, Array]:
        (height, slope), away = task.look(theta), theta - start
        return height - float(hold @ away**2), slope - 2.0 * hold * away

    theta, (height, slope) = start, look(start)
    moves: list[tuple[Array, Array, float]] = []
    for _ in range(max_steps):
        direction = _direction(theta, slope, moves)
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
        moved, bent, gained = trial - theta, slope - after, tried - height
        moves = [*moves[1 - MEMORY :], (moved, bent, float(moved @ bent))]
        theta, height, slope = trial, tried, after
        if not gained > LITTLE:
            break
    return theta


def _direction(theta: Array, slope: Array, moves: list[tuple[Array, Array, float]]) -> Array:
    """Return the BFGS direction: the approximate inverse curvature times the slope."""
    if not moves:
        return slope * (FIRST_STEP * norm(theta) / (norm(slope) or 1.0))
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
