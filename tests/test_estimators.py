"""The classifiers as scikit-learn estimators.

These tests also run on the oldest supported dependencies (`make test-oldest`), so they import
nothing but these and pytest.
"""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcgboost import (
    AdmmSolver,
    FCGBoostClassifier,
    GradientDescentSolver,
    ReluDictionary,
    Status,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.datasets import make_simulation

DICTIONARIES = ["gauss", "polynomial", "sigmoid", "relu"]
SCHEMES = ["fully_corrective", "original", "shrinkage", "truncation", "epsilon", "rescaled"]
LOSSES = ["squared_hinge", "hinge", "cubed_hinge", "square"]

# Few steps: every part takes the same way through the estimator, however many steps it makes.
FEW = {"max_iter": 8, "random_state": 0}

CHECKED = [
    FCGBoostClassifier(cv=2, **FEW),
    FCGBoostClassifier("gauss", **FEW),
    FCGBoostClassifier("gauss", cv=2, max_iter=2),
]
VARIANTS = [
    FCGBoostClassifier(),
    FCGBoostClassifier("gauss"),
    FCGBoostClassifier("fast"),
    FCGBoostClassifier("compact"),
    FCGBoostClassifier(TreeDictionary(depth=3), **FEW),
    FCGBoostClassifier(UnionDictionary([ReluDictionary(), TreeDictionary()]), **FEW),
    *(FCGBoostClassifier(name, **FEW) for name in DICTIONARIES[1:]),
    *(FCGBoostClassifier("gauss", scheme=name, **FEW) for name in SCHEMES[1:]),
    *(FCGBoostClassifier("gauss", loss=name, **FEW) for name in LOSSES[1:]),
    FCGBoostClassifier("gauss", solver=AdmmSolver(max_iter=5), **FEW),
    FCGBoostClassifier("gauss", solver=GradientDescentSolver(max_iter=5), **FEW),
    FCGBoostClassifier("gauss", selection="sampled", **FEW),
    FCGBoostClassifier("gauss", validation_fraction=0.2, **FEW),
    FCGBoostClassifier("gauss", class_weight="balanced", normalize=True, **FEW),
    FCGBoostClassifier("gauss", fit_intercept=False, standardize=False, **FEW),
    FCGBoostClassifier("gauss", l2=[0.01, 0.1], cv=3, max_iter=3),
    FCGBoostClassifier("gauss", l2=[0.01, 0.1], cv=3, ensemble=False),
]
# What a part can break, and what costs little.
QUICK = {"check_estimators_pickle", "check_fit_idempotent"}
# For the default these take as long as all other checks: they fit in every sparse format, or are
# variants of one check.
LONG = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
VARIED = "check_classifiers_train"


def each_check(checked, variants):
    """Return scikit-learn's checks as cases: all for some estimators, the quick ones for others.

    `make test-all` has the rest.
    """
    mark = parametrize_with_checks(checked).mark
    names, checks = mark.args
    cases = []
    for estimator, check in checks:
        name = check.func.__name__
        is_long = name in LONG or (name == VARIED and bool(check.keywords))
        is_slow = estimator.dictionary == "auto" and is_long
        cases.append(pytest.param(estimator, check, marks=[pytest.mark.slow] * is_slow))
    for estimator, check in parametrize_with_checks(variants).mark.args[1]:
        is_slow = check.func.__name__ not in QUICK
        cases.append(pytest.param(estimator, check, marks=[pytest.mark.slow] * is_slow))
    return pytest.mark.parametrize(names, cases, **mark.kwargs)


@each_check(CHECKED, VARIANTS)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def two_classes(n_samples=80):
    return make_simulation(n_samples, noise=None, random_state=0)


def three_classes(n_samples=90):
    X, _ = two_classes(n_samples)
    return X, np.array(["low", "mid", "top"])[np.digitize(X[:, 1], [0.3, 0.7])]


def few_steps(**changes):
    return FCGBoostClassifier(**{"dictionary": "gauss", **FEW, **changes})


# What X may be


@pytest.mark.covering
@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize(
    "convert", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
)
def test_sparse_and_dense_inputs_give_the_same_model(name, convert):
    X, y = two_classes()
    X = np.where(X > 0.3, X, 0.0)
    dense, thin = few_steps(dictionary=name).fit(X, y), few_steps(dictionary=name)
    thin.fit(convert(X), y)
    np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(
        dense.decision_function(convert(X)), dense.decision_function(X), atol=1e-9
    )


def test_a_sparse_matrix_with_repeated_and_unsorted_entries_is_its_sum():
    X = sparse.csr_matrix(
        (np.array([3.0, 1.0, 2.0, 5.0, 4.0]), np.array([1, 0, 0, 1, 0]), np.array([0, 3, 4, 5])),
        shape=(3, 2),
    )
    given = X.copy()
    y = [0, 1, 0]
    thin, dense = few_steps().fit(X, y), few_steps().fit(X.toarray(), y)
    np.testing.assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(X.data, given.data)
    np.testing.assert_array_equal(X.indices, given.indices)


@pytest.mark.parametrize("name", DICTIONARIES)
def test_single_precision_gives_the_model_of_the_same_numbers_in_double(name):
    X, y = two_classes()
    X = X.astype(np.float32)
    single, double = few_steps(dictionary=name), few_steps(dictionary=name)
    single.fit(X, y)
    double.fit(X.astype(np.float64), y)
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-9)


