"""The state of one output of the loop: its columns, which atoms they are, its coefficients."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import neg
from typing import Any

import numpy as np

from fcgboost.backends.base import Array, Columns, Design
from fcgboost.losses import CurvedLoss, Loss
from fcgboost.schemes import Scheme
from fcgboost.selection.fixed import Choice
from fcgboost.solvers.base import Problem
from fcgboost.stopping import Status

_LABELS = np.array([-1.0, 1.0])
# Margins this close to a kink of the loss stand at it.
_AT_A_KINK = 1e-9


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
    atoms : list of int
        The position in the path's trace of every column's atom.
    places : dict from int to int
        The column of every atom, by its id.
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
    atoms: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    first_score: float = 0.0
    choice: Choice | None = None
    status: Status | None = None

    @property
    def atom_coef(self) -> Array:
        """The coefficients of atoms (not of columns), the constant left out."""
        columns = self.problem.columns
        return (self.coef * columns.factors)[int(columns.has_constant) :]

    @property
    def intercept(self) -> float:
        """The coefficient of the constant."""
        return float(self.coef[0]) if self.problem.columns.has_constant else 0.0

    def take(self, position: int, atom: Any, id_: int) -> int:
        """Return the column of an atom, appending it if the output does not have it yet."""
        if id_ not in self.places:
            self.places[id_] = self.problem.columns.n_columns
            self.atoms.append(position)
            self.problem.columns.append(atom)
            self.coef = np.append(self.coef, 0.0)
        return self.places[id_]

    def drop(self, column: int, coef: Array, f: Any) -> None:
        """Let the atom of a column go.

        Parameters
        ----------
        column : int
        coef, f : k-vector, m-vector
            The coefficients from now on, zero for the column, and the values there.
        """
        self.places = {id_: j - (j > column) for id_, j in self.places.items() if j != column}
        self.problem.drop(column, coef, f)
        self.coef = np.delete(coef, column)
        del self.atoms[column - int(self.problem.columns.has_constant)]


def columns_of(
    design: Design, n_outputs: int, capacity: int, has_constant: bool, is_shared: bool
) -> list[Columns]:
    """Return every output room for so many atoms; those that are shared are stored once."""
    sets = [design.columns(capacity, has_constant)]
    while len(sets) < n_outputs:
        beside = sets[0].beside() if is_shared else None
        sets.append(design.columns(capacity, has_constant) if beside is None else beside)
    return sets


def new_output(design: Design, y: Array, loss: Loss, l2: float, columns: Columns) -> Output:
    """Return an output that has the best constant, if any, and empty columns."""
    y, fit_intercept = design.put(y), columns.has_constant
    problem = Problem(loss, y, design.weights, columns, l2)
    # Two rows with the weights of the two labels stand for all: weights are counts.
    totals = [
        columns.total(partial(_weight_of, label), y, design.weights) for label in _LABELS.tolist()
    ]
    counts = np.array(columns.fetch(*totals))
    coef = np.full(int(fit_intercept), loss.initial(_LABELS, counts))
    null = float(np.average(loss.value(_LABELS, np.zeros(2)), weights=counts))
    return Output(problem, coef, problem.objective(coef), null)


def residual(scheme: Scheme, output: Output, k: int) -> Any:
    """Return the negative gradient of the mean loss at the scheme's anchor, an m-vector."""
    problem = output.problem
    f = problem.values(scheme.anchor(problem, output.coef, k))
    if not isinstance(problem.loss, CurvedLoss):
        # Line searches and exact solvers put rows right at a kink, where rounding would choose
        # the subgradient: margins that close to it count as beyond it.
        f = problem.columns.rows(_beyond_kinks, problem.y, f)
    return problem.columns.rows(neg, problem.slopes(f))


def _weight_of(label: float, y: Any, weights: Any) -> Any:
    return weights * (y == label)


def _beyond_kinks(y: Any, f: Any) -> Any:
    return f + _AT_A_KINK * y
