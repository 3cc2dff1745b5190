"""The contest: what is dealt, what is counted, what is tuned, and what its rows say."""

import io
import json
import pickle
from collections.abc import Iterator
from functools import cache
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from report_frames import FINISHED, frame_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import ReluDictionary, TreeDictionary
from paper import runner
from paper.contest import CONTESTANTS, OURS
from paper.contest.counting import atom_numbers, stored_numbers
from paper.contest.tuning import measure, tune
from paper.experiments import contest, uci
from paper.experiments.contest import Contest, ContestUnit, dealt, with_noise
from paper.protocol import Data, deal_random, seed_of
from paper.reporting.contest import LABELS, RIVALS, complete, gaps, rank_summaries
from paper.reporting.ledger.contest import CLAIMS
from paper.reporting.sections import section
from paper.rivals import base
from paper.rivals.base import Entry, Judgement, Learned, Plan, Terms, score
from paper.rivals.boosters import (
    fit_catboost,
    fit_histogram,
    fit_lightgbm,
    fit_xgboost,
)
from paper.rivals.machines import fit_forest, fit_machine
from paper.rivals.rgf import fast_leaves, fit_rgf

N_ROWS = 400
WHY = "in the dependency group 'paper' only"
needs_validation_part = pytest.mark.skipif(
    "X_val" not in signature(HistGradientBoostingClassifier.fit).parameters,
    reason="before scikit-learn 1.7 its boosting takes no validation part",
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    # Threads that wait for each other on busy cores take minutes.
    with threadpool_limits(1):
        yield


@cache
def sample() -> Data:
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0, 1.0, -1.0)
    return Data(X[:200], y[:200], X[200:300], y[200:300], X[300:], y[300:])


def naive_numbers(tree, children, is_leaf):
    """Count two numbers a split and one a leaf, node by node."""
    if is_leaf(tree):
        return 1
    return 2 + sum(naive_numbers(child, children, is_leaf) for child in children(tree))


def check_learned(learned, n_numbers):
    assert learned.count() == n_numbers
    data = sample()
    judged = learned.judge(data.X_test)
    assert set(np.unique(judged.labels)) <= {-1.0, 1.0}
    assert judged.probabilities.min() >= 0.0
    assert judged.probabilities.max() <= 1.0
    assert score(judged, data.y_test).accuracy > 0.75
    assert len(learned.file()) > n_numbers


# What models store


def test_numbers_of_lightgbm_are_those_of_its_trees():
    lightgbm = pytest.importorskip("lightgbm", reason=WHY)
    learned = fit_lightgbm({"num_leaves": 5}, sample(), 0)
    booster = lightgbm.Booster(model_str=learned.file().decode())
    trees = [one["tree_structure"] for one in booster.dump_model()["tree_info"]]

    def sides(node):
        return node["left_child"], node["right_child"]

    naive = sum(naive_numbers(tree, sides, lambda node: "left_child" not in node) for tree in trees)
    assert learned.n_parts == len(trees)
    check_learned(learned, naive)


def test_numbers_of_xgboost_are_those_of_its_trees():
    xgboost = pytest.importorskip("xgboost", reason=WHY)
    learned = fit_xgboost({"max_depth": 3}, sample(), 0)
    booster = xgboost.Booster(model_file=bytearray(learned.file()))
    trees = [json.loads(text) for text in booster.get_dump(dump_format="json")]
    naive = sum(
        naive_numbers(tree, lambda node: node["children"], lambda node: "leaf" in node)
        for tree in trees
    )
    assert learned.n_parts == len(trees)
    check_learned(learned, naive)


def test_numbers_of_catboost_count_a_level_once(tmp_path):
    catboost = pytest.importorskip("catboost", reason=WHY)
    learned = fit_catboost({"depth": 3}, sample(), 0)
    model = catboost.CatBoostClassifier().load_model(blob=learned.file())
    model.save_model(str(tmp_path / "model.json"), format="json")
    trees = json.loads((tmp_path / "model.json").read_text())["oblivious_trees"]
    naive = sum(2 * len(tree["splits"]) + len(tree["leaf_values"]) for tree in trees)
    assert learned.n_parts == len(trees)
    check_learned(learned, naive)


