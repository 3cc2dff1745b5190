"""The best of many atoms: single precision screens, double precision decides.

A score is a sum over rows of a residual times an atom's value. In float32 it costs half as much,
and with u the unit roundoff of float32 its error is at most about

    (BLOCK + d + 16) u sum |r| size,

where size bounds the numbers that go into a value (`ScreenedDictionary.rounding`): a value takes
about d products and sums, and rows are added up in float32 within blocks of BLOCK, in float64
between them. Atoms within this error of the best are scored again in float64: together if there are
many, and finally each alone, as its column will be.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.designs.base import TIE, Array, Best, Candidates, Divisor, Point
from fcgboost.designs.blocks import BLOCK, row_blocks
from fcgboost.designs.views import View

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign

# Scores without error bounds count as exact up to this share of the best: evaluating atoms together
# or alone changes them far less.
_UNKNOWN = 1e-9
# An atom smaller than this share of the largest is rounding and scores 0, such as a ramp with its
# kink at the extreme row.
_VANISHING = 1e-10
# If more candidates remain, single precision was too coarse.
_MANY = 32
# Reading a stored value takes as long as evaluating an atom of this many inputs.
_FEW_INPUTS = 16
# Smaller numbers may underflow in single precision.
_TINY = 1e-30


@dataclass(frozen=True)
class Scores:
    """Sums that determine the scores of candidates; those of parts of the rows add up.

    Attributes
    ----------
    dots : ndarray of shape (n_candidates, n_points)
        Inner products with the residuals.
    slack : ndarray of shape (n_candidates, n_points) or float
        Bounds on their errors.
    divisor : {"none", "max", "norm"}
    extents : ndarray of shape (n_candidates,) or float
        The largest absolute values or the mean squares; 1 if atoms are not divided.
    roundoff : ndarray of shape (n_candidates,) or float
        Bounds on the errors of the divisors.
    """

    dots: Array
    slack: Any = 0.0
    divisor: Divisor = "none"
    extents: Any = 1.0
    roundoff: Any = 0.0

    def __add__(self, other: Scores) -> Scores:
        join = np.add if self.divisor == "norm" else np.maximum
        return Scores(
            self.dots + other.dots,
            self.slack + other.slack,
            self.divisor,
            join(self.extents, other.extents),
            np.maximum(self.roundoff, other.roundoff),
        )

    @property
    def _sizes(self) -> Array:
        """The divisors of the inner products, of shape (n_candidates or 1, 1)."""
        return np.reshape(
            np.sqrt(self.extents) if self.divisor == "norm" else self.extents, (-1, 1)
        )

    def interval(self, largest: float = 0.0) -> tuple[Array, Array, float]:
        """Return lower and upper bounds on the scores, and the largest size of an atom so far."""
        dots = np.abs(self.dots)
        if self.divisor == "none":
            return dots - self.slack, dots + self.slack, largest
        sizes, roundoff = self._sizes, np.reshape(self.roundoff, (-1, 1))
        largest = max(largest, float(sizes.max()))
        # An atom that may vanish can have any score.
        is_there = sizes - roundoff > 2.0 * _VANISHING * largest
        is_known = is_there & np.isfinite(dots + self.slack)
        low = np.maximum(dots - self.slack, 0.0) / np.maximum(sizes + roundoff, _TINY)
        high = (dots + self.slack) / np.where(is_there, sizes - roundoff, 1.0)
        return np.where(is_known, low, 0.0), np.where(is_known, high, np.inf), largest

    def exact(self, largest: float) -> Array:
        """Return exact scores; `largest` is the largest size of an atom so far."""
        sizes = self._sizes
        is_there = sizes > _VANISHING * max(largest, float(sizes.max()))
        return np.where(is_there, np.abs(self.dots) / np.where(is_there, sizes, 1.0), 0.0)


class Contest:
    """The candidates that can still be the best.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_candidates, n_points)
    is_divided : bool
        Whether sizes matter: then all candidates are scored, because atoms vanish relative to the
        largest one.
    """

    def __init__(self, allowed: NDArray[np.bool_], is_divided: bool) -> None:
        #: Their indices.
        self.left = np.flatnonzero(allowed.any(axis=1) | is_divided)
        self._allowed = allowed[self.left]
        self._largest = 0.0

    @property
    def is_open(self) -> bool:
        return bool(self._allowed.any())

    def narrow(self, scores: Scores) -> None:
        """Drop candidates that cannot be the best, given scores of those left."""
        low, high, self._largest = scores.interval(self._largest)
        # Infinite bounds exclude nobody.
        low = np.where(self._allowed & np.isfinite(high), low, 0.0)
        enough = (1.0 - 2.0 * _UNKNOWN) * low.max(axis=0, initial=0.0)
        is_able = self._allowed & ~(high < enough)
        kept = is_able.any(axis=1)
        self.left, self._allowed = self.left[kept], is_able[kept]

    def winners(self, scores: Scores) -> list[Best | None]:
        """Return the first of the best for each point, given exact scores of those left."""
        exact = np.where(self._allowed, scores.exact(self._largest), -1.0)
        return [self._first(column) for column in exact.T]

    def _first(self, scores: Array) -> Best | None:
        best = scores.max(initial=-1.0)
        if best < 0.0:
            return None
        place = int(np.argmax(scores >= (1.0 - TIE) * best))
        return Best(int(self.left[place]), float(scores[place]))


class ScoredCandidates(Candidates):
    """Candidates narrowed down by estimates and decided by exact scores."""

    #: Whether there are float32 estimates.
    is_screened: bool

    @abstractmethod
    def estimates(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp], dtype: str
    ) -> Scores:
        """Return estimated scores of some candidates, with error bounds."""

    @abstractmethod
    def exact(self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        """Return scores of some candidates, each evaluated alone, as its column will be."""

    # Overflow in float32 gives infinite bounds.
    @np.errstate(all="ignore")
    def best(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        allowed: NDArray[np.bool_],
    ) -> list[Best | None]:
        """Estimate all scores, in float64 if float32 leaves many, then score a few exactly."""
        contest = Contest(allowed, divisor != "none")
        if not contest.is_open:
            return [None] * len(points)
        for dtype in ("float32", "float64") if self.is_screened else ("float64",):
            contest.narrow(self.estimates(points, divisor, contest.left, dtype))
            if len(contest.left) <= _MANY:
                break
        return contest.winners(self.exact(points, divisor, contest.left))


class MemoryCandidates(ScoredCandidates):
    """Candidates whose values are stored, or evaluated in blocks in each pass."""

    def __init__(self, design: MemoryDesign, atoms: Any, is_stored: bool) -> None:
        self.atoms, self.is_screened, self._design = atoms, design.is_screened, design
        self._dtype = "float32" if design.is_screened else "float64"
        self._stored: Any = None
        #: The divisors of stored atoms.
        self._extents: dict[Divisor, Any] = {}
        self._errors: dict[str, Array | None] = {}
        #: All candidates in the coordinates of the rows, by precision.
        self._placed: dict[str, Any] = {}
        if is_stored and atoms.shape[0]:
            view = design.view(self._dtype)
            placed, device = view.placed(atoms), view.device
            stored = self._stored = device.empty(design.n_rows, atoms.shape[0], self._dtype)

            def fill(rows: slice) -> None:
                stored[rows] = view.evaluate(rows, placed)

            with np.errstate(all="ignore"):
                design.each(fill, row_blocks(design.n_rows, device.block_entries // atoms.shape[0]))

    def exact(self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        return self._design.exact(points, self.atoms[left], divisor)

    @np.errstate(all="ignore")
    def estimates(
        self, points: Sequence[Point], divisor: Divisor, left: NDArray[np.intp], dtype: str
    ) -> Scores:
        design, device = self._design, self._design.device
        R, view = design.residuals(points), design.view(dtype)
        unit = device.xp.clip(device.xp.amax(device.xp.abs(R)), _TINY, None)
        W = view.device.put(R / unit, dtype)
        n_atoms, is_stored = self.atoms.shape[0], self._stored is not None and dtype == self._dtype
        if is_stored:
            found = self._sums(view, W, "none" if divisor in self._extents else divisor)
            if divisor != "none":
                found = [found[0], self._extents.setdefault(divisor, found[-1])]
        elif 2 * len(left) < n_atoms:
            found = self._sums(view, W, divisor, view.placed(self.atoms[left]))
        else:
            if dtype not in self._placed:
                self._placed[dtype] = view.placed(self.atoms)
            found = self._sums(view, W, divisor, self._placed[dtype])
        if found[0].shape[0] > len(left):
            places = view.device.put(left, "int64")
            found = [array[places] for array in found]
        sums, *extents = (device.put(array) for array in found)
        waiting = sums * unit, device.xp.abs(R).sum(0), *extents
        if dtype not in self._errors:  # computed while a device adds up
            self._errors[dtype] = design.rounding(self.atoms, dtype)
        errors = self._errors[dtype]
        dots, masses, *extents = device.fetch(*waiting)
        if errors is None:
            slack = np.full_like(dots, _UNKNOWN * np.abs(dots).max(initial=0.0))
        else:
            slack = errors[left, None] * masses + _TINY
        if divisor == "none":
            return Scores(dots, slack)
        return Scores(dots, slack, divisor, extents[0], 0.0 if errors is None else errors[left])

    def _sums(self, view: View, W: Any, divisor: Divisor, placed: Any = None) -> list[Any]:
        """Return products of the values of atoms, or of stored ones, and extents if divided."""
        device = view.device
        if placed is None:
            blocks = [slice(0, self._stored.shape[1])]
            size = 8 * device.block_entries // blocks[0].stop
        else:
            is_fused = divisor == "none" and view.is_fused(placed.shape[0])
            if is_fused or (divisor == "none" and not device.is_torch):
                view, W = view.with_residuals(W)
            if is_fused:
                return [view.fused_sums(placed, W)]
            blocks = row_blocks(placed.shape[0], view.at_once)
            n_inputs = 1 if sparse.issparse(view.inputs) else view.inputs.shape[1]
            size = device.block_entries // max(blocks[0].stop, n_inputs)
        parts = row_blocks(len(W), max(1, size // BLOCK) * BLOCK)
        shares = None if divisor == "none" else device.put(self._design.shares, view.dtype)[:, None]

        def work(piece: tuple[slice, slice]) -> tuple[Any, ...]:
            some, part = piece
            values = self._stored[part] if placed is None else view.evaluate(part, placed[some])
            sums = view.sums(values, W[part])
            return (
                (sums,) if shares is None else (sums, view.extents(values, shares[part], divisor))
            )

        found = self._design.each(work, [(some, part) for some in blocks for part in parts])
        # Blocks of rows are added up in order, whichever thread finished first.
        joins, n = (add, device.xp.maximum if divisor == "max" else add), len(parts)
        return [
            device.xp.concatenate([reduce(join, terms[i : i + n]) for i in range(0, len(terms), n)])
            for join, terms in zip(joins, zip(*found, strict=True), strict=False)
        ]


def is_worth_storing(
    design: MemoryDesign, n_atoms: int, reuse: bool, store: bool | Literal["auto"]
) -> bool:
    """Return whether to store the values of candidates."""
    if store is False:
        return False
    n_values, budget = design.n_rows * n_atoms, design.memory_budget
    n_bytes = (4 if design.is_screened else 8) * n_values
    if store is True and n_bytes > budget:
        raise MemoryError(
            f"store=True needs {n_bytes} bytes for {design.n_rows} rows x {n_atoms} candidates, "
            f"but the budget is {budget} bytes. Use store='auto' or False (evaluated in blocks), "
            "selection='sampled', fewer n_candidates, or raise "
            "sklearn.set_config(working_memory=...) (MiB)."
        )
    # A GPU evaluates atoms of few inputs faster than it reads stored values.
    is_quick = design.is_screened and design.inputs.shape[1] <= _FEW_INPUTS
    is_faster = is_quick and design.view("float32").is_fused(n_atoms)
    return store is True or (reuse and n_bytes <= budget and not is_faster)
