"""Functions of one inner product: what neurons, planes and polynomials have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.arrays import namespace
from fcgboost.dictionaries.base import Array, Dictionary, LearnableDictionary, SmoothDictionary

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
        return self.profile(_affine(X, atoms))

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Lay the weights out as columns, which short products read several times faster."""
        if not isinstance(atoms, np.ndarray):
            return super().prepared(atoms, scale)
        table = np.ascontiguousarray(atoms.T)

        def values(X: Any) -> Array:
            if isinstance(X, np.ndarray) and len(X) >= _MANY:
                return self.profile(product_on_one_thread(_widened(X, table.dtype), table))
            return self.profile(product_on_one_thread(X, table[:-1]) + table[-1])

        return values


class InnerProductDictionary(PlaneDictionary, SmoothDictionary, LearnableDictionary):
    """Atoms profile(<w, x> + b) with a profile that has a slope; a row is (w, b)."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return the derivative of the profile for z, which may be overwritten."""

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Return sum_j coef_j profile'(z_j) w_j."""
        weights, _ = split_last(atoms)
        return np.asarray((self.slope(_affine(X, atoms)) * coef) @ weights)

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return rows (w unit, b + <w, origin>)."""
        moved = np.array(atoms)
        moved[:, -1] += atoms[:, :-1] @ origin
        moved[:, :-1] *= unit
        return moved

    def free_gradient(self, Z: Any, theta: Any, V: Any) -> Any:
        """Return sum_i V[i, j] profile'(z_ij) (z_i, 1)."""
        slopes = self.slope(_affine(Z, theta)) * V
        return namespace(Z).concatenate([slopes.T @ Z, slopes.sum(0)[:, None]], axis=1)


def _affine(X: Any, atoms: Any) -> Array:
    """Return <w, x> + b for rows (w, b), a fresh dense array."""
    if type(X) is type(atoms) is np.ndarray and len(atoms) >= _MANY:
        # One more column in the product takes less time than adding the offsets.
        return np.asarray(_widened(X, np.result_type(X, atoms)) @ atoms.T)
    weights, offsets = split_last(atoms)
    z = dense_product(X, weights)
    z += offsets
    return z


def _widened(X: Any, dtype: Any) -> Any:
    """Return rows (x, 1)."""
    rows = np.ones((X.shape[0], X.shape[1] + 1), dtype)
    rows[:, :-1] = X
    return rows


def split_last(atoms: Any) -> tuple[Any, Array]:
    """Split rows into a vector part and the last parameter."""
    last = atoms[:, -1:].toarray().ravel() if sparse.issparse(atoms) else atoms[:, -1]
    return atoms[:, :-1], last


def dense_product(X: Any, rows: Any) -> Array:
    """Return X rows^T as a fresh dense array, whichever of the two is sparse."""
    product: Any = X @ rows.T
    return product.toarray() if sparse.issparse(product) else product  # type: ignore[no-any-return]


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
