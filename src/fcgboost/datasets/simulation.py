"""Simulated data of the paper."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array = NDArray[np.float64]
RandomState = int | np.random.RandomState | None


def check_samples(n_samples: object) -> None:
    """Raise a ValueError unless a number of rows can be drawn."""
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number of at least 1, got {n_samples!r}.")


def check_share(name: str, share: float) -> None:
    """Raise a ValueError unless a parameter is a share of rows."""
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{name} must be between 0 and 1, got {share!r}.")


def bayes_boundary(t: Array) -> Array:
    """Return zeta(t) = ((1 - 2t)_+^5 (32 t^2 + 10 t + 1) + 1) / 2, the paper's Bayes boundary."""
    return np.asarray((np.maximum(0.0, 1.0 - 2.0 * t) ** 5 * (32 * t**2 + 10 * t + 1) + 1) / 2)


def make_simulation(
    n_samples: int,
    noise: Literal["uniform", "outlier"] | None = "uniform",
    level: float = 0.3,
    tol: float = 0.3,
    ratio: float = 0.4,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Draw the paper's simulation data.

    x is uniform on the unit square, y = +1 where x_2 >= zeta(x_1). Then labels are corrupted.

    Parameters
    ----------
    n_samples : int
    noise : {"uniform", "outlier"} or None, default="uniform"
        "uniform": each label flips with probability `level`. "outlier": a label further than
        `tol` from the boundary, measured along x_2, flips with probability `ratio`.
    level : float, default=0.3
    tol : float, default=0.3
    ratio : float, default=0.4
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        -1 and +1.

    Examples
    --------
    >>> X, y = make_simulation(1000, noise="outlier", random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [-1.0, 1.0])
    """
    if noise not in ("uniform", "outlier", None):
        raise ValueError(f"noise must be 'uniform', 'outlier' or None, got {noise!r}.")
    check_samples(n_samples)
    check_share("level", level)
    check_share("ratio", ratio)
    random = check_random_state(random_state)
    X = random.uniform(size=(n_samples, 2))
    height = X[:, 1] - bayes_boundary(X[:, 0])
    y = np.where(height >= 0.0, 1.0, -1.0)
    chance = random.uniform(size=n_samples)
    if noise == "uniform":
        y[chance < level] *= -1.0
    elif noise == "outlier":
        y[(np.abs(height) > tol) & (chance < ratio)] *= -1.0
    return X, y
