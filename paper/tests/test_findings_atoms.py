"""Learned atoms against random ones: what is measured, and how its rules decide."""

import io

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from report_frames import frame_of
from sklearn.utils import Bunch

from fcgboost import FCGBoostClassifier
from paper import runner
from paper.experiments import atoms, uci
from paper.protocol import Data
from paper.reporting.ledger import atoms as ledger


def sample() -> Data:
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0, 1.0, -1.0)
    return Data(X[:200], y[:200], X[200:300], y[200:300], X[300:], y[300:])


def made_up(name, return_X_y=True):
    X = np.random.default_rng(len(name)).normal(size=(240, 3))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    return (X, y) if return_X_y else Bunch(data=X, target=y, groups={})


def test_a_quick_run_has_a_row_for_every_path_and_goal(tmp_path, monkeypatch):
    monkeypatch.setattr(uci, "fetch_uci", made_up)
    monkeypatch.setattr(atoms, "missing_sets", lambda names: None)
    monkeypatch.setattr(atoms, "SETS", ("heart",))
    assert runner.run(atoms.Atoms(), "quick", tmp_path, stream=io.StringIO()) is None
    frame, facts = runner.load(atoms.Atoms(), tmp_path)
    assert facts["is_finished"]
    n_reached = len(atoms.CRITERIA) * len(atoms.WAYS)
    assert len(frame) == n_reached + len(atoms.HALF_WAYS)
    half = frame[frame["criterion"] == atoms.HALF].set_index("way")
    assert (half["k"].drop("random") <= half["k"]["random"] / 2).all()
    assert half["own_k"]["halved"] == half["own_k"]["random"] == half["k"]["random"]
    own = frame[frame["criterion"] != atoms.HALF].query(f"way == '{atoms.GOAL}'")
    assert own["k"].notna().all()
    exact = own[own["criterion"] != "one_error"]
    assert_array_equal(exact["k"], exact["own_k"])
    assert (own["k"] <= own["own_k"]).all()


def test_a_goal_is_reached_by_the_first_step_that_has_it():
    scores = np.array([0.5, 0.8, 0.7, 0.9])
    assert atoms.first_at(scores, 0.8) == 2
    assert atoms.first_at(scores, 0.85) == 4
    assert atoms.first_at(scores, 0.91) is None


def test_a_curve_is_that_of_the_classifier_after_every_step():
    data, way = sample(), atoms.WAYS["learned"]
    curve = atoms.follow(way, data, 5)
    classifier = FCGBoostClassifier(
        way.dictionary,
        selection=way.selection,
        l2=0.1 / np.sqrt(200),
        clip=4.0,
        max_iter=3,
        random_state=5,
    ).fit(data.X, data.y)
    assert curve.test_accuracy[2] == classifier.score(data.X_test, data.y_test)
    assert curve.scores["accuracy"][2] == classifier.score(data.X_val, data.y_val)
    f = classifier.decision_function(data.X_val)
    loss = np.mean(np.maximum(0.0, 1.0 - data.y_val * f) ** 2)
    expected = curve.scores["accuracy"][2] - 0.5 * loss
    assert curve.scores["steadied"][2] == pytest.approx(expected)


def curve(scores, tests):
    named = dict.fromkeys(atoms.CRITERIA, np.array(scores))
    return atoms.Curve(named, np.array(tests), 0.01)


RANDOM = {1.0: curve([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]), 0.1: curve([0.4], [0.9])}
LEARNED = {1.0: curve([0.5, 0.3, 0.9], [0.1, 0.2, 0.3]), 0.1: curve([0.2, 0.6, 0.7], [0.4] * 3)}


def test_validation_chooses_among_all_ridges_and_up_to_half_the_atoms():
    whole, halved, learned = atoms.halves(RANDOM, LEARNED, nothing=0.55)
    # Of equal scores the stronger ridge wins.
    assert (whole["strength"], whole["k"], whole["test_accuracy"]) == (1.0, 4, 0.8)
    assert (halved["strength"], halved["k"], halved["test_accuracy"]) == (0.1, 1, 0.9)
    assert (learned["strength"], learned["k"], learned["test_accuracy"]) == (0.1, 2, 0.4)
    assert (learned["own_strength"], learned["own_k"], learned["own_score"]) == (1.0, 3, 0.9)


def test_half_of_one_atom_is_none():
    whole, *others = atoms.halves({0.1: curve([0.4, 0.3], [0.9, 0.8])}, LEARNED, nothing=0.55)
    assert whole["k"] == 1
    assert [(one["k"], one["test_accuracy"]) for one in others] == [(0, 0.55), (0, 0.55)]


def test_only_the_largest_set_is_cut():
    assert atoms.limit_of("Skin_NonSkin", 0) == 20_000
    assert atoms.limit_of("heart", 0) == 0
    assert atoms.limit_of("Skin_NonSkin", 400) == 400


def test_names_are_those_of_the_rules():
    assert set(ledger.GOALS) < set(atoms.CRITERIA)


def test_half_as_many_learned_atoms_have_to_be_as_accurate_on_six_sets():
    frame = frame_of(atoms.Atoms())
    claim, is_learned = ledger.ATOMS[0], frame["way"] == "learned"
    is_half = is_learned & (frame["criterion"] == atoms.HALF)

    def finding(n_worse):
        worse = is_half & frame["dataset"].isin(uci.SETS[:n_worse])
        return claim.finding(
            {"atoms": frame.assign(test_accuracy=frame["test_accuracy"] - 0.03 * worse)}
        )

    assert finding(5).verdict == "holds"
    found = finding(6)
    assert found.verdict == "does not hold"
    assert "on 5 of 11 sets" in found.evidence
    assert "above on 5 and below on 6" in found.evidence
    assert "random ones are as accurate on 0" in found.evidence
    one = frame[frame["repetition"] == 0]
    assert claim.finding({"atoms": one}).verdict == "too few repetitions"
    assert claim.finding({"atoms": frame[~is_half]}).verdict == "not run"


def test_learned_atoms_have_to_be_half_as_many_on_six_sets():
    frame = frame_of(atoms.Atoms())
    claim = ledger.ATOMS[1]
    assert claim.finding({"atoms": frame}).verdict == "holds"
    more = list(uci.SETS[:5])
    half = frame.assign(k=frame["k"].where(~frame["dataset"].isin(more), 100.0))
    assert claim.finding({"atoms": half}).verdict == "holds"
    is_learned = frame["way"] == "learned"
    missed = frame.assign(k=frame["k"].where(~(is_learned & frame["dataset"].isin(uci.SETS[:6]))))
    found = claim.finding({"atoms": missed})
    assert found.verdict == "does not hold"
    assert "on 5 of 11 sets" in found.evidence
    assert "missed on 6" in found.evidence


def test_a_path_that_misses_the_goal_needs_infinitely_many_atoms():
    frame = frame_of(atoms.Atoms()).query("criterion == 'accuracy'")
    once = (frame["way"] == "learned") & (frame["repetition"] == 0)
    ratios = ledger.atom_ratios(frame.assign(k=frame["k"].where(~once)), "learned")
    assert (ratios < 0.4).all()
    often = (frame["way"] == "learned") & (frame["repetition"] < 2)
    ratios = ledger.atom_ratios(frame.assign(k=frame["k"].where(~often)), "learned")
    assert np.isinf(ratios).all()
