"""A design in one memory: of this process (NumPy, SciPy) or of a device (torch)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing, threads
from fcgboost.arrays import host, is_sparse, is_tensor, squared_norms
from fcgboost.designs.base import Array, Design, Divisor, Point, Subsample, Sums
from fcgboost.designs.blocks import BLOCK, row_blocks
from fcgboost.designs.columns import MemoryColumns, RowColumns
from fcgboost.designs.devices import Host, TorchDevice
from fcgboost.designs.forests import make_forest
from fcgboost.designs.growing import DeviceGrower
from fcgboost.designs.leaves import LeafColumns
from fcgboost.designs.moments import Frame, Moments, moments_of
from fcgboost.designs.scoring import MemoryCandidates, Scores, is_worth_storing
from fcgboost.designs.views import View
from fcgboost.dictionaries import (
    Dictionary,
    Sample,
    ScreenedDictionary,
    TreeDictionary,
    stack_rows,
)
from fcgboost.dictionaries.trees import TreeGrower
from fcgboost.losses import Loss
from fcgboost.threads import cached

# The largest number of columns kept between exact scoring and entry.
_KEPT_COLUMNS = 8
# Beyond these magnitudes, squares of standardised inputs overflow float32, or centring them loses
# digits.
_LEAST_REACH, _LARGEST_REACH, _FARTHEST = 2.0**-20, 2.0**30, 2.0**16
_ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53}


class MemoryDesign(Design):
    """A dictionary over a NumPy array or CSR matrix, or over a copy of it on a device.

    Parameters
    ----------
    dictionary : Dictionary
    X : ndarray, CSR matrix or tensor of shape (n_samples, n_features)
        A tensor must be on the device.
    weights : ndarray of shape (n_samples,)
        Positive.
    standardize : bool
        Whether atoms see columns of mean 0 and variance 1.
    memory_budget : int, default=2**30
        Bytes for stored candidates.
    n_threads : int, default=1
        Threads over blocks of candidates. The result does not depend on it.
    device : Host or None, default=None
        Where the columns live; None means NumPy.
    words : ndarray of uint64, shape (n_samples,), or None, default=None
        The fingerprints of the rows, if known.
    moments : Moments or None, default=None
        Those of all rows, if X is only a part of them.
    """

    _made_of_data = ("_made", "_residuals", "_grower")

    def __init__(
        self,
        dictionary: Dictionary,
        X: Any,
        weights: Array,
        standardize: bool,
        memory_budget: int = 2**30,
        n_threads: int = 1,
        device: Host | None = None,
        words: hashing.Words | None = None,
        moments: Moments | None = None,
    ) -> None:
        self.dictionary = dictionary
        self.memory_budget = memory_budget
        self.n_threads = n_threads
        #: Where float32 screening runs; a device without float64 is used for nothing else.
        self.screen = Host() if device is None else device
        self.device = self.screen if self.screen.has_float64 else TorchDevice("cpu")
        self.X = X.cpu().numpy() if is_tensor(X) else X
        self.n_rows = int(X.shape[0])
        # For evaluation; rows are drawn from the copy on the host.
        self.inputs = self.device.put(X) if self.device.is_torch else X
        moments = moments_of(self.X, weights) if moments is None else moments
        self.total_weight = moments.total_weight
        self.weights = self.device.put(weights)
        self.shares = self.device.put(weights / self.total_weight)
        self.frame = frame = Frame(moments, standardize)
        self.scale, self.deviation = frame.scale, frame.deviation
        self.units = self.device.put(frame.scale)
        self.words = hashing.fingerprint(self.X) if words is None else words
        #: Values of atoms scored in this step, which may enter.
        self._columns: dict[bytes, Any] = {}
        #: Leaf numbers of the rows in trees grown in this step, by fingerprint.
        self._leaves: dict[int, Any] = {}

    @property
    def fingerprints(self) -> hashing.Words:
        """The fingerprints of distinct rows, sorted."""
        return self._distinct[0]

    @cached
    def _distinct(self) -> tuple[hashing.Words, NDArray[np.intp]]:
        """The fingerprints of distinct rows, and the positions of these rows."""
        return np.unique(self.words, return_index=True)

    @cached
    def _circle(self) -> Callable[[int], hashing.Circle]:
        # Two circles: that of the fit, and that of a step with its own key.
        return lru_cache(maxsize=2)(partial(hashing.Circle, self.fingerprints))

    @property
    def n_distinct(self) -> int:
        return len(self.fingerprints)

    def with_dictionary(self, dictionary: Dictionary) -> MemoryDesign:
        """Lay another dictionary over the same data, sharing what depends on the data alone."""
        other = copy.copy(self)
        other.dictionary, other._columns, other._leaves = dictionary, {}, {}
        for name in ("_made", "_grower", "is_screenable"):
            vars(other).pop(name, None)
        return other

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        places = self._circle(key).after(turn, n)
        return self.frame.sample(self.X[self._distinct[1][places]])

    def subsample(self, n: int, key: int) -> MemorySubsample:
        if n >= self.n_rows:
            return MemorySubsample(self, slice(None))
        return MemorySubsample(self, hashing.order_of(hashing.keyed(self.words, key))[:n])

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> MemoryCandidates:
        return MemoryCandidates(self, atoms, is_worth_storing(self, atoms.shape[0], reuse, store))

    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        R = self.residuals(points)
        active = (R != 0.0) * self.weights[:, None]
        if self.dictionary.corrects_leaves:
            return self._tree_sums(atoms, R, active)
        values = self.evaluate(atoms)
        sums = (values.T @ R, values.T @ active, (values * values).T @ active, active.sum(0))
        self._keep(atoms, values.T)
        return Sums(*self.device.fetch(*sums))

    def _tree_sums(self, atoms: Any, R: Any, active: Any) -> Sums:
        """Return the sums of trees, computed from sums by leaf."""
        xp, found = self.device.xp, []
        for j in range(atoms.shape[0]):
            forest = make_forest(self.n_rows, self.device, self.each)
            forest.append(*self.leaves(atoms[j : j + 1]))
            pulls, counts = (xp.stack([forest.sums(own) for own in W.T]) for W in (R, active))
            values = self.device.put(self.dictionary.leaf_values(atoms[j : j + 1]))
            found.append(xp.stack([pulls @ values, counts @ values, counts @ values**2]))
        sums = xp.stack(found, 1)
        return Sums(*self.device.fetch(*sums, active.sum(0)))

    def exact(self, points: Sequence[Point], atoms: Any, divisor: Divisor) -> Scores:
        """Return scores of atoms, each evaluated alone; keep the columns for entry."""
        R, xp = self.residuals(points), self.device.xp
        each = [self.evaluate(atoms[j : j + 1])[:, 0] for j in range(atoms.shape[0])]
        columns = xp.stack(each)
        extents = []
        if divisor == "max":
            extents = [xp.amax(xp.abs(columns), axis=1)]
        elif divisor == "norm":
            extents = [(columns * columns) @ self.shares]
        self._keep(atoms[:_KEPT_COLUMNS], each)
        dots, *extents = self.device.fetch(columns @ R, *extents)
        return Scores(dots, 0.0, divisor, *extents)

    def _keep(self, atoms: Any, columns: Any) -> None:
        words = [] if is_sparse(atoms) else [atom.tobytes() for atom in atoms]
        self._columns = dict(zip(words, columns, strict=False))

    @cached
    def is_screenable(self) -> bool:
        """Whether rounding errors of candidates are known: for dense rows of moderate size."""
        if is_sparse(self.X) or not isinstance(self.dictionary, ScreenedDictionary):
            return False
        frame = self.frame
        reach = np.maximum(np.abs(frame.low - frame.center), np.abs(frame.high - frame.center))
        largest = float((reach / frame.scale).max(initial=0.0))
        farthest = float((np.abs(frame.center) / frame.scale).max(initial=0.0))
        return farthest <= _FARTHEST and _LEAST_REACH <= largest <= _LARGEST_REACH

    @property
    def is_screened(self) -> bool:
        """Whether candidates are screened in float32."""
        return self.is_screenable and self.screen.is_float32_exact

    def view(self, dtype: str) -> View:
        """Return the rows as candidates of one precision see them."""
        if dtype == "float64":
            return View(self.dictionary, self.device, dtype, self.inputs, self.units)
        return View(self.dictionary, self.screen, dtype, *self._standardized, self.frame)

    @cached
    def _standardized(self) -> tuple[Any, Any]:
        """The standardised rows as float32, and ones, on the screening device."""
        X, device = self.inputs, self.device
        center = device.put(self.frame.center)
        Z = device.empty(self.n_rows, X.shape[1], "float32")
        for rows in row_blocks(self.n_rows, device.block_entries // X.shape[1]):
            Z[rows] = (X[rows] - center) / self.units
        ones = self.screen.put(np.ones(X.shape[1]), "float32")
        return self.screen.put(Z, "float32"), ones

    @cached
    def _radius(self) -> float:
        """The largest norm of a standardised row."""
        Z = self._standardized[0]
        blocks = row_blocks(self.n_rows, self.screen.block_entries // Z.shape[1])
        largest = [self.screen.xp.amax(squared_norms(Z[rows])) for rows in blocks]
        return float(np.sqrt(max(map(float, self.screen.fetch(*largest)))))

    def rounding(self, atoms: Any, dtype: str) -> Array | None:
        """Return bounds on the rounding errors of summed values; None if unknown."""
        if not self.is_screenable:
            return None
        dictionary, frame, radius = self.dictionary, self.frame, self._radius
        assert isinstance(dictionary, ScreenedDictionary)
        if dtype == "float64":
            # In float64 the rows are not centred.
            radius += float(np.linalg.norm(frame.center / frame.scale))
        values, errors = dictionary.rounding(
            dictionary.moved(atoms, frame.center, frame.scale), radius
        )
        return np.asarray((BLOCK * values + errors) * _ROUNDOFF[dtype])

    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> RowColumns:
        if self.dictionary.corrects_leaves:
            return LeafColumns(self, targets, loss, has_constant)
        return MemoryColumns(self, targets, loss, capacity, has_constant)

    def residuals(self, points: Sequence[Point]) -> Any:
        """Return the residuals at points, of shape (n_rows, n_points)."""
        last, R = vars(self).get("_residuals", (None, None))
        if last is points:  # asked for several times per step
            return R
        vectors = []
        for columns, output, coef in points:
            assert isinstance(columns, RowColumns)
            vectors.append(columns.residual(output, coef))
        # Contiguous vectors make sums over the rows several times faster.
        R = vectors[0][:, None] if len(vectors) == 1 else self.device.xp.stack(vectors).T
        # A new step: the last chosen atoms have entered.
        self._residuals, self._columns, self._leaves = (points, R), {}, {}
        return R

    @cached
    def _grower(self) -> TreeGrower | DeviceGrower:
        trees = self.dictionary
        assert isinstance(trees, TreeDictionary)
        if self.device.is_torch:
            return DeviceGrower(trees, self.inputs, self.weights, self.device)
        return TreeGrower(trees, self.X.shape[1])

    def grow(self, points: Sequence[Point]) -> Any:
        """Grow trees on all rows; keep the leaf numbers for entry."""
        R, trees = self.residuals(points), []
        for c in range(len(points)):
            trees.append(self._grower.grow(self.inputs, R[:, c], self.weights, 0))
            self.keep_leaves(trees[-1], self._grower.leaves)
        return stack_rows(trees)

    def keep_leaves(self, atom: Any, leaves: Any) -> None:
        """Keep the leaf numbers of the rows in a tree until the residuals change."""
        self._leaves[_word(atom)] = leaves

    def leaves(self, atom: Any) -> tuple[Any, int]:
        """Return the leaf numbers of the rows in a tree, and the number of leaves."""
        trees = self.dictionary
        assert isinstance(trees, TreeDictionary)
        known, n_leaves = self._leaves.get(_word(atom)), len(trees.leaf_values(atom))
        if known is not None:
            return known, n_leaves
        blocks = row_blocks(self.n_rows, self.device.block_entries // self.X.shape[1])
        parts = self.each(lambda block: trees.leaves(self.inputs[block], atom), blocks)
        return self.device.xp.concatenate(parts), n_leaves

    def evaluate(self, atoms: Any) -> Any:
        """Return the values of atoms at all rows, of shape (n_rows, n_atoms)."""
        X, device = self.inputs, self.device
        here = device.put(atoms) if device.is_torch else atoms
        # Evaluation copies dense inputs.
        width = 1 if is_sparse(X) else X.shape[1]
        size = device.block_entries // max(width, atoms.shape[0])
        if self.n_rows <= size:
            return self.dictionary.evaluate(X, here, self.units)
        blocks = row_blocks(self.n_rows, size)
        values = device.empty(self.n_rows, atoms.shape[0])

        def fill(block: slice) -> None:
            values[block] = self.dictionary.evaluate(X[block], here, self.units)

        self.each(fill, blocks)
        return values

    def values(self, atoms: Any) -> Any:
        """Return the values of atoms, reusing that of one just scored."""
        known = None if is_sparse(atoms) else self._columns.get(atoms.tobytes())
        return self.evaluate(atoms) if known is None else known[:, None]

    def each(self, work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
        """Run independent pieces of work, in threads if allowed; return results in order."""
        if self.n_threads == 1 or len(pieces) == 1 or self.device.is_torch:
            return [work(piece) for piece in pieces]
        return threads.each(work, pieces, self.n_threads)


class MemorySubsample(Subsample):
    """Rows of a design in one memory, given by their positions."""

    def __init__(self, design: MemoryDesign, positions: Any) -> None:
        self._design, is_all = design, isinstance(positions, slice)
        self.rows, self.weights = design.X[positions], host(design.weights)[positions]
        self._positions = positions if is_all else design.device.put(positions, "int64")

    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        (residuals,) = self._design.device.fetch(self._design.residuals(points)[self._positions])
        return residuals, (residuals != 0.0) * self.weights[:, None]


def _word(atom: Any) -> int:
    return int(hashing.fingerprint(atom)[0])
