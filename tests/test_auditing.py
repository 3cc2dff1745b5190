"""Audits: suspects and their reasons, shares of wrong labels, and which rows they are about."""

import html
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import median_abs_deviation
from sklearn.datasets import make_friedman1
from sklearn.model_selection import RepeatedStratifiedKFold

import fcgboost
from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.wording import number
from tests.suites.members import noisy
from tests.training.test_labels import flipped, quick


@pytest.fixture(scope="module")
def audited() -> fcgboost.Audit:
    X, y, _ = flipped()
    names = np.array(["ham", "spam"])
    frame = pd.DataFrame(X, columns=["length", "links", "capitals"], index=np.arange(400) + 1000)
    return fcgboost.audit(frame, names[y])


def test_suspects_are_the_wrong_labels(audited) -> None:
    _, _, is_wrong = flipped()
    assert np.isin(audited.suspects, np.flatnonzero(is_wrong)).mean() > 0.9
    assert np.isin(np.flatnonzero(is_wrong), audited.suspects).mean() > 0.7
    assert (np.diff(audited.label_quality[audited.ranking]) >= 0.0).all()
    assert len(audited.ranking) == 400
    np.testing.assert_array_equal(np.sort(audited.suspects), np.flatnonzero(audited.is_issue))
    np.testing.assert_array_equal(audited.label_quality, audited.estimator.label_quality_)


def test_shares_of_wrong_labels(audited) -> None:
    _, y, is_wrong = flipped()
    assert audited.wrong.low <= is_wrong.mean() <= audited.wrong.high
    by_class = audited.wrong_by_class
    assert list(by_class) == ["ham", "spam"]
    assert by_class["ham"].low <= is_wrong[y == 0].mean() <= by_class["ham"].high
    assert by_class["spam"].high < 0.03


def test_frame_has_the_index_of_the_rows(audited) -> None:
    frame = audited.to_frame()
    assert list(frame.columns) == [
        "given_label",
        "predicted_label",
        "label_quality",
        "label_probability",
        "is_label_issue",
    ]
    np.testing.assert_array_equal(frame.index, np.arange(400) + 1000)
    is_other = frame["given_label"].to_numpy() != frame["predicted_label"].to_numpy()
    np.testing.assert_array_equal(is_other, frame["is_label_issue"])
    p = audited.estimator.probabilities_of(audited.estimator.oof_decision_function_)
    codes = (frame["given_label"] == "spam").astype(int)
    np.testing.assert_allclose(frame["label_probability"], p[np.arange(400), codes], rtol=1e-9)
    X, y, _ = flipped(60)
    assert fcgboost.audit(X, y).to_frame().index.equals(pd.RangeIndex(60))
    series = pd.Series(y, index=[f"r{i}" for i in range(60)])
    assert fcgboost.audit(X, series).to_frame().index.equals(series.index)


def test_rows_that_no_fold_judges_are_missing_in_the_frame() -> None:
    X, y, _ = flipped(60)
    folds = [(np.arange(20, 60), np.arange(10)), (np.arange(20), np.arange(20, 60))]
    audit = fcgboost.audit(X, y, cv=folds)
    frame = audit.to_frame()
    is_missing = np.isin(np.arange(60), np.arange(10, 20))
    np.testing.assert_array_equal(frame["label_quality"].isna(), is_missing)
    np.testing.assert_array_equal(frame["predicted_label"].isna(), is_missing)
    assert not frame["is_label_issue"][is_missing].any()
    assert not np.isin(audit.ranking, np.flatnonzero(is_missing)).any()
    assert "10 rows judged by no fold" in repr(audit)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_sum_to_out_of_fold_values(n_classes) -> None:
    X, y = noisy(120, n_classes)
    audit = quick(dictionary="auto", l2="auto", max_iter="auto").fit(X, y).audit(X, y)
    explanation = audit.explain(audit.ranking[:30])
    rows = audit.ranking[:30]
    np.testing.assert_array_equal(explanation.data, X[rows])
    total = explanation.values.sum(axis=1) + explanation.base_values
    expected = audit.estimator.oof_decision_function_[rows]
    np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


def test_contributions_of_rows_that_several_folds_judge_are_means() -> None:
    X, y = noisy(80)
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    audit = quick(cv=folds).fit(X, y).audit(X, y)
    explanation = audit.explain(audit.ranking[:10])
    total = explanation.values.sum(axis=1) + explanation.base_values
    expected = audit.estimator.oof_decision_function_[audit.ranking[:10]]
    np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


