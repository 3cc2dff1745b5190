"""The columns of chosen atoms in one memory, and sums over all rows at coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcgboost._kernels import HingeSums
from fcgboost.designs.base import Array, Columns, Look
from fcgboost.designs.blocks import BLOCK, block_sums, row_blocks
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss, SquaredHinge

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign

# Columns and numbers allocated at once; growing copies them. Untouched memory costs nothing.
_ROOM, _ENTRIES, _MOST = 128, 1 << 25, 1 << 12
# Margins this close to a kink of the loss count as at it.
_AT_A_KINK = 1e-9
# A Gram matrix is updated if at most this share of the rows changed. It is recomputed after this
# many updates, or if a column has lost all but this share of its squared norm.
_FEW, _UPDATES, _LOSS = 0.2, 64, 1e-3
# Blocks of rows added up side by side: about the number of processors of a device.
_SIDE_BY_SIDE = 128


class _State(NamedTuple):
    """The rows at some coefficients: values, losses, and slopes and curvatures times the shares.

    Then the gradient, and how many curvatures differ from those of the Gram matrix.
    """

    coef: Array
    f: Any
    losses: Any
    slopes: Any
    curvatures: Any
    gradient: Array = np.empty(0)
    n_changed: float = np.inf


class _Gram(NamedTuple):
    """A Gram matrix with its curvatures, its largest diagonal so far, and its updates."""

    matrix: Array
    curvatures: Any
    peaks: Array
    n_updates: int = 0


class RowColumns(Columns):
    """Columns over rows in one memory, with the state of the rows at some coefficients."""

    #: Whether to keep the last state of all outputs, or of the last output only.
    _keeps_all = True

    def __init__(
        self, design: MemoryDesign, targets: Sequence[Any], loss: Loss, has_constant: bool
    ) -> None:
        self.loss, self.has_constant, self.n_columns = loss, bool(has_constant), 0
        self.n_outputs, self.total_weight = len(targets), design.total_weight
        self._design, self._device = design, design.device
        put, xp = design.device.put, design.device.xp
        self._y = [put(target) for target in targets]
        zeros = 0.0 * design.weights
        # Other ridges share one object with the labels.
        distinct = {id(y): y for y in self._y}
        self._first_slopes = xp.stack([self._terms(y, zeros)[1] for y in distinct.values()])
        #: The row of each output in them.
        self._slopes_of = [list(distinct).index(id(y)) for y in self._y]
        sides = [design.weights @ put(y == side) for y in self._y for side in (-1.0, 1.0)]
        self.label_weights = self._device.fetch(xp.stack(sides))[0].reshape(-1, 2)
        self._states: dict[int, _State] = {}

    @abstractmethod
    def largest(self, first: int) -> Array:
        """Return the largest absolute values of the columns from `first` on."""

    @abstractmethod
    def _values(self, coef: Array) -> Any:
        """Return A coef, an m-vector."""

    def residual(self, output: int, coef: Array) -> Any:
        """Return the negative gradient of the mean loss with respect to the values."""
        known = self._known_slopes(output, coef)
        if known is not None:
            return -known
        if isinstance(self.loss, CurvedLoss):
            return -self._state(output, coef).slopes
        # Line searches and exact solvers put rows exactly at a kink, where rounding would choose
        # the subgradient: such margins count as beyond it.
        f = self._values(coef) + _AT_A_KINK * self._y[output]
        return -self._terms(self._y[output], f)[1]

    def _known_slopes(self, output: int, coef: Array) -> Any | None:
        """Return the slopes at some coefficients if already computed."""
        return None

    def _state(self, output: int, coef: Array) -> _State:
        """Return the state of the rows at some coefficients, and keep it."""
        kept = self._states.get(output)
        n = 0 if kept is None else len(kept.coef)
        # New columns have the coefficient 0.
        if kept is None or not np.array_equal(kept.coef, coef[:n]) or coef[n:].any():
            kept = self._keep(output, coef, self._values(coef))
        return kept

    def _keep(self, output: int, coef: Array, f: Any) -> _State:
        if not self._keeps_all:
            self._states.clear()
        kept = self._states[output] = _State(coef.copy(), f, *self._terms(self._y[output], f))
        return kept

    def _terms(self, y: Any, f: Any) -> tuple[Any, Any, Any]:
        """Return the losses, and slopes and curvatures times the shares."""
        shares = self._design.shares
        if not isinstance(self.loss, CurvedLoss):
            return self.loss.value(y, f), shares * self.loss.gradient(y, f), None
        values, slopes, curvatures = self.loss.terms(y, f)
        return values, shares * slopes, shares * curvatures


class MemoryColumns(RowColumns):
    """Contiguous columns in one memory.

    The squared hinge in NumPy has compiled sums, updated from one point to the next; everything
    else uses the generic `_state`, `look`, `gram` and `triangle`.
    """

    def __init__(
        self,
        design: MemoryDesign,
        targets: Sequence[Any],
        loss: Loss,
        capacity: int,
        has_constant: bool,
    ) -> None:
        super().__init__(design, targets, loss, has_constant)
        self._capacity = capacity + int(has_constant)
        #: One row per column, of shape (room, n_rows).
        room = min(self._capacity, max(_ROOM, min(_MOST, _ENTRIES // design.n_rows)))
        self._storage = self._device.empty(room, design.n_rows)
        #: Factors, norms and first gradients of the columns, of shape (2 + n_outputs, room).
        self._facts: Array = np.empty((2 + self.n_outputs, room))
        self._n_read = 0
        #: Those not yet fetched from the device.
        self._unread: list[Any] = []
        is_compiled = type(loss) is SquaredHinge and not self._device.is_torch
        self._sums = [HingeSums(self._storage, y, design.shares) for y in self._y if is_compiled]
        #: The last Gram matrix of each output.
        self._grams: dict[int, _Gram] = {}
        if has_constant:
            self._store(self._device.xp.ones_like(design.weights)[:, None])

    @property
    def A(self) -> Any:  # noqa: N802 - a matrix
        return self._storage[: self.n_columns].T

    @property
    def factors(self) -> Array:
        factors: Array = self._known()[0]
        return factors

    @property
    def norms(self) -> Array:
        norms: Array = self._known()[1]
        return norms

    @property
    def first_gradients(self) -> Array:
        return self._known()[2:]

    def append(self, atoms: Any) -> None:
        self._store(self._design.values(atoms), self._design.dictionary.scaling)

    def _store(self, values: Any, scaling: str = "none") -> None:
        design, xp = self._design, self._device.xp
        norms = xp.sqrt(design.shares @ (values * values))
        factors = norms**0
        if scaling != "none":
            sizes = norms if scaling == "norm" else xp.amax(xp.abs(values), axis=0)
            factors = 1.0 / xp.where(sizes > 0.0, sizes, 1.0)
            values, norms = values * factors, norms * factors
        first, self.n_columns = self.n_columns, self.n_columns + values.shape[1]
        if self.n_columns > len(self._storage):
            room = max(self.n_columns, min(self._capacity, 2 * len(self._storage)))
            larger = self._device.empty(room, design.n_rows)
            larger[:first] = self._storage[:first]
            self._storage = larger
            self._facts = np.pad(self._facts, [(0, 0), (0, room - self._facts.shape[1])])
            for sums in self._sums:
                sums.resize(larger)
        self._storage[first : self.n_columns] = values.T
        self._unread.append(
            xp.concatenate([factors[None], norms[None], self._first_slopes @ values])
        )

    def _known(self) -> Array:
        if self._unread:
            self._read()
        return self._facts[:, : self.n_columns]

    def _read(self, *arrays: Any) -> list[Any]:
        """Fetch arrays, together with the facts of new columns."""
        unread, self._unread = self._unread, []
        found = self._device.fetch(*unread, *arrays)
        for facts in found[: len(unread)]:
            first, self._n_read = self._n_read, self._n_read + facts.shape[1]
            self._facts[:, first : self._n_read] = facts[[0, 1, *(2 + i for i in self._slopes_of)]]
        return found[len(unread) :]

    def drop(self, position: int) -> None:
        facts = self._known()
        facts[:, position:-1] = facts[:, position + 1 :].copy()
        self.n_columns -= 1
        self._n_read -= 1
        # One by one: source and target must not overlap.
        for j in range(position, self.n_columns):
            self._storage[j] = self._storage[j + 1]
        self._states.clear()
        self._grams.clear()
        for sums in self._sums:
            sums.drop(position)

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points in one wait, without the Gram matrix of all columns."""
        if self._sums and places is None:
            return [Look(*self._sums[output].look(coef)) for output, coef in points]
        asked = [(output, self._state(output, coef)) for output, coef in points]
        arrays: list[Any] = []
        for output, state in asked:
            own = self.A[:, len(state.gradient) :] if places is None else self.A[:, places]
            arrays += [self._design.shares @ state.losses, state.slopes @ own]
            arrays.append(
                self._n_changed(output, state)
                if places is None
                else self._gram(own, state.curvatures)
            )
        found = self._read(*arrays)
        looks = [
            Look(float(r), *rest) for r, *rest in zip(*(found[i::3] for i in range(3)), strict=True)
        ]
        return looks if places is not None else [*map(self._noted, asked, looks)]

    def _n_changed(self, output: int, state: _State) -> Any:
        """Count the rows whose curvatures differ from those in the Gram matrix."""
        last = self._grams.get(output)
        is_changed = state.f[:0] if last is None else state.curvatures != last.curvatures
        return is_changed.sum()

    def _noted(self, asked: tuple[int, _State], found: Look) -> Look:
        """Store the gradient, extended to new columns, and the number of changed rows."""
        (output, state), gradient = asked, np.append(asked[1].gradient, found.gradient)
        if self._states.get(output) is state:
            n_changed = int(found.gram or 0)
            self._states[output] = state._replace(gradient=gradient.copy(), n_changed=n_changed)
        return Look(found.risk, gradient, None)

    def gram(self, output: int, coef: Array) -> Array:
        """Update the last matrix or recompute it, in one wait."""
        state, last = self._state(output, coef), self._grams.get(output)
        found = None if last is None else self._followed(state, last)
        if found is None:
            (matrix,) = self._read(self._gram(self.A, state.curvatures))
            found = _Gram(matrix, state.curvatures, np.diag(matrix).copy())
        self._grams[output] = found
        return found.matrix.copy()

    def _followed(self, state: _State, last: _Gram) -> _Gram | None:
        """Return the matrix updated to another point and to new columns.

        None if recomputing is faster, or needed because subtracting has lost digits.
        """
        h, n, k = state.curvatures, len(last.matrix), self.n_columns
        n_changed = 0 if h is last.curvatures else state.n_changed
        if n_changed > _FEW * len(h) or last.n_updates == _UPDATES:
            return None
        arrays = [(last.curvatures * new) @ self.A for new in self._storage[n:k]]
        if n_changed:
            changes = h - last.curvatures
            places = self._device.places(changes, int(n_changed))
            arrays.append(self._gram(self._storage[:k][:, places].T, changes[places]))
        found = self._read(*arrays) if arrays else []
        matrix = np.pad(last.matrix, (0, k - n))
        for j, column in zip(range(n, k), found, strict=False):
            matrix[j] = matrix[:, j] = column
        peaks = np.append(last.peaks, np.diag(matrix)[n:])
        if n_changed:
            matrix += found[-1]
        peaks = np.maximum(peaks, np.diag(matrix))
        is_lost = (np.diag(matrix) < _LOSS * peaks).any()
        return None if is_lost else _Gram(matrix, h, peaks, last.n_updates + (n_changed > 0))

    def newton(
        self, output: int, coef: Array, penalty: Array, tol: float, max_iter: int
    ) -> tuple[Array, float, float, int] | None:
        if not self._sums:
            return None
        facts = self._known()
        scale = float(abs(facts[2 + output]).max(initial=0.0)) or 1.0
        return self._sums[output].newton(coef, penalty, facts[1], scale, tol, max_iter)

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Minimise over the newest coefficient and the constant, compiled for the squared hinge."""
        if self._sums:
            return self._sums[output].step(coef, newest, self.has_constant, l2)
        return super().step(output, coef, newest, l2)

    def _known_slopes(self, output: int, coef: Array) -> Any | None:
        if self._sums and self._sums[output].is_at(coef):
            return self._sums[output].slopes
        return None

    def largest(self, first: int) -> Array:
        (largest,) = self._device.fetch(self._device.xp.amax(abs(self.A[:, first:]), axis=0))
        return np.asarray(largest)

    def arrays(self, output: int) -> tuple[Any, Any, Any]:
        return self.A, self._y[output], self._design.weights

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Return the triangle, reducing block after block of rows."""
        xp, k, state = self._device.xp, self.n_columns, self._state(output, coef)
        h, g = state.curvatures, state.slopes
        if is_lifted:
            # The quadratic model is unbounded where the loss is linear; the bound majorises it.
            bound = self.loss.curvature_bound if isinstance(self.loss, SmoothLoss) else 1.0
            h = xp.where((h == 0.0) & (g != 0.0), self._design.shares * bound, h)
        target = xp.where(h > 0.0, -g / xp.where(h > 0.0, h, 1.0), 0.0)
        straight = xp.where(h > 0.0, 0.0, g) @ self.A
        R = self._device.put(np.zeros((k + 1, k + 1)))
        # Each reduction costs an extra (k + 1)^3, so blocks have more rows than that.
        for rows in row_blocks(len(h), max(4 * (k + 1), self._device.block_entries // (k + 1))):
            values = xp.concatenate([self.A[rows], target[rows][:, None]], axis=1)
            stacked = xp.concatenate([R, xp.sqrt(h[rows])[:, None] * values], axis=0)
            R = xp.linalg.qr(stacked, mode="r")
            R = R[1] if self._device.is_torch else R
        triangle, straight = self._read(R, straight)
        return triangle, straight

    def _values(self, coef: Array) -> Any:
        return self.A @ self._device.put(coef)

    def _gram(self, A: Any, weights: Any) -> Any:
        """Return A^T diag(weights) A."""
        total: Any = 0.0
        for rows in row_blocks(len(weights), self._device.block_entries // (A.shape[1] + 1)):
            own, w = A[rows], weights[rows]
            # One product over all rows would occupy few processors of a device.
            size = max(BLOCK, len(w) // _SIDE_BY_SIDE)
            total = total + block_sums(own, w[:, None] * own, self._device.xp.float64, size)
        return total
