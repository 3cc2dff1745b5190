"""Gauss bells with a width for every input, which ignore some inputs altogether."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.arrays import is_tensor, namespace, squared_norms
from fcgboost.dictionaries.base import (
    Array,
    LearnableDictionary,
    Sample,
    Scaling,
    SmoothDictionary,
    check_range,
    log_uniform,
)
from fcgboost.dictionaries.kernels import decay
from fcgboost.dictionaries.planes import (
    check_max_features,
    contiguous,
    dense_product,
    draw_columns,
    product_on_one_thread,
)

_FEW = 8


class EllipticDictionary(SmoothDictionary, LearnableDictionary):
    """Bells exp(-1/2 sum_j (p_j (x_j - c_j) / s_j)^2) around training inputs; a row is (c, p).

    s is the standardised unit of every column, 1 / p_j the bell's width there; where p_j is 0 the
    atom ignores column j. An atom looks at k columns, log k being about uniform.

    Parameters
    ----------
    width : float or pair of floats, default=(0.3, 3.0)
        Factors of sqrt(k v / 2), v the mean variance of the standardised columns: the width in
        column j is f_j sqrt(k v / 2). Of a range, f_j is the geometric mean of a factor of the atom
        and one of the column, both log-uniform; of a number, f_j is that number.
    max_features : int or None, default=None
        The largest k; None is the number of columns.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(
        self,
        width: float | tuple[float, float] = (0.3, 3.0),
        max_features: int | None = None,
        scaling: Scaling = "none",
    ) -> None:
        self.width = width
        self.max_features = max_features
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check width, max_features and scaling."""
        super().check_parameters()
        check_range(self, "width")
        check_max_features(self)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose bells of random shapes at the drawn rows, in turn.

        Every kind of number has its own stream, filled atom by atom: fewer atoms of the same key
        are the first ones of more.
        """
        d = sample.n_features
        seeds = np.random.SeedSequence(key).spawn(4)
        first, second, third, fourth = map(np.random.default_rng, seeds)
        most = min(self.max_features or d, d)
        n_columns = np.minimum((most + 1.0) ** first.random(n), most).astype(int)
        is_used = draw_columns(d, n_columns, second)
        factors = log_uniform(self.width, third, (n, 1)) * log_uniform(self.width, fourth, (n, d))
        widths = np.sqrt(factors * n_columns[:, None] * (sample.variance or 2.0) / 2.0)
        centers = sample.dense_rows()[np.arange(n) % sample.rows.shape[0]]
        return np.hstack([centers, is_used / widths])

    def n_parameters(self, n_features: int) -> int:
        """Return two for every column."""
        return 2 * n_features

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Return exp(-1/2 |p (x - c) / s|^2)."""
        centers, sharpness = _split(atoms)
        if sparse.issparse(X):
            return decay(_sparse_exponents(X, centers, sharpness / scale))
        if len(centers) <= _FEW:
            return decay(_few_exponents(X, centers, sharpness / scale))
        # As for round bells, a shift keeps squares from cancelling far from the origin.
        origin = centers.mean(axis=0)
        right = _atoms_side((centers - origin) / scale, sharpness)
        return decay(_inputs_side((X - origin) / scale) @ right)

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Keep the atoms' side of the one product that gives all exponents."""
        centers, sharpness = _split(atoms)
        origin = centers.mean(axis=0)
        right = contiguous(_atoms_side((centers - origin) / scale, sharpness))

        def values(X: Any) -> Array:
            if sparse.issparse(X):
                return self.evaluate(X, atoms, scale)
            return decay(product_on_one_thread(_inputs_side((X - origin) / scale), right))

        return values

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Return sum_j coef_j g_j(x) p_j^2 (c_j - x) / s^2."""
        centers, sharpness = _split(atoms)
        pulls = self.evaluate(X, atoms, scale) * coef
        points = X.toarray() if sparse.issparse(X) else X
        origin, steepness = centers.mean(axis=0), (sharpness / scale) ** 2
        toward = pulls @ (steepness * (centers - origin))
        return np.asarray(toward - (points - origin) * (pulls @ steepness))

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return the centres in the other coordinates; widths are in units already."""
        centers, sharpness = _split(atoms)
        return np.hstack([(centers - origin) / unit, sharpness])

    def free_gradient(self, Z: Any, theta: Any, V: Any) -> Any:
        """Return sum_i V[i, j] g_j(z_i) (p^2 (z_i - c), -p (z_i - c)^2).

        The second part is 0 where p is: an atom goes on to ignore what it ignores.
        """
        centers, sharpness = _split(theta)
        d, side = centers.shape[1], _inputs_side(Z)
        pulls = decay(side @ _atoms_side(centers, sharpness)) * V
        sums = pulls.T @ side  # of z^2, z and 1
        toward = sums[:, d:-1] - sums[:, -1:] * centers
        # (z - c)^2 = z^2 - c^2 - 2 c (z - c)
        squares = sums[:, :d] - sums[:, -1:] * centers**2 - 2.0 * centers * toward
        return namespace(Z).concatenate([sharpness**2 * toward, -sharpness * squares], axis=1)


def _split(atoms: Any) -> tuple[Any, Any]:
    """Split rows into centres and reciprocal widths, dense ones."""
    dense = atoms.toarray() if sparse.issparse(atoms) else atoms
    d = dense.shape[1] // 2
    return dense[:, :d], dense[:, d:]


def _inputs_side(Z: Any) -> Any:
    """Return rows (z^2, z, 1)."""
    xp = namespace(Z)
    return xp.concatenate([Z * Z, Z, xp.ones_like(Z[:, :1])], axis=1)


def _atoms_side(centers: Any, sharpness: Any) -> Any:
    """Return columns whose product with (z^2, z, 1) is -1/2 sum_j (p_j (z_j - c_j))^2."""
    squares = sharpness * sharpness
    slopes = squares * centers
    constants = -0.5 * (slopes * centers).sum(1)[:, None]
    return namespace(centers).concatenate([-0.5 * squares, slopes, constants], axis=1).T


def _few_exponents(X: Any, centers: Any, sharpness: Any) -> Any:
    """Return the exponents of a few atoms by differences, exact where an atom is large."""
    each = [_squares(X, c, p) for c, p in zip(centers, sharpness, strict=True)]
    return -0.5 * namespace(X).stack(each, axis=1)


def _squares(X: Any, center: Any, sharp: Any) -> Any:
    if not is_tensor(X):  # a device would have to be waited for
        used = np.flatnonzero(sharp)
        X, center, sharp = X[:, used], center[used], sharp[used]
    return squared_norms((X - center) * sharp)


def _sparse_exponents(X: Any, centers: Array, sharpness: Array) -> Array:
    """Return the exponents from products with the entries that are there, and their squares."""
    steepness, squares = sharpness**2, X.astype(np.float64)
    squares.data **= 2
    exponents = dense_product(X, steepness * centers)
    exponents -= 0.5 * dense_product(squares, steepness)
    exponents -= 0.5 * np.einsum("ij,ij->i", steepness, centers**2)
    return exponents
