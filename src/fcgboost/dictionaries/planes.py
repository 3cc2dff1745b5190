"""Functions of one inner product: what neurons, planes and polynomials have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import is_tensor, namespace
from fcgboost.dictionaries.base import (
    FARTHEST,
    LARGEST32,
    SMALLEST32,
    UNIT32,
    Array,
    Dictionary,
    LearnableDictionary,
    Sample,
    SmoothDictionary,
)
from fcgboost.parts import check_count

# Atoms, or rows, from which on it pays to widen the inputs.
_MANY = 32
#: OpenBLAS starts threads for products of more multiplications.
PRODUCTS_ON_ONE_THREAD = 1 << 18


class PlaneDictionary(Dictionary):
    """Atoms profile(<w, x> + b); a row is (w, b), standardisation folded in."""

    @abstractmethod
    def profile(self, z: Array) -> Array:
        """Return the values of the atoms for z = <w, x> + b, which may be overwritten."""

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Return profile(<w, x> + b)."""
        return self.profile(affine(X, atoms))

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Lay the weights out as columns, which short products read several times faster."""
        weights, offsets = split_last(atoms)
        if sparse.issparse(weights):
            return super().prepared(atoms, scale)
        if is_tensor(atoms):
            columns = contiguous(weights.T)
            return lambda X: self.profile(X @ columns + offsets)
        table = np.ascontiguousarray(atoms.T)

        def values(X: Any) -> Array:
            if isinstance(X, np.ndarray) and len(X) >= _MANY:
                return self.profile(product_on_one_thread(widened(X, table.dtype), table))
            z = product_on_one_thread(X, table[:-1])
            z += table[-1]
            return self.profile(z)

        return values


class InnerProductDictionary(PlaneDictionary, SmoothDictionary, LearnableDictionary):
    """Atoms profile(<w, x> + b) with a profile that has a slope; a row is (w, b)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return the derivative of the profile for z, which may be overwritten."""

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Return sum_j coef_j profile'(z_j) w_j."""
        weights, _ = split_last(atoms)
        return np.asarray((self.slope(affine(X, atoms)) * coef) @ weights)

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return (w unit, b + <w, origin>)."""
        return moved_planes(atoms, origin, unit)

    def free_gradient(self, Z: Any, theta: Any, V: Any) -> Any:
        """Return sum_i V[i, j] profile'(z_ij) (z_i, 1)."""
        pulls = self.slope(affine(Z, theta)) * V
        parts = [pulls.T @ Z, pulls.sum(0)[:, None]]
        return namespace(Z).concatenate(parts, axis=1)


def moved_planes(atoms: Array, origin: Array, unit: Array) -> Array:
    """Return rows (w unit, b + <w, origin>): what (w, b) are in other coordinates."""
    moved = np.array(atoms)
    moved[:, -1] += atoms[:, :-1] @ origin
    moved[:, :-1] *= unit
    return moved


def affine_rounding(atoms: Array, unit: float) -> tuple[Array, Array]:
    """Bound the error of <w, x> + b by constant + slope |x|.

    Inputs and weights are off by u of their size, d products and d sums lose at most
    (d + 1) u / (1 - (d + 1) u) of the sum of their sizes; two more cover products of errors. Moving
    the offset, and the exact value itself, lose as much in float64 of sizes FARTHEST times larger.
    Infinite where float32 does not hold the parameters.
    """
    weights, offsets = split_last(atoms)
    d = weights.shape[1]
    lost, lengths = (d + 6) * unit, np.linalg.norm(weights, axis=1)
    far = (d + 6) * 2.0**-51 * FARTHEST * np.sqrt(d) * lengths
    sizes = np.maximum(lengths, np.abs(offsets))
    is_known = ((sizes <= LARGEST32) & (lengths >= SMALLEST32)) | (unit < UNIT32)
    constant = np.where(is_known, lost * np.abs(offsets) + far, np.inf)
    return constant, lost * lengths


def split_last(atoms: Any) -> tuple[Any, Array]:
    """Split rows into a vector part and the last parameter."""
    if isinstance(atoms, np.ndarray):
        return atoms[:, :-1], atoms[:, -1]
    last = atoms[:, -1:]
    last = last.toarray() if sparse.issparse(last) else last
    return atoms[:, :-1], last.reshape(-1)


