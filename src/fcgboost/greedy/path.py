"""The record of a path: its steps, the atoms that entered, and scores on validation data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fcgboost.clipping import Limits
from fcgboost.designs.base import Array
from fcgboost.designs.devices import Host
from fcgboost.designs.forests import make_forest
from fcgboost.dictionaries import Dictionary, TreeDictionary, stack_rows
from fcgboost.model import Model
from fcgboost.stopping import Status, Step

# Steps that are scored together.
_STEPS_AT_ONCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Sequence[Step]):
    """One record per step, with the coefficients, so nothing needs to be run again.

    Attributes
    ----------
    steps : tuple of Step
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
        Every atom that entered, in order of entry; leaves that are corrected have the value 0.
    entered : ndarray of shape (n_atoms,)
        The step at which each atom entered.
    start : ndarray of shape (n_outputs,)
        The constants before the first step.
    endings : tuple of Status or None
        How each output ended by itself; None for one that could go on. Of an average of several
        paths, those of one path after the other.
    """

    steps: tuple[Step, ...]
    atoms: Any
    entered: NDArray[np.intp]
    start: Array
    endings: tuple[Status | None, ...]

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        return self.steps[index]

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        # Each ending once: an average of several paths with many classes has hundreds.
        endings = [one and one.name for one in dict.fromkeys(self.endings)]
        return f"Trace(n_steps={len(self)}, n_atoms={len(self.entered)}, endings={endings})"

    def column(self, name: str) -> NDArray[Any]:
        """Return one attribute of all steps as an array, such as "n_atoms" or "seconds"."""
        return np.array([getattr(step, name) for step in self.steps])

    @property
    def scores(self) -> Array:
        """The validation scores, NaN where steps were not judged."""
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
    """Which atoms every output has, step after step."""

    def __init__(self, n_outputs: int) -> None:
        #: The positions of the atoms of each output, in its own order.
        self.atoms: list[dict[int, None]] = [{} for _ in range(n_outputs)]

    def take(self, chosen: Iterable[int], removed: Iterable[tuple[int, int]]) -> None:
        """Hear of a step: what the outputs chose, -1 for nothing, and what left.

        Of an average of several paths, what the outputs of one path after the other chose.
        """
        for own, place in zip(cycle(self.atoms), chosen, strict=False):
            if place >= 0:
                own.setdefault(int(place))
        for output, place in removed:
            del self.atoms[output][place]

    def gone(self, n_entered: int) -> NDArray[np.intp]:
        """Return the positions of the atoms that no output has."""
        is_gone = np.ones(n_entered, dtype=bool)
        for own in self.atoms:
            is_gone[list(own)] = False
        return np.flatnonzero(is_gone)


class Registry:
    """All atoms that entered, once each, in order of entry."""

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
        """Return all rows as one array; `empty` is an array of no atoms."""
        return stack_rows([empty, *self.rows]) if self.rows else empty


class StepScore(ABC):
    """Scores the steps of a path on validation data, wherever that is. Larger is better."""

    @abstractmethod
    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[float]:
        """Score steps with the same atoms: those that entered by then, the known ones first."""

    @abstractmethod
    def scores(self, steps: Sequence[Step], atoms: Any) -> list[float]:
        """Score the steps of a whole path; all its atoms are evaluated at one go."""

    @abstractmethod
    def anew(self) -> StepScore:
        """Return the same for another path."""


class AtomValues(ABC):
    """The values of a path's atoms at some rows, and the decision values of its steps there."""

    n_atoms = 0

    @abstractmethod
    def append(self, atoms: Any, step: Step) -> None:
        """Evaluate atoms, which are in a step."""

    @abstractmethod
    def decision(self, steps: Sequence[Step]) -> list[Array]:
        """Return the decision values of steps, each of shape (n_rows, n_outputs)."""

    @abstractmethod
    def anew(self) -> AtomValues:
        """Return the same for another path."""


