"""An output whose columns have been corrected, without a loop around it."""

import numpy as np

from fcgboost.designs.memory import MemoryDesign
from fcgboost.greedy.outputs import Output, make_output
from fcgboost.losses import Loss
from fcgboost.selection.base import Choice
from fcgboost.solvers import NewtonSolver
from fcgboost.solvers.base import Problem
from tests.suites.solvers import MatrixDictionary


def solve(problem: Problem) -> tuple[np.ndarray, float]:
    """Solve from nothing."""
    solution = NewtonSolver().solve(problem, np.zeros(problem.columns.n_columns))
    return solution.coef, solution.objective


def solved(A: np.ndarray, y: np.ndarray, loss: Loss, l2: float, constant: bool) -> Output:
    """Return an output over the columns of A, at its solution."""
    design = MemoryDesign(MatrixDictionary(), A, np.ones(len(A)), standardize=False)
    output = make_output(design, y, loss, [l2], A.shape[1], constant)
    for j in range(A.shape[1]):
        output.take(j, Choice(np.eye(A.shape[1])[[j]], j, 0.0))
    output.coef, output.objective = solve(output.problem)
    return output
