"""Models and data of all kinds have a page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from suites.pages import Reader, Show, grid_values, labelled, mixed, path_of

from fcgboost import FCGBoostClassifier, FCGBoostClassifierCV
from fcgboost.io import load_model, save_model, split_model
from fcgboost.web import write_model_report
from fcgboost.web.atoms import describe_atoms
from fcgboost.web.effects import find_dependences, find_importances
from fcgboost.web.models import evaluate_model, take_apart
from fcgboost.web.text import count, number, quoted


def test_without_data_the_page_shows_what_the_model_file_knows(
    table_model: Any, show: Show, tmp_path: Path
) -> None:
    about = {
        "target": "left",
        "data": {"file": "people.csv", "n_samples": 200, "class_counts": {"no": 90, "yes": 110}},
        "test": {
            "n_samples": 50,
            "scores": {"accuracy": {"value": 0.875, "low": 0.75, "high": 0.9375}, "odd": 3},
            "baseline": {"class": "yes", "accuracy": 0.55},
        },
        "seconds": 2.5,
        "created": "2026-05-04T03:02:01",
    }
    save_model(table_model, tmp_path / "model.json", about=about)
    page = show(load_model(tmp_path / "model.json"))
    assert page.text.startswith("A model of left A model of left")
    first = f"Baseline 55.0 % always {quoted('yes')} Accuracy 87.5 % 75.0 to 93.8 %"
    assert first in page.text
    assert "The scores are those on 50 held-out rows." in page.text
    for fact in ("people.csv", "held-out rows 50", "2026-05-04T03:02:01", "fit time 2.5 s"):
        assert fact in page.text
    _, clf = split_model(table_model)
    assert page.data["path"]["frames"] == []
    assert [panel["title"] for panel in page.data["path"]["panels"]] == ["training objective"]
    heads, rows = page.table("encoding")
    treatment = {row[0]: row[heads.index("encoding")] for row in rows}
    assert treatment["city"] == "one of Bern, Oslo and Rome"
    assert treatment["age"].startswith("a missing value becomes")
    heads, rows = page.table("description")
    assert [float(row[2].replace("\N{MINUS SIGN}", "-")) for row in rows] == pytest.approx(
        clf.atom_coef_[0], rel=1e-3
    )


@pytest.mark.parametrize(
    "odd",
    [
        *("\x1b[31m", "\ud800"),
        *(pytest.param(odd, marks=pytest.mark.slow) for odd in ("\0", "\x9b", "\ufffe", "\uffff")),
    ],
)
def test_names_that_no_drawing_can_hold_are_shown_with_a_sign(tmp_path: Path, odd: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80).astype(object), rng.choice([f"u{odd}", "v"], 80)])
    y = np.array([f"no{odd}", "yes"], dtype=object)[(X[:, 0] > 0.0).astype(int)]
    if odd != "\ud800":  # which pandas refuses
        X = pd.DataFrame(X, columns=[f"a{odd}", "b"])
    model = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(X, y)
    for row in (int(np.argmax(y == "yes")), int(np.argmax(y != "yes"))):
        path = write_model_report(tmp_path / "page.html", model, X, y, title=f"A {odd}", row=row)
    text = path.read_text(encoding="utf-8")
    assert odd not in text
    assert odd[0] not in text
    assert "no\N{REPLACEMENT CHARACTER}" in text
    assert "<svg" in text


def test_a_file_without_its_path_gives_a_page_without_one(
    table_model: Any, show: Show, tmp_path: Path
) -> None:
    save_model(table_model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = show(loaded, *mixed(60, 1))
    assert "path" not in page.data
    assert "The model was saved without its path" in page.text


def test_a_plane_without_its_path_has_the_final_boundary(
    model: Any, judged: tuple[Any, Any], show: Show, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = show(loaded, *judged)
    assert "still-boundary" in [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert "path" not in page.data


def test_pictures_are_drawn_from_rows_whose_class_is_known(model: Any, show: Show) -> None:
    X = np.random.default_rng(0).uniform(size=(9000, 2))
    y = np.full(9000, "perhaps")
    y[[17, 8999]] = "no"
    page = show(model, X, y)
    assert "Drawn from 2 rows." in page.text


def test_shuffled_columns_lose_what_scikit_learn_says(model: Any, judged: tuple[Any, Any]) -> None:
    fitted_model = take_apart(model)
    found = find_importances(fitted_model, evaluate_model(fitted_model, *judged))
    assert found is not None
    X, y = judged
    expected = permutation_importance(model, X, y, n_repeats=40, random_state=0)
    np.testing.assert_allclose(found.mean, expected.importances_mean, atol=0.05)
    assert found.n_rows == len(y)


def test_columns_of_words_are_shuffled_as_a_whole(table_model: Any) -> None:
    fitted_model = take_apart(table_model)
    judged = evaluate_model(fitted_model, *mixed(150, 1))
    found = find_importances(fitted_model, judged)
    assert found is not None
    assert found.places[:3] == [0, 1, 2]
    assert found.mean[1] > 0.1
    one = find_dependences(fitted_model, judged, found, 4)
    by_name = {fitted_model.columns[d.place].name: d for d in one}
    assert by_name["city"].values == ["Bern", "Oslo", "Rome"]
    X, _ = mixed(150, 1)
    for name in ("city", "age"):
        for value, mean in zip(by_name[name].values, by_name[name].means, strict=True):
            proba = table_model.predict_proba(X.assign(**{name: value}))[:, 1]
            np.testing.assert_allclose(proba.mean(), mean[0], rtol=1e-9)


def test_a_gap_among_words_is_a_level_of_its_own(table_model: Any) -> None:
    fitted_model, (X, y) = take_apart(table_model), mixed(150, 1)
    X.loc[X.index[:9], "city"] = None
    judged = evaluate_model(fitted_model, X, y)
    found = find_importances(fitted_model, judged)
    assert found is not None
    one = find_dependences(fitted_model, judged, found, 4)
    (city,) = (d for d in one if fitted_model.columns[d.place].name == "city")
    assert city.values == ["Bern", "Oslo", "Rome", "missing"]
    proba = table_model.predict_proba(X.assign(city=None))[:, 1]
    np.testing.assert_allclose(proba.mean(), city.means[-1, 0], rtol=1e-9)


def test_dependences_are_those_of_scikit_learn(model: Any, judged: tuple[Any, Any]) -> None:
    fitted_model = take_apart(model)
    data = evaluate_model(fitted_model, *judged)
    losses = find_importances(fitted_model, data)
    assert losses is not None
    for one in find_dependences(fitted_model, data, losses, 2):
        expected = partial_dependence(
            model,
            judged[0],
            [one.place],
            method="brute",
            response_method="predict_proba",
            custom_values={one.place: one.values},
        )
        np.testing.assert_allclose(one.means[:, 0], expected["average"][0])


def test_a_model_that_is_too_large_is_not_shuffled(
    model: Any, judged: tuple[Any, Any], show: Show, monkeypatch: Any
) -> None:
    monkeypatch.setattr("fcgboost.web.effects._MOST_PRODUCTS", 1000)
    page = show(model, *judged)
    assert "Permutation importance of a model this large would take too long." in page.text
    figures = [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert "permutation" not in figures
    assert "influence" in figures


def test_sparse_centres_are_described_by_what_is_not_zero() -> None:
    rows = sparse.random(60, 40, 0.1, "csr", random_state=0)
    y = np.asarray(rows[:, :20].sum(axis=1)).ravel() > 1.0
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(rows, y)
    fitted_model = take_apart(clf)
    texts = describe_atoms(fitted_model, clf.model_.atoms)
    dense = clf.model_.atoms.toarray()[:, :40]
    for text, row in zip(texts, dense, strict=True):
        assert "= 0," not in text
        largest = int(np.argmax(np.abs(row / clf.model_.scale)))
        assert text.startswith(f"near feature {largest + 1} = {number(row[largest])}")


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
    model: Any, show: Show, tmp_path: Path
) -> None:
    about = {
        "target": 3,
        "data": [1],
        "test": {"scores": {"accuracy": {"value": "x"}}, "baseline": {"accuracy": 1.0}},
        "seconds": {},
    }
    save_model(model, tmp_path / "model.json", about=about)
    page = show(load_model(tmp_path / "model.json"))
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
    heads, rows = page.table("min")
    names = ["x0", "x1", "x2", "x3", "x4"] if library == "objects" else list(frame)
    assert [row[0] for row in rows] == names
    kinds = [row[heads.index("kind")] for row in rows]
    assert kinds[:4] == ["number", "category", "date", "number"]
    assert kinds[4].startswith("left out")
    shares = [row[heads.index("influence")] for row in rows]
    assert shares == [f"{100 * share:.1f} %" for share in clf.feature_importances_]
    figures = [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert {"permutation", "dependence-1"} <= set(figures)
    page = show(clf)
    heads, rows = page.table("encoding")
    said = [row[heads.index("encoding")] for row in rows]
    assert said[0].endswith("and is marked; for trees it stays missing")
    assert said[1] == "one of Bern, Oslo and Rome"
    assert said[2].endswith("; also its month and weekday")


def test_the_plane_of_a_table_has_dates_and_gaps() -> None:
    table, y = mixed(150, 0)
    table = table[["age", "since"]].assign(id=[f"p{i}" for i in range(150)])
    clf = FCGBoostClassifier(max_iter=6, random_state=0).fit(table, y)
    path = path_of(clf, table, y)
    assert path["boundary"]["names"] == ["age", "since"]
    grid, values = grid_values(path)
    points = pd.DataFrame({"age": grid[:, 0], "since": grid[:, 1], "id": None})
    decision = clf.truncate(path["frames"][-1]).decision_function(points)
    np.testing.assert_allclose(values[-1, 0], decision, rtol=1e-5, atol=1e-5)
    drawn = path["boundary"]["points"]["x"]
    assert None not in drawn


X, Y = labelled(90, 0)
WIDE = sparse.random(90, 30, 0.2, "csr", random_state=0)
FRAME = polars.DataFrame({"a": X[:, 0], "b": X[:, 1]})
SEARCH = FCGBoostClassifierCV(["gauss", "relu"], cv=3, max_iter=4, random_state=0)
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
    "search": (SEARCH, X, Y, slice(None)),
    "scoring": (SCORED, X, Y, slice(None)),
    "truth values": (FEW, X, Y == "yes", slice(None)),
}


#: Others are much like these.
FIRST_KINDS = ("no step", "sparse", "polars", "search")


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
    if name == "search":
        curves = [curve["name"] for curve in page.data["path"]["panels"][0]["curves"]]
        assert curves == ["test", "cross-validation"]
    if name == "scoring":
        titles = [panel["title"] for panel in page.data["path"]["panels"]]
        assert titles == ["error", "validation (roc_auc)", "training objective"]