@needs_validation_part
def test_numbers_of_histogram_trees_are_those_of_their_nodes():
    learned = fit_histogram({"max_leaf_nodes": 5}, sample(), 0)
    trees = [tree for trees in pickle.loads(learned.file())._predictors for tree in trees]
    assert learned.n_parts == len(trees)
    check_learned(learned, sum(1 if n["is_leaf"] else 2 for t in trees for n in t.nodes))


def test_numbers_of_a_forest_are_those_of_its_nodes():
    params = {"n_estimators": 20, "max_features": 2, "min_samples_leaf": 2}
    learned = fit_forest(params, sample(), 0)
    trees = [tree.tree_ for tree in pickle.loads(learned.file()).estimators_]
    check_learned(learned, sum(1 + int(left >= 0) for t in trees for left in t.children_left))


def test_numbers_of_a_machine_are_those_of_its_support_vectors():
    learned = fit_machine({"C": 2.0, "gamma": 0.5, "max_iter": 100_000}, sample(), 0)
    check_learned(learned, learned.n_parts * 4)


@pytest.mark.parametrize(
    "params", [{"max_leaf": 100, "l2": 0.1}, {"n_trees": 20, "max_leaf": 5, "l2": 1.0}]
)
def test_regularised_forests_are_read_from_their_files(params):
    pytest.importorskip("rgf", reason=WHY)
    learned = fit_rgf(params, sample(), 0)
    leaves, trees = learned.chosen["leaves"], learned.chosen["trees"]
    assert 0 < trees < leaves
    check_learned(learned, 3 * leaves - 2 * trees)


def test_nodes_of_the_fast_program_are_six_numbers_after_two():
    tree = "0 3 1 -1 0.5 0 1 2 0 0 -1 0.1 -1 -1 0 0 -1 -0.1 -1 -1"
    assert len(tree.split()) == 2 + 3 * 6
    assert fast_leaves(f"0 2 0 2 3 \n{tree}\n0 1 0 0 -1 0.1 -1 -1\n".encode()) == [2, 1]


def test_numbers_of_our_atoms():
    relu = np.array([[1.0, 2.0, 0.5, -1.0], [0.0, 2.0, 0.0, 0.0]])
    assert atom_numbers(ReluDictionary(), relu, 3) == 4 + 2
    # A root, a leaf, a split and its two leaves; then unused room.
    nodes = [[0, 0.5, 1, 0], [-1, 0.2, 0, 0], [2, 0.1, 3, 0], [-1, 0.3, 0, 0], [-1, 0.4, 0, 0]]
    tree = np.array([[*np.ravel(nodes), *np.zeros(8)]])
    assert atom_numbers(TreeDictionary(), tree, 3) == 2 * 2 + 3


def test_numbers_of_ours_include_coefficients_and_the_constant():
    data = sample()
    fitted = FCGBoostClassifier(ReluDictionary(), max_iter=5, random_state=0).fit(data.X, data.y)
    model = fitted.model_
    limits = 0 if model.limits is None else 2 * 3
    scale = 3 if np.any(model.scale != 1.0) else 0
    atoms = atom_numbers(model.dictionary, model.atoms, 3)
    assert stored_numbers(fitted) == 5 + 1 + limits + scale + atoms


# Scores


def test_scores_compare_with_both_classes():
    found = score(Judgement(np.array([1.0, -1.0]), np.array([0.7, 0.4])), np.array([1.0, 1.0]))
    assert found.accuracy == 0.5
    assert found.brier == pytest.approx((0.09 + 0.36) / 2)
    assert found.log_loss == pytest.approx(-np.log(0.7 * 0.4) / 2)


