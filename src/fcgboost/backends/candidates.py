"""Candidates over data in one memory: estimates tell which of them are worth an exact score."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.backends.base import TIE, Array, Best, Candidates, Divisor, Sums
from fcgboost.backends.blocks import row_blocks
from fcgboost.backends.places import Place
from fcgboost.backends.screening import StandIn
from fcgboost.backends.values import Estimate, FreshValues, StoredValues, Values
from fcgboost.dictionaries import ScreenedDictionary

if TYPE_CHECKING:
    from fcgboost.backends.memory import MemoryDesign

# Scores this much below the best are not: more than TIE, less than what the bounds leave open.
_NEARLY = 1e-9
# An atom whose size is this much below the largest one is rounding, and scores 0. (A hinge through
# the extreme row of the data is such an atom.)
_VANISHING = 1e-10
# Exact scores are added up over blocks of so many rows, in order.
_ROWS = 4096
#: More doubtful candidates than these, and single precision was too coarse.
MANY = 32
# Where looking means waiting: so many candidates are scored exactly before anyone looks.
_SHORTLIST = 16
# So few are evaluated each as if it were alone.
_FEW = 8
# Values of atoms that are evaluated together are as good as exact up to this relative error.
_AS_GOOD = 1e-11
# A stand-in takes as long to make as some fifty passes over the values: after this many, a path
# that ends right then has lost a fifth of its time. Fewer values than these stay in the cache,
# where a pass takes less time than the stand-in's own work.
_PASSES_BEFORE_STAND_IN = 256
_STAND_IN_ENTRIES = 1 << 21


class MemoryCandidates(Candidates):
    """Candidates whose values are stored, or evaluated again in blocks at each pass."""

    def __init__(self, design: MemoryDesign, atoms: Any, is_stored: bool) -> None:
        self.atoms = atoms
        self._design = design
        self._is_stored = is_stored and atoms.shape[0] > 0
        self._stand_in: StandIn | None = None
        self._n_passes = 0
        #: Exact sizes of atoms that were looked at closely.
        self._known_sizes: dict[tuple[int, Divisor], float] = {}
        if self._is_stored:
            self._values  # noqa: B018 - evaluated now, not in the first step

    @cached_property
    def _values(self) -> Values:
        kind = StoredValues if self._is_stored else FreshValues
        with np.errstate(all="ignore"):
            return kind(self._design, self.atoms, self._design.is_screened)

    def forget_values(self) -> None:
        """Return memory back; values are evaluated again when they are needed."""
        vars(self).pop("_values", None)

    def best(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> list[Best | None]:
        """Estimate all scores, and look closely at those that can be the best."""
        if len(allowed) == 0:
            return [None] * R.shape[1]
        # Numbers that float32 does not hold end in bounds that say nothing.
        with np.errstate(all="ignore"):
            if self._design.place.is_ahead:
                return self._best_ahead(R, divisor, allowed)
            return self._best_here(R, divisor, allowed)

    def best_joint(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> Best | None:
        """Estimate all scores in one pass, and look closely at those that can be the best."""
        place = self._design.place
        if not allowed.any():
            return None
        with np.errstate(all="ignore"):
            estimate = self._values.estimate(R, divisor, None)
            low, high = place.fetch(*self._interval(estimate))
            largest = 0.0 if estimate.sizes is None else estimate.sizes[0].max()
            doubtful = contenders(joint(low), joint(high), allowed)
            self._design.forget_columns()
            exact = self._scores_ahead if place.is_ahead else self._scores_here
            scores = [exact(doubtful, R[:, c], divisor, largest) for c in range(R.shape[1])]
        return first_of_best(doubtful, joint(np.column_stack(scores)))

    def sums(self, R: Any) -> Sums:
        """Add up over the rows in order; the columns are kept for whoever enters."""
        design, xp, n = self._design, self._design.place.xp, self.atoms.shape[0]
        design.forget_columns()
        weights = xp.where(R != 0.0, design.weights[:, None], 0.0)
        parts: list[Any] = [weights.sum(0)]
        for j in range(n):
            values = design.column(self.atoms[j : j + 1])
            parts += [values @ R, values @ weights, (values * values) @ weights]
        active, *rest = design.place.fetch(*parts)
        empty = np.zeros((0, R.shape[1]))
        dots, firsts, squares = (np.stack(rest[i::3]) if n else empty for i in range(3))
        return Sums(dots, firsts, squares, active)

    def _best_here(
        self, R: Array, divisor: Divisor, allowed: NDArray[np.bool_]
    ) -> list[Best | None]:
        estimate = self._estimate(R, divisor, allowed)
        low, high = self._interval(estimate)
        self._design.forget_columns()
        largest = 0.0 if estimate.sizes is None else float(estimate.sizes[0].max(initial=0.0))
        found: list[Best | None] = []
        for c in range(R.shape[1]):
            doubtful = contenders(low[:, c], high[:, c], allowed[:, c])
            residual = np.ascontiguousarray(R[:, c])
            if len(doubtful) > MANY:
                doubtful = self._second_look(doubtful, residual, divisor, largest)
            scores = self._scores_here(doubtful, residual, divisor, largest)
            found.append(first_of_best(doubtful, scores))
        return found

    def _best_ahead(
        self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]
    ) -> list[Best | None]:
        """Score a shortlist exactly where the rows are, and look once, at the winners.

        If it turns out that somebody outside the shortlist can win, everything is done again: with
        all rows, and with whoever can win.
        """
        design = self._design
        if not self._is_batch_exact:
            return self._best_after_all(R, divisor, allowed)
        # First of all: what comes from the host waits for all that was asked before it.
        is_allowed = design.place.put(allowed, "bool")
        estimate = self._values.estimate(R, divisor, design.room)
        high = design.place.xp.where(is_allowed, estimate.highest(design.place), -1.0)
        outputs = range(R.shape[1])
        winners = [self._shortlisted(R[:, c], high[:, c], divisor, estimate) for c in outputs]
        # What is known already need not be fetched.
        valid = [] if estimate.is_valid is True else [estimate.is_valid]
        design.use_the_wait()
        count, *found = design.place.fetch(estimate.n_rows, *winners, *valid)
        design.note_active(int(count))
        found, valid = found[: len(winners)], found[len(winners) :]
        if all(valid) and all(is_sure for _, _, is_sure in found):
            return [
                Best(int(j), float(score)) if allowed[:, c].any() else None
                for c, (j, score, _) in enumerate(found)
            ]
        return self._best_after_all(R, divisor, allowed)

    def _shortlisted(self, r: Any, high: Any, divisor: Divisor, estimate: Estimate) -> Any:
        """Return the winner of those that can score highest, its score, and whether it is sure."""
        xp, n = self._design.place.xp, len(high)
        top = xp.topk(high, min(n, _SHORTLIST + 1))
        others = top.values[_SHORTLIST] if n > _SHORTLIST else -xp.ones_like(high[0])
        list_, _ = xp.sort(top.indices[:_SHORTLIST])
        largest = 0.0 if estimate.sizes is None else estimate.sizes[0].max()
        scores = xp.where(high[list_] >= 0.0, self._exact_scores(list_, r, divisor, largest), -1.0)
        best = scores.max()
        is_best = scores >= (1.0 - TIE) * best
        # Not by indexing: a tensor as an index is looked at, and that means waiting.
        first = xp.argmax(is_best.to(xp.int8))
        index, score = xp.take(list_, first), xp.take(scores, first)
        is_sure = others < (1.0 - 2.0 * _NEARLY) * best
        return xp.stack([index.to(best.dtype), score, is_sure.to(best.dtype)])

    def _exact_scores(self, list_: Any, r: Any, divisor: Divisor, largest: Any) -> Any:
        """Score atoms in float64, all rows at once."""
        design, xp = self._design, self._design.place.xp
        atoms = self._atoms_ahead[list_]
        dots, squares, sizes = 0.0, 0.0, xp.zeros_like(atoms[:, 0])
        for rows in row_blocks(design.n_rows, max(_ROWS, design.place.block_entries // 32)):
            values = design.dictionary.evaluate(design.inputs[rows], atoms, design.units)
            dots = dots + values.T @ r[rows]
            if divisor == "max":
                sizes = xp.maximum(sizes, xp.amax(xp.abs(values), axis=0))
            elif divisor == "norm":
                squares = squares + design.weights[rows] @ values**2
        if divisor == "none":
            return xp.abs(dots)
        sizes = xp.sqrt(squares / design.total_weight) if divisor == "norm" else sizes
        is_there = sizes > _VANISHING * xp.clip(sizes.max(), largest, None)
        return xp.where(is_there, xp.abs(dots) / xp.where(is_there, sizes, 1.0), 0.0)

    @cached_property
    def _is_batch_exact(self) -> bool:
        """Whether atoms that are evaluated together have the values that each has alone.

        Narrow Gauss atoms far from each other have not: there a common origin costs digits.
        """
        design, dictionary = self._design, self._design.dictionary
        if not isinstance(dictionary, ScreenedDictionary):
            return True
        moved = dictionary.moved(self.atoms, design.center, design.scale)
        return bool(dictionary.rounding(moved, 2.0**-53).relative.max(initial=0.0) <= _AS_GOOD)

    @cached_property
    def _atoms_ahead(self) -> Any:
        return self._design.place.put(self.atoms)

    def _best_after_all(
        self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]
    ) -> list[Best | None]:
        """Look at the bounds of all candidates, and score exactly whoever can win."""
        place, found = self._design.place, []
        estimate = self._values.estimate(R, divisor, None)
        low, high = place.fetch(*self._interval(estimate))
        largest = 0.0 if estimate.sizes is None else estimate.sizes[0].max()
        for c in range(R.shape[1]):
            doubtful = contenders(low[:, c], high[:, c], allowed[:, c])
            if len(doubtful) > MANY:
                doubtful = self._second_look(doubtful, R[:, c], divisor, largest)
            scores = self._scores_ahead(doubtful, R[:, c], divisor, largest)
            found.append(first_of_best(doubtful, scores))
        return found

    def _scores_ahead(
        self, doubtful: NDArray[np.intp], residual: Any, divisor: Divisor, largest: Any
    ) -> Array:
        """Score a few candidates at a time where the rows are."""
        place = self._design.place
        parts = [
            self._exact_scores(place.put(doubtful[rows], "int64"), residual, divisor, largest)
            for rows in row_blocks(len(doubtful), _FEW)
        ]
        return np.concatenate(place.fetch(*parts)) if parts else np.zeros(0)

    def _estimate(self, R: Array, divisor: Divisor, allowed: NDArray[np.bool_]) -> Estimate:
        """Ask the stand-in where there is one that can tell; else make a pass."""
        stand_in = self._look_for_stand_in()
        if stand_in is not None:
            estimate = stand_in.estimate(R, divisor)
            if estimate is not None and self._is_decided(stand_in, estimate, allowed):
                return estimate
        estimate = self._values.estimate(R, divisor, None)
        if stand_in is not None:
            stand_in.anchor(R, estimate)
        return estimate

    def _look_for_stand_in(self) -> StandIn | None:
        """Return the stand-in once enough passes came, unless it does not pay."""
        self._n_passes += 1
        values = self._values
        if self._n_passes == _PASSES_BEFORE_STAND_IN and isinstance(values, StoredValues):
            # A copy of the values is the largest stand-in.
            is_room = 2 * values.G.nbytes <= self._design.memory_budget
            if is_room and values.G.size >= _STAND_IN_ENTRIES:
                self._stand_in = StandIn(values)
        if self._stand_in is not None and not self._stand_in.is_worth_it:
            self._stand_in = None
        return self._stand_in

    def _is_decided(
        self, stand_in: StandIn, estimate: Estimate, allowed: NDArray[np.bool_]
    ) -> bool:
        """Whether a stand-in leaves so few in doubt that looking at them is cheaper than a pass."""
        low, high = self._interval(estimate)
        outputs = range(allowed.shape[1])
        counts = [len(contenders(low[:, c], high[:, c], allowed[:, c])) for c in outputs]
        is_decided = max(counts) <= max(MANY, len(allowed) // 256)
        stand_in.note(is_decided)
        return is_decided

    def _interval(self, estimate: Estimate, largest: Any = 0.0) -> tuple[Any, Any]:
        """Return the bounds of scores; 0 is the least of one that may be rounding."""
        return lowered(estimate, self._design.place, largest)

    def _second_look(
        self, doubtful: NDArray[np.intp], residual: Any, divisor: Divisor, largest: Any
    ) -> NDArray[np.intp]:
        """Leave fewer in doubt, by float64 values of them alone."""
        values = FreshValues(self._design, self.atoms[doubtful], single=False)
        estimate = values.estimate(residual[:, None], divisor, None)
        low, high = self._design.place.fetch(*self._interval(estimate, largest))
        everyone = np.ones(len(doubtful), dtype=bool)
        return doubtful[contenders(low[:, 0], high[:, 0], everyone)]

    def _scores_here(
        self, doubtful: NDArray[np.intp], residual: Array, divisor: Divisor, largest: float
    ) -> Array:
        """Score candidates one by one, in float64."""
        residual = np.ascontiguousarray(residual)
        scores = np.abs(self.dots_of(doubtful, residual))
        if divisor != "none":
            sizes = np.array([self._size(int(j), divisor) for j in doubtful])
            where = is_there(sizes, largest)
            scores = np.divide(scores, sizes, out=np.zeros_like(scores), where=where)
        return scores

    def dots_of(self, some: NDArray[np.intp], residual: Array) -> Array:
        """Return the inner products of some candidates over the rows that have a residual."""
        design, rows = self._design, np.flatnonzero(residual != 0.0)
        if 2 * len(rows) < len(residual):
            # Elsewhere the columns are not looked at, unless an atom wins.
            inputs, residual = design.inputs[rows], residual[rows]
            return np.array([self._dot(int(j), inputs, residual) for j in some])
        columns = [design.column(self.atoms[j : j + 1]) for j in some]
        return np.array([_dot(column, residual) for column in columns])

    def _dot(self, j: int, inputs: Any, residual: Array) -> float:
        """Return the inner product of an atom at some inputs with their residual."""
        design, atom = self._design, self.atoms[j : j + 1]
        blocks = row_blocks(len(residual), _ROWS)
        parts = [design.dictionary.evaluate(inputs[b], atom, design.scale) for b in blocks]
        return _dot(np.concatenate(parts)[:, 0], residual) if parts else 0.0

    def _size(self, j: int, divisor: Divisor) -> float:
        """Return the exact size of an atom."""
        if (j, divisor) not in self._known_sizes:
            design = self._design
            values = design.column(self.atoms[j : j + 1])
            if divisor == "max":
                size = float(np.abs(values).max())
            else:
                size = float(np.sqrt(design.weights @ values**2 / design.total_weight))
            self._known_sizes[j, divisor] = size
        return self._known_sizes[j, divisor]


def _dot(values: Array, residual: Array) -> float:
    """Add up blocks of rows in order: the sum depends on the values and the residual alone."""
    blocks = row_blocks(len(residual), _ROWS)
    return float(sum(values[rows] @ residual[rows] for rows in blocks))


def lowered(estimate: Estimate, place: Place, largest: Any = 0.0) -> tuple[Any, Any]:
    """Return the bounds of scores; 0 is the least of one that may be rounding."""
    low, high = estimate.interval(place)
    if estimate.sizes is None:
        return low, high
    xp, (sizes, bounds) = place.xp, estimate.sizes
    # Twice, because the largest size is an estimate too.
    vanishing = 2.0 * _VANISHING * xp.clip(sizes.max(), largest, None)
    return xp.where((sizes - bounds > vanishing)[:, None], low, 0.0), high


def is_there(sizes: Array, largest: float) -> NDArray[np.bool_]:
    """Whether atoms of exact sizes are more than rounding."""
    return np.asarray(sizes > _VANISHING * max(largest, sizes.max(initial=0.0)))


def contenders(low: Array, high: Array, allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Find the candidates that can be the best allowed one, or close to it.

    Parameters
    ----------
    low, high : ndarray of shape (n_candidates,)
        What every score is at least and at most.
    allowed : ndarray of bool, of the same shape
    """
    surely = np.where(allowed, low, 0.0).max(initial=0.0)
    return np.flatnonzero(allowed & ~(high < (1.0 - 2.0 * _NEARLY) * surely))


def joint(scores: Array) -> Array:
    """Return the root of the sum of squares over the outputs, one number per candidate."""
    return np.asarray(np.sqrt((scores**2).sum(axis=1)))


def first_of_best(doubtful: NDArray[np.intp], scores: Array) -> Best | None:
    """Return the first candidate whose score is the largest one, up to TIE."""
    if len(scores) == 0:
        return None
    place = int(np.argmax(scores >= (1.0 - TIE) * scores.max()))
    return Best(int(doubtful[place]), float(scores[place]))
