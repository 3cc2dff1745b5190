"""Models and data of all kinds have a page."""

import base64
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from fcgboost import FCGBoostClassifier
from fcgboost.io import load_model, save_model
from fcgboost.report import write_model_report
from fcgboost.wording import count
from tests.suites.averages import mixed_average
from tests.suites.pages import Reader, Show, labelled, mixed, pictures, read


def test_the_page_shows_what_the_model_file_knows(
    table_model: Any, show: Show, tmp_path: Path
) -> None:
    about = {
        "target": "left",
        "data": {"file": "people.csv", "n_samples": 200, "class_counts": {"no": 90, "yes": 110}},
        "test": {"n_samples": 50, "scores": {"odd": 3}},
        "seconds": 2.5,
        "created": "2026-05-04T03:02:01",
    }
    save_model(table_model, tmp_path / "model.json", about=about)
    page = show(load_model(tmp_path / "model.json"), *mixed(60, 1))
    assert page.text.startswith("A model of left A model of left")
    for fact in ("people.csv", "held-out rows 50", "2026-05-04T03:02:01", "fitted in 2.5 s"):
        assert fact in page.text
    titles = [panel["title"] for panel in page.data["path"]["panels"]]
    assert titles == ["error", "training objective"]
    _, rows = page.table("description")
    assert [float(row[2].replace("\N{MINUS SIGN}", "-")) for row in rows] == pytest.approx(
        table_model.atom_coef_[0], rel=1e-3
    )


