"""Which atom may enter, and the endings when none may."""

import numpy as np
import pytest

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    GaussDictionary,
)
from fcgboost.selection.fixed import AllCandidates, Selection
from fcgboost.stopping import Status
from tests.suites.marks import also
from tests.suites.paths import (
    CLASSICAL,
    SELECTIONS,
    fit_one,
    make_recipe,
    run_on_data,
    run_on_matrix,
)
from tests.suites.solvers import MatrixDictionary
from tests.suites.strategies import simulation

each_selection = pytest.mark.parametrize("selection", SELECTIONS, ids=repr)


@pytest.mark.parametrize("seed", [0, *also(1, 2)])
def test_reselection_stalls_where_the_default_goes_on(seed: int) -> None:
    data = simulation(1000, 0.3, seed)
    dictionary = GaussDictionary(width=0.35, centers="box")
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=False)
    letter, status = fit_one(design, [data.y], make_recipe(l2=1e-3, max_iter=65, reselect=True))
    assert status is Status.STALLED
    assert 10 <= len(letter) <= 18
    trace, status = fit_one(design, [data.y], make_recipe(l2=1e-3, max_iter=65))
    assert (status, len(trace), trace[-1].n_atoms) == (Status.STEP_LIMIT, 65, 65)
    for first, second in zip(letter, trace, strict=False):
        np.testing.assert_array_equal(first.coef, second.coef)


def test_reselection_does_not_stall_the_classical_schemes() -> None:
    data = simulation(100, 0.3, seed=0)
    for scheme in CLASSICAL:
        changes = {"scheme": scheme, "reselect": True, "max_iter": 50}
        trace, status = run_on_data(data, GaussDictionary(width=0.5), **changes)
        assert (status, len(trace)) == (Status.STEP_LIMIT, 50)
        assert trace[-1].n_atoms < 50


@each_selection
def test_few_candidates_are_exhausted(selection: Selection) -> None:
    data = simulation(25, 0.3, seed=12)
    n_candidates = 10 if isinstance(selection, AllCandidates) else 25
    changes = {"selection": selection, "n_candidates": n_candidates, "max_iter": 40}
    trace, status = run_on_data(data, GaussDictionary(), **changes)
    assert (status, len(trace)) == (Status.EXHAUSTED, n_candidates)


def test_a_small_score_ends_the_loop_by_tolerance() -> None:
    data = simulation(100, 0.0, seed=13)
    free, _ = run_on_data(data, GaussDictionary(), max_iter=60)
    trace, status = run_on_data(data, GaussDictionary(), max_iter=60, tol=0.05)
    assert status is Status.TOLERANCE
    scores = free.column("scores")[:, 0]
    assert len(trace) == np.argmax(scores < 0.05 * scores[0])
    assert 0 < len(trace) < 60


def test_separable_data_end_with_a_zero_score() -> None:
    y = np.where(np.arange(20) < 8, 1.0, -1.0)
    trace, status = run_on_matrix(np.column_stack([y, np.eye(20)]), y)
    assert (status, len(trace)) == (Status.ZERO_SCORE, 1)
    assert trace[-1].objectives[0] == pytest.approx(0.0, abs=1e-28)


def test_no_correlation_at_all_gives_an_empty_path() -> None:
    A, y = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    trace, status = run_on_matrix(A, y)
    assert (status, len(trace)) == (Status.ZERO_SCORE, 0)
    model = trace.model(0, MatrixDictionary(), np.ones(1))
    np.testing.assert_array_equal(model.decision(A), np.zeros((4, 1)))
