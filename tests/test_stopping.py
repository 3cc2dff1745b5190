"""Every named ending of the loop can be reached, and means what it says."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
)
from fcgboost.greedy.path import Trace
from fcgboost.selection.fixed import AllCandidates
from fcgboost.stopping import NoImprovement, Status, Step
from tests.suites.paths import (
    DICTIONARIES,
    fit_one,
    make_recipe,
    run_on_data,
)
from tests.suites.strategies import Data, simulation

each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)


def class_of_weight(weight: float) -> tuple[Any, Any, Any]:
    """Return overlapping classes of which the second has this weight, the first 1000."""
    data = simulation(50, 0.3, seed=0)
    return data.X, data.y, np.where(data.y > 0, 1000.0, weight)


@pytest.mark.parametrize("dictionary", ["auto", "compact", "tree"])
def test_a_path_of_learned_atoms_ends_when_its_steps_gain_nothing(dictionary: str) -> None:
    X, y, weights = class_of_weight(1e-4)
    model = FCGBoostClassifier(dictionary, max_iter=500, l2=1e-3, cv=None, random_state=0)
    model.fit(X, y, weights)
    assert (model.status_, len(model.trace_)) == (Status.NO_GAIN, 11)
    objectives = model.trace_.column("objectives")[:, 0]
    # The constant gains nearly all of 1, the loss of no model at all.
    assert 0.0 <= objectives[0] - objectives[-1] <= 1e-6 * (1.0 - objectives[0])


@pytest.mark.parametrize("dictionary", ["auto", "compact"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_thousand_steps_that_scikit_learn_asks_for_end_early(
    dictionary: str, n_classes: int
) -> None:
    # The data, weights and parameters of check_class_weight_classifiers.
    X, y = make_blobs(centers=n_classes, random_state=0, cluster_std=20)
    X, _, y, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    model = FCGBoostClassifier(
        dictionary,
        cv=2,
        max_iter=1000,
        n_iter_no_change=20,
        class_weight={0: 1000, **dict.fromkeys(range(1, n_classes), 1e-4)},
        random_state=0,
    ).fit(X, y)
    endings = {member.status for member in model.members_}
    assert endings <= {Status.NO_GAIN, Status.VALIDATION}
    assert max(member.trace.n_steps for member in model.members_) < 50


def test_a_path_that_still_gains_a_little_goes_on() -> None:
    X, y, weights = class_of_weight(1.0)
    model = FCGBoostClassifier("compact", max_iter=40, l2=1e-3, cv=None, random_state=0)
    model.fit(X, y, weights)
    assert (model.status_, len(model.trace_)) == (Status.STEP_LIMIT, 40)


def test_a_path_that_ended_without_gain_stays_ended_when_it_goes_on() -> None:
    X, y, weights = class_of_weight(1e-4)
    model = FCGBoostClassifier(
        "compact", max_iter=30, l2=1e-3, cv=None, warm_start=True, random_state=0
    )
    coef = model.fit(X, y, weights).atom_coef_
    again = model.set_params(max_iter=60).fit(X, y, weights)
    assert (again.status_, len(again.trace_)) == (Status.NO_GAIN, 11)
    np.testing.assert_array_equal(again.atom_coef_, coef)


def test_a_fixed_dictionary_may_run_out_before_its_path_ends_without_gain() -> None:
    X, y, weights = class_of_weight(1e-4)
    model = FCGBoostClassifier("gauss", max_iter=30, selection="all", random_state=0)
    assert len(model.fit(X, y, weights).trace_) == 30


def test_a_path_that_goes_on_remembers_its_first_score() -> None:
    data = simulation(100, 0.0, seed=13)
    design = MemoryDesign(GaussDictionary(), data.X, data.weights, standardize=False)
    recipe = make_recipe(max_iter=60, tol=0.05)
    whole, status = fit_one(design, [data.y], recipe)
    assert status is Status.TOLERANCE
    start, _ = fit_one(design, [data.y], replace(recipe, max_iter=2))
    rest, status = fit_one(design, [data.y], recipe, resume=start)
    assert status is Status.TOLERANCE
    assert len(start) < len(rest) == len(whole)
    late = replace(start, steps=(*start[:-1], replace(start[-1], seconds=1000.0)))
    rest, _ = fit_one(design, [data.y], recipe, resume=late)
    assert 1000.0 < rest[-1].seconds < 1100.0


@each_dictionary
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_constant_inputs_are_fitted_by_a_constant(
    dictionary: Dictionary, fit_intercept: bool
) -> None:
    y = np.where(np.arange(30) < 20, 1.0, -1.0)
    data = Data(np.full((30, 2), 3.7), y, np.ones(30))
    changes = {"fit_intercept": fit_intercept, "l2": 0.0, "max_iter": 50}
    trace, status = run_on_data(data, dictionary, **changes)
    assert status in (Status.ZERO_SCORE, Status.EXHAUSTED)
    values = trace.model(len(trace), dictionary, np.ones(2)).decision(data.X)
    is_zero_at_its_hinge = isinstance(dictionary, ReluDictionary) and not fit_intercept
    np.testing.assert_allclose(values, 0.0 if is_zero_at_its_hinge else 1.0 / 3.0, atol=1e-9)
    assert len(trace) == 0 if fit_intercept or is_zero_at_its_hinge else len(trace) == 1


def test_the_step_limit_ends_the_loop() -> None:
    trace, status = run_on_data(simulation(50, 0.3, seed=14), GaussDictionary(), max_iter=7)
    assert (status, len(trace)) == (Status.STEP_LIMIT, 7)


def test_a_callback_sees_every_step_and_may_end_the_loop() -> None:
    data = simulation(50, 0.3, seed=15)
    design = MemoryDesign(GaussDictionary(), data.X, data.weights, standardize=True)
    seen: list[Step] = []

    def callback(step: Step) -> Status | None:
        seen.append(step)
        return Status.CALLBACK if step.k == 4 else None

    trace, status = fit_one(design, [data.y], make_recipe(), [callback])
    assert status is Status.CALLBACK
    assert list(trace) == seen
    assert [step.k for step in seen] == [1, 2, 3, 4]


def test_a_watcher_sees_the_path_so_far_and_may_end_the_loop() -> None:
    data = simulation(50, 0.3, seed=15)
    design = MemoryDesign(GaussDictionary(), data.X, data.weights, standardize=True)
    seen: list[Trace] = []

    def watcher(step: Step, path: Any) -> Status | None:
        seen.append(path())
        return Status.CALLBACK if step.k == 3 else None

    trace, status = fit_one(design, [data.y], make_recipe(), watcher=watcher)
    assert status is Status.CALLBACK
    assert [len(path) for path in seen] == [1, 2, 3]
    np.testing.assert_array_equal(seen[-1].atoms, trace.atoms)


def test_an_equal_validation_score_is_no_improvement() -> None:
    steps, _ = run_on_data(simulation(50, 0.3, seed=0), GaussDictionary(), max_iter=4)
    rule = NoImprovement(2)
    scored = [replace(step, validation_score=0.5) for step in steps]
    assert [rule(step) for step in scored] == [None, None, *[Status.VALIDATION] * 2]


def test_of_few_judged_steps_three_must_be_no_better() -> None:
    steps, _ = run_on_data(simulation(50, 0.3, seed=0), GaussDictionary(), max_iter=1)
    rule, pairs = NoImprovement(10), [(1, 0.9), (5, None), (12, 0.8), (14, 0.9), (15, 0.7)]
    heard = [rule(replace(steps[0], k=k, validation_score=score)) for k, score in pairs]
    assert heard == [None, None, None, None, Status.VALIDATION]


def test_every_rule_hears_every_step_also_the_one_that_another_rule_ends() -> None:
    data, heard = simulation(60, 0.2, seed=0), list[int]()
    design = MemoryDesign(ReluDictionary(), data.X, np.ones(60), standardize=True)

    def end(step: Step) -> Status | None:
        return Status.CALLBACK if step.k == 3 else None

    recipe = make_recipe(max_iter=9, l2=0.01, selection=AllCandidates(), n_candidates=60)
    trace, status = fit_one(design, [data.y], recipe, [end, lambda step: heard.append(step.k)])
    assert (len(trace), status, heard) == (3, Status.CALLBACK, [1, 2, 3])


def test_a_path_that_has_all_its_steps_stays_as_it_is() -> None:
    data = simulation(100, 0.2, seed=13)
    clf = FCGBoostClassifier("relu", max_iter=3, warm_start=True, random_state=0)
    coef = clf.fit(data.X, data.y).atom_coef_
    np.testing.assert_array_equal(clf.fit(data.X, data.y).atom_coef_, coef)
    with pytest.raises(ValueError, match="max_iter=2 is less than the 3 steps"):
        clf.set_params(max_iter=2).fit(data.X, data.y)
