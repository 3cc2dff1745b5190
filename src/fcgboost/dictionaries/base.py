"""Which atoms exist: families of functions whose members are rows of an array.

A dictionary proposes atoms (`candidates`) and evaluates them (`evaluate`). One row holds all of
an atom's parameters in the units of the raw inputs: standardisation is folded into the row,
w / s and b - mu . w / s for inner products; distances only need the scale s, which the model
keeps as one vector. So inputs are never centred, and sparse inputs stay sparse.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import is_tensor
from fcgboost.parts import Part, check_choice

Array = NDArray[np.float64]
Scaling = Literal["none", "max", "norm"]

#: The unit roundoff of float32.
UNIT32 = 2.0**-24
#: Inputs whose mean is more units from zero than this are not screened.
FARTHEST = 2.0**16
#: Parameters beyond these have squares that float32 does not hold.
SMALLEST32, LARGEST32 = 2.0**-30, 2.0**30


@dataclass(frozen=True)
class Sample:
    """What a dictionary may look at when it proposes atoms.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n_drawn, n_features)
        Distinct rows of the data, raw, in the order of their keyed hashes.
    shift, scale : ndarray of shape (n_features,)
        The standardisation: (x - shift) / scale. Zeros and ones where there is none.
    low, high : ndarray of shape (n_features,)
        The bounding box of the data, raw.
    variance : float
        The mean variance of the standardised columns (1 after standardisation).
    mean_square : float
        The mean squared norm of the standardised rows (n_features after standardisation).
    """

    rows: Any
    shift: Array
    scale: Array
    low: Array
    high: Array
    variance: float
    mean_square: float

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.scale)

    def dense_rows(self) -> Array:
        """Give the drawn rows as a dense float64 array."""
        rows = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        return np.asarray(rows, dtype=np.float64)


class Dictionary(Part):
    """A family of atoms.

    A sub-class stores its parameters in `__init__` and nothing else. `scaling` says what is
    done to a column before it is scored and corrected: "none", "max" (largest absolute value
    1 on the training data, as the theory wants) or "norm" (empirical norm 1). The ridge acts
    on the coefficients of the scaled columns; the model stores those of the unscaled atoms.
    """

    scaling: Scaling = "none"

    @abstractmethod
    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose at most n atoms.

        Parameters
        ----------
        sample : Sample
            At most n distinct rows and the shape of the data.
        n : int
        key : int
            The only source of randomness: equal keys give equal atoms.

        Returns
        -------
        ndarray or CSR matrix of shape (at most n, n_parameters)
        """

    @abstractmethod
    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Give the values of atoms at the rows of X.

        Arrays are NumPy's or, all three, torch's, in one precision; formulas take their functions
        from the array (`fcgboost.arrays.namespace`).

        Parameters
        ----------
        X : ndarray, CSR matrix or tensor of shape (n_samples, n_features)
        atoms : ndarray, CSR matrix or tensor of shape (n_atoms, n_parameters)
        scale : ndarray or tensor of shape (n_features,)
            One standardised unit of each column; rows of inner products hold it already.

        Returns
        -------
        ndarray or tensor of shape (n_samples, n_atoms)
        """

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Give `evaluate` as a function of X alone, for the many calls of a prediction.

        What depends on the atoms only is worth computing here. The function takes what `evaluate`
        takes, sparse X included, and gives the same values up to rounding.
        """
        return lambda X: self.evaluate(X, atoms, scale)

    def check_parameters(self) -> None:
        """Raise a ValueError that names a parameter with an impossible value."""
        check_choice(self, "scaling", ("none", "max", "norm"))


class SmoothDictionary(Dictionary):
    """A dictionary that knows the slope of its functions in the inputs."""

    @abstractmethod
    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Give the gradient in x of sum_j coef_j g_j(x) at the rows of X.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """


@dataclass(frozen=True)
class Rounding:
    """How far single-precision values of atoms may be from exact ones.

    |g~ - g| <= relative |g| + constant + slope |x| for every atom, x the row as it is evaluated.
    An infinite entry says that nothing is known.

    Attributes
    ----------
    relative, constant, slope : ndarray of shape (n_atoms,)
    """

    relative: Array
    constant: Array
    slope: Array


class ScreenedDictionary(Dictionary):
    """A dictionary that knows how well it does in single precision.

    Candidates are then screened in float32, and only those that can be the best are scored in
    float64. The bounds must be proved: a wrong one is a wrong model.
    """

    #: Whether values are never negative, in any precision: that spares a look at their sizes.
    is_nonnegative = False

    @abstractmethod
    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Give atoms that are at (x - origin) / unit, with a scale of ones, what these are at x.

        Parameters
        ----------
        atoms : ndarray of shape (n_atoms, n_parameters)
        origin, unit : ndarray of shape (n_features,)
            The unit is the scale that the dictionary is evaluated with.
        """

    @abstractmethod
    def rounding(self, atoms: Array, unit: float = UNIT32) -> Rounding:
        """Bound what inputs, atoms and arithmetic of some unit roundoff do to values.

        That of float32 is 2^-24, that of float64 2^-53. Parameters that float32 does not hold, or
        whose squares it does not, have an infinite bound there.
        """


# Atoms, or rows, from which on it pays to widen the inputs.
_MANY = 32
#: OpenBLAS starts threads for products of more multiplications.
PRODUCTS_ON_ONE_THREAD = 1 << 18


class InnerProductDictionary(SmoothDictionary):
    """Atoms profile(<w, x> + b); a row is (w, b), standardisation folded in."""

    @abstractmethod
    def profile(self, z: Array) -> Array:
        """Give the values of the atoms for z = <w, x> + b, which may be overwritten."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Give the derivative of the profile."""

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Give profile(<w, x> + b)."""
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

    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Give sum_j coef_j profile'(z_j) w_j."""
        weights, _ = split_last(atoms)
        return np.asarray((self.slope(affine(X, atoms)) * coef) @ weights)


def moved_planes(atoms: Array, origin: Array, unit: Array) -> Array:
    """Give rows (w unit, b + <w, origin>): what (w, b) are in other coordinates."""
    weights, offsets = split_last(atoms)
    return np.hstack([weights * unit, (offsets + weights @ origin)[:, None]])


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
    """Give an array whose rows lie one after the other in memory."""
    return array.contiguous() if is_tensor(array) else np.ascontiguousarray(array)


def product_on_one_thread(X: Any, columns: Any) -> Any:
    """Give X columns for a few rows, in pieces that OpenBLAS leaves to one thread.

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
    """Give <w, x> + b for rows (w, b), a fresh dense array."""
    if isinstance(X, np.ndarray) and isinstance(atoms, np.ndarray) and len(atoms) >= _MANY:
        # One more column in the product takes less time than adding the offsets.
        return np.asarray(widened(X, np.result_type(X, atoms)) @ atoms.T)
    weights, offsets = split_last(atoms)
    z = dense_product(X, weights)
    z += offsets
    return z


def widened(X: Any, dtype: Any) -> Any:
    """Give rows (x, 1)."""
    rows = np.empty((X.shape[0], X.shape[1] + 1), dtype)
    rows[:, :-1], rows[:, -1] = X, 1.0
    return rows


def dense_product(X: Any, rows: Any) -> Array:
    """Give X rows^T as a fresh dense array, whichever of the two is sparse."""
    product: Any = X @ rows.T
    dense: Array = product.toarray() if sparse.issparse(product) else product
    return dense
