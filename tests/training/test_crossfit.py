"""Members are fitted to folds, blended by what the folds say, or fitted once more to all rows."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import FCGBoostClassifier
from fcgboost.calibration import HeldOut
from fcgboost.checks import draw_key
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import TreeDictionary, UnionDictionary
from fcgboost.losses import SquaredHinge
from fcgboost.stopping import theory_steps
from fcgboost.training import crossfit, presets
from fcgboost.training.presets import FAMILIES, FOREST
from fcgboost.training.tasks import Classification
from tests.suites.marks import also
from tests.suites.members import Keyed, folds_by_hash, keys_of, noisy, out_of_fold


def make(dictionary: Any = "auto", **changes: Any) -> FCGBoostClassifier:
    return FCGBoostClassifier(dictionary, **{"cv": 3, "random_state": 0, **changes})


@cache
def fitted(n_classes: int = 2) -> FCGBoostClassifier:
    """Give an ensemble of both kinds, which tests share: read it, do not fit it again."""
    return make(max_iter=6).fit(*noisy(n_classes=n_classes))


def kinds_of(model: FCGBoostClassifier) -> list[type]:
    return [type(member.model.dictionary) for member in model.members_]


# The blend

TASK = Classification(SquaredHinge(), None, np.arange(2))


def squared_hinge(y: np.ndarray, f: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(np.maximum(0.0, 1.0 - y[:, None] * f) ** 2, weights=weights, axis=0)[0])


def make_round(decision: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Any:
    halves = np.array_split(np.arange(len(y)), 2)
    parts = [HeldOut(decision[r, None], (y[r] > 0) * 1, weights[r]) for r in halves]
    return SimpleNamespace(held_out=parts)


@given(st.integers(0, 10**6))
def test_the_blend_has_the_least_loss_of_all_held_out_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 80)
    weights = rng.uniform(0.1, 3.0, 80)
    f, g = (y * rng.uniform(0, 1.5) + rng.normal(size=80) for _ in range(2))
    weight, other = crossfit.blend([make_round(d, y, weights) for d in (f, g)], TASK)
    grid = np.linspace(0.0, 1.0, 1001)
    risks = [squared_hinge(y, (w * f + (1.0 - w) * g)[:, None], weights) for w in grid]
    best = grid[np.argmin(risks)]
    assert weight + other == pytest.approx(1.0, abs=1e-15)
    if 0.06 < best < 0.94:
        assert weight == pytest.approx(best, abs=0.011)
    elif best < 0.04:
        assert weight == 0.0
    elif best > 0.96:
        assert weight == 1.0
    assert weight == round(weight, 2)
    assert not 0.0 < min(weight, other) < 0.05


# The tail


def test_a_tail_is_chosen_under_outliers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    has_fewer_errors = crossfit._has_fewer_errors
    monkeypatch.setattr(
        crossfit,
        "_has_fewer_errors",
        lambda *parts: chosen.append(has_fewer_errors(*parts)) or chosen[-1],
    )
    for noise, error in (("outlier", 0.02), (None, 0.02)):
        X, y = make_simulation(1_000, noise=noise, random_state=303)
        X_test, y_test = make_simulation(2_000, noise=None, random_state=1)
        model = FCGBoostClassifier(random_state=0).fit(X, y)
        assert model.score(X_test, y_test) > 1.0 - error
        without = replace(presets.AUTO, kinds=(replace(FAMILIES, tail=None), FOREST))
        with monkeypatch.context() as patched:
            patched.setitem(presets.PRESETS, "auto", without)
            usual = FCGBoostClassifier(random_state=0).fit(X, y)
        if noise is None:
            np.testing.assert_array_equal(model.decision_function(X), usual.decision_function(X))
        else:
            assert usual.score(X_test, y_test) < model.score(X_test, y_test) - 0.03
        hits = (model.oof_decision_function_ > 0) == (y > 0)
        assert model.oof_score_ == pytest.approx(hits.mean())
    assert chosen == [True, False]


@pytest.mark.parametrize(
    "changes",
    [{"link": "theory"}, {"scoring": "roc_auc"}, {"loss": "square"}, {"ensemble": False}],
)
def test_what_is_asked_for_has_no_tail(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError("No tail is asked for.")

    monkeypatch.setattr(crossfit, "recorrect", fail)
    make(max_iter=3, **changes).fit(*noisy(60))


def test_fewer_errors_are_more_than_chance() -> None:
    codes = np.array([0, 1, 1, 0, 1])
    weights = np.array([1.0, 2.0, 1.0, 1.0, 3.0])

    def part(decision: list[float]) -> list[HeldOut]:
        return [HeldOut(np.array(decision)[:, None], codes, weights)]

    right = part([-1.0, 1.0, 1.0, -1.0, 1.0])
    assert crossfit._has_fewer_errors(right, part([-1.0, -1.0, 1.0, -1.0, 1.0]))
    # A row of weight 1 is one standard error.
    assert not crossfit._has_fewer_errors(right, part([1.0, 1.0, 1.0, -1.0, 1.0]))
    # Two better rows and three worse ones.
    assert not crossfit._has_fewer_errors(part([-1.0, 1.0, 1.0, -1.0, -1.0]), right)
    assert not crossfit._has_fewer_errors(right, right)
    several = [HeldOut(np.eye(3)[[0, 1, 1, 0, 1]], codes, weights)]
    assert crossfit._has_fewer_errors(several, part([1.0, -1.0, -1.0, 1.0, -1.0]))


def test_one_kind_needs_no_blend() -> None:
    assert crossfit.blend([SimpleNamespace()], TASK) == [1.0]  # type: ignore[list-item]


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_the_weights_of_an_ensemble_minimise_its_loss_out_of_fold(n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    model = fitted(n_classes)
    assert kinds_of(model) == [UnionDictionary] * 3 + [TreeDictionary] * 3
    np.testing.assert_allclose(model.member_weights_.sum(), 1.0, rtol=1e-12)
    folds = folds_by_hash(X, y, 3, 0)
    values = np.zeros((2, len(y), 1 if n_classes == 2 else 3))
    for kind in range(2):
        for fold in range(3):
            member = model.members_[3 * kind + fold]
            values[kind, folds == fold] = member.decision(X[folds == fold])
    targets = np.where(y[:, None] == model.classes_[-values.shape[2] :], 1.0, -1.0)
    grid = np.linspace(0.0, 1.0, 1001)
    risks = [
        (np.maximum(0.0, 1.0 - targets * (w * values[0] + (1.0 - w) * values[1])) ** 2).mean()
        for w in grid
    ]
    assert model.member_weights_[:3].sum() == pytest.approx(grid[np.argmin(risks)], abs=0.011)
    assert len(set(model.member_weights_[:3])) == len(set(model.member_weights_[3:])) == 1


# Out of fold


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_every_row_is_judged_by_the_members_that_have_not_seen_it(n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    model = fitted(n_classes)
    expected = out_of_fold(model, X, folds_by_hash(X, y, 3, 0))
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12, atol=1e-12)
    whole = sum(m.weight * m.decision(X) for m in model.members_)
    np.testing.assert_allclose(
        model.decision_function(X), whole[:, 0] if n_classes == 2 else whole, rtol=1e-12
    )


def test_a_member_is_the_fit_to_its_training_part() -> None:
    X, y = noisy()
    folds = folds_by_hash(X, y, 3, 0)
    options = {"l2": 0.01, "max_iter": 5}
    model = make("relu", **options).fit(X, y)
    (keys,) = keys_of(model, 3, 1)
    for fold, member in enumerate(model.members_):
        rows = folds != fold
        alone = FCGBoostClassifier("relu", random_state=Keyed(keys[fold]), **options)
        alone.fit(X[rows], y[rows], X_val=X[~rows], y_val=y[~rows])
        np.testing.assert_array_equal(member.model.atoms, alone.trace_.atoms)
        np.testing.assert_array_equal(member.model.coef, alone.trace_[-1].coef)
        table = model.cv_results_
        np.testing.assert_array_equal(
            table[f"split{fold}_test_score"], [alone.trace_[-1].validation_score]
        )
        assert alone.trace_[-1].validation_score == pytest.approx(
            np.mean((member.decision(X[~rows])[:, 0] > 0) == (y[~rows] > 0))
        )


def test_forests_are_members_of_the_same_folds() -> None:
    X, y = noisy()
    folds = folds_by_hash(X, y, 3, 0)
    model = fitted()
    keys = keys_of(model, 3, 2)[1]
    for fold, member in enumerate(model.members_[3:]):
        rows = folds != fold
        m = int(rows.sum())
        assert member.l2 in [strength / np.sqrt(m) for strength in FOREST.strengths]
        # The second ridge leads.
        leader = FCGBoostClassifier(
            FOREST.dictionary,
            selection=FOREST.selection,
            solver=FOREST.solver,
            l2=FOREST.strengths[1] / np.sqrt(m),
            max_iter=1,
            random_state=Keyed(keys[fold]),
        ).fit(X[rows], y[rows])
        width = leader.trace_.atoms.shape[1]
        np.testing.assert_array_equal(member.trace.atoms[:1, :width], leader.trace_.atoms)


def test_every_member_has_the_ridge_and_the_steps_with_the_best_mean_score() -> None:
    X, y = noisy(150)
    model = make(l2=[0.3, 0.03, 0.003], dictionary="relu").fit(X, y)
    table = model.cv_results_
    assert set(table["param_l2"]) == {0.3, 0.03, 0.003}
    splits = np.stack([table[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=0), rtol=1e-12)
    best = int(np.argmax(table["mean_test_score"]))
    assert table["rank_test_score"][best] == 1
    top = table["mean_test_score"] == table["mean_test_score"].max()
    for member in model.members_:
        assert member.l2 in table["param_l2"][top]
        assert member.n_iter in table["param_max_iter"][top]
    folds = folds_by_hash(X, y, 3, 0)
    for fold, member in enumerate(model.members_):
        rows = folds == fold
        score = np.mean((member.decision(X[rows])[:, 0] > 0) == (y[rows] > 0))
        at_member = (table["param_l2"] == member.l2) & (table["param_max_iter"] == member.n_iter)
        assert table[f"split{fold}_test_score"][at_member] == pytest.approx(score)


@pytest.mark.parametrize("dictionary", ["auto", "relu"])
def test_a_given_ridge_or_number_of_steps_is_kept(dictionary: str) -> None:
    X, y = noisy()
    both = make(dictionary, cv=2, l2=0.02, max_iter=4).fit(X, y)
    assert {(member.l2, member.n_iter) for member in both.members_} == {(0.02, 4)}
    ridge = make(dictionary, cv=2, l2=0.02).fit(X, y)
    assert {member.l2 for member in ridge.members_} == {0.02}
    steps = make(dictionary, cv=2, max_iter=4).fit(X, y)
    assert {member.n_iter for member in steps.members_} == {4}
    theory = make(dictionary, cv=2, max_iter="theory").fit(X, y)
    assert {member.n_iter for member in theory.members_} == {theory_steps(60)}


# What is given up


def path_starts(model: FCGBoostClassifier, *data: Any, **named: Any) -> list[tuple[int, Any]]:
    """Fit, and return the number of planned paths and the fold at the first step of each path."""
    starts = []

    def hear(step: Any) -> None:
        if step.k == 1:
            starts.append((step.progress.n_paths, step.progress.fold))

    model.set_callbacks(hear).fit(*data, **named)
    return starts


@pytest.mark.parametrize("enough", [1.0, 1e9])
def test_a_kind_without_weight_is_given_up_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, enough: float
) -> None:
    monkeypatch.setattr(crossfit, "blend", lambda rounds, task: [1.0, 0.0][: len(rounds)])
    monkeypatch.setattr(crossfit, "_ENOUGH_WEIGHT", enough)
    X, y = noisy()
    model = make(max_iter=3)
    starts = path_starts(model, X, y)
    assert kinds_of(model) == [UnionDictionary] * 3
    np.testing.assert_allclose(model.member_weights_, 1.0 / 3.0)
    expected = out_of_fold(model, X, folds_by_hash(X, y, 3, 0))
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12)
    if enough == 1.0:
        assert starts == [(6, 1), (6, 1), (4, 2), (4, 3)]
        # The kind that was given up keeps the score of the first fold.
        by_fold = {
            name: [
                np.isfinite(model.cv_results_[f"split{i}_test_score"][rows]).all() for i in range(3)
            ]
            for name in ("UnionDictionary", "TreeDictionary")
            for rows in [model.cv_results_["param_dictionary"] == name]
        }
        assert by_fold["UnionDictionary"] == [True, True, True]
        assert by_fold["TreeDictionary"] == [True, False, False]
    else:
        assert starts == [(6, fold) for fold in (1, 1, 2, 2, 3, 3)]


def test_a_kind_that_only_disturbs_gets_no_weight() -> None:
    # Labels that a single threshold tells: ramps see it, trees of a hundred rows do as well.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    model = make(cv=2).fit(X, X @ [1.0, -1.0, 0.5] > 0.0)
    assert kinds_of(model) == [UnionDictionary] * 2


# One model


@pytest.mark.parametrize("dictionary", ["relu", "fast", "compact"])
def test_without_an_ensemble_the_best_setting_is_fitted_to_all_rows(dictionary: str) -> None:
    X, y = noisy(150)
    model = make(dictionary, ensemble=False).fit(X, y)
    (member,) = model.members_
    assert model.member_weights_.tolist() == [1.0]
    same = FCGBoostClassifier(
        dictionary,
        cv=None,
        l2=model.l2_,
        max_iter=model.n_iter_,
        random_state=Keyed(draw_key(draw_key(0))),
    ).fit(X, y)
    np.testing.assert_array_equal(member.model.atoms, same.atoms_)
    np.testing.assert_array_equal(member.model.coef, same.atom_coef_)
    np.testing.assert_array_equal(member.model.intercept, same.intercept_)
    assert model.oof_decision_function_.shape == (150,)


def test_the_refit_has_the_chosen_ridge() -> None:
    X, y = noisy(150)
    model = make("relu", ensemble=False, l2=[30.0, 1e-3], max_iter=6).fit(X, y)
    table = model.cv_results_
    assert model.l2_ == table["param_l2"][np.argmax(table["mean_test_score"])] == 1e-3


def test_the_refit_has_the_chosen_multiple_of_its_own_k0() -> None:
    X, y = noisy(300)
    model = make("relu", ensemble=False, cv=2).fit(X, y)
    table = model.cv_results_
    best = table["param_max_iter"][np.argmax(table["mean_test_score"])]
    assert theory_steps(150) < theory_steps(300)
    assert model.n_iter_ == round(best / theory_steps(150) * theory_steps(300))


def test_fast_holds_out_a_quarter_once() -> None:
    X, y = noisy(200)
    model = FCGBoostClassifier("fast", random_state=0).fit(X, y)
    assert len(model.members_) == 1
    assert "split1_test_score" not in model.cv_results_
    is_judged = ~np.isnan(model.oof_decision_function_)
    for label in (-1.0, 1.0):
        size = (y == label).sum()
        assert size / 4 <= (is_judged & (y == label)).sum() < size / 4 + 1
    expected = np.mean((model.oof_decision_function_ > 0) == (y > 0), where=is_judged)
    assert model.oof_score_ == pytest.approx(expected)


def test_fast_has_families_or_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    from fcgboost.training import presets

    X, y = noisy()
    families = FCGBoostClassifier("fast", max_iter=3, random_state=0).fit(X, y)
    few = replace(presets.FAST, n_many=120)
    monkeypatch.setitem(presets.PRESETS, "fast", few)
    forest = FCGBoostClassifier("fast", max_iter=3, random_state=0).fit(X, y)
    assert repr(families.model_.dictionary) == repr(FAMILIES.dictionary)
    assert forest.model_.dictionary.corrects_leaves


@pytest.mark.parametrize("seed", [0, *also(1, 2)])
def test_compact_models_are_small(seed: int) -> None:
    X, y = noisy(300, seed=seed)
    small = FCGBoostClassifier("compact", cv=3, random_state=seed).fit(X, y)
    usual = FCGBoostClassifier(cv=3, random_state=seed).fit(X, y)
    assert small.n_atoms_ < usual.n_atoms_
    assert small.n_atoms_ <= small.cv_results_["param_max_iter"].max()


# Validation data


def test_validation_data_judge_instead_of_folds() -> None:
    (X, y), (X_val, y_val) = noisy(), noisy(80, seed=1)
    starts = path_starts(model := make(cv="auto", max_iter=4), X, y, X_val=X_val, y_val=y_val)
    assert starts == [(4, 1), (4, 1), (4, 2), (4, 3)]
    families = model.members_[:3]
    assert len({member.model.atoms.tobytes() for member in families}) == 3
    assert len({member.weight for member in families}) == len({m.n_iter for m in families}) == 1
    assert not hasattr(model, "oof_decision_function_")
    assert not hasattr(model, "oof_score_")
    assert model.link_ is not None
    assert len(model.cv_results_["split0_test_score"]) == 7
    one = make(cv="auto", ensemble=False, max_iter=4).fit(X, y, X_val=X_val, y_val=y_val)
    assert len(one.members_) == 1


@pytest.mark.parametrize("options", [{"validation_fraction": 0.25}, {"X_val": True}])
def test_held_out_rows_choose_from_a_list_of_ridges(options: dict[str, Any]) -> None:
    X, y = noisy(200)
    ridges = [1.0, 0.01]
    model = FCGBoostClassifier("relu", l2=ridges, max_iter=8, random_state=0)
    if "X_val" in options:
        model.fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    else:
        model.set_params(**options).fit(X, y)
    scores = model.cv_results_["split0_test_score"]
    assert model.l2_ == model.cv_results_["param_l2"][np.argmax(scores)]
    assert not hasattr(model, "oof_score_")


# Rows that say nothing


@pytest.mark.parametrize("dictionary", ["auto", "gauss"])
def test_columns_without_values_leave_the_constant(dictionary: str) -> None:
    X, y = np.zeros((40, 2)), np.repeat([0, 1], [10, 30])
    halves = [np.arange(0, 40, 2), np.arange(1, 40, 2)]
    model = make(dictionary, cv=[tuple(halves), tuple(halves[::-1])]).fit(X, y)
    assert model.n_iter_ == model.n_atoms_ == 0
    # The mean of the labels, with which the squared hinge agrees.
    np.testing.assert_allclose(model.decision_function(X), 0.5, atol=1e-6)
    np.testing.assert_allclose(model.oof_decision_function_, 0.5, atol=1e-6)
    assert model.oof_score_ == 0.75


def test_a_part_without_values_leaves_the_choice_to_the_others() -> None:
    X, y = noisy(60)
    X[:20] = 0.0
    parts = np.split(np.arange(60), 3)
    folds = [(parts[i], np.setdiff1d(np.arange(60), parts[i])) for i in range(3)]
    model = make("gauss", cv=folds, max_iter=5).fit(X, y)
    assert [member.n_iter for member in model.members_] == [0, 5, 5]
