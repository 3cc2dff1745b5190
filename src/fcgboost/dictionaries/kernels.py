"""Kernels centred at points: Gauss and polynomial."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from fcgboost.dictionaries.base import (
    Array,
    InnerProductDictionary,
    Sample,
    Scaling,
    SmoothDictionary,
    dense_product,
    split_last,
)
from fcgboost.parts import check_choice, check_count, check_positive


class GaussDictionary(SmoothDictionary):
    """Gauss atoms exp(-|x - c|^2 / (2 sigma^2)); a row is (c, sigma).

    Parameters
    ----------
    width : float or "scale", default="scale"
        sigma, in standardised units. "scale" is sqrt(d v / 2), v the mean variance of the
        columns: on standardised inputs the width of scikit-learn's SVC with gamma="scale".
    centers : {"data", "box"}, default="data"
        Training inputs, or points drawn uniformly from their bounding box.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(
        self,
        width: float | Literal["scale"] = "scale",
        centers: Literal["data", "box"] = "data",
        scaling: Scaling = "none",
    ) -> None:
        self.width = width
        self.centers = centers
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check width, centers and scaling."""
        super().check_parameters()
        check_choice(self, "centers", ("data", "box"))
        if not (isinstance(self.width, str) and self.width == "scale"):
            check_positive(self, "width")

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose atoms centred at training inputs or in their bounding box."""
        centers = _centers(sample, self.centers, n, key)
        width = self.width
        if width == "scale":
            width = np.sqrt(sample.n_features * sample.variance / 2.0) or 1.0
        widths = np.full((centers.shape[0], 1), float(width))
        if sparse.issparse(centers):
            return sparse.hstack([centers, widths], format="csr")
        return np.hstack([centers, widths])

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Give exp(-|(x - c) / s|^2 / (2 sigma^2))."""
        centers, widths = split_last(atoms)
        if not sparse.issparse(X) and not sparse.issparse(centers):
            # Distances do not change under a shift; a small one keeps |x|^2 - 2 x.c + |c|^2
            # from cancelling where the columns lie far from the origin.
            origin = centers.mean(axis=0)
            X, centers = X - origin, centers - origin
        columns = _exponents(_divide(X, scale), _divide(centers, scale), 0.5 / widths**2)
        return np.exp(columns, out=columns)

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Give sum_j coef_j g_j(x) (c_j - x) / (sigma_j^2 s^2)."""
        centers, widths = split_last(atoms)
        pulls = self.evaluate(X, atoms, scale) * (coef / widths**2)
        points = X.toarray() if sparse.issparse(X) else X
        away = pulls.sum(axis=1, keepdims=True) * points
        return np.asarray((pulls @ centers - away) / scale**2)


class PolynomialDictionary(InnerProductDictionary):
    """Polynomial kernel atoms (1 + <x, c> / q)^p; a row is (w, b), so that z = <x, c> / q.

    Parameters
    ----------
    degree : int, default=3
        The power p.
    q : float or "scale", default="scale"
        Divides the inner product; 1 in the paper. "scale" is the mean of |x|^2 in standardised
        units (d after standardisation), as gamma="scale" is for scikit-learn's SVC.
    centers : {"data", "box"}, default="data"
    scaling : {"none", "max", "norm"}, default="none"
        The paper's polynomial atoms are evidently not rescaled.
    """

    def __init__(
        self,
        degree: int = 3,
        q: float | Literal["scale"] = "scale",
        centers: Literal["data", "box"] = "data",
        scaling: Scaling = "none",
    ) -> None:
        self.degree = degree
        self.q = q
        self.centers = centers
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check degree, q, centers and scaling."""
        super().check_parameters()
        check_choice(self, "centers", ("data", "box"))
        check_count(self, "degree")
        if not (isinstance(self.q, str) and self.q == "scale"):
            check_positive(self, "q")

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose atoms centred at training inputs or in their bounding box."""
        centers = _centers(sample, self.centers, n, key)
        if sparse.issparse(centers):
            centers = centers.toarray()
        q = (sample.mean_square or 1.0) if self.q == "scale" else self.q
        weights = (centers - sample.shift) / (q * sample.scale**2)
        return np.hstack([weights, -(weights @ sample.shift)[:, None]])

    def profile(self, z: Array) -> Array:
        """Give (1 + z)^p."""
        base = 1.0 + z
        power = base.copy()
        for _ in range(self.degree - 1):  # several times faster than NumPy's power
            power *= base
        return power

    def slope(self, z: Array) -> Array:
        """Give p (1 + z)^(p - 1)."""
        return self.degree * (1.0 + z) ** (self.degree - 1)


def _centers(sample: Sample, where: str, n: int, key: int) -> Any:
    """Give raw centres: the drawn rows, or points of the bounding box."""
    if where == "data":
        return sample.rows if sparse.issparse(sample.rows) else sample.dense_rows()
    unit = np.random.default_rng(key).random((n, sample.n_features))
    return sample.low + unit * (sample.high - sample.low)


def _divide(X: Any, scale: Array) -> Any:
    return X @ sparse.diags_array(1.0 / scale) if sparse.issparse(X) else X / scale


def _exponents(X: Any, centers: Any, steepness: Array) -> Array:
    """Give -t |x - c|^2, t the steepness of the atom at c; rounding does not make it positive."""
    if sparse.issparse(X) or sparse.issparse(centers):
        exponents = dense_product(X, centers)
        exponents *= 2.0 * steepness
        exponents -= _squared_norms(X)[:, None] * steepness
        exponents -= _squared_norms(centers) * steepness
    else:
        # One product gives all three terms of the square, and no further pass over the block.
        left = np.column_stack([X, _squared_norms(X), np.ones(len(X))])
        right = np.column_stack([2.0 * centers, -np.ones(len(centers)), -_squared_norms(centers)])
        exponents = left @ (right * steepness[:, None]).T
    return np.minimum(exponents, 0.0, out=exponents)


def _squared_norms(X: Any) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
