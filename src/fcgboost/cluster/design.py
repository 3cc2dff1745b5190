"""The design whose rows lie on workers: every verb is one round, `Candidates.best` two.

New columns wait for the next round, and their sizes come back with it. Columns lie on the workers
unscaled, because their sizes are known only when all partitions have answered; what comes back is
scaled here.
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

# Up to so many rows are counted; of more the number is estimated.
_COUNTED = 1 << 14
# The circle of hashes.
_ROUND = 2**64
# Whose memory growing trees are.
_TREES = -2


def merged(parts: Sequence[DataSet], keeps_written: bool = False) -> DataSet:
    """Return the rows of several partitions; those equal in values and class are one row."""
    codes = np.concatenate([part.codes for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    words = np.concatenate([part.words for part in parts])
    rows = stack_rows([part.X for part in parts])
    return DataSet(rows, codes, weights, words).canonical(keeps_written)


def count_distinct(rows: Rows, by_class: bool = False) -> int:
    """Return the number of distinct rows, maybe with their class; of many an estimate."""
    width = _ROUND * _COUNTED // max(_COUNTED, rows.n_rows)
    words = np.concatenate(rows.ask("words_below", width, by_class))
    return len(np.unique(words)) * _ROUND // width


def first_rows(rows: Rows, n: int) -> tuple[DataSet, bool]:
    """Return n rows or more, the first in canonical order, and whether they are all."""
    width = _ROUND * min(rows.n_rows, n + 8 * int(n**0.5)) // rows.n_rows
    while True:
        data = merged(rows.ask("first_rows", width))
        # Rows of several partitions that are equal are one: there may be fewer than thought.
        if width == _ROUND or len(data.codes) >= n:
            return data, width == _ROUND
        width = min(_ROUND, 4 * width)


class ClusterDesign(Design):
    """A dictionary that workers have laid over their rows.

    `class_totals` are the weights of the classes.
    """

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
        #: The numbers by which workers know columns, and those of columns that nobody has any more.
        self.numbers, self.dead = count(), list[int]()
        #: Of trees that have just grown, the leaves that nodes belong to.
        self._grown: tuple[Any, ...] = ()

    @cached
    def n_distinct(self) -> int:
        return count_distinct(self.rows)

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        distances, parts, _ = self.draw(n, key, turn)
        first = np.unique(distances, return_index=True)[1][:n]
        return self.frame.sample(stack_rows([part.X for part in parts])[first])

    def draw(self, n: int, key: int, turn: int = 0) -> tuple[hashing.Words, list[DataSet], int]:
        """Return how far on rows of a stretch of the circle with n distinct ones are, and all."""
        # Hashes are evenly spread: with hardly an exception this is wide enough.
        width = int((n + 4.0 * np.sqrt(n) + 8.0) / self.rows.n_rows * _ROUND)
        while True:
            distances, parts = self.rows.ask("draw", key, turn, width)
            distances = np.concatenate(distances)
            if width >= _ROUND or len(np.unique(distances)) >= n:
                return distances, parts, width
            width *= 4

    def subsample(self, n: int, key: int) -> ClusterSubsample:
        """Bring the rows with the smallest hashes here, once."""
        return ClusterSubsample(self, n, key)

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> ClusterCandidates:
        """Send atoms that will be scored again; others go with the question."""
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
        """What rows are binned by, as in memory, what trees may be, whether rows are thinned."""
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
        """Grow trees over all rows, in a round for every level, and two before."""
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
        """Return an empty set of columns; targets are the codes of positive classes."""
        kind = ClusterLeafColumns if self.dictionary.corrects_leaves else ClusterColumns
        return kind(self, tuple(targets), loss, capacity, has_constant)

    def at(
        self, points: Sequence[Point], verb: str, *args: Any, owner: tuple[int, ...] = ()
    ) -> Any:
        """Ask a question at points, in one round; what columns wait for comes along.

        What has an owner is said again to shards that take the place of others.
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
    """Rows of all partitions: they came once, and only residuals come again.

    Rows of several partitions that are equal in values and class are one row. All rows together
    are in canonical order, fewer in that of their hashes, as in memory.
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
    """Candidates over rows on workers: one round for estimates, one for whoever can win."""

    def __init__(self, design: ClusterDesign, atoms: Any, is_there: bool) -> None:
        self.atoms, self.is_screened = atoms, design.is_screened
        self._design, self._sent = design, None if is_there else atoms

    def estimates(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp], dtype: str
    ) -> Scores:
        found: Scores = self._design.at(points, "estimates", self._sent, divisor, left, dtype)
        return found

    def exact(self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        """Add up over the partitions, which may not have the candidates any more."""
        found: Scores = self._design.at(points, "exact", self.atoms[left], divisor)
        return found


class ClusterColumns(Columns):
    """Columns on workers; classes are the positive ones of the outputs."""

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
        #: What the workers do not know yet: methods and their arguments.
        self.changes: list[tuple[Any, ...]] = [("make", classes, loss, capacity, has_constant)]
        # Factors, norms and first gradients; two rows stand for all where the constant is alone.
        slopes = (
            self.label_weights
            @ loss.gradient(np.array([-1.0, 1.0]), np.zeros(2))
            / self.total_weight
        )
        known = np.concatenate([[1.0, 1.0], slopes])[:, None]
        self._known: Array = known[:, : self.n_columns]

    @property
    def n_known(self) -> int:
        """The number of columns of which the workers have told."""
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
        """Add columns, with the next round; those that wait are evaluated together."""
        self.n_columns += atoms.shape[0]
        if self.changes and self.changes[-1][0] == "append":
            atoms = stack_rows([self.changes.pop()[1], atoms])
        self.changes.append(("append", atoms))

    def drop(self, position: int) -> None:
        """Take a column out, with the next round."""
        self._known = np.delete(self._read(), position, axis=1)
        self.changes.append(("drop", position))
        self.n_columns -= 1

    def _read(self) -> Array:
        """Return what is known of all columns; of new ones it has to be asked."""
        if self.n_known < self.n_columns:
            self.look([(0, np.zeros(self.n_columns))])
        return self._known

    def note(self, squares: Array, largest: list[Array], gradients: Array) -> None:
        """Take down what the partitions, which know all now, say of new columns."""
        norms = np.sqrt(squares)
        sizes = {"max": np.max(largest, axis=0), "norm": norms, "none": np.ones_like(norms)}
        size = sizes[self._design.dictionary.scaling]
        factors = 1.0 / np.where(size > 0.0, size, 1.0)
        known = np.vstack([factors, norms * factors, gradients * factors])
        self._known, self.changes = np.hstack([self._known, known]), []

    def unscaled(self, coef: Array) -> Array:
        """Return coefficients of the columns as the workers have them."""
        if coef[self.n_known :].any():
            self._read()
        # Coefficients of new columns are zero, whatever the scale.
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
        """Return the triangle of the partitions' triangles."""
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
        """Add the leaves of trees, with the next round."""
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
