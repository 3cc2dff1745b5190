"""The contract of a design: a dictionary laid over weighted data.

Sizes rule what may travel (m samples, n candidates, k selected atoms). The m x n and m x k
columns never leave the design; m-vectors pass only through its verbs; k-vectors, k x k matrices
and n-vectors are NumPy float64 arrays. CPU, GPU and cluster differ only below this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Dictionary, Sample

Array = NDArray[np.float64]
Divisor = Literal["none", "max", "norm"]

#: Scores at least (1 - this) times the best are exact in what `Candidates.correlate` gives. Ties
#: must be judged more finely than that.
NEARLY_BEST = 1e-9


class Candidates(ABC):
    """Atoms that may enter, laid over the data; shared by all outputs."""

    #: ndarray or CSR matrix of shape (n_candidates, n_parameters), in order of preference.
    atoms: Any

    @abstractmethod
    def correlate(
        self, R: Array, divisor: Divisor, allowed: NDArray[np.bool_] | None = None
    ) -> Array:
        """Give the inner products of every candidate with every column of R.

        Exact means: what a pass over all candidates gives, to the last bit. Without `allowed` all
        scores are exact. With it, in every column, those of the best allowed candidate and of all
        allowed ones with at least (1 - NEARLY_BEST) times its absolute score are exact; any other
        score may be an approximation, and of an allowed candidate both it and the exact one are
        smaller than that in absolute value. So a choice among the allowed is the same.

        Parameters
        ----------
        R : m-vectors of shape (n_samples, n_outputs)
        divisor : {"none", "max", "norm"}
            What each atom is divided by: nothing, its largest absolute value, its empirical
            norm. An atom that vanishes on the data scores 0.
        allowed : ndarray of bool, shape (n_candidates, n_outputs), or None, default=None
            Which candidates can be chosen; None asks for all scores.

        Returns
        -------
        ndarray of shape (n_candidates, n_outputs)
        """


class Columns(ABC):
    """The selected atoms of one output as columns of A; the constant, if any, is column 0.

    Columns are scaled as the dictionary asks; `factors` turns coefficients of columns into
    coefficients of atoms.
    """

    #: Whether column 0 is the constant 1.
    has_constant: bool
    #: k-vector: coefficient of the atom = factor x coefficient of its column.
    factors: Array
    #: k-vector: the empirical norm of every column.
    norms: Array

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number k of columns, the constant included."""

    @abstractmethod
    def append(self, atoms: Any) -> None:
        """Add columns for parameter rows, which need not have been candidates."""

    @abstractmethod
    def column(self, position: int) -> Array:
        """Give one column, an m-vector."""

    @abstractmethod
    def matvec(self, coef: Array) -> Array:
        """Give A coef, an m-vector."""

    @abstractmethod
    def rmatvec(self, vector: Array) -> Array:
        """Give A^T vector, a k-vector."""

    @abstractmethod
    def gram(self, weights: Array) -> Array:
        """Give A^T diag(weights) A; rows of weight zero cost nothing."""

    @abstractmethod
    def triangle(self, weights: Array, target: Array) -> Array:
        """Give R of a QR factorisation of diag(weights)^(1/2) [A, target].

        Its condition is that of A, not its square, which makes it the way to a rank-revealing
        solve: shape (k + 1, k + 1), upper triangular.
        """

    @abstractmethod
    def rows(self, function: Callable[..., Array], *vectors: Array) -> Array:
        """Map an elementwise function over m-vectors where the rows live."""

    @abstractmethod
    def total(self, function: Callable[..., Array], *vectors: Array) -> float:
        """Sum an elementwise function of m-vectors over all rows."""

    @abstractmethod
    def least(self, vector: Array) -> float:
        """Give the smallest entry of an m-vector."""


class Design(ABC):
    """A dictionary laid over weighted data."""

    dictionary: Dictionary
    #: m-vector of positive sample weights, which are counts.
    weights: Array
    #: Their sum, which is what m means in every formula.
    total_weight: float
    #: One standardised unit of each column.
    scale: Array
    #: The standard deviation of each column.
    deviation: Array
    #: The number of distinct rows.
    n_distinct: int

    @abstractmethod
    def sample(self, n: int, key: int) -> Sample:
        """Draw at most n distinct rows of the data, those with the smallest keyed hashes."""

    @abstractmethod
    def stack(self, vectors: Sequence[Array]) -> Array:
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
        """Give an empty set of columns that can hold `capacity` atoms."""
