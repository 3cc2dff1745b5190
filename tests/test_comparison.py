"""Ours compared with others: one split, one table."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_info

from fcgboost import FCGBoostClassifier
from fcgboost.comparison import (
    BASELINE,
    METHODS,
    compare,
    installed_methods,
)
from fcgboost.datasets import make_simulation
from fcgboost.evaluation import evaluate

QUICK = ["fcgboost", "logistic regression", "SVC (RBF)", "AdaBoost"]


def make_rows(m: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = make_simulation(m, random_state=0)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": rng.choice(["u", "v", None], m)})
    frame.loc[::17, "a"] = np.nan
    return frame, np.where(y > 0, "yes", "no")


def test_scores_are_those_of_a_fit_by_hand() -> None:
    X, y = make_rows()
    found = compare(X, y, methods=["fcgboost"], test_size=0.3, random_state=5).rows[0]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=5, stratify=y
    )
    by_hand = FCGBoostClassifier(random_state=5).fit(X_train, y_train)
    assert found.scores == evaluate(by_hand, X_test, y_test).scores
    assert found.size == f"{by_hand.n_atoms_} atoms"


def test_all_methods_see_the_same_rows_and_the_best_comes_first() -> None:
    X, y = make_rows()
    seen: list[str] = []
    comparison = compare(X, y, methods=QUICK, watch=seen.append)
    assert seen == [*QUICK, BASELINE]
    accuracies = [row.scores["accuracy"].value for row in comparison.rows]
    assert accuracies == sorted(accuracies, reverse=True)
    data = comparison.data
    assert (data["n_train"], data["n_test"], data["n_columns"]) == (225, 75, 3)
    assert (data["test_size"], data["random_state"], data["n_threads"]) == (0.25, 0, 1)
    assert data["classes"].keys() == {"no", "yes"}
    assert sum(data["classes"].values()) == pytest.approx(1.0)


def test_others_are_given_numbers_and_ours_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = make_rows()
    X["b"] = pd.Timestamp(2020, 1, 1) + pd.to_timedelta(1000.0 * X["b"], "D")
    seen: dict[str, Any] = {}
    fit = SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda self, X, y: fit(self, seen.setdefault("X", X), y))
    comparison = compare(X, y, methods=["fcgboost", "SVC (RBF)"])
    assert all(row.scores for row in comparison.rows)
    assert seen["X"].shape == (225, comparison.data["n_features"])
    assert comparison.data["n_features"] > comparison.data["n_columns"] == 3


def test_sparse_rows_and_several_classes_are_compared() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(240, 8, 0.4, format="csr", random_state=rng)
    y = np.digitize(np.asarray(X[:, 0].todense()).ravel(), [0.1, 0.6])
    comparison = compare(X, y, methods=["fcgboost", "logistic regression"])
    assert all(row.scores["accuracy"].value > 0.5 for row in comparison.rows)


def test_a_method_that_fails_is_a_row_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, *_: object, **__: object) -> None:
        raise ValueError("no luck\nmore")

    X, y = make_rows(100)
    monkeypatch.setattr("sklearn.svm.SVC.fit", fail)
    comparison = compare(X, y, methods=["SVC (RBF)", "fcgboost"])
    assert {row.method for row in comparison.rows[:-1]} == {"fcgboost", BASELINE}
    assert comparison.rows[-1].method == "SVC (RBF)"
    assert comparison.rows[-1].scores == {}
    assert comparison.rows[-1].note == "failed: no luck"


@pytest.mark.parametrize(
    ("name", "error", "note"),
    [
        ("predict", IndexError("too few\nmore"), "failed: too few"),
        ("predict_proba", ValueError(), "failed: ValueError"),
        ("__init__", ValueError("no such"), "failed: no such"),
    ],
)
def test_a_method_that_fails_after_or_before_its_fit_is_a_row_too(
    monkeypatch: pytest.MonkeyPatch, name: str, error: Exception, note: str
) -> None:
    def fail(self: object, *_: object, **__: object) -> None:
        raise error

    X, y = make_rows(100)
    monkeypatch.setattr(f"sklearn.ensemble.RandomForestClassifier.{name}", fail)
    rows = compare(X, y, methods=["random forest", "logistic regression"]).rows
    assert rows[-1].method == "random forest"
    assert (rows[-1].scores, rows[-1].note) == ({}, note)
    assert all(row.scores for row in rows[:-1])


def test_labels_in_a_column_are_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_rows(100)
    expected = compare(X, y, methods=["SVC (RBF)"]).rows
    predict = SVC.predict
    monkeypatch.setattr(SVC, "predict", lambda self, X: predict(self, X)[:, None])
    found = compare(X, y, methods=["SVC (RBF)"]).rows
    assert [row.scores for row in found] == [row.scores for row in expected]


@pytest.mark.extras
@pytest.mark.parametrize("name", ["CatBoost", "LightGBM", "XGBoost"])
def test_other_libraries_tell_three_classes_apart_on_the_threads_they_are_given(name: str) -> None:
    package = METHODS[name].needs
    pytest.importorskip(package, reason=f"{package} is not installed")
    X, _ = make_simulation(90, random_state=0)
    rows = compare(X, np.digitize(X[:, 0], [0.3, 0.6]), methods=[name.lower()]).rows
    assert [row.method for row in rows] == [name, BASELINE]
    assert rows[0].scores.keys() == {"accuracy", "auc", "brier", "log_loss"}
    assert rows[0].note == ""


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_method_has_as_many_threads_as_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, n_threads: int
) -> None:
    seen: list[tuple[int | None, int]] = []
    fit = RandomForestClassifier.fit

    def watched(self: RandomForestClassifier, *given: object) -> object:
        # A library that was built for fewer threads stays below the limit.
        seen.append((self.n_jobs, max(pool["num_threads"] for pool in threadpool_info())))
        return fit(self, *given)

    X, y = make_rows(50)
    monkeypatch.setattr(RandomForestClassifier, "fit", watched)
    before = threadpool_info()
    data = compare(X, y, methods=["random forest"], n_threads=n_threads).data
    assert data["n_threads"] == n_threads
    assert seen == [(n_threads, n_threads)]
    assert threadpool_info() == before


def test_there_is_at_least_one_thread() -> None:
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        compare(*make_rows(50), n_threads=0)


@pytest.mark.parametrize(
    ("name", "method"), [(name, one) for name, one in METHODS.items() if one.threads is not None]
)
def test_the_threads_parameter_is_one_of_the_method(name: str, method: Any) -> None:
    if find_spec(method.needs) is None:
        pytest.skip(f"{method.needs} is not installed")
    assert method.make(0, 2).get_params()[method.threads] == 2, name


def test_the_most_frequent_class_is_scored_like_all_others() -> None:
    X, y = make_rows(200)
    comparison = compare(X, y, methods=["logistic regression", BASELINE])
    rows = {row.method: row for row in comparison.rows}
    assert rows.keys() == {"logistic regression", BASELINE}
    scores = rows[BASELINE].scores
    assert scores.keys() == {"accuracy", "auc", "brier", "log_loss"}
    assert scores["accuracy"].value == pytest.approx(max(comparison.data["classes"].values()), 0.02)
    assert scores["auc"].value == 0.5


def test_names_of_methods_may_be_in_any_case_and_count_once() -> None:
    X, y = make_rows(60)
    rows = compare(X, y, methods=["svc (rbf)", "ADABOOST", "AdaBoost"]).rows
    assert {row.method for row in rows} == {"SVC (RBF)", "AdaBoost", BASELINE}


def test_what_would_take_hours_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    X, y = make_rows(100)
    small = {**METHODS, "SVC (RBF)": replace(METHODS["SVC (RBF)"], max_rows=50)}
    monkeypatch.setattr("fcgboost.comparison.METHODS", small)
    row = compare(X, y, methods=["SVC (RBF)"]).rows[-1]
    assert row.scores == {}
    assert "more than 50 rows" in row.note


def test_a_model_that_did_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    X, y = make_rows(100)
    hasty = replace(METHODS["logistic regression"], parameters={"max_iter": 1})
    monkeypatch.setattr("fcgboost.comparison.METHODS", {**METHODS, "logistic regression": hasty})
    assert compare(X, y, methods=["logistic regression"]).rows[0].note == "did not converge"


def test_every_installed_method_can_say_how_large_it_is() -> None:
    X, y = make_rows(80)
    for row in compare(X, y, methods=installed_methods()).rows:
        number, word = row.size.split(" ", 1)
        assert int(number) > 0, row
        assert word, row


def test_unknown_and_missing_methods_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_rows(50)
    with pytest.raises(ValueError, match="lightgmb"):
        compare(X, y, methods=["lightgmb"])
    with pytest.raises(ValueError, match="Unknown method 'magic': choose from fcgboost"):
        compare(X, y, methods=["magic"])
    monkeypatch.setattr("fcgboost.comparison.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="LightGBM needs the package lightgbm"):
        compare(X, y, methods=["LightGBM"])
