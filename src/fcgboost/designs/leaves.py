"""Trees whose leaves are columns: a row has a one in the column of the leaf that it belongs to.

The columns are kept as the numbers of leaves, one byte for a row and tree (more where a tree has
more than 256 leaves): an eighth of the memory of one column of numbers for the whole tree.
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
    """The leaves of trees, tree after tree, wherever the rows are."""

    #: The numbers of the trees' leaves.
    sizes: list[int]

    @property
    def factors(self) -> Array:
        """Ones: columns are not scaled."""
        return np.ones(self.n_columns)

    def drop(self, position: int) -> None:
        """Refuse to: nothing chooses among leaves."""
        raise TypeError("Trees whose leaves are corrected do not leave.")

    def atom_coef(self, coef: Array) -> Array:
        """Return ones: all is in the leaves."""
        return np.ones(len(self.sizes))

    def leaf_values(self, coef: Array) -> list[Array]:
        """Return the coefficients of every tree."""
        ends = np.cumsum(self.sizes)[:-1]
        return np.split(coef[self.has_constant :], ends) if self.sizes else []

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Refuse to: there are too many columns."""
        raise TypeError("Leaves are too many for a factorisation.")

    @abstractmethod
    def terms(self, output: int, coef: Array) -> Array:
        """Return losses, slopes and curvatures, added up over every leaf of the last tree.

        All are times the shares, of shape (3, n_leaves); one round.
        """

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Make a Newton step for every leaf of the last tree, whose rows no other leaf has.

        A leaf where that would raise the loss, because rows that were beyond the hinge come back,
        takes the step that cannot. Two rounds, or three.
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

    # Of many rows those of every ridge are too much.
    _keeps_all = False

    def __init__(
        self, design: MemoryDesign, targets: Sequence[Any], loss: Loss, has_constant: bool
    ) -> None:
        super().__init__(design, targets, loss, has_constant)
        self.n_columns = int(has_constant)
        self._forest = make_forest(design.n_rows, design.device, design.each)
        self._last = self._forest
        self.sizes = []
        #: The shares of columns, by tree.
        self._shares: list[Array] = [np.ones(self.n_columns)]
        (constants,) = self._device.fetch(self._first_slopes.sum(1)[:, None])
        #: The gradients of columns where all coefficients are 0, by tree.
        self._gradients = [constants[:, : self.n_columns]]

    @property
    def norms(self) -> Array:
        """The roots of the shares of the weight."""
        return np.sqrt(np.concatenate(self._shares))

    @property
    def first_gradients(self) -> Array:
        """The gradients where all coefficients are 0."""
        return np.concatenate(self._gradients, axis=1)[self._slopes_of]

    def append(self, atoms: Any) -> None:
        """Add the leaves of trees."""
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
        """Return the sums at points, in one wait; of the Hessian the diagonal alone."""
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
        """Go forth and back over the rows."""
        bent = self._state(output, coef).curvatures * self._values(direction)
        (product,) = self._device.fetch(self._back(bent))
        return np.asarray(product)

    def terms(self, output: int, coef: Array) -> Array:
        """Add up over the rows; a point that differs in the last tree alone takes one pass."""
        kept, newest = self._states.get(output), self.n_columns - self.sizes[-1]
        if kept is not None and np.array_equal(kept.coef[:newest], coef[:newest]):
            there = np.append(kept.coef, np.zeros(self.n_columns))[: self.n_columns]
            if (added := (coef - there)[newest:]).any():
                self._keep(output, coef, self._last.add_values(added, kept.f + 0.0))
        state = self._state(output, coef)
        every = self._design.shares * state.losses, state.slopes, state.curvatures
        return np.stack(self._device.fetch(*map(self._last.sums, every)))

    def arrays(self, output: int) -> tuple[Any, Any, Any]:
        """Return A as it is meant, with ones and zeros: small data alone have room for it."""
        columns = self._device.xp.stack([self._values(one) for one in np.eye(self.n_columns)])
        return columns.T, self._y[output], self._design.weights

    def largest(self, first: int) -> Array:
        return np.ones(self.n_columns - first)

    def _values(self, coef: Array) -> Any:
        f = 0.0 * self._design.weights + float(coef[: self.has_constant].sum())
        return self._forest.add_values(np.ascontiguousarray(coef[self.has_constant :]), f)

    def _back(self, r: Any) -> Any:
        """Return A^T r, where the rows are."""
        constant = r.sum(0, keepdims=True)[: int(self.has_constant)]
        return self._device.xp.concatenate([constant, self._forest.sums(r)])