class ColumnValues(AtomValues):
    """Atoms as columns; `evaluate` returns those of parameter rows, in the memory of a device."""

    def __init__(self, evaluate: Callable[[Any], Any], device: Host | None = None) -> None:
        self._evaluate, self._device = evaluate, device or Host()
        #: Column after column.
        self._values = self._device.empty(0, 0)

    def append(self, atoms: Any, step: Step) -> None:
        """Put columns behind those that are there."""
        columns, first = self._evaluate(atoms), self.n_atoms
        self.n_atoms += columns.shape[1]
        if self.n_atoms > len(self._values):
            room = max(self.n_atoms, 2 * first, 64 if columns.shape[1] == 1 else 0)
            larger = self._device.empty(room, len(columns))
            larger[:first] = self._values[:first].reshape(-1, len(columns))
            self._values = larger
        self._values[first : self.n_atoms] = columns.T

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        """Multiply once for several steps, which reads the values once."""
        n_atoms, n_outputs = steps[-1].n_entered, len(steps[-1].intercept)
        coef = np.zeros((len(steps), n_outputs, n_atoms))
        for rows, step in zip(coef, steps, strict=True):
            rows[:, : step.n_entered] = step.coef
        flat = self._device.put(coef.reshape(-1, n_atoms))
        (decisions,) = self._device.fetch(self._values[:n_atoms].T @ flat.T)
        parts = np.split(decisions, len(steps), axis=1)
        return [f + step.intercept for f, step in zip(parts, steps, strict=True)]

    def anew(self) -> ColumnValues:
        return ColumnValues(self._evaluate, self._device)


class LeafValues(AtomValues):
    """Trees as the leaves that rows belong to; `leaves` returns those of one tree."""

    def __init__(self, leaves: Callable[[Any], Any], n_rows: int, device: Host) -> None:
        self._leaves, self._n_rows, self._device = leaves, n_rows, device
        #: For every output its trees, and their positions.
        self._forests: list[tuple[Any, list[int]]] = []

    def append(self, atoms: Any, step: Step) -> None:
        """Assign every tree to the output that has it."""
        if not self._forests:
            empty = partial(make_forest, self._n_rows, self._device)
            self._forests = [(empty(), []) for _ in step.intercept]
        for j in range(atoms.shape[0]):
            forest, places = self._forests[int(np.argmax(step.coef[:, self.n_atoms] != 0.0))]
            forest.append(self._leaves(atoms[j : j + 1]), len(step.leaves[self.n_atoms]))
            places.append(self.n_atoms)
            self.n_atoms += 1

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        """Add up the values of leaves."""
        return [self._decide(step) for step in steps]

    def _decide(self, step: Step) -> Array:
        decision = []
        for constant, (forest, places) in zip(step.intercept, self._forests, strict=True):
            # An earlier step has the first trees.
            values = [step.leaves[place] for place in places if place < step.n_entered]
            own = self._device.put(np.full(self._n_rows, constant))
            if values:
                own = forest.first_trees(len(values)).add_values(np.concatenate(values), own)
            decision.append(own)
        (found,) = self._device.fetch(self._device.xp.stack(decision).T)
        return np.asarray(found)

    def anew(self) -> LeafValues:
        return LeafValues(self._leaves, self._n_rows, self._device)


class Validator(StepScore):
    """A score of the decision values on validation data.

    Parameters
    ----------
    values : AtomValues
        The atoms' values there.
    score : callable
        Maps decision values of shape (n_samples, n_outputs) to a number, larger is better, or of
        a part of the rows to the sums that it is made of.
    """

    def __init__(self, values: AtomValues, score: Callable[[Array], Any]) -> None:
        self._values = values
        self._score = score

    def anew(self) -> Validator:
        return Validator(self._values.anew(), self._score)

    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[Any]:
        for atom in atoms[self._values.n_atoms :]:
            self._values.append(atom, steps[0])
        return [self._score(self._values.decision([step])[0]) for step in steps]

    def scores(self, steps: Sequence[Step], atoms: Any) -> list[Any]:
        values, scores = self._values.anew(), list[Any]()
        values.append(atoms, steps[-1])
        for start in range(0, len(steps), _STEPS_AT_ONCE):
            scores += map(self._score, values.decision(steps[start : start + _STEPS_AT_ONCE]))
        return scores
