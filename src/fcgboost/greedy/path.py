"""The record of a path: its steps, its atoms, and scores on validation data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fcgboost.clipping import Limits
from fcgboost.designs.base import Array
from fcgboost.dictionaries import Dictionary, TreeDictionary, stack_rows
from fcgboost.model import Model
from fcgboost.stopping import Status, Step


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Sequence[Step]):
    """A sequence of steps with their coefficients, so that nothing needs to be refitted.

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
        Why each output ended by itself; None if it could continue. For an average, one path after
        the other.
    metrics : dict of dict of ndarray of shape (n_steps,)
        The recorded metrics by name, for "train" and "validation" rows.
    """

    steps: tuple[Step, ...]
    atoms: Any
    entered: NDArray[np.intp]
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
        # Each ending once: an average for many classes has hundreds.
        endings = [one and one.name for one in dict.fromkeys(self.endings)]
        return f"Trace(n_steps={len(self)}, n_atoms={len(self.entered)}, endings={endings})"

    def column(self, name: str) -> NDArray[Any]:
        """Return one attribute of all steps as an array, such as "n_atoms" or "seconds"."""
        return np.array([getattr(step, name) for step in self.steps])

    @property
    def scores(self) -> Array:
        """The validation scores; NaN for steps that were not scored."""
        return self.column("validation_score").astype(np.float64)

    def model(
        self, k: int, dictionary: Dictionary, scale: Array, limits: Limits | None = None
    ) -> Model:
        """Return the model after k steps."""
        coef = self.steps[k - 1].coef if k else np.zeros((len(self.start), 0))
        intercept = self.steps[k - 1].intercept if k else self.start
        kept: Any = slice(coef.shape[1])
        if k and len(self.steps[k - 1].gone):
            kept = np.delete(np.arange(coef.shape[1]), self.steps[k - 1].gone)
        atoms, entered = self.atoms[kept], self.entered[kept]
        if k and self.steps[k - 1].leaves:
            assert isinstance(dictionary, TreeDictionary)
            atoms = dictionary.with_leaf_values(atoms, self.steps[k - 1].leaves)
        return Model(dictionary, atoms, coef[:, kept], intercept, scale, entered, limits)


class Presence:
    """Which atoms each output has, step by step."""

    def __init__(self, n_outputs: int) -> None:
        #: The positions of the atoms of each output, in its own order.
        self.atoms: list[dict[int, None]] = [{} for _ in range(n_outputs)]

    def take(self, chosen: Iterable[int], removed: Iterable[tuple[int, int]]) -> None:
        """Update with the positions that the outputs chose, or -1, and those removed.

        For an average, the choices are those of one path after the other.
        """
        for own, place in zip(cycle(self.atoms), chosen, strict=False):
            if place >= 0:
                own.setdefault(int(place))
        for output, place in removed:
            del self.atoms[output][place]


def gone(n_entered: int, owned: Iterable[Iterable[int]]) -> NDArray[np.intp]:
    """Return the positions of the atoms that no output has."""
    is_gone = np.ones(n_entered, dtype=bool)
    for own in owned:
        is_gone[list(own)] = False
    return np.flatnonzero(is_gone)


class Registry:
    """All distinct atoms in order of entry."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.positions: dict[int, int] = {}
        self.entered: list[int] = []

    def place(self, atom: Any, id_: int, k: int) -> int:
        """Return the position of an atom, adding it if it is new."""
        if id_ not in self.positions:
            self.positions[id_] = len(self.rows)
            self.rows.append(atom)
            self.entered.append(k)
        return self.positions[id_]

    def atoms(self, empty: Any) -> Any:
        """Return all rows as one array; `empty` is an array without atoms."""
        return stack_rows([empty, *self.rows]) if self.rows else empty


class StepScore(ABC):
    """Scores the steps of a path on validation data, wherever that is; larger is better."""

    @abstractmethod
    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[float]:
        """Score steps with the same atoms: all that have entered, those already known first."""

    @abstractmethod
    def scores(self, steps: Sequence[Step], atoms: Any) -> list[float]:
        """Score the steps of a whole path, evaluating all atoms at once."""

    @abstractmethod
    def anew(self) -> StepScore:
        """Return a fresh score for another path."""
