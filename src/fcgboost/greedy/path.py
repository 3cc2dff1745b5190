"""The record of a path: its steps, its atoms, and scores on validation data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fcgboost.arrays import Codes
from fcgboost.clipping import Limits
from fcgboost.designs.base import Array
from fcgboost.dictionaries import Dictionary
from fcgboost.model import Model
from fcgboost.stopping import Status, Step

__all__ = [
    "AtomTable",
    "AtomsByOutput",
    "StepScore",
    "Trace",
    "removed_atoms",
]


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Sequence[Step]):
    """A sequence of steps with their coefficients, so that nothing needs to be refitted.

    Where several ridge penalties were compared, it has the steps that corrected all coefficients:
    its entries then stand for the steps since the last one, whose choices they list.

    Attributes
    ----------
    steps : tuple of Step
        The record of each step.
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
        All atoms in order of entry; corrected leaves have the value 0.
    entered : ndarray of shape (n_atoms,)
        The step at which each atom entered.
    start : ndarray of shape (n_outputs,)
        The intercepts before the first step.
    endings : tuple of Status or None
        Why each output ended by itself; None if it could continue.
    metrics : dict of dict of ndarray of shape (n_steps,)
        The recorded metrics by name, for "train" and "validation" rows.
    """

    steps: tuple[Step, ...]
    atoms: Any
    entered: Codes
    start: Array
    endings: tuple[Status | None, ...]
    metrics: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        endings = [ending and ending.name for ending in dict.fromkeys(self.endings)]
        return f"Trace(n_steps={len(self)}, n_atoms={len(self.entered)}, endings={endings})"

    def column(self, name: str) -> NDArray[Any]:
        """Return one attribute of all steps as an array, such as "n_atoms" or "seconds"."""
        return np.array([getattr(step, name) for step in self.steps])

    @property
    def scores(self) -> Array:
        """The validation scores; NaN for steps that were not scored."""
        return self.column("validation_score").astype(np.float64)

    @property
    def n_steps(self) -> int:
        """The number of steps that were made."""
        return self.steps[-1].k if self.steps else 0

    def after(self, k: int) -> Step | None:
        """Return the last record of the first k steps, if any."""
        steps = self._first(k)
        return steps[-1] if steps else None

    def _first(self, k: int) -> tuple[Step, ...]:
        n = bisect_right(self.steps, k, key=lambda step: step.k)
        return self.steps[:n]

    def truncated(self, k: int) -> Trace:
        """Return the path of the first k steps."""
        steps = self._first(k)
        n_atoms = steps[-1].n_entered if steps else 0
        atoms = self.atoms[:n_atoms]
        entered = self.entered[:n_atoms]
        return replace(self, steps=steps, atoms=atoms, entered=entered)

    def in_units(self, shift: float, scale: float) -> Trace:
        """Return the path of shift + scale f for that of f; the objectives stay those of f."""
        # Steps share the arrays of leaves that none of them has corrected.
        leaves = {id(values): scale * values for step in self.steps for values in step.leaves}
        steps = []
        for step in self.steps:
            coef = step.coef if step.leaves else scale * step.coef
            intercept = shift + scale * step.intercept
            values = tuple(leaves[id(of_tree)] for of_tree in step.leaves)
            steps.append(replace(step, coef=coef, intercept=intercept, leaves=values))
        start = shift + scale * self.start
        return replace(self, steps=tuple(steps), start=start)

    def model(
        self,
        k: int,
        dictionary: Dictionary,
        scale: Array,
        limits: Limits | None = None,
    ) -> Model:
        """Return the model after the last record of the first k steps."""
        coef = np.zeros((len(self.start), 0))
        intercept = self.start
        atoms = self.atoms[:0]
        kept: Any = slice(0)
        step = self.after(k)
        if step is not None:
            coef = step.coef
            intercept = step.intercept
            kept = slice(step.n_entered)
            if len(step.removed_atoms):
                kept = np.delete(np.arange(step.n_entered), step.removed_atoms)
            atoms = dictionary.with_leaf_values(self.atoms[kept], step.leaves)
        return Model(
            dictionary,
            atoms,
            coef[:, kept],
            intercept,
            scale,
            self.entered[kept],
            limits,
        )


class AtomsByOutput:
    """Which atoms each output has, step by step."""

    def __init__(self, n_outputs: int) -> None:
        #: The positions of the atoms of each output, in its own order.
        self.atoms: list[dict[int, None]] = [{} for _ in range(n_outputs)]

    def take(self, chosen: Iterable[int], removed: Iterable[tuple[int, int]]) -> None:
        """Update with the positions that the outputs chose, or -1, and those removed.

        The choices may be those of several steps, one after the other.
        """
        for atoms, position in zip(cycle(self.atoms), chosen, strict=False):
            if position >= 0:
                atoms.setdefault(int(position))
        for output, position in removed:
            del self.atoms[output][position]


def removed_atoms(n_entered: int, atoms_by_output: Iterable[Iterable[int]]) -> Codes:
    """Return the positions of the atoms that no output has."""
    is_gone = np.ones(n_entered, dtype=bool)
    for atoms in atoms_by_output:
        is_gone[list(atoms)] = False
    return np.flatnonzero(is_gone)


class AtomTable:
    """All distinct atoms in order of entry."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.positions: dict[int, int] = {}
        self.entered: list[int] = []

    def add(self, atom: Any, key: int, k: int) -> int:
        """Return the position of an atom, adding it in step k if it is new."""
        if key not in self.positions:
            self.positions[key] = len(self.rows)
            self.rows.append(atom)
            self.entered.append(k)
        return self.positions[key]


class StepScore(ABC):
    """Scores the steps of a path on validation data, wherever that is; larger is better."""

    @abstractmethod
    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[float]:
        """Score steps with the same atoms: all that have entered, those already known first."""

    @abstractmethod
    def scores(self, steps: Sequence[Step], atoms: Any) -> list[float]:
        """Score the steps of a whole path, evaluating all atoms at once."""

    @abstractmethod
    def fresh(self) -> StepScore:
        """Return a fresh score for another path."""
