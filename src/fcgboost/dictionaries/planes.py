"""Functions of one inner product: neurons and polynomial kernels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fcgboost.arrays import (
    REACH,
    Array,
    Codes,
    Flags,
    Matrix,
    is_sparse,
    is_tensor,
    namespace,
    to_numpy,
)
from fcgboost.dictionaries.base import (
    Dictionary,
    LearnableDictionary,
    Sample,
    SmoothDictionary,
    ValuesOf,
    check_range,
    log_uniform,
)
from fcgboost.parts import check_choice, check_count, check_positive

# From this many atoms or rows on, widening the inputs pays off.
_MANY = 32
# From this many atoms on, a row of zeros is a faster bound than one zero.
_LONG = 64
#: OpenBLAS uses threads for products with more multiplications.
PRODUCTS_ON_ONE_THREAD = 1 << 18
_PRODUCTS_WITH_ONE_COLUMN = 1 << 13
# Pieces of products have at least so many rows.
_FEW_ROWS = 16


class PlaneDictionary(Dictionary):
    """Atoms profile(<w, x> + b); a row is (w, b), standardisation folded in."""

    @abstractmethod
    def profile(self, z: Array) -> Array:
        """Return the values of the atoms at z = <w, x> + b, which may be overwritten."""

    def evaluate(self, X: Matrix, atoms: Matrix, scale: Array) -> Array:
        return self.profile(_affine(X, atoms))

    def prepared(self, atoms: Matrix, scale: Array) -> ValuesOf:
        """Store the weights as columns, which makes small products several times faster."""
        if not isinstance(atoms, np.ndarray):
            return super().prepared(atoms, scale)
        table = np.ascontiguousarray(atoms.T)

        def values(X: Matrix) -> Array:
            if isinstance(X, np.ndarray) and len(X) >= _MANY:
                return self.profile(product_on_one_thread(_widened(X, table.dtype), table))
            return self.profile(product_on_one_thread(X, table[:-1]) + table[-1])

        return values


class InnerProductDictionary(PlaneDictionary, SmoothDictionary, LearnableDictionary):
    """Atoms profile(<w, x> + b) with a differentiable profile; a row is (w, b)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return the derivative of the profile at z, which may be overwritten."""

    def input_gradient(
        self,
        X: Matrix,
        atoms: Matrix,
        coef: Array,
        scale: Array,
    ) -> Array:
        """Return sum_j coef_j profile'(z_j) w_j."""
        weights, _ = split_last(atoms)
        return (self.slope(_affine(X, atoms)) * coef) @ weights

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return rows (w unit, b + <w, origin>)."""
        moved = np.array(atoms)
        moved[:, -1] += atoms[:, :-1] @ origin
        moved[:, :-1] *= unit
        return moved

    def free_gradient(self, Z: Matrix, theta: Matrix, V: Matrix) -> Matrix:
        """Return sum_i V[i, j] profile'(z_ij) (z_i, 1)."""
        slopes = self.slope(_affine(Z, theta)) * V
        sums = slopes.sum(0)[:, None]
        return namespace(Z).concatenate([slopes.T @ Z, sums], axis=1)


class NeuronDictionary(PlaneDictionary):
    """Atoms profile(<w, x> + b) with random weights."""

    #: In standardised units: unit directions with 1..max_features non-zero weights and planes
    #: through the rows of the sample in turn, or weights and offsets uniform in [-1, 1].
    weights: Literal["sparse", "box"] = "sparse"
    max_features: int | None

    def check_parameters(self) -> None:
        check_choice(self, "weights", ("sparse", "box"))
        if self.max_features is not None:
            check_count(self, "max_features")

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        """Draw (w, b) in standardised units and fold in the standardisation.

        Fewer atoms with the same key are the first of more: each kind of number has its own stream.
        """
        d = sample.n_features
        most = min(self.max_features or d, d)
        first, second, third = np.random.default_rng(key).spawn(3)
        if self.weights == "box":
            w = first.uniform(-1.0, 1.0, size=(n, d)) / sample.scale
            w[~_random_mask(d, np.full(n, most), third)] = 0.0
            b = second.uniform(-1.0, 1.0, size=n) - w @ sample.shift
        else:
            w = first.standard_normal((n, d))
            n_kept = second.integers(1, most + 1, size=n)
            w[~_random_mask(d, n_kept, third)] = 0.0
            w /= np.linalg.norm(w, axis=1, keepdims=True)
            w /= sample.scale
            # The shift cancels: <w, (x - mu) / s> - <w, (p - mu) / s> = <w / s, x - p>.
            rows = sample.dense_rows()
            through = rows[np.arange(n) % len(rows)]
            b = -np.einsum("ij,ij->i", w, through)
        return np.column_stack([w, b])


