"""The numbers on the page about a model are those of the model and the data."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.evaluation import evaluate
from fcgboost.io import load_model, save_model
from fcgboost.report.text import score
from tests.suites.pages import (
    Reader,
    Show,
    labelled,
)


def test_the_scores_are_those_of_evaluate(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    for name, found in evaluate(model, *judged).scores.items():
        shown = score(name, found.value).replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert shown in page.text
        low, high = (score(name, end) for end in (found.low, found.high))
        low, high = (end.replace("\N{NARROW NO-BREAK SPACE}%", "") for end in (low, high))
        assert f"{low} to {high}" in page.text


def test_the_first_sentence_says_what_the_model_is(page: Reader, model: Any) -> None:
    assert re.search(rf"{model.n_atoms_} ReLU atoms that tells .yes. from .no.\.", page.text)


def test_the_time_of_the_fit_is_that_of_the_model_file(
    model: Any, judged: tuple[Any, Any], page: Reader, show: Show, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", about={"seconds": 12.0})
    told = show(load_model(tmp_path / "model.json"), *judged)
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


def test_a_broken_cell_does_no_harm(show: Show) -> None:
    X, y = labelled(150, 0)
    table = np.c_[X, X[:, :1] * X[:, 1:]]
    clf = FCGBoostClassifier("polynomial", max_iter=10, random_state=0).fit(table, y)
    table[3, 2] = 999_999.0
    page = show(clf, table, y)
    assert np.abs(clf.decision_function(table)).max() > 1e9
    assert "margins" in [a["id"] for tag, a in page.elements if tag == "figure"]


def test_the_baseline_comes_first(page: Reader, judged: tuple[Any, Any]) -> None:
    share = max(np.mean(judged[1] == name) for name in ("no", "yes"))
    assert page.text.index("Baseline") < page.text.index("Accuracy")
    assert f"is right for {100 * share:.1f} % of the 250 rows given." in page.text
