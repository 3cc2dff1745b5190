"""Members add up: what a classifier says is the weighted sum of what they say."""

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.members import Members, decision_of, staged_decision_of
from tests.suites.marks import also
from tests.suites.members import noisy


@cache
def fitted(n_classes: int = 2) -> FCGBoostClassifier:
    """Give an ensemble whose members differ in their lengths: read it, do not fit it again."""
    X, y = noisy(n_classes=n_classes)
    model = FCGBoostClassifier(cv=3, max_iter=6, random_state=0).fit(X, y)
    first, *others = model.members_
    model.members_ = Members((first.truncated(3), *others))
    return model


def by_hand(model: FCGBoostClassifier, X: np.ndarray, k: int) -> np.ndarray:
    """Return the weighted sum of what members say after at most k of their steps."""
    total = np.zeros((len(X), 1 if len(model.classes_) == 2 else len(model.classes_)))
    for member in model.members_:
        short = member.trace.model(
            min(k, member.n_iter),
            member.model.dictionary,
            member.model.scale,
            member.model.limits,
        )
        total += member.weight * short.decision(X)
    return total[:, 0] if len(model.classes_) == 2 else total


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_every_stage_cuts_every_member(n_classes: int) -> None:
    X, _ = noisy(n_classes=n_classes)
    model = fitted(n_classes)
    assert [member.n_iter for member in model.members_] == [3, *[6] * 5]
    assert model.n_iter_ == 6
    stages = list(model.staged_decision_function(X))
    with config_context(working_memory=0):
        without_cache = list(model.staged_decision_function(X))
    assert len(stages) == 6
    for k, stage in enumerate(stages, start=1):
        np.testing.assert_allclose(stage, by_hand(model, X, k), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(stage, without_cache[k - 1], rtol=1e-10, atol=1e-12)
        short = model.truncate(k)
        np.testing.assert_allclose(short.decision_function(X), stage, rtol=1e-10, atol=1e-12)
        assert [member.n_iter for member in short.members_] == [min(k, 3), *[k] * 5]
        assert short.n_iter_ == k
        np.testing.assert_array_equal(short.member_weights_, model.member_weights_)
        assert short.link_ is model.link_
    constant = model.truncate(0)
    assert constant.n_atoms_ == 0
    np.testing.assert_allclose(constant.decision_function(X), by_hand(model, X, 0))
    with pytest.raises(ValueError, match="k=7 is more than the 6 steps"):
        model.truncate(7)


def test_the_sum_has_the_weights_of_its_members() -> None:
    X, _ = noisy()
    members = fitted().members_
    values = [member.decision(X) for member in members]
    weights = [member.weight for member in members]
    assert sum(weights) == pytest.approx(1.0)
    expected = sum(w * f for w, f in zip(weights, values, strict=True))
    np.testing.assert_allclose(decision_of(members, X), expected, rtol=1e-12)
    doubled = [replace(member, weight=2.0 * member.weight) for member in members]
    np.testing.assert_allclose(decision_of(doubled, X), 2.0 * expected, rtol=1e-12)
    *_, last = staged_decision_of(members, X, 1e9)
    np.testing.assert_allclose(last, expected, rtol=1e-10, atol=1e-12)


def test_a_member_of_weight_one_is_its_model() -> None:
    X, y = noisy()
    model = FCGBoostClassifier("gauss", max_iter=5, random_state=0).fit(X, y)
    (member,) = model.members_
    np.testing.assert_array_equal(member.decision(X), member.model.decision(X))
    np.testing.assert_array_equal(member.decision(X)[:, 0], model.decision_function(X))
    assert member.weight == 1.0
    assert repr(member) == "Member(GaussDictionary, n_atoms=5, n_iter=5, weight=1)"


def test_a_member_may_be_cut_and_made_long_again() -> None:
    X, _ = noisy()
    member = fitted().members_[1]
    assert member.truncated(6) is member
    assert member.truncated(50) is member
    short = member.truncated(2)
    assert short.n_iter == 2
    assert short.model.n_atoms <= 2
    again = short.truncated(6)
    np.testing.assert_array_equal(again.model.coef, member.model.coef)
    np.testing.assert_array_equal(again.decision(X), member.decision(X))


def test_importances_are_the_weighted_mean_of_the_members() -> None:
    model = fitted()
    shares = [member.importances(model._sample_, 2) for member in model.members_]
    assert all(share.sum() == pytest.approx(1.0) for share in shares)
    expected = np.average(shares, axis=0, weights=model.member_weights_)
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-12)


