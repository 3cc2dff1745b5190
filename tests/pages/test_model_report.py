"""The numbers on the page about a model are those of the model and the data."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline
from suites.pages import (
    Reader,
    Show,
    grid_values,
    labelled,
    mixed,
    path_of,
)

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.io import load_model, save_model, split_model
from fcgboost.scores import evaluate
from fcgboost.tables import TableEncoder
from fcgboost.web.models import evaluate_model, take_apart
from fcgboost.web.text import number, score
from fcgboost.web.thresholds import find_curves


def test_the_scores_are_those_of_evaluate(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    for name, found in evaluate(model, *judged).items():
        shown = score(name, found.value).replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert shown in page.text
        low, high = (score(name, end) for end in (found.low, found.high))
        low, high = (end.replace("\N{NARROW NO-BREAK SPACE}%", "") for end in (low, high))
        assert f"{low} to {high}" in page.text


def test_the_first_sentence_says_what_the_model_is(page: Reader, model: Any) -> None:
    assert re.search(rf"{model.n_atoms_} ReLU atoms that tells .yes. from .no.\.", page.text)


def test_the_time_of_the_fit_is_that_of_the_model_file(
    model: Any, page: Reader, show: Show, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", about={"seconds": 12.0})
    told = show(load_model(tmp_path / "model.json"))
    assert f"{model.n_atoms_} ReLU atoms, fitted in 12 s, that tells" in told.text
    assert "fitted in" not in page.text


def test_what_the_scores_are_is_said_beside_them(page: Reader, show: Show) -> None:
    assert "Log-loss: probabilities are clipped to between 1/(2m)" in page.text
    titles = [a["title"] for tag, a in page.elements if tag == "li" and "title" in a]
    assert len(titles) == 1
    assert str(titles[0]).startswith("Log-loss:")
    X, _ = make_simulation(200, random_state=0)
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    several = show(clf, X, y)
    assert "Brier score: with several classes, half the squared distance" in several.text


def test_the_errors_along_the_path_are_those_of_truncated_models(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    path = page.data["path"]
    assert path["frames"] == list(range(1, len(model.trace_) + 1))
    curves = {curve["name"]: curve["values"] for curve in path["panels"][0]["curves"]}
    for k in (1, 5, path["chosen"]):
        expected = 1.0 - model.truncate(k).score(*judged)
        assert curves["test"][k - 1] == pytest.approx(expected, abs=1e-6)
        known = model.trace_[k - 1].validation_score
        assert curves["validation"][k - 1] == pytest.approx(1.0 - known, abs=1e-6)
    assert (path["chosen"], path["k0"]) == (model.n_iter_, model._k0_)
    assert path["best"] == 1 + int(np.argmin(curves["test"]))


@pytest.mark.parametrize("dictionary", ["gauss", "polynomial", "sigmoid", "relu"])
def test_the_boundary_after_every_step_is_that_of_the_truncated_model(
    dictionary: str, judged: tuple[Any, Any]
) -> None:
    clf = FCGBoostClassifier(dictionary, max_iter=15, random_state=0).fit(*labelled(200, 0))
    path = path_of(clf, *judged)
    grid, values = grid_values(path)
    for k, found in zip(path["frames"], values, strict=True):
        np.testing.assert_allclose(found[0], clf.truncate(k).decision_function(grid), atol=1e-6)


def test_a_row_far_from_all_others_leaves_the_boundary_exact_and_wide(
    judged: tuple[Any, Any], show: Show
) -> None:
    X, y = judged[0].copy(), judged[1]
    X[0] = [1e6, -1e6]
    clf = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(*labelled(200, 0))
    path = path_of(clf, X, y)
    grid, values = grid_values(path)
    np.testing.assert_allclose(values[-1, 0], clf.decision_function(grid), atol=1e-6)
    assert np.ptp(grid, axis=0).max() < 1.2
    page = show(clf, X, y)
    assert "The picture leaves out 1 row far from all others." in page.text


def test_a_broken_cell_does_no_harm(show: Show) -> None:
    X, y = labelled(150, 0)
    table = np.c_[X, X[:, :1] * X[:, 1:]]
    clf = FCGBoostClassifier("polynomial", max_iter=10, random_state=0).fit(table, y)
    table[3, 2] = 999_999.0
    page = show(clf, table, y)
    assert np.abs(clf.decision_function(table)).max() > 1e9
    assert "margins" in [a["id"] for tag, a in page.elements if tag == "figure"]


def test_the_boundary_of_several_classes_holds_every_class() -> None:
    X, _ = make_simulation(200, random_state=0)
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)]
    clf = FCGBoostClassifier("gauss", max_iter=8, random_state=0).fit(X, y)
    path = path_of(clf, X, y)
    grid, values = grid_values(path)
    np.testing.assert_allclose(values[-1].T, clf.decision_function(grid), atol=1e-6)
    assert path["boundary"]["classes"] == ["a", "b", "c"]
    assert path["boundary"]["atoms"]["kind"] == "points"


def test_a_table_of_two_number_columns_has_a_boundary_too() -> None:
    X, y = labelled(200, 0)
    table = pd.DataFrame({"left": X[:, 0], "same": 1.0, "right": X[:, 1]})
    table.loc[::9, "left"] = np.nan
    fitted = make_pipeline(TableEncoder(), FCGBoostClassifier("gauss", max_iter=5, random_state=0))
    fitted.fit(table, y)
    path = path_of(fitted, table, y)
    grid, values = grid_values(path)
    rows = pd.DataFrame({"left": grid[:, 0], "same": 1.0, "right": grid[:, 1]})
    np.testing.assert_allclose(values[-1, 0], fitted.decision_function(rows), atol=1e-6)
    assert path["boundary"]["names"] == ["left", "right"]


def test_other_inputs_have_curves_alone(table_model: Any) -> None:
    path = path_of(table_model, *mixed(80, 1))
    _, clf = split_model(table_model)
    assert path["boundary"] is None
    assert path["coef"] is None
    assert path["nAtoms"] == [step.n_atoms for step in clf.trace_]


def test_columns_are_summed_up(show: Show, table_model: Any) -> None:
    X, y = mixed(80, 1)
    page = show(table_model, X, y)
    heads, rows = page.table("min")
    by_name = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert by_name["age"]["missing"] == "8 (10.0 %)"
    assert by_name["age"]["median"] == number(X["age"].median())
    assert by_name["since"]["kind"] == "date"
    assert by_name["since"]["max"] == str(X["since"].max().date())
    encoder, _ = split_model(table_model)
    assert by_name["same"]["kind"].startswith("number" if encoder is None else "left out")
    top = X["city"].value_counts(normalize=True)
    assert by_name["city"]["most frequent"].startswith(f"{top.index[0]} {100 * top.iloc[0]:.0f} %")
    shares = [float(row["influence"].removesuffix(" %")) for row in by_name.values()]
    assert sum(shares) == pytest.approx(100.0, abs=0.3)


def test_mistakes_are_counted_and_the_worst_come_first(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    X, y = judged
    said = model.predict(X)
    heads, rows = page.table("true class")
    counts = confusion_matrix(y, said)
    assert [row[heads.index("no") : heads.index("no") + 2] for row in rows] == [
        [str(n) for n in row] for row in counts
    ]
    margins = np.where(y == "yes", 1.0, -1.0) * model.decision_function(X)
    wrong = np.flatnonzero(said != y)
    heads, rows = page.table("P(true class)")
    assert [int(row[0]) for row in rows] == wrong[np.argsort(margins[wrong])][:20].tolist()
    i = int(rows[0][0])
    p = model.predict_proba(X[[i]])[0, int(y[i] == "yes")]
    assert rows[0][heads.index("P(true class)")] == f"{p:.3f}"
    assert f"feature 1 = {X[i, 0]:.4g} (" in rows[0][heads.index("explanation")]


def test_the_baseline_comes_first(page: Reader, judged: tuple[Any, Any]) -> None:
    share = max(np.mean(judged[1] == name) for name in ("no", "yes"))
    assert page.text.index("Baseline") < page.text.index("Accuracy")
    assert f"is right for {100 * share:.1f} % of the 250 rows given." in page.text


def test_thresholds_have_the_counts_and_areas_of_scikit_learn(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    X, y = judged
    data, proba = page.data["thresholds"], model.predict_proba(X)
    assert [one["name"] for one in data["classes"]] == ["no", "yes"]
    assert (data["first"], data["isProbability"]) == (1, True)
    for code, one in enumerate(data["classes"]):
        is_own, p = y == one["name"], proba[:, code]
        assert (one["positives"], one["negatives"]) == (is_own.sum(), (~is_own).sum())
        for i in (0, len(p) // 3, len(one["thresholds"]) - 1):
            said = p >= one["thresholds"][i] - 1e-6
            assert (one["true"][i], one["false"][i]) == (
                (said & is_own).sum(),
                (said > is_own).sum(),
            )
        assert one["auc"] == pytest.approx(roc_auc_score(is_own, p))
        assert one["averagePrecision"] == pytest.approx(average_precision_score(is_own, p))
    # The default threshold is that of `predict`.
    start = one["start"]
    counts = confusion_matrix(y, model.predict(X))
    assert one["thresholds"][start] == 0.5
    assert [one["true"][start], one["false"][start]] == counts[::-1, 1].tolist()


@pytest.mark.parametrize("n_rows", [300, 9])
def test_of_several_classes_each_has_curves_if_rows_belong_to_it(n_rows: int) -> None:
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)
    clf = FCGBoostClassifier("gauss", loss="hinge", max_iter=8, random_state=0).fit(X, y)
    X, y = X[:n_rows], np.where(y[:n_rows] == 3, 2, y[:n_rows]) if n_rows < 10 else y
    evaluation = evaluate_model(take_apart(clf), X, y)
    curves = find_curves(evaluation.model, evaluation)
    assert [one.name for one in curves] == [str(value) for value in np.unique(y)]
    for one in curves:
        score = clf.decision_function(X)[:, int(one.name)]
        assert one.thresholds[one.default] == 0.0  # the hinge has no probabilities
        assert one.auc == pytest.approx(roc_auc_score(y == int(one.name), score))
        assert one.true[one.default] == np.sum((score >= 0.0) & (y == int(one.name)))


def test_many_rows_keep_exact_areas_and_few_thresholds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 2)), np.where(rng.random(4000) < 0.1, "rare", "usual")
    clf = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(X[:200], y[:200])
    evaluation = evaluate_model(take_apart(clf), X, y)
    rare, _ = find_curves(evaluation.model, evaluation)
    assert len(rare.thresholds) <= 301
    assert rare.true[-1] == rare.n_positive
    assert rare.auc == pytest.approx(roc_auc_score(y == "rare", clf.predict_proba(X)[:, 0]))


def test_an_id_that_the_model_leaves_out_stands_beside_its_mistakes(show: Show) -> None:
    X, y = mixed(200, 0)
    X["customer"] = [f"C{i:04d}" for i in range(200)]
    clf = FCGBoostClassifier("relu", max_iter=6, random_state=0).fit(X, y)
    page = show(clf, X, np.where(y == "no", "yes", "no"))
    heads, rows = page.table("explanation")
    assert f"Row {rows[0][0]} (customer {rows[0][1]}) is predicted as" in page.text
    assert heads[:3] == ["row", "customer", "true class"]
    assert all(row[1] == f"C{int(row[0]):04d}" for row in rows)
    assert not any("customer" in row[heads.index("explanation")] for row in rows)


def test_long_class_names_number_the_confusion_matrix(show: Show) -> None:
    X, codes = make_classification(200, 8, n_informative=5, n_classes=4, random_state=0)
    y = np.array([f"a class with quite a long name, number {code}" for code in range(4)])[codes]
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    heads, rows = show(clf, X, y).table("true class")
    assert heads[1:] == ["rows", "1", "2", "3", "4", "recall", "precision"]
    assert rows[2][0] == "3.\N{NO-BREAK SPACE}a class with quite a long name, number 2"
    counts = confusion_matrix(y, clf.predict(X))
    assert [row[2:6] for row in rows] == [[str(n) for n in row] for row in counts]


def test_labels_that_the_model_does_not_know_are_mistakes_of_their_own(
    model: FCGBoostClassifier, judged: tuple[Any, Any], show: Show
) -> None:
    X, y = judged
    y = y.astype(object)
    y[:7] = "perhaps"
    page = show(model, X, y)
    heads, rows = page.table("true class")
    assert rows[-1][:2] == ["unknown to the model", "7"]
    assert rows[-1][heads.index("recall")] == "0.0 %"
    assert evaluate(model, X, y)["accuracy"].value < 1.0 - 7 / len(y)
