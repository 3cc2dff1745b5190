"""Kernels centred at points: Gauss and polynomial."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse

from fcgboost.arrays import is_tensor, namespace, squared_norms
from fcgboost.dictionaries.base import (
    LARGEST32,
    SMALLEST32,
    UNIT32,
    Array,
    LearnableDictionary,
    Rounding,
    Sample,
    Scaling,
    ScreenedDictionary,
    SmoothDictionary,
    check_range,
    ends_of,
    log_uniform,
)
from fcgboost.dictionaries.planes import (
    InnerProductDictionary,
    contiguous,
    dense_product,
    product_on_one_thread,
    split_last,
)
from fcgboost.parts import check_choice, check_count, check_positive

_FEW = 8
# Atoms below exp(-20) = 2e-9 count as nothing when single precision is judged, below exp(-50) when
# double precision is.
_NOTHING32, _NOTHING64 = 20.0, 50.0


class GaussDictionary(SmoothDictionary, ScreenedDictionary, LearnableDictionary):
    """Gauss atoms exp(-|x - c|^2 / (2 sigma^2)); a row is (c, sigma).

    Parameters
    ----------
    width : float, "scale" or pair of floats, default="scale"
        sigma, in standardised units. "scale" is sqrt(d v / 2), v the mean variance of the
        columns: on standardised inputs the width of scikit-learn's SVC with gamma="scale".
        A pair (low, high) gives every atom a width of its own, f sqrt(d v / 2) with log f uniform
        between log low and log high: (0.3, 3.0) is a tenfold range around "scale".
    centers : {"data", "box"}, default="data"
        Training inputs, or points drawn uniformly from their bounding box.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(
        self,
        width: float | Literal["scale"] | tuple[float, float] = "scale",
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
        check_range(self, "width", "scale")

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose atoms centred at training inputs or in their bounding box."""
        centers = _centers(sample, self.centers, n, key)
        widths = self._widths(sample, centers.shape[0], key)[:, None]
        if sparse.issparse(centers):
            return sparse.hstack([centers, widths], format="csr")
        return np.hstack([centers, widths])

    def _widths(self, sample: Sample, n: int, key: int) -> Array:
        """Return n widths in standardised units."""
        if isinstance(self.width, Real | str):
            return np.full(n, self.width_range(sample)[0])
        draw = log_uniform(self.width, np.random.default_rng([key, 1]), (n,))
        return self._unit(sample) * draw

    def width_range(self, sample: Sample) -> tuple[float, float]:
        """Return the least and the largest width in standardised units."""
        unit = 1.0 if isinstance(self.width, Real) else self._unit(sample)
        low, high = ends_of(1.0 if self.width == "scale" else self.width)
        return float(low * unit), float(high * unit)

    def _unit(self, sample: Sample) -> float:
        return float(np.sqrt(sample.n_features * sample.variance / 2.0)) or 1.0

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Return exp(-|(x - c) / s|^2 / (2 sigma^2))."""
        centers, widths = split_last(atoms)
        if not sparse.issparse(X) and not sparse.issparse(centers):
            # Distances do not change under a shift; a small one keeps |x|^2 - 2 x.c + |c|^2
            # from cancelling where the columns lie far from the origin.
            if len(centers) == 1:
                return _one(X, centers, widths, scale)
            if len(centers) <= _FEW:
                return _few(X, centers, widths, scale)
            origin = centers.mean(axis=0)
            X, centers = _divided(X - origin, scale), _divided(centers - origin, scale)
        else:
            X, centers = _divide(X, scale), _divide(centers, scale)
        return decay(_exponents(X, centers, 0.5 / widths**2))

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Keep the centres' side of the one product that gives all exponents."""
        centers, widths = split_last(atoms)
        if sparse.issparse(centers):
            return super().prepared(atoms, scale)
        origin = centers.mean(axis=0)
        right = contiguous(_centers_side((centers - origin) / scale, 0.5 / widths**2))

        def values(X: Any) -> Array:
            if sparse.issparse(X):
                return self.evaluate(X, atoms, scale)
            X = X - origin
            X /= scale
            return decay(product_on_one_thread(_inputs_side(X), right))

        return values

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Return sum_j coef_j g_j(x) (c_j - x) / (sigma_j^2 s^2)."""
        centers, widths = split_last(atoms)
        pulls = self.evaluate(X, atoms, scale) * (coef / widths**2)
        points = X.toarray() if sparse.issparse(X) else X
        away = pulls.sum(axis=1, keepdims=True) * points
        return np.asarray((pulls @ centers - away) / scale**2)

    is_nonnegative = True

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return the centres in the other coordinates; widths are in units already."""
        moved = np.array(atoms)
        moved[:, :-1] -= origin
        moved[:, :-1] /= unit
        return moved

    def free(self, atoms: Any) -> Any:
        """Return (c, log sigma)."""
        xp = namespace(atoms)
        return xp.concatenate([atoms[:, :-1], xp.log(atoms[:, -1:])], axis=1)

    def bound(self, theta: Any) -> Any:
        """Return (c, sigma)."""
        xp = namespace(theta)
        return xp.concatenate([theta[:, :-1], xp.exp(theta[:, -1:])], axis=1)

    def free_gradient(self, Z: Any, theta: Any, V: Any) -> Any:
        """Return sum_i V[i, j] g_j(z_i) ((z_i - c) / sigma^2, |z_i - c|^2 / sigma^2)."""
        centers, steepness = theta[:, :-1], namespace(theta).exp(-2.0 * theta[:, -1:])
        side = _inputs_side(Z)
        pulls = decay(side @ _centers_side(centers, 0.5 * steepness[:, 0])) * V
        sums = pulls.T @ side  # of z, |z|^2 and 1
        mass = sums[:, -1:]
        toward = sums[:, :-2] - mass * centers
        # |z - c|^2 = |z|^2 - |c|^2 - 2 <z - c, c>
        spread = sums[:, -2:-1] - mass * squared_norms(centers)[:, None]
        spread = spread - 2.0 * (toward * centers).sum(1)[:, None]
        return namespace(Z).concatenate([toward * steepness, spread * steepness], axis=1)

    def rounding(self, atoms: Array, unit: float = UNIT32) -> Rounding:
        """Bound the error of the exponent where the atom is not negligible.

        With t = 1 / (2 sigma^2) the exponent t (2 <x, c> - |x|^2 - |c|^2), both shifted by the
        centres' mean o, loses at most (2 d + 16) u t (|x| + |c| + 2 |o|)^2: d + 2 products and
        sums, as many in the squares, and inputs off by a few u. Within the reach sqrt(n / t) of
        the centre, exp(-n) being nothing, |x| is at most |c| + reach, and the value changes by at
        most a factor of exp(that), the exponential's own error included. Beyond it atom and error
        are below exp(-n) times a factor that is less than e^2 if the same bound is at most 1 for
        |x| up to 5 (|c| + |o|) + reach; for larger |x| the exponent grows faster than its error.
        """
        centers, widths = split_last(atoms)
        nothing = _NOTHING32 if unit >= UNIT32 else _NOTHING64
        steepness, reach = 0.5 / widths**2, np.sqrt(2.0 * nothing) * widths
        lengths = np.linalg.norm(centers, axis=1)
        shift = float(np.linalg.norm(centers.mean(axis=0)))
        lost = (2 * centers.shape[1] + 16) * unit * steepness
        near = lost * (2.0 * lengths + reach + 2.0 * shift) ** 2
        far = lost * (6.0 * lengths + reach + 7.0 * shift) ** 2
        is_held = (widths >= SMALLEST32) & (widths <= LARGEST32) & (lengths <= LARGEST32)
        is_known = (far <= 1.0) & (is_held | (unit < UNIT32))
        relative = np.where(is_known, np.expm1(np.minimum(near, 1.0)) + 8.0 * unit, np.inf)
        constant = np.full(len(relative), (1.0 + np.e**2) * np.exp(-nothing))
        return Rounding(relative, constant, np.zeros(len(relative)))


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
        """Return (1 + z)^p."""
        z += 1.0
        if self.degree == 1:
            return z
        power = z * z
        for _ in range(self.degree - 2):  # several times faster than a general power
            power *= z
        return power

    def slope(self, z: Array) -> Array:
        """Return p (1 + z)^(p - 1)."""
        return self.degree * (1.0 + z) ** (self.degree - 1)


def _centers(sample: Sample, where: str, n: int, key: int) -> Any:
    """Return raw centres: the drawn rows, or points of the bounding box."""
    if where == "data":
        return sample.rows if sparse.issparse(sample.rows) else sample.dense_rows()
    unit = np.random.default_rng(key).random((n, sample.n_features))
    return sample.low + unit * (sample.high - sample.low)


def _divide(X: Any, scale: Array) -> Any:
    if not sparse.issparse(X):
        return X / scale
    # Several times faster than a product with a diagonal matrix, on one row more than ten times.
    divided = X.astype(np.float64)
    divided.data *= (1.0 / scale)[X.indices]
    return divided


def _divided(X: Any, scale: Array) -> Any:
    """Divide a dense array in place, unless the unit is one."""
    if is_tensor(X) or (scale != 1.0).any():
        X /= scale
    return X


def _one(X: Any, center: Any, width: Array, scale: Array) -> Array:
    """Evaluate one atom by differences; a product adds up their squares, faster than a sum."""
    gaps = X - center
    gaps *= 0.5**0.5 / (width * scale)
    # Where squares overflow, the atom is 0.
    with np.errstate(over="ignore"):
        gaps *= gaps
    return decay(-(gaps @ namespace(gaps).ones_like(gaps[:1].T)))


def _few(X: Any, centers: Any, widths: Array, scale: Array) -> Array:
    """Evaluate a few atoms by differences, which are exact where an atom is large."""
    squares: Any = 0.0
    for column in range(X.shape[1]):
        gap = (X[:, column : column + 1] - centers[:, column]) / scale[column]
        squares = squares + gap * gap
    return decay(squares * (-0.5 / widths**2))


def _exponents(X: Any, centers: Any, steepness: Array) -> Any:
    """Return -t |x - c|^2, t the steepness of the atom at c."""
    if sparse.issparse(X) or sparse.issparse(centers):
        exponents: Any = dense_product(X, centers)
        exponents *= 2.0 * steepness
        exponents -= _squared_norms(X)[:, None] * steepness
        exponents -= _squared_norms(centers) * steepness
    else:
        # One product gives all three terms of the square, and no further pass over the block.
        exponents = _inputs_side(X) @ _centers_side(centers, steepness)
    return exponents


def _inputs_side(X: Any) -> Any:
    """Return rows (x, |x|^2, 1)."""
    xp = namespace(X)
    return xp.concatenate([X, squared_norms(X)[:, None], xp.ones_like(X[:, :1])], axis=1)


def _centers_side(centers: Any, steepness: Array) -> Any:
    """Return columns t (2 c, -1, -|c|^2), whose product with (x, |x|^2, 1) is -t |x - c|^2."""
    xp = namespace(centers)
    columns = [2.0 * centers, -xp.ones_like(centers[:, :1]), -squared_norms(centers)[:, None]]
    return (xp.concatenate(columns, axis=1) * steepness[:, None]).T


def decay(exponents: Any) -> Array:
    """Return the exponential, in place, of exponents that only rounding can have made positive."""
    if is_tensor(exponents):
        return exponents.clamp_(max=0.0).exp_()  # type: ignore[no-any-return]
    values: Array = np.exp(np.minimum(exponents, 0.0, out=exponents), out=exponents)
    return values


def _squared_norms(X: Any) -> Array:
    if sparse.issparse(X):
        places = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        totals = np.bincount(places, X.data**2, minlength=X.shape[0])
        return np.asarray(totals, dtype=np.float64)
    return np.asarray(squared_norms(X))