def test_a_certain_and_wrong_probability_costs_a_finite_loss():
    found = score(Judgement(np.ones(4), np.ones(4)), np.array([-1.0, 1.0, 1.0, 1.0]))
    assert found.log_loss == pytest.approx(-(np.log(1 / 8) + 3 * np.log(7 / 8)) / 4)


# Dealing and noise


def made_up(name, return_X_y=True):
    X = np.random.default_rng(len(name)).normal(size=(N_ROWS, 3))
    # Row numbers tell which rows went where.
    X[:, 1] = np.arange(N_ROWS)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    return (X, y) if return_X_y else Bunch(data=X, target=y, groups={})


@pytest.fixture
def _made_up_sets(monkeypatch):
    monkeypatch.setattr(uci, "fetch_uci", made_up)


@pytest.mark.usefixtures("_made_up_sets")
def test_rows_are_dealt_as_in_uci():
    ours = dealt(ContestUnit("heart", "lightgbm", 0.0, 3))
    theirs = uci.deal(uci.UciUnit("heart", "svm_rbf", "random", 3, "paper"))
    for part, other in zip(ours, theirs, strict=True):
        assert_array_equal(part, other)
    _, y = made_up("heart")
    deal = deal_random(N_ROWS, seed_of("heart", 3))
    assert_array_equal(ours.y_test, y[deal.test])


@pytest.mark.usefixtures("_made_up_sets")
def test_noise_flips_a_share_of_what_is_learned_from_and_no_test_label():
    clean = dealt(ContestUnit("heart", "lightgbm", 0.0, 0))
    noisy = dealt(ContestUnit("heart", "lightgbm", 0.3, 0))
    assert np.sum(clean.y != noisy.y) == 60
    assert np.sum(clean.y_val != noisy.y_val) == 30
    assert_array_equal(clean.y_test, noisy.y_test)
    assert_array_equal(clean.X, noisy.X)


@pytest.mark.usefixtures("_made_up_sets")
def test_noise_depends_on_set_and_repetition_alone():
    labels = [
        dealt(ContestUnit("heart", method, 0.3, repetition)).y
        for method, repetition in (("lightgbm", 0), ("svm_rbf", 0), ("lightgbm", 1))
    ]
    assert_array_equal(labels[0], labels[1])
    data = sample()
    flips = [with_noise(data, 0.3, seed).y != data.y for seed in (1, 1, 2)]
    assert_array_equal(flips[0], flips[1])
    assert not np.array_equal(flips[0], flips[2])


# Tuning


def fixed(share, log_odds=0.5):
    """Give what says +1 on a share of the rows."""

    def judge(X):
        labels = np.where(np.arange(len(X)) < share * len(X), 1.0, -1.0)
        return Judgement(labels, 0.5 + 0.5 * log_odds * labels)

    return Learned(judge, 1, lambda: 7, lambda: b"model")


def toy(fits, **plan):
    def fit(params, data, seed):
        fits.append((params, len(data.y)))
        return fixed(params["share"], params.get("odds", 0.5))

    choices = plan.pop("choices")
    return Entry(fit, lambda data, terms: Plan(choices, **plan))


def all_positive():
    data = sample()
    ones = np.ones_like
    return data._replace(y_val=ones(data.y_val), y_test=-ones(data.y_test))


def test_the_best_validation_accuracy_wins_whatever_the_test_part_says():
    data = all_positive()
    contestant = toy([], choices=[{"share": 0.2}, {"share": 0.9}, {"share": 0.4}])
    row = measure(contestant, data, Terms(), 0)
    assert row["parameters"] == "share=0.9"
    assert row["validation_accuracy"] == pytest.approx(0.9)
    assert row["accuracy"] == pytest.approx(0.1)
    assert row["stored_numbers"] == 7


