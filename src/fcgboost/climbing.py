"""Climbs compiled by numba, where it is installed: one atom, from start to end, in one call.

What is done is what `learning.improve` does, with the same formulas; only sums are made in another
order. ReLU and Gauss atoms are known here. All sums run in one thread and without Python's lock.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from math import exp, log, sqrt
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from fcgboost.compiling import compiled
from fcgboost.dictionaries import Array, Dictionary, GaussDictionary, ReluDictionary

#: A share of an atom's mean square below this is rounding.
ROUNDING = 1e-12
#: Sufficient increase, and how often a step is shortened, to which share.
INCREASE, HALVINGS, SHORTER = 1e-4, 4, 0.4
#: Directions that are remembered.
MEMORY = 6
#: An iteration that gains less than this share ends the improvement.
LITTLE = 1e-3
#: The first step, as a share of the atom's length.
FIRST_STEP = 0.1

_RELU, _GAUSS = 0, 1
_COMPILING = Lock()


class Measure(NamedTuple):
    """What gains are measured with.

    Attributes
    ----------
    ridge, total_weight : float
    is_centered : bool
    """

    ridge: float
    total_weight: float
    is_centered: bool


def is_known(dictionary: Dictionary) -> bool:
    """Whether climbs of its atoms are compiled: depends on what is installed, not on the data."""
    return _kind(dictionary) is not None and _is_available()


def climb(
    dictionary: Dictionary,
    rows: tuple[Array, Array, Array],
    measure: Measure,
    start: Array,
    leash: Array,
    max_steps: int,
) -> Array:
    """Climb from one start; give where the climb ended.

    Parameters
    ----------
    dictionary : ReluDictionary or GaussDictionary
    rows : ndarrays of shape (n_rows, n_features), (n_rows,) and (n_rows,)
        Standardised rows, the residual and the weights.
    measure : Measure
    start, leash : ndarray of shape (n_parameters,)
        Vectors without constraints, and how strongly each entry is held.
    max_steps : int
    """
    theta = np.array(start, dtype=np.float64)
    Z, residual, weights = (np.ascontiguousarray(part, dtype=np.float64) for part in rows)
    numbers = float(measure.ridge), float(measure.total_weight), bool(measure.is_centered)
    held = np.ascontiguousarray(leash)
    _compiled()(_kind(dictionary), Z, residual, weights, *numbers, held, max_steps, theta)
    return theta


def _kind(dictionary: Dictionary) -> int | None:
    # Of a class derived from these nobody knows what it evaluates.
    return {ReluDictionary: _RELU, GaussDictionary: _GAUSS}.get(type(dictionary))


@cache
def _is_available() -> bool:
    return importlib.util.find_spec("numba") is not None


def _compiled() -> Callable[..., None]:
    # Threads that come first, at once, must not all compile.
    with _COMPILING:
        return _compile_climb()


@cache
def _compile_climb() -> Callable[..., None]:
    from numba import boolean, float64, int64, types, void
    from numba.extending import register_jitable

    # Sums may be reordered, so that they become vector instructions; inf and NaN are kept.
    options = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}
    for helper in (_add, _dot, _height, _look, _slope, _direction, _values, _size):
        register_jitable(**options)(helper)

    def given(n_axes: int) -> Any:
        return types.Array(float64, n_axes, "C", readonly=True)

    matrix, vector, out = given(2), given(1), float64[::1]
    numbers = float64, float64, boolean
    climbs = void(int64, matrix, vector, vector, *numbers, vector, int64, out)
    return compiled(_climb, climbs, **options)  # type: ignore[no-any-return]


# What follows is compiled.


def _climb(
    kind: int,
    Z: Array,
    residual: Array,
    weights: Array,
    ridge: float,
    m: float,
    is_centered: bool,
    leash: Array,
    max_steps: int,
    theta: Array,
) -> None:
    """Move theta uphill."""
    size, n_rows = len(theta), len(Z)
    start, active, radii = theta.copy(), 0.0, np.zeros(n_rows)
    for i in range(n_rows):
        active += weights[i]
        radii[i] = _dot(Z[i], Z[i])
    rows, numbers = (Z, residual, weights, radii), (ridge, m, is_centered, active)
    values, slope = np.empty(n_rows), np.zeros(size)
    moved, bent = np.zeros((max_steps, size)), np.zeros((max_steps, size))
    curvature, direction, trial = np.zeros(max_steps), np.zeros(size), np.zeros(size)
    height, sums = _look(kind, rows, numbers, start, leash, theta, values)
    for k in range(max_steps):
        _slope(kind, rows, numbers, start, leash, theta, values, sums, slope)
        if k > 0:
            for j in range(size):
                bent[k - 1, j] -= slope[j]
            curvature[k - 1] = _dot(moved[k - 1], bent[k - 1])
        rise = _direction(theta, slope, moved, bent, curvature, k, direction)
        if not rise > 0.0:
            return
        # Not farther than the atom is long.
        step = min(1.0, sqrt(_dot(theta, theta)) / sqrt(_dot(direction, direction)))
        tried, n_trials, needed = height, 0, np.inf
        while not tried >= needed and n_trials <= HALVINGS:
            step = step * SHORTER if n_trials > 0 else step
            for j in range(size):
                trial[j] = theta[j] + step * direction[j]
            tried, sums = _look(kind, rows, numbers, start, leash, trial, values)
            needed = height + INCREASE * step * rise
            n_trials += 1
        if not tried >= needed or not tried > height:
            return
        for j in range(size):
            bent[k, j], moved[k, j], theta[j] = slope[j], trial[j] - theta[j], trial[j]
        if not tried > height + LITTLE:
            return
        height = tried


def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


def _values(kind: int, rows: Any, theta: Array, values: Array) -> None:
    """Set the values of an atom."""
    Z, _, _, radii = rows
    d = Z.shape[1]
    weights, last = theta[:d], theta[d]
    if kind == _RELU:
        for i in range(len(values)):
            values[i] = max(_dot(Z[i], weights) + last, 0.0)
    else:
        steepness, length = 0.5 * exp(-2.0 * last), _dot(weights, weights)
        for i in range(len(values)):
            # Only rounding can make a square negative.
            square = max(radii[i] - 2.0 * _dot(Z[i], weights) + length, 0.0)
            values[i] = exp(-steepness * square)


def _size(numbers: Any, firsts: float, squares: float) -> float:
    """Give v(g) + lambda."""
    ridge, m, is_centered, active = numbers
    if is_centered:
        spread = squares - firsts * firsts / max(active, ROUNDING)
        squares = spread if spread > ROUNDING * squares else 0.0
    size: float = squares / m + ridge
    return size


def _height(numbers: Any, dot: float, firsts: float, squares: float) -> float:
    """Give the logarithm of the gain."""
    size = _size(numbers, firsts, squares)
    if not size > ROUNDING * squares / numbers[1] or dot == 0.0:
        return -np.inf
    return 2.0 * log(abs(dot) / sqrt(size))


def _look(
    kind: int, rows: Any, numbers: Any, start: Array, leash: Array, theta: Array, values: Array
) -> tuple[float, tuple[float, float, float]]:
    """Set the values of an atom; give its height less the pull, and sums over the rows."""
    _values(kind, rows, theta, values)
    _, residual, weights, _ = rows
    dot, firsts, squares, pull = 0.0, 0.0, 0.0, 0.0
    for i in range(len(values)):
        g, s = values[i], weights[i]
        dot += residual[i] * g
        firsts += s * g
        squares += s * g * g
    for j in range(len(theta)):
        pull += leash[j] * (theta[j] - start[j]) * (theta[j] - start[j])
    return _height(numbers, dot, firsts, squares) - pull, (dot, firsts, squares)


def _slope(
    kind: int,
    rows: Any,
    numbers: Any,
    start: Array,
    leash: Array,
    theta: Array,
    values: Array,
    sums: tuple[float, float, float],
    slope: Array,
) -> None:
    """Set the gradient of the height; the values of the atom are spent."""
    Z, residual, weights, radii = rows
    (dot, firsts, squares), d = sums, Z.shape[1]
    _, m, is_centered, active = numbers
    along = 2.0 / (dot if dot != 0.0 else 1.0)
    across = 2.0 / (m * _size(numbers, firsts, squares))
    mean = firsts / active if is_centered else 0.0
    mass, spread = 0.0, 0.0
    for j in range(len(slope)):
        slope[j] = 0.0
    for i in range(len(values)):
        g = values[i]
        # Where a ReLU atom is zero it has no slope, and a Gauss atom hardly has one.
        if g > 0.0:
            pull = residual[i] * along - weights[i] * (g - mean) * across
            pull = pull * g if kind == _GAUSS else pull
            spread += pull * radii[i]
            mass += pull
            for j in range(d):
                slope[j] += pull * Z[i, j]
    slope[d] = mass
    if kind == _GAUSS:
        steepness, inner = exp(-2.0 * theta[d]), 0.0
        for j in range(d):
            slope[j] -= mass * theta[j]
            # |z - c|^2 = |z|^2 - |c|^2 - 2 <z - c, c>
            inner += mass * theta[j] * theta[j] + 2.0 * slope[j] * theta[j]
            slope[j] *= steepness
        slope[d] = (spread - inner) * steepness
    for j in range(len(theta)):
        slope[j] -= 2.0 * leash[j] * (theta[j] - start[j])


def _direction(
    theta: Array,
    slope: Array,
    moved: Array,
    bent: Array,
    curvature: Array,
    k: int,
    direction: Array,
) -> float:
    """Set the inverse curvature times the slope, as far as the last moves tell; give its rise."""
    size, first, shares = len(slope), max(0, k - MEMORY), np.zeros(k)
    for j in range(size):
        direction[j] = slope[j]
    for i in range(k - 1, first - 1, -1):
        if curvature[i] > 0.0:
            shares[i] = _dot(moved[i], direction) / curvature[i]
            _add(direction, -shares[i], bent[i])
    ratio, length = 1.0, _dot(slope, slope)
    if k == 0:
        ratio = FIRST_STEP * sqrt(_dot(theta, theta)) / sqrt(length if length != 0.0 else 1.0)
    elif curvature[k - 1] > 0.0:
        ratio = curvature[k - 1] / _dot(bent[k - 1], bent[k - 1])
    for j in range(size):
        direction[j] *= ratio
    for i in range(first, k):
        if curvature[i] > 0.0:
            _add(direction, shares[i] - _dot(bent[i], direction) / curvature[i], moved[i])
    rise = _dot(direction, slope)
    if rise > 0.0:
        return rise
    for j in range(size):
        direction[j] = slope[j]
    return length


def _add(direction: Array, factor: float, other: Array) -> None:
    for j in range(len(direction)):
        direction[j] += factor * other[j]