def _random_mask(n_features: int, n_kept: Codes, rng: np.random.Generator) -> Flags:
    """Choose n_kept[i] random columns for each row i."""
    numbers = rng.random((len(n_kept), n_features))
    ordered = np.sort(numbers, axis=1)
    last = ordered[np.arange(len(n_kept)), n_kept - 1]
    return numbers <= last[:, None]


@dataclass(eq=False, repr=False)
class SigmoidDictionary(NeuronDictionary, InnerProductDictionary):
    """Sigmoid atoms 1 / (1 + exp(-(<w, x> + b))); a row is (w, b).

    Parameters
    ----------
    slope_range : float or pair of floats, default=(1.0, 10.0)
        The norm of w in standardised units: fixed, or log-uniform in a range.
    weights : {"sparse", "box"}, default="sparse"
        "sparse": a direction with 1..d non-zero coordinates and value 1/2 at a training row.
        "box": w and b uniform in [-1, 1], the classical choice.
    max_features : int or None, default=None
        The largest number of non-zero coordinates of w; None means no limit.
    """

    slope_range: float | tuple[float, float] = (1.0, 10.0)
    weights: Literal["sparse", "box"] = "sparse"
    max_features: int | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        check_range(self, "slope_range")

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        rng = np.random.default_rng([key, 1])
        slopes = log_uniform(self.slope_range, rng, (n, 1))
        return slopes * super().candidates(sample, n, key)

    def profile(self, z: Array) -> Array:
        # Written so that no exponential overflows.
        z *= 0.5
        namespace(z).tanh(z, out=z)
        z += 1.0
        z *= 0.5
        return z

    def slope(self, z: Array) -> Array:
        g = self.profile(z)
        return g * (1.0 - g)


@dataclass(eq=False, repr=False)
class ReluDictionary(NeuronDictionary, InnerProductDictionary):
    """Rectified linear atoms max(0, <w, x> + b); a row is (w, b).

    Parameters
    ----------
    weights : {"sparse", "box"}, default="sparse"
        "sparse": a unit direction with 1..d non-zero coordinates and its kink at a training row.
        "box": w and b uniform in [-1, 1], the classical choice.
    max_features : int or None, default=None
        The largest number of non-zero coordinates of w; None means no limit.
    """

    weights: Literal["sparse", "box"] = "sparse"
    max_features: int | None = None

    def profile(self, z: Array) -> Array:
        if is_tensor(z):
            return z.clamp_(min=0.0)  # type: ignore[no-any-return]
        zero: Array | float = 0.0
        if z.shape[-1] >= _LONG:
            zero = np.zeros(z.shape[-1], z.dtype)
        return np.maximum(z, zero, out=z)

    def slope(self, z: Array) -> Matrix:
        return namespace(z).asarray(z > 0.0, dtype=z.dtype)

    def scaled(self, atoms: Matrix, factors: Array) -> Matrix:
        return atoms * factors[:, None]


class LinearProfile(InnerProductDictionary):
    """Linear atoms <w, x> + b."""

    def profile(self, z: Array) -> Array:
        return z

    def slope(self, z: Array) -> Matrix:
        return namespace(z).ones_like(z)

    def scaled(self, atoms: Matrix, factors: Array) -> Matrix:
        return atoms * factors[:, None]


@dataclass(eq=False, repr=False)
class LinearDictionary(NeuronDictionary, LinearProfile):
    """Linear atoms <w, x> + b; a row is (w, b).

    The direction w has norm 1 in standardised units and 1..d non-zero coordinates; the atom is zero
    at a training row.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest number of non-zero coordinates of w; None means no limit. With 1 every atom is a
        single input.
    """

    max_features: int | None = None


@dataclass(eq=False, repr=False)
class StepDictionary(NeuronDictionary):
    """Step atoms: 1 where <w, x> + b > 0, else 0; a row is (w, b).

    The direction w has 1..d non-zero coordinates. The step is at a training row, where the atom
    is 1.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest number of non-zero coordinates of w; None means no limit, 1 decision stumps.
    """

    max_features: int | None = None

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        """Propose random directions with the step at training rows.

        Exactly at a row, rounding would decide the value. So the step is moved by a little more
        than k products and sums can lose, k being the number of non-zero weights, but not by more
        than a share of what the atom spans: far from zero no row would be left next to it.
        """
        atoms = super().candidates(sample, n, key)
        weights = atoms[:, :-1]
        largest = np.maximum(np.abs(sample.low), np.abs(sample.high))
        slopes = np.abs(weights)
        sizes = slopes @ (largest + np.abs(sample.shift) + sample.scale)
        n_weights = np.count_nonzero(weights, axis=1)
        span = sample.high - sample.low
        span = np.where(span > 0.0, span, largest)
        lost = (n_weights + 4) * 2.0**-50 * sizes
        share = slopes @ span / 32.0
        atoms[:, -1] += np.minimum(lost, share)
        return atoms

    def profile(self, z: Array) -> Matrix:
        return namespace(z).greater(z, 0.0, out=z)


