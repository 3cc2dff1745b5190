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
class Output:
    """One class against the rest, in one path.

    Attributes
    ----------
    problem : Problem
    coef : ndarray of shape (n_columns,)
    objective : float
    null : float
        The objective where all coefficients are zero.
    first_score : float
    choice : Choice or None
        What was chosen last.
    status : Status or None
        How the output ended; None while it can go on.
    """

    problem: Problem
    coef: Array
    objective: float
    null: float
    first_score: float = 0.0
    choice: Choice | None = None
    status: Status | None = None

    @property
    def atom_coef(self) -> Array:
        """The coefficients of atoms (not of columns), the constant left out."""
        columns = self.problem.columns
        return (self.coef * columns.factors)[columns.has_constant :]

    @property
    def leaf_values(self) -> list[Array] | None:
        """The coefficients of every tree's leaves; None where atoms have one each."""
        return self.problem.columns.leaf_values(self.coef)

    @property
    def intercept(self) -> float:
        """The coefficient of the constant."""
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0

    def point(self, scheme: Scheme, k: int) -> Point:
        """Return where the residual of step k is taken."""
        problem = self.problem
        return Point(problem.columns, problem.output, scheme.anchor(problem, self.coef, k))


@dataclass(eq=False)
class Group:
    """Outputs that have the same atoms, and their columns.

    Attributes
    ----------
    outputs : list of Output
    followers : list of list of Output
        The same outputs with other ridges, one list per ridge: they choose nothing, and are
        corrected when the others are.
    atoms : list of int
        The position in the path's trace of every column's atom.
    places : dict from int to int
        The column of every atom, by its id.
    """

    outputs: list[Output]
    followers: list[list[Output]] = field(default_factory=list)
    atoms: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    #: How many atoms there were when all coefficients were last corrected.
    n_corrected: int = 0

    @property
    def columns(self) -> Columns:
        """Their columns."""
        return self.outputs[0].problem.columns

    @property
    def objective(self) -> float:
        """The sum of the outputs' objectives."""
        return sum([output.objective for output in self.outputs])

    def take(self, position: int, atom: Any, id_: int) -> int:
        """Return the column of an atom, appending it if it is not there yet."""
        if id_ not in self.places:
            columns = self.columns
            self.places[id_] = first = columns.n_columns
            self.atoms.append(position)
            columns.append(atom)
            zeros = np.zeros(columns.n_columns - first)
            for outputs in (self.outputs, *self.followers):
                for output in outputs:
                    output.coef = np.concatenate((output.coef, zeros))
        return self.places[id_]

    def drop(self, column: int) -> int:
        """Let the atom of a column go; return its position in the path's trace."""
        self.places = {id_: j - (j > column) for id_, j in self.places.items() if j != column}
        self.columns.drop(column)
        self.n_corrected -= 1
        for outputs in (self.outputs, *self.followers):
            for output in outputs:
                output.coef = np.delete(output.coef, column)
        return self.atoms.pop(column - int(self.columns.has_constant))


def make_group(
    design: Design,
    targets: Sequence[Any],
    loss: Loss,
    ridges: Sequence[float],
    capacity: int,
    has_constant: bool,
) -> Group:
    """Return outputs that have the best constants, if any, and no atoms; the first ridge leads."""
    columns = design.columns([*targets] * len(ridges), loss, capacity, has_constant)
    outputs: list[list[Output]] = [[] for _ in ridges]
    for number, weights in enumerate(columns.label_weights):
        ridge = number // len(targets)
        # Two rows with the weights of the two labels stand for all: weights are counts.
        coef = np.full(int(has_constant), loss.initial(_LABELS, weights))
        values = np.full(2, coef.sum())
        objective, null = (
            float(np.average(loss.value(_LABELS, f), weights=weights))
            for f in (values, np.zeros(2))
        )
        problem = Problem(columns, number, ridges[ridge])
        outputs[ridge].append(Output(problem, coef, objective, null))
    return Group(outputs[0], outputs[1:])
