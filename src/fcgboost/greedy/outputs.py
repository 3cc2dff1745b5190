"""The state of one output of the loop: its columns, atoms and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fcgboost.designs.base import ActiveColumns, Array, Design, Point
from fcgboost.losses import Loss
from fcgboost.selection.base import Choice
from fcgboost.selection.gain import Gain
from fcgboost.solvers.base import Problem
from fcgboost.stopping import Status


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
    def intercept(self) -> float:
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0


@dataclass(eq=False)
class Output(Coefficients):
    """The numbers to fit, or one class versus the rest, in one path."""

    #: The objective at zero coefficients.
    null: float
    #: Coefficients of the same columns for other ridge penalties: corrected too, but not choosing.
    other_ridges: list[Coefficients]
    #: How learned atoms are scored.
    gain: Gain
    #: The position in the trace of each column's atom.
    atoms: list[int] = field(default_factory=list)
    #: The column of each atom, by its id.
    column_of: dict[int, int] = field(default_factory=dict)
    #: The number of atoms at the last correction of all coefficients.
    n_corrected: int = 0
    first_score: float = 0.0
    #: The state of the rows at the coefficients, if known.
    state: Any = None
    #: The choice of this step; None if the output has ended.
    choice: Choice | None = None
    #: Why the output ended; None while it continues.
    status: Status | None = None

    @property
    def columns(self) -> ActiveColumns:
        return self.problem.columns

    @property
    def ridges(self) -> list[Coefficients]:
        """The coefficients for all ridge penalties, its own first."""
        return [self, *self.other_ridges]

    @property
    def needs_correction(self) -> bool:
        """Whether atoms have entered since the last correction of all coefficients."""
        return self.n_corrected < len(self.atoms)

    @property
    def point(self) -> Point:
        """Its coefficients, where the next step takes the residual."""
        return self.problem.point(self.coef, self.state)

    def narrow(self, objective: float) -> None:
        """Let the loss follow an objective."""
        loss = self.columns.loss.narrowed(objective)
        if loss is not self.columns.loss:
            self.columns.narrow(loss)
            self.state = None

    def take(self, position: int, choice: Choice) -> int:
        """Return the column of an atom, appending it if it is new."""
        if choice.id not in self.column_of:
            columns = self.columns
            first = columns.n_columns
            self.column_of[choice.id] = first
            self.atoms.append(position)
            columns.append(choice.atom, choice.entry)
            zeros = np.zeros(columns.n_columns - first)
            for ridge in self.ridges:
                ridge.coef = np.concatenate((ridge.coef, zeros))
        return self.column_of[choice.id]

    def drop(self, column: int) -> int:
        """Remove the atom of a column; return its position in the trace."""
        for id_, j in list(self.column_of.items()):
            if j == column:
                del self.column_of[id_]
            elif j > column:
                self.column_of[id_] = j - 1
        self.columns.drop(column)
        self.state = None
        self.n_corrected -= 1
        for ridge in self.ridges:
            ridge.coef = np.delete(ridge.coef, column)
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
    columns = design.columns(
        target,
        loss,
        capacity,
        has_constant,
        len(ridges),
    )
    start = columns.start()
    coef = np.full(int(has_constant), start.constant)
    problems = [Problem(columns, number, l2) for number, l2 in enumerate(ridges)]
    first = problems[0]
    return Output(
        first,
        coef,
        start.risk,
        null=start.null,
        other_ridges=[Coefficients(problem, coef, start.risk) for problem in problems[1:]],
        gain=Gain(first.l2, has_constant, columns.total_weight),
    )
