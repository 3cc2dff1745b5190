"""Scores of the steps of a path on validation data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fcgboost import threads
from fcgboost.arrays import Array, Codes, Matrix, Tensor, is_sparse
from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.devices import HostDevice
from fcgboost.dictionaries import Dictionary, TreeDictionary
from fcgboost.greedy.path import StepScore
from fcgboost.model import bounds_of
from fcgboost.stopping import Step

#: Maps decision values to a score, larger is better, to several, or to sums that make up one.
Score = Callable[[Array], Any]

# Steps scored together.
_STEPS_AT_ONCE = 16
# Columns allocated at once; growing copies them. Untouched memory costs nothing. The paths of
# presets fit in.
_ROOM = 256


@dataclass
class ColumnValues:
    """The values of a path's atoms at some rows, as columns on a device.

    This and `LeafValues` compute the decision values of steps, of shape (n_rows, n_outputs).
    """

    evaluate: Callable[[Matrix], Matrix]
    device: HostDevice
    #: One row per column.
    values: Matrix
    n_atoms: int = 0

    def append(self, atoms: Matrix, step: Step) -> None:
        columns = self.evaluate(atoms)
        first = self.n_atoms
        self.n_atoms += columns.shape[1]
        if self.n_atoms > len(self.values):
            larger = self.device.empty(max(self.n_atoms, 2 * first, _ROOM), len(columns))
            larger[:first] = self.values[:first]
            self.values = larger
        self.values[first : self.n_atoms] = columns.T

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        """Return decision values of several steps with one product."""
        n_atoms = steps[-1].n_entered
        n_outputs = len(steps[-1].intercept)
        coef = np.zeros((len(steps), n_outputs, n_atoms))
        for rows, step in zip(coef, steps, strict=True):
            rows[:, : step.n_entered] = step.coef
        flat = self.device.put(coef.reshape(-1, n_atoms))
        (decisions,) = self.device.fetch(self.values[:n_atoms].T @ flat.T)
        parts = np.split(decisions, len(steps), axis=1)
        return [f + step.intercept for f, step in zip(parts, steps, strict=True)]


@dataclass
class LeafValues:
    """The leaf numbers of rows in a path's trees; `leaves` returns those of one tree."""

    leaves: Callable[[Array], Codes | Tensor]
    device: HostDevice
    n_rows: int
    n_atoms: int = 0
    #: The trees of each output, and their positions.
    forests: Sequence[tuple[Any, list[int]]] = ()

    def append(self, atoms: Matrix, step: Step) -> None:
        """Assign each tree to its output."""
        if not self.forests:
            self.forests = [(self.device.forest(self.n_rows), []) for _ in step.intercept]
        for j in range(atoms.shape[0]):
            forest, positions = self.forests[int(np.argmax(step.coef[:, self.n_atoms] != 0.0))]
            forest.append(self.leaves(atoms[j : j + 1]), len(step.leaves[self.n_atoms]))
            positions.append(self.n_atoms)
            self.n_atoms += 1

    def decision(self, steps: Sequence[Step]) -> list[Array]:
        return [self._decide(step) for step in steps]

    def _decide(self, step: Step) -> Array:
        outputs = []
        for constant, (forest, positions) in zip(step.intercept, self.forests, strict=True):
            # Earlier steps have fewer trees.
            leaves = [step.leaves[j] for j in positions if j < step.n_entered]
            output = self.device.put(np.full(self.n_rows, constant))
            if leaves:
                output = forest.first_trees(len(leaves)).add_values(np.concatenate(leaves), output)
            outputs.append(output)
        (decision,) = self.device.fetch(self.device.xp.stack(outputs).T)
        return decision


@dataclass
class Validator(StepScore):
    """Scores decision values on validation data.

    Parameters
    ----------
    empty : ColumnValues or LeafValues
        Without atoms.
    score : callable
        A function of decision values of shape (n_samples, n_outputs).
    """

    empty: ColumnValues | LeafValues
    score: Score

    def __post_init__(self) -> None:
        self._values = copy(self.empty)

    def fresh(self) -> Validator:
        return replace(self)

    def __call__(self, steps: Sequence[Step], atoms: Sequence[Matrix]) -> list[Any]:
        for atom in atoms[self._values.n_atoms :]:
            self._values.append(atom, steps[0])
        return [self.score(self._values.decision([step])[0]) for step in steps]

    def scores(self, steps: Sequence[Step], atoms: Matrix) -> list[Any]:
        scores: list[Any] = []
        values = copy(self.empty)
        values.append(atoms, steps[-1])
        for start in range(0, len(steps), _STEPS_AT_ONCE):
            scores += map(self.score, values.decision(steps[start : start + _STEPS_AT_ONCE]))
        return scores


def make_validator(
    X: Matrix,
    dictionary: Dictionary,
    scale: Array,
    score: Score,
    device: HostDevice,
    n_threads: int = 1,
) -> Validator:
    """Return a validator that scores steps on the rows X, which are already clipped."""
    n_rows = X.shape[0]
    width = 1 if is_sparse(X) else X.shape[1]
    blocks = row_blocks(n_rows, device.block_entries // width)
    bounds = bounds_of(dictionary, scale)
    if bounds is not None:
        X = bounds.apply(X)
    rows = device.put(X) if device.is_torch else X
    units = device.put(scale)

    def by_block(function: Callable[[Matrix], Matrix]) -> Matrix:
        parts = threads.each(
            lambda block: function(rows[block]),
            blocks,
            1 if device.is_torch else n_threads,
        )
        return parts[0] if len(parts) == 1 else device.xp.concatenate(parts)

    def evaluate(atoms: Matrix) -> Matrix:
        centres = device.put(atoms) if device.is_torch else atoms
        return by_block(lambda block: dictionary.evaluate(block, centres, units))

    def leaves(tree: Array) -> Codes | Tensor:
        assert isinstance(dictionary, TreeDictionary)
        if device.is_torch:
            return by_block(partial(dictionary.leaves, atom=tree, walk=device.walk))
        return dictionary.leaves(rows, tree)

    if dictionary.corrects_leaves:
        return Validator(LeafValues(leaves, device, n_rows), score)
    return Validator(ColumnValues(evaluate, device, device.empty(0, n_rows)), score)
