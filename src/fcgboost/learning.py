"""Improving atoms on their own parameters: how much one gains, and which way it gains more.

An atom g that enters a model lowers the squared hinge, to second order, by a multiple of

    gain(g) = <r, g>^2 / (v(g) + lambda),   v(g) = (sum s g^2 - (sum s g)^2 / sum s) / m,

r being the residual, and the sums going over the active rows, those whose residual is not zero:
only there does the loss bend. The constant in the model takes the mean of the atom (the second
term). The score of an atom is the root of its gain. It is improved along the gradient of the
logarithm of the gain, less a pull back to where it started, which keeps small data from being
learned by heart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost import _kernels
from fcgboost.arrays import namespace
from fcgboost.designs.base import Array, Sums
from fcgboost.dictionaries import GaussDictionary, LearnableDictionary, ReluDictionary

# The numbers below are also those of `_kernels/refine.c`.
# A share of an atom's mean square below this is rounding.
ROUNDING = 1e-12
# Sufficient increase, and how often a step is shortened, to which share.
INCREASE, HALVINGS, SHORTER = 1e-4, 4, 0.4
# Directions that are remembered.
MEMORY = 6
# An iteration that gains less than this share ends the improvement.
LITTLE = 1e-3
# The first step, as a share of the atom's length.
FIRST_STEP = 0.1

# Families whose climbs are compiled. Of a class derived from these nobody knows what it evaluates.
_COMPILED = {ReluDictionary: _kernels.RELU, GaussDictionary: _kernels.GAUSS}


@dataclass(frozen=True)
class Yardstick:
    """What scores are divided by.

    Attributes
    ----------
    ridge : float
        Lambda.
    is_centered : bool
        Whether a constant is in the model.
    total_weight : float
        m.
    """

    ridge: float
    is_centered: bool
    total_weight: float

    def scores(self, dots: Any, firsts: Any, squares: Any, active: Any) -> Any:
        """Return |<r, g>| / (v(g) + lambda)^(1/2), 0 for atoms that are nothing."""
        xp = namespace(dots)
        size = self.size(firsts, squares, active)
        is_there = size > ROUNDING * squares / self.total_weight
        return xp.where(is_there, xp.abs(dots) / xp.sqrt(xp.where(is_there, size, 1.0)), 0.0)

    def size(self, firsts: Any, squares: Any, active: Any) -> Any:
        """Return v(g) + lambda."""
        if self.is_centered:
            xp = namespace(squares)
            # A column that is constant on the active rows gains nothing that is not there.
            spread = squares - firsts * firsts / xp.clip(active, ROUNDING, None)
            squares = xp.where(spread > ROUNDING * squares, spread, 0.0)
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
    yardstick : Yardstick
    """

    dictionary: LearnableDictionary
    Z: Any
    residual: Any
    weights: Any
    yardstick: Yardstick

    def values(self, theta: Any) -> Any:
        """Return the values of atoms, of shape (n_rows, n_atoms)."""
        ones = namespace(self.Z).ones_like(self.Z[0])
        return self.dictionary.evaluate(self.Z, self.dictionary.bound(theta), ones)

    def scores(self, theta: Any) -> Any:
        """Return the scores of atoms at these rows."""
        return self.scores_of(self.values(theta))

    def scores_of(self, G: Any) -> Any:
        """Return the scores of atoms that have these values."""
        squares = self.weights @ (G * G)
        active = self.weights.sum()
        return self.yardstick.scores(self.residual @ G, self.weights @ G, squares, active)

    def height(self, G: Any) -> Any:
        """Return the logarithm of the gains."""
        xp, scores = namespace(G), self.scores_of(G)
        return xp.where(scores > 0.0, 2.0 * xp.log(xp.where(scores > 0.0, scores, 1.0)), -np.inf)

    def slope(self, theta: Any, G: Any) -> Any:
        """Return the gradient of the logarithm of the gains in theta."""
        m = self.yardstick.total_weight
        firsts, squares = self.weights @ G, self.weights @ (G * G)
        size = self.yardstick.size(firsts, squares, self.weights.sum())
        mean = firsts / self.weights.sum() if self.yardstick.is_centered else 0.0
        V = self.residual[:, None] * (2.0 / _not_zero(self.residual @ G))
        V = V - self.weights[:, None] * (G - mean) * (2.0 / (m * size))
        return self.dictionary.free_gradient(self.Z, theta, V)


