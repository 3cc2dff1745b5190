"""Several classes that share their atoms."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from suites.paths import CLASSICAL, SELECTIONS, make_recipe

from fcgboost import FCGBoostClassifier, Removal, load_model
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.greedy.loop import fit_path, fit_paths
from fcgboost.greedy.path import Trace
from fcgboost.losses import SquaredHinge
from fcgboost.selection.fixed import AllCandidates, Selection
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers.base import Problem
from fcgboost.solvers.newton import NewtonSolver
from fcgboost.stopping import Status
from fcgboost.training.resume import FitState, read, write

IRIS = load_iris(return_X_y=True)
# More classes than atoms enter at once.
FIVE = np.digitize(IRIS[0][:, 0] + IRIS[0][:, 2], [7.0, 9.0, 10.0, 11.5])


def targets_of(y: np.ndarray) -> list[np.ndarray]:
    return [np.where(y == c, 1.0, -1.0) for c in np.unique(y)]


def make_design(X: np.ndarray) -> MemoryDesign:
    return MemoryDesign(ReluDictionary(), X, np.ones(len(X)), standardize=True)


def shared(**changes: Any) -> Any:
    return make_recipe(**{"l2": 1e-2, "fit_intercept": True, "is_shared": True, **changes})


def scores_at(
    design: MemoryDesign, trace: Trace, k: int, columns: np.ndarray, y: np.ndarray = IRIS[1]
) -> np.ndarray:
    """Give the scores of columns for every class after k steps, from the definition."""
    X, Y = IRIS[0], np.column_stack(targets_of(y))
    f = np.tile(trace.start, (len(y), 1))
    if k > 0:
        step = trace[k - 1]
        chosen = design.dictionary.evaluate(X, trace.atoms[: step.n_entered], design.scale)
        f = chosen @ step.coef.T + step.intercept
    R = 2.0 * Y * np.maximum(0.0, 1.0 - Y * f) / len(y)
    return np.abs(columns.T @ R)


def test_the_three_best_of_what_the_classes_choose_enter_all() -> None:
    X, y = IRIS[0], FIVE
    design = make_design(X)
    trace, _ = fit_path(design, targets_of(y), shared(max_iter=8, n_candidates=60))
    atoms = design.dictionary.candidates(design.sample(60, 0), 60, 0)
    columns = design.dictionary.evaluate(X, atoms, design.scale)
    taken: list[int] = []
    for k, step in enumerate(trace):
        scores = scores_at(design, trace, k, columns, y)
        scores[taken] = -1.0
        tops = scores.max(axis=0)
        good = np.sort(np.argsort(-tops)[:3])
        np.testing.assert_array_equal(np.flatnonzero(step.chosen >= 0), good)
        places = [int((atoms == trace.atoms[j]).all(axis=1).argmax()) for j in step.chosen[good]]
        np.testing.assert_array_equal(trace.atoms[step.chosen[good]], atoms[places])
        # Not the places themselves: of atoms that are as good, rounding would choose here.
        np.testing.assert_allclose(scores[places, good], tops[good], rtol=1e-9)
        np.testing.assert_allclose(step.scores[good], tops[good], rtol=1e-9)
        taken += [j for j in dict.fromkeys(places) if j not in taken]
        assert step.n_atoms == len(taken)
    assert len(trace) < len(taken) <= 3 * len(trace)


def test_every_class_solves_its_own_problem_with_all_atoms() -> None:
    X, y = IRIS
    design, targets, l2 = make_design(X), targets_of(y), 1e-2
    trace, _ = fit_path(design, targets, shared(max_iter=6, n_candidates=60, l2=l2))
    for step in trace:
        columns = design.columns(targets, SquaredHinge(), step.n_entered, has_constant=True)
        columns.append(trace.atoms[: step.n_entered])
        for c in range(len(targets)):
            start = np.zeros(columns.n_columns)
            solution = NewtonSolver().solve(Problem(columns, c, l2), start)
            coef = np.append(step.intercept[c], step.coef[c]) / columns.factors
            np.testing.assert_allclose(coef, solution.coef, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(step.objectives[c], solution.objective, rtol=1e-10)


def test_a_scheme_that_moves_along_one_atom_takes_that_of_the_largest_joint_score() -> None:
    X, y = IRIS[0], FIVE
    design = make_design(X)
    trace, _ = fit_path(
        design, targets_of(y), shared(scheme=CLASSICAL[1], max_iter=8, n_candidates=60)
    )
    atoms = design.dictionary.candidates(design.sample(60, 0), 60, 0)
    columns = design.dictionary.evaluate(X, atoms, design.scale)
    for k, step in enumerate(trace):
        scores = np.sqrt((scores_at(design, trace, k, columns, y) ** 2).sum(axis=1))
        assert len(set(step.chosen.tolist())) == 1
        np.testing.assert_array_equal(trace.atoms[step.chosen[0]], atoms[scores.argmax()])
        np.testing.assert_allclose(step.scores, scores.max(), rtol=1e-9)


def test_two_classes_are_what_they_are_one_against_the_rest() -> None:
    X, y = IRIS
    models = [
        FCGBoostClassifier("relu", max_iter=10, random_state=0, multiclass=multiclass)
        for multiclass in ("shared", "one_vs_rest")
    ]
    first, second = (model.fit(X[y > 0], y[y > 0]) for model in models)
    np.testing.assert_array_equal(first.atoms_, second.atoms_)
    np.testing.assert_allclose(first.atom_coef_, second.atom_coef_, rtol=1e-9)


@pytest.mark.parametrize("selection", ["all", "sampled", "learned"])
def test_all_classes_have_all_atoms(selection: str) -> None:
    X, y = load_wine(return_X_y=True)
    settings = {"selection": selection, "max_iter": 4, "random_state": 0}
    model = FCGBoostClassifier("relu", multiclass="shared", **settings).fit(X, y)
    assert 4 < model.n_atoms_ <= 12
    assert model.atom_coef_.shape == (3, model.n_atoms_)
    assert (model.atom_coef_ != 0.0).all()
    assert model.score(X, y) > 0.95
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


@pytest.mark.covering
@pytest.mark.parametrize("selection", [*SELECTIONS, LearnedCandidates(size=8)], ids=repr)
@pytest.mark.parametrize("removal", [None, Removal(share=0.9)], ids=repr)
def test_shared_paths_go_on_from_a_file(
    selection: Selection, removal: Removal | None, tmp_path: Path
) -> None:
    X, y = IRIS
    design, targets = make_design(X), targets_of(y)
    changes = {"selection": selection, "removal": removal, "n_candidates": 60}
    whole, status = fit_path(design, targets, shared(max_iter=14, **changes))
    half, _ = fit_path(design, targets, shared(max_iter=7, **changes))
    write(tmp_path / "path", half, FitState((1,), {}))
    stored, _ = read(tmp_path / "path", FitState((1,), {}))
    resumed, resumed_status = fit_path(
        design, targets, shared(max_iter=14, **changes), resume=stored
    )
    assert resumed_status is status
    assert_same_path(resumed, whole)


def assert_same_path(first: Trace, second: Trace) -> None:
    np.testing.assert_allclose(first.atoms, second.atoms, rtol=1e-7, atol=1e-9)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.chosen, other.chosen)
        np.testing.assert_array_equal(one.removed, other.removed)
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-6, atol=1e-8)


@pytest.mark.covering
@pytest.mark.parametrize("removal", [None, 0.9])
@pytest.mark.parametrize("dictionary", ["relu", "auto"])
def test_a_model_file_has_the_whole_path(tmp_path: Any, dictionary: str, removal: Any) -> None:
    X, y = IRIS
    settings = {"selection": "learned", "max_iter": 8, "random_state": 0, "removal": removal}
    model = FCGBoostClassifier(dictionary, multiclass="shared", **settings).fit(X, y)
    model.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.trace_.is_shared
    for one, other in zip(model.trace_, loaded.trace_, strict=True):
        for name in ("chosen", "removed", "gone", "coef"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_an_atom_leaves_all_classes_or_none() -> None:
    X, y = IRIS
    trace, _ = fit_path(
        make_design(X), targets_of(y), shared(max_iter=25, removal=Removal(share=0.9))
    )
    left = [step for step in trace if len(step.removed)]
    assert left
    for step in left:
        pairs = {(int(c), int(place)) for c, place in step.removed}
        places = {place for _, place in pairs}
        assert pairs == {(c, place) for c in range(3) for place in places}
        assert not step.coef[:, step.gone].any()
    totals = trace.column("objectives").sum(axis=1)
    assert (np.diff(totals) <= 1e-9 * totals[0]).all()
    assert trace[-1].n_atoms < 25


def test_classes_that_share_atoms_end_together() -> None:
    X, y = IRIS
    trace, status = fit_path(make_design(X), targets_of(y), shared(max_iter=50, n_candidates=5))
    assert status is Status.EXHAUSTED
    assert trace.endings == (Status.EXHAUSTED,) * 3
    assert trace[-1].n_atoms == 5 >= len(trace)
    trace, status = fit_path(make_design(X), targets_of(y), shared(max_iter=50, tol=0.9))
    assert trace.endings == (Status.TOLERANCE,) * 3


def test_a_scheme_that_moves_along_one_atom_ends_all_classes_by_the_first_score() -> None:
    recipe = shared(scheme=CLASSICAL[1], max_iter=200, tol=0.5)
    trace, _ = fit_path(make_design(IRIS[0]), targets_of(FIVE), recipe)
    assert trace.endings == (Status.TOLERANCE,) * 5
    scores = trace.column("scores")
    assert (scores >= 0.5 * scores[0]).all()


def test_paths_of_several_ridges_are_those_of_each() -> None:
    X, y = IRIS
    recipes = [shared(max_iter=8, n_candidates=40, l2=l2) for l2 in (1e-3, 1e-1)]
    together = fit_paths(make_design(X), targets_of(y), recipes)
    for trace, recipe in zip(together, recipes, strict=True):
        alone, _ = fit_path(make_design(X), targets_of(y), recipe)
        assert_same_path(trace, alone)


def test_weights_are_repetitions() -> None:
    X, y = IRIS
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    settings = {"dictionary": GaussDictionary(), "n_candidates": 50, "max_iter": 8, "l2": 1e-3}
    settings |= {"multiclass": "shared", "random_state": 0, "selection": AllCandidates()}
    weighted = FCGBoostClassifier(**settings).fit(X, y, sample_weight=counts)
    repeated = FCGBoostClassifier(**settings).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.atoms_, repeated.atoms_)
    np.testing.assert_allclose(weighted.atom_coef_, repeated.atom_coef_, rtol=1e-6)


def test_other_words_are_refused() -> None:
    X, y = IRIS
    with pytest.raises(ValueError, match="multiclass must be one of"):
        FCGBoostClassifier(multiclass="joint").fit(X, y)
