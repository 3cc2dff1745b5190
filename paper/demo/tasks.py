"""The data of the demo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fcgboost.datasets import make_simulation

Array = NDArray[np.float64]

N_TEST = 5000
SIMULATION_NOISE = 0.3
TABLE_NOISE = 0.2


class Draw(NamedTuple):
    """Training rows, whose labels may be noisy, and test rows.

    Attributes
    ----------
    y_test : array of shape (n_test,)
        True labels, for the test error.
    y_same : array of shape (n_test,)
        Labels as noisy as the training labels, for the log-loss: a calibrated classifier predicts
        the labels it was shown.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    y_same: Array


@dataclass(frozen=True)
class Task:
    """A problem that can be drawn again and again.

    Parameters
    ----------
    name, title : str
        For pictures, and in a sentence.
    draw : callable
        From a seed to a `Draw`.
    """

    name: str
    title: str
    draw: Callable[[int], Draw]


def make_tasks(n_samples: int) -> tuple[Task, ...]:
    """Return the three tasks; the simulation has `n_samples` training rows."""

    def simulation(seed: int) -> Draw:
        train = make_simulation(
            n_samples, noise="uniform", level=SIMULATION_NOISE, random_state=seed
        )
        later = seed + 1_000_000
        X_test, y_test = make_simulation(N_TEST, noise=None, random_state=later)
        return Draw(*train, X_test, y_test, flip(y_test, SIMULATION_NOISE, later))

    return (
        Task(
            "simulation, 30 % of labels flipped",
            f"The paper's simulation: {n_samples} rows, two inputs, 30 % of the "
            "training labels flipped",
            simulation,
        ),
        Task(
            "breast cancer",
            "Breast cancer (scikit-learn): 284 rows, 30 inputs, labels as they are",
            lambda seed: draw_cancer(seed, 0.0),
        ),
        Task(
            "breast cancer, 20 % of labels flipped",
            "Breast cancer with 20 % of the training labels flipped",
            lambda seed: draw_cancer(seed, TABLE_NOISE),
        ),
    )


def draw_cancer(seed: int, noise: float) -> Draw:
    """Split the table in half; inputs are scaled by the training half."""
    X, y = load_breast_cancer(return_X_y=True)
    y = np.where(y == 1, 1.0, -1.0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    center, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - center) / scale, (X_test - center) / scale
    return Draw(X, flip(y, noise, seed), X_test, y_test, flip(y_test, noise, seed + 1_000_000))


def flip(y: Array, noise: float, seed: int) -> Array:
    """Flip every label with one probability."""
    return np.where(np.random.default_rng(seed).random(len(y)) < noise, -y, y)
