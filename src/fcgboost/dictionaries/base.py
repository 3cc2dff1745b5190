"""The contracts of dictionaries: families of atoms, each atom a row of an array.

A dictionary proposes atoms (`candidates`) and evaluates them (`evaluate`). A row holds all of an
atom's parameters in the units of the raw inputs: standardisation is folded into it, w / s and
b - mu . w / s for inner products; distances need only the scale s, which the model keeps. So inputs
are never centred, and sparse inputs stay sparse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fcgboost.arrays import Array, Flags, Matrix, is_sparse, to_numpy
from fcgboost.parts import Part, is_positive, refuse

#: Returns the values of atoms at rows.
ValuesOf: TypeAlias = Callable[[Matrix], Array]


@dataclass(frozen=True)
class Sample:
    """What a dictionary knows of the data when it proposes atoms."""

    #: Distinct raw rows in the order of their keyed hashes: an ndarray or CSR matrix.
    rows: Matrix
    #: The standardisation (x - shift) / scale; zeros and ones if there is none.
    shift: Array
    scale: Array
    #: The bounding box of the raw data.
    low: Array
    high: Array
    #: The mean variance of the standardised columns (1 after standardisation).
    variance: float
    #: The mean squared norm of the standardised rows (n_features after standardisation).
    mean_square: float

    @property
    def n_features(self) -> int:
        return len(self.scale)

    def of_columns(self, columns: slice) -> Sample:
        """Return the sample of some columns, each with an equal share of a row's squared norm."""
        share = (columns.stop - columns.start) / self.n_features
        if share == 1.0:
            return self
        return replace(
            self,
            rows=self.rows[:, columns],
            shift=self.shift[columns],
            scale=self.scale[columns],
            low=self.low[columns],
            high=self.high[columns],
            mean_square=share * self.mean_square,
        )

    def dense_rows(self) -> Array:
        return np.asarray(to_numpy(self.rows), dtype=np.float64)

    def centers(self, where: str, n: int, key: int) -> Matrix:
        """Return raw centres: the rows, or n uniform points of the bounding box."""
        if where == "data":
            return self.rows if is_sparse(self.rows) else self.dense_rows()
        unit = np.random.default_rng(key).random((n, self.n_features))
        return self.low + unit * (self.high - self.low)


class Dictionary(Part):
    """A family of atoms.

    A subclass only stores its parameters in `__init__`.
    """

    #: Whether inputs may be NaN.
    takes_missing: bool = False
    #: Whether atoms are trees whose leaves have coefficients of their own.
    corrects_leaves: bool = False

    @property
    def families(self) -> Sequence[Dictionary]:
        """The families of a union, or this one."""
        return [self]

    def seen(self, number: int, n_features: int) -> slice:
        """Return the inputs that a family sees."""
        return slice(0, n_features)

    @abstractmethod
    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        """Return at most n atoms: an ndarray or CSR matrix of shape (n_atoms, n_parameters).

        The sample has at most n distinct rows. The key seeds all randomness.
        """

    @abstractmethod
    def evaluate(self, X: Matrix, atoms: Matrix, scale: Array) -> Array:
        """Return the values of atoms at the rows of X, of shape (n_samples, n_atoms).

        All arrays are NumPy's or all torch's, in one precision; take functions from
        `fcgboost.arrays.namespace`. X and atoms may be CSR matrices. The scale is one standardised
        unit of each column; rows of inner products already include it.
        """

    def prepared(self, atoms: Matrix, scale: Array) -> ValuesOf:
        """Return `evaluate` as a function of X alone, for repeated calls in prediction.

        Override it to precompute what depends on the atoms only. Values agree up to rounding.
        """
        return lambda X: self.evaluate(X, atoms, scale)

    def scaled(self, atoms: Matrix, factors: Array) -> Matrix | None:
        """Return atoms scaled by positive factors, or None if the family has no multiples."""
        return None

    def n_parameters(self, n_features: int) -> int:
        """Return the largest number of parameters of an atom: usually a vector and a number."""
        return n_features + 1

    def n_dense(self, n_features: int) -> int:
        """Return how many columns of sparse rows are made dense when atoms are learned."""
        return n_features

    def categories(self, n_features: int) -> Flags:
        """Return which features hold category codes, which are never clipped."""
        return np.zeros(n_features, dtype=bool)

    def check_rows(self, X: Matrix) -> None:
        """Raise a ValueError if the family cannot be fitted to rows."""

    def trimmed(self, atoms: Matrix) -> Matrix:
        """Return atoms without trailing zeros that only pad them to a common length."""
        return atoms

    def bare(self, atoms: Matrix) -> Matrix:
        """Return atoms without the values that correction replaces: leaf values become 0."""
        return atoms

    def with_leaf_values(self, atoms: Matrix, values: Sequence[Array]) -> Matrix:
        """Return atoms with the corrected leaf values of a step, one array per atom, if any."""
        return atoms


