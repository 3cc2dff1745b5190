"""The columns of chosen atoms in one memory, and sums over all rows at coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcgboost._kernels import HingeSums, square_terms
from fcgboost.arrays import Matrix, to_numpy
from fcgboost.designs.base import (
    ActiveColumns,
    Array,
    Expansion,
    NewestFit,
    NewtonEnd,
    Point,
    Start,
)
from fcgboost.designs.blocks import block_sums, row_blocks
from fcgboost.losses import (
    CurvedLoss,
    Loss,
    ModifiedHuber,
    SmoothLoss,
    Square,
    SquaredHinge,
)

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign

# Columns and numbers allocated at once; growing copies them. Untouched memory costs nothing. The
# paths of presets fit in.
_ROOM = 256
_ENTRIES = 1 << 25
_MOST = 1 << 12
# Margins this close to a kink of the loss count as at it.
_AT_A_KINK = 1e-9
# Rows of a Gram matrix are added up in blocks of at least this size, as many side by side as a
# device has processors, about.
_BLOCK = 512
_SIDE_BY_SIDE = 128


class State(NamedTuple):
    """The rows at some coefficients: values, and losses, slopes and curvatures times the shares."""

    f: Matrix
    losses: Matrix
    slopes: Matrix
    curvatures: Matrix


def _bend(loss: Loss) -> float | None:
    """Return the shortfall at which a compiled loss becomes linear, 0 for the square."""
    if type(loss) is ModifiedHuber:
        return float(loss.threshold)
    return {SquaredHinge: np.inf, Square: 0.0}.get(type(loss))


LABELS = np.array([-1.0, 1.0])


def start_of(
    loss: Loss,
    y: Array,
    weights: Array,
    has_constant: bool,
) -> Start:
    """Return the start for targets and their weights."""

    def risk(f: float) -> float:
        return float(np.average(loss.value(y, np.full(len(y), f)), weights=weights))

    constant = loss.initial(y, weights) if has_constant else 0.0
    return Start(constant, risk(constant), risk(0.0))


def expansion(state: State, fetched: Sequence[Array]) -> Expansion:
    """Return the expansion at a state from its sums: risk, gradient and perhaps Gram matrix."""
    risk, gradient, *gram = fetched
    return Expansion(
        float(risk),
        gradient,
        gram[0] if gram else None,
        state,
    )


class RowColumns(ActiveColumns):
    """Columns over rows in one memory."""

    def __init__(
        self,
        design: MemoryDesign,
        target: Matrix,
        loss: Loss,
        has_constant: bool,
    ) -> None:
        self.loss = loss
        self.has_constant = bool(has_constant)
        self.n_columns = 0
        self.total_weight = design.total_weight
        self._design = design
        self._device = design.device
        #: The loss as the compiled library knows it.
        self.bend = _bend(loss)
        #: Whether there are compiled passes over the rows.
        self.is_compiled = self.bend is not None and not self._device.is_torch
        put = design.device.put
        self._y = put(target)
        # Asked before they are on a device, which would have to be waited for.
        self._are_labels = bool((target * target == 1.0).all())
        self._first_slopes = self._terms(0.0 * design.weights)[1]

    @abstractmethod
    def _values(self, coef: Array) -> Matrix:
        """Return A coef, an m-vector."""

    def start(self) -> Start:
        y, weights = self.targets()
        return start_of(self.loss, y, weights, self.has_constant)

    def targets(self) -> tuple[Array, Array]:
        """Return the targets and their weights: of labels, one row for all that have it."""
        weights = self._design.weights
        if not self._are_labels:
            return to_numpy(self._y), to_numpy(weights)
        of_labels = [weights @ self._device.put(self._y == label) for label in LABELS]
        (total,) = self._device.fetch(self._device.xp.stack(of_labels))
        return LABELS, total

    def residual(self, point: Point) -> tuple[Matrix, Matrix]:
        """Return the negative gradient of the mean loss with respect to the values.

        Also return the weights of the rows times `Loss.stiffness`.
        """
        if isinstance(self.loss, CurvedLoss):
            state: Any = self._state(point) if point.state is None else point.state
            f = state.f
            residual = -state.slopes
        else:
            # Line searches and exact solvers put rows exactly at a kink, where rounding would
            # choose the subgradient: such margins count as beyond it.
            f = self._values(point.coef) + _AT_A_KINK * self._y
            residual = -self._terms(f)[1]
        return residual, self.loss.stiffness(self._y, f, residual) * self._design.weights

    def _state(self, point: Point) -> State:
        """Return the state of the rows at a point, computed unless it is known."""
        if isinstance(point.state, State):
            return point.state
        return self._state_at(self._values(point.coef))

    def _state_at(self, f: Matrix) -> State:
        return State(f, *self._terms(f))

    def _terms(self, f: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return the losses, slopes and curvatures, times the shares."""
        y = self._y
        shares = self._design.shares
        loss = self.loss
        if self.is_compiled and self.bend is not None:
            return square_terms(self.bend, f, y, shares)
        if not isinstance(loss, CurvedLoss):
            return shares * loss.value(y, f), shares * loss.gradient(y, f), None
        values, slopes, curvatures = loss.terms(y, f)
        return shares * values, shares * slopes, shares * curvatures


