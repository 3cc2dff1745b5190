"""A whole fit: folds of the users, what is known of every row given, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from fcgboost import FCGBoostClassifier, threads
from fcgboost.calibration import HeldOut, fit_link
from fcgboost.checks import draw_key
from fcgboost.training import run
from fcgboost.training.folds import group_folds
from fcgboost.training.settings import Settings
from tests.suites.members import (
    decision_of_fold,
    folds_by_hash,
    hashes_of,
    noisy,
    out_of_fold,
)


def make(dictionary: Any = "relu", **changes: Any) -> FCGBoostClassifier:
    settings = {"cv": 3, "l2": 0.01, "max_iter": 4, "random_state": 0, **changes}
    return FCGBoostClassifier(dictionary, **settings)


# Folds of the users


def members_at(model: FCGBoostClassifier, X: np.ndarray) -> np.ndarray:
    return np.column_stack([member.decision(X)[:, 0] for member in model.members_])


@pytest.mark.parametrize(
    "cv",
    [
        KFold(3),
        StratifiedKFold(3, shuffle=True, random_state=0),
        TimeSeriesSplit(3),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_rows_are_judged_by_the_folds_that_hold_them_out(cv: Any) -> None:
    X, y = noisy()
    model = make(cv=cv).fit(X, y)
    splits = list(cv.split(X, y))
    assert len(model.members_) == len(splits)
    values = members_at(model, X)
    expected = np.full(len(y), np.nan)
    for row in range(len(y)):
        judges = [values[row, i] for i, (_, test) in enumerate(splits) if row in test]
        if judges:
            expected[row] = np.mean(judges)
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12)
    is_judged = ~np.isnan(expected)
    assert is_judged.all() != isinstance(cv, TimeSeriesSplit)
    is_right = (expected > 0) == (y > 0)
    assert model.oof_score_ == pytest.approx(np.mean(is_right, where=is_judged))
    # The training part is fitted as it would be alone.
    for member, (train, _) in zip(model.members_, splits, strict=True):
        alone = make(cv=None, selection="all").fit(X[train], y[train])
        np.testing.assert_array_equal(member.trace.start, alone.trace_.start)


def test_an_iterable_may_hold_masks() -> None:
    X, y = noisy()
    mask = np.arange(len(y)) % 2 == 0
    by_mask = make(cv=[(mask, ~mask), (~mask, mask)]).fit(X, y)
    positions = [np.flatnonzero(mask), np.flatnonzero(~mask)]
    by_position = make(cv=[tuple(positions), tuple(positions[::-1])]).fit(X, y)
    np.testing.assert_array_equal(
        by_mask.oof_decision_function_, by_position.oof_decision_function_
    )
    np.testing.assert_array_equal(by_mask.decision_function(X), by_position.decision_function(X))


def test_a_class_that_a_training_part_lacks_is_named() -> None:
    X, _ = noisy(30)
    y = np.repeat(["a", "b", "c"], 10)
    with pytest.raises(ValueError, match=r"fold 0 has no row of the classes \['a'\]"):
        make(cv=KFold(3)).fit(X, y)


def test_rows_that_a_fold_has_seen_cannot_judge_it() -> None:
    X, y = noisy(30)
    with pytest.raises(ValueError, match="Fold 1 has 2 rows in its training part that it also"):
        make(cv=[(np.arange(20), np.arange(20, 30)), (np.arange(20), np.arange(18, 30))]).fit(X, y)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr", "balanced_accuracy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_that_no_fold_judges_does_not_end_the_fit(scoring: str, n_classes: int) -> None:
    X, y = noisy(90, n_classes)
    y[7] = n_classes
    model = make(cv=3, scoring=scoring).fit(X, y)
    assert np.isfinite(model.oof_score_)
    assert np.isnan(model.oof_decision_function_[7]).all()
    assert model.predict_proba(X).shape == (90, n_classes + 1)


def test_a_class_of_one_group_does_not_end_the_fit() -> None:
    X, y = noisy(90, 3)
    groups = np.arange(90) // 6
    y[groups == 2] = 7
    model = make(cv=3).fit(X, y, groups=groups)
    np.testing.assert_array_equal(np.isnan(model.oof_decision_function_[:, 0]), groups == 2)


# Groups


@pytest.mark.parametrize("cv", ["auto", None])
def test_without_held_out_rows_groups_are_refused(cv: Any) -> None:
    X, y = noisy()
    groups = np.arange(120) // 8
    with pytest.raises(ValueError, match="no rows are held out: set cv, for example to 5, or val"):
        make(cv=cv).fit(X, y, groups=groups)
    # A search over groups passes them to every fit, where metadata routing is on.
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(cv=cv).set_fit_request(groups=False)
        search = GridSearchCV(model, {"max_iter": [2, 3]}, cv=GroupKFold(3))
        assert search.fit(X, y, groups=groups).best_score_ > 0.5


@pytest.mark.parametrize("cv", [3, None])
def test_groups_beside_validation_data_are_refused(cv: Any) -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match="X_val and y_val judge: leave out one of them"):
        make(cv=cv).fit(X, y, groups=np.arange(120), X_val=X, y_val=y)


@pytest.mark.parametrize(
    "options",
    [{}, {"cv": None}, {"cv": KFold(2)}, {"cv": [(np.arange(60), np.arange(60, 120))]}],
    ids=str,
)
@pytest.mark.parametrize("fraction", [None, 0.2])
def test_groups_are_as_many_as_rows(options: dict[str, Any], fraction: Any) -> None:
    X, y = noisy()
    model = make(validation_fraction=fraction, **options)
    with pytest.raises(ValueError, match=r"groups has the shape \(3,\), but X has 120 rows"):
        model.fit(X, y, groups=np.arange(3))


def test_a_validation_fraction_keeps_groups_together() -> None:
    X, y = noisy(240)
    groups = np.arange(240) // 8
    options = {"cv": None, "max_iter": 10, "n_iter_no_change": 3}
    model = make(validation_fraction=0.2, **options).fit(X, y, groups=groups)
    (split,) = group_folds(groups, (y > 0).astype(np.intp), 1, draw_key(0), 0.2)
    assert len(split.test) == 48
    alone = make(**options)
    alone.fit(X[split.train], y[split.train], X_val=X[split.test], y_val=y[split.test])
    np.testing.assert_array_equal(model.trace_.scores, alone.trace_.scores)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    # Rows of weight zero count no more than those left out.
    counts = np.arange(240) % 5
    counts[:40] = 0
    rows = np.repeat(np.arange(240), counts)
    weighted = make(validation_fraction=0.2, **options).fit(X, y, counts, groups=groups)
    repeated = make(validation_fraction=0.2, **options).fit(X[rows], y[rows], groups=groups[rows])
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))


def test_a_path_goes_on_with_its_groups_alone() -> None:
    X, y = noisy()
    groups = np.arange(120) // 8
    model = make(cv=None, validation_fraction=0.2, warm_start=True)
    model.fit(X, y, groups=groups).set_params(max_iter=6)
    order = np.random.default_rng(0).permutation(120)
    model.fit(X[order], y[order], groups=groups[order])
    whole = make(cv=None, validation_fraction=0.2, max_iter=6).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-9)
    for others in (None, np.arange(120) // 6):
        with pytest.raises(ValueError, match="warm_start=True needs the data of the last fit"):
            model.fit(X, y, groups=others)


def test_rows_of_a_group_share_a_fold() -> None:
    X, y = noisy()
    groups = np.array([f"patient {i}" for i in np.arange(120) // 8])
    model = make(cv=4).fit(X, y, groups=groups)
    values = members_at(model, X)
    by_group: dict[str, set[int]] = {}
    for row, found in enumerate(model.oof_decision_function_):
        (fold,) = np.flatnonzero(np.isclose(values[row], found, rtol=1e-12))
        by_group.setdefault(groups[row], set()).add(int(fold))
    assert all(len(folds) == 1 for folds in by_group.values())
    assert {fold for folds in by_group.values() for fold in folds} == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_weight_zero_equal_groups_left_out(seed: int) -> None:
    X, y = noisy(240)
    groups = np.arange(240) // 10
    # Few groups: with the others they may share one fold.
    counts = np.isin(groups, [0, 1, 7])
    model = make(cv=5, max_iter=2, random_state=seed).fit(X, y, counts, groups=groups)
    alone = make(cv=5, max_iter=2, random_state=seed)
    alone.fit(X[counts], y[counts], groups=groups[counts])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert np.isfinite(model.oof_decision_function_).all()


@pytest.mark.parametrize("dictionary", ["auto", "fast"])
def test_presets_take_groups(dictionary: str) -> None:
    X, y = noisy()
    model = make(dictionary, cv="auto").fit(X, y, groups=np.arange(120) // 40)
    n_splits = len([name for name in model.cv_results_ if name.startswith("split")])
    assert n_splits == {"auto": 3, "fast": 1}[dictionary]
    # One group of three is held out once, or each is.
    assert np.isfinite(model.oof_decision_function_).sum() == 40 * n_splits


def test_splitters_get_the_groups() -> None:
    X, y = noisy()
    groups = np.arange(120) // 10
    by_splitter = make(cv=GroupKFold(3)).fit(X, y, groups=groups)
    by_hand = make(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(
        by_splitter.oof_decision_function_, by_hand.oof_decision_function_
    )


# Rows that are repeated, weigh nothing or stand alone


def counted(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = noisy(90, n_classes)
    return X, y, np.random.default_rng(1).integers(0, 4, 90)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dictionary", ["auto", "relu"])
def test_a_weight_equals_a_repetition_in_any_order(dictionary: str, n_classes: int) -> None:
    X, y, counts = counted(n_classes)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(90), counts))
    weighted = make(dictionary, cv=2).fit(X, y, counts)
    repeated = make(dictionary, cv=2).fit(X[order], y[order])
    np.testing.assert_array_equal(weighted.member_weights_, repeated.member_weights_)
    np.testing.assert_array_equal(weighted.decision_function(X), repeated.decision_function(X))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_array_equal(
        weighted.oof_decision_function_[order], repeated.oof_decision_function_
    )
    assert weighted.oof_score_ == repeated.oof_score_


@pytest.mark.parametrize("groups", [None, np.arange(90) // 6])
def test_users_folds_count_weights_as_repetitions(groups: Any) -> None:
    X, y, counts = counted()
    rows = np.repeat(np.arange(90), counts)
    options = {"cv": 3} if groups is not None else {}
    if groups is None:
        options["cv"] = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    weighted = make(**options).fit(X, y, counts, groups=groups)
    if groups is None:
        n = int(counts[:45].sum())
        parts = [np.arange(n), np.arange(n, len(rows))]
        options["cv"] = [tuple(parts), tuple(parts[::-1])]
    else:
        groups = groups[rows]
    repeated = make(**options).fit(X[rows], y[rows], groups=groups)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-12
    )
    np.testing.assert_allclose(
        weighted.oof_decision_function_[rows], repeated.oof_decision_function_, rtol=1e-12
    )


@pytest.mark.parametrize("is_table", [False, True])
def test_rows_of_weight_zero_are_judged_by_the_fold_of_their_hash(is_table: bool) -> None:
    X, y, counts = counted()
    is_counted = counts > 0
    # Some are equal to counted rows, of whatever class: their folds judge them.
    twins = np.flatnonzero(~is_counted)[:5]
    X[twins] = X[is_counted][:5]
    table = pd.DataFrame(X, columns=["p", "q"]) if is_table else X
    model = make().fit(table, y, counts)
    folds = np.array([one % 3 for one in hashes_of(X, 0)])
    folds[is_counted] = folds_by_hash(X[is_counted], y[is_counted], 3, 0)
    folds[twins] = folds[is_counted][:5]
    expected = out_of_fold(model, X, folds)
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12)
    score = np.average((expected > 0) == (y > 0), weights=counts)
    assert model.oof_score_ == pytest.approx(score)


def test_rows_of_weight_zero_have_the_fold_of_the_users_splits() -> None:
    X, y, counts = counted()
    cv = RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)
    model = make(cv=cv).fit(X, y, counts)
    values = members_at(model, X)
    judges = [[i for i, (_, test) in enumerate(cv.split(X)) if row in test] for row in range(90)]
    expected = [np.mean(values[row, own]) for row, own in enumerate(judges)]
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12)


@pytest.mark.parametrize("is_table", [False, True])
def test_folds_of_rows_of_weight_zero_alone_leave_them_to_others(is_table: bool) -> None:
    X, y = noisy(90)
    groups = np.arange(90) // 30
    table = pd.DataFrame(X, columns=["p", "q"]) if is_table else X
    model = make(cv=LeaveOneGroupOut()).fit(table, y, groups > 0, groups=groups)
    # A weight of zero equals a row left out.
    alone = make(cv=LeaveOneGroupOut()).fit(X[30:], y[30:], groups=groups[30:])
    np.testing.assert_array_equal(model.decision_function(table), alone.decision_function(X))
    values = members_at(model, X)
    folds = np.array([one % 2 for one in hashes_of(X, 0)])
    folds[30:] = groups[30:] - 1
    np.testing.assert_allclose(
        model.oof_decision_function_, values[np.arange(90), folds], rtol=1e-12
    )
    # Repeated folds may judge them elsewhere.
    first, second, third = (np.flatnonzero(groups == i) for i in range(3))
    rest = np.append(second, third)
    cv = [(rest, first), (second, np.append(first[:10], third)), (third, second)]
    model = make(cv=cv).fit(X, y, groups > 0)
    values = members_at(model, X)
    folds[:10] = 0
    folds[second] = 1
    folds[third] = 0
    np.testing.assert_allclose(
        model.oof_decision_function_, values[np.arange(90), folds], rtol=1e-12
    )


def test_folds_without_rows_are_refused() -> None:
    X, y = noisy(40)
    half = np.arange(20)
    for nothing in ([], np.zeros(40, dtype=bool)):
        with pytest.raises(ValueError, match="Fold 1 of cv holds out no row"):
            make(cv=[(half, half + 20), (half, nothing)]).fit(X, y)
        with pytest.raises(ValueError, match="training part of fold 0 has no row of the classes"):
            make(cv=[(nothing, half)]).fit(X, y)
    with pytest.raises(ValueError, match="cv holds out no row of positive weight"):
        make(cv=[(half, half + 20)]).fit(X, y, np.arange(40) < 20)


@pytest.mark.parametrize("dictionary", ["auto", "relu"])
def test_classes_of_few_rows_do_not_spoil_the_others(dictionary: str) -> None:
    X, y = noisy(80)
    # One row, one row twice, two rows, three rows.
    few = np.array(
        [[5.0, 5.0], [6.0, 6.0], [6.0, 6.0], [7.0, 7.0], [7.5, 7], [8, 8], [8.5, 8], [9, 8]]
    )
    codes = np.concatenate([y > 0, [2, 3, 3, 4, 4, 5, 5, 5]]).astype(int)
    X = np.vstack([X, few])
    model = make(dictionary, max_iter=12).fit(X, codes)
    folds = folds_by_hash(X, codes, 3, 0)
    assert (folds[codes == 2] == -1).all()
    assert (folds[codes == 3] == -1).all()
    assert len(set(folds[codes == 5])) == 3
    np.testing.assert_allclose(
        model.oof_decision_function_, out_of_fold(model, X, folds), rtol=1e-12, atol=1e-12
    )
    assert np.isnan(model.oof_decision_function_[folds == -1]).all()
    is_judged = folds >= 0
    labels = model.oof_decision_function_[is_judged].argmax(axis=1)
    assert model.oof_score_ == pytest.approx(np.mean(labels == codes[is_judged]))
    assert model.link_ is None or np.isfinite(model.link_.slope)
    # Every member knows every class.
    for member in model.members_:
        assert (member.model.coef != 0.0).any(axis=1)[2:4].all()


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5])
def test_a_few_rows_are_enough(n_rows: int) -> None:
    X = np.arange(float(n_rows))[:, None]
    y = np.where(np.arange(n_rows) < n_rows // 2, "a", "b")
    model = FCGBoostClassifier(random_state=0).fit(X, y)
    assert set(model.predict(X)) <= {"a", "b"}
    if n_rows == 2:
        assert not hasattr(model, "oof_score_")
        assert model.link_ is None
        assert model.predict(X).tolist() == ["a", "b"]


# Scores and the link


def test_the_score_is_scikit_learns_of_the_pooled_predictions() -> None:
    X, y, counts = counted()
    weights = counts.astype(float)
    folds = {"cv": 3, "class_weight": "balanced"}
    for scoring, expected in {
        None: lambda f, p: np.average((f > 0) == (y > 0), weights=weights),
        "roc_auc": lambda f, p: roc_auc_score(y, f, sample_weight=weights),
        "neg_log_loss": lambda f, p: -log_loss(y, p, sample_weight=weights),
        make_scorer(balanced_accuracy_score): lambda f, p: balanced_accuracy_score(
            y, np.sign(f), sample_weight=weights
        ),
    }.items():
        model = make(scoring=scoring, link="power", **folds).fit(X, y, weights)
        f = model.oof_decision_function_
        p = model.link_.probabilities(f)
        # Rows of weight zero have no part in it.
        assert model.oof_score_ == pytest.approx(expected(f, p), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_link_is_fitted_to_all_judged_rows(n_classes: int, class_weight: Any) -> None:
    X, y = noisy(90, n_classes)
    y = np.where(np.arange(90) < 20, y.min(), y)
    model = make("auto", class_weight=class_weight).fit(X, y)
    decision = model.oof_decision_function_
    codes = np.unique(y, return_inverse=True)[1]
    weights = np.ones(90)
    if class_weight is not None:
        weights = (90 / n_classes / np.bincount(codes))[codes]
    if n_classes == 2:
        decision = decision[:, None]
    expected = fit_link([HeldOut(decision, codes, weights)])
    # Sums in another order.
    assert model.link_.slope == pytest.approx(expected.slope, rel=1e-4)
    assert model.link_.power == pytest.approx(expected.power, rel=1e-4)


def test_balanced_weights_are_those_of_all_rows() -> None:
    X, _ = noisy(100)
    y = np.repeat([0, 1, 0, 1], [10, 40, 40, 10])
    halves = [np.arange(50), np.arange(50, 100)]
    cv = [tuple(halves), tuple(halves[::-1])]
    y[:5] = 1
    counts = np.bincount(y)
    weights = {code: 100 / 2 / counts[code] for code in range(2)}
    balanced = make(cv=cv, class_weight="balanced").fit(X, y)
    given_weights = make(cv=cv, class_weight=weights).fit(X, y)
    np.testing.assert_array_equal(balanced.decision_function(X), given_weights.decision_function(X))
    np.testing.assert_array_equal(
        balanced.oof_decision_function_, given_weights.oof_decision_function_
    )


# Again


def test_a_later_fit_forgets_what_folds_said() -> None:
    X, y = noisy()
    model = make().fit(X, y)
    assert model.oof_decision_function_.shape == (120,)
    model.set_params(cv=None).fit(X, y)
    for name in ("oof_decision_function_", "oof_score_", "cv_results_"):
        assert not hasattr(model, name)
    assert len(model.members_) == 1


def test_folds_are_not_continued() -> None:
    X, y = noisy()
    for settings in ({"cv": 3}, {"dictionary": "auto", "cv": "auto"}):
        with pytest.raises(ValueError, match=r"warm_start=True continues a single path.*cv=None"):
            make(warm_start=True).set_params(**settings).fit(X, y)
    one = make("auto", cv=None, warm_start=True, max_iter=3).fit(X, y)
    one.set_params(max_iter=6).fit(X, y)
    whole = make("auto", cv=None, max_iter=6).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), whole.decision_function(X), rtol=1e-9)


@given(st.permutations(range(40)))
def test_no_order_of_rows_changes_an_ensemble(order: list[int]) -> None:
    X, y = noisy(40)
    first = make("gauss", cv=2).fit(X, y)
    second = make("gauss", cv=2).fit(X[order], y[order])
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(
        first.oof_decision_function_[order], second.oof_decision_function_
    )


def test_a_preset_with_one_path_makes_as_many_steps_as_do_no_harm() -> None:
    X, y = noisy()
    model = FCGBoostClassifier(cv=None, random_state=0).fit(X, y)
    assert model.n_iter_ == 5 * model._k0_
    assert model.l2_ == pytest.approx(0.3 / np.sqrt(120))


def test_members_of_a_fold_weigh_as_in_the_model() -> None:
    X, y = noisy()
    model = make("auto").fit(X, y)
    mean = np.mean([decision_of_fold(model, X, fold, 3) for fold in range(3)], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean, rtol=1e-9, atol=1e-12)


def test_very_many_rows_have_one_part_and_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy()
    monkeypatch.setattr(run, "n_folds_for", lambda *sizes: 1)
    model = make(cv="auto", dictionary="auto").fit(X, y)
    assert any("not divided into folds" in note for note in model.notes_)
    fast = make(cv="auto", dictionary="fast").fit(X, y)
    assert not fast.notes_
    np.testing.assert_array_equal(model.decision_function(X), fast.decision_function(X))


def test_classes_of_few_rows_are_named_in_a_note() -> None:
    X = np.arange(30.0)[:, None]
    y = np.repeat(["a", "b", "c"], [13, 13, 4])
    few = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(X, y)
    (note,) = few.notes_
    assert "1 of 3 classes" in note
    assert "'c'" in note
    enough = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(X[:26], y[:26])
    assert enough.notes_ == ()


# Memory


@pytest.mark.parametrize(("working_memory", "n_at_once"), [(1024, 16), (1, 4), (0, 1)])
def test_paths_that_run_at_once_fit_into_the_working_memory(
    working_memory: int, n_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy(400)
    shares = []

    def recorded(work: Any, places: Any, n_threads: int, n_at_once: int) -> None:
        shares.append((len(places), n_threads, n_at_once))
        raise InterruptedError

    monkeypatch.setattr(threads, "each", recorded)
    # 400 rows of 100 numbers or byte pairs, and of two columns twice: about as much on average.
    monkeypatch.setattr(Settings, "n_steps", lambda *arguments, **named: 100)
    with sklearn.config_context(working_memory=working_memory):
        model = make("auto", cv=4, n_jobs=16)
        with pytest.raises(InterruptedError):
            model.fit(X, y)
    assert shares == [(12, 16, n_at_once)]
