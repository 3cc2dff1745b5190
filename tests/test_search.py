"""FCGBoostClassifierCV: one path per fold and setting, side by side, and one refit."""

import itertools

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, StratifiedKFold
from suites.marks import also
from suites.paths import make_recipe

import fcgboost.search
import fcgboost.training.fit
from fcgboost import (
    AllCandidates,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SampledCandidates,
    theory_steps,
)
from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.greedy.loop import fit_path, fit_paths
from fcgboost.training.scoring import make_targets

WIDTHS = [GaussDictionary(width=0.3), GaussDictionary(width=1.0)]
# With and without single precision, with and without a divisor.
MIXED = [ReluDictionary(scaling="norm"), GaussDictionary(), PolynomialDictionary(scaling="max")]


def noisy(n_samples=120, seed=0):
    return make_simulation(n_samples, level=0.2, random_state=seed)


@pytest.fixture
def count_paths(monkeypatch):
    paths = []
    alone, together = fcgboost.training.fit.fit_path, fcgboost.search.fit_paths

    def counting_one(*args, **kwargs):
        paths.append(1)
        return alone(*args, **kwargs)

    def counting_all(design, targets, recipes, *args):
        paths.extend(recipes)
        return together(design, targets, recipes, *args)

    monkeypatch.setattr(fcgboost.training.fit, "fit_path", counting_one)
    monkeypatch.setattr(fcgboost.search, "fit_paths", counting_all)
    return paths


@pytest.mark.parametrize("max_iter", ["auto", 7])
def test_a_search_fits_folds_times_settings_paths_and_one_more(count_paths, max_iter):
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, [0.01, 0.1, 1.0], cv=4, max_iter=max_iter)
    search.fit(X, y)
    assert len(count_paths) == 4 * 2 * 3 + 1
    count_paths.clear()
    search.set_params(refit=False).fit(X, y)
    assert len(count_paths) == 4 * 2 * 3


def test_scores_are_those_of_separate_fits():
    X, y = noisy()
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    search = FCGBoostClassifierCV(WIDTHS, ["auto", 0.1], cv=folds, max_iter=6, random_state=3)
    results = search.fit(X, y).cv_results_
    seed = search.best_estimator_.random_state
    for row, params in enumerate(results["params"]):
        for i, (train, test) in enumerate(folds):
            classifier = FCGBoostClassifier(random_state=seed, **params).fit(X[train], y[train])
            expected = accuracy_score(y[test], classifier.predict(X[test]))
            assert results[f"split{i}_test_score"][row] == pytest.approx(expected, abs=1e-12)


def classes_of(n_classes, n_samples=100, seed=0):
    """Give noisy data of several classes, which repeats some of its rows."""
    X, y = noisy(n_samples, seed)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int) + (y > 0) if n_classes == 3 else y
    rows = np.r_[np.arange(n_samples), np.arange(n_samples // 5)]
    return X[rows], y[rows]


def scores_alone(search, X, y, weights, folds):
    """Give the scores of separate fits: setting by setting, fold by fold, units of steps."""
    settings = list(
        {(id(p["dictionary"]), p["l2"]): p for p in search.cv_results_["params"]}.values()
    )
    shared = set(FCGBoostClassifier("gauss").get_params(deep=False)) & set(
        search.get_params(deep=False)
    )
    parameters = {name: getattr(search, name) for name in shared}
    parameters["random_state"] = search.best_estimator_.random_state
    found = []
    for setting, (train, test) in itertools.product(settings, folds):
        changes = {"dictionary": setting["dictionary"], "l2": setting["l2"]}
        classifier = FCGBoostClassifier(**{**parameters, **changes}).fit(
            *(X[train], y[train], weights[train]),
            X_val=X[test],
            y_val=y[test],
            sample_weight_val=weights[test],
        )
        scores = classifier.trace_.column("validation_score")
        unit, n = (classifier._k0_, 5) if search.max_iter == "auto" else (1, search.max_iter)
        found.append([scores[min(unit * (i + 1), len(scores)) - 1] for i in range(n)])
    return np.reshape(found, (len(settings), len(folds), -1))


SEARCHES = {
    "auto": {},
    "number": {"max_iter": 9},
    "sampled": {"selection": SampledCandidates(20), "max_iter": 30},
    "all": {"selection": "all", "max_iter": 20},
    "streamed": {"selection": AllCandidates(store=False), "max_iter": 12},
    "ends at a tolerance": {"tol": 0.3, "max_iter": 40},
    "ends as exhausted": {"n_candidates": 15, "selection": "all", "max_iter": 40, "tol": 0.0},
    "reselects": {"reselect": True, "max_iter": 60, "selection": SampledCandidates(40)},
    "balanced": {"class_weight": "balanced", "max_iter": 6},
    "normalized": {"normalize": True, "max_iter": 12, "selection": SampledCandidates(20)},
    "log loss": {"scoring": "neg_log_loss", "max_iter": 12},
    "hinge": {"loss": "hinge", "max_iter": 5},
    "paper": {"solver": "admm", "l2s": [0.0, 0.01], "max_iter": 8, "fit_intercept": False},
    "no ridge": {"scheme": "shrinkage", "max_iter": 30},
}


# Three classes differ in what is shared, not in what is searched: one search shows it.
PAIRS = [
    pytest.param(changes, n, size, id=f"{name}-{n}-{size}", marks=[] if quick else pytest.mark.slow)
    for name, changes in SEARCHES.items()
    for n, size, quick in ((2, 2, True), (2, 3, False), (3, 3, name == "balanced"))
]


@pytest.mark.parametrize(("changes", "n_classes", "size"), PAIRS)
def test_ridges_that_share_a_loop_score_exactly_as_alone(changes, n_classes, size):
    X, y = classes_of(n_classes, 70)
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    ridges = ["auto", 1e-4, 10.0][:size]
    grid = {"dictionaries": MIXED[:size], "l2s": ridges, "cv": folds, "random_state": 3}
    search = FCGBoostClassifierCV(**{**grid, **changes}).fit(X, y, sample_weight=weights)
    by_setting = scores_alone(search, X, y, weights, folds)
    together = np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(2)], axis=-1)
    np.testing.assert_array_equal(together, by_setting.swapaxes(1, 2).reshape(together.shape))


