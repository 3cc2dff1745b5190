"""Scores of the steps of a path on validation data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.designs.base import Array
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import Host
from fcgboost.designs.forests import make_forest
from fcgboost.dictionaries import Dictionary, TreeDictionary
from fcgboost.greedy.path import StepScore
from fcgboost.model import bounds_of
from fcgboost.stopping import Step

# Steps scored together.
_STEPS_AT_ONCE = 16


class ColumnValues:
    """The values of a path's atoms at some rows, as columns on a device.

    This and `LeafValues` compute the decision values of steps, of shape (n_rows, n_outputs).
    """

    def __init__(self, evaluate: Callable[[Any], Any], device: Host | None = None) -> None:
        self._evaluate, self._device, self.n_atoms = evaluate, device or Host(), 0
        #: One row per column.
        self._values = self._device.empty(0, 0)

    def append(self, atoms: Any, step: Step) -> None:
        columns, first = self._evaluate(atoms), self.n_atoms
        self.n_atoms += columns.shape[1]
        if self.n_atoms > len(self._values):
            room = max(self.n_atoms, 2 * first, 64 if columns.shape[1] == 1 else 0)
            larger = self._device.empty(room, len(columns))
            larger[:first] = self._values[:first].reshape(-1, len(columns))
            self._values = larger
        self._values[first : self.n_atoms] = columns.T

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        """Return decision values of several steps with one product."""
        n_atoms, n_outputs = steps[-1].n_entered, len(steps[-1].intercept)
        coef = np.zeros((len(steps), n_outputs, n_atoms))
        for rows, step in zip(coef, steps, strict=True):
            rows[:, : step.n_entered] = step.coef
        flat = self._device.put(coef.reshape(-1, n_atoms))
        (decisions,) = self._device.fetch(self._values[:n_atoms].T @ flat.T)
        parts = np.split(decisions, len(steps), axis=1)
        return [f + step.intercept for f, step in zip(parts, steps, strict=True)]


class LeafValues:
    """The leaf numbers of rows in a path's trees; `leaves` returns those of one tree."""

    def __init__(self, leaves: Callable[[Any], Any], n_rows: int, device: Host) -> None:
        self._leaves, self._n_rows, self._device, self.n_atoms = leaves, n_rows, device, 0
        #: The trees of each output, and their positions.
        self._forests: list[tuple[Any, list[int]]] = []

    def append(self, atoms: Any, step: Step) -> None:
        """Assign each tree to its output."""
        if not self._forests:
            empty = partial(make_forest, self._n_rows, self._device)
            self._forests = [(empty(), []) for _ in step.intercept]
        for j in range(atoms.shape[0]):
            forest, places = self._forests[int(np.argmax(step.coef[:, self.n_atoms] != 0.0))]
            forest.append(self._leaves(atoms[j : j + 1]), len(step.leaves[self.n_atoms]))
            places.append(self.n_atoms)
            self.n_atoms += 1

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        return [self._decide(step) for step in steps]

    def _decide(self, step: Step) -> Array:
        decision = []
        for constant, (forest, places) in zip(step.intercept, self._forests, strict=True):
            # Earlier steps have fewer trees.
            values = [step.leaves[place] for place in places if place < step.n_entered]
            own = self._device.put(np.full(self._n_rows, constant))
            if values:
                own = forest.first_trees(len(values)).add_values(np.concatenate(values), own)
            decision.append(own)
        (found,) = self._device.fetch(self._device.xp.stack(decision).T)
        return np.asarray(found)


class Validator(StepScore):
    """Scores decision values on validation data.

    Parameters
    ----------
    values : ColumnValues or LeafValues
        Without atoms so far.
    score : callable
        Maps decision values of shape (n_samples, n_outputs) to a score, larger is better, or those
        of a part of the rows to sums that make up the score.
    """

    def __init__(self, values: ColumnValues | LeafValues, score: Callable[[Array], Any]) -> None:
        self._empty, self._values, self._score = values, copy(values), score

    def anew(self) -> Validator:
        return Validator(self._empty, self._score)

    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[Any]:
        for atom in atoms[self._values.n_atoms :]:
            self._values.append(atom, steps[0])
        return [self._score(self._values.decision([step])[0]) for step in steps]

    def scores(self, steps: Sequence[Step], atoms: Any) -> list[Any]:
        values, scores = copy(self._empty), list[Any]()
        values.append(atoms, steps[-1])
        for start in range(0, len(steps), _STEPS_AT_ONCE):
            scores += map(self._score, values.decision(steps[start : start + _STEPS_AT_ONCE]))
        return scores


def make_validator(
    X: Any,
    dictionary: Dictionary,
    scale: Array,
    score: Callable[[Array], Any],
    device: Host | None = None,
) -> Validator:
    """Return a validator that scores steps on the rows X, which are already clipped."""
    device = Host() if device is None else device
    width = 1 if sparse.issparse(X) else X.shape[1]
    blocks = row_blocks(X.shape[0], device.block_entries // max(1, width))
    if (bounds := bounds_of(dictionary, scale)) is not None:
        X = bounds.apply(X)
    rows, units = (device.put(X), device.put(scale)) if device.is_torch else (X, scale)

    def over_rows(function: Callable[[Any], Any]) -> Any:
        parts = [function(rows[block]) for block in blocks]
        return parts[0] if len(parts) == 1 else device.xp.concatenate(parts)

    def evaluate(atoms: Any) -> Any:
        here = device.put(atoms) if device.is_torch else atoms
        return over_rows(lambda some: dictionary.evaluate(some, here, units))

    if isinstance(dictionary, TreeDictionary) and dictionary.corrects_leaves:
        trees = dictionary

        def leaves(atom: Any) -> Any:
            return over_rows(lambda some: trees.leaves(some, atom))

        return Validator(LeafValues(leaves, X.shape[0], device), score)
    return Validator(ColumnValues(evaluate, device), score)
