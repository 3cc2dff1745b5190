"""The best of many atoms: inner products of all candidates with the residuals.

This process scores in float64. A torch device scores standardised rows in float32, where that is
several times faster, by a fused kernel if it has one. Blocks of rows and candidates have constant
sizes and are added up in order, so the same device makes the same choice twice, with any number of
threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fcgboost.arrays import Flags, Matrix, is_sparse
from fcgboost.designs.base import TIE, Array, Candidates, Residuals, Winner, first_best
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import FusedSums, HostDevice
from fcgboost.designs.moments import Frame
from fcgboost.dictionaries import LearnableDictionary

if TYPE_CHECKING:
    from fcgboost.designs.memory import MemoryDesign

Precision = Literal["float32", "float64"]

# Scores within this share of the best are ties, which go to the lowest index.
_TIES = {"float64": TIE, "float32": 1e-6}
# An atom smaller than this share of the largest is rounding and scores 0, such as a ramp with its
# kink at the extreme row.
_VANISHING = {"float64": 1e-10, "float32": 1e-6}
# Candidates evaluated at once: their values should fit into a CPU's cache; a device needs many.
_AT_ONCE = 256
_AT_ONCE_ON_DEVICE = 4096
# Rows with a residual are gathered if they are at most this share of all.
_WORTH_GATHERING = 0.8
# Smaller residuals count as this large when they are brought to size one.
_TINY = 1e-300


@dataclass(frozen=True)
class Scores:
    """Sums that determine the scores of candidates; those of parts of the rows add up.

    Attributes
    ----------
    dots : ndarray of shape (n_candidates, n_points)
        Inner products with the residuals.
    mean_squares : ndarray of shape (n_candidates,) or None
        Their squared empirical norms if scores are divided by the norms.
    precision : {"float32", "float64"}
        The precision of the values that were added up.
    """

    dots: Array
    mean_squares: Array | None
    precision: Precision

    def __add__(self, other: Scores) -> Scores:
        mean_squares = None
        if self.mean_squares is not None and other.mean_squares is not None:
            mean_squares = self.mean_squares + other.mean_squares
        return Scores(self.dots + other.dots, mean_squares, self.precision)

    def values(self) -> Array:
        """Return the scores, of shape (n_candidates, n_points); those that overflow are 0."""
        scores = np.abs(self.dots)
        if self.mean_squares is not None:
            norms = np.sqrt(self.mean_squares)[:, None]
            is_there = norms > _VANISHING[self.precision] * norms.max(initial=0.0)
            scores = np.where(is_there, scores / np.where(is_there, norms, 1.0), 0.0)
        return np.nan_to_num(scores, nan=0.0, posinf=0.0)

    def best(self, allowed: Flags) -> list[Winner | None]:
        """Return the first of the best allowed candidates for each point."""
        scores = np.where(allowed, self.values(), -1.0)
        winners: list[Winner | None] = []
        for column in scores.T:
            index = first_best(column, _TIES[self.precision])
            score = float(column[index])
            winners.append(Winner(index, score) if score >= 0.0 else None)
        return winners


@dataclass(frozen=True)
class ScoredRows:
    """The rows as candidates see them.

    In float32, `inputs` are standardised by `frame`, and `scale` is ones; in float64 they are raw,
    and `frame` is None.
    """

    device: HostDevice
    dtype: Precision
    inputs: Matrix
    scale: Matrix
    frame: Frame | None = None


class MemoryCandidates(Candidates):
    """Candidates whose values are stored, or evaluated in blocks in each pass."""

    def __init__(self, design: MemoryDesign, atoms: Matrix, reuse: bool) -> None:
        self.atoms = atoms
        self._design = design
        rows = self._rows = design.scored_rows
        #: The atoms in the coordinates and the memory of the rows.
        self._placed = atoms
        if rows.frame is not None:
            assert isinstance(design.dictionary, LearnableDictionary)
            self._placed = design.dictionary.moved(atoms, rows.frame.center, rows.frame.scale)
        if not is_sparse(atoms):
            self._placed = rows.device.put(self._placed, rows.dtype)
        #: The device's sums of values that are never stored, if it has such a kernel.
        self._fused_sums: FusedSums | None = None
        if rows.dtype == "float32":
            n_features = rows.inputs.shape[1]
            self._fused_sums = rows.device.fused_sums(design.dictionary, n_features)
        at_once = _AT_ONCE_ON_DEVICE if rows.device.is_torch else _AT_ONCE
        self._blocks = row_blocks(atoms.shape[0], at_once)
        self._mean_squares: Any = None
        #: The values of each block of candidates, of shape (n_rows, n_candidates).
        self._stored: list[Matrix] = []
        n_bytes = np.dtype(rows.dtype).itemsize
        if reuse and 0 < design.n_rows * atoms.shape[0] * n_bytes <= design.memory_budget:
            with np.errstate(all="ignore"):
                self._stored = design.each(self._evaluate, self._blocks)

    def best(self, residuals: Residuals, normalize: bool, allowed: Flags) -> list[Winner | None]:
        """Find the best; their scores are those of the columns that would enter."""
        if not allowed.any():
            return [None] * len(residuals.points)
        winners = self.scores(residuals, normalize).best(allowed)
        return self._design.rescored(
            winners,
            self.atoms,
            residuals,
            normalize,
        )

    @np.errstate(all="ignore")
    def scores(self, residuals: Residuals, normalize: bool) -> Scores:
        """Return the sums that determine the scores of all candidates."""
        device = self._design.device
        R = residuals.matrix
        # Of size one, because float32 has no small numbers.
        unit = device.xp.clip(device.xp.amax(device.xp.abs(R)), _TINY, None)
        W = self._rows.device.put(R / unit, self._rows.dtype)
        if normalize and self._mean_squares is None:
            dots, self._mean_squares = self._sums(W, is_squared=True)
        else:
            dots, _ = self._sums(W, is_squared=False)
        dots = dots * unit
        if not normalize:
            (dots,) = device.fetch(dots)
            return Scores(dots, None, self._rows.dtype)
        dots, mean_squares = device.fetch(dots, self._mean_squares)
        return Scores(dots, mean_squares, self._rows.dtype)

    def _sums(self, W: Matrix, is_squared: bool) -> tuple[Matrix, Matrix]:
        """Return float64 sums of values times W, and of squared values times the shares."""
        rows = self._rows
        device = self._design.device
        inputs = rows.inputs
        if not self._stored and not is_squared:
            inputs, W = self._with_residuals(W)
        shares = rows.device.put(self._design.shares, rows.dtype)
        if self._fused_sums is not None and not self._stored:
            dots = self._fused_sums(
                inputs,
                self._placed,
                W,
                False,
            )
            if not is_squared:
                return dots, None
            return dots, self._fused_sums(
                inputs,
                self._placed,
                shares[:, None],
                True,
            )[:, 0]

        def add_up(number: int) -> tuple[Matrix, Matrix]:
            dots: Any = 0.0
            squares: Any = 0.0
            for part in self._parts(W.shape[0]):
                if self._stored:
                    values = self._stored[number][part]
                else:
                    values = self._values(inputs[part], self._blocks[number])
                dots = dots + device.put(values.T @ W[part])
                if is_squared:
                    squares = squares + device.put((values * values).T @ shares[part])
            return dots, squares

        sums = self._design.each(add_up, range(len(self._blocks)))
        dots = device.xp.concatenate([dots for dots, _ in sums])
        return dots, device.xp.concatenate([s for _, s in sums]) if is_squared else None

    def _parts(self, n_rows: int) -> list[slice]:
        # Evaluation copies dense inputs.
        inputs = self._rows.inputs
        width = 1 if is_sparse(inputs) else inputs.shape[1]
        return row_blocks(
            n_rows, self._rows.device.block_entries // max(self._blocks[0].stop, width)
        )

    def _values(self, X: Matrix, candidates: slice) -> Matrix:
        return self._design.dictionary.evaluate(X, self._placed[candidates], self._rows.scale)

    def _evaluate(self, candidates: slice) -> Matrix:
        """Return the values of some candidates at all rows."""
        rows = self._rows
        n_candidates = candidates.stop - candidates.start
        values = rows.device.empty(self._design.n_rows, n_candidates, rows.dtype)
        for part in self._parts(self._design.n_rows):
            values[part] = self._values(rows.inputs[part], candidates)
        return values

    def _with_residuals(self, W: Matrix) -> tuple[Matrix, Matrix]:
        """Drop rows without a residual if they are many; counting them takes one wait."""
        inputs = self._rows.inputs
        device = self._rows.device
        has_residual = (W != 0.0).any(1)
        (n_kept,) = device.fetch(has_residual.sum())
        if not 0 < n_kept <= _WORTH_GATHERING * len(W):
            return inputs, W
        kept = device.positions(has_residual, int(n_kept))
        return inputs[kept], W[kept]
