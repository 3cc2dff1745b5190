"""FPC, the fast polynomial kernel classifier the paper compares with."""

from __future__ import annotations

from math import comb
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassifierMixin

from fcgboost.losses import Hinge

Array = NDArray[np.float64]


class FPC(ClassifierMixin, BaseEstimator):
    """Hinge loss over the span of polynomial kernels at a few training inputs, without penalty.

    The kernels are (1 + <x, c>)^p at N = C(p + d, d) centres c drawn from the training inputs
    (all of them where there are fewer): so many span the polynomials of degree p. The
    coefficients come from ADMM with alpha = gamma = 1, started from (u, v, w) = (0, y, 0) and
    stopped after 100 iterations, as in the paper's own Algorithm 2.

    Two choices are ours. Inputs are standardised and divided by sqrt(d), so that <x, c> is of
    order one. Each kernel is divided by its root mean square over the training inputs, since the
    factorised matrix would otherwise lose all digits at high degrees. The minimiser, which has
    no penalty, stays the same; 100 iterations do not reach it and end elsewhere.

    Parameters
    ----------
    degree : int, default=3
        The power p.
    max_centers : int or None, default=None
        A bound on N, for time and memory; None is none.
    max_iter : int, default=100
        ADMM's iterations.
    random_state : int or None, default=None
        Seeds the choice of centres.

    References
    ----------
    J. Zeng, M. Wu, S.-B. Lin and D.-X. Zhou, "Fast Polynomial Kernel Classification for Massive
    Data", arXiv:1911.10558.
    """

    def __init__(
        self,
        degree: int = 3,
        max_centers: int | None = None,
        max_iter: int = 100,
        random_state: int | None = None,
    ) -> None:
        self.degree = degree
        self.max_centers = max_centers
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Fit to labels -1 and +1."""
        self.classes_: Array = np.unique(y)
        self.mean_: Array = X.mean(axis=0)
        spread = X.std(axis=0)
        self.scale_: Array = np.where(spread > 0.0, spread, 1.0) * np.sqrt(X.shape[1])
        rows = np.random.default_rng(self.random_state).permutation(len(X))
        n_centers = count_centers(self.degree, X.shape[1], len(X), self.max_centers)
        self.centers_: Array = (X[rows[:n_centers]] - self.mean_) / self.scale_
        A = self._kernels(X)
        size = np.sqrt(np.einsum("ij,ij->j", A, A) / len(A))
        A /= size
        self.coef_: Array = _minimise_hinge(A, y, self.max_iter) / size
        return self

    def decision_function(self, X: Array) -> Array:
        """Give f(x)."""
        return np.asarray(self._kernels(X) @ self.coef_)

    def predict(self, X: Array) -> Array:
        """Give the sign of f(x)."""
        return np.where(self.decision_function(X) > 0.0, 1.0, -1.0)

    def _kernels(self, X: Array) -> Array:
        base = 1.0 + ((X - self.mean_) / self.scale_) @ self.centers_.T
        power = base.copy()
        for _ in range(self.degree - 1):  # several times faster than NumPy's power
            power *= base
        return power


def count_centers(degree: int, n_features: int, n_samples: int, most: int | None = None) -> int:
    """Give C(p + d, d), the dimension of the polynomials, or fewer where there are not so many.

    >>> count_centers(2, 3, 1000), count_centers(10, 8, 1000), count_centers(10, 8, 1000, 500)
    (10, 1000, 500)
    """
    bounds = (comb(degree + n_features, n_features), n_samples, most or n_samples)
    return min(bounds)


def _minimise_hinge(A: Array, y: Array, max_iter: int) -> Array:
    """Run ADMM for min over u of the mean of max(0, 1 - y A u), split as v = A u.

    `fcgboost.solvers.AdmmSolver` is the same iteration over the columns of a dictionary; here
    the columns are a plain matrix and nothing is recorded.
    """
    prox, tau = Hinge().prox, float(len(y))
    system = A.T @ A
    system[np.diag_indices_from(system)] += 1.0
    factor: Any = linalg.cho_factor(system, overwrite_a=True)
    u, v, w = np.zeros(A.shape[1]), y, np.zeros(len(y))
    for _ in range(max_iter):
        u = linalg.cho_solve(factor, A.T @ (v + w) + u)
        Au = A @ u
        v = prox(y, Au - w, tau)
        w = w + v - Au
    return u
