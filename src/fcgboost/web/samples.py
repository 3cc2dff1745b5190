"""The data of the playground: noisy training labels, clean test labels, and what is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


@dataclass(frozen=True)
class Table:
    """Two classes of a table of scikit-learn: how it is loaded, their codes and their names."""

    load: str
    codes: tuple[int, int]
    labels: tuple[str, str]


TABLES = {
    "cancer": Table("load_breast_cancer", (0, 1), ("malignant", "benign")),
    "wine": Table("load_wine", (0, 1), ("cultivar 0", "cultivar 1")),
    "digits": Table("load_digits", (3, 8), ("digit 3", "digit 8")),
}
# Sets of scikit-learn, whose points scatter ("noise") around two curves.
_SHAPES: dict[str, tuple[Callable[..., Any], dict[str, float]]] = {
    "moons": (datasets.make_moons, {"noise": 0.15}),
    "rings": (datasets.make_circles, {"noise": 0.12, "factor": 0.5}),
}
# What the page shows of the plane.
_FRAMES = {
    "simulation": ((-0.02, 1.02), (-0.02, 1.02)),
    "moons": ((-1.6, 2.6), (-1.1, 1.6)),
    "rings": ((-1.5, 1.5), (-1.5, 1.5)),
}
_COMPONENTS = ("first principal component", "second principal component")


@cache
def table_points(data: str) -> tuple[Array, Array]:
    """Return the first two principal components of a table's rows, and their labels."""
    table = TABLES[data]
    rows, target = getattr(datasets, table.load)(return_X_y=True)
    is_one = np.isin(target, table.codes)
    points = make_pipeline(StandardScaler(), PCA(2)).fit_transform(rows[is_one])
    return points, 2.0 * (target[is_one] == table.codes[1]) - 1.0


def draw(settings: Settings) -> Sample:
    """Draw the data of some settings."""
    m, seed = settings.n_samples, settings.seed
    if settings.data == "simulation":
        X, y = make_simulation(m, random_state=seed, **_noise(settings))
        X_test, y_test = make_simulation(N_TEST, noise=None, random_state=seed + 1)
        return Sample(X, y, np.where(_margin("simulation", X) >= 0.0, 1.0, -1.0), X_test, y_test)
    if settings.data in TABLES:
        points, labels = table_points(settings.data)
        split = {"test_size": 1 / 3, "stratify": labels, "random_state": seed}
        X, X_test, clean, y_test = train_test_split(points, labels, **split)
    else:
        make, options = _SHAPES[settings.data]
        X, label = make(m, random_state=seed, **options)
        X_test, label_test = make(N_TEST, random_state=seed + 1, **options)
        clean, y_test = 2.0 * label - 1.0, 2.0 * label_test - 1.0
    y = clean.copy()
    if settings.noise == "uniform":
        y[np.random.default_rng(seed).uniform(size=len(y)) < settings.level] *= -1.0
    return Sample(X, y, clean, X_test, y_test)


def truth(data: str, points: Array) -> Array | None:
    """Return values that are positive where the best rule predicts +1; None for tables.

    For moons and rings, the log-likelihood ratio of the two labels.
    """
    return None if data in TABLES else _margin(data, points)


def names(data: str) -> dict[str, tuple[str, str]]:
    """Return the names of the axes and of the labels."""
    if data in TABLES:
        return {"axes": _COMPONENTS, "labels": TABLES[data].labels}
    return {"axes": ("x₁", "x₂"), "labels": ("label −1", "label +1")}


def sides(data: str) -> tuple[Array, Array]:
    """Return both sides of the grid on which decision values are drawn."""
    if data in TABLES:
        ends = np.quantile(table_points(data)[0], [0.0, 1.0], axis=0)
        low, high = ends + [[-0.04], [0.04]] * np.ptp(ends, axis=0)
        return np.linspace(low[0], high[0], N_GRID), np.linspace(low[1], high[1], N_GRID)
    first, second = _FRAMES[data]
    return np.linspace(*first, N_GRID), np.linspace(*second, N_GRID)