@pytest.mark.parametrize(("high", "low"), [(0.9, 0.1), (1.0 - 1e-9, 1.0 - 1e-6)])
def test_of_equal_accuracies_the_higher_likelihood_wins_and_then_the_first(high, low):
    data = all_positive()
    sure, unsure = {"share": 1.0, "odds": high}, {"share": 1.0, "odds": low}
    plan = [unsure, sure, {**sure}]
    winner = tune(toy([], choices=plan), Plan(plan), data, 0)
    assert winner.params is plan[1]


def test_a_search_on_few_rows_ends_with_a_fit_to_all():
    fits = []
    choices = [{"share": 0.2, "trees": 9}, {"share": 0.9, "trees": 9}]
    contestant = toy(fits, choices=choices)
    plan = Plan(choices, rows=50, trial={"trees": 3})
    winner = tune(contestant, plan, all_positive(), 0)
    assert [(params["trees"], n_rows) for params, n_rows in fits] == [(3, 50), (3, 50), (9, 200)]
    assert winner.seconds_fit <= winner.seconds_tune


@pytest.mark.parametrize("name", CONTESTANTS)
def test_a_plan_has_distinct_choices_and_its_note_where_it_is_smaller(name):
    many = np.zeros((60_000, 3))
    large = Data(many, np.ones(60_000), many, np.ones(60_000), many, np.ones(60_000))
    for data, noise in ((sample(), 0.0), (large, 0.0), (large, 0.3)):
        plan = CONTESTANTS[name].plan(data, Terms(noise))
        assert len({str(choice) for choice in plan.choices}) == len(plan.choices) > 0
        assert bool(plan.note) >= bool(plan.final_rows)
    assert len(CONTESTANTS[name].plan(sample(), Terms(is_try=True)).choices) <= 2


# The experiment


def test_whole_repetitions_come_first_and_noise_last():
    units = Contest().units("standard", None)
    assert len(units) == 2 * 10 * 11 * len(CONTESTANTS)
    order = [(unit.noise, unit.repetition) for unit in units]
    assert order == sorted(order)


@needs_validation_part
@pytest.mark.usefixtures("_made_up_sets")
def test_methods_can_be_run_one_after_another_into_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(contest, "SETS", ("heart",))
    monkeypatch.setattr(contest, "missing_sets", lambda names: None)
    for methods in (["svm_rbf"], ["svm_rbf", "hist_gradient_boosting"]):
        options = {"only": {"method": methods}, "resume": True, "stream": io.StringIO()}
        assert runner.run(Contest(), "quick", tmp_path, **options) is None
    frame, facts = runner.load(Contest(), tmp_path)
    assert sorted(zip(frame["method"], frame["noise"], strict=True)) == [
        *(("hist_gradient_boosting", 0.0), ("hist_gradient_boosting", 0.3)),
        *(("svm_rbf", 0.0), ("svm_rbf", 0.3)),
    ]
    assert not facts["is_finished"]
    assert frame[frame["noise"] == 0.0]["accuracy"].min() > 0.85