def test_reasons_speak_against_the_label(audited) -> None:
    reasons = audited.reasons(audited.ranking[:5], n_columns=2)
    assert len(reasons) == 5
    row = audited.ranking[0]
    values = audited.explain(audited.ranking[:1]).values[0]
    # The label is ham, so what speaks for spam is positive.
    first = int(values.argmax())
    X, _, _ = flipped()
    name = ["length", "links", "capitals"][first]
    assert reasons[0].startswith(f"{name} = {X[row, first]:.4g} (+{values[first]:.2f})")
    assert reasons[0].count(" = ") <= 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reasons_of_labels_that_are_right_speak_against_them_too(n_classes) -> None:
    X, y = noisy(90, n_classes)
    audit = quick().fit(X, y).audit(X, y)
    rows = audit.ranking
    kept = np.flatnonzero(~audit.is_issue[rows])
    reasons = audit.reasons(rows, n_columns=1)
    values = audit.explain(rows).values
    for place in kept[:20]:
        code = int(np.searchsorted(np.unique(y), y[rows[place]]))
        if n_classes == 2:
            against = values[place] * (1 - 2 * code)
        else:
            p = audit.estimator._judged_.p[rows[place]].copy()
            p[code] = 0.0
            against = values[place][:, p.argmax()] - values[place][:, code]
        best = f"x{against.argmax()} = " if against.max() > 0.0 else ""
        assert reasons[place].startswith(best)
        assert f"(+{against.max():.2f})" in reasons[place] or not best


def test_labels_that_change_later_are_given_as_they_were() -> None:
    X, y, _ = flipped(80)
    given = y.copy()
    audit = quick().fit(X, y).audit(X, y)
    y[:] = 1
    np.testing.assert_array_equal(audit.to_frame()["given_label"], given)


def test_kinds_of_rows_agree() -> None:
    X, y, _ = flipped(100)
    X = np.where(X > 1.5, X, 0.0)
    dense = quick().fit(X, y).audit(X, y)
    compressed = quick().fit(sparse.csr_matrix(X), y).audit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(compressed.label_quality, dense.label_quality, rtol=1e-6)
    assert compressed.reasons() == dense.reasons()
    table = pd.DataFrame({"kind": np.where(X[:, 0] > 0, "a", "b"), "size": X[:, 1]})
    table.loc[3, "size"] = np.nan
    mixed = fcgboost.audit(table, y)
    assert any("kind = " in text or "size = " in text for text in mixed.reasons())
    assert mixed.estimator.audit(table, y).suspects.tolist() == mixed.suspects.tolist()


def test_trusted_rows_are_no_suspects(audited) -> None:
    X, y, _ = flipped()
    trusted = np.zeros(400, dtype=bool)
    trusted[audited.suspects[:10]] = True
    audit = fcgboost.audit(X, y, trusted=trusted)
    assert not np.isin(audit.suspects, audited.suspects[:10]).any()
    assert not np.isin(audit.ranking, audited.suspects[:10]).any()
    assert (audit.label_quality[trusted] == 1.0).all()


def test_groups_and_weights_reach_the_fit() -> None:
    X, y, _ = flipped(90)
    groups = np.arange(90) // 3
    audit = fcgboost.audit(X, y, cv=3, groups=groups, sample_weight=1.0 + groups % 2)
    model = FCGBoostClassifier(random_state=0, cv=3)
    model.fit(X, y, 1.0 + groups % 2, groups=groups)
    np.testing.assert_array_equal(audit.label_quality, model.label_quality_)
    assert len(model.audit(X, y).suspects) == len(audit.suspects)


def test_audits_divide_rows_that_a_fit_would_not(monkeypatch) -> None:
    monkeypatch.setattr("fcgboost.auditing.n_folds_for", lambda *sizes: 1)
    X, y, _ = flipped(60)
    audit = fcgboost.audit(X, y)
    assert audit.estimator.cv == 3
    assert np.isfinite(audit.label_quality).all()
    assert fcgboost.audit(X[:, 1:], X[:, 0]).estimator.cv == 3
    with pytest.raises(ValueError, match="cv=None has no folds"):
        fcgboost.audit(X, y, cv=None)


def test_a_classifier_audits_its_training_rows_only() -> None:
    X, y, _ = flipped(80)
    model = quick().fit(X, y)
    assert len(model.audit(X.tolist(), y.tolist()).label_quality) == 80
    with pytest.raises(ValueError, match="not what the estimator was fitted to"):
        model.audit(X[1:], y[1:])
    other = y.copy()
    other[5] = 1 - other[5]
    with pytest.raises(ValueError, match="not what the estimator was fitted to"):
        model.audit(X, other)
    moved = X.copy()
    moved[7, 1] += 1e-9
    with pytest.raises(ValueError, match="not what the estimator was fitted to"):
        model.audit(moved, y)
    with pytest.raises(ValueError, match="No targets were judged"):
        model.truncate(1).audit(X, y)
    with pytest.raises(ValueError, match="No targets were judged"):
        quick(cv=None).fit(X, y).audit(X, y)


def test_without_members_there_are_no_reasons() -> None:
    X, y, _ = flipped(80)
    audit = quick(ensemble=False).fit(X, y).audit(X, y)
    assert len(audit.label_quality) == 80
    with pytest.raises(ValueError, match="ensemble=True"):
        audit.reasons()