def test_ridges_on_separable_data_each_end_on_their_own():
    X, y = make_simulation(80, noise=None, random_state=0)
    keep = np.abs(X[:, 1] - X[:, 0]) > 0.2
    X, y = X[keep], np.where(X[keep, 1] > X[keep, 0], 1, -1)
    folds = list(StratifiedKFold(2).split(X, y))
    search = FCGBoostClassifierCV(
        MIXED, [0.0, 1e-8, 1.0], cv=folds, max_iter=39, tol=1e-4, random_state=0
    ).fit(X, y)
    by_setting = scores_alone(search, X, y, np.ones(len(y)), folds)
    together = np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(2)], axis=-1)
    np.testing.assert_array_equal(together, by_setting.swapaxes(1, 2).reshape(together.shape))


@pytest.mark.covering
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("selection", [AllCandidates(), SampledCandidates(16)])
def test_paths_side_by_side_are_the_paths_alone(selection, n_classes):
    X, y = classes_of(n_classes)
    codes = np.unique(y, return_inverse=True)[1]
    targets = make_targets(codes, n_classes)
    design = MemoryDesign(ReluDictionary(), X, np.ones(len(y)), standardize=True)
    changes = {"selection": selection, "max_iter": 60, "fit_intercept": True, "tol": 0.02}
    recipes = [make_recipe(l2=l2, **changes) for l2 in (1.0, 1e-2, 1e-5)]
    together = fit_paths(design, targets, recipes)
    assert len({len(trace) for trace in together}) > 1
    for recipe, trace in zip(recipes, together, strict=True):
        alone, _ = fit_path(design, targets, recipe)
        assert trace.endings == alone.endings
        np.testing.assert_array_equal(trace.atoms, alone.atoms)
        np.testing.assert_array_equal(trace.entered, alone.entered)
        assert len(trace) == len(alone)
        for one, other in zip(trace, alone, strict=True):
            np.testing.assert_array_equal(one.chosen, other.chosen)
            # Sums for several outputs at once are added up in another order.
            for name in ("scores", "objectives", "coef", "intercept"):
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)
            assert one.solver_iterations == other.solver_iterations


def test_memory_decides_how_many_ridges_go_side_by_side_and_changes_nothing(monkeypatch):
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, [0.01, 0.1, 1.0], cv=2, max_iter=9, random_state=0)
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    sizes = []
    together = fcgboost.search.fit_paths

    def counting(design, targets, recipes, *args):
        sizes.append(len(recipes))
        return together(design, targets, recipes, *args)

    monkeypatch.setattr(fcgboost.search, "fit_paths", counting)
    # Ten columns of sixty rows, twice.
    with sklearn.config_context(working_memory=2 * 10 * 60 * 8 / 2**20):
        search.fit(X, y)
    assert sizes == [2, 1] * 4
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected)


