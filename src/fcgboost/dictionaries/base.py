"""Which atoms exist: families of functions whose members are rows of an array.

A dictionary proposes atoms (`candidates`) and evaluates them (`evaluate`). One row holds all of
an atom's parameters in the units of the raw inputs: standardisation is folded into the row,
w / s and b - mu . w / s for inner products; distances only need the scale s, which the model
keeps as one vector. So inputs are never centred, and sparse inputs stay sparse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import Array, host, is_sparse
from fcgboost.parts import Part, check_choice, is_positive, refuse

Scaling = Literal["none", "max", "norm"]


@dataclass(frozen=True)
class Sample:
    """What a dictionary may look at when it proposes atoms."""

    #: Distinct rows of the data, raw, in the order of their keyed hashes: an ndarray or CSR matrix.
    rows: Any
    #: The standardisation: (x - shift) / scale. Zeros and ones where there is none.
    shift: Array
    scale: Array
    #: The bounding box of the data, raw.
    low: Array
    high: Array
    #: The mean variance of the standardised columns (1 after standardisation).
    variance: float
    #: The mean squared norm of the standardised rows (n_features after standardisation).
    mean_square: float

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.scale)

    def of_columns(self, columns: slice) -> Sample:
        """Return what is known of some columns, each of which has its share of a row's square."""
        share = (columns.stop - columns.start) / self.n_features
        if share == 1.0:
            return self
        names = ("shift", "scale", "low", "high")
        own = {name: getattr(self, name)[columns] for name in names}
        mean_square = share * self.mean_square
        return replace(self, rows=self.rows[:, columns], **own, mean_square=mean_square)

    def dense_rows(self) -> Array:
        """Return the drawn rows as a dense float64 array."""
        return np.asarray(host(self.rows), dtype=np.float64)

    def centers(self, where: str, n: int, key: int) -> Any:
        """Return raw centres: the drawn rows, or n points of the bounding box."""
        if where == "data":
            return self.rows if is_sparse(self.rows) else self.dense_rows()
        unit = np.random.default_rng(key).random((n, self.n_features))
        return self.low + unit * (self.high - self.low)


class Dictionary(Part):
    """A family of atoms.

    A sub-class stores its parameters in `__init__` and nothing else. `scaling` says what is
    done to a column before it is scored and corrected: "none", "max" (largest absolute value
    1 on the training data, as the theory wants) or "norm" (empirical norm 1). The ridge acts
    on the coefficients of the scaled columns; the model stores those of the unscaled atoms.
    """

    scaling: Scaling = "none"
    #: Whether the rows may hold NaN.
    takes_missing: bool = False
    #: Whether atoms are trees of which every leaf has a coefficient.
    corrects_leaves: bool = False

    @abstractmethod
    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Return at most n atoms: an ndarray or CSR matrix of shape (n_atoms, n_parameters).

        The sample has at most n distinct rows. The key is the only source of randomness: equal
        keys give equal atoms.
        """

    @abstractmethod
    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Return the values of atoms at the rows of X, of shape (n_samples, n_atoms).

        Arrays are NumPy's or, all three, torch's, in one precision; formulas take their functions
        from the array (`fcgboost.arrays.namespace`). X and atoms may be CSR matrices. The scale is
        one standardised unit of each column; rows of inner products hold it already.
        """

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Return `evaluate` as a function of X alone, for the many calls of a prediction.

        What depends on the atoms only is worth computing here. The function takes what `evaluate`
        takes, sparse X included, and gives the same values up to rounding.
        """
        return lambda X: self.evaluate(X, atoms, scale)

    def scaled(self, atoms: Any, factors: Array) -> Any | None:
        """Return atoms whose values are some positive factors, one each, times as large.

        None where a multiple of an atom is no atom of the family.
        """
        return None

    def n_parameters(self, n_features: int) -> int:
        """Return the number of parameters of a row, at most: a vector and a number, usually."""
        return n_features + 1

    def n_dense(self, n_features: int) -> int:
        """Return how many columns of sparse rows are made dense where atoms are learned."""
        return n_features

    def categories(self, n_features: int) -> NDArray[np.bool_]:
        """Tell which features hold codes of categories, which are not to be clipped."""
        return np.zeros(n_features, dtype=bool)

    def check_rows(self, X: Any) -> None:
        """Raise a ValueError if the family cannot be fitted to rows."""

    def trimmed(self, atoms: Any) -> Any:
        """Return rows without the zeros at the end that only longer rows of other atoms need."""
        return atoms

    def check_parameters(self) -> None:
        check_choice(self, "scaling", ("none", "max", "norm"))


class SmoothDictionary(Dictionary):
    """A dictionary that knows the slope of its functions in the inputs."""

    @abstractmethod
    def input_gradient(self, X: Any, atoms: Any, coef: Array, scale: Array) -> Array:
        """Return the gradient in x of sum_j coef_j g_j(x) at the rows of X, in their shape."""


class MovableDictionary(Dictionary):
    """A dictionary whose atoms can be written in other coordinates."""

    @abstractmethod
    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Return atoms that are at (x - origin) / unit, with a scale of ones, what these are at x.

        The unit is the scale that the dictionary is evaluated with. The way back is
        `moved(atoms, -origin / unit, 1 / unit)`.
        """


