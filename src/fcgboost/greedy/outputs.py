"""The state of one output of the loop: its columns, atoms and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fcgboost.designs.base import Array, Columns, Design, Point
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.selection.fixed import Choice
from fcgboost.solvers.base import Problem
from fcgboost.stopping import Status

_LABELS = np.array([-1.0, 1.0])


@dataclass(eq=False)
class Coefficients:
    """The coefficients of the columns for one ridge penalty."""

    problem: Problem
    coef: Array
    objective: float

    @property
    def atom_coef(self) -> Array:
        """The coefficients of atoms (not of columns), without the constant."""
        return self.problem.columns.atom_coef(self.coef)

    @property
    def leaf_values(self) -> list[Array]:
        """The leaf coefficients of each tree, if leaves are corrected."""
        return self.problem.columns.leaf_values(self.coef)

    @property
    def intercept(self) -> float:
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0


@dataclass(eq=False)
class Output(Coefficients):
    """One class versus the rest, in one path."""

    #: The objective at zero coefficients.
    null: float
    #: Coefficients of the same columns for other ridge penalties: corrected too, but not choosing.
    followers: list[Coefficients]
    #: The position in the trace of each column's atom.
    atoms: list[int] = field(default_factory=list)
    #: The column of each atom, by its id.
    places: dict[int, int] = field(default_factory=dict)
    #: The number of atoms at the last correction of all coefficients.
    n_corrected: int = 0
    first_score: float = 0.0
    #: The last choice.
    choice: Choice | None = None
    #: Why the output ended; None while it continues.
    status: Status | None = None

    @property
    def columns(self) -> Columns:
        return self.problem.columns

    @property
    def is_behind(self) -> bool:
        """Whether atoms have entered since the last correction of all coefficients."""
        return self.n_corrected < len(self.atoms)

    def point(self, scheme: Scheme, k: int) -> Point:
        """Return where step k takes the residual."""
        return Point(self.columns, self.problem.output, scheme.anchor(self.problem, self.coef, k))

    def take(self, position: int, atom: Any, id_: int) -> int:
        """Return the column of an atom, appending it if it is new."""
        if id_ not in self.places:
            self.places[id_] = first = self.columns.n_columns
            self.atoms.append(position)
            self.columns.append(atom)
            zeros = np.zeros(self.columns.n_columns - first)
            for one in (self, *self.followers):
                one.coef = np.concatenate((one.coef, zeros))
        return self.places[id_]

    def drop(self, column: int) -> int:
        """Remove the atom of a column; return its position in the trace."""
        self.places = {id_: j - (j > column) for id_, j in self.places.items() if j != column}
        self.columns.drop(column)
        self.n_corrected -= 1
        for one in (self, *self.followers):
            one.coef = np.delete(one.coef, column)
        return self.atoms.pop(column - int(self.columns.has_constant))


def make_output(
    design: Design,
    target: Any,
    loss: Loss,
    ridges: Sequence[float],
    capacity: int,
    has_constant: bool,
) -> Output:
    """Return an output with the best constant, if any, and no atoms; the first ridge leads."""
    columns = design.columns([target] * len(ridges), loss, capacity, has_constant)
    # Weights are counts: one row per label represents all.
    weights = columns.label_weights[0]
    coef = np.full(int(has_constant), loss.initial(_LABELS, weights))
    objective, null = (
        float(np.average(loss.value(_LABELS, f), weights=weights))
        for f in (np.full(2, coef.sum()), np.zeros(2))
    )
    first, *others = (Problem(columns, number, l2) for number, l2 in enumerate(ridges))
    followers = [Coefficients(problem, coef, objective) for problem in others]
    return Output(first, coef, objective, null, followers)
