"""Pages about models are whole, safe and small."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import path_error
from fcgboost.report import write_model_report
from tests.suites.pages import (
    EVIL,
    MEGABYTE,
    Reader,
    Show,
    labelled,
    pictures,
)


def test_names_of_any_kind_are_shown_as_text(tmp_path: Path) -> None:
    X, y = labelled(120, 0)
    names = ["a</script><b>", "$x^{_$ <img src=x>\n\u4e2d"]
    table, labels = (
        pd.DataFrame(X, columns=names),
        np.where(y == "yes", EVIL, "$\\frac{ \u4e2d"),
    )
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(table, labels)
    title = f"</title>{EVIL}"
    text = write_model_report(tmp_path / "page.html", clf, table, labels, title=title).read_text(
        "utf-8"
    )
    page = Reader(text)
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", None]
    assert not [tag for tag, _ in page.elements if tag == "b"]
    assert all(a["src"] != "x" for tag, a in page.elements if tag == "img")
    (boundary,) = [a for a in pictures(page) if a["alt"].startswith("The boundary")]
    assert names[0] in boundary["alt"]
    assert EVIL in page.table("true class")[1][1][0]
    assert page.text.startswith(title)


def test_every_picture_is_there(page: Reader) -> None:
    figures = [attributes["id"] for tag, attributes in page.elements if tag == "figure"]
    shown = ["reliability", "margins", "influence", "dependence-1", "dependence-2"]
    shown += ["contributions"]
    assert figures == [*shown, "path-curves", "boundary"]


def test_the_same_model_and_data_give_the_same_page(
    written: Path, model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    again = write_model_report(tmp_path / "again.html", model, *judged)
    assert again.read_bytes() == written.read_bytes()
    assert written.stat().st_size < 3 * MEGABYTE


def test_a_large_model_s_page_is_small(show: Show, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 50))
    y = X[:, 0] * X[:, 1] + X[:, 2] > rng.standard_normal(600)
    clf = FCGBoostClassifier("gauss", max_iter=200, random_state=0).fit(X[:400], y[:400])
    assert clf.n_iter_ == 200
    page = show(clf, X[400:], y[400:])
    assert (tmp_path / "page.html").stat().st_size < 3 * MEGABYTE
    assert len(page.data["path"]["nAtoms"]) == 200


def test_a_long_path_keeps_all_errors(show: Show, tmp_path: Path) -> None:
    X, y = labelled(60, 0)
    clf = FCGBoostClassifier("gauss", scheme="shrinkage", max_iter=1200, random_state=0).fit(X, y)
    assert len(clf.trace_) > 600
    path = show(clf, X, y).data["path"]
    assert (tmp_path / "page.html").stat().st_size < 2 * MEGABYTE
    errors = path["panels"][0]["curves"][0]["values"]
    np.testing.assert_allclose(errors, path_error(clf, X, y), atol=1e-6)
    assert errors[path["best"] - 1] == min(errors)


# ---- errors


def test_what_cannot_be_reported_is_said_in_a_sentence(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = judged
    page = tmp_path / "page.html"
    page.write_text("before")
    with pytest.raises(ValueError, match="X has 250 rows, y has shape"):
        write_model_report(page, model, X, y[:-1])
    with pytest.raises(ValueError, match="No label in y is a class of the model"):
        write_model_report(page, model, X, np.arange(len(y)))
    with pytest.raises(TypeError, match="A model is a fitted classifier"):
        write_model_report(page, object(), X, y)
    with pytest.raises(FileNotFoundError, match="The folder for the report"):
        write_model_report(tmp_path / "nowhere" / "page.html", model, X, y)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "before"


# ---- words