def grid(data: str) -> Array:
    """Return the points of the grid, row by row from the lowest."""
    return np.stack(np.meshgrid(*sides(data)), axis=-1).reshape(-1, 2)


@cache
def grid_truth(data: str) -> tuple[float, ...] | None:
    """Return `truth` at the points of the grid, as exact as a line on a screen."""
    found = truth(data, grid(data))
    return None if found is None else tuple(found.round(4).tolist())


def code(settings: Settings) -> tuple[list[str], str]:
    """Return the imports, and the lines of Python that draw the same data."""
    m, seed = settings.n_samples, settings.seed
    if settings.data == "simulation":
        noise = "".join(f"{name}={value!r}, " for name, value in _noise(settings).items())
        return ["from fcgboost.datasets import make_simulation"], (
            f"X, y = make_simulation({m}, {noise}random_state={seed})\n"
            f"X_test, y_test = make_simulation({N_TEST}, noise=None, random_state={seed + 1})\n"
        )
    imports, lines = _table_code(settings) if settings.data in TABLES else _shape_code(settings)
    if settings.noise == "uniform":
        imports.insert(0, "import numpy as np")
        chance = f"np.random.default_rng({seed}).uniform(size=len(y))"
        lines += f"y[{chance} < {settings.level!r}] *= -1.0\n"
    return imports, lines


def _table_code(settings: Settings) -> tuple[list[str], str]:
    table = TABLES[settings.data]
    first, second = table.codes
    imports = [
        f"from sklearn.datasets import {table.load}",
        "from sklearn.decomposition import PCA",
        "from sklearn.model_selection import train_test_split",
        "from sklearn.pipeline import make_pipeline",
        "from sklearn.preprocessing import StandardScaler",
    ]
    return imports, (
        f"rows, target = {table.load}(return_X_y=True)\n"
        f"is_one = (target == {first}) | (target == {second})\n"
        "X = make_pipeline(StandardScaler(), PCA(2)).fit_transform(rows[is_one])\n"
        f"y = 2.0 * (target[is_one] == {second}) - 1.0\n"
        "X, X_test, y, y_test = train_test_split(\n"
        f"    X, y, test_size=1 / 3, stratify=y, random_state={settings.seed}\n)\n"
    )


def _shape_code(settings: Settings) -> tuple[list[str], str]:
    m, seed = settings.n_samples, settings.seed
    make = _SHAPES[settings.data][0].__name__
    options = "".join(f"{name}={value}, " for name, value in _SHAPES[settings.data][1].items())
    return [f"from sklearn.datasets import {make}"], (
        f"X, label = {make}({m}, {options}random_state={seed})\ny = 2.0 * label - 1.0\n"
        f"X_test, label = {make}({N_TEST}, {options}random_state={seed + 1})\n"
        "y_test = 2.0 * label - 1.0\n"
    )


def _margin(data: str, points: Array) -> Array:
    if data == "simulation":
        return np.asarray(points[:, 1] - bayes_boundary(points[:, 0]))
    make, options = _SHAPES[data]
    curves, labels = make(2 * _N_ON_SHAPE, shuffle=False, **options | {"noise": None})
    exponents = ((points[:, None, :] - curves) ** 2).sum(axis=2) / (-2.0 * options["noise"] ** 2)
    negative, positive = (
        np.logaddexp.reduce(exponents[:, labels == label], axis=1) for label in (0, 1)
    )
    return np.asarray(positive - negative)


def _noise(settings: Settings) -> dict[str, Any]:
    """Return the noise as `make_simulation` names it."""
    if settings.noise == "none":
        return {"noise": None}
    name = "level" if settings.noise == "uniform" else "ratio"
    return {"noise": settings.noise, name: settings.level}