def test_a_data_frame_gives_its_names_and_the_model_of_its_values():
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["width", "height"])
    framed, plain = few_steps().fit(frame, pd.Series(y)), few_steps().fit(X, y)
    assert framed.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_allclose(
        framed.decision_function(frame), plain.decision_function(X), rtol=1e-12
    )


def test_a_polars_frame_gives_its_names_and_the_model_of_its_values():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    X, y = two_classes()
    frame = pl.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    framed, plain = few_steps().fit(frame, pl.Series(y)), few_steps().fit(X, y)
    assert framed.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_allclose(
        framed.decision_function(frame), plain.decision_function(X), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", [int, bool, object, np.int8])
def test_other_numbers_are_taken_as_numbers(dtype):
    X = (two_classes()[0] * 3).astype(int).astype(dtype)
    y = X[:, 1].astype(float) > 0
    given, exact = few_steps().fit(X, y), few_steps().fit(X.astype(float), y)
    np.testing.assert_array_equal(
        given.decision_function(X), exact.decision_function(X.astype(float))
    )


# What y may be


@pytest.mark.parametrize(
    "labels",
    [
        *(np.array([0, 1]), np.array([False, True]), np.array([2.0, 7.0])),
        *(np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object)),
    ],
    ids=str,
)
def test_labels_of_any_kind_come_back_as_they_were(labels):
    X, y = two_classes()
    plain = few_steps().fit(X, y)
    named = few_steps().fit(X, labels[(y > 0).astype(int)])
    assert named.classes_.tolist() == labels.tolist()
    np.testing.assert_array_equal(named.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(named.predict(X), labels[(plain.predict(X) > 0).astype(int)])


def test_a_categorical_series_is_fitted_by_its_labels():
    X, y = three_classes()
    named = few_steps().fit(X, pd.Series(y, dtype="category"))
    assert named.classes_.tolist() == ["low", "mid", "top"]
    np.testing.assert_array_equal(named.predict(X), few_steps().fit(X, y).predict(X))


def test_several_classes_are_fitted_one_against_the_rest():
    X, y = three_classes()
    whole = few_steps().fit(X, y)
    assert whole.decision_function(X).shape == (90, 3)
    assert whole.atom_coef_.shape == (3, whole.n_atoms_)
    for c, label in enumerate(whole.classes_):
        alone = few_steps().fit(X, y == label)
        np.testing.assert_allclose(
            whole.decision_function(X)[:, c], alone.decision_function(X), atol=1e-8
        )
    expected = whole.classes_[whole.decision_function(X).argmax(axis=1)]
    np.testing.assert_array_equal(whole.predict(X), expected)


def test_a_decision_value_above_zero_predicts_the_second_class():
    X, y = two_classes()
    model = few_steps().fit(X, y)
    np.testing.assert_array_equal(model.predict(X) == 1.0, model.decision_function(X) > 0.0)


# Probabilities


@pytest.mark.parametrize("loss", ["squared_hinge", "cubed_hinge", "square"])
def test_two_probabilities_lie_on_the_side_of_the_decision(loss):
    X, y = two_classes()
    model = few_steps(loss=loss, l2=0.0).fit(X, y)
    grid = np.random.default_rng(0).uniform(-3.0, 4.0, size=(2000, 2))
    p, f = model.predict_proba(grid)[:, 1], model.decision_function(grid)
    assert ((p - 0.5) * f >= 0.0).all()
    assert (p[f > 0.0] > 0.5).all()
    assert (p[f < 0.0] < 0.5).all()
    np.testing.assert_allclose(model.predict_proba(grid).sum(axis=1), 1.0, atol=1e-15)


@pytest.mark.parametrize("loss", ["squared_hinge", "square"])
def test_two_probabilities_are_half_of_one_plus_the_clipped_decision(loss):
    X, y = two_classes()
    model = few_steps(loss=loss).fit(X, y)
    expected = (1.0 + np.clip(model.decision_function(X), -1.0, 1.0)) / 2.0
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], expected)


