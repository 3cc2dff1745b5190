"""The state of one output of the loop: its columns, which atoms they are, its coefficients."""

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
    """The coefficients of some columns with one ridge."""

    problem: Problem
    coef: Array
    objective: float

    @property
    def atom_coef(self) -> Array:
        """The coefficients of atoms (not of columns), the constant left out."""
        return self.problem.columns.atom_coef(self.coef)

    @property
    def leaf_values(self) -> list[Array]:
        """The coefficients of every tree's leaves, where these are corrected."""
        return self.problem.columns.leaf_values(self.coef)

    @property
    def intercept(self) -> float:
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0


@dataclass(eq=False)
class Output(Coefficients):
    """One class against the rest, in one path."""

    #: The objective where all coefficients are zero.
    null: float
    #: Those of the same columns with other ridges: corrected with it, they choose nothing.
    followers: list[Coefficients]
    #: The position in the path's trace of every column's atom.
    atoms: list[int] = field(default_factory=list)
    #: The column of every atom, by its id.
    places: dict[int, int] = field(default_factory=dict)
    #: How many atoms there were when all coefficients were last corrected.
    n_corrected: int = 0
    first_score: float = 0.0
    #: What was chosen last.
    choice: Choice | None = None
    #: How the output ended; None while it can go on.
    status: Status | None = None

    @property
    def columns(self) -> Columns:
        return self.problem.columns

    @property
    def is_behind(self) -> bool:
        """Whether atoms have entered since all coefficients were corrected."""
        return self.n_corrected < len(self.atoms)

    def point(self, scheme: Scheme, k: int) -> Point:
        """Return where the residual of step k is taken."""
        return Point(self.columns, self.problem.output, scheme.anchor(self.problem, self.coef, k))

    def take(self, position: int, atom: Any, id_: int) -> int:
        """Return the column of an atom, appending it if it is not there yet."""
        if id_ not in self.places:
            self.places[id_] = first = self.columns.n_columns
            self.atoms.append(position)
            self.columns.append(atom)
            zeros = np.zeros(self.columns.n_columns - first)
            for one in (self, *self.followers):
                one.coef = np.concatenate((one.coef, zeros))
        return self.places[id_]

    def drop(self, column: int) -> int:
        """Let the atom of a column go; return its position in the path's trace."""
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
    """Return an output that has the best constant, if any, and no atoms; the first ridge leads."""
    columns = design.columns([target] * len(ridges), loss, capacity, has_constant)
    # Two rows with the weights of the two labels stand for all: weights are counts.
    weights = columns.label_weights[0]
    coef = np.full(int(has_constant), loss.initial(_LABELS, weights))
    objective, null = (
        float(np.average(loss.value(_LABELS, f), weights=weights))
        for f in (np.full(2, coef.sum()), np.zeros(2))
    )
    first, *others = (Problem(columns, number, l2) for number, l2 in enumerate(ridges))
    followers = [Coefficients(problem, coef, objective) for problem in others]
    return Output(first, coef, objective, null, followers)
