"""Intervals and sets that hold the truth with a given probability, from errors of held-out rows.

CV+ of Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+", Ann.
Statist. 49 (2021), and for classes the sets of Romano, Sesia and Candes, "Classification with valid
and adaptive coverage", NeurIPS (2020). With one part alone it is split conformal prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from fcgboost.arrays import Array, Codes, Flags

# Errors that are kept, of all parts together.
_MOST = 1_000
# Halvings, down to neighbouring numbers.
_N_HALVINGS = 64


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """The errors of held-out rows, by the part that was held out.

    Attributes
    ----------
    errors : tuple of ndarray
        Sorted, at most a thousand: each stands for a few that are no larger.
    totals : tuple of ndarray
        The weights of the rows with errors up to these.
    are_folds : bool
        Whether each part has members of its own, which have not seen its rows.
    """

    errors: tuple[Array, ...]
    totals: tuple[Array, ...]
    are_folds: bool

    @classmethod
    def of(cls, parts: Sequence[tuple[Array, Array]], are_folds: bool) -> Self:
        """Collect the errors of all parts, with their weights."""
        if not are_folds:
            errors, weights = zip(*parts, strict=True)
            parts = [(np.concatenate(errors), np.concatenate(weights))]
        kept = [_sorted(*part, _MOST // len(parts)) for part in parts]
        errors, totals = zip(*kept, strict=True)
        return cls(errors, totals, are_folds)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return sum(float(totals[-1]) for totals in self.totals)

    def needed(self, alpha: float) -> float:
        """Return the weight of rows that have no larger errors: (1 - alpha) (n + 1)."""
        return (1.0 - alpha) * (self.total + 1.0)

    def weight_below(
        self, bounds: Sequence[Array], side: Literal["left", "right"] = "left"
    ) -> Array:
        """Return the weight of the rows whose errors are below bounds, given for each part."""
        below = np.zeros(bounds[0].shape)
        for errors, totals, bound in zip(self.errors, self.totals, bounds, strict=True):
            counts = np.searchsorted(errors, bound, side)
            below += np.append(0.0, totals)[counts]
        return below

    def farthest(self, centres: Sequence[Array], alpha: float) -> Array:
        """Return the least numbers that enough rows' centres plus errors do not exceed."""
        needed = self.needed(alpha)
        if self.total < needed:
            return np.full(len(centres[0]), math.inf)
        ends = [centre + errors[-1] for centre, errors in zip(centres, self.errors, strict=True)]
        low = np.min(centres, axis=0)
        high = np.max(ends, axis=0)
        for _ in range(_N_HALVINGS):
            middle = low + (high - low) / 2.0
            gaps = [middle - centre for centre in centres]
            is_enough = self.weight_below(gaps, "right") >= needed
            high = np.where(is_enough, middle, high)
            low = np.where(is_enough, low, middle)
        return np.asarray(high)

    def interval(self, centres: Sequence[Array], alpha: float) -> Array:
        """Return lower and upper ends for the predictions of each part's members.

        Ends that cross, as those of a large alpha may, are swapped, which only adds numbers.
        """
        low = -self.farthest([-centre for centre in centres], alpha)
        high = self.farthest(centres, alpha)
        return np.sort(np.column_stack([low, high]), axis=1)

    def classes(self, decisions: Sequence[Array], alpha: float) -> Flags:
        """Return which classes are in the sets, for the decision values of each part's members."""
        errors = [class_errors(decision) for decision in decisions]
        return np.asarray(self.weight_below(errors) < self.needed(alpha))


def class_errors(decision: Array) -> Array:
    """Return by how much each class falls short of the best other one."""
    if decision.shape[1] == 1:
        return np.hstack([decision, -decision])
    first = decision.max(axis=1, keepdims=True)
    is_first = np.arange(decision.shape[1]) == decision.argmax(axis=1)[:, None]
    second = np.where(is_first, -np.inf, decision).max(axis=1, keepdims=True)
    return np.asarray(np.where(is_first, second, first) - decision)


def error_of(decision: Array, codes: Codes) -> Array:
    """Return the errors of classes, given by their codes."""
    return np.asarray(class_errors(decision)[np.arange(len(codes)), codes])


def _sorted(errors: Array, weights: Array, most: int) -> tuple[Array, Array]:
    """Return sorted errors and the weights up to each; of too many, those at even weights."""
    order = np.argsort(errors, kind="stable")
    errors = errors[order]
    totals = np.cumsum(weights[order])
    if len(errors) > most:
        steps = np.linspace(0.0, totals[-1], most + 1)[1:]
        kept = np.unique(np.minimum(np.searchsorted(totals, steps), len(errors) - 1))
        errors = errors[kept]
        totals = totals[kept]
    return errors, totals