def contiguous(array: Any) -> Any:
    """Return an array whose rows lie one after the other in memory."""
    return array.contiguous() if is_tensor(array) else np.ascontiguousarray(array)


def product_on_one_thread(X: Any, columns: Any) -> Any:
    """Return X columns for a few rows, in pieces that OpenBLAS leaves to one thread.

    Another thread gains little, and costs milliseconds where another process holds its core.
    """
    size = PRODUCTS_ON_ONE_THREAD // (X.shape[0] * columns.shape[1] or 1) or 1
    if X.shape[1] <= size or not isinstance(X, np.ndarray):
        return X @ columns
    total = X[:, :size] @ columns[:size]
    for start in range(size, X.shape[1], size):
        total += X[:, start : start + size] @ columns[start : start + size]
    return total


def affine(X: Any, atoms: Any) -> Array:
    """Return <w, x> + b for rows (w, b), a fresh dense array."""
    if isinstance(X, np.ndarray) and isinstance(atoms, np.ndarray) and len(atoms) >= _MANY:
        # One more column in the product takes less time than adding the offsets.
        return np.asarray(widened(X, np.result_type(X, atoms)) @ atoms.T)
    weights, offsets = split_last(atoms)
    z = dense_product(X, weights)
    z += offsets
    return z


def widened(X: Any, dtype: Any) -> Any:
    """Return rows (x, 1)."""
    rows = np.empty((X.shape[0], X.shape[1] + 1), dtype)
    rows[:, :-1], rows[:, -1] = X, 1.0
    return rows


def dense_product(X: Any, rows: Any) -> Array:
    """Return X rows^T as a fresh dense array, whichever of the two is sparse."""
    product: Any = X @ rows.T
    dense: Array = product.toarray() if sparse.issparse(product) else product
    return dense


def check_max_features(dictionary: Any) -> None:
    """Raise a ValueError unless `max_features` is None or a whole number from 1 on."""
    if dictionary.max_features is not None:
        check_count(dictionary, "max_features")


def draw_planes(
    sample: Sample, n: int, key: int, max_features: int | None = None, where: str = "sparse"
) -> Array:
    """Draw (w, b) in standardised units and fold the standardisation in.

    Every kind of number has its own stream, filled atom by atom: fewer atoms of the same key
    are the first ones of more.

    Parameters
    ----------
    sample : Sample
    n, key : int
    max_features : int or None
        The most non-zero weights of an atom; None is as many as there are columns.
    where : {"sparse", "box"}
        Unit directions with 1..max_features non-zero weights, through the rows of the sample in
        turn; or weights and offsets uniform in [-1, 1].
    """
    d = sample.n_features
    seeds = np.random.SeedSequence(key).spawn(3)
    first, second, third = map(np.random.default_rng, seeds)
    if where == "box":
        w = first.uniform(-1.0, 1.0, size=(n, d)) / sample.scale
        b = second.uniform(-1.0, 1.0, size=n)
        if max_features is not None:
            w[~draw_columns(d, np.full(n, min(max_features, d)), third)] = 0.0
        return np.hstack([w, (b - w @ sample.shift)[:, None]])
    w = first.standard_normal((n, d))
    n_nonzero = second.integers(1, min(max_features or d, d) + 1, size=n)
    w[~draw_columns(d, n_nonzero, third)] = 0.0
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    w /= sample.scale
    # The shift cancels: <w, (x - mu) / s> - <w, (p - mu) / s> = <w / s, x - p>.
    through = sample.dense_rows()[np.arange(n) % sample.rows.shape[0]]
    return np.hstack([w, -np.einsum("ij,ij->i", w, through)[:, None]])


def draw_columns(n_features: int, n_kept: Any, lots: np.random.Generator) -> NDArray[np.bool_]:
    """Choose as many columns by lot for every row as the row's entry of n_kept says."""
    numbers = lots.random((len(n_kept), n_features))
    last = np.sort(numbers, axis=1)[np.arange(len(n_kept)), n_kept - 1]
    return np.asarray(numbers <= last[:, None])
