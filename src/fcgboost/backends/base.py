"""The contract of a design: a dictionary laid over weighted data.

Sizes rule what may travel (m samples, n candidates, k selected atoms). The m x n and m x k
columns never leave the design; m-vectors pass only through its verbs; k-vectors and k x k matrices
are NumPy float64 arrays. CPU, GPU and cluster differ only below this contract.

Where the columns live elsewhere, looking at a number means waiting. So sums over rows come back as
*small* values that only `Columns.fetch` turns into numbers, several at a time: one wait, whatever
their number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Dictionary, Sample

Array = NDArray[np.float64]
Divisor = Literal["none", "max", "norm"]
#: A number, k-vector or k x k matrix that may still be on its way: only for `Columns.fetch`.
Small = Any

#: Scores within this share of the best are ties, which go to the lowest index: float64 sums in
#: another order differ by far less, so the choice does not depend on threads, blocks or storage.
TIE = 1e-10


@dataclass(frozen=True)
class Best:
    """The best candidate for one output: its place among the candidates and its score."""

    index: int
    score: float


@dataclass(frozen=True)
class Sums:
    """Exact sums over rows that say how much atoms would gain.

    A row is active for an output where its residual is not zero; there g is the atom and s the
    weights.

    Attributes
    ----------
    dots : ndarray of shape (n_atoms, n_outputs)
        <r, g>.
    firsts, squares : ndarray of shape (n_atoms, n_outputs)
        The sums of s g and s g^2 over the active rows.
    active : ndarray of shape (n_outputs,)
        The sum of s over the active rows.
    """

    dots: Array
    firsts: Array
    squares: Array
    active: Array

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.dots + other.dots,
            self.firsts + other.firsts,
            self.squares + other.squares,
            self.active + other.active,
        )


class Subsample(ABC):
    """Some rows of a design, the same ones during a fit, on which atoms are learned."""

    #: ndarray, CSR matrix or tensor: distinct raw rows, in an order that only their values decide.
    rows: Any

    @abstractmethod
    def residuals(self, R: Any) -> tuple[Any, Any]:
        """Return the residuals at these rows, and the weights of those that are not zero.

        Parameters
        ----------
        R : m-vectors of shape (n_samples, n_outputs)

        Returns
        -------
        two arrays, or tensors, of shape (n_rows, n_outputs)
            Sums over equal rows.
        """


class Candidates(ABC):
    """Atoms that may enter, laid over the data; shared by all outputs."""

    #: ndarray or CSR matrix of shape (n_candidates, n_parameters), in order of preference.
    atoms: Any

    @abstractmethod
    def best(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> list[Best | None]:
        """Find the candidate with the largest absolute inner product for every column of R.

        Scores are float64 sums over the rows in order. Those within TIE of the largest are equal,
        and the first of equals wins; so the choice depends on nothing but the candidates and R.

        Parameters
        ----------
        R : m-vectors of shape (n_samples, n_outputs)
        divisor : {"none", "max", "norm"}
            What each atom is divided by: nothing, its largest absolute value, its empirical
            norm. An atom that vanishes on the data scores 0.
        allowed : ndarray of bool, shape (n_candidates, n_outputs)
            Which candidates each output may choose.

        Returns
        -------
        list of Best or None
            None for an output that may choose no candidate.
        """

    @abstractmethod
    def best_joint(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> Best | None:
        """Find the one candidate that is best for all columns of R together.

        Its score is the root of the sum of the squared scores for the columns; all else is as in
        `best`.

        Parameters
        ----------
        R, divisor :
            As in `best`.
        allowed : ndarray of bool, shape (n_candidates,)

        Returns
        -------
        Best or None
            None if no candidate is allowed.
        """

    @abstractmethod
    def sums(self, R: Any) -> Sums:
        """Return what the gains of a few candidates are made of, in float64 over all rows."""


class Columns(ABC):
    """The selected atoms of one output as columns of A; the constant, if any, is column 0.

    Columns are scaled as the dictionary asks; `factors` turns coefficients of columns into
    coefficients of atoms.
    """

    #: Whether column 0 is the constant 1.
    has_constant: bool
    #: The number k of columns, the constant included.
    n_columns: int
    #: Whether A^T of a vector that is mostly zeros is worth some passes over m-vectors.
    saves_zeros: bool = False

    @property
    @abstractmethod
    def factors(self) -> Array:
        """The k-vector with: coefficient of the atom = factor x coefficient of its column."""

    @property
    @abstractmethod
    def norms(self) -> Array:
        """The k-vector of the columns' empirical norms."""

    def beside(self) -> Columns | None:
        """Return an empty set for an output that will take, and drop, each column after this one.

        So they are stored once; None where every output stores its own.
        """
        return None

    @abstractmethod
    def append(self, atoms: Any) -> None:
        """Add columns for parameter rows, which need not have been candidates."""

    @abstractmethod
    def drop(self, position: int) -> None:
        """Take a column out; those behind it move up. Small values were fetched before."""

    @abstractmethod
    def column(self, position: int) -> Any:
        """Return one column, an m-vector."""

    @abstractmethod
    def matvec(self, coef: Array) -> Any:
        """Return A coef, an m-vector."""

    @abstractmethod
    def rmatvec(self, vector: Any, first: int = 0) -> Small:
        """Return A^T vector, a small k-vector, of the columns from `first` on."""

    @abstractmethod
    def gram(self, weights: Any) -> Small:
        """Return A^T diag(weights) A, a small k x k matrix; rows of weight zero cost nothing."""

    @abstractmethod
    def fetch(self, *values: Small) -> list[Any]:
        """Turn small values into floats and NumPy arrays, all of them at once."""

    @abstractmethod
    def triangle(self, weights: Any, target: Any) -> Array:
        """Return R of a QR factorisation of diag(weights)^(1/2) [A, target].

        Its condition is that of A, not its square, which makes it the way to a rank-revealing
        solve: shape (k + 1, k + 1), upper triangular.
        """

    @abstractmethod
    def rows(self, function: Callable[..., Any], *vectors: Any, n_results: int = 1) -> Any:
        """Map an elementwise function over m-vectors where the rows live.

        Functions travel to the rows: they should be found by their names (`functools.partial`
        binds numbers) and hold nothing large. A function that gives several vectors says how many.
        """

    @abstractmethod
    def total(self, function: Callable[..., Any], *vectors: Any) -> Small:
        """Sum an elementwise function of m-vectors over all rows, a small number."""

    @abstractmethod
    def least(self, vector: Any) -> Small:
        """Return the smallest entry of an m-vector, a small number."""