def improve(task: Task, start: Any, max_steps: int, pull: float) -> Any:
    """Climb from every start by limited-memory BFGS; give where the climbs ended.

    Parameters
    ----------
    task : Task
    start : array of shape (n_atoms, n_parameters)
        Vectors without constraints.
    max_steps : int
    pull : float
        `pull` |w - w0|^2 / |w0|^2 is taken off the logarithm of the gain; w are all parameters but
        the last, an offset or a width.
    """
    family = _COMPILED.get(type(task.dictionary))
    if family is None or namespace(task.Z) is not np:
        return improve_any(task, start, max_steps, pull)
    y, rows = task.yardstick, (task.Z, task.residual, task.weights)
    gain = float(y.ridge), float(y.total_weight), bool(y.is_centered)
    return np.array(
        [
            _kernels.refine(family, rows, gain, one, leash, max_steps)
            for one, leash in zip(start, _leash(start, pull), strict=True)
        ]
    )


def improve_any(task: Task, start: Any, max_steps: int, pull: float) -> Any:
    """Do what `improve` does, for arrays of any kind and any dictionary."""
    climb = _Climb(task, start, pull)
    for _ in range(max_steps):
        if not climb.step():
            break
    return climb.theta


class _Climb:
    """The state of a climb, for several atoms side by side."""

    def __init__(self, task: Task, start: Any, pull: float) -> None:
        self._task, self._start = task, start
        self._xp = namespace(start)
        self._leash = _leash(start, pull)
        self.theta = start
        self._height, self._slope = self._look(start)
        self._has_ended = self._height != self._height  # none has
        self._moves: list[tuple[Any, Any, Any]] = []

    def step(self) -> bool:
        """Move the atoms uphill that still gain; say whether one of them may go on."""
        xp, direction = self._xp, self._direction()
        rise = (direction * self._slope).sum(1)
        # Uphill, or not at all; and not farther than the atom is long.
        direction = xp.where((rise > 0.0)[:, None], direction, self._slope)
        rise = (direction * self._slope).sum(1)
        lengths, reach = _lengths(direction), _lengths(self.theta)
        step = xp.clip(reach / _not_zero(lengths), None, 1.0)
        better, height = self.theta, self._height
        is_done = self._has_ended | ~(rise > 0.0)
        for _ in range(HALVINGS + 1):
            trial = self.theta + (step * ~is_done)[:, None] * direction
            tried = self._height_at(trial)
            good = (tried >= self._height + INCREASE * step * rise) & ~is_done
            better = xp.where(good[:, None], trial, better)
            height = xp.where(good, tried, height)
            is_done = is_done | good
            if bool(is_done.all()):
                break
            step = SHORTER * step
        self._has_ended = self._has_ended | ~(height > self._height + LITTLE)
        if not bool((height > self._height).any()):
            return False
        self._move(better)
        return not bool(self._has_ended.all())

    def _move(self, theta: Any) -> None:
        height, slope = self._look(theta)
        moved, bent = theta - self.theta, self._slope - slope
        curvature = (moved * bent).sum(1)
        self._moves = [*self._moves[-MEMORY + 1 :], (moved, bent, curvature)]
        self.theta, self._height, self._slope = theta, height, slope

    def _direction(self) -> Any:
        """Return the inverse curvature times the slope, as far as the last moves tell."""
        xp, q, used = self._xp, self._slope, []
        for moved, bent, curvature in reversed(self._moves):
            share = xp.where(curvature > 0.0, (moved * q).sum(1) / _not_zero(curvature), 0.0)
            q = q - share[:, None] * bent
            used.append((share, moved, bent, curvature))
        if self._moves:
            _, bent, curvature = self._moves[-1]
            ratio = curvature / _not_zero((bent * bent).sum(1))
            q = q * xp.where(curvature > 0.0, ratio, 1.0)[:, None]
        else:
            q = q * (FIRST_STEP * _lengths(self.theta) / _not_zero(_lengths(q)))[:, None]
        for share, moved, bent, curvature in reversed(used):
            back = xp.where(curvature > 0.0, (bent * q).sum(1) / _not_zero(curvature), 0.0)
            q = q + xp.where(curvature > 0.0, share - back, 0.0)[:, None] * moved
        return q

    def _look(self, theta: Any) -> tuple[Any, Any]:
        G = self._task.values(theta)
        away = theta - self._start
        slope = self._task.slope(theta, G) - 2.0 * self._leash * away
        return self._leashed(self._task.height(G), away), slope

    def _height_at(self, theta: Any) -> Any:
        return self._leashed(self._task.height(self._task.values(theta)), theta - self._start)

    def _leashed(self, height: Any, away: Any) -> Any:
        return height - (self._leash * away * away).sum(1)


def _leash(start: Any, pull: float) -> Any:
    """Say how strongly every parameter is held."""
    leash = namespace(start).ones_like(start)
    leash[:, -1] = 0.0
    length = (leash * start * start).sum(1, keepdims=True)
    return pull * leash / _not_zero(length)


def _lengths(theta: Any) -> Any:
    return namespace(theta).sqrt((theta * theta).sum(1))


def _not_zero(values: Any) -> Any:
    return namespace(values).where(values == 0.0, 1.0, values)
