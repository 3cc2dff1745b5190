"""Gaussian kernels."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from scipy import sparse

from fcgboost import _kernels
from fcgboost.arrays import Array, Matrix, is_sparse, namespace, squared_norms, to_numpy
from fcgboost.dictionaries.base import (
    LearnableDictionary,
    Sample,
    SmoothDictionary,
    ValuesOf,
    check_range,
    ends_of,
    log_uniform,
)
from fcgboost.dictionaries.planes import dense_product, product_on_one_thread, split_last
from fcgboost.parts import check_choice

# Up to this many atoms are evaluated by differences.
_FEW = 8
# Sparse columns in which every centre is farther from zero than this, in units, are centred.
_FAR = 2.0**10


@dataclass(eq=False, repr=False)
class GaussDictionary(SmoothDictionary, LearnableDictionary):
    """Gaussian atoms exp(-|x - c|^2 / (2 sigma^2)); a row is (c, sigma).

    Parameters
    ----------
    width : float, "scale" or pair of floats, default="scale"
        sigma, in standardised units. "scale" is sqrt(d v / 2) for d columns of mean variance v: on
        standardised inputs, the width of scikit-learn's SVC with gamma="scale". A pair (low, high)
        draws the width of each atom log-uniformly in this range, in units of "scale".
    centers : {"data", "box"}, default="data"
        Training rows, or points drawn uniformly from their bounding box.
    """

    width: float | Literal["scale"] | tuple[float, float] = "scale"
    centers: Literal["data", "box"] = "data"

    def check_parameters(self) -> None:
        check_choice(self, "centers", ("data", "box"))
        check_range(self, "width", "scale")

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        centers = sample.centers(self.centers, n, key)
        widths = np.full((centers.shape[0], 1), self.width_range(sample)[0])
        if not isinstance(self.width, Real | str):
            rng = np.random.default_rng([key, 1])
            widths = self._unit(sample) * log_uniform(self.width, rng, widths.shape)
        if is_sparse(centers):
            return sparse.hstack([centers, widths], format="csr")
        return np.hstack([centers, widths])

    def width_range(self, sample: Sample) -> tuple[float, float]:
        """Return the smallest and the largest width in standardised units."""
        unit = 1.0 if isinstance(self.width, Real) else self._unit(sample)
        low, high = ends_of(1.0 if self.width == "scale" else self.width)
        return float(low * unit), float(high * unit)

    def _unit(self, sample: Sample) -> float:
        return float(np.sqrt(sample.n_features * sample.variance / 2.0)) or 1.0

    def evaluate(self, X: Matrix, atoms: Matrix, scale: Array) -> Array:
        """Return exp(-|(x - c) / s|^2 / (2 sigma^2))."""
        centers, widths = split_last(atoms)
        if is_sparse(X) or is_sparse(centers):
            far = _far_columns(centers, scale)
            near = np.array(scale)
            near[far] = np.inf
            steepness = 0.5 / widths**2
            rows = _divide(X, near)
            others = _divide(centers, near)
            exponents: Matrix = dense_product(rows, others)
            exponents *= 2.0 * steepness
            exponents -= squared_norms(rows)[:, None] * steepness
            exponents -= squared_norms(others) * steepness
            if len(far):
                far_atoms = _join(to_numpy(centers[:, far]), widths[:, None])
                origin, right = _origin_and_right_side(far_atoms, scale[far])
                far_inputs = (to_numpy(X[:, far]) - origin) / scale[far]
                exponents += _inputs_side(far_inputs) @ right
            return _decay(exponents)
        if len(widths) <= _FEW and isinstance(X, np.ndarray):
            # By differences, which are exact where the values are large.
            rows = np.ascontiguousarray(X, dtype=np.float64)
            centers = np.ascontiguousarray(centers, dtype=np.float64)
            units = 0.5**0.5 / (widths[:, None] * scale)
            return _kernels.gauss_values(rows, centers, units)
        origin, right = _origin_and_right_side(atoms, scale)
        return _decay(_inputs_side((X - origin) / scale) @ right)

    def prepared(self, atoms: Matrix, scale: Array) -> ValuesOf:
        """Precompute the centres' side of the product that gives all exponents."""
        if not isinstance(atoms, np.ndarray):
            return super().prepared(atoms, scale)
        origin, right = _origin_and_right_side(atoms, scale)
        right = np.ascontiguousarray(right)

        def values(X: Matrix) -> Array:
            if is_sparse(X):
                return self.evaluate(X, atoms, scale)
            return _decay(product_on_one_thread(_inputs_side((X - origin) / scale), right))

        return values

    def input_gradient(
        self,
        X: Matrix,
        atoms: Matrix,
        coef: Array,
        scale: Array,
    ) -> Array:
        """Return sum_j coef_j g_j(x) (c_j - x) / (sigma_j^2 s^2)."""
        centers, widths = split_last(atoms)
        slopes = self.evaluate(X, atoms, scale) * (coef / widths**2)
        away = slopes.sum(axis=1, keepdims=True) * to_numpy(X)
        return np.asarray((slopes @ centers - away) / scale**2)

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return the centres in the other coordinates; widths are already standardised."""
        moved = np.array(atoms)
        moved[:, :-1] -= origin
        moved[:, :-1] /= unit
        return moved

    def free(self, atoms: Matrix) -> Matrix:
        """Return (c, log sigma)."""
        log_widths = namespace(atoms).log(atoms[:, -1:])
        return _join(atoms[:, :-1], log_widths)

    def bound(self, theta: Matrix) -> Matrix:
        """Return (c, sigma)."""
        widths = namespace(theta).exp(theta[:, -1:])
        return _join(theta[:, :-1], widths)

    def free_gradient(self, Z: Matrix, theta: Matrix, V: Matrix) -> Matrix:
        """Return sum_i V[i, j] g_j(z_i) ((z_i - c) / sigma^2, |z_i - c|^2 / sigma^2)."""
        centers = theta[:, :-1]
        steepness = namespace(theta).exp(-2.0 * theta[:, -1:])
        side = _inputs_side(Z)
        values = _decay(side @ _centers_side(centers, 0.5 * steepness[:, 0]))
        sums = (values * V).T @ side  # of z, |z|^2 and 1
        mass = sums[:, -1:]
        toward = sums[:, :-2] - mass * centers
        # |z - c|^2 = |z|^2 - |c|^2 - 2 <z - c, c>
        spread = sums[:, -2:-1] - mass * squared_norms(centers)[:, None]
        spread = spread - 2.0 * (toward * centers).sum(1)[:, None]
        return _join(toward * steepness, spread * steepness)


def _far_columns(centers: Matrix, scale: Array) -> Matrix:
    """Return the columns that lie far from zero in all centres."""
    if not is_sparse(centers):
        is_far = np.abs(centers) > _FAR * scale
        return np.flatnonzero(is_far.all(axis=0))
    is_far = np.abs(centers.data) > _FAR * scale[centers.indices]
    counts = np.bincount(centers.indices[is_far], minlength=centers.shape[1])
    return np.flatnonzero(counts == centers.shape[0])


def _divide(X: Matrix, scale: Array) -> Matrix:
    if not is_sparse(X):
        return X / scale
    # Several times faster than a product with a diagonal matrix.
    divided = X.astype(np.float64)
    divided.data *= (1.0 / scale)[X.indices]
    return divided


def _origin_and_right_side(atoms: Matrix, scale: Array) -> tuple[Matrix, Matrix]:
    """Return the mean of the centres, and their side of the product relative to it."""
    centers = atoms[:, :-1]
    # Relative to it |x|^2 - 2 x.c + |c|^2 does not cancel if columns lie far from zero.
    origin = centers.mean(axis=0)
    steepness = 0.5 / atoms[:, -1] ** 2
    return origin, _centers_side((centers - origin) / scale, steepness)


def _inputs_side(X: Matrix) -> Matrix:
    """Return rows (x, |x|^2, 1)."""
    ones = namespace(X).ones_like(X[:, :1])
    return _join(X, squared_norms(X)[:, None], ones)


def _centers_side(centers: Matrix, steepness: Array) -> Matrix:
    """Return columns t (2 c, -1, -|c|^2), whose product with (x, |x|^2, 1) is -t |x - c|^2."""
    minus_ones = -namespace(centers).ones_like(centers[:, :1])
    squares = squared_norms(centers)
    rows = _join(2.0 * centers, minus_ones, -squares[:, None])
    return (rows * steepness[:, None]).T


def _join(*columns: Matrix) -> Matrix:
    return namespace(columns[0]).concatenate(columns, axis=1)


def _decay(exponents: Matrix) -> Array:
    """Return the exponential in place; only rounding can have made exponents positive."""
    xp = namespace(exponents)
    xp.clip(
        exponents,
        None,
        0.0,
        out=exponents,
    )
    xp.exp(exponents, out=exponents)
    return exponents
