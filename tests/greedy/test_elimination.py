"""Atoms that leave: who, when, and what is left of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import FCGBoostClassifier, Removal, theory_steps
from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary, GaussDictionary, ReluDictionary
from fcgboost.greedy.elimination import least_missed
from fcgboost.greedy.path import Trace
from fcgboost.losses import Square, SquaredHinge
from fcgboost.selection.base import Selection
from fcgboost.solvers import AdmmSolver
from fcgboost.training.validation import Validator, make_validator
from tests.suites.outputs import solved
from tests.suites.paths import (
    DICTIONARIES,
    FULL,
    SELECTIONS,
    fit_one,
    make_recipe,
    run_on_data,
    run_on_matrix,
)
from tests.suites.strategies import Data, training_sets

REMOVALS = [Removal(), Removal(share=0.9)]


def objectives_without(A: np.ndarray, y: np.ndarray, constant: bool) -> list[float]:
    """Return what the square loss is without each of the columns."""
    return [
        solved(np.delete(A, j, axis=1), y, Square(), 0.01, constant).objective
        for j in range(A.shape[1])
    ]


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_for_a_quadratic_objective_the_model_is_the_truth(seed: int, constant: bool) -> None:
    rng = np.random.default_rng(seed)
    A, y = rng.standard_normal((30, 6)), np.sign(rng.standard_normal(30))
    output, without = solved(A, y, Square(), 0.01, constant), objectives_without(A, y, constant)
    order = np.argsort(without) + constant
    found = least_missed(output, order[-1], np.inf)
    assert found is not None
    column, point = found
    assert column == order[0]
    assert point.objective == pytest.approx(min(without), rel=1e-8)
    assert point.coef[column] == 0.0
    assert point.objective == pytest.approx(output.problem.objective(point.coef))
    assert least_missed(output, order[-1], 0.999 * min(without)) is None
    assert least_missed(output, order[-1], 1.001 * min(without)) is not None
    second = least_missed(output, column, np.inf)
    assert second is not None
    assert second[0] == order[1]
    assert second[1].objective == pytest.approx(sorted(without)[1], rel=1e-8)


def test_of_two_equal_atoms_the_older_leaves_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(2)
    A, y = rng.standard_normal((30, 4)), np.sign(rng.standard_normal(30))
    A[:, 3] = A[:, 1]
    output = solved(A, y, SquaredHinge(), 0.0, constant=False)
    found = least_missed(output, 0, np.inf)
    assert found is not None
    assert found[0] == 1
    assert found[1].objective == pytest.approx(output.objective, rel=1e-6)


def test_an_atom_that_two_others_replace_leaves() -> None:
    # The target is a + b, and c is close to it: c comes first, a and b make it superfluous.
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((50, 3)))[0] * 5.0
    y = np.sign(Q[:, 0] + Q[:, 1])
    a, b = y * (Q[:, 0] > 0.0), y * (Q[:, 0] <= 0.0)
    c = y + 0.4 * Q[:, 2]
    A = np.column_stack([a, b, c])
    changes = {"loss": Square(), "max_iter": 3, "removal": Removal()}
    trace, _ = run_on_matrix(A, y, **changes)
    assert trace.atoms[int(trace[0].chosen[0])].argmax() == 2
    (last,) = [step for step in trace if len(step.removed)]
    assert trace.atoms[int(last.removed[0, 1])].argmax() == 2
    assert last.n_atoms == 2
    assert last.coef[0, 0] == 0.0
    kept, _ = run_on_matrix(A, y, **{**changes, "removal": None})
    assert [step.n_atoms for step in kept] == [1, 2, 3]


def present(trace: Trace, k: int, output: int = 0) -> set[int]:
    """Give the atoms of an output after k steps."""
    atoms: set[int] = set()
    for step in trace[:k]:
        atoms |= {int(step.chosen[output])} - {-1}
        atoms -= {int(place) for c, place in step.removed if c == output}
    return atoms


def check_path(trace: Trace) -> None:
    """Check what holds for every path whose atoms may leave."""
    for k, step in enumerate(trace, 1):
        assert all(place not in step.chosen for _, place in step.removed)
        everyone = set()
        for c in range(len(step.intercept)):
            atoms = present(trace, k, c)
            everyone |= atoms
            absent = sorted(set(range(step.n_entered)) - atoms)
            assert not step.coef[c, absent].any()
        assert step.n_atoms == len(everyone)
        assert sorted(step.removed_atoms) == sorted(set(range(step.n_entered)) - everyone)
    objectives = trace.column("objectives")
    tolerance = 1e-9 * np.abs(objectives).max(initial=0.0)
    assert (np.diff(objectives, axis=0) <= tolerance).all()


@given(training_sets(), st.sampled_from(DICTIONARIES), st.sampled_from(SELECTIONS))
@pytest.mark.parametrize("removal", REMOVALS, ids=repr)
def test_every_step_lowers_the_objective(
    removal: Removal, data: Data, dictionary: Dictionary, selection: Selection
) -> None:
    trace, _ = run_on_data(data, dictionary, selection=selection, removal=removal, max_iter=15)
    check_path(trace)


def noisy(n_classes: int = 2, n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=seed)
    return X, y if n_classes == 2 else np.where(X[:, 0] > 0.7, 2, (y > 0) * 1)


@pytest.mark.parametrize("loss", ["squared_hinge", "cubed_hinge", "square"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_removal_costs_more_than_its_share_of_the_gain(loss: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    settings = {"dictionary": "relu", "loss": loss, "selection": "sampled", "max_iter": 30}
    for share in (0.2, 0.8):
        model = FCGBoostClassifier(removal=share, random_state=0, **settings).fit(X, y)
        assert any(len(step.removed) for step in model.trace_)
        check_path(model.trace_)
        # Without the removals of the last step at all, its gain is known.
        for k in [step.k for step in model.trace_ if len(step.removed)][:5]:
            step, before = model.trace_[k - 1], model.trace_[k - 2].objectives
            for c in {int(pair[0]) for pair in step.removed}:
                atoms = sorted(present(model.trace_, k - 1, c) | {int(step.chosen[c])})
                columns = ReluDictionary().evaluate(X, model.trace_.atoms[atoms], None)
                target = np.where(y == model.classes_[c if n_classes > 2 else 1], 1.0, -1.0)
                part = model._loss_
                best = solved(columns, target, part, 1.0 / len(y), constant=True).objective
                limit = best + share * (before[c] - best)
                assert best <= step.objectives[c] <= limit + 1e-9


def test_what_a_solver_that_stops_early_leaves_is_recorded_as_it_is() -> None:
    X, y = noisy()
    settings = {"selection": "sampled", "max_iter": 12, "l2": 1e-3, "random_state": 0}
    model = FCGBoostClassifier("relu", solver=AdmmSolver(max_iter=3), removal=0.9, **settings)
    model.fit(X, y)
    assert any(len(step.removed) for step in model.trace_)
    columns = ReluDictionary().evaluate(X, model.trace_.atoms, None)
    for step in model.trace_:
        f = columns[:, : step.n_entered] @ step.coef[0] + step.intercept[0]
        risk = np.mean(np.maximum(0.0, 1.0 - y * f) ** 2)
        assert step.objectives[0] == pytest.approx(risk + 1e-3 * step.coef[0] @ step.coef[0])


def test_the_model_holds_only_atoms_that_are_in() -> None:
    X, y = noisy(3)
    model = FCGBoostClassifier(
        "relu", selection="sampled", max_iter=25, removal=0.9, random_state=0
    ).fit(X, y)
    trace = model.trace_
    assert model.n_atoms_ == trace[-1].n_atoms < trace[-1].n_entered
    assert model.atom_coef_.shape == (3, model.n_atoms_)
    assert len(model.atoms_) == len(model.model_.entered) == model.n_atoms_
    columns = ReluDictionary().evaluate(X, trace.atoms, None)
    staged = list(model.staged_decision_function(X))
    for k, step in enumerate(trace, 1):
        expected = columns[:, : step.n_entered] @ step.coef.T + step.intercept
        short = model.truncate(k)
        assert short.n_atoms_ == step.n_atoms
        np.testing.assert_allclose(short.decision_function(X), expected, atol=1e-12)
        np.testing.assert_allclose(staged[k - 1], expected, atol=1e-12)


def test_staged_values_are_the_same_without_room_for_columns() -> None:
    import sklearn

    X, y = noisy()
    model = FCGBoostClassifier("relu", max_iter=20, removal=0.9, random_state=0).fit(X, y)
    staged = list(model.staged_decision_function(X))
    with sklearn.config_context(working_memory=1e-6):
        for first, second in zip(staged, model.staged_decision_function(X), strict=True):
            np.testing.assert_allclose(first, second, atol=1e-12)


def test_an_atom_that_left_may_be_chosen_again() -> None:
    X, y = noisy(n=100)
    settings = {"n_candidates": 25, "max_iter": 40, "random_state": 0}
    model = FCGBoostClassifier("relu", removal=0.9, **settings).fit(X, y)
    left: set[int] = set()
    came_back = set()
    for step in model.trace_:
        came_back |= left & {int(step.chosen[0])}
        left = (left | set(step.removed[:, 1].tolist())) - {int(step.chosen[0])}
    assert came_back
    check_path(model.trace_)


def assert_same_path(first: Trace, second: Trace) -> None:
    np.testing.assert_array_equal(first.atoms, second.atoms)
    np.testing.assert_array_equal(first.entered, second.entered)
    for one, other in zip(first, second, strict=True):
        for name in ("chosen", "removed", "removed_atoms"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-7, atol=1e-9)
        assert one.validation_score == other.validation_score


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_a_path_goes_on_as_if_it_had_never_ended(selection: Selection) -> None:
    X, y = noisy(n=100)
    targets = [y.astype(float), np.where(X[:, 0] > 0.5, 1.0, -1.0)]
    design = MemoryDesign(GaussDictionary(width=0.5), X, np.ones(len(y)), standardize=True)
    changes: dict[str, Any] = {"selection": selection, "l2": 0.01, "fit_intercept": True}
    changes["removal"] = Removal(share=0.9)
    short, long = (make_recipe(max_iter=k, n_candidates=100, **changes) for k in (13, 26))

    def validator() -> Validator:
        return make_validator(
            X,
            dictionary=design.dictionary,
            scale=design.scale,
            score=lambda decision: float(np.mean(np.sign(decision[:, 0]) == y)),
            device=design.device,
        )

    whole, status = fit_one(design, targets, long, validator=validator())
    assert any(len(step.removed) for step in whole[:13])
    half, _ = fit_one(design, targets, short, validator=validator())
    resumed, resumed_status = fit_one(design, targets, long, validator=validator(), resume=half)
    assert resumed_status is status
    assert_same_path(resumed, whole)
    assert len(whole) == 26


def test_an_estimator_goes_on() -> None:
    X, y = noisy()
    settings = {"validation_fraction": 0.3, "removal": "backward", "random_state": 0}
    at_once = FCGBoostClassifier("relu", max_iter=20, **settings).fit(X, y)
    model = FCGBoostClassifier("relu", max_iter=10, warm_start=True, **settings).fit(X, y)
    assert len(model.trace_) == 10
    model.set_params(max_iter=20).fit(X, y)
    assert_same_path(model.trace_, at_once.trace_)
    assert model.n_iter_ == at_once.n_iter_
    with pytest.raises(ValueError, match="less than the 20 steps"):
        model.set_params(max_iter=19).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_smallest_of_the_best_is_kept(n_classes: int) -> None:
    X, y = noisy(n_classes)
    X_val, y_val = noisy(n_classes, seed=1)
    model = FCGBoostClassifier("relu", max_iter=12, removal="backward", random_state=0)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    scores, n_atoms = (model.trace_.column(name) for name in ("validation_score", "n_atoms"))
    assert model.n_atoms_ == n_atoms[scores == scores.max()].min()
    assert scores[model.n_iter_ - 1] == scores.max()


def test_where_atoms_leave_and_steps_are_chosen_a_path_may_be_twice_as_long() -> None:
    X, y = make_simulation(80, noise="uniform", level=0.3, random_state=0)
    made = FCGBoostClassifier("gauss", removal=Removal(), random_state=0)
    k0 = theory_steps(60)
    model = made.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    assert len(model.trace_) == 10 * k0
    assert len(made.fit(X[:60], y[:60]).trace_) == 5 * k0


def test_without_removal_a_path_is_what_it_was() -> None:
    X, y = noisy()
    design = MemoryDesign(ReluDictionary(), X, np.ones(len(y)), standardize=True)
    recipe = make_recipe(scheme=FULL, max_iter=15, l2=1e-3, fit_intercept=True)
    trace, _ = fit_one(design, [y.astype(float)], recipe)
    assert [step.n_atoms for step in trace] == list(range(1, 16))
    assert all(step.removed.shape == (0, 2) and len(step.removed_atoms) == 0 for step in trace)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"removal": "forward"}, r"removal must be one of \['backward'\]"),
        ({"removal": True}, "removal must be one of"),
        ({"removal": 0.0}, "share must be a positive number"),
        ({"removal": 1.0}, "share must be less than 1"),
        ({"removal": 0.5, "scheme": "original"}, "removal needs full correction"),
        ({"removal": 0.5, "loss": "hinge"}, "removal needs .*second derivative"),
    ],
)
def test_impossible_removals_are_refused(parameters: dict[str, Any], message: str) -> None:
    X, y = noisy(n=20)
    with pytest.raises(ValueError, match=message):
        FCGBoostClassifier("gauss", **parameters).fit(X, y)