@dataclass(eq=False, repr=False)
class PolynomialDictionary(InnerProductDictionary):
    """Polynomial kernel atoms (1 + <x, c> / q)^p; a row is (w, b), so that z = <x, c> / q.

    Parameters
    ----------
    degree : int, default=3
        The power p.
    q : float or "scale", default="scale"
        The divisor of the inner product, 1 in the paper. "scale" is the mean of |x|^2 in
        standardised units (the number of columns after standardisation), like gamma="scale" of
        scikit-learn's SVC.
    centers : {"data", "box"}, default="data"
        Training rows, or points drawn uniformly from their bounding box.
    """

    degree: int = 3
    q: float | Literal["scale"] = "scale"
    centers: Literal["data", "box"] = "data"

    def check_parameters(self) -> None:
        check_choice(self, "centers", ("data", "box"))
        check_count(self, "degree")
        if not (isinstance(self.q, str) and self.q == "scale"):
            check_positive(self, "q")

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        centers = to_numpy(sample.centers(self.centers, n, key))
        q = (sample.mean_square or 1.0) if self.q == "scale" else self.q
        weights = (centers - sample.shift) / (q * sample.scale**2)
        return np.hstack([weights, -(weights @ sample.shift)[:, None]])

    def profile(self, z: Array) -> Array:
        """Return (1 + z)^p."""
        z += 1.0
        # REACH in float64; the precision of a device may hold less.
        limit = float(namespace(z).finfo(z.dtype).max)
        largest = min(REACH, limit**0.47)
        most = largest ** (1.0 / self.degree)
        namespace(z).clip(
            z,
            -most,
            most,
            out=z,
        )
        if self.degree == 1:
            return z
        power = z * z
        for _ in range(self.degree - 2):  # several times faster than a general power
            power *= z
        return power

    def slope(self, z: Array) -> Array:
        """Return p (1 + z)^(p - 1)."""
        return self.degree * (1.0 + z) ** (self.degree - 1)


def _affine(X: Matrix, atoms: Matrix) -> Array:
    """Return <w, x> + b for rows (w, b) as a new dense array."""
    if type(X) is type(atoms) is np.ndarray and len(atoms) >= _MANY:
        # One more column in the product is faster than adding the offsets.
        return _widened(X, np.result_type(X, atoms)) @ atoms.T
    weights, offsets = split_last(atoms)
    z = dense_product(X, weights)
    z += offsets
    return z


def _widened(X: Array, dtype: np.dtype[np.floating]) -> Array:
    """Return rows (x, 1)."""
    rows = np.ones((X.shape[0], X.shape[1] + 1), dtype)
    rows[:, :-1] = X
    return rows


def split_last(atoms: Matrix) -> tuple[Matrix, Array]:
    """Split rows into a vector part and the last parameter."""
    if is_sparse(atoms):
        return atoms[:, :-1], atoms[:, -1:].toarray().ravel()
    return atoms[:, :-1], atoms[:, -1]


def dense_product(X: Matrix, rows: Matrix) -> Array:
    """Return X rows^T as a new dense array; either may be sparse."""
    product: Matrix = X @ rows.T
    return product.toarray() if is_sparse(product) else product


def product_on_one_thread(X: Matrix, columns: Matrix) -> Matrix:
    """Return X @ columns in pieces that OpenBLAS runs on one thread.

    A second thread gains little, and costs milliseconds if another process holds its core.
    """
    if not isinstance(X, np.ndarray):
        return X @ columns
    most = _PRODUCTS_WITH_ONE_COLUMN if columns.shape[1] == 1 else PRODUCTS_ON_ONE_THREAD
    n_rows = max(_FEW_ROWS, most // (columns.size or 1))
    if len(X) <= n_rows:
        return _product_of_few_rows(X, columns, most)
    product = np.empty((len(X), columns.shape[1]), np.result_type(X, columns))
    for start in range(0, len(X), n_rows):
        piece = X[start : start + n_rows]
        product[start : start + n_rows] = _product_of_few_rows(piece, columns, most)
    return product


def _product_of_few_rows(X: Array, columns: Array, most: int) -> Array:
    """Return X @ columns in pieces of at most so many multiplications."""
    size = most // (X.shape[0] * columns.shape[1] or 1) or 1
    if X.shape[1] <= size:
        return X @ columns
    total = X[:, :size] @ columns[:size]
    for start in range(size, X.shape[1], size):
        total += X[:, start : start + size] @ columns[start : start + size]
    return total
