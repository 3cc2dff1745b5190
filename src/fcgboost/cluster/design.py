"""The design whose rows are on workers: every verb is one round, `Candidates.best` two.

New columns are sent with the next round, which returns their sizes. Columns on workers are not
scaled, because their sizes depend on all partitions; answers are scaled here.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.cluster.workers import Rows
from fcgboost.designs.base import Array, Columns, Design, Divisor, Look, Point, Subsample, Sums
from fcgboost.designs.leaves import TreeColumns
from fcgboost.designs.moments import Frame, Moments
from fcgboost.designs.scoring import ScoredCandidates, Scores
from fcgboost.dictionaries import Dictionary, Sample, TreeDictionary, stack_rows
from fcgboost.dictionaries.bins import THRESHOLD_ROWS, Bins, find_bins
from fcgboost.dictionaries.growth import Growth, Rules, SummedRows
from fcgboost.losses import Loss
from fcgboost.threads import cached
from fcgboost.training.dataset import DataSet

# Up to this many rows are counted; beyond, their number is estimated.
_COUNTED = 1 << 14
# The length of the circle of hashes.
_ROUND = 2**64
# The owner of growing trees.
_TREES = -2


def merged(parts: Sequence[DataSet], keeps_written: bool = False) -> DataSet:
    """Return the rows of several partitions, merging those equal in values and class."""
    codes = np.concatenate([part.codes for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    words = np.concatenate([part.words for part in parts])
    rows = stack_rows([part.X for part in parts])
    return DataSet(rows, codes, weights, words).canonical(keeps_written)


def count_distinct(rows: Rows, by_class: bool = False) -> int:
    """Return the number of distinct rows, with their class if asked for; estimated if many."""
    width = _ROUND * _COUNTED // max(_COUNTED, rows.n_rows)
    words = np.concatenate(rows.ask("words_below", width, by_class))
    return len(np.unique(words)) * _ROUND // width


def first_rows(rows: Rows, n: int) -> tuple[DataSet, bool]:
    """Return at least the first n rows in canonical order, and whether they are all."""
    width = _ROUND * min(rows.n_rows, n + 8 * int(n**0.5)) // rows.n_rows
    while True:
        data = merged(rows.ask("first_rows", width))
        # Merging equal rows of several partitions may leave fewer than expected.
        if width == _ROUND or len(data.codes) >= n:
            return data, width == _ROUND
        width = min(_ROUND, 4 * width)


class ClusterDesign(Design):
    """A dictionary laid over rows on workers; `class_totals` are the weights of the classes."""

    def __init__(
        self,
        rows: Rows,
        dictionary: Dictionary,
        moments: Moments,
        standardize: bool,
        class_totals: Array,
        is_screened: bool,
    ) -> None:
        self.rows, self.dictionary, self.class_totals = rows, dictionary, class_totals
        self.frame = Frame(moments, standardize)
        self.total_weight = moments.total_weight
        self.scale, self.deviation = self.frame.scale, self.frame.deviation
        self.is_screened = is_screened
        #: The numbers of columns on workers, and those of columns no longer in use.
        self.numbers, self.dead = count(), list[int]()
        #: The leaf numbers of the nodes of trees just grown.
        self._grown: tuple[Any, ...] = ()

    @cached
    def n_distinct(self) -> int:
        return count_distinct(self.rows)

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        distances, parts, _ = self.draw(n, key, turn)
        first = np.unique(distances, return_index=True)[1][:n]
        return self.frame.sample(stack_rows([part.X for part in parts])[first])

    def draw(self, n: int, key: int, turn: int = 0) -> tuple[hashing.Words, list[DataSet], int]:
        """Return the rows on an arc with n distinct ones, with their distances and its width."""
        # Hashes are uniform, so this is almost always wide enough.
        width = int((n + 4.0 * np.sqrt(n) + 8.0) / self.rows.n_rows * _ROUND)
        while True:
            distances, parts = self.rows.ask("draw", key, turn, width)
            distances = np.concatenate(distances)
            if width >= _ROUND or len(np.unique(distances)) >= n:
                return distances, parts, width
            width *= 4

    def subsample(self, n: int, key: int) -> ClusterSubsample:
        return ClusterSubsample(self, n, key)

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> ClusterCandidates:
        if reuse:
            self.rows.ask("propose", atoms, store, lasts=True)
        return ClusterCandidates(self, atoms, reuse)

    def sums(self, atoms: Any, points: Sequence[Point]) -> Sums:
        grown = self._grown
        total: Sums = self.at(points, "tree_sums" if grown else "sums", atoms, *grown)
        self._grown = ()
        self.rows.workers.drop((self.rows.place, _TREES))
        return total

    @cached
    def _bins(self) -> tuple[Bins, Rules, bool]:
        """Bins as in memory, rules for trees, and whether light rows are thinned."""
        trees, rows = self.dictionary, self.rows
        assert isinstance(trees, TreeDictionary)
        is_category = trees.categories(len(self.scale))
        first, is_all = first_rows(rows, THRESHOLD_ROWS)
        sample, n_rows = first.X[:THRESHOLD_ROWS], len(first.codes) if is_all else rows.n_rows
        levels = rows.ask("levels", is_category)
        bins = find_bins(sample, levels, is_category, int(trees.n_thresholds))
        while True:
            clash, weights = rows.ask("bin", bins)
            if not any(map(len, clash)):
                break
            bins = bins.unshared(np.unique(np.concatenate(clash)), sample)
        rows.workers.remember((rows.place,), ("ask", rows.place, "bin", bins))
        depth, unit = trees.levels(max(weights.total, bins.n_rows(n_rows))), weights.unit
        return bins, trees.rules(depth, unit), unit[0] * weights.n_rows > weights.total

    def grow(self, points: Sequence[Point]) -> Any:
        """Grow trees over all rows, in about one round per level after two initial ones."""
        (bins, rules, is_thinned), rows, trees, leaves = self._bins, self.rows, [], []
        for number, point in enumerate(points):
            size = self.at([point], "size")
            known = (number, size, rules.unit, is_thinned)
            self.at([point], "start_tree", *known, owner=(_TREES,))

            def split(slots: Any, splits: Any, number: int = number) -> Any:
                question = ("ask", rows.place, "split_tree", number, slots, splits)
                histograms = rows.workers.round(*question)
                rows.workers.remember((rows.place, _TREES), question)
                return histograms

            growth = Growth(SummedRows(split, bins, rules), bins, rules)
            trees.append(growth.atom())
            leaves.append(growth.leaf_numbers())
        self._grown = (leaves,)
        return stack_rows(trees)

    def columns(
        self, targets: Sequence[Any], loss: Loss, capacity: int, has_constant: bool
    ) -> ClusterColumns:
        # Targets are the codes of positive classes.
        kind = ClusterLeafColumns if self.dictionary.corrects_leaves else ClusterColumns
        return kind(self, tuple(targets), loss, capacity, has_constant)

    def at(
        self, points: Sequence[Point], verb: str, *args: Any, owner: tuple[int, ...] = ()
    ) -> Any:
        """Ask a question at points in one round, and send pending changes of columns.

        Questions with an owner are repeated for shards that replace lost ones.
        """
        workers, place = self.rows.workers, self.rows.place
        columns = [p.columns for p in points if isinstance(p.columns, ClusterColumns)]
        there = [
            (c.number, p.output, c.unscaled(p.coef)) for c, p in zip(columns, points, strict=True)
        ]
        changed = [*dict.fromkeys(c for c in columns if c.changes)]
        changes = [(c.number, c.n_known, c.changes) for c in changed]
        dead, self.dead[:] = list(self.dead), []
        for number in dead:
            workers.drop((place, number))
        news, answer = self.rows.ask("at", changes, dead, there, verb, *args)
        for some, change, told in zip(changed, changes, news, strict=True):
            workers.remember((place, some.number), ("ask", place, "at", [change], [], [], "look"))
            some.note(*told)
        if owner:
            question = ("ask", place, "at", [], [], there, verb, *args)
            workers.remember((place, *owner), question)
        return answer


class ClusterSubsample(Subsample):
    """Rows of all partitions, fetched once; later only residuals are.

    Rows equal in values and class are merged. All rows are in canonical order, a part of them in
    that of their hashes, as in memory.
    """

    def __init__(self, design: ClusterDesign, n: int, key: int) -> None:
        distances, parts, width = design.draw(n, key)
        data = merged(parts, keeps_written=True)
        assert data.positions is not None
        kept = np.arange(len(data.codes))
        hashes = np.empty(len(kept), dtype=np.uint64)
        hashes[data.positions] = distances
        if len(kept) > n:
            width = int(np.sort(hashes)[n])
        if width < _ROUND:
            kept = np.argsort(hashes, kind="stable")
            kept = kept[hashes[kept] < width]
        order = np.full(len(hashes), -1)
        order[kept] = np.arange(len(kept))
        places = order[data.positions]
        self._places = places[places >= 0]
        weights = np.concatenate([part.weights for part in parts])
        self.weights = np.asarray(np.bincount(data.positions, weights)[kept], np.float64)
        self._design, self._key, self._width = design, key, width
        self.rows = data.X[kept]

    def residuals(self, points: Sequence[Point]) -> tuple[Array, Array]:
        parts = self._design.at(points, "residuals", self._key, self._width)
        residuals = np.zeros((len(self.weights), len(points)))
        np.add.at(residuals, self._places, np.concatenate(parts))
        return residuals, (residuals != 0.0) * self.weights[:, None]


class ClusterCandidates(ScoredCandidates):
    """Candidates over rows on workers: one round for estimates, one for exact scores."""

    def __init__(self, design: ClusterDesign, atoms: Any, is_there: bool) -> None:
        self.atoms, self.is_screened = atoms, design.is_screened
        self._design, self._sent = design, None if is_there else atoms

    def estimates(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp], dtype: str
    ) -> Scores:
        found: Scores = self._design.at(points, "estimates", self._sent, divisor, left, dtype)
        return found

    def exact(self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        # Atoms are sent again: the partitions may no longer have the candidates.
        found: Scores = self._design.at(points, "exact", self.atoms[left], divisor)
        return found


class ClusterColumns(Columns):
    """Columns on workers; `classes` are the positive classes of the outputs."""

    def __init__(
        self,
        design: ClusterDesign,
        classes: tuple[int, ...],
        loss: Loss,
        capacity: int,
        has_constant: bool,
    ) -> None:
        self.loss, self.has_constant = loss, has_constant
        self.n_columns, self.n_outputs = int(has_constant), len(classes)
        self.total_weight, totals = design.total_weight, design.class_totals
        self.label_weights = np.array([[np.delete(totals, c).sum(), totals[c]] for c in classes])
        self._design, self.number = design, next(design.numbers)
        weakref.finalize(self, design.dead.append, self.number)
        #: Changes not yet sent to the workers: methods and their arguments.
        self.changes: list[tuple[Any, ...]] = [("make", classes, loss, capacity, has_constant)]
        # Factors, norms and first gradients; for the constant, one row per label represents all.
        slopes = (
            self.label_weights
            @ loss.gradient(np.array([-1.0, 1.0]), np.zeros(2))
            / self.total_weight
        )
        known = np.concatenate([[1.0, 1.0], slopes])[:, None]
        self._known: Array = known[:, : self.n_columns]

    @property
    def n_known(self) -> int:
        """The number of columns with known properties."""
        return int(self._known.shape[1])

    @property
    def factors(self) -> Array:
        return np.asarray(self._read()[0])

    @property
    def norms(self) -> Array:
        return np.asarray(self._read()[1])

    @property
    def first_gradients(self) -> Array:
        return self._read()[2:]

    def append(self, atoms: Any) -> None:
        self.n_columns += atoms.shape[0]
        if self.changes and self.changes[-1][0] == "append":
            atoms = stack_rows([self.changes.pop()[1], atoms])
        self.changes.append(("append", atoms))

    def drop(self, position: int) -> None:
        self._known = np.delete(self._read(), position, axis=1)
        self.changes.append(("drop", position))
        self.n_columns -= 1

    def _read(self) -> Array:
        """Return the properties of all columns, asking for those of new ones."""
        if self.n_known < self.n_columns:
            self.look([(0, np.zeros(self.n_columns))])
        return self._known

    def note(self, squares: Array, largest: list[Array], gradients: Array) -> None:
        """Store the properties of new columns."""
        norms = np.sqrt(squares)
        sizes = {"max": np.max(largest, axis=0), "norm": norms, "none": np.ones_like(norms)}
        size = sizes[self._design.dictionary.scaling]
        factors = 1.0 / np.where(size > 0.0, size, 1.0)
        known = np.vstack([factors, norms * factors, gradients * factors])
        self._known, self.changes = np.hstack([self._known, known]), []

    def unscaled(self, coef: Array) -> Array:
        """Return coefficients of the unscaled columns on the workers."""
        if coef[self.n_known :].any():
            self._read()
        # Coefficients of new columns are zero.
        unscaled = coef.copy()
        unscaled[: self.n_known] *= self._known[0]
        return unscaled

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        asked = [Point(self, output, coef) for output, coef in points]
        sums, factors = self._design.at(asked, "look", places), self._known[0]
        factors = factors if places is None else factors[places]
        return [
            Look(float(risk), gradient * factors, gram * (factors * factors[:, None]))
            for risk, gradient, gram in sums
        ]

    def triangle(self, output: int, coef: Array, is_lifted: bool) -> tuple[Array, Array]:
        points = [Point(self, output, coef)]
        triangles, straight = self._design.at(points, "triangle", is_lifted)
        R = np.asarray(np.linalg.qr(np.vstack(triangles), mode="r"))
        return R * np.append(self._known[0], 1.0), straight * self._known[0]


class ClusterLeafColumns(TreeColumns, ClusterColumns):
    """The leaves of trees on workers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sizes = []

    def append(self, atoms: Any) -> None:
        trees = self._design.dictionary
        assert isinstance(trees, TreeDictionary)
        for j in range(atoms.shape[0]):
            self.sizes.append(len(trees.leaf_values(atoms[j : j + 1])))
            self.n_columns += self.sizes[-1]
        self.changes.append(("append", atoms))

    def look(
        self, points: Sequence[tuple[int, Array]], places: Sequence[int] | None = None
    ) -> list[Look]:
        asked = [Point(self, output, coef) for output, coef in points]
        return [Look(*own) for own in self._design.at(asked, "look", places)]

    def product(self, output: int, coef: Array, direction: Array) -> Array:
        found: Array = self._design.at([Point(self, output, coef)], "product", direction)
        return found

    def terms(self, output: int, coef: Array) -> Array:
        found: Array = self._design.at([Point(self, output, coef)], "terms")
        return found