def test_inputs_that_are_passed_through_are_the_columns() -> None:
    X, y = noisy()
    plain = FCGBoostClassifier("gauss", cv=2, max_iter=2, random_state=0).fit(X, y)
    thin = FCGBoostClassifier("gauss", cv=2, max_iter=2, random_state=0)
    thin.fit(sparse.csr_array(X), y)
    for model in (plain, thin):
        for member in model.members_:
            assert member.sources(2).tolist() == [0, 1]
    assert all(member.inputs is None for member in thin.members_)
    np.testing.assert_allclose(thin.decision_function(X), plain.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    "dictionary", [GaussDictionary(), TreeDictionary(3, min_leaf=2, corrects_leaves=True)]
)
def test_stages_of_members_need_no_refit(dictionary: Any) -> None:
    X, y = noisy()
    model = FCGBoostClassifier(dictionary, cv=3, max_iter=4, random_state=0).fit(X, y)
    for k, stage in enumerate(model.staged_decision_function(X), start=1):
        np.testing.assert_allclose(stage, by_hand(model, X, k), rtol=1e-10, atol=1e-12)
        short = FCGBoostClassifier(dictionary, cv=3, max_iter=k, random_state=0).fit(X, y)
        if isinstance(dictionary, GaussDictionary):
            np.testing.assert_allclose(stage, short.decision_function(X), rtol=1e-8, atol=1e-10)


def test_whether_a_member_knows_its_steps() -> None:
    member = fitted().members_[0]
    assert member.has_path
    lost = replace(member.trace, start=np.full(1, np.nan))
    assert not replace(member, trace=lost).has_path
    assert not replace(member, n_iter=99).has_path


@pytest.mark.parametrize("n_classes", [2, *also(3)])
@pytest.mark.parametrize(
    "dictionary",
    ["auto", "sigmoid", "polynomial", UnionDictionary([GaussDictionary(), StepDictionary()])],
    ids=str,
)
def test_few_rows_have_the_values_that_they_have_among_many(
    dictionary: str | Dictionary, n_classes: int
) -> None:
    X, y = noisy(n_classes=n_classes)
    model = FCGBoostClassifier(dictionary, cv=3, ensemble=True, max_iter=6, random_state=0)
    model.fit(X, y)
    members = model.members_
    assert isinstance(members, Members)
    is_compiled = dictionary != "polynomial"
    assert (members.together is not None) == is_compiled
    rows = X.astype(np.float32)
    # Beyond the limits, which differ by member.
    rows[1] *= 1e6
    expected = model.decision_function(rows)
    loaded = pickle.loads(pickle.dumps(model))
    for some in (slice(0, 1), slice(1, 2), slice(2, 3), slice(0, 8)):
        found = loaded.decision_function(rows[some])
        np.testing.assert_allclose(found, expected[some], rtol=1e-10, atol=1e-12)
        if is_compiled:
            np.testing.assert_array_equal(found, expected[some])
    apart = sum(member.weight * member.decision(rows.astype(float)) for member in members)
    np.testing.assert_allclose(apart.reshape(expected.shape), expected, rtol=1e-10, atol=1e-12)
    assert isinstance(loaded.members_, Members)
    assert "together" not in vars(Members(members))


def test_gaps_in_later_rows_are_filled_as_each_member_fills_them() -> None:
    model = fitted()
    X, _ = noisy()
    X[::7, 0] = np.nan
    assert model.members_.together is not None
    apart = sum(member.weight * member.decision(X) for member in model.members_)
    np.testing.assert_allclose(model.decision_function(X), apart[:, 0], rtol=1e-10, atol=1e-12)


def test_members_that_see_rows_differently_stay_apart() -> None:
    X, y = noisy()
    frame = pd.DataFrame(X).add_prefix("x")
    frame["word"] = np.where(y > 0, "yes", np.where(X[:, 0] > 0.5, "no", "maybe"))
    model = FCGBoostClassifier(cv=2, max_iter=3, random_state=0).fit(frame, y)
    assert model.members_.together is None
    assert len(model.members_) > 1
    np.testing.assert_allclose(
        model.decision_function(frame[:1]), model.decision_function(frame)[:1], rtol=1e-10
    )
    family = type("Own", (GaussDictionary,), {"__module__": "elsewhere"})()
    own = FCGBoostClassifier(family, cv=2, ensemble=True, max_iter=3).fit(X, y)
    assert own.members_.together is None
