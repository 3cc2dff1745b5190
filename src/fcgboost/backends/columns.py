"""The selected columns of one output, and the Gram matrix that is kept between calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fcgboost.backends.base import Array, Columns, Small
from fcgboost.backends.blocks import row_blocks
from fcgboost.backends.places import Place

if TYPE_CHECKING:
    from fcgboost.backends.memory import MemoryDesign

# Room for columns that is taken at once; more is only found by copying.
_COLUMNS_AT_FIRST, _COLUMNS_AT_FIRST_AHEAD = 1024, 128
# One row in so many is worth gathering before a pass over the columns.
_GATHER = 8
# Values from which on a pass over all of them takes longer than ten over m-vectors.
_MANY_VALUES = 1 << 17
# Rows of one product: more of them are shared by threads.
_ROWS_AT_ONCE = 1 << 16
# The kept Gram matrix is recomputed after so many updates, or once a column has lost all but
# this share of its squared norm: long before rounding shows.
_GRAM_UPDATES = 64
_GRAM_LOSS = 1e-3
# Where the number of changed rows is not known in time, the room for them.
_LEAST_ROOM = 4096


@dataclass(frozen=True)
class Pending:
    """Arrays on their way to the host, and what makes one value of them there."""

    arrays: tuple[Any, ...]
    finish: Callable[..., Any]


class MemoryColumns(Columns):
    """Columns in one place, each contiguous."""

    def __init__(self, design: MemoryDesign, capacity: int, has_constant: bool) -> None:
        self.has_constant = has_constant
        self.n_columns = int(has_constant)
        self._design = design
        self._place = design.place
        self._capacity = capacity + self.n_columns
        n_rows = design.n_rows
        # Pages that were never written take no memory here; on a device they do.
        at_first = _COLUMNS_AT_FIRST_AHEAD if self._place.is_ahead else _COLUMNS_AT_FIRST
        self._storage = self._place.empty(n_rows, min(self._capacity, at_first))
        self._storage[:, : self.n_columns] = 1.0
        self._factors, self._norms = np.ones(self.n_columns), np.ones(self.n_columns)
        # Factors and norms that were not fetched yet.
        self._unread: list[Pending] = []
        self._gram = KeptGram(self)

    @property
    def A(self) -> Any:  # noqa: N802 - a matrix
        """The matrix of the columns."""
        return self._storage[:, : self.n_columns]

    @property
    def saves_zeros(self) -> bool:  # type: ignore[override]
        """Whether zeros in a vector save much: where they can be seen, and the columns are many."""
        return not self._place.is_ahead and self.n_columns * self._design.n_rows >= _MANY_VALUES

    @property
    def place(self) -> Place:
        """Where they are."""
        return self._place

    @property
    def factors(self) -> Array:
        """Coefficient of the atom = factor x coefficient of its column."""
        self._read()
        return self._factors

    @property
    def norms(self) -> Array:
        """The empirical norm of every column."""
        self._read()
        return self._norms

    def beside(self) -> SharedColumns | None:
        """Return a set that looks at these columns."""
        return SharedColumns(self)

    def append(self, atoms: Any) -> None:
        """Evaluate, scale and store columns."""
        design, xp = self._design, self._place.xp
        values = self._evaluate(atoms)
        norms = xp.sqrt(design.weights @ values**2 / design.total_weight)
        scaling, factors = design.dictionary.scaling, xp.ones_like(norms)
        if scaling != "none":
            sizes = norms if scaling == "norm" else xp.amax(xp.abs(values), axis=0)
            factors = 1.0 / xp.where(sizes > 0.0, sizes, 1.0)
            values, norms = values * factors, norms * factors
        self._store(values)
        self._unread.append(Pending((factors, norms), self._note_sizes))

    def _evaluate(self, atoms: Any) -> Any:
        """Return the values of atoms; one that was scored exactly is known already."""
        if atoms.shape[0] == 1 and not self._place.is_ahead:
            return self._design.column(atoms)[:, None]
        return self._design.evaluate(atoms)

    def _store(self, values: Any) -> None:
        """Put columns beside those that are there."""
        first, self.n_columns = self.n_columns, self.n_columns + values.shape[1]
        if self.n_columns > self._storage.shape[1]:
            larger = self._place.empty(len(values), min(self._capacity, 2 * self.n_columns))
            larger[:, :first] = self._storage[:, :first]
            self._storage = larger
        self._storage[:, first : self.n_columns] = values

    def drop(self, position: int) -> None:
        """Take a column out; those behind it move up."""
        self._read()
        self._factors = np.delete(self._factors, position)
        self._norms = np.delete(self._norms, position)
        self._close_gap(position)

    def _close_gap(self, position: int) -> None:
        """Let the columns behind a position move up, and the kept Gram matrix follow."""
        self.n_columns -= 1
        # One after the other: on a device, what is read and what is written must not overlap.
        for j in range(position, self.n_columns if self._storage is not None else position):
            self._storage[:, j] = self._storage[:, j + 1]
        self._gram.drop(position)

    def _note_sizes(self, factors: Array, norms: Array) -> None:
        self._factors = np.concatenate([self._factors, factors])
        self._norms = np.concatenate([self._norms, norms])

    def _read(self) -> None:
        if self._unread:
            self.fetch()

    def column(self, position: int) -> Any:
        """Return one column."""
        return self._storage[:, position]

    def matvec(self, coef: Array) -> Any:
        """Return A coef."""
        A, coef = self.A, self._place.put(coef)
        blocks = self.row_blocks()
        if len(blocks) == 1:
            return A @ coef
        return np.concatenate(self._design.each(lambda rows: A[rows] @ coef, blocks))

    def rmatvec(self, vector: Any, first: int = 0) -> Small:
        """Return A^T vector; entries of zero cost little where they are most."""
        A = self.A[:, first:]
        if not self._place.is_ahead:
            if _GATHER * np.count_nonzero(vector) < len(vector):
                rows = np.flatnonzero(vector)
                return A[rows].T @ vector[rows]
            if len(vector) <= _ROWS_AT_ONCE:
                return A.T @ vector
        return self.sum_blocks(lambda rows: A[rows].T @ vector[rows])

    def row_blocks(self) -> list[slice]:
        """Cut the rows into pieces for threads; these do not depend on how many there are."""
        n_rows = self._design.n_rows
        return row_blocks(n_rows, n_rows if self._place.is_ahead else _ROWS_AT_ONCE)

    def sum_blocks(self, function: Callable[[slice], Any]) -> Any:
        """Add up a function of the blocks of rows, in order."""
        total, *others = self._design.each(function, self.row_blocks())
        for other in others:
            total = total + other
        return total

    def gram(self, weights: Any) -> Small:
        """Return A^T diag(weights) A from the last one: changed rows, then new columns."""
        return self._gram.update(weights)

    def fetch(self, *values: Small) -> list[Any]:
        """Bring everything that waits in one transfer."""
        pending = [v if isinstance(v, Pending) else Pending((v,), _plain) for v in values]
        pending += self._unread
        self._unread = []
        if not self._place.is_ahead:
            return [p.finish(*p.arrays) for p in pending][: len(values)]
        arrays = iter(self._place.fetch(*(a for p in pending for a in p.arrays)))
        results = [p.finish(*(next(arrays) for _ in p.arrays)) for p in pending]
        return results[: len(values)]

    def triangle(self, weights: Any, target: Any) -> Array:
        """Return the triangle by blocks of rows, each reduced together with the last one."""
        place, xp, k = self._place, self._place.xp, self.n_columns
        active, _ = place.find(weights != 0.0, None)
        R = place.put(np.zeros((k + 1, k + 1)))
        # Each reduction costs (k + 1)^3 beside its rows: it should have more rows than that.
        size = max(4 * (k + 1), place.block_entries // (k + 1))
        for start in range(0, len(active), size):
            rows = active[start : start + size]
            values = xp.concatenate([self.A[rows], target[rows][:, None]], axis=1)
            stacked = xp.concatenate([R, xp.sqrt(weights[rows])[:, None] * values], axis=0)
            R = xp.linalg.qr(stacked, mode="r")
            R = R if place.xp is np else R[1]
        (triangle,) = place.fetch(R)
        return triangle

    def rows(self, function: Callable[..., Any], *vectors: Any, n_results: int = 1) -> Any:
        """Map an elementwise function over m-vectors."""
        return function(*vectors)

    def total(self, function: Callable[..., Any], *vectors: Any) -> Small:
        """Sum an elementwise function of m-vectors."""
        return function(*vectors).sum()

    def least(self, vector: Any) -> Small:
        """Return the smallest entry."""
        return vector.min()


class SharedColumns(MemoryColumns):
    """The columns of another output, which takes and drops them first; only the sums are its own.

    Parameters
    ----------
    owner : MemoryColumns
        Where they are stored.
    """

    def __init__(self, owner: MemoryColumns) -> None:
        self.has_constant, self.n_columns = owner.has_constant, int(owner.has_constant)
        self._owner, self._design, self._place = owner, owner._design, owner.place
        self._unread = []
        self._gram = KeptGram(self)

    @property
    def A(self) -> Any:  # noqa: N802 - a matrix
        """The matrix of the columns."""
        return self._owner._storage[:, : self.n_columns]

    @property
    def factors(self) -> Array:
        """Coefficient of the atom = factor x coefficient of its column."""
        return self._owner.factors[: self.n_columns]

    @property
    def norms(self) -> Array:
        """The empirical norm of every column."""
        return self._owner.norms[: self.n_columns]

    def append(self, atoms: Any) -> None:
        """Take columns that the owner has by now."""
        self.n_columns += atoms.shape[0]
        assert self.n_columns <= self._owner.n_columns

    def drop(self, position: int) -> None:
        """Forget a column that the owner has dropped."""
        self.n_columns -= 1
        self._gram.drop(position)

    def column(self, position: int) -> Any:
        """Return one column."""
        return self._owner.column(position)


def _plain(value: Any) -> Any:
    """Return a number as a float."""
    return float(value) if np.ndim(value) == 0 else value


class KeptGram:
    """A^T diag(weights) A of the last weights and columns, from which the next one is made.

    Rows whose weight changed add or subtract their outer products, a new column adds a row and a
    column. Subtracting loses digits: it is made anew before that can be seen.
    """

    def __init__(self, columns: MemoryColumns) -> None:
        self._columns = columns
        self._values: Array = np.zeros((0, 0))
        self._weights: Any = None
        self._peak: Array = np.zeros(0)
        self._n_updates = 0
        self._room = _LEAST_ROOM

    def update(self, weights: Any) -> Pending:
        """Return the matrix for other weights and the columns of now."""
        kept = self._values
        n_kept = len(kept)
        if n_kept == 0 or self._n_updates >= _GRAM_UPDATES:
            return self._renewed(weights)
        place = self._columns.place
        if weights is self._weights:
            new = self._cross(weights, n_kept)
            return Pending((new,), lambda new: self._keep(weights, _bordered(kept, new)))
        room = min(self._room, len(weights)) if place.is_ahead else None
        changed, count = place.find(weights != self._weights, room)
        if room is None and 2 * count > np.count_nonzero(weights):
            return self._renewed(weights)
        if room is None and count == 0:
            new = self._cross(weights, n_kept)
            return Pending((new,), lambda new: self._keep(weights, _bordered(kept, new)))
        steps = weights[changed] - self._weights[changed]
        if room is not None:  # what only fills the room counts nothing
            xp = place.xp
            steps = xp.where(xp.arange(room, device=steps.device) < count, steps, 0.0)
        rows = self._columns.A[changed, :n_kept]
        change = rows.T @ (steps[:, None] * rows)
        new = self._cross(weights, n_kept)

        def finish(change: Array, new: Array, count: Array) -> Array:
            # Room for four times as many flips as the last time.
            self._room = max(_LEAST_ROOM, 4 * int(count))
            self._n_updates += int(count) > 0
            values = _bordered(kept + change, new)
            # What is left of a column must not drown in the rounding errors of what went.
            is_lost = (np.diag(values)[:n_kept] < _GRAM_LOSS * self._peak).any()
            if is_lost or (room is not None and count > room):
                return self._columns.fetch(self._renewed(weights))[0]  # type: ignore[no-any-return]
            return self._keep(weights, values)

        return Pending((change, new, place.put(count) if room is None else count), finish)

    def drop(self, position: int) -> None:
        """Forget a column."""
        if position < len(self._values):
            self._values = np.delete(np.delete(self._values, position, 0), position, 1)
            self._peak = np.delete(self._peak, position)

    def _renewed(self, weights: Any) -> Pending:
        def finish(values: Array) -> Array:
            self._peak, self._n_updates = np.zeros(0), 0
            return self._keep(weights, values)

        return Pending((self._cross(weights, 0),), finish)

    def _keep(self, weights: Any, values: Array) -> Array:
        if values is not self._values:
            peak = np.append(self._peak, np.zeros(len(values) - len(self._peak)))
            self._peak = np.maximum(peak, np.diag(values))
        self._values, self._weights = values, weights
        return values.copy()

    def _cross(self, weights: Any, first: int) -> Any:
        """Return A^T diag(weights) A[:, first:] over the rows of non-zero weight."""
        A, place = self._columns.A, self._columns.place
        k = A.shape[1]
        if first == k:
            return A[:0].T
        active: Any = None
        if not place.is_ahead:
            active, count = place.find(weights != 0.0, None)
            # For a new column one pass over all rows is cheaper than gathering the active ones.
            active = active if first == 0 or _GATHER * count <= len(weights) else None
        if first > 0 and active is None:
            return self._columns.sum_blocks(
                lambda rows: A[rows].T @ (weights[rows][:, None] * A[rows, first:])
            )
        cross = place.put(np.zeros((k, k - first)))
        size = max(1, place.block_entries // max(1, k))
        n_rows = len(weights) if active is None else len(active)
        for start in range(0, n_rows, size):
            rows = slice(start, start + size)
            rows = rows if active is None else active[rows]
            block = A[rows]
            if first == 0:
                # A matrix times itself takes two thirds of the time of a product.
                block = place.xp.sqrt(weights[rows])[:, None] * block
                cross += block.T @ block
            else:
                cross += block.T @ (weights[rows][:, None] * block[:, first:])
        return cross


def _bordered(values: Array, new: Array) -> Array:
    """Add the columns `new`, and their transposes as rows, to a symmetric matrix."""
    n, size = len(values), len(new)
    if n == size:
        return values
    larger = np.empty((size, size))
    larger[:n, :n], larger[:, n:], larger[n:, :n] = values, new, new[:n].T
    return larger
