"""Why rows are predicted as they are, on the page about a model."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fcgboost import FCGBoostClassifier
from fcgboost.io import load_model, save_model
from fcgboost.report import reasons, write_model_report
from fcgboost.report.text import quoted
from tests.suites.commands import run
from tests.suites.pages import Reader, Show, labelled, mixed


def largest(values: Any) -> list[int]:
    return np.argsort(-np.abs(values), kind="stable")[:3].tolist()


def section(page: Reader) -> str:
    return page.text.rpartition("One row explained")[2].partition("Training path")[0]


def test_every_mistake_has_its_largest_contributions(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    heads, rows = page.table("explanation")
    assert heads[3:] == ["P(true class)", "explanation"]
    assert 0 < len(rows) <= 20
    found = model.explain(judged[0])
    for row in rows:
        values = found.values[int(row[0]) - 1] * (1 if row[2] == "yes" else -1)
        numbers = [float(f"{values[j]:.2g}") for j in largest(values)]
        said = [re.fullmatch(r"(.+) = (.+) \(([+−].+)\)", part) for part in row[4].split(", ")]
        assert [one[1] for one in said] == [f"feature {j + 1}" for j in largest(values)]
        assert [float(one[3].replace("−", "-")) for one in said] == pytest.approx(numbers)
    assert "Explanation: the columns with the largest Shapley values" in page.text


def test_the_worst_mistake_is_explained_unless_a_row_is_asked_for(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any], show: Show
) -> None:
    worst = page.table("explanation")[1][0]
    words = (
        f"Row {worst[0]} is predicted as {quoted(worst[2])}; its true class is {quoted(worst[1])}."
    )
    assert words in section(page)
    assert "the mean decision value of the training rows" in section(page)
    (drawn,) = [a for tag, a in page.elements if str(a.get("alt")).startswith("Why row")]
    assert str(drawn["alt"]).startswith(f"Why row {worst[0]} is predicted as")
    assert "Row 8 is predicted as" in section(show(model, *judged, row=7))


def test_an_explanation_names_texts_dates_and_gaps(table_model: Any, show: Show) -> None:
    X, y = mixed(200, 1)
    turned = np.where(y == "no", "yes", "no")  # so that most rows are mistakes
    _, rows = show(table_model, X, turned).table("explanation")
    texts = [row[4] for row in rows]
    assert any("city = Rome (" in text for text in texts)
    assert any("since = 202" in text for text in texts)
    assert any("age = missing (" in text for text in texts)
    found = table_model.explain(X)
    for row, text in zip(rows, texts, strict=True):
        names = [part.partition(" ")[0] for part in text.split(", ")]
        assert names == [X.columns[j] for j in largest(found.values[int(row[0]) - 1])]


def test_without_training_rows_those_given_are_the_background(
    model: FCGBoostClassifier, judged: tuple[Any, Any], show: Show, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", background=False)
    page = show(load_model(tmp_path / "model.json"), *judged)
    assert "The model holds no training rows, so the rows given are the background." in page.text
    assert "the mean decision value of the rows given to this report" in section(page)
    assert "explanation" in page.table("P(true class)")[0]


def test_without_a_mistake_the_first_row_is_explained(show: Show) -> None:
    X, y = make_classification(90, 5, n_informative=4, n_classes=3, n_redundant=0, random_state=0)
    clf = FCGBoostClassifier("gauss", max_iter=5, random_state=0).fit(X, y)
    page = show(clf, X, clf.predict(X))
    assert "No row is misclassified." in page.text
    assert f"Row 1 is predicted as {quoted(clf.predict(X)[0])}" in section(page)


def test_a_constant_and_a_large_model_have_their_page(
    model: FCGBoostClassifier, judged: tuple[Any, Any], show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Row " in section(show(model.truncate(0), *judged))
    monkeypatch.setattr(reasons, "_MOST_WORK", 10)
    page = show(model, *judged)
    assert "Shapley values of a model this large would take too long." in section(page)
    assert "explanation" not in page.table("P(true class)")[0]


def test_a_row_that_is_not_there_is_refused(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"There is no row 251: the data have 250 rows"):
        write_model_report(tmp_path / "page.html", model, *judged, row=250)


def test_the_command_takes_the_number_of_a_row(
    small_model: Path, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["report", small_model, small, "--target", "y", "--out", tmp_path / "r.html"]
    assert run(*command, "--row", 121) == 3
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 1
    assert "There is no row 121: the data have 120 rows." in told
    assert not (tmp_path / "r.html").exists()
    assert run(*command, "--row", 120) == 0
    assert "Why row 120 is predicted as" in (tmp_path / "r.html").read_text("utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Give a small table with labels."""
    X, y = labelled(120, 0)
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "small.csv").write_text("\n".join(["a,b,y", *lines]))
    return tmp_path / "small.csv"


@pytest.fixture
def small_model(small: Path) -> Path:
    command = ["fit", small, "--target", "y", "--dictionary", "gauss"]
    assert run(*command, "--out", small.with_suffix(".json")) == 0
    return small.with_suffix(".json")
