"""Trees whose leaves are columns: indicators of the rows in a leaf.

A tree is stored as leaf numbers, one byte per row (more if it has more than 256 leaves): an eighth
of the memory of a single column of numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcgboost.designs.base import Array, Columns, Look
from fcgboost.designs.columns import RowColumns
from fcgboost.designs.forests import make_forest
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign


class TreeColumns(Columns):
    """The leaves of all trees, wherever the rows are."""

    #: The number of leaves of each tree.
    sizes: list[int]

    @property
    def factors(self) -> Array:
        return np.ones(self.n_columns)

    def drop(self, position: int) -> None:
        raise TypeError("Trees with corrected leaves cannot be removed.")

    def atom_coef(self, coef: Array) -> Array:
        return np.ones(len(self.sizes))

    def leaf_values(self, coef: Array) -> list[Array]:
        ends = np.cumsum(self.sizes)[:-1]
        return np.split(coef[self.has_constant :], ends) if self.sizes else []

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        raise TypeError("There are too many leaves for a factorisation.")

    @abstractmethod
    def terms(self, output: int, coef: Array) -> Array:
        """Return losses, slopes and curvatures times shares, summed over leaves of the last tree.

        Their shape is (3, n_leaves); one round.
        """

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Make a Newton step for each leaf of the last tree; leaves have no rows in common.

        A leaf where that raises the loss, because rows beyond the hinge come back, takes the step
        by the curvature bound. Two or three rounds.
        """
        if not isinstance(self.loss, CurvedLoss):
            return None
        before, gradient, bend = self.terms(output, coef)
        bend = bend + 2.0 * l2
        values = -gradient / np.where(bend > 0.0, bend, np.inf)
        end = np.append(coef[:newest], values)
        after = self.terms(output, end)[0]
        is_worse = after + l2 * values**2 > before
        if is_worse.any():
            bound = self.loss.curvature_bound if isinstance(self.loss, SmoothLoss) else np.inf
            safe = -gradient / (bound * self.norms[newest:] ** 2 + 2.0 * l2)
            end = np.append(coef[:newest], np.where(is_worse, safe, values))
            after = self.terms(output, end)[0]
        return end, float(after.sum())


class LeafColumns(TreeColumns, RowColumns):
    """The leaves of trees over rows in one memory."""

    # With many rows, states for every ridge take too much memory.
    _keeps_all = False

    def __init__(
        self, design: MemoryDesign, targets: Sequence[Any], loss: Loss, has_constant: bool
    ) -> None:
        super().__init__(design, targets, loss, has_constant)
        self.n_columns = int(has_constant)
        self._forest = make_forest(design.n_rows, design.device, design.each)
        self._last = self._forest
        self.sizes = []
        #: The shares of the columns, by tree.
        self._shares: list[Array] = [np.ones(self.n_columns)]
        (constants,) = self._device.fetch(self._first_slopes.sum(1)[:, None])
        #: The gradients at zero coefficients, by tree.
        self._gradients = [constants[:, : self.n_columns]]

    @property
    def norms(self) -> Array:
        return np.sqrt(np.concatenate(self._shares))

    @property
    def first_gradients(self) -> Array:
        return np.concatenate(self._gradients, axis=1)[self._slopes_of]

    def append(self, atoms: Any) -> None:
        for j in range(atoms.shape[0]):
            codes, n_leaves = self._design.leaves(atoms[j : j + 1])
            self._forest.append(codes, n_leaves)
            self.sizes.append(n_leaves)
            self.n_columns += n_leaves
            self._last = self._forest.last()
            known = map(self._last.sums, (self._design.shares, *self._first_slopes))
            shares, *gradients = self._device.fetch(*known)
            self._shares.append(shares)
            self._gradients.append(np.stack(gradients))

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points in one wait, with the diagonal of the Hessian."""
        arrays, is_curved = list[Any](), isinstance(self.loss, CurvedLoss)
        for output, coef in points:
            state = self._state(output, coef)
            arrays += [self._design.shares @ state.losses, self._back(state.slopes)]
            arrays += [self._back(state.curvatures)] * is_curved
        found, kept = iter(self._device.fetch(*arrays)), slice(None) if places is None else places
        return [
            Look(float(next(found)), next(found)[kept], next(found)[kept] if is_curved else None)
            for _ in points
        ]

    def product(self, output: int, coef: Array, direction: Array) -> Array:
        bent = self._state(output, coef).curvatures * self._values(direction)
        (product,) = self._device.fetch(self._back(bent))
        return np.asarray(product)

    def terms(self, output: int, coef: Array) -> Array:
        """Add up over the rows, in one pass if only the last tree differs."""
        kept, newest = self._states.get(output), self.n_columns - self.sizes[-1]
        if kept is not None and np.array_equal(kept.coef[:newest], coef[:newest]):
            there = np.append(kept.coef, np.zeros(self.n_columns))[: self.n_columns]
            if (added := (coef - there)[newest:]).any():
                self._keep(output, coef, self._last.add_values(added, kept.f + 0.0))
        state = self._state(output, coef)
        every = self._design.shares * state.losses, state.slopes, state.curvatures
        return np.stack(self._device.fetch(*map(self._last.sums, every)))

    def arrays(self, output: int) -> tuple[Any, Any, Any]:
        """Return A explicitly, with ones and zeros, which fits only small data."""
        columns = self._device.xp.stack([self._values(one) for one in np.eye(self.n_columns)])
        return columns.T, self._y[output], self._design.weights

    def largest(self, first: int) -> Array:
        return np.ones(self.n_columns - first)

    def _values(self, coef: Array) -> Any:
        f = 0.0 * self._design.weights + float(coef[: self.has_constant].sum())
        return self._forest.add_values(np.ascontiguousarray(coef[self.has_constant :]), f)

    def _back(self, r: Any) -> Any:
        """Return A^T r on the device."""
        constant = r.sum(0, keepdims=True)[: int(self.has_constant)]
        return self._device.xp.concatenate([constant, self._forest.sums(r)])
