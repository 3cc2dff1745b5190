"""Trees whose leaves are columns: a row has a one in the column of the leaf that it belongs to.

The columns are kept as the numbers of leaves, one byte for a row and tree (two where a tree has
more than 256 leaves): an eighth of the memory of one column of numbers for the whole tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcgboost._kernels.forest import Forest
from fcgboost.designs.base import Array, Look
from fcgboost.designs.columns import RowColumns
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign


class LeafColumns(RowColumns):
    """The leaves of trees, tree after tree, in NumPy's memory."""

    # Of many rows those of every ridge are too much.
    _keeps_all = False

    def __init__(
        self, design: MemoryDesign, targets: Sequence[Any], loss: Loss, has_constant: bool
    ) -> None:
        super().__init__(design, targets, loss, has_constant)
        self.n_columns = int(has_constant)
        self._forest = Forest(design.n_rows, design.each)
        #: The shares of columns, and their gradients where all coefficients are 0, by tree.
        self._shares: list[Array] = [np.ones(self.n_columns)]
        self._gradients = [self._first_slopes.sum(axis=1)[:, None][:, : self.n_columns]]

    @property
    def factors(self) -> Array:
        """Ones: columns are not scaled."""
        return np.ones(self.n_columns)

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
            self.n_columns += n_leaves
            tree = self._forest.last()
            self._shares.append(tree.sums(self._design.shares))
            self._gradients.append(np.stack([tree.sums(own) for own in self._first_slopes]))

    def drop(self, position: int) -> None:
        """Refuse to: nothing chooses among leaves."""
        raise TypeError("Trees whose leaves are corrected do not leave.")

    def atom_coef(self, coef: Array) -> Array:
        """Return ones: all is in the leaves."""
        return np.ones(len(self._forest.codes))

    def leaf_values(self, coef: Array) -> list[Array]:
        """Return the coefficients of every tree."""
        ends = self._forest.first[1:-1]
        return np.split(coef[self.has_constant :], ends) if self._forest.codes else []

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        """Return the sums at points; of the Hessian the diagonal alone."""
        kept, looks = slice(None) if places is None else places, []
        for output, coef in points:
            state = self._state(output, coef)
            is_curved = isinstance(self.loss, CurvedLoss)
            diagonal = self._back(state.curvatures)[kept] if is_curved else None
            risk = float(self._design.shares @ state.losses)
            looks.append(Look(risk, self._back(state.slopes)[kept], diagonal))
        return looks

    def product(self, output: int, coef: Array, direction: Array) -> Array:
        """Go forth and back over the rows."""
        return self._back(self._state(output, coef).curvatures * self._values(direction))

    def step(self, output: int, coef: Array, newest: int, l2: float) -> tuple[Array, float] | None:
        """Make a Newton step for every leaf of the last tree, whose rows no other leaf has.

        A leaf where that would raise the loss, because rows that were beyond the hinge come back,
        takes the step that cannot.
        """
        if not isinstance(self.loss, CurvedLoss):
            return None
        shares, tree, state = self._design.shares, self._forest.last(), self._state(output, coef)
        gradient, bend = tree.sums(state.slopes), tree.sums(state.curvatures) + 2.0 * l2
        values = -gradient / np.where(bend > 0.0, bend, np.inf)
        f = tree.add_values(values, state.f.copy())
        losses = self._terms(self._y[output], f)[0]
        before, after = tree.sums(shares * state.losses), tree.sums(shares * losses)
        is_worse = after + l2 * values**2 > before
        if is_worse.any():
            bound = self.loss.curvature_bound if isinstance(self.loss, SmoothLoss) else np.inf
            safe = -gradient / (bound * self._shares[-1] + 2.0 * l2)
            values = np.where(is_worse, safe, values)
            f = tree.add_values(values, state.f.copy())
        state = self._keep(output, np.append(coef[:newest], values), f)
        return state.coef, float(shares @ state.losses)

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        """Refuse to: there are too many columns."""
        raise TypeError("Leaves are too many for a factorisation.")

    def arrays(self, output: int) -> tuple[Any, Any, Any]:
        """Return A as it is meant, with ones and zeros: small data alone have room for it."""
        A = np.zeros((self._design.n_rows, self.n_columns))
        A[:, : self.has_constant] = 1.0
        for codes, first in zip(self._forest.codes, self._forest.first, strict=False):
            A[np.arange(len(A)), int(self.has_constant) + first + codes] = 1.0
        return A, self._y[output], self._design.weights

    def _values(self, coef: Array) -> Any:
        f = np.full(self._design.n_rows, coef[: self.has_constant].sum())
        return self._forest.add_values(np.ascontiguousarray(coef[self.has_constant :]), f)

    def _back(self, r: Array) -> Array:
        """Return A^T r."""
        return np.append(np.full(int(self.has_constant), r.sum()), self._forest.sums(r))