@pytest.mark.parametrize("loss", ["squared_hinge", "cubed_hinge", "square"])
def test_several_probabilities_sum_to_one_and_keep_the_winner(loss):
    X, y = three_classes()
    model = few_steps(loss=loss).fit(X, y)
    grid = np.random.default_rng(0).uniform(-3.0, 4.0, size=(2000, 2))
    p = model.predict_proba(grid)
    assert p.min() >= 0.0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    winner = model.decision_function(grid).argmax(axis=1)
    np.testing.assert_array_equal(p[np.arange(len(p)), winner], p.max(axis=1))


@pytest.mark.parametrize("method", ["predict_proba", "staged_predict_proba"])
def test_the_hinge_has_no_probabilities_and_says_what_has(method):
    X, y = two_classes()
    model = few_steps(loss="hinge").fit(X, y)
    assert not hasattr(model, method)
    assert not hasattr(few_steps(loss="hinge", cv=2), method)
    with pytest.raises(AttributeError) as caught:
        getattr(model, method)
    assert "squared_hinge" in str(caught.value.__cause__)
    assert "link='power'" in str(caught.value.__cause__)


# Copies, pickles, threads


def fitted():
    X, y = three_classes()
    return X, FCGBoostClassifier("relu", **FEW).fit(X, y)


def test_a_pickled_model_predicts_the_same_and_keeps_its_trace():
    X, model = fitted()
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.truncate(3).predict(X), model.truncate(3).predict(X))
    np.testing.assert_array_equal(loaded.trace_.column("scores"), model.trace_.column("scores"))
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    assert loaded.status_ is model.status_


