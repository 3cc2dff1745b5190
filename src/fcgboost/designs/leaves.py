"""Trees whose leaves are columns: indicators of the rows in a leaf.

A tree is stored as leaf numbers, one byte per row (more if it has more than 256 leaves): an eighth
of the memory of a single column of numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcgboost.arrays import Matrix
from fcgboost.designs.base import ActiveColumns, Array, Expansion, NewestFit, Point
from fcgboost.designs.columns import RowColumns, State, expansion
from fcgboost.losses import CurvedLoss, Loss, SmoothLoss

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign


class LeafTerms(NamedTuple):
    """Sums over the leaves of a tree, each of shape (n_leaves,), and the state of the rows."""

    losses: Array
    slopes: Array
    curvatures: Array
    state: object = None


class TreeColumns(ActiveColumns):
    """The leaves of all trees, wherever the rows are."""

    shares_atoms = False
    #: The number of leaves of each tree.
    sizes: list[int]

    def atom_coef(self, coef: Array) -> Array:
        return np.ones(len(self.sizes))

    def leaf_values(self, coef: Array, first: int = 0) -> list[Array]:
        values = []
        stop = len(coef)
        # From the last tree: earlier ones, which may be many, are not asked for in most steps.
        for size in reversed(self.sizes[first:]):
            values.append(coef[stop - size : stop])
            stop -= size
        return values[::-1]

    @abstractmethod
    def terms(self, point: Point, added: Array | None = None) -> LeafTerms:
        """Return losses, slopes and curvatures times shares, summed over leaves of the last tree.

        One round. The state is that of the rows at the point or, with `added`, before that was
        added to the leaves of the last tree.
        """

    def step(self, point: Point, newest: int, l2: float) -> NewestFit | None:
        """Make a Newton step for each leaf of the last tree; leaves have no rows in common.

        A leaf where that raises the loss, because rows beyond the hinge come back, takes the step
        by the curvature bound. Two or three rounds.
        """
        if not isinstance(self.loss, CurvedLoss):
            return None
        before = self.terms(point)
        bend = before.curvatures + 2.0 * l2
        values = -before.slopes / np.where(bend > 0.0, bend, np.inf)
        end = np.concatenate((point.coef[:newest], values))
        here = point._replace(coef=end, state=before.state)
        after = self.terms(here, values)
        is_worse = after.losses + l2 * values**2 > before.losses
        if is_worse.any():
            bound = self.loss.curvature_bound if isinstance(self.loss, SmoothLoss) else np.inf
            safe = -before.slopes / (bound * self.norms[newest:] ** 2 + 2.0 * l2)
            mended = np.where(is_worse, safe, values)
            end = np.concatenate((point.coef[:newest], mended))
            here = point._replace(coef=end, state=after.state)
            after = self.terms(here, mended - values)
        return NewestFit(end, float(after.losses.sum()), after.state)


class LeafColumns(TreeColumns, RowColumns):
    """The leaves of trees over rows in one memory."""

    def __init__(
        self,
        design: MemoryDesign,
        target: Matrix,
        loss: Loss,
        has_constant: bool,
    ) -> None:
        super().__init__(
            design,
            target,
            loss,
            has_constant,
        )
        self.n_columns = int(has_constant)
        self._forest = design.device.forest(design.n_rows)
        self._last = self._forest
        self.sizes = []
        #: The shares of the columns, by tree.
        self._shares: list[Array] = [np.ones(self.n_columns)]
        (constant,) = self._device.fetch(self._first_slopes.sum(0, keepdims=True))
        #: The gradient at zero coefficients, by tree.
        self._gradients: list[Array] = [constant[: self.n_columns]]

    @property
    def norms(self) -> Array:
        return np.sqrt(np.concatenate(self._shares))

    @property
    def first_gradient(self) -> Array:
        return np.concatenate(self._gradients)

    def append(self, atoms: Matrix, entry: object = None) -> None:
        for j in range(atoms.shape[0]):
            tree: Any = self._design.tree_of(atoms[j : j + 1]) if entry is None else entry
            self._last = tree
            self._forest.append_tree(tree)
            self.sizes.append(tree.n_leaves)
            self.n_columns += tree.n_leaves
            sums = tree.sums([self._design.shares, self._first_slopes])[:, 1:]
            (facts,) = self._device.fetch(sums)
            self._shares.append(facts[0])
            self._gradients.append(facts[1])

    def expand(self, point: Point, subset: Sequence[int] | None = None) -> Expansion:
        """Return the sums at a point in one wait, with the diagonal of the Hessian."""
        if self.is_compiled and point.state is None:
            constant, values = self._divided(point.coef)
            f = np.full(self._design.n_rows, constant)
            rows, sums = self._added(self._forest, values, f, n_vectors=2)
        else:
            rows = self._state(point)
            vectors = [rows.slopes]
            if isinstance(self.loss, CurvedLoss):
                vectors.append(rows.curvatures)
            sums = self._forest.sums(vectors)
        return expansion(rows, self._device.fetch(rows.losses.sum(), *sums[:, self._first :]))

    def product(self, point: Point, direction: Array) -> Array:
        constant, values = self._divided(direction)
        curvatures = self._state(point).curvatures
        product = self._forest.products(constant, values, curvatures)[self._first :]
        (fetched,) = self._device.fetch(product)
        return fetched

    def terms(self, point: Point, added: Array | None = None) -> LeafTerms:
        rows = self._state(point)
        if added is None:
            sums = self._last.sums(rows[1:])
        elif self.is_compiled:
            rows, sums = self._added(self._last, added, rows.f.copy(), n_vectors=3)
        else:
            rows = self._state_at(self._last.add_values(added, rows.f + 0.0))
            sums = self._last.sums(rows[1:])
        (fetched,) = self._device.fetch(sums[:, 1:])
        losses, slopes, curvatures = fetched
        return LeafTerms(
            losses,
            slopes,
            curvatures,
            rows,
        )

    def _added(self, forest: Any, values: Array, f: Array, n_vectors: int) -> tuple[State, Array]:
        """Add leaf values to f, compiled; return the rows there, and sums over leaves."""
        terms, sums = forest.terms(
            self.bend,
            values,
            f,
            self._y,
            self._design.shares,
            n_vectors,
        )
        return State(f, *terms), sums

    def arrays(self) -> tuple[Matrix, Matrix, Matrix]:
        """Return A explicitly, with ones and zeros, which fits only small data."""
        columns = self._device.xp.stack([self._values(unit) for unit in np.eye(self.n_columns)])
        return columns.T, self._y, self._design.weights

    def _values(self, coef: Array) -> Matrix:
        constant, values = self._divided(coef)
        return self._forest.add_values(values, 0.0 * self._design.weights + constant)

    @property
    def _first(self) -> int:
        """Where the sums of the columns begin in those of a forest."""
        return int(not self.has_constant)

    def _divided(self, coef: Array) -> tuple[float, Array]:
        """Return the constant, and the values of the leaves."""
        constant = float(coef[: self.has_constant].sum())
        return constant, np.ascontiguousarray(coef[self.has_constant :])