class Design(ABC):
    """A dictionary laid over weighted data."""

    dictionary: Dictionary
    #: m-vector of positive sample weights, which are counts.
    weights: Any
    #: Their sum, which is what m means in every formula.
    total_weight: float
    #: One standardised unit of each column.
    scale: Array
    #: The standard deviation of each column.
    deviation: Array

    @property
    @abstractmethod
    def n_distinct(self) -> int:
        """The number of distinct rows."""

    @property
    @abstractmethod
    def least_distinct(self) -> int:
        """A number that is cheap to know and that the number of distinct rows is not below."""

    @abstractmethod
    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw at most n distinct rows of the data.

        The rows stand on a circle at their keyed hashes. The first n from the place `turn` on are
        drawn, and each step of a fit takes another turn: what a fresh draw costs does not grow
        with the data.
        """

    def expect(self, n: int, key: int, turn: int = 0) -> None:  # noqa: B027 - a mere hint
        """Hear of a draw that will come, so that it may be made along with something else."""

    @abstractmethod
    def subsample(self, n: int, key: int) -> Subsample:
        """Return at most n distinct rows of the data that can be looked at closely."""

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked for by this name; another name replaces it.

        For what the data and the dictionary decide: the paths of one fit share it.
        """
        made: tuple[Hashable, Any] | None = vars(self).get("_made")
        if made is None or made[0] != name:
            vars(self).pop("_made", None)
            made = vars(self)["_made"] = (name, make())
        return made[1]

    @abstractmethod
    def put(self, vector: Array) -> Any:
        """Return an m-vector of this design from a NumPy array, one entry per row."""

    @abstractmethod
    def stack(self, vectors: Sequence[Any]) -> Any:
        """Put m-vectors side by side, of shape (n_samples, n_vectors)."""

    @abstractmethod
    def candidates(self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]) -> Candidates:
        """Lay atoms over the data.

        Parameters
        ----------
        atoms : ndarray or CSR matrix of shape (n_candidates, n_parameters)
        reuse : bool
            Whether they will be scored more than once.
        store : bool or "auto"
            Whether to keep their values: "auto" does it if they are used again and fit the
            memory budget; True raises a MemoryError that says what to do if they do not.
        """

    @abstractmethod
    def columns(self, capacity: int, has_constant: bool) -> Columns:
        """Return an empty set of columns that can hold `capacity` atoms."""