class SmoothDictionary(Dictionary):
    """A dictionary whose atoms are differentiable in the inputs."""

    @abstractmethod
    def input_gradient(
        self,
        X: Matrix,
        atoms: Matrix,
        coef: Array,
        scale: Array,
    ) -> Array:
        """Return the gradient of sum_j coef_j g_j(x) at each row x of X, in the shape of X."""


class LearnableDictionary(Dictionary):
    """A dictionary whose atoms can be improved along the gradient of their parameters.

    Atoms are improved in standardised coordinates (x - origin) / unit.
    """

    @abstractmethod
    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return atoms that have the same values in the coordinates (x - origin) / unit.

        The unit is the scale of `evaluate`, which becomes one. The inverse is
        `moved(atoms, -origin / unit, 1 / unit)`.
        """

    def free(self, atoms: Matrix) -> Matrix:
        """Return unconstrained parameters of the atoms: by default the rows themselves."""
        return atoms

    def bound(self, theta: Matrix) -> Matrix:
        """Return the atoms of unconstrained parameters, the inverse of `free`."""
        return theta

    @abstractmethod
    def free_gradient(self, Z: Matrix, theta: Matrix, V: Matrix) -> Matrix:
        """Return the gradient of sum_i V[i, j] g_j(z_i) in each theta_j, with a scale of ones.

        All arrays are NumPy's or all torch's, and must not be modified. Theta are unconstrained
        parameters; V has shape (n_samples, n_atoms).
        """


class Grower(ABC):
    """Grows atoms on residuals of fixed rows."""

    @abstractmethod
    def grow(self, residual: Array, weights: Array, key: int) -> Array:
        """Return atoms, if any, that correlate with a residual: (n_grown, n_parameters).

        The residual is the negative gradient of the weighted loss, so it includes the weights; rows
        where it is 0 do not count. The key seeds all randomness.
        """


class GrownDictionary(Dictionary):
    """A dictionary whose atoms are grown on a residual; `candidates` returns one trivial atom."""

    @abstractmethod
    def grower(self, sample: Sample) -> Grower:
        """Return a grower on the rows of a sample, dense or CSR, which may repeat."""


def ends_of(value: Any) -> tuple[Any, ...]:
    """Return a range as a tuple; a single number is both ends."""
    return tuple(value) if isinstance(value, Sequence | np.ndarray) else (value, value)


def check_range(part: Part, name: str, *words: str) -> None:
    """Raise a ValueError unless a parameter is a positive number, a range, or one of the words."""
    value = getattr(part, name)
    if isinstance(value, str) and value in words:
        return
    ends = ends_of(value)
    is_range = len(ends) == 2 and all(map(is_positive, ends))
    if not is_range or ends[0] > ends[1]:
        others = "".join(f", {word!r}" for word in words)
        refuse(part, name, f"a positive number{others} or a pair of positive numbers low <= high")


def log_uniform(value: Any, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draw numbers that are log-uniform in a range."""
    low, high = np.log(ends_of(value))
    return np.exp(generator.uniform(low, high, size=shape))