def test_a_model_of_sparse_data_survives_pickling():
    X, y = two_classes()
    model = few_steps().fit(sparse.csr_array(X), y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_pickled_model_can_be_continued():
    X, y = two_classes()
    model = few_steps(warm_start=True).fit(X, y)
    loaded = pickle.loads(pickle.dumps(model)).set_params(max_iter=12).fit(X, y)
    np.testing.assert_allclose(
        loaded.atom_coef_, few_steps(max_iter=12).fit(X, y).atom_coef_, atol=1e-10
    )


def test_a_clone_has_equal_parameters_and_is_not_fitted():
    X, y = two_classes()
    model = few_steps(dictionary="relu", loss="square").fit(X, y)
    twin = clone(model)
    assert str(twin.get_params()) == str(model.get_params())
    assert not hasattr(twin, "model_")
    np.testing.assert_array_equal(twin.fit(X, y).atom_coef_, model.atom_coef_)


def test_a_copy_of_a_model_is_independent_of_it():
    X, y = two_classes()
    model = few_steps().fit(X, y)
    before = model.decision_function(X)
    copy.deepcopy(model).fit(X, -y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_threads_that_predict_with_one_model_do_not_disturb_each_other():
    X, model = fitted()
    parts = [X[i::7] for i in range(7)] * 6
    expected = [model.predict_proba(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.predict_proba, parts))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("is_fitted", [False, True])
def test_notebooks_show_the_estimator_and_its_parts(is_fitted):
    X, y = two_classes()
    model = FCGBoostClassifier("gauss", solver=AdmmSolver(max_iter=7), max_iter=3)
    html = (model.fit(X, y) if is_fitted else model)._repr_html_()
    assert "FCGBoostClassifier" in html
    assert "AdmmSolver" in html


@pytest.mark.parametrize("dictionary", ["gauss", "relu"])
def test_tools_that_choose_features_go_by_the_importances(dictionary):
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = X[:, 1] + X[:, 3] ** 2 > 0.5
    clf = FCGBoostClassifier(dictionary, max_iter=10, random_state=0)
    chosen = SelectFromModel(clf, max_features=2, threshold=-np.inf).fit(X, y)
    importances = clf.fit(X, y).feature_importances_
    assert set(np.flatnonzero(chosen.get_support())) == set(np.argsort(importances)[-2:]) == {1, 3}
    assert set(np.flatnonzero(RFE(clf, n_features_to_select=2).fit(X, y).support_)) == {1, 3}
    # Who has `coef_` is taken for a linear model.
    assert not hasattr(clf, "coef_")


def test_it_is_a_classifier_of_34_parameters():
    assert is_classifier(FCGBoostClassifier())
    assert len(FCGBoostClassifier().get_params()) == 34


# Together with the rest of scikit-learn


def test_weights_are_routed_through_pipelines_and_searches():
    X, y = two_classes(60)
    weights = np.random.default_rng(0).integers(1, 4, size=60).astype(float)
    seen = []

    class Spy(FCGBoostClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        spy = Spy(max_iter=3).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), spy)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        search = GridSearchCV(pipeline, {"spy__l2": [0.1, 0.2]}, cv=2, scoring=scorer)
        search.fit(X, y, sample_weight=weights)
    assert len(seen) == 5
    assert all(given is not None for given in seen)
    np.testing.assert_array_equal(seen[-1], weights)


@pytest.mark.parametrize("is_routed", [False, True])
def test_groups_are_requested_unless_said_otherwise(is_routed):
    X, y = two_classes(60)
    groups = np.arange(60) % 6
    seen = []

    class Spy(FCGBoostClassifier):
        def fit(self, X, y, sample_weight=None, *, groups=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight, groups=groups)

    model = Spy("gauss", cv=GroupKFold(2), max_iter=2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=is_routed):
        if not is_routed:
            model.fit(X, y, groups=groups)
            np.testing.assert_array_equal(seen, [groups])
            return
        result = cross_validate(model, X, y, cv=GroupKFold(3), params={"groups": groups})
    assert np.isfinite(result["test_score"]).all()
    assert [sorted(set(given)) for given in seen] == [
        sorted(set(groups[train])) for train, _ in GroupKFold(3).split(X, y, groups)
    ]


@pytest.mark.parametrize("grid", [{"cv": [2, 3]}, {"ensemble": [True, False]}])
def test_a_grid_search_compares_folds(grid):
    X, y = two_classes()
    search = GridSearchCV(few_steps(max_iter=3, cv=2), grid, cv=2, error_score="raise").fit(X, y)
    ((name, value),) = search.best_params_.items()
    assert getattr(search.best_estimator_, name) == value
    n_members = {2: 2, 3: 3, True: 2, False: 1}[value]
    assert len(search.best_estimator_.members_) == n_members


def test_an_ensemble_survives_pickling_and_cloning():
    X, y = three_classes()
    model = few_steps(cv=3, metrics="accuracy").fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.oof_decision_function_, model.oof_decision_function_)
    np.testing.assert_array_equal(loaded.member_weights_, model.member_weights_)
    assert loaded.oof_score_ == model.oof_score_
    np.testing.assert_array_equal(loaded.truncate(3).predict(X), model.truncate(3).predict(X))
    twin = clone(model)
    assert twin.cv == 3
    assert not hasattr(twin, "members_")
    np.testing.assert_array_equal(twin.fit(X, y).decision_function(X), model.decision_function(X))


def test_validation_scores_do_not_depend_on_metadata_routing():
    X, y = two_classes()
    weights = np.random.default_rng(0).integers(1, 4, size=80)
    model = few_steps(scoring="roc_auc", validation_fraction=0.3)
    plain = clone(model).fit(X, y, weights)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, y, weights)
    column = "validation_score"
    np.testing.assert_array_equal(routed.trace_.column(column), plain.trace_.column(column))