def test_multiples_of_the_folds_own_k0_stand_for_those_of_all_data():
    X, y = noisy(300)
    folds = list(StratifiedKFold(3).split(X, y))
    search = FCGBoostClassifierCV(WIDTHS[:1], cv=folds, random_state=0).fit(X, y)
    k0 = theory_steps(300)
    assert [row["max_iter"] for row in search.cv_results_["params"]] == [
        k0 * i for i in range(1, 6)
    ]
    fold_k0 = theory_steps(200)
    assert fold_k0 < k0
    train, test = folds[0]
    classifier = FCGBoostClassifier(
        WIDTHS[0], max_iter=5 * fold_k0, random_state=search.best_estimator_.random_state
    ).fit(X[train], y[train])
    expected = [classifier.truncate(i * fold_k0).score(X[test], y[test]) for i in range(1, 6)]
    np.testing.assert_allclose(search.cv_results_["split0_test_score"], expected, atol=1e-12)


def test_results_have_the_layout_of_scikit_learns_searches():
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, ["auto", 0.1], cv=3, max_iter=5).fit(X, y)
    results = search.cv_results_
    assert search.n_splits_ == 3
    splits = np.stack([results[f"split{i}_test_score"] for i in range(3)])
    assert splits.shape == (3, 2 * 2 * 5)
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert results["rank_test_score"].min() == 1
    best = search.best_index_
    assert results["mean_test_score"][best] == results["mean_test_score"].max()
    assert search.best_score_ == results["mean_test_score"][best]
    assert search.best_params_ == results["params"][best]
    for name in ("dictionary", "l2", "max_iter"):
        assert results[f"param_{name}"][best] is search.best_params_[name]


def test_the_refit_is_the_best_setting_on_all_data():
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, [0.01, 0.1], cv=3, random_state=1).fit(X, y)
    alone = FCGBoostClassifier(
        random_state=search.best_estimator_.random_state, **search.best_params_
    ).fit(X, y)
    np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    assert search.n_iter_ == alone.n_iter_ == search.best_params_["max_iter"]
    assert len(search.trace_) == len(alone.trace_)
    np.testing.assert_array_equal(search.feature_importances_, alone.feature_importances_)


def test_without_a_refit_there_are_results_but_no_predictions():
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, cv=3, refit=False).fit(X, y)
    assert search.best_params_["dictionary"] in WIDTHS
    with pytest.raises(NotFittedError, match="refit=True"):
        search.predict(X)


def test_a_search_without_a_refit_forgets_the_model_of_an_earlier_one():
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, cv=3, max_iter=2).fit(X, y)
    search.set_params(refit=False).fit(X[:90], y[:90])
    with pytest.raises(NotFittedError, match="refit=True"):
        search.predict(X)
    assert not hasattr(search, "best_estimator_")


def test_a_search_that_fails_leaves_the_earlier_one_as_it_was():
    X, y = noisy()
    search = FCGBoostClassifierCV(WIDTHS, cv=3, max_iter=2).fit(X, y)
    before, results = search.decision_function(X), search.cv_results_
    with pytest.raises(ValueError, match="classes that are not in y"):
        search.set_params(class_weight={7: 1.0}).fit(X[:90], y[:90])
    np.testing.assert_array_equal(search.decision_function(X), before)
    assert search.cv_results_ is results


def test_one_dictionary_and_one_ridge_need_no_list():
    X, y = noisy()
    bare = FCGBoostClassifierCV(WIDTHS[0], 0.1, cv=3, max_iter=2, random_state=0).fit(X, y)
    listed = FCGBoostClassifierCV(WIDTHS[:1], [0.1], cv=3, max_iter=2, random_state=0).fit(X, y)
    assert bare.cv_results_["params"] == listed.cv_results_["params"]
    np.testing.assert_array_equal(bare.atom_coef_, listed.atom_coef_)


def test_folds_hold_every_row_once_and_every_class_in_proportion():
    X, y = noisy(200)
    tested = []

    def remember(model, X, y):
        tested.append((tuple(X[:, 0]), y))
        return 0.0

    FCGBoostClassifierCV("gauss", cv=4, max_iter=1, scoring=remember, refit=False).fit(X, y)
    assert len(tested) == 4
    assert sorted(value for rows, _ in tested for value in rows) == sorted(X[:, 0])
    for _, labels in tested:
        assert len(labels) == pytest.approx(50, abs=2)
        assert (labels > 0).mean() == pytest.approx((y > 0).mean(), abs=0.03)


def test_there_are_no_more_folds_than_distinct_rows_of_a_class():
    X = np.repeat([[0.0], [1.0], [2.0], [3.0], [4.0]], 6, axis=0)
    y = np.repeat([0, 1, 0, 1, 0], 6)
    assert FCGBoostClassifierCV("gauss", cv=5, max_iter=1).fit(X, y).n_splits_ == 3


