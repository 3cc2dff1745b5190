"""One piece of the rows of a design on other machines: what a machine does with what it holds.

A piece is a design in memory over its own rows, with the coordinates of all rows. It gives sums
over its rows and never the rows themselves, except the few that are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.backends.base import Array, Divisor, Sums
from fcgboost.backends.candidates import MemoryCandidates
from fcgboost.backends.columns import MemoryColumns
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.subsamples import Members, residuals_at
from fcgboost.backends.values import Estimate, FreshValues, Values

_LAST_WORD = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Draw:
    """The first rows after a place on the circle, as far as some pieces know.

    Attributes
    ----------
    distances : ndarray of uint64
        Ascending, no two equal.
    rows : ndarray or CSR matrix
    horizon : int
        Up to this distance no row of these pieces is missing.
    """

    distances: hashing.Words
    rows: Any
    horizon: int

    def __add__(self, other: Draw) -> Draw:
        distances = np.concatenate([self.distances, other.distances])
        distances, places = np.unique(distances, return_index=True)
        both = [self.rows, other.rows]
        is_sparse = sparse.issparse(self.rows)
        rows: Any = sparse.vstack(both, "csr") if is_sparse else np.concatenate(both)
        return Draw(distances, rows[places], min(self.horizon, other.horizon))

    def first(self, n: int) -> Draw | None:
        """Return the first n rows, at most all there are; None where some may be missing."""
        is_known = self.distances <= np.uint64(self.horizon)
        if np.count_nonzero(is_known) < n and self.horizon < int(_LAST_WORD):
            return None
        return Draw(self.distances[:n], self.rows[:n], self.horizon)


@dataclass(frozen=True)
class Scores:
    """Sums over rows that scores are made of, and how far the exact ones are at most.

    Attributes
    ----------
    dots, bounds : ndarray of shape (n_candidates, n_outputs)
    sizes : ndarray of shape (2, n_candidates) or None
        Sizes, or their squares, and the same of their bounds.
    is_largest : bool
        Whether sizes are the largest values, not norms.
    """

    dots: Array
    bounds: Array
    sizes: Array | None
    is_largest: bool

    def __add__(self, other: Scores) -> Scores:
        sizes = self.sizes
        if sizes is not None and other.sizes is not None:
            sizes = np.maximum(sizes, other.sizes) if self.is_largest else sizes + other.sizes
        dots, bounds = self.dots + other.dots, self.bounds + other.bounds
        return Scores(dots, bounds, sizes, self.is_largest)

    @classmethod
    def of(cls, estimate: Estimate, divisor: Divisor) -> Scores:
        """Prepare an estimate for adding."""
        sizes, is_largest = None, divisor == "max"
        if estimate.sizes is not None:
            sizes = np.stack(estimate.sizes)
            sizes = sizes if is_largest else sizes**2
        return cls(estimate.dots, estimate.bounds, sizes, is_largest)

    def estimate(self) -> Estimate:
        """Return the estimate for all rows together.

        Errors of norms add up as norms do: |n(g + e) - n(g)| is at most n(e).
        """
        sizes = None
        if self.sizes is not None:
            size, bound = self.sizes if self.is_largest else np.sqrt(self.sizes)
            sizes = (size, bound)
        return Estimate(self.dots, self.bounds, sizes, True, 0)


class PieceCandidates(MemoryCandidates):
    """Candidates over the rows of one piece."""

    def scores(self, R: tuple[Array, ...], divisor: Divisor) -> Scores:
        """Estimate sums for all candidates."""
        self._design.forget_columns()
        with np.errstate(all="ignore"):
            return Scores.of(self._values.estimate(_stacked(R), divisor, None), divisor)

    def closer_scores(self, some: NDArray[np.intp], r: Array, divisor: Divisor) -> Scores:
        """Estimate the sums of some candidates in float64."""
        with np.errstate(all="ignore"):
            values: Values = FreshValues(self._design, self.atoms[some], single=False)
            return Scores.of(values.estimate(r[:, None], divisor, None), divisor)

    def exact_scores(self, some: NDArray[np.intp], r: Array, divisor: Divisor) -> Scores:
        """Return the sums of some candidates, added up in order."""
        dots = self.dots_of(some, r)
        sizes = None
        if divisor != "none":
            exact = np.array([self._size(int(j), divisor) for j in some])
            exact = exact if divisor == "max" else exact**2
            sizes = np.stack([exact, np.zeros_like(exact)])
        return Scores(dots[:, None], np.zeros((len(dots), 1)), sizes, divisor == "max")

    def piece_sums(self, R: tuple[Array, ...]) -> Sums:
        """Return the sums that gains are made of."""
        return self.sums(_stacked(R))


@dataclass(frozen=True)
class PieceSubsample:
    """The rows of a subsample that lie in one piece."""

    members: Members
    weights: Array

    def residuals(self, R: tuple[Array, ...]) -> Array:
        """Return residuals and active weights, zeros for rows that lie elsewhere."""
        residuals, active = residuals_at(self.members, _stacked(R), self.weights)
        return np.stack([residuals, active])


class PieceColumns(MemoryColumns):
    """Columns of one piece: unscaled, and made again from their atoms after they were dropped."""

    def __init__(self, design: PieceDesign, capacity: int, has_constant: bool) -> None:
        super().__init__(design, capacity, has_constant)
        self._atoms: list[Any] = []

    def append(self, atoms: Any) -> Array:  # type: ignore[override]
        """Add columns; give the sums of their weighted squares and their largest values."""
        self._make()
        values = self._evaluate(atoms)
        self._atoms.extend(atoms[j : j + 1] for j in range(atoms.shape[0]))
        self._store(values)
        squares = self._design.weights @ values**2
        return np.stack([squares, np.abs(values).max(axis=0)])

    @property
    def A(self) -> Any:  # noqa: N802 - a matrix
        """The matrix of the columns."""
        self._make()
        return super().A

    def _make(self) -> None:
        """Make the columns again if they were dropped."""
        if self._storage is None:
            # With room for the next one.
            self._storage = self._place.empty(self._design.n_rows, self.n_columns + 1)
            first = int(self.has_constant)
            self._storage[:, :first] = 1.0
            for j, atom in enumerate(self._atoms, first):
                self._storage[:, j] = self._design.evaluate(atom)[:, 0]

    def drop(self, position: int) -> None:
        """Take a column out."""
        del self._atoms[position - int(self.has_constant)]
        self._close_gap(position)

    def forget_values(self) -> None:
        """Return the memory of the columns back."""
        self._storage = None

    @property
    def is_dropped(self) -> bool:
        """Whether columns have to be made again from the rows."""
        return self._storage is None and len(self._atoms) > 0

    @property
    def n_bytes(self) -> int:
        """The memory that the columns take."""
        return 0 if self._storage is None else 8 * self._design.n_rows * self.n_columns

    def column(self, position: int) -> Any:
        """Return one column."""
        return self.A[:, position]

    def gram(self, weights: Any) -> Any:
        """Return the matrix itself: nobody waits here."""
        return self.fetch(super().gram(weights))[0]


class PieceDesign(MemoryDesign):
    """A design over the rows of one piece, which may be dropped and put back."""

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> PieceCandidates:
        """Lay atoms over the rows."""
        return PieceCandidates(self, atoms, self.is_worth_storing(atoms.shape[0], reuse, store))

    def columns(self, capacity: int, has_constant: bool) -> PieceColumns:
        """Return an empty set of columns."""
        return PieceColumns(self, capacity, has_constant)

    def put_back(self, X: Any) -> None:
        """Take the rows again."""
        self.X = self.inputs = X

    def drop(self) -> None:
        """Return the memory of the rows back."""
        self.X = self.inputs = None
        self.forget_columns()
        vars(self).pop("screen_inputs", None)

    @property
    def n_bytes(self) -> int:
        """The memory that the rows take."""
        arrays = [] if self.X is None else [self.X, *vars(self).get("screen_inputs", ())]
        return sum(map(n_bytes_of, arrays))


def n_bytes_of(array: Any) -> int:
    """Return the memory of an array or CSR matrix."""
    if sparse.issparse(array):
        return sum(int(part.nbytes) for part in (array.data, array.indices, array.indptr))
    return int(array.nbytes)


def _stacked(vectors: tuple[Array, ...]) -> Array:
    # Each of them in one piece of memory.
    return np.stack(vectors).T