class ScreenedDictionary(MovableDictionary):
    """A dictionary that knows how well it does in single precision, in which atoms are screened.

    Only those that can be the best are then scored in float64.
    """

    @abstractmethod
    def rounding(self, atoms: Array, radius: float) -> tuple[Array, Array]:
        """Bound the values of atoms, and their errors in units of roundoff, two n-vectors.

        The radius is the largest norm of a row.
        """


class LearnableDictionary(MovableDictionary):
    """A dictionary whose atoms can be improved along the gradient in their own parameters.

    Atoms are improved in coordinates (x - origin) / unit, where all columns are alike. `free`
    turns rows into vectors without constraints, `bound` turns them back.
    """

    def free(self, atoms: Any) -> Any:
        """Return the vector without constraints of every row: the row itself, unless overridden."""
        return atoms

    def bound(self, theta: Any) -> Any:
        """Return the row of every vector without constraints: the inverse of `free`."""
        return theta

    @abstractmethod
    def free_gradient(self, Z: Any, theta: Any, V: Any) -> Any:
        """Return the gradient in every theta_j of sum_i V[i, j] g_j(z_i), with a scale of ones.

        Arrays are NumPy's or, all three, torch's; no argument is changed. Theta are vectors
        without constraints, as `free` gives them; V has the shape (n_samples, n_atoms).
        """


class Grower(ABC):
    """Grows atoms on residuals, and keeps what it computed of the rows while they are the same."""

    @abstractmethod
    def grow(self, rows: Any, residual: Array, weights: Array, key: int) -> Array:
        """Return atoms that correlate with a residual, of shape (n_grown, n_parameters).

        Rows are dense or CSR, and there may be no such atom. The residual is the negative gradient
        of the weighted loss: the weight is in it already, and rows where it is 0 do not count. The
        key is the only source of randomness.
        """


class GrownDictionary(Dictionary):
    """A dictionary whose atoms are grown on a residual; `candidates` gives one trivial atom."""

    @abstractmethod
    def grower(self, sample: Sample) -> Grower:
        """Return a grower for data of this shape."""


def ends_of(value: Any) -> tuple[Any, ...]:
    """Return a range as a tuple: of one number twice, or of what a sequence holds."""
    return tuple(value) if isinstance(value, Sequence | np.ndarray) else (value, value)


def check_range(part: Part, name: str, *words: str) -> None:
    """Raise a ValueError unless a parameter is a positive number, a pair of such, or a word."""
    value = getattr(part, name)
    if isinstance(value, str) and value in words:
        return
    ends = ends_of(value)
    if len(ends) != 2 or not all(map(is_positive, ends)) or ends[0] > ends[1]:
        others = "".join(f", {word!r}" for word in words)
        refuse(part, name, f"a positive number{others} or a pair low <= high of positive numbers")


def log_uniform(value: Any, generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draw numbers whose logarithms are uniform in a range."""
    low, high = np.log(ends_of(value))
    return np.exp(generator.uniform(low, high, size=shape))