class MemoryColumns(RowColumns):
    """Contiguous columns in one memory.

    The squared hinge and the square in NumPy have compiled sums, updated from one point to the
    next; everything else uses the generic `_state`, `expand`, `gram` and `qr_factor`.
    """

    def __init__(
        self,
        design: MemoryDesign,
        target: Matrix,
        loss: Loss,
        capacity: int,
        has_constant: bool,
        n_outputs: int,
    ) -> None:
        super().__init__(
            design,
            target,
            loss,
            has_constant,
        )
        self._capacity = capacity + int(has_constant)
        #: One row per column, of shape (room, n_rows).
        room = min(self._capacity, max(_ROOM, min(_MOST, _ENTRIES // design.n_rows)))
        self._storage = self._device.empty(room, design.n_rows)
        #: The norms of the columns and their gradients at zero, of shape (2, room).
        self._facts: Array = np.empty((2, room))
        self._n_read = 0
        #: Those not yet fetched from the device.
        self._unread: list[Matrix] = []
        #: The compiled sums of each output.
        self._sums: list[HingeSums] = []
        if self.is_compiled and self.bend is not None:
            for _ in range(n_outputs):
                self._sums.append(HingeSums(self._storage, self._y, design.shares, self.bend))
        if has_constant:
            self._store(self._device.xp.ones_like(design.weights)[:, None])

    @property
    def A(self) -> Matrix:  # noqa: N802 - a matrix
        return self._storage[: self.n_columns].T

    @property
    def norms(self) -> Array:
        norms: Array = self._known()[0]
        return norms

    @property
    def first_gradient(self) -> Array:
        gradient: Array = self._known()[1]
        return gradient

    def append(self, atoms: Matrix, entry: object = None) -> None:
        self._store(self._design.evaluate(atoms) if entry is None else entry)

    def _store(self, values: Matrix) -> None:
        xp = self._device.xp
        first = self.n_columns
        self.n_columns += values.shape[1]
        if self.n_columns > len(self._storage):
            self._grow(first)
        self._storage[first : self.n_columns] = values.T
        norms = xp.sqrt(self._design.shares @ (values * values))
        gradient = self._first_slopes @ values
        self._unread.append(xp.concatenate([norms[None], gradient[None]]))

    def _grow(self, n_stored: int) -> None:
        """Make room for the columns, of which some are stored already."""
        room = max(self.n_columns, min(self._capacity, 2 * len(self._storage)))
        larger = self._device.empty(room, self._design.n_rows)
        larger[:n_stored] = self._storage[:n_stored]
        self._storage = larger
        facts = np.empty((2, room))
        facts[:, :n_stored] = self._facts[:, :n_stored]
        self._facts = facts
        for sums in self._sums:
            sums.resize(larger)

    def _known(self) -> Array:
        if self._unread:
            self._read()
        return self._facts[:, : self.n_columns]

    def _read(self, *arrays: Matrix) -> list[Any]:
        """Fetch arrays, together with the norms and first gradients of new columns."""
        unread = self._unread
        self._unread = []
        fetched = self._device.fetch(*unread, *arrays)
        for facts in fetched[: len(unread)]:
            first = self._n_read
            self._n_read += facts.shape[1]
            self._facts[:, first : self._n_read] = facts
        return fetched[len(unread) :]

    def drop(self, position: int) -> None:
        facts = self._known()
        facts[:, position:-1] = facts[:, position + 1 :].copy()
        self.n_columns -= 1
        self._n_read -= 1
        # One by one: source and target must not overlap.
        for j in range(position, self.n_columns):
            self._storage[j] = self._storage[j + 1]
        for sums in self._sums:
            sums.drop(position)

    def expand(self, point: Point, subset: Sequence[int] | None = None) -> Expansion:
        """Return the sums at a point in one wait, without the Gram matrix of all columns."""
        if self._sums and subset is None:
            return Expansion(*self._sums[point.output].expand(point.coef))
        A = self.A if subset is None else self.A[:, subset]
        rows = self._state(point)
        sums = [rows.losses.sum(), rows.slopes @ A]
        if subset is not None:
            sums.append(self._gram(A, rows.curvatures))
        return expansion(rows, self._read(*sums))

    def gram(self, point: Point) -> Array:
        (matrix,) = self._read(self._gram(self.A, self._state(point).curvatures))
        return np.asarray(matrix)

    def newton(
        self,
        output: int,
        coef: Array,
        penalty: Array,
        tol: float,
        max_iter: int,
    ) -> NewtonEnd | None:
        if not self._sums:
            return None
        facts = self._known()
        scale = float(abs(facts[1]).max(initial=0.0)) or 1.0
        return NewtonEnd(
            *self._sums[output].newton(
                coef,
                penalty,
                facts[0],
                scale,
                tol,
                max_iter,
            )
        )

    def step(self, point: Point, newest: int, l2: float) -> NewestFit | None:
        """Minimise over the newest coefficient and the constant, compiled for some losses."""
        if not self._sums:
            return super().step(point, newest, l2)
        state: Any = point.state
        step = self._sums[point.output].step(
            point.coef,
            newest,
            self.has_constant,
            l2,
            state,
        )
        return NewestFit(*step)

    def arrays(self) -> tuple[Matrix, Matrix, Matrix]:
        return self.A, self._y, self._design.weights

    def qr_factor(self, point: Point, majorize: bool) -> tuple[Array, Array]:
        """Return the factor, reducing block after block of rows."""
        xp = self._device.xp
        k = self.n_columns
        state = self._state(point)
        h = state.curvatures
        g = state.slopes
        if majorize:
            # The quadratic model is unbounded where the loss is linear; the bound majorises it.
            bound = self.loss.curvature_bound if isinstance(self.loss, SmoothLoss) else 1.0
            h = xp.where((h == 0.0) & (g != 0.0), self._design.shares * bound, h)
        target = xp.where(h > 0.0, -g / xp.where(h > 0.0, h, 1.0), 0.0)
        straight = xp.where(h > 0.0, 0.0, g) @ self.A
        R = self._device.put(np.zeros((k + 1, k + 1)))
        # Each reduction costs an extra (k + 1)^3, so blocks have more rows than that.
        size = max(4 * (k + 1), self._device.block_entries // (k + 1))
        for rows in row_blocks(len(h), size):
            values = xp.concatenate([self.A[rows], target[rows][:, None]], axis=1)
            scaled = xp.sqrt(h[rows])[:, None] * values
            stacked = xp.concatenate([R, scaled], axis=0)
            R = xp.linalg.qr(stacked, mode="r")
            R = R[1] if self._device.is_torch else R
        qr_factor, straight = self._read(R, straight)
        return qr_factor, straight

    def _values(self, coef: Array) -> Matrix:
        return self.A @ self._device.put(coef)

    def _gram(self, A: Matrix, weights: Matrix) -> Matrix:
        """Return A^T diag(weights) A."""
        total: Any = 0.0
        at_once = self._device.block_entries // (A.shape[1] + 1)
        for rows in row_blocks(len(weights), at_once):
            values = A[rows]
            # One product over all rows would occupy few processors of a device.
            size = max(_BLOCK, len(values) // _SIDE_BY_SIDE)
            weighted = weights[rows][:, None] * values
            total = total + block_sums(values, weighted, size)
        return total