def test_later_changes_of_the_classifier_do_not_matter() -> None:
    X, y, _ = flipped(80)
    model = quick().fit(X, y)
    audit = model.audit(X, y)
    quality = audit.label_quality
    model.fit(X, 1 - y)
    np.testing.assert_array_equal(audit.label_quality, quality)
    again = pickle.loads(pickle.dumps(audit))
    np.testing.assert_array_equal(again.label_quality, quality)


def test_texts_and_pages_show_suspects() -> None:
    X, y, _ = flipped(200)
    names = np.array(["<script>alert(1)</script>", "b&b"])
    audit = quick().fit(X, names[y]).audit(X, names[y])
    text = repr(audit)
    assert f"{len(audit.suspects)} suspicious labels among 200 rows" in text
    assert f"wrong labels: {audit.wrong}" in text
    assert str(audit.suspects[0]) in text
    assert audit._repr_html_() == f"<pre>{html.escape(text)}</pre>"


def tenfold() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, numbers, and the positions of those that are ten times too large."""
    X, y = make_friedman1(300, n_features=6, noise=0.5, random_state=0)
    wrong = np.arange(7, 300, 60)
    y[wrong] *= 10.0
    return X, y, wrong


def regressor(**params) -> FCGBoostRegressor:
    settings = {"cv": 3, "max_iter": 12, "l2": 1e-2, "n_jobs": 1, "random_state": 0}
    return FCGBoostRegressor("relu", **settings | params)


def test_wrong_numbers_are_found_first() -> None:
    X, y, wrong = tenfold()
    frame = pd.DataFrame(X, index=np.arange(300) + 1000)
    audit = fcgboost.audit(frame, y)
    assert isinstance(audit, fcgboost.RegressionAudit)
    np.testing.assert_array_equal(np.sort(audit.ranking[:5]), wrong)
    assert set(wrong) <= set(audit.suspects)
    assert len(audit.suspects) < 30
    found = audit.to_frame()
    assert list(found.columns) == ["given", "predicted", "residual", "is_target_issue"]
    np.testing.assert_array_equal(found.index, frame.index)
    np.testing.assert_array_equal(found["given"], y)
    np.testing.assert_array_equal(found["predicted"], audit.estimator.oof_prediction_)
    np.testing.assert_array_equal(found["residual"], found["given"] - found["predicted"])
    text = repr(audit)
    assert f"{len(audit.suspects)} suspicious targets among 300 rows" in text
    assert text.splitlines()[4].split()[0] == str(audit.ranking[0])


def test_numbers_are_suspicious_beyond_four_robust_deviations() -> None:
    X, y, _ = tenfold()
    audit = regressor().fit(X, y).audit(X, y)
    residual = y - audit.estimator.oof_prediction_
    deviation = np.abs(residual - np.median(residual))
    assert audit.scale == pytest.approx(median_abs_deviation(residual, scale="normal"), rel=1e-4)
    np.testing.assert_array_equal(audit.is_issue, deviation > 4.0 * audit.scale)
    np.testing.assert_array_equal(audit.ranking, np.argsort(-deviation, kind="stable"))


def test_reasons_of_numbers_pull_predictions_away_from_them() -> None:
    X, y, _ = tenfold()
    audit = regressor().fit(X, y).audit(X, y)
    for is_low, sign in ((True, "+"), (False, "\N{MINUS SIGN}")):
        row = next(row for row in audit.suspects if (audit.residual[row] < 0.0) == is_low)
        values = audit.explain([row]).values[0] * (1.0 if is_low else -1.0)
        j = int(values.argmax())
        [reason] = audit.reasons([row], n_columns=1)
        assert reason == f"x{j} = {number(X[row, j])} ({sign}{number(values[j])})"


def test_trusted_numbers_and_those_that_no_fold_judged_are_no_suspects() -> None:
    X, y, wrong = tenfold()
    trusted = np.isin(np.arange(300), wrong[:2])
    folds = [(np.arange(100, 300), np.arange(90)), (np.arange(100), np.arange(100, 300))]
    audit = regressor(cv=folds).fit(X, y, trusted=trusted).audit(X, y)
    unseen = [*range(90, 100), *wrong[:2]]
    assert not np.isin(unseen, audit.ranking).any()
    assert not np.isin(unseen, np.flatnonzero(audit.is_issue)).any()
    assert wrong[2] in audit.suspects
    assert "10 rows judged by no fold" in repr(audit)


def test_a_regressor_audits_its_training_rows_only() -> None:
    X, y, _ = tenfold()
    model = regressor().fit(X, y, np.arange(300) % 5)
    assert len(model.audit(X.tolist(), y.tolist()).residual) == 300
    for other_X, other_y in ((X[::-1], y), (X, y + (np.arange(300) == 7))):
        with pytest.raises(ValueError, match="not what the estimator was fitted to"):
            model.audit(other_X, other_y)
    for other in (model.truncate(1), regressor(cv=None).fit(X, y)):
        with pytest.raises(ValueError, match="No targets were judged"):
            other.audit(X, y)
