"""Which of many atoms is best: single precision screens, double precision decides.

A score is a sum over rows of a residual times an atom's value. In float32 it costs half as much,
and with u the unit roundoff of float32 it is off by at most about

    (BLOCK + d + 16) u sum |r| size,

size being that of the numbers that go into a value (`ScreenedDictionary.rounding`): a value takes
some d products and sums, and rows are added up in float32 within blocks of BLOCK, in float64
between them. Whoever is within that of the best is scored again: in float64, all of them together,
if there are many, and in the end each alone, as its column will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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

# Values of which nothing is known are taken as exact up to this share of the best score: what atoms
# evaluated together and alone differ by is far less.
_UNKNOWN = 1e-9
# An atom whose size is this much below the largest one is rounding, and scores 0. (A hinge through
# the extreme row of the data is such an atom.)
_VANISHING = 1e-10
#: More doubtful candidates than these, and single precision was too coarse.
MANY = 32
# Rows with a residual are gathered up to this share of all.
_WORTH_GATHERING = 0.8
# Single precision may lose smaller numbers altogether.
_TINY = 1e-30


@dataclass(frozen=True)
class Scores:
    """Sums over rows that scores of candidates are made of; those of parts of the rows add up.

    Attributes
    ----------
    dots, slack : ndarray of shape (n_candidates, n_points)
        Inner products with the residuals, and how far they may be off.
    divisor : {"none", "max", "norm"}
    extents : ndarray of shape (n_candidates,), or None
        The largest absolute values, or the mean squares; None where atoms are not divided.
    roundoff : ndarray of shape (n_candidates,) or float
        How far a value may be off.
    """

    dots: Array
    slack: Array
    divisor: Divisor = "none"
    extents: Array | None = None
    roundoff: Any = 0.0

    def __add__(self, other: Scores) -> Scores:
        extents = self.extents
        if extents is not None and other.extents is not None:
            join = np.maximum if self.divisor == "max" else np.add
            extents = join(extents, other.extents)
        dots, slack = self.dots + other.dots, self.slack + other.slack
        roundoff = np.maximum(self.roundoff, other.roundoff)
        return Scores(dots, slack, self.divisor, extents, roundoff)

    def interval(self, largest: float = 0.0) -> tuple[Array, Array, float]:
        """Return what scores are at least and at most, and the largest size of an atom.

        Parameters
        ----------
        largest : float, default=0.0
            The largest size of an atom that is known otherwise.
        """
        dots = np.abs(self.dots)
        is_known = np.isfinite(dots + self.slack)
        low = np.where(is_known, np.maximum(dots - self.slack, 0.0), 0.0)
        high = np.where(is_known, dots + self.slack, np.inf)
        if self.extents is None:
            return low, high, largest
        sizes = self.extents if self.divisor == "max" else np.sqrt(self.extents)
        largest = max(largest, float(sizes.max(initial=0.0)))
        # An atom that may vanish can have any score, or none: only a closer look can tell.
        surely = sizes - self.roundoff
        is_there = surely > 2.0 * _VANISHING * largest
        most, least = np.maximum(sizes + self.roundoff, _TINY), np.where(is_there, surely, 1.0)
        low = np.where(is_there[:, None], low / most[:, None], 0.0)
        high = np.where(is_there[:, None], high / least[:, None], np.inf)
        return low, high, largest

    def exact(self, largest: float) -> Array:
        """Return scores that nothing is off of; `largest` is the largest size of an atom."""
        dots = np.abs(self.dots)
        if self.extents is None:
            return dots
        sizes = self.extents if self.divisor == "max" else np.sqrt(self.extents)
        is_there = sizes > _VANISHING * max(largest, float(sizes.max(initial=0.0)))
        return np.where(is_there[:, None], dots / np.where(is_there, sizes, 1.0)[:, None], 0.0)


@dataclass
class Contest:
    """Who can still be the best of the candidates.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_candidates, n_points)
    is_joint : bool
        Whether one candidate is best for all points together.
    """

    allowed: NDArray[np.bool_]
    is_joint: bool
    #: The largest size of an atom, as far as it is known.
    largest: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._n_points = self.allowed.shape[1]
        if self.is_joint:
            self.allowed = np.asarray(self.allowed.all(axis=1, keepdims=True))
        #: The indices of those who can.
        self.left = np.flatnonzero(self.allowed.any(axis=1))

    def narrow(self, scores: Scores) -> None:
        """Leave out whoever surely is not the best, by scores of those who are left."""
        low, high, self.largest = scores.interval(self.largest)
        allowed = self.allowed[self.left]
        low, high = np.where(allowed, self._joined(low), 0.0), self._joined(high)
        is_able = allowed & ~(high < (1.0 - 2.0 * _UNKNOWN) * low.max(axis=0, initial=0.0))
        kept = is_able.any(axis=1)
        self.allowed = np.zeros_like(self.allowed)
        self.allowed[self.left[kept]] = is_able[kept]
        self.left = self.left[kept]

    def winners(self, scores: Scores) -> list[Best | None]:
        """Return the first of the best for every point, by exact scores of those who are left."""
        exact = np.where(self.allowed[self.left], self._joined(scores.exact(self.largest)), -1.0)
        found = [self._first(column) for column in exact.T]
        return found * self._n_points if self.is_joint else found

    def _joined(self, scores: Array) -> Array:
        return np.sqrt((scores**2).sum(axis=1, keepdims=True)) if self.is_joint else scores

    def _first(self, scores: Array) -> Best | None:
        best = scores.max(initial=-1.0)
        if best < 0.0:
            return None
        place = int(np.argmax(scores >= (1.0 - TIE) * best))
        return Best(int(self.left[place]), float(scores[place]))


class MemoryCandidates(Candidates):
    """Candidates whose values are stored, or evaluated again in blocks at each pass."""

    def __init__(self, design: MemoryDesign, atoms: Any, is_stored: bool) -> None:
        self.atoms = atoms
        self._design = design
        self._dtype = "float32" if design.is_screened else "float64"
        self._stored: Any = None
        #: The sizes of all stored atoms, where they are stored, by what they are divided by.
        self._extents: dict[Divisor, Any] = {}
        self._errors: dict[str, Array | None] = {}
        if is_stored and atoms.shape[0]:
            view = design.view(self._dtype)
            self._stored = view.device.empty(design.n_rows, atoms.shape[0], self._dtype)
            with np.errstate(all="ignore"):
                rows = view.device.block_entries // atoms.shape[0]
                placed = view.placed(self.atoms)
                design.each(
                    lambda part: self._fill(view, placed, part), row_blocks(design.n_rows, rows)
                )

    def _fill(self, view: View, atoms: Any, rows: slice) -> None:
        self._stored[rows] = view.evaluate(rows, atoms)

    def best(
        self,
        points: Sequence[Point],
        divisor: Divisor,
        allowed: NDArray[np.bool_],
        is_joint: bool = False,
    ) -> list[Best | None]:
        """Estimate all scores, and look closely at those that can be the best."""
        contest = Contest(allowed, is_joint)
        if len(contest.left) == 0:
            return [None] * len(points)
        self._design.forget_columns()
        R = self._design.residuals(points)
        # Numbers that float32 does not hold end in bounds that say nothing.
        with np.errstate(all="ignore"):
            contest.narrow(self.estimates(R, divisor, contest.left, self._dtype))
            if len(contest.left) > MANY and self._dtype == "float32":
                contest.narrow(self.estimates(R, divisor, contest.left, "float64"))
            return contest.winners(self.exact(R, divisor, contest.left))

    def estimates(self, R: Any, divisor: Divisor, left: NDArray[np.intp], dtype: str) -> Scores:
        """Return scores of some candidates, and how far they may be off."""
        device, view = self._design.device, self._design.view(dtype)
        unit = device.xp.clip(device.xp.amax(device.xp.abs(R)), _TINY, None)
        W = view.device.put(R / unit, dtype)
        if self._stored is not None and dtype == self._dtype:
            found = self._stored_sums(view, W, divisor)
            if len(left) < self.atoms.shape[0]:
                places = view.device.put(left, "int64")
                found = [array[places] for array in found]
        else:
            found = self._fresh_sums(view, W, divisor, self.atoms[left])
        sums, *sizes = (device.put(array) for array in found)
        dots, masses, *sizes = device.fetch(sums * unit, device.xp.abs(R).sum(0), *sizes)
        extents = sizes[0] if sizes else None
        roundoff = self._roundoff(left, dtype)
        if roundoff is None:
            slack = np.full_like(dots, _UNKNOWN * np.abs(dots).max(initial=0.0))
            return Scores(dots, slack, divisor, extents)
        return Scores(dots, roundoff[:, None] * masses + _TINY, divisor, extents, roundoff)

    def exact(self, R: Any, divisor: Divisor, left: NDArray[np.intp]) -> Scores:
        """Return scores of some candidates, each evaluated alone."""
        design, xp = self._design, self._design.device.xp
        columns = xp.stack([design.column(self.atoms[j : j + 1]) for j in left])
        arrays = [columns @ R]
        if divisor == "max":
            arrays.append(xp.amax(xp.abs(columns), axis=1))
        elif divisor == "norm":
            arrays.append((columns * columns) @ design.shares)
        dots, *extents = design.device.fetch(*arrays)
        return Scores(dots, np.zeros_like(dots), divisor, extents[0] if extents else None)

    def _roundoff(self, left: NDArray[np.intp], dtype: str) -> Array | None:
        """Return how far values added up may be off, relative to the residuals; None if unknown."""
        if dtype not in self._errors:
            self._errors[dtype] = self._design.rounding(self.atoms, dtype)
        errors = self._errors[dtype]
        return None if errors is None else errors[left]

    def _stored_sums(self, view: View, W: Any, divisor: Divisor) -> list[Any]:
        """Return products with the stored values, and the atoms' sizes if they are divided."""
        G, device, n = self._stored, view.device, self._stored.shape[1]
        parts = row_blocks(len(G), max(1, 8 * device.block_entries // n // BLOCK) * BLOCK)
        if divisor != "none" and divisor not in self._extents:
            shares = device.put(self._design.shares, view.dtype)[:, None]
            some = [view.extents(G[part], shares[part], divisor) for part in parts]
            join = device.xp.maximum if divisor == "max" else add
            self._extents[divisor] = reduce(join, some)
        sizes = [] if divisor == "none" else [self._extents[divisor]]
        each = self._design.each(lambda part: view.sums(G[part], W[part]), parts)
        return [reduce(add, each), *sizes]

    def _fresh_sums(self, view: View, W: Any, divisor: Divisor, atoms: Any) -> list[Any]:
        """Evaluate atoms, and return products of their values, and their sizes if divided."""
        device, placed, rows = view.device, view.placed(atoms), None
        if divisor == "none" and not device.is_torch:
            rows = np.flatnonzero((W != 0.0).any(axis=1))
            rows = rows if 0 < len(rows) <= _WORTH_GATHERING * len(W) else None
        if rows is not None:
            view, W = replace(view, inputs=view.inputs[rows]), W[rows]
        if divisor == "none" and view.is_fused(len(W) * atoms.shape[0]):
            return [view.gauss_sums(placed, W)]
        shares = None if divisor == "none" else device.put(self._design.shares, view.dtype)[:, None]
        blocks = row_blocks(atoms.shape[0], view.at_once)
        width = max(blocks[0].stop, 1 if sparse.issparse(view.inputs) else view.inputs.shape[1])
        size = max(1, device.block_entries // width // BLOCK) * BLOCK
        pieces = [(some, part) for some in blocks for part in row_blocks(len(W), size)]

        def work(piece: tuple[slice, slice]) -> tuple[Any, Any]:
            some, part = piece
            values = view.evaluate(part, placed[some])
            extents = None if shares is None else view.extents(values, shares[part], divisor)
            return view.sums(values, W[part]), extents

        done = list(zip(pieces, self._design.each(work, pieces), strict=True))
        # Blocks of rows are added up in their order, whoever was first.
        join = device.xp.maximum if divisor == "max" else add
        grouped = [[found for piece, found in done if piece[0] is some] for some in blocks]
        sums = [reduce(add, [total for total, _ in group]) for group in grouped]
        if shares is None:
            return [device.xp.concatenate(sums)]
        sizes = [reduce(join, [extent for _, extent in group]) for group in grouped]
        return [device.xp.concatenate(sums), device.xp.concatenate(sizes)]


def is_worth_storing(
    design: MemoryDesign, n_atoms: int, reuse: bool, store: bool | Literal["auto"]
) -> bool:
    """Whether the values of candidates are to be kept."""
    if store is False:
        return False
    n_values, budget = design.n_rows * n_atoms, design.memory_budget
    n_bytes = (4 if design.is_screened else 8) * n_values
    if store is True and n_bytes > budget:
        raise MemoryError(
            f"The dictionary of {design.n_rows} rows x {n_atoms} candidates takes "
            f"{n_bytes} bytes, and store=True asks to keep it in a budget of {budget} bytes. "
            "Use store='auto' or False (evaluated in blocks), selection='sampled', fewer "
            "n_candidates, or raise sklearn.set_config(working_memory=...) (MiB)."
        )
    # A GPU evaluates Gauss atoms faster than its memory gives stored ones.
    is_faster = design.is_screened and design.screen.is_torch
    is_faster = is_faster and design.view("float32").is_fused(n_values)
    return store is True or (reuse and n_bytes <= budget and not is_faster)
