"""Experiments that are not in the paper: what they measure, and how their rules decide."""

import io
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report_frames import frame_of
from sklearn.utils import Bunch

from fcgboost import FCGBoostClassifier, TreeDictionary
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import LinearDictionary
from fcgboost.losses import SquaredHinge
from fcgboost.solvers import NewtonSolver
from fcgboost.solvers.base import Problem
from paper import runner
from paper.experiments import atoms, calibration, leaves, robustness, uci
from paper.experiments.robust import (
    Reseeded,
    Reweighted,
    Trimmed,
    again,
    capped_weights,
    out_of_fold_margins,
)
from paper.protocol import Data
from paper.reporting.ledger import beyond

WHY = "in the extra 'study' only"


@cache
def sample(noise: float = 0.0) -> Data:
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0, 1.0, -1.0)
    noisy = np.where(random.uniform(size=500) < noise, -y, y)
    return Data(X[:200], noisy[:200], X[200:300], noisy[200:300], X[300:], y[300:])


def made_up(name, return_X_y=True):
    X = np.random.default_rng(len(name)).normal(size=(240, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    return (X, y) if return_X_y else Bunch(data=X, target=y, groups={})


@pytest.fixture
def _few_sets(monkeypatch):
    monkeypatch.setattr(uci, "fetch_uci", made_up)
    for module in (atoms, calibration, leaves, robustness):
        monkeypatch.setattr(module, "missing_sets", lambda names: None)
    monkeypatch.setattr(atoms, "SETS", ("heart",))
    monkeypatch.setattr(calibration, "SETS", ("heart",))
    monkeypatch.setattr(leaves, "SMALL_SETS", ("heart",))
    monkeypatch.setattr(robustness, "REAL_SETS", ("biodeg", "heart"))
    monkeypatch.setattr(robustness, "NOISES", (0.0, 0.3))


def quick(experiment, folder, methods=None):
    options = {"only": {"method": methods} if methods else {}, "stream": io.StringIO()}
    assert runner.run(experiment, "quick", folder, **options) is None
    frame, facts = runner.load(experiment, folder)
    assert facts["is_finished"] == (methods is None)
    return frame


# Leaves


@cache
def forest():
    data = sample()
    parts = (data.X, data.X_val, data.X_test)
    classifier = FCGBoostClassifier(TreeDictionary(), max_iter=4, random_state=0)
    classifier.fit(data.X, data.y)
    return classifier, leaves.forest_of(classifier.atoms_, parts)


def test_leaves_add_up_to_their_trees():
    classifier, grown = forest()
    values = classifier.model_.columns(sample().X)
    assert_allclose((grown.places[0] @ grown.trees()).toarray(), values)
    assert_array_equal(grown.places[2].sum(axis=1), np.full((200, 1), 4.0))
    first = grown.first(2)
    assert_allclose((first.places[0] @ first.trees()).toarray(), values[:, :2])


def test_the_path_is_its_own_leaves_with_its_own_values():
    classifier, grown = forest()
    coef = grown.trees() @ classifier.atom_coef_[0]
    decision = grown.places[1] @ coef + classifier.intercept_[0]
    assert_allclose(decision, classifier.decision_function(sample().X_val))


def newton(A, y, l2):
    """Solve by the package's exact solver: columns as linear functions of themselves."""
    dictionary = LinearDictionary()
    design = MemoryDesign(dictionary, A, np.ones(len(A)), standardize=False)
    columns = design.columns(y, SquaredHinge(), A.shape[1], has_constant=True)
    for j in range(A.shape[1]):
        columns.append(np.append(np.eye(A.shape[1])[j], 0.0)[None, :])
    return NewtonSolver().solve(Problem(columns, 0, l2), np.zeros(A.shape[1] + 1)).coef


def test_leaf_values_are_those_of_the_exact_solver():
    _, grown = forest()
    A, y = grown.first(2).places[0], sample().y
    found = leaves.solve(A, y, 0.01, leaves.Fit(np.zeros(A.shape[1]), 0.0))
    exact = newton(A.toarray(), y, 0.01)
    assert_allclose(found.coef, exact[1:], atol=1e-4)
    assert found.intercept == pytest.approx(exact[0], abs=1e-4)


def test_a_strong_ridge_keeps_leaves_at_their_centre():
    _, grown = forest()
    A, y = grown.places[0], sample().y
    center = np.linspace(-1.0, 1.0, A.shape[1])
    found = leaves.solve(A, y, 1e6, leaves.Fit(center, 0.0), center)
    assert_allclose(found.coef, center, atol=1e-5)


@pytest.mark.usefixtures("_few_sets")
def test_a_quick_run_of_leaves_corrects_in_three_ways(tmp_path):
    frame = quick(leaves.Leaves(), tmp_path, ["fcg"]).set_index("model")
    assert list(frame.index) == ["trees", "leaves", "near_trees"]
    assert frame["accuracy"].min() > 0.6
    assert frame["n_coefficients"]["trees"] == frame["n_trees"]["trees"]
    assert frame["n_coefficients"]["leaves"] > frame["n_trees"]["leaves"]


@pytest.mark.usefixtures("_few_sets")
def test_regularised_forests_are_judged_by_the_same_loss():
    pytest.importorskip("rgf", reason=WHY)
    (row,) = leaves.Leaves().run(leaves.LeavesUnit("heart", "rgf", 0, 200))
    assert row["model"] == "rgf"
    assert 0.0 < row["squared_hinge"] < 1.0


def test_the_loss_of_cut_values_is_four_brier_scores():
    f, y = np.array([3.0, -0.5, 0.2]), np.array([-1.0, -1.0, 1.0])
    p = 0.5 + 0.5 * np.clip(f, -1.0, 1.0)
    assert leaves.squared_hinge(f, y) == pytest.approx(4.0 * np.mean((p - (y > 0.0)) ** 2))


# Links


def test_scores_of_probabilities():
    p, y = np.array([0.05, 0.08, 0.62, 1.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    found = calibration.score(p, y)
    assert found["brier"] == pytest.approx((0.05**2 + 0.92**2 + 0.38**2 + 1.0) / 4)
    # Clipped to 1/8 and 7/8: four rows tell no more.
    logs = np.log([0.875, 0.125, 0.62, 0.125])
    assert found["log_loss"] == pytest.approx(-logs.mean())
    # Three bins: 0.13 expected and 1 seen, 0.62 and 1, 1 and 0.
    assert found["calibration_error"] == pytest.approx((0.87 + 0.38 + 1.0) / 4)


@pytest.mark.parametrize("name", calibration.LINKS)
def test_a_link_is_monotone_and_stays_between_0_and_1(name):
    random = np.random.default_rng(1)
    f = random.normal(size=400)
    y = np.where(random.uniform(size=400) < 1.0 / (1.0 + np.exp(-2.0 * f)), 1.0, -1.0)
    link, _ = calibration.LINKS[name](f, y)
    p = link(np.linspace(-4.0, 4.0, 101))
    assert (np.diff(p) >= 0.0).all()
    assert p.min() >= 0.0
    assert p.max() <= 1.0


@pytest.mark.parametrize(
    ("name", "expected"), [("logistic", "a"), ("power", "ab"), ("platt", "ab")]
)
def test_a_link_finds_the_parameters_that_made_the_labels(name, expected):
    random = np.random.default_rng(2)
    f = random.normal(size=20_000)
    y = np.where(random.uniform(size=20_000) < 1.0 / (1.0 + np.exp(-3.0 * f)), 1.0, -1.0)
    _, said = calibration.LINKS[name](f, y)
    values = dict(part.split("=") for part in said.split())
    assert list(values) == list(expected)
    assert float(values["a"]) == pytest.approx(3.0, rel=0.1)
    if "b" in values:
        assert float(values["b"]) == pytest.approx(1.0 if name == "power" else 0.0, abs=0.1)


@pytest.mark.parametrize("name", ["shrunk", "logistic", "power", "platt"])
def test_a_link_is_never_certain_where_the_classes_are_apart(name):
    f = np.concatenate([np.linspace(-1.2, -0.8, 40), np.linspace(0.8, 1.2, 40)])
    link, _ = calibration.LINKS[name](f, np.sign(f))
    assert 0.9 < link(np.array([1.0]))[0] < 1.0


@pytest.mark.usefixtures("_few_sets")
def test_a_quick_run_of_calibration_has_all_links_and_the_forest(tmp_path):
    frame = quick(calibration.Calibration(), tmp_path, ["fcg", "random_forest"])
    assert list(frame["model"]) == [*calibration.LINKS, "random_forest"]
    assert frame[["brier", "log_loss", "calibration_error"]].notna().all(axis=None)
    data = calibration.deal(uci.UciUnit("heart", "", "random", 0, "thinned", 400))
    seed = calibration.seed_of("heart", 0)
    classifier = FCGBoostClassifier(random_state=seed)
    classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    p = classifier.predict_proba(data.X_test)[:, 1]
    built_in = frame.set_index("model")["brier"]["power"]
    assert built_in == pytest.approx(np.mean((p - (data.y_test > 0.0)) ** 2))


# Options against wrong labels


def test_weights_are_capped():
    loss = np.array([0.0, 1.0, 2.0, 8.0])
    assert_array_equal(capped_weights(loss, 2.0), [1.0, 1.0, 1.0, 0.25])
    assert_array_equal(capped_weights(loss, 1.5, is_hard=True), [1.0, 1.0, 0.0, 0.0])


def estimator():
    return FCGBoostClassifier("relu", selection="sampled", random_state=0)


def given(data):
    return data.X, data.y, data.X_val, data.y_val


def test_no_amount_is_the_classifier_itself():
    data = sample(0.2)
    plain = estimator().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    for option in (Reweighted(estimator(), caps=()), Trimmed(estimator(), shares=())):
        option.fit(*given(data))
        assert option.amount_ == 0.0
        assert_array_equal(option.predict(data.X_test), plain.predict(data.X_test))


@pytest.mark.parametrize("option", [Reweighted, Trimmed])
@pytest.mark.parametrize("is_second_kind", [False, True])
def test_an_option_is_never_worse_on_the_validation_part(option, is_second_kind):
    data = sample(0.3)
    kind = {Reweighted: "is_hard", Trimmed: "is_turned"}[option]
    fitted = option(estimator(), **{kind: is_second_kind}).fit(*given(data))
    first = estimator().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    assert fitted.score(data.X_val, data.y_val) >= first.score(data.X_val, data.y_val)
    assert set(fitted.classes_) == {-1.0, 1.0}


def fast():
    return FCGBoostClassifier("fast", random_state=0)


@pytest.mark.parametrize("make", [estimator, fast])
def test_a_path_is_fitted_again_with_its_ridge_and_steps(make):
    data = sample(0.3)
    first = make().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    path = again(make(), first).fit(data.X, data.y)
    assert (path.l2_, path.n_iter_) == (first.l2_, first.n_iter_)
    plain = make().set_params(cv=None, l2=first.l2_, max_iter=first.n_iter_).fit(data.X, data.y)
    assert_array_equal(path.atom_coef_, plain.atom_coef_)


def test_the_control_tries_other_draws():
    data = sample(0.3)
    first = fast().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    tries = [fitted for _, fitted in Reseeded(fast(), n_seeds=2)._tries(first, data.X, data.y)]
    assert [one.n_iter_ for one in tries] == [first.n_iter_] * 2
    one, other = (fitted.decision_function(data.X_test) for fitted in tries)
    assert not np.array_equal(one, other)


def test_margins_are_those_of_classifiers_that_have_not_seen_the_row():
    data = sample(0.3)
    first = estimator().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    margins = out_of_fold_margins(estimator(), first, data.X, data.y)
    inside = data.y * first.decision_function(data.X)
    is_clean = data.y == sample().y
    assert margins.shape == data.y.shape
    assert margins[is_clean].mean() > margins[~is_clean].mean()
    assert margins.mean() < inside.mean()


def test_trimming_leaves_out_the_rows_with_the_worst_margins():
    data = sample(0.3)
    first = estimator().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    is_clean = data.y == sample().y
    # Margins that know the truth: leaving out what is wrong gives the fit to clean rows.
    margins = np.where(is_clean, 1.0, -1.0)
    share = float(np.mean(~is_clean))
    option = Trimmed(estimator(), shares=(share,), first=first, margins=margins)
    ((amount, classifier),) = option._tries(first, data.X, data.y)
    assert amount == share
    clean = estimator().set_params(l2=first.l2_, max_iter=first.n_iter_)
    clean.fit(data.X, data.y, is_clean.astype(float))
    assert_array_equal(classifier.predict(data.X_test), clean.predict(data.X_test))
    turned = Trimmed(estimator(), shares=(share,), is_turned=True, first=first, margins=margins)
    ((_, classifier),) = turned._tries(first, data.X, data.y)
    true = estimator().set_params(l2=first.l2_, max_iter=first.n_iter_).fit(data.X, sample().y)
    assert_array_equal(classifier.predict(data.X_test), true.predict(data.X_test))


def test_an_option_that_would_leave_one_class_ends():
    data = sample()
    first = estimator().fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    shares = (float(np.mean(data.y > 0.0)),)
    option = Trimmed(estimator(), shares=shares, first=first, margins=-data.y)
    assert option.fit(*given(data)).amount_ == 0.0


@pytest.mark.parametrize("name", ["simulation", "heart"])
@pytest.mark.usefixtures("_few_sets")
def test_labels_to_learn_from_are_flipped_and_test_labels_are_not(name):
    clean, noisy = (
        robustness.dealt(robustness.RobustnessUnit(name, "fcg", noise, 1, 200))
        for noise in (0.0, 0.3)
    )
    assert np.mean(clean.y != noisy.y) == pytest.approx(0.3)
    assert np.mean(clean.y_val != noisy.y_val) == pytest.approx(0.3, abs=0.01)
    assert_array_equal(clean.y_test, noisy.y_test)
    assert_array_equal(clean.X, noisy.X)


@pytest.mark.usefixtures("_few_sets")
def test_a_quick_run_of_robustness_has_the_default_and_all_options(tmp_path):
    frame = quick(robustness.Robustness(), tmp_path, ["fcg", "square", "svm_rbf"])
    models = {robustness.DEFAULT, *robustness.OPTIONS, "square", "svm_rbf"}
    counts = frame.groupby(["dataset", "noise"])["model"].agg(set)
    assert all(found == models for found in counts)
    assert len(counts) == 3 * 2
    wide = frame.pivot(index=["dataset", "noise"], columns="model", values="validation_accuracy")
    for option in robustness.OPTIONS:
        assert (wide[option] >= wide[robustness.DEFAULT]).all()


def test_names_are_those_of_the_rules():
    assert tuple(beyond.OPTIONS) == robustness.OPTIONS
    assert beyond.REAL_SETS == robustness.REAL_SETS
    assert set(beyond.LINKS) < set(calibration.LINKS)


# Rules


def robust_verdicts(change):
    """Judge the option "trimmed" after a change of its rows."""
    frame = frame_of(robustness.Robustness())
    chosen, default = (frame["model"] == name for name in ("trimmed", robustness.DEFAULT))
    # As good as the default on average, and not the same.
    frame.loc[chosen, "accuracy"] = frame.loc[default, "accuracy"].to_numpy()
    frame.loc[chosen, "accuracy"] += 0.001 * (frame.loc[chosen, "repetition"] - 1.0)
    frame.loc[chosen, "accuracy"] = change(frame[chosen])
    claim = beyond.ROBUSTNESS[robustness.OPTIONS.index("trimmed")]
    return claim.finding({"robustness": frame})


def gaining(sets, noises=(0.2, 0.3, 0.4), clean=0.0):
    def change(rows):
        is_gained = rows["dataset"].isin(sets) & rows["noise"].isin(noises)
        is_clean = rows["noise"] == 0.0
        return rows["accuracy"] + 0.05 * is_gained + clean * is_clean

    return change


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (gaining(("biodeg", "magic_gamma_telescope")), "holds"),
        (gaining(robustness.REAL_SETS, clean=-0.001), "holds"),
        (gaining(robustness.REAL_SETS, clean=-0.01), "does not hold"),
        (gaining(("biodeg", "simulation")), "does not hold"),
        (gaining(robustness.REAL_SETS, noises=(0.1,)), "does not hold"),
        (gaining(()), "does not hold"),
    ],
)
def test_an_option_is_kept_if_it_gains_on_two_real_sets_and_costs_nothing(change, verdict):
    found = robust_verdicts(change)
    assert found.verdict == verdict
    assert found.evidence.startswith("Kept" if verdict == "holds" else "Tried and rejected")


def test_a_gain_within_two_standard_errors_is_none():
    spread = {0: -0.06, 1: 0.01, 2: 0.08}
    found = robust_verdicts(lambda rows: rows["accuracy"] + rows["repetition"].map(spread))
    assert found.verdict == "does not hold"


def test_options_need_two_repetitions():
    frame = frame_of(robustness.Robustness())
    (claim, *_) = beyond.ROBUSTNESS
    one = frame[frame["repetition"] == 0]
    assert claim.finding({"robustness": one}).verdict == "too few repetitions"
    lost = frame[frame["dataset"] != "biodeg"]
    assert claim.finding({"robustness": lost}).verdict == "not run"


def test_a_link_has_to_lower_both_scores():
    frame = frame_of(calibration.Calibration())
    found = {
        link: claim.finding({"calibration": frame}).verdict
        for link, claim in zip(beyond.LINKS, beyond.CALIBRATION, strict=True)
    }
    assert found.pop("logistic") == "holds"
    assert set(found.values()) == {"does not hold"}
    worse = frame.assign(brier=frame["brier"] + 0.02 * (frame["model"] == "logistic"))
    claim = beyond.CALIBRATION[list(beyond.LINKS).index("logistic")]
    assert claim.finding({"calibration": worse}).verdict == "does not hold"


def test_corrections_are_compared_in_both_directions():
    frame = frame_of(leaves.Leaves())
    found = [claim.finding({"leaves": frame}) for claim in beyond.LEAVES]
    assert [one.verdict for one in found] == [
        *("does not hold", "does not hold", "holds", "does not hold"),
    ]
    is_leaf = frame["model"] == "leaves"
    better = frame.assign(accuracy=frame["accuracy"] + 0.1 * is_leaf)
    assert beyond.LEAVES[0].finding({"leaves": better}).verdict == "holds in part"
    better = better.assign(squared_hinge=better["squared_hinge"] - 0.1 * is_leaf)
    assert beyond.LEAVES[0].finding({"leaves": better}).verdict == "holds"
