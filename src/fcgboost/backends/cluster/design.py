"""The design whose rows are on workers: every verb is one round.

New columns are sent with the next round, which returns their norms.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from fcgboost import hashing
from fcgboost._kernels import Rows, Rules, Splits
from fcgboost.arrays import (
    Flags,
    Matrix,
    stack_rows,
)
from fcgboost.backends.cluster.shard import Change, ColumnChanges, GrownTree
from fcgboost.backends.cluster.workers import Call, RemoteRows
from fcgboost.backends.growth import Growth, SummedRows
from fcgboost.designs.base import (
    ActiveColumns,
    Array,
    Candidates,
    Design,
    Expansion,
    Point,
    Residuals,
    Start,
    Subsample,
    Sums,
    Winner,
)
from fcgboost.designs.columns import start_of
from fcgboost.designs.leaves import LeafTerms, TreeColumns
from fcgboost.designs.moments import Frame, Moments
from fcgboost.designs.scoring import Scores
from fcgboost.dictionaries import Dictionary, Sample, TreeDictionary
from fcgboost.dictionaries.bins import THRESHOLD_ROWS, Bins, find_bins
from fcgboost.losses import Loss
from fcgboost.threads import cached
from fcgboost.training.dataset import DataSet

# The number of hashes: 64-bit words.
_N_HASHES = 2**64
# The owner of growing trees.
_TREES = -2


class Draw(NamedTuple):
    """Rows of all partitions whose hashes lie within a width after a turn of their circle.

    Rows equal in values and class are merged; `data` keeps the positions of those that were sent.
    """

    data: DataSet
    width: int


def draw(
    rows: RemoteRows,
    n: int,
    key: int = 0,
    turn: int = 0,
) -> Draw:
    """Draw a little more than n distinct rows by their keyed hashes, or all if there are fewer."""
    # Hashes are uniform, so this is almost always wide enough.
    width = int((n + 4.0 * np.sqrt(n) + 8.0) / rows.n_rows * _N_HASHES)
    while True:
        width = min(width, _N_HASHES)
        data = _joined(
            rows.ask(
                "draw",
                key,
                turn,
                width,
            )
        )
        # Equal rows of several partitions may leave fewer than expected.
        if width == _N_HASHES or len(np.unique(data.row_hashes)) >= n:
            return Draw(data.canonical(keeps_originals=True), width)
        width *= 4


def _joined(parts: Sequence[DataSet]) -> DataSet:
    return DataSet(
        X=stack_rows([part.X for part in parts]),
        target=np.concatenate([part.target for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        row_hashes=np.concatenate([part.row_hashes for part in parts]),
    )


class TreeGrowing(NamedTuple):
    """The bins of the rows, and the rules by which trees grow on them."""

    bins: Bins
    rules: Rules


class ClusterDesign(Design):
    """A dictionary laid over rows on workers."""

    is_sparse = False

    def __init__(
        self,
        rows: RemoteRows,
        dictionary: Dictionary,
        moments: Moments,
        standardize: bool,
        is_sparse: bool,
    ) -> None:
        self.rows = rows
        self.dictionary = dictionary
        self.is_sparse = is_sparse
        self.n_rows = rows.n_rows
        self.frame = Frame(moments, standardize)
        self.total_weight = moments.total_weight
        self.scale = self.frame.scale
        self.deviation = self.frame.deviation
        #: The numbers of columns on workers, and those of columns no longer in use.
        self.numbers = count()
        self.dead = list[int]()
        #: The numbers of evaluations: workers keep the state of the rows after the last one.
        self.evaluations = count()

    @property
    def n_distinct(self) -> int:
        return self.rows.n_rows

    def as_sample(self, rows: Matrix) -> Sample:
        return self.frame.sample(rows)

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        data = draw(
            self.rows,
            n,
            key,
            turn,
        ).data
        distances = hashing.keyed(data.row_hashes, key) - np.uint64(turn)
        nearest = np.unique(distances, return_index=True)[1][:n]
        return self.frame.sample(data.X[nearest])

    def subsample(self, n: int, key: int) -> ClusterSubsample:
        return ClusterSubsample(self, n, key)

    def candidates(self, atoms: Matrix, *, reuse: bool) -> ClusterCandidates:
        if reuse:
            self.rows.ask("propose", atoms, lasts=True)
        return ClusterCandidates(self, atoms, reuse)

    def residuals(self, points: Sequence[Point]) -> Residuals:
        return Residuals(points)

    def sums(self, atoms: Matrix, residuals: Residuals) -> Sums:
        total: Sums = self.at(residuals.points, "sums", atoms)
        return total

    @cached
    def _growing(self) -> TreeGrowing:
        """Bin the rows for trees that grow on all of them."""
        trees = self.dictionary
        rows = self.rows
        assert isinstance(trees, TreeDictionary)
        is_category = trees.categories(len(self.scale))
        sample = draw(rows, THRESHOLD_ROWS).data.X
        levels = rows.ask("levels", is_category)
        bins = find_bins(sample, levels, is_category)
        while True:
            clash, weights = rows.ask("bin", bins)
            if not any(map(len, clash)):
                break
            bins = bins.unshared(np.unique(np.concatenate(clash)), sample)
        rows.workers.remember((rows.dataset_id,), ("ask", rows.dataset_id, "bin", bins))
        depth = trees.levels(max(weights.total, bins.n_rows(rows.n_rows)))
        return TreeGrowing(bins, trees.rules(depth, weights.unit))

    def grow(self, residuals: Residuals) -> tuple[Matrix, Sums]:
        """Grow trees over all rows, in about one round per level after two initial ones."""
        bins, rules = self._growing
        rows = self.rows
        dictionary = self.dictionary
        assert isinstance(dictionary, TreeDictionary)
        trees = []
        entries = []
        for output, point in enumerate(residuals.points):
            size, weights = self.at([point], "size")
            if not point.columns.loss.is_even:
                rules = dictionary.rules(rules.depth, weights.unit)
            self.at(
                [point],
                "start_tree",
                output,
                size,
                rules.unit,
                owner=(_TREES,),
            )

            def split(slots: Rows, splits: Splits, output: int = output) -> Rows:
                question = ("ask", rows.dataset_id, "split_tree", output, slots, splits)
                histograms: Rows = rows.workers.round(*question)
                rows.workers.remember((rows.dataset_id, _TREES), question)
                return histograms

            growth = Growth(SummedRows(split, bins, rules), bins, rules)
            trees.append(growth.atom())
            entries.append(GrownTree(output, growth.leaf_numbers()))
        atoms = stack_rows(trees)
        sums: Sums = self.at(
            residuals.points,
            "tree_sums",
            atoms,
            entries,
        )
        rows.workers.drop((rows.dataset_id, _TREES))
        return atoms, replace(sums, entries=entries)

    def columns(
        self,
        target: int,
        loss: Loss,
        capacity: int,
        has_constant: bool,
        n_outputs: int = 1,
    ) -> ClusterColumns:
        # The target is the number of the output.
        kind = ClusterLeafColumns if self.dictionary.corrects_leaves else ClusterColumns
        return kind(
            self,
            target,
            loss,
            capacity,
            has_constant,
            n_outputs,
        )

    def at(
        self,
        points: Sequence[Point],
        verb: str,
        *args: object,
        owner: tuple[int, ...] = (),
    ) -> Any:
        """Ask a question at points in one round, and send pending changes of columns.

        Questions with an owner are repeated for shards that replace lost ones.
        """
        workers = self.rows.workers
        dataset_id = self.rows.dataset_id
        columns = [p.columns for p in points if isinstance(p.columns, ClusterColumns)]
        there = [(c.number, *point[1:]) for c, point in zip(columns, points, strict=True)]
        changed = [*dict.fromkeys(c for c in columns if c.changes)]
        changes = [ColumnChanges(c.number, c.changes) for c in changed]
        dead = list(self.dead)
        self.dead[:] = []
        for number in dead:
            workers.drop((dataset_id, number))
        news, answer = self.rows.ask(
            "at",
            changes,
            dead,
            there,
            verb,
            *args,
        )
        for changed_columns, change, properties in zip(
            changed,
            changes,
            news,
            strict=True,
        ):
            call: Call = ("ask", dataset_id, "at", [change], [], [], "expand", [])
            workers.remember((dataset_id, changed_columns.number), call)
            changed_columns.note(*properties)
        if owner:
            workers.remember(
                (dataset_id, *owner), ("ask", dataset_id, "at", [], [], there, verb, *args)
            )
        return answer


class ClusterSubsample(Subsample):
    """Rows of all partitions, fetched once; later only residuals are."""

    def __init__(self, design: ClusterDesign, n: int, key: int) -> None:
        self._design = design
        self._key = key
        data, self._width = draw(design.rows, n, key)
        self.rows = data.X
        self.weights = data.weights
        assert data.positions is not None
        self._positions = data.positions

    def residuals(self, residuals: Residuals) -> tuple[Array, Array]:
        parts = self._design.at(
            residuals.points,
            "residuals",
            self._key,
            self._width,
        )
        n_points = len(residuals.points)
        matrix = np.zeros((len(self.weights), 2 * n_points))
        np.add.at(matrix, self._positions, np.concatenate(parts))
        return matrix[:, :n_points], matrix[:, n_points:]


class ClusterCandidates(Candidates):
    """Candidates over rows on workers."""

    def __init__(self, design: ClusterDesign, atoms: Matrix, is_there: bool) -> None:
        self.atoms = atoms
        self._design = design
        self._sent = None if is_there else atoms

    def best(self, residuals: Residuals, normalize: bool, allowed: Flags) -> list[Winner | None]:
        if not allowed.any():
            return [None] * len(residuals.points)
        question = ("candidate_scores", self._sent, normalize)
        scores: Scores = self._design.at(residuals.points, *question)
        return scores.best(allowed)


class ClusterColumns(ActiveColumns):
    """Columns on workers, for the targets of an output by its number."""

    def __init__(
        self,
        design: ClusterDesign,
        target: int,
        loss: Loss,
        capacity: int,
        has_constant: bool,
        n_outputs: int,
    ) -> None:
        self.loss = loss
        self.has_constant = has_constant
        self.n_columns = int(has_constant)
        self.total_weight = design.total_weight
        self._design = design
        self.number = next(design.numbers)
        weakref.finalize(self, design.dead.append, self.number)
        #: Changes not yet sent to the workers.
        self.changes = [Change("make", (target, loss, capacity, has_constant, n_outputs))]
        #: Norms and gradients at zero.
        self._properties: Array = np.empty((2, 0))

    def start(self) -> Start:
        """Return the start for a summary of the targets, which is exact for labels.

        For very many numbers the risks are a little too small, and medians close to exact.
        """
        nowhere = Point(self, 0, np.zeros(0))
        y, weights = self._design.at([nowhere], "targets")
        return start_of(
            self.loss,
            np.concatenate(y),
            np.concatenate(weights),
            self.has_constant,
        )

    def narrow(self, loss: Loss) -> None:
        super().narrow(loss)
        self.changes.append(Change("narrow", (loss,)))

    @property
    def norms(self) -> Array:
        return np.asarray(self._read()[0])

    @property
    def first_gradient(self) -> Array:
        return np.asarray(self._read()[1])

    def append(self, atoms: Matrix, entry: object = None) -> None:
        self.n_columns += self._count(atoms)
        self.changes.append(Change("append", (atoms, entry)))

    def _count(self, atoms: Matrix) -> int:
        """Return the number of columns of atoms."""
        return int(atoms.shape[0])

    def drop(self, position: int) -> None:
        self._properties = np.delete(self._read(), position, axis=1)
        self.changes.append(Change("drop", (position,)))
        self.n_columns -= 1

    def _read(self) -> Array:
        """Return the properties of all columns, asking for those of new ones."""
        if self._properties.shape[1] < self.n_columns:
            self.expand(Point(self, 0, np.zeros(self.n_columns)))
        return self._properties

    def note(self, squares: Array, gradient: Array) -> None:
        """Store the properties of new columns."""
        new = np.vstack([np.sqrt(squares), gradient])
        self._properties = np.hstack([self._properties, new])
        self._properties[0, : self.has_constant] = 1.0
        self.changes = []

    def expand(self, point: Point, subset: Sequence[int] | None = None) -> Expansion:
        evaluation = next(self._design.evaluations)
        ((risk, gradient, gram),) = self._design.at([point], "expand", [evaluation], subset)
        return Expansion(
            risk,
            gradient,
            gram,
            evaluation,
        )

    def qr_factor(self, point: Point, majorize: bool) -> tuple[Array, Array]:
        factors, straight = self._design.at([point], "qr_factor", majorize)
        return np.asarray(np.linalg.qr(np.vstack(factors), mode="r")), straight


class ClusterLeafColumns(TreeColumns, ClusterColumns):
    """The leaves of trees on workers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sizes = []

    def _count(self, atoms: Matrix) -> int:
        trees = self._design.dictionary
        assert isinstance(trees, TreeDictionary)
        sizes = [len(trees.leaf_values(atoms[j : j + 1])) for j in range(atoms.shape[0])]
        self.sizes += sizes
        return sum(sizes)

    def product(self, point: Point, direction: Array) -> Array:
        product: Array = self._design.at([point], "product", direction)
        return product

    def terms(self, point: Point, added: Array | None = None) -> LeafTerms:
        evaluation = next(self._design.evaluations)
        losses, slopes, curvatures = self._design.at([point], "terms", evaluation, added)
        return LeafTerms(losses, slopes, curvatures, evaluation)
