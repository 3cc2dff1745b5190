"""The data sets of the playground: noisy training data, clean test data, and what is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_circles, make_moons

from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.web.settings import Settings

Array = NDArray[np.float64]

N_TEST = 2000
# Odd, so that the centre is a point of the grid.
N_GRID = 101
# Points that stand for a moon or a ring without its scatter; they are closer than it is wide.
_N_ON_SHAPE = 100


@dataclass(frozen=True)
class Sample:
    """Noisy training data, their labels before noise, and clean test data; labels are -1 and 1."""

    X: Array
    y: Array
    clean: Array
    X_test: Array
    y_test: Array


# Sets of scikit-learn, whose points scatter ("noise") around two curves.
_SHAPES: dict[str, tuple[Callable[..., Any], dict[str, float]]] = {
    "moons": (make_moons, {"noise": 0.15}),
    "rings": (make_circles, {"noise": 0.12, "factor": 0.5}),
}
# What the page shows of the plane.
_FRAMES = {
    "simulation": ((-0.02, 1.02), (-0.02, 1.02)),
    "moons": ((-1.6, 2.6), (-1.1, 1.6)),
    "rings": ((-1.5, 1.5), (-1.5, 1.5)),
}


def draw(settings: Settings) -> Sample:
    """Draw the data of some settings."""
    m, seed = settings.n_samples, settings.seed
    if settings.data == "simulation":
        X, y = make_simulation(m, random_state=seed, **_noise(settings))
        X_test, y_test = make_simulation(N_TEST, noise=None, random_state=seed + 1)
        return Sample(X, y, np.where(truth("simulation", X) >= 0.0, 1.0, -1.0), X_test, y_test)
    make, options = _SHAPES[settings.data]
    X, label = make(m, random_state=seed, **options)
    X_test, label_test = make(N_TEST, random_state=seed + 1, **options)
    clean, y = 2.0 * label - 1.0, 2.0 * label - 1.0
    if settings.noise == "uniform":
        y[np.random.default_rng(seed).uniform(size=m) < settings.level] *= -1.0
    return Sample(X, y, clean, X_test, 2.0 * label_test - 1.0)


def truth(data: str, points: Array) -> Array:
    """Return values that are positive where the best rule says +1, and 0 at its boundary.

    Of points that scatter, the logarithm of how much likelier +1 is than -1.
    """
    if data == "simulation":
        return np.asarray(points[:, 1] - bayes_boundary(points[:, 0]))
    make, options = _SHAPES[data]
    curves, labels = make(2 * _N_ON_SHAPE, shuffle=False, **options | {"noise": None})
    exponents = ((points[:, None, :] - curves) ** 2).sum(axis=2) / (-2.0 * options["noise"] ** 2)
    negative, positive = (
        np.logaddexp.reduce(exponents[:, labels == label], axis=1) for label in (0, 1)
    )
    return np.asarray(positive - negative)


def sides(data: str) -> tuple[Array, Array]:
    """Return both sides of the grid on which decision values are drawn."""
    first, second = _FRAMES[data]
    return np.linspace(*first, N_GRID), np.linspace(*second, N_GRID)


def grid(data: str) -> Array:
    """Return the points of the grid, row by row from the lowest."""
    return np.stack(np.meshgrid(*sides(data)), axis=-1).reshape(-1, 2)


@cache
def grid_truth(data: str) -> tuple[float, ...]:
    """Return `truth` at the points of the grid, as exact as a line on a screen."""
    return tuple(truth(data, grid(data)).round(4).tolist())


def code(settings: Settings) -> tuple[list[str], str]:
    """Return the imports, and the lines of Python that draw the same data."""
    m, seed = settings.n_samples, settings.seed
    if settings.data == "simulation":
        noise = "".join(f"{name}={value!r}, " for name, value in _noise(settings).items())
        return ["from fcgboost.datasets import make_simulation"], (
            f"X, y = make_simulation({m}, {noise}random_state={seed})\n"
            f"X_test, y_test = make_simulation({N_TEST}, noise=None, random_state={seed + 1})\n"
        )
    make = _SHAPES[settings.data][0].__name__
    options = "".join(f"{name}={value}, " for name, value in _SHAPES[settings.data][1].items())
    imports, flip = [f"from sklearn.datasets import {make}"], ""
    if settings.noise == "uniform":
        imports.insert(0, "import numpy as np")
        chance = f"np.random.default_rng({seed}).uniform(size={m})"
        flip = f"y[{chance} < {settings.level!r}] *= -1.0\n"
    return imports, (
        f"X, label = {make}({m}, {options}random_state={seed})\ny = 2.0 * label - 1.0\n{flip}"
        f"X_test, label = {make}({N_TEST}, {options}random_state={seed + 1})\n"
        "y_test = 2.0 * label - 1.0\n"
    )


def _noise(settings: Settings) -> dict[str, Any]:
    """Return the noise as `make_simulation` names it."""
    if settings.noise == "none":
        return {"noise": None}
    name = "level" if settings.noise == "uniform" else "ratio"
    return {"noise": settings.noise, name: settings.level}
