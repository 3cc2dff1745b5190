"""What tests of the loop share: recipes, and runs of the loop on a matrix or on data."""

from typing import Any

import numpy as np

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
from tests.suites.solvers import MatrixDictionary
from tests.suites.strategies import Data

FULL = FullyCorrective(NewtonSolver())
CLASSICAL = [Original(), Shrinkage(), Truncation(), Epsilon(), Rescaled()]
SELECTIONS = [AllCandidates(), SampledCandidates(size=15)]
DICTIONARIES = [
    GaussDictionary(),
    GaussDictionary(width=0.7, centers="box"),
    PolynomialDictionary(degree=2),
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


def fit_one(*arguments: Any, **options: Any) -> tuple[Trace, Status]:
    """Run the loop with a single ridge."""
    (trace,), status = fit_path(*arguments, **options)
    return trace, status


def run_on_matrix(
    A: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, **changes: Any
) -> tuple[Trace, Status]:
    """Run the loop with the columns of A as candidates."""
    weights = np.ones(len(y)) if weights is None else weights
    design = MemoryDesign(MatrixDictionary(), A, weights, standardize=False)
    return fit_one(design, [y], make_recipe(**changes))


def run_on_data(
    data: Data, dictionary: Dictionary, standardize: bool = True, **changes: Any
) -> tuple[Trace, Status]:
    """Run the loop with as many candidates as there are samples."""
    design = MemoryDesign(dictionary, data.X, data.weights, standardize)
    m = data.weights.sum()
    defaults = {"n_candidates": int(m), "l2": 1.0 / m, "fit_intercept": True}
    return fit_one(design, [data.y], make_recipe(**{**defaults, **changes}))


def columns_chosen(trace: Trace) -> list[int]:
    """Return the number of the column that every step chose."""
    return [int(trace.atoms[step.chosen[0]].argmax()) for step in trace]


def column_coef(trace: Trace, k: int) -> np.ndarray:
    """Return the coefficients of all columns after step k."""
    return trace[k - 1].coef[0] @ trace.atoms[: trace[k - 1].n_atoms]


def assert_same_until_a_tie(trace: Trace, expected: Trace) -> None:
    """The same path, up to a step where two candidates tie up to rounding in float32.

    Sums round relative to their terms, which are of the size of the first score: later they cancel.
    """
    assert len(trace) > 0
    largest = np.max(expected[0].scores)
    for step, reference in zip(trace, expected, strict=False):
        is_tie = not np.array_equal(
            trace.atoms[: step.n_atoms], expected.atoms[: reference.n_atoms]
        ) or not np.array_equal(step.chosen, reference.chosen)
        if is_tie:
            slack = 1e-7 * largest
            np.testing.assert_allclose(step.scores, reference.scores, rtol=1e-5, atol=slack)
            return
        np.testing.assert_allclose(step.scores, reference.scores, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(step.objectives, reference.objectives, rtol=1e-9)
        size = max(1.0, np.abs(reference.coef).max(initial=0.0))
        np.testing.assert_allclose(step.coef, reference.coef, rtol=0.0, atol=1e-8 * size)
    assert len(trace) == len(expected)
    assert trace.endings == expected.endings
