"""The numbers on the page about a model are those of the model and the data."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix
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
from fcgboost.web.text import number, score, seconds


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
    assert re.search(rf"{model.n_atoms_} ReLU atoms tell .yes. from .no.\. The loop", page.text)


def test_the_time_is_that_of_the_fit_or_of_the_loop_until_the_chosen_step(
    page: Reader, model: Any, show: Show, tmp_path: Path
) -> None:
    loop = seconds(model.trace_[model.n_iter_ - 1].seconds).replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    assert f"The loop that chose them took {loop}." in page.text
    save_model(model, tmp_path / "model.json", about={"seconds": 12.0})
    told = show(load_model(tmp_path / "model.json"))
    assert f"{model.n_atoms_} ReLU atoms, fitted in 12 s, tell" in told.text
    save_model(model, tmp_path / "model.json", trace=False)
    unknown = show(load_model(tmp_path / "model.json"))
    assert "fitted in" not in unknown.text
    assert "The loop that" not in unknown.text


def test_what_the_scores_are_is_said_beside_them(page: Reader, show: Show) -> None:
    assert "Log-loss: every probability is first clipped to between 1/(2m)" in page.text
    titles = [a["title"] for tag, a in page.elements if tag == "li" and "title" in a]
    assert len(titles) == 1
    assert str(titles[0]).startswith("Log-loss:")
    X, _ = make_simulation(200, random_state=0)
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    several = show(clf, X, y)
    assert "Brier score: of several classes, half the squared distance" in several.text


def test_the_errors_along_the_path_are_those_of_truncated_models(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    path = page.data["path"]
    assert path["frames"] == list(range(1, len(model.trace_) + 1))
    curves = {curve["name"]: curve["values"] for curve in path["panels"][0]["curves"]}
    for k in (1, 5, path["chosen"]):
        expected = 1.0 - model.truncate(k).score(*judged)
        assert curves["this data"][k - 1] == pytest.approx(expected, abs=1e-6)
        known = model.trace_[k - 1].validation_score
        assert curves["validation"][k - 1] == pytest.approx(1.0 - known, abs=1e-6)
    assert (path["chosen"], path["k0"]) == (model.n_iter_, model._k0_)
    assert path["best"] == 1 + int(np.argmin(curves["this data"]))


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


def test_other_inputs_have_the_coefficients_of_every_step(table_model: Any) -> None:
    path = path_of(table_model, *mixed(80, 1))
    _, clf = split_model(table_model)
    assert path["boundary"] is None
    found = np.frombuffer(base64.b64decode(path["coef"]["values"]), dtype="<f4")
    expected = np.concatenate([step.coef[0] for step in clf.trace_])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert path["nAtoms"] == [step.n_atoms for step in clf.trace_]
    assert len(path["atoms"]) == clf.trace_[-1].n_atoms


def test_columns_are_summed_up(show: Show, table_model: Any) -> None:
    X, y = mixed(80, 1)
    page = show(table_model, X, y)
    heads, rows = page.table("smallest")
    by_name = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert by_name["age"]["missing"] == "8 (10.0 %)"
    assert by_name["age"]["median"] == number(X["age"].median())
    assert by_name["since"]["kind"] == "date"
    assert by_name["since"]["largest"] == str(X["since"].max().date())
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
    heads, rows = page.table("margin")
    assert [int(row[0]) for row in rows] == wrong[np.argsort(margins[wrong])][:20].tolist()
    i = int(rows[0][0])
    assert rows[0][heads.index("feature 1")] == number(X[i, 0])


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