def test_a_file_without_its_path_gives_a_page_without_one(
    table_model: Any, show: Show, tmp_path: Path
) -> None:
    save_model(table_model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = show(loaded, *mixed(60, 1))
    assert "path" not in page.data
    assert "The model was saved without its path" in page.text


def test_the_lines_on_the_page_load_the_model(
    page: Reader, model: Any, judged: tuple[Any, Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(model, "model.json")
    lines = page.code[page.code.index("from fcgboost") :]
    scope = {"X": judged[0]}
    exec(lines, scope)
    np.testing.assert_array_equal(scope["model"].predict(judged[0]), model.predict(judged[0]))


def test_a_strange_note_in_a_model_file_does_no_harm(
    model: Any, judged: tuple[Any, Any], show: Show, tmp_path: Path
) -> None:
    about = {
        "target": 3,
        "data": [1],
        "test": {"scores": {"accuracy": {"value": "x"}}, "baseline": {"accuracy": 1.0}},
        "seconds": {},
    }
    save_model(model, tmp_path / "model.json", about=about)
    page = show(load_model(tmp_path / "model.json"), *judged)
    assert page.text.startswith("A fitted model")


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "objects"])
def test_a_classifier_of_a_table_has_a_page_in_every_library(library: str, show: Show) -> None:
    frame, y = mixed(120, 0)
    frame["id"] = [f"p{i}" for i in range(120)]
    table = {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "objects": frame.to_numpy(dtype=object),
    }[library]
    clf = FCGBoostClassifier(max_iter=6, random_state=0).fit(table, y)
    page = show(clf, table, y)
    heads, rows = page.table("encoding")
    names = ["x0", "x1", "x2", "x3", "x4"] if library == "objects" else list(frame)
    assert [row[0] for row in rows] == names
    kinds = [row[heads.index("kind")] for row in rows]
    assert kinds[:4] == ["number", "category", "date", "number"]
    assert kinds[4].startswith("left out")
    shares = [row[heads.index("influence")] for row in rows]
    assert shares == [f"{100 * share:.1f} %" for share in clf.feature_importances_]
    figures = [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert {"influence", "dependence-1"} <= set(figures)


X, Y = labelled(90, 0)
WIDE = sparse.random(90, 30, 0.2, "csr", random_state=0)
FRAME = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
AVERAGE = FCGBoostClassifier(random_state=0)
SCORED = FCGBoostClassifier("gauss", max_iter=4, validation_fraction=0.3, scoring="roc_auc")
FEW = FCGBoostClassifier("gauss", max_iter=4, random_state=0)

#: A classifier, the data of its fit, and what of it is given to the report.
KINDS: dict[str, tuple[Any, Any, Any, slice]] = {
    "hinge": (FCGBoostClassifier("gauss", loss="hinge", max_iter=4), X, Y, slice(None)),
    "square": (FCGBoostClassifier("gauss", loss="square", max_iter=4), X, Y, slice(None)),
    "one row": (FEW, X, Y, slice(1)),
    "no step": (FEW, np.ones((90, 2)), Y, slice(None)),
    "one step": (FCGBoostClassifier("gauss", max_iter=1), X, Y, slice(None)),
    "lists": (FEW, X.tolist(), Y.tolist(), slice(None)),
    "sparse": (FCGBoostClassifier("relu", max_iter=4), WIDE, Y, slice(None)),
    "polars": (FEW, FRAME, Y, slice(None)),
    "average": (AVERAGE, X, Y, slice(None)),
    "scoring": (SCORED, X, Y, slice(None)),
    "truth values": (FEW, X, Y == "yes", slice(None)),
}


#: Others are much like these.
FIRST_KINDS = ("no step", "sparse", "polars", "average")


@pytest.mark.parametrize(
    "name",
    [name if name in FIRST_KINDS else pytest.param(name, marks=pytest.mark.slow) for name in KINDS],
)
def test_every_kind_of_model_and_data_has_a_page(name: str, show: Show) -> None:
    estimator, rows, y, part = KINDS[name]
    fitted = clone(estimator).fit(rows, y)
    page = show(fitted, rows[part], y[part])
    assert f"{count(len(y[part]), 'row')} with" in page.text
    assert ("path" in page.data) == (name != "no step")
    assert ("Brier score" in page.text) == (name != "hinge")
    if name == "average":
        assert [panel["title"] for panel in page.data["path"]["panels"]] == ["error"]
        assert "The model is the average of" in page.text
        assert page.table("atoms each")[1][0][0].endswith("of ReLU, tree and Gauss atoms")
    if name == "scoring":
        titles = [panel["title"] for panel in page.data["path"]["panels"]]
        assert titles == ["error", "validation (roc_auc)", "training objective"]


def test_the_page_of_an_average_is_about_all_members(show: Show) -> None:
    average = mixed_average(*mixed(200, 0))
    X, y = mixed(100, 1)
    page = show(average, X, y)
    assert (
        "The model is the average of 4 members: 2 of ReLU, tree and Gauss atoms (weight 0.4) and 2 "
        "forests (weight 0.6)." in page.text
    )
    assert "Every step adds an atom to every member" in page.text
    assert page.table("atoms each")[1] == [
        ["2 of ReLU, tree and Gauss atoms", "0.1 to 1.1", "9 to 10", "9 to 10"],
        ["2 forests", "0.1 to 1.1", "4 to 5", "4 to 5"],
    ]
    path = page.data["path"]
    assert len(path["nAtoms"]) == path["chosen"] == 10
    assert path["nAtoms"][-1] == average.n_atoms_
    [panel] = path["panels"]
    assert panel["title"] == "error"
    [curve] = panel["curves"]
    assert curve["values"][-1] == pytest.approx(1.0 - average.score(X, y))


def test_the_atoms_of_an_average_have_their_members_and_weights(show: Show) -> None:
    average = mixed_average(*mixed(200, 0))
    heads, rows = show(average, *mixed(100, 1)).table("description")
    members = average.members_
    coef = np.hstack([member.weight * member.model.coef[0] for member in members])
    shown = [row[heads.index("coefficient")].replace("\N{MINUS SIGN}", "-") for row in rows]
    assert list(map(float, shown)) == pytest.approx(coef, rel=1e-3)
    owners = np.repeat([1, 2, 3, 4], [member.model.n_atoms for member in members])
    assert [int(row[heads.index("member")]) for row in rows] == owners.tolist()


SEVERAL = np.digitize(X[:, 0] + X[:, 1], [0.7, 1.3])
#: One of each kind, with its real pictures: rows and labels of the fit, and the pictures expected.
DRAWN: dict[str, tuple[Any, Any, int]] = {
    "two classes": (X, Y, 8),
    "several classes": (X, SEVERAL, 8),
    "a table": (*mixed(90, 0), 8),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_page_of_each_kind_holds_real_pictures(name: str, tmp_path: Path) -> None:
    rows, y, n_pictures = DRAWN[name]
    fitted = clone(FEW).fit(rows, y)
    page = read(write_model_report(tmp_path / "page.html", fitted, rows, y))
    found = pictures(page)
    assert len(found) == n_pictures
    for picture in found:
        kind, _, content = picture["src"].partition(";base64,")
        image = base64.b64decode(content, validate=True)
        if kind == "data:image/png":
            assert image.startswith(b"\x89PNG")
        else:
            assert kind == "data:image/svg+xml"
            assert ElementTree.fromstring(image).tag.endswith("}svg")
        assert picture["alt"]
