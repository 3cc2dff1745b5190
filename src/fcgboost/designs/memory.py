"""A design in one memory: of this process (NumPy, SciPy) or of a device (torch)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from fcgboost import hashing, threads
from fcgboost.arrays import Codes, Matrix, is_sparse, is_tensor, stack_rows, to_numpy
from fcgboost.designs.base import (
    Array,
    Design,
    Piece,
    Point,
    Residuals,
    Subsample,
    Sums,
    T,
    Winner,
)
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.columns import MemoryColumns, RowColumns, State
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.leaves import LeafColumns
from fcgboost.designs.moments import Frame, Moments, moments_of
from fcgboost.designs.scoring import MemoryCandidates, ScoredRows
from fcgboost.dictionaries import (
    Dictionary,
    LearnableDictionary,
    Sample,
    TreeDictionary,
)
from fcgboost.losses import Loss, Square, SquaredHinge
from fcgboost.threads import cached

#: The compiled library numbers rows in 32 bits.
MOST_ROWS = 2**31 - 1
# With fewer rows the work for an output costs less than a thread.
_WORTH_A_THREAD = 1 << 12
# Beyond these magnitudes, powers of standardised inputs overflow float32, or centring them loses
# digits.
_LARGEST_REACH = 2.0**10
_FARTHEST = 2.0**16


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
        Threads over blocks of candidates, and over outputs. The result does not depend on it.
    device : HostDevice or None, default=None
        Where the columns live; None means NumPy.
    row_hashes : ndarray of uint64, shape (n_samples,), or None, default=None
        The fingerprints of the rows, if known.
    moments : Moments or None, default=None
        Those of all rows, if X is only a part of them.
    shares_outputs : bool, default=True
        Whether threads may work for several outputs at once.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        X: Matrix,
        weights: Array,
        standardize: bool,
        memory_budget: int = 2**30,
        n_threads: int = 1,
        device: HostDevice | None = None,
        row_hashes: hashing.Hashes | None = None,
        moments: Moments | None = None,
        shares_outputs: bool = True,
    ) -> None:
        if X.shape[0] > MOST_ROWS:
            raise ValueError(
                f"X has {X.shape[0]:,} rows, and a process can fit {MOST_ROWS:,} at most: use "
                "fewer rows, or DaskFCGBoostClassifier, which divides them among processes."
            )
        self.dictionary = dictionary
        self.memory_budget = memory_budget
        self.n_threads = n_threads
        self._shares_outputs = shares_outputs and X.shape[0] >= _WORTH_A_THREAD
        #: Where candidates are scored; a device without float64 is used for nothing else.
        self.scoring_device = HostDevice() if device is None else device
        self.device = self.scoring_device.with_float64
        self.X = X.cpu().numpy() if is_tensor(X) else X
        self.n_rows = int(X.shape[0])
        # For evaluation; rows are drawn from the copy on the host.
        self.inputs = self.device.put(X) if self.device.is_torch else X
        moments = moments_of(self.X, weights) if moments is None else moments
        self.total_weight = moments.total_weight
        self.weights = self.device.put(weights)
        self.shares = self.device.put(weights / self.total_weight)
        self.frame = frame = Frame(moments, standardize)
        self.scale = frame.scale
        self.deviation = frame.deviation
        self.units = self.device.put(frame.scale)
        self.row_hashes = hashing.fingerprint(self.X) if row_hashes is None else row_hashes

    @cached
    def _distinct(self) -> tuple[hashing.Hashes, Codes]:
        """The sorted fingerprints of distinct rows, and the positions of these rows."""
        return np.unique(self.row_hashes, return_index=True)

    @cached
    def _circle(self) -> Callable[[int], hashing.Circle]:
        # Two circles: that of the fit, and that of a step with its own key.
        return lru_cache(maxsize=2)(partial(hashing.Circle, self._distinct[0]))

    @property
    def n_distinct(self) -> int:
        return len(self._distinct[0])

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self.X)

    def as_sample(self, rows: Matrix) -> Sample:
        return self.frame.sample(rows)

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        drawn = self._circle(key).after(turn, n)
        positions = self._distinct[1][drawn]
        return self.frame.sample(self.X[positions])

    def subsample(self, n: int, key: int) -> MemorySubsample:
        if n >= self.n_rows:
            return MemorySubsample(self, slice(None))
        return MemorySubsample(self, hashing.least(hashing.keyed(self.row_hashes, key), n))

    def candidates(self, atoms: Matrix, *, reuse: bool) -> MemoryCandidates:
        return MemoryCandidates(self, atoms, reuse)

    def sums(self, atoms: Matrix, residuals: Residuals) -> Sums:
        R = residuals.matrix
        H = residuals.weights
        values = self.evaluate(atoms)
        dots, firsts, squares, weight = self.device.fetch(
            values.T @ R,
            values.T @ H,
            (values * values).T @ H,
            H.sum(0),
        )
        entries = [values[:, j : j + 1] for j in range(atoms.shape[0])]
        return Sums(
            dots,
            firsts,
            squares,
            weight,
            entries,
        )

    def tree_sums(self, atoms: Matrix, trees: Sequence[Any], residuals: Residuals) -> Sums:
        """Return the sums of trees, one for each output, at that output; others are 0.

        Trees are given as atoms and as forests of one tree each.
        """
        xp = self.device.xp
        sums = []
        for j, (tree, point) in enumerate(zip(trees, residuals.points, strict=True)):
            assert isinstance(point.columns, RowColumns)
            weights = residuals.weights[:, j]
            unit = 1.0
            state = point.state
            if isinstance(state, State) and isinstance(point.columns.loss, (SquaredHinge, Square)):
                # There the curvature is twice the share.
                weights = state.curvatures
                unit = self.total_weight / 2.0
            dots, counts = tree.sums([residuals.matrix[:, j], weights])
            values = self.device.put(self.trees.leaf_values(atoms[j : j + 1]))
            firsts = counts[1:] @ values
            squares = counts[1:] @ values**2
            of_weights = unit * xp.stack([firsts, squares, counts[0]])
            sums.append(xp.concatenate([(dots[1:] @ values)[None], of_weights]))
        (of_own,) = self.device.fetch(xp.stack(sums, 1))
        dots, firsts, squares = map(np.diag, of_own[:3])
        return Sums(
            dots,
            firsts,
            squares,
            of_own[3],
            trees,
        )

    def rescored(
        self,
        winners: Sequence[Winner | None],
        atoms: Matrix,
        residuals: Residuals,
        normalize: bool,
    ) -> list[Winner | None]:
        """Return the winners with float64 scores, and with their columns for entry."""
        xp = self.device.xp
        R = residuals.matrix
        # A score of zero stays zero, as for an atom that vanishes on the data.
        chosen = [(c, best.index) for c, best in enumerate(winners) if best and best.score > 0.0]
        if not chosen:
            return list(winners)
        columns = [self.evaluate(atoms[j : j + 1])[:, 0] for _, j in chosen]
        dots, squares = self.device.fetch(
            xp.stack([column @ R[:, c] for (c, _), column in zip(chosen, columns, strict=True)]),
            xp.stack([(column * column) @ self.shares for column in columns]),
        )
        rescored = list(winners)
        for number, (c, j) in enumerate(chosen):
            norm = float(np.sqrt(squares[number])) if normalize else 1.0
            score = abs(float(dots[number])) / norm if norm > 0.0 else 0.0
            rescored[c] = Winner(j, score, columns[number][:, None])
        return rescored

    @property
    def scored_rows(self) -> ScoredRows:
        """The rows as candidates see them: in float32 if the device and the dictionary can."""
        if (
            self.scoring_device.is_float32_faster
            and isinstance(self.dictionary, LearnableDictionary)
            and not is_sparse(self.X)
            and self.frame.is_within(_LARGEST_REACH, _FARTHEST)
        ):
            return ScoredRows(
                self.scoring_device,
                "float32",
                *self._standardized,
                self.frame,
            )
        return ScoredRows(
            self.device,
            "float64",
            self.inputs,
            self.units,
        )

    @cached
    def _standardized(self) -> tuple[Matrix, Matrix]:
        """The standardised rows as float32, and ones, on the scoring device."""
        X = self.inputs
        device = self.device
        center = device.put(self.frame.center)
        Z = device.empty(self.n_rows, X.shape[1], "float32")
        for rows in row_blocks(self.n_rows, device.block_entries // X.shape[1]):
            Z[rows] = (X[rows] - center) / self.units
        ones = self.scoring_device.put(np.ones(X.shape[1]), "float32")
        return self.scoring_device.put(Z, "float32"), ones

    def columns(
        self,
        target: Matrix,
        loss: Loss,
        capacity: int,
        has_constant: bool,
        n_outputs: int = 1,
    ) -> RowColumns:
        if self.dictionary.corrects_leaves:
            return LeafColumns(
                self,
                target,
                loss,
                has_constant,
            )
        return MemoryColumns(
            self,
            target,
            loss,
            capacity,
            has_constant,
            n_outputs,
        )

    def residuals(self, points: Sequence[Point]) -> Residuals:
        pairs = []
        for point in points:
            assert isinstance(point.columns, RowColumns)
            pairs.append(point.columns.residual(point))
        return Residuals(points, *map(self._side_by_side, zip(*pairs, strict=True)))

    def _side_by_side(self, vectors: Sequence[Matrix]) -> Matrix:
        # Contiguous vectors make sums over the rows several times faster.
        return vectors[0][:, None] if len(vectors) == 1 else self.device.xp.stack(vectors).T

    @property
    def trees(self) -> TreeDictionary:
        """The dictionary, if its leaves are corrected."""
        assert isinstance(self.dictionary, TreeDictionary)
        return self.dictionary

    @cached
    def _growers(self) -> dict[bool, threads.Copies[Any]]:
        """What grows trees, by whether these have the weights of the rows."""
        return {}

    def _grower(self, is_even: bool) -> threads.Copies[Any]:
        if is_even not in self._growers:
            weights = self.weights if is_even else None
            grower = self.device.grower(self.trees, self.inputs, weights)
            self._growers[is_even] = threads.Copies(grower)
        return self._growers[is_even]

    def grow(self, residuals: Residuals) -> tuple[Any, Sums]:
        is_even = residuals.points[0].columns.loss.is_even
        growers = self._grower(is_even)

        def grown(output: int) -> tuple[Matrix, Any]:
            weights = self.weights if is_even else residuals.weights[:, output]
            with growers.lent() as grower:
                atom = grower.grow(residuals.matrix[:, output], weights, 0)
                n_leaves = len(self.trees.leaf_values(atom))
                return atom, self.tree(grower.leaves, n_leaves)

        results = self.each_output(grown, range(len(residuals.points)))
        atoms = [atom for atom, _ in results]
        trees = [tree for _, tree in results]
        stacked = stack_rows(atoms)
        return stacked, self.tree_sums(stacked, trees, residuals)

    def tree(self, codes: Matrix, n_leaves: int) -> Any:
        """Return a forest of one tree, given the leaf number of each row."""
        forest = self.device.forest(self.n_rows)
        forest.append(codes, n_leaves)
        return forest

    def tree_of(self, atom: Matrix) -> Any:
        """Return a forest of one tree, sending all rows down to their leaves."""
        blocks = row_blocks(self.n_rows, self.device.block_entries // self.X.shape[1])
        walk = self.device.walk
        parts = self.each(lambda block: self.trees.leaves(self.inputs[block], atom, walk), blocks)
        codes = self.device.xp.concatenate(parts)
        return self.tree(codes, len(self.trees.leaf_values(atom)))

    def evaluate(self, atoms: Matrix) -> Matrix:
        """Return the values of atoms at all rows, of shape (n_rows, n_atoms)."""
        X = self.inputs
        device = self.device
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

    def each_output(self, work: Callable[[Piece], T], outputs: Sequence[Piece]) -> list[T]:
        each = self.each if self._shares_outputs else super().each_output
        return each(work, outputs)

    def each(self, work: Callable[[Piece], T], pieces: Sequence[Piece]) -> list[T]:
        """Run independent pieces of work, in threads if allowed; return results in order."""
        if self.n_threads == 1 or len(pieces) == 1 or self.device.is_torch:
            return [work(piece) for piece in pieces]
        return threads.each(work, pieces, self.n_threads)


class MemorySubsample(Subsample):
    """Rows of a design in one memory, given by their positions."""

    def __init__(self, design: MemoryDesign, positions: Matrix) -> None:
        self._design = design
        is_all = isinstance(positions, slice)
        self.rows = design.X[positions]
        self.weights = to_numpy(design.weights)[positions]
        self._positions = positions if is_all else design.device.put(positions, "int64")

    def residuals(self, residuals: Residuals) -> tuple[Array, Array]:
        rows = self._positions
        r, h = self._design.device.fetch(residuals.matrix[rows], residuals.weights[rows])
        return r, h
