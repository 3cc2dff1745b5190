"""What tests of the loop share: recipes, and runs of the loop on a matrix or on data."""

from typing import Any

import numpy as np
from strategies import Data

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.greedy.choice import Recipe
from fcgboost.greedy.loop import fit_path
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import (
    Epsilon,
    FullyCorrective,
    Original,
    Rescaled,
    Shrinkage,
    Truncation,
)
from fcgboost.losses import SquaredHinge
from fcgboost.selection.fixed import AllCandidates, SampledCandidates
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Status
from suites.solvers import MatrixDictionary

FULL = FullyCorrective(NewtonSolver())
CLASSICAL = [Original(), Shrinkage(), Truncation(), Epsilon(), Rescaled()]
SELECTIONS = [AllCandidates(), SampledCandidates(size=15)]
DICTIONARIES = [
    GaussDictionary(),
    GaussDictionary(width=0.7, centers="box", scaling="norm"),
    PolynomialDictionary(degree=2, scaling="max"),
    SigmoidDictionary(),
    ReluDictionary(),
]


def make_recipe(**changes: Any) -> Recipe:
    """Return the paper's problem (no ridge, no constant) by Newton's method, with changes."""
    plain: dict[str, Any] = {
        "loss": SquaredHinge(),
        "scheme": FULL,
        "selection": AllCandidates(),
        "n_candidates": 1000,
        "max_iter": 10,
        "l2": 0.0,
        "fit_intercept": False,
        "normalize": False,
        "reselect": False,
        "tol": 0.0,
        "key": 0,
    }
    return Recipe(**{**plain, **changes})


def run_on_matrix(
    A: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, **changes: Any
) -> tuple[Trace, Status]:
    """Run the loop with the columns of A as candidates."""
    weights = np.ones(len(y)) if weights is None else weights
    design = MemoryDesign(MatrixDictionary(), A, weights, standardize=False)
    return fit_path(design, [y], make_recipe(**changes))


def run_on_data(
    data: Data, dictionary: Dictionary, standardize: bool = True, **changes: Any
) -> tuple[Trace, Status]:
    """Run the loop with as many candidates as there are samples."""
    design = MemoryDesign(dictionary, data.X, data.weights, standardize)
    m = data.weights.sum()
    usual = {"n_candidates": int(m), "l2": 1.0 / m, "fit_intercept": True}
    return fit_path(design, [data.y], make_recipe(**{**usual, **changes}))


def columns_chosen(trace: Trace) -> list[int]:
    """Return the number of the column that every step chose."""
    return [int(trace.atoms[step.chosen[0]].argmax()) for step in trace]


def column_coef(trace: Trace, k: int) -> np.ndarray:
    """Return the coefficients of all columns after step k."""
    return trace[k - 1].coef[0] @ trace.atoms[: trace[k - 1].n_atoms]