def test_an_absent_package_is_named_with_its_group(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    obstacle = Contest().obstacle([ContestUnit("heart", "rgf", 0.0, 0)])
    assert "not installed: rgf_python." in obstacle
    assert "pip install --group paper" in obstacle


# What the rows say


def verdicts(frame):
    return [claim.finding({"contest": frame}).verdict for claim in CLAIMS]


def with_accuracy(frame, method, change, dataset=None, noise=0.0):
    chosen = (frame["method"] == method) & (frame["noise"] == noise)
    if dataset is not None:
        chosen &= frame["dataset"] == dataset
    return frame.assign(accuracy=frame["accuracy"] + np.where(chosen, change, 0.0))


@pytest.fixture(name="rows")
def made_up_rows() -> pd.DataFrame:
    """Give rows in which ours leads by two points on all sets and is small and fast."""
    frame = frame_of(Contest())
    chosen = frame["method"] == "fcg_compact"
    frame.loc[chosen, "accuracy"] += 0.0095
    frame.loc[chosen, "stored_numbers"] = 60
    return frame


def test_names_are_those_of_the_contestants():
    assert tuple(LABELS) == tuple(CONTESTANTS) == (*OURS, *RIVALS)


def test_all_claims_hold_where_we_lead(rows):
    assert verdicts(rows) == ["holds"] * 6


def test_a_lower_mean_fails_the_claims_on_accuracy_and_rank(rows):
    found = verdicts(with_accuracy(rows, "fcg_auto", -0.04))
    assert found[:3] == ["does not hold"] * 3


def test_one_set_far_below_fails_the_claim_on_sets_alone(rows):
    found = verdicts(with_accuracy(rows, "fcg_auto", -0.05, dataset="heart"))
    assert found[:3] == ["holds", "holds", "does not hold"]


def test_a_gap_within_two_standard_errors_or_a_point_is_no_failure(rows):
    close = with_accuracy(rows, "fcg_auto", -0.029, dataset="heart")
    assert verdicts(close)[2] == "holds"
    spread = (rows["repetition"] - 1.0) * 0.1 * (rows["method"] == "lightgbm")
    wide = with_accuracy(rows.assign(accuracy=rows["accuracy"] + spread), "fcg_auto", -0.05)
    assert verdicts(wide)[2] == "holds"


def test_time_size_and_noise_are_judged_on_their_own(rows):
    slow = rows.assign(seconds_tune=rows["seconds_tune"].where(rows["method"] != "fcg_auto", 2.0))
    assert verdicts(slow)[3] == "does not hold"
    large = rows.assign(stored_numbers=500)
    assert verdicts(large)[4] == "does not hold"
    weak = with_accuracy(rows, "fcg_compact", -0.01)
    assert verdicts(weak)[4] == "does not hold"
    noisy = with_accuracy(rows, "fcg_auto", -0.05, noise=0.3)
    assert verdicts(noisy) == ["holds"] * 5 + ["does not hold"]


def test_without_ours_nothing_is_claimed(rows):
    assert verdicts(rows[~rows["method"].isin(OURS)]) == ["not run"] * 6


def test_only_splits_that_all_methods_have_are_compared(rows):
    lost = (rows["method"] == "rgf") & (rows["repetition"] == 2) & (rows["dataset"] == "heart")
    left = complete(rows[~lost & (rows["noise"] == 0.0)], tuple(LABELS))
    assert left[left["dataset"] == "heart"]["repetition"].nunique() == 2
    assert left[left["dataset"] == "musk2"]["repetition"].nunique() == 3


def test_ranks_share_ties_and_gaps_are_paired():
    accuracies = {"fcg_auto": (0.9, 0.8), "lightgbm": (0.9, 0.6), "xgboost": (0.5, 0.7)}
    frame = pd.DataFrame(
        {"dataset": "heart", "method": method, "repetition": i, "accuracy": value}
        for method, values in accuracies.items()
        for i, value in enumerate(values)
    )
    found = {name: value.mean for name, value in rank_summaries(frame).items()}
    assert found == {"fcg_auto": 1.25, "lightgbm": 2.25, "xgboost": 2.5}
    gap = gaps(frame, "fcg_auto")["heart"]
    assert gap.rival == "lightgbm"
    assert gap.difference.mean == pytest.approx(0.1)
    assert gap.difference.error == pytest.approx(np.std([0.0, 0.2], ddof=1) / np.sqrt(2))


@pytest.mark.parametrize("methods", [tuple(LABELS), RIVALS, ("lightgbm",)])
def test_the_section_shows_whatever_methods_are_there(rows, methods):
    made = section(Contest(), rows[rows["method"].isin(methods)], FINISHED)
    clean = made.tables[1]
    assert clean.header == ("data set", "splits", *(LABELS[name] for name in methods))
    assert [cells[0].text for cells in clean.rows[-2:]] == ["mean", "mean rank"]
    assert len(clean.rows) == 11 + 2
