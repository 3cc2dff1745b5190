"""Estimates of scores: single precision, with bounds that are proved.

A score is a sum over rows of a residual times an atom's value. In float32 it costs half as much,
and is off by what `ScreenedDictionary.rounding` says of the values and by what the sums lose. Rows
are added up in float32 within blocks of BLOCK and in float64 between them, which keeps that small.
Atoms without such a bound, and sparse inputs, are evaluated in float64, by the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from fcgboost.arrays import namespace
from fcgboost.backends import blocks
from fcgboost.backends.base import Divisor
from fcgboost.backends.blocks import Focus, block_sums, row_blocks
from fcgboost.backends.fused import (
    GaussSums,
    gauss_sums,
    is_stored_product_compiled,
    stored_product,
)
from fcgboost.backends.places import NumpyPlace, Place
from fcgboost.dictionaries import Rounding, ScreenedDictionary

if TYPE_CHECKING:
    from fcgboost.backends.memory import MemoryDesign

_UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
# Where nothing is proved of float64 values, of dictionaries without a bound and of sparse inputs,
# they are taken as exact up to this share: what atoms evaluated together and alone differ by is far
# less.
_DOUBLE = 1e-9
# Candidates that are evaluated at once: the processor's cache should hold their values; a device
# wants many.
_AT_ONCE, _AT_ONCE_AHEAD = 256, 4096
# Single precision may lose smaller numbers altogether; in products this stands for infinity.
_TINY, _HUGE = 1e-30, 1e100


@dataclass(frozen=True)
class Estimate:
    """Approximate scores of all candidates, and how far the exact ones are at most.

    Attributes
    ----------
    dots, bounds : arrays of shape (n_candidates, n_outputs)
    sizes : pair of arrays of shape (n_candidates,), or None
        What the atoms are divided by, and how far the exact ones are at most; None is one.
    is_valid : bool, or a tensor with one
        False if the rows with a residual did not fit their room.
    n_rows : int, or a tensor with one
        The number of rows with a residual.
    """

    dots: Any
    bounds: Any
    sizes: tuple[Any, Any] | None
    is_valid: Any
    n_rows: Any

    def interval(self, place: Place) -> tuple[Any, Any]:
        """Return the least and the largest that every absolute score can be."""
        xp = place.xp
        sizes = xp.abs(self.dots)
        is_known = sizes + self.bounds < np.inf
        low = xp.where(is_known, xp.clip(sizes - self.bounds, 0.0, None), 0.0)
        if self.sizes is not None:
            most = self.sizes[0] + self.sizes[1]
            low = low / xp.clip(most, _TINY, None)[:, None]
        return low, self.highest(place)

    def highest(self, place: Place) -> Any:
        """Return the largest that every absolute score can be."""
        xp = place.xp
        # Numbers beyond the range of float32 say nothing about a score.
        high = xp.abs(self.dots) + self.bounds
        high = xp.where(high < np.inf, high, np.inf)
        if self.sizes is None:
            return high
        least = self.sizes[0] - self.sizes[1]
        # An atom that may vanish can have any score: only a closer look can tell.
        surely = xp.where(least > 0.0, least, 1.0)[:, None]
        return xp.where((least > 0.0)[:, None], high / surely, np.inf)


class Values(ABC):
    """The values of candidates over the data, and what can be said of scores by them."""

    def __init__(self, design: MemoryDesign, atoms: Any, single: bool) -> None:
        self._design = design
        self._n_atoms = int(atoms.shape[0])
        #: The candidates that are evaluated together.
        self.blocks = row_blocks(self._n_atoms, self._at_once(design))
        self.dtype = "float32" if single else "float64"
        self.place = design.screen_place if single else design.place
        dictionary = design.dictionary
        if single:
            assert isinstance(dictionary, ScreenedDictionary)
            atoms = dictionary.moved(atoms, design.center, design.scale)
            self._is_nonnegative = dictionary.is_nonnegative
            self._rounding = self._judged(dictionary, atoms, 1.0)
            self.inputs = design.screen_inputs[0]
            self._scale = design.screen_units
            self._atoms = self.place.put(atoms, "float32")
        else:
            self._is_nonnegative = False
            nothing = np.zeros(self._n_atoms)
            self._rounding = Rounding(nothing + _DOUBLE, nothing, nothing)
            if isinstance(dictionary, ScreenedDictionary) and not sparse.issparse(design.X):
                moved = dictionary.moved(atoms, design.center, design.scale)
                self._rounding = self._judged(dictionary, moved, design.farness)
            self.inputs, self._scale = design.inputs, design.units
            self._atoms = atoms if isinstance(self.place, NumpyPlace) else self.place.put(atoms)
        # What rounding the residuals and adding up a block loses, relative.
        n_added = blocks.BLOCK + 8
        if self.place.sum_dtype == "float32":
            n_added += design.n_rows // blocks.BLOCK
        lost = n_added * _UNIT[self.dtype]
        self._lost = lost / (1.0 - lost)
        #: For each divisor, the sizes of the atoms and how far the exact ones are at most.
        self._sizes: dict[Divisor, tuple[Any, Any]] = {}

    def _judged(self, dictionary: ScreenedDictionary, atoms: Any, farness: float) -> Rounding:
        """Ask the dictionary; atoms that are evaluated together are judged together."""
        unit = _UNIT[self.dtype]
        parts = [dictionary.rounding(atoms[block], unit) for block in self.blocks]
        constant = np.concatenate([part.constant for part in parts])
        return Rounding(
            np.concatenate([part.relative for part in parts]),
            constant * farness,
            np.concatenate([part.slope for part in parts]),
        )

    @abstractmethod
    def estimate(self, R: Any, divisor: Divisor, room: int | None) -> Estimate:
        """Estimate all scores of residuals R, m-vectors of shape (n_rows, n_outputs)."""

    def _at_once(self, design: MemoryDesign) -> int:
        """Return how many candidates are evaluated together."""
        return _AT_ONCE if isinstance(design.screen_place, NumpyPlace) else _AT_ONCE_AHEAD

    def _evaluation(self, block: slice) -> Callable[[Any], Any]:
        """Return the function from rows to the values of some candidates."""
        dictionary, atoms, scale = self._design.dictionary, self._atoms[block], self._scale
        return lambda rows: dictionary.evaluate(rows, atoms, scale)

    def _estimated(
        self, R: Any, dots: Any, masses: Any, divisor: Divisor, focus: Focus
    ) -> Estimate:
        """Bound the errors; `masses` are the sums of |r| times the sizes of the values, or more."""
        masses = masses * (1.0 + 2.0 * self._lost)
        bounds = self._value_errors(R, masses) + self._lost * masses + _TINY
        return Estimate(dots, bounds, self._sizes.get(divisor), focus.is_valid, focus.count)

    def _value_errors(self, R: Any, masses: Any) -> Any:
        """Bound the sums of |r| |e|, e the errors of the values.

        With |e| <= relative |g| + constant + slope |x| they are at most relative (mass + what they
        are) + the sums of |r| (constant + slope |x|).
        """
        sizes = self._design.place.xp.abs(R)
        relative, constant, slope, left, unknown = self._rounding_here
        off = relative * masses + constant * sizes.sum(axis=0)
        if self._rounding.slope.any():
            off = off + slope * (self._design.screen_inputs[1] @ sizes)
        return off / left + unknown

    @cached_property
    def _rounding_here(self) -> Any:
        """The parts of the rounding, what relative errors leave, and infinity if that is nothing.

        One array of columns: one transfer, where that is needed.
        """
        known = self._rounding
        # Infinitely much of no residual is nothing.
        parts = np.minimum([known.relative, known.constant, known.slope], _HUGE)
        left = np.maximum(1.0 - parts[0], 1e-9)
        unknown = np.where(known.relative < 1.0, 0.0, np.inf)
        return self._design.place.put(np.stack([*parts, left, unknown]))[:, :, None]

    def _note_sizes(self, divisor: Divisor, sums: Any) -> None:
        """Turn the largest values, or sums of weighted squares, into sizes with bounds."""
        design, xp = self._design, self._design.place.xp
        put, rounding = design.place.put, self._rounding
        mean_radius, largest_radius = design.radii
        if divisor == "max":
            sizes, lost, radius = sums, 0.0, largest_radius
        else:
            sizes = xp.sqrt(sums)
            lost, radius = self._lost, mean_radius
        off = put(rounding.constant) + put(rounding.slope) * radius
        relative = put(np.minimum(rounding.relative, 1.0 - 1e-9))
        bounds = (sizes * (lost + relative) + off) / (1.0 - relative)
        self._sizes[divisor] = (sizes, bounds)


class FreshValues(Values):
    """Candidates that are evaluated in every pass, at the rows that have a residual."""

    def estimate(self, R: Any, divisor: Divisor, room: int | None) -> Estimate:
        """Evaluate blocks of candidates and rows, and add up."""
        here, xp = self._design.place, self._design.place.xp
        is_sized = divisor == "none" or divisor in self._sizes
        focus = Focus.on(R, here, room if is_sized else len(R))
        unit = xp.clip(xp.amax(xp.abs(R)), _TINY, None)
        inputs = self.inputs
        if focus.rows is not None:
            is_here = self.place is here or not here.is_ahead
            inputs = inputs[focus.rows if is_here else self.place.put(focus.rows, "int64")]
        weights = None if is_sized else self.place.put(self._design.shares, self.dtype)[:, None]
        n_outputs = R.shape[1]
        fused = None
        if is_sized and self.dtype == "float32":
            n_values = inputs.shape[0] * self._n_atoms
            n_features = inputs.shape[1]
            fused = gauss_sums(self._design.dictionary, self.place, n_values, n_features)
        if fused is not None:
            sums = self._fused_sum(fused, inputs, self.place.put(focus.R / unit, self.dtype))
        else:
            both = xp.concatenate([focus.R, xp.abs(focus.R)], axis=1) / unit
            W = self.place.put(both, self.dtype)
            sums, extents = self._sum(inputs, W, weights, divisor)
        if not is_sized:
            self._note_sizes(divisor, here.put(extents))
        sums = here.put(sums) * unit
        return self._estimated(R, sums[:, :n_outputs], sums[:, n_outputs:], divisor, focus)

    def _fused_sum(self, fused: GaussSums, inputs: Any, R: Any) -> Any:
        """Return the sums by a kernel that writes no value to memory."""
        place, n, n_outputs = self.place, self._n_atoms, R.shape[1]
        centers, widths = self._atoms[:, :-1], self._atoms[:, -1]
        steepness = 0.5 / widths**2
        if not isinstance(place, NumpyPlace):
            return place.xp.concatenate(fused(inputs, centers, steepness, R), 1)
        sums = place.empty(n, 2 * n_outputs, place.sum_dtype)
        centers, R = np.ascontiguousarray(centers), np.ascontiguousarray(R)

        def score(block: slice) -> None:
            dots, masses = fused(inputs, centers[block], steepness[block], R)
            sums[block, :n_outputs], sums[block, n_outputs:] = dots, masses

        self._design.each(score, row_blocks(n, _AT_ONCE))
        return sums

    def _sum(self, inputs: Any, W: Any, weights: Any, divisor: Divisor) -> tuple[Any, Any]:
        """Return the sums of values times W, and with weights what sizes are made of."""
        place, n = self.place, self._n_atoms
        at_once = self.blocks[0].stop
        width = at_once if sparse.issparse(inputs) else max(at_once, inputs.shape[1])
        size = max(1, place.block_entries // width // blocks.BLOCK) * blocks.BLOCK
        parts = row_blocks(inputs.shape[0], size)
        # A sample is one block of candidates: then threads share the rows.
        n_shares = 1 if len(self.blocks) > 1 else self._design.n_threads
        shares = [parts[i::n_shares] for i in range(min(n_shares, max(1, len(parts))))]

        def score(piece: tuple[slice, list[slice]]) -> tuple[Any, Any]:
            evaluate, (total, extent) = self._evaluation(piece[0]), (0.0, 0.0)
            for part in piece[1]:
                values = evaluate(inputs[part])
                total = total + self._block_sums(values, W[part])
                if weights is not None and divisor == "max":
                    extent = _larger(extent, place.xp.amax(place.xp.abs(values), axis=0))
                elif weights is not None:
                    extent = extent + self._block_sums(values * values, weights[part])[:, 0]
            return total, extent

        pieces = [(block, share) for block in self.blocks for share in shares]
        join = _larger if divisor == "max" else add
        sums = place.empty(n, W.shape[1], place.sum_dtype)
        extents = place.empty(n, 1, place.sum_dtype)
        sums[:], extents[:] = 0.0, 0.0
        for (block, _), (total, extent) in zip(
            pieces, self._design.each(score, pieces), strict=True
        ):
            sums[block] += total
            extents[block, 0] = join(extents[block, 0], extent)
        return sums, extents[:, 0]

    def _block_sums(self, values: Any, W: Any) -> Any:
        """Return values^T W; the second half of W, sizes of residuals, meets sizes of values."""
        if self._is_nonnegative or W.shape[1] == 1:
            return block_sums(values, W, self.place)
        xp, half = self.place.xp, W.shape[1] // 2
        signed = block_sums(values, W[:, :half], self.place)
        return xp.concatenate([signed, block_sums(xp.abs(values), W[:, half:], self.place)], axis=1)


class StoredValues(Values):
    """Candidates whose values are kept, row by row."""

    def __init__(self, design: MemoryDesign, atoms: Any, single: bool) -> None:
        super().__init__(design, atoms, single)
        place = self.place
        self.G = place.empty(self._n_atoms, design.n_rows, self.dtype).T
        squares = place.put(np.zeros(self._n_atoms), place.sum_dtype)
        size = max(1, place.block_entries // max(1, self._n_atoms))

        is_here = isinstance(place, NumpyPlace) and self.dtype == "float32"
        self._is_compiled = is_here and is_stored_product_compiled(self.G.size)
        evaluate = self._evaluation(self.blocks[0])

        def fill(part: slice) -> None:
            self.G[part] = evaluate(self.inputs[part])

        design.each(fill, row_blocks(design.n_rows, size))
        ones = place.put(np.ones((design.n_rows, 1)), self.dtype)
        for part in row_blocks(design.n_rows, max(1, size // blocks.BLOCK) * blocks.BLOCK):
            squares += block_sums(self.G[part] ** 2, ones[part], place)[:, 0]
        #: The norms of the values' columns, not too small.
        self.norms = design.place.xp.sqrt(design.place.put(squares) * (1.0 + 2.0 * self._lost))

    def _at_once(self, design: MemoryDesign) -> int:
        return self._n_atoms

    def estimate(self, R: Any, divisor: Divisor, room: int | None) -> Estimate:
        """Multiply all rows, which the memory gives fastest in one piece."""
        here, xp = self._design.place, self._design.place.xp
        if divisor != "none" and divisor not in self._sizes:
            self._measure(divisor)
        unit = xp.clip(xp.amax(xp.abs(R)), _TINY, None)
        W = self.place.put(R / unit, self.dtype)
        if self._is_compiled:
            sums = stored_product(self.G, W, self._design.each)
        else:
            sums = self._product(W)
        masses = self.norms[:, None] * xp.sqrt((R * R).sum(axis=0))
        focus = Focus(None, R, len(R), True)
        return self._estimated(R, here.put(sums) * unit, masses, divisor, focus)

    def _product(self, W: Any) -> Any:
        """Return G^T W; threads share the columns."""
        sums = self.place.empty(self._n_atoms, W.shape[1], self.place.sum_dtype)

        def score(block: slice) -> None:
            sums[block] = block_sums(self.G[:, block], W, self.place)

        n_parts = self._design.n_threads if isinstance(self.place, NumpyPlace) else 1
        self._design.each(score, row_blocks(self._n_atoms, -(-self._n_atoms // n_parts)))
        return sums

    def changed(
        self, last: Estimate, dots: Any, bounds: Any, step: Any, masses: Any, divisor: Divisor
    ) -> Estimate | None:
        """Return an estimate made of an old one and of dots with a change of the residuals.

        `bounds` say how far the change is from that of the values kept here; how far these are from
        the exact ones is said here.
        """
        if divisor != "none" and divisor not in self._sizes:
            return None
        off = self._value_errors(step, masses)
        bounds = last.bounds + bounds + off
        return Estimate(dots, bounds, self._sizes.get(divisor), True, last.n_rows)

    def _measure(self, divisor: Divisor) -> None:
        here, design = self._design.place, self._design
        if divisor == "max":
            parts = row_blocks(design.n_rows, self.place.block_entries // self._n_atoms)
            largest: Any = 0.0
            for part in parts:
                largest = _larger(largest, self.place.xp.amax(abs(self.G[part]), axis=0))
            self._note_sizes(divisor, here.put(largest))
            return
        weights = self.place.put(design.shares, self.dtype)[:, None]
        squares = self.place.put(np.zeros(self._n_atoms), self.place.sum_dtype)
        size = max(1, self.place.block_entries // self._n_atoms // blocks.BLOCK) * blocks.BLOCK
        for part in row_blocks(design.n_rows, size):
            squares += block_sums(self.G[part] ** 2, weights[part], self.place)[:, 0]
        self._note_sizes(divisor, here.put(squares))


def _larger(first: Any, second: Any) -> Any:
    """Return the larger of two arrays, or of an array and nothing, elementwise."""
    if isinstance(first, float) or isinstance(second, float):
        return second if isinstance(first, float) else first
    return namespace(first).maximum(first, second)