def test_paths_that_end_at_once_have_the_score_of_the_constant():
    X, y = np.zeros((40, 2)), np.repeat([0, 1], [10, 30])
    folds = list(StratifiedKFold(2).split(X, y))
    search = FCGBoostClassifierCV("gauss", cv=folds, max_iter=3, scoring="neg_log_loss")
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    share = np.array([0.25, 0.75])
    np.testing.assert_allclose(scores, np.full(3, share @ np.log(share)))
    assert search.n_atoms_ == 0


@pytest.mark.slow
def test_jobs_do_not_change_the_results():
    X, y = noisy()
    one, two = (
        FCGBoostClassifierCV(
            MIXED, ["auto", 0.1], cv=3, max_iter=5, n_jobs=n_jobs, random_state=0
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_groups_stay_together():
    X, y = noisy()
    groups = np.arange(len(y)) // 10
    search = FCGBoostClassifierCV(WIDTHS, cv=GroupKFold(4), max_iter=3, random_state=0)
    by_hand = list(GroupKFold(4).split(X, y, groups))
    expected = FCGBoostClassifierCV(WIDTHS, cv=by_hand, max_iter=3, random_state=0).fit(X, y)
    search.fit(X, y, groups=groups)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match="groups"):
        search.fit(X, y)


@pytest.mark.parametrize("seed", [0, *also(1, 2)])
def test_weights_are_repetitions_whatever_the_order_of_the_rows(seed):
    X, y = noisy(80, seed)
    generator = np.random.default_rng(seed)
    weights = generator.integers(0, 4, len(y))
    rows = generator.permutation(np.repeat(np.arange(len(y)), weights))
    weighed = FCGBoostClassifierCV(WIDTHS, ["auto", 0.1], cv=4, random_state=seed)
    repeated = FCGBoostClassifierCV(WIDTHS, ["auto", 0.1], cv=4, random_state=seed)
    weighed.fit(X, y, sample_weight=weights)
    repeated.fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighed.cv_results_["mean_test_score"],
        repeated.cv_results_["mean_test_score"],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        weighed.decision_function(X), repeated.decision_function(X), atol=1e-7
    )


def test_a_mapping_names_dictionaries_and_their_grids():
    X, y = noisy()
    grids = {"gauss": {"width": [0.3, 1.0], "centers": ["data", "box"]}, "relu": {}}
    search = FCGBoostClassifierCV(grids, cv=3, max_iter=2).fit(X, y)
    tried = [str(part) for part in search.cv_results_["param_dictionary"][::2]]
    assert tried == [
        "GaussDictionary(width=0.3)",
        "GaussDictionary(width=1.0)",
        "GaussDictionary(centers='box', width=0.3)",
        "GaussDictionary(centers='box', width=1.0)",
        "ReluDictionary()",
    ]


def test_another_score_may_choose_another_model():
    X, y = noisy(200)
    by_loss = FCGBoostClassifierCV(WIDTHS, cv=3, scoring="neg_log_loss", random_state=0)
    by_loss.fit(X, y)
    assert (by_loss.cv_results_["mean_test_score"] < 0).all()


def test_a_class_with_one_row_is_named():
    X, y = noisy(30)
    y = y.astype(str)
    y[0] = "alone"
    with pytest.raises(ValueError, match="alone"):
        FCGBoostClassifierCV(WIDTHS, cv=3).fit(X, y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dictionaries": []}, "at least one entry"),
        ({"l2s": []}, "at least one entry"),
        ({"dictionaries": ["gaus"]}, "dictionary must be one of"),
        ({"dictionaries": [ReluDictionary(weights="x")]}, "weights must be one of"),
        ({"dictionaries": {"gauss": {"width": [-1.0]}}}, "width must be a positive number"),
        ({"l2s": [-1.0]}, "l2"),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"max_iter": 0}, "max_iter"),
        ({"loss": "hinge", "solver": "newton"}, "NewtonSolver cannot minimise Hinge"),
        ({"scoring": "no such score"}, "scoring"),
    ],
)
def test_impossible_settings_are_refused_before_any_path(count_paths, changes, message):
    X, y = noisy(40)
    search = FCGBoostClassifierCV(**{"dictionaries": WIDTHS, "cv": 3, **changes})
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not count_paths
    assert not [name for name in vars(search) if name.endswith("_")]


def test_groups_need_a_splitter_that_keeps_them_together():
    X, y = noisy(40)
    search = FCGBoostClassifierCV(WIDTHS, cv=4)
    with pytest.raises(ValueError, match=r"GroupKFold\(4\)"):
        search.fit(X, y, groups=np.arange(40) // 4)


def test_folds_that_lose_a_class_are_refused():
    X, _ = noisy(30)
    y = np.repeat(["a", "b", "c"], 10)
    with pytest.raises(ValueError, match=r"fold 0 has no row of the classes \['\w'\]"):
        FCGBoostClassifierCV(WIDTHS, cv=GroupKFold(3)).fit(X, y, groups=y)