PARTS_BY_NAME = [
    ({}, {"dictionary__width": [0.5, 1.0]}),
    ({}, {"loss": ["square", "squared_hinge"]}),
    ({"scheme": "shrinkage"}, {"scheme__nu": [0.1, 0.5]}),
    ({"solver": "newton"}, {"solver__max_iter": [1, 50]}),
    ({"selection": "sampled"}, {"selection__size": [4, 64]}),
    ({}, [{"dictionary": ["gauss"], "dictionary__width": [1.0]}, {"dictionary": ["relu"]}]),
]


@pytest.mark.parametrize(("changes", "grid"), PARTS_BY_NAME)
def test_a_grid_search_reaches_parts_given_by_name(changes, grid):
    X, y = two_classes()
    search = GridSearchCV(few_steps(**changes), grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 2
    for name, value in search.best_params_.items():
        assert search.best_estimator_.get_params()[name] == value
    assert few_steps(**changes).get_params(deep=False) == search.estimator.get_params(deep=False)


def test_setting_a_parameter_of_a_named_part_changes_the_model():
    X, y = two_classes()
    narrow = few_steps(dictionary="gauss").set_params(dictionary__width=0.05).fit(X, y)
    assert narrow.model_.dictionary.width == 0.05
    assert (narrow.decision_function(X) != few_steps().fit(X, y).decision_function(X)).any()


def test_automatic_parts_have_no_parameters_to_set():
    with pytest.raises(ValueError, match=r"solver='auto' has no parameters.*'newton'"):
        FCGBoostClassifier("gauss").set_params(solver__max_iter=3)


@pytest.mark.parametrize("name", SCHEMES)
def test_fitting_leaves_the_parts_as_they_were(name):
    X, y = two_classes()
    by_name = few_steps(scheme=name).fit(X, y)
    assert by_name.scheme == name
    parts = few_steps().set_params(
        dictionary__width=0.5, scheme=name, selection="sampled", selection__size=20
    )
    before = pickle.dumps(parts.get_params())
    parts.fit(X, y)
    assert pickle.dumps(parts.get_params()) == before


# Plain stopping rules, which need no scikit-learn callbacks


def after(k):
    return lambda step: step.k >= k


@pytest.mark.parametrize("answer", [True, Status.CALLBACK, 1])
def test_a_rule_ends_the_fit_with_its_answer(answer):
    X, y = two_classes()
    model = few_steps().set_callbacks(lambda step: answer if step.k == 4 else None).fit(X, y)
    assert model.n_iter_ == len(model.trace_) == 4
    assert model.status_ is Status.CALLBACK


def test_a_rule_may_name_the_ending():
    X, y = two_classes()
    model = few_steps().set_callbacks(lambda step: Status.STALLED if step.k == 4 else False)
    assert model.fit(X, y).status_ is Status.STALLED
    assert model.n_iter_ == 4


def test_the_first_rule_that_ends_the_fit_counts():
    X, y = two_classes()
    model = few_steps().set_callbacks(after(6), after(3), after(5))
    assert model.fit(X, y).n_iter_ == 3


def test_rules_survive_cloning_and_searching():
    X, y = two_classes()
    model = few_steps().set_callbacks(after(3))
    assert clone(clone(model)).fit(X, y).n_iter_ == 3
    search = GridSearchCV(model, {"l2": [0.1, 0.2]}, cv=2).fit(X, y)
    assert search.best_estimator_.n_iter_ == 3


def test_rules_are_replaced_and_removed():
    X, y = two_classes()
    model = few_steps().set_callbacks(after(3)).set_callbacks(after(5))
    assert model.fit(X, y).n_iter_ == 5
    assert model.set_callbacks().fit(X, y).n_iter_ == 8


def test_a_rule_sees_every_step_of_the_trace():
    X, y = two_classes()
    seen = []
    model = few_steps().set_callbacks(seen.append).fit(X, y)
    told = [{**vars(step), "progress": None} for step in seen]
    assert told == [vars(step) for step in model.trace_]


@pytest.mark.parametrize("wrong", [3, "stop", None, FCGBoostClassifier, [len]], ids=repr)
def test_what_cannot_be_called_is_no_callback(wrong):
    model = few_steps().set_callbacks(after(3))
    with pytest.raises(TypeError, match="function of a Step"):
        model.set_callbacks(wrong)
    assert model.fit(*two_classes()).n_iter_ == 3
