"""What the pages about models and comparisons say, and that they are whole, safe and small."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline

from fcgboost import FCGBoostClassifier, FCGBoostClassifierCV
from fcgboost.comparison import BASELINE, Comparison, Row
from fcgboost.datasets import make_simulation
from fcgboost.io import load_model, save_model
from fcgboost.plotting import path_error
from fcgboost.report import write_comparison, write_report
from fcgboost.report.atoms import describe_atoms
from fcgboost.report.boundary import find_plane
from fcgboost.report.effects import dependences, shuffled_losses
from fcgboost.report.path import find_path, path_data
from fcgboost.report.subject import find_subject, judge
from fcgboost.report.svg import inline
from fcgboost.report.wording import count, number, percent, score, seconds
from fcgboost.scores import Score, evaluate
from fcgboost.tables import TableEncoder

MEGABYTE = 1_000_000
VOID = {"meta", "link", "input", "img", "br"}
NAMES = np.array(["no", "yes"])


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.code = ""
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag in self.blocks:
            self.blocks[tag].append("")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inner = self.open[-1] if self.open else ""
        if inner in self.blocks:
            self.blocks[inner][-1] += data
        elif inner == "code":
            self.code += data
        elif {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split()).replace("\N{NARROW NO-BREAK SPACE}", " ")

    @property
    def data(self) -> Any:
        places = [a for tag, a in self.elements if tag == "script"]
        (place,) = [i for i, a in enumerate(places) if a.get("id") == "page-data"]
        return json.loads(self.blocks["script"][place])

    def table(self, caption: str) -> tuple[list[str], list[list[str]]]:
        """Find a table by the heads of its columns; give its last row of heads and its body."""
        for rows in self.tables:
            for i, row in enumerate(rows):
                if caption in row:
                    clean = [
                        [c.replace("\N{NARROW NO-BREAK SPACE}", " ") for c in r] for r in rows[i:]
                    ]
                    return clean[0], clean[1:]
        raise AssertionError(f"no table has the column {caption!r}")


def read(path: Path) -> Reader:
    return Reader(path.read_text("utf-8"))


def labelled(n: int, seed: int) -> tuple[Any, Any]:
    X, y = make_simulation(n, noise="uniform", level=0.1, random_state=seed)
    return X, NAMES[(y > 0).astype(int)]


@pytest.fixture(scope="module")
def model() -> FCGBoostClassifier:
    clf = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0)
    return clf.fit(*labelled(300, 0))


@pytest.fixture(scope="module")
def judged() -> tuple[Any, Any]:
    return labelled(250, 1)


@pytest.fixture(scope="module")
def page(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory
) -> Reader:
    return read(write_report(tmp_path_factory.mktemp("page") / "report.html", model, *judged))


def mixed(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Give a table of numbers, words, dates and gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Bern"], n, p=[0.6, 0.3, 0.1]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "same": 1,
        }
    )
    X.loc[::10, "age"] = np.nan
    late = (X["since"] > pd.Timestamp("2021-03-01")).to_numpy()
    return X, NAMES[((X["city"] == "Rome").to_numpy() ^ late).astype(int)]


@pytest.fixture(scope="module")
def table_model() -> Any:
    clf = FCGBoostClassifier("relu", max_iter=12, random_state=0)
    return make_pipeline(TableEncoder(), clf).fit(*mixed(200, 0))


# ---- numbers


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
    page: Reader, model: Any, tmp_path: Path
) -> None:
    loop = seconds(model.trace_[model.n_iter_ - 1].seconds).replace(
        "\N{NARROW NO-BREAK SPACE}", " "
    )
    assert f"The loop that chose them took {loop}." in page.text
    save_model(model, tmp_path / "model.json", about={"seconds": 12.0})
    told = read(write_report(tmp_path / "told.html", load_model(tmp_path / "model.json")))
    assert f"{model.n_atoms_} ReLU atoms, fitted in 12 s, tell" in told.text
    save_model(model, tmp_path / "model.json", trace=False)
    unknown = read(write_report(tmp_path / "unknown.html", load_model(tmp_path / "model.json")))
    assert "fitted in" not in unknown.text
    assert "The loop that" not in unknown.text


def test_what_the_scores_are_is_said_beside_them(page: Reader, tmp_path: Path) -> None:
    assert "Log-loss: every probability is first clipped to between 1/(2m)" in page.text
    titles = [a["title"] for tag, a in page.elements if tag == "li" and "title" in a]
    assert len(titles) == 1
    assert str(titles[0]).startswith("Log-loss:")
    X, _ = make_simulation(200, random_state=0)
    y = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    several = read(write_report(tmp_path / "page.html", clf, X, y))
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


def path_of(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Give the data of a page's path without drawing all the pictures."""
    subject = find_subject(model)
    judged = judge(subject, X, y)
    plane = find_plane(subject, judged)
    return path_data(find_path(subject, judged, plane), judged, plane)


def grid_values(path: dict[str, Any]) -> tuple[Any, Any]:
    """Give the grid, and the decision values of shape (n_steps, n_outputs, n_points)."""
    boundary = path["boundary"]
    whole = np.frombuffer(base64.b64decode(boundary["values"]), dtype="<i4")
    values = whole.reshape(len(path["frames"]), boundary["outputs"], -1)
    values = values * np.array(boundary["units"])[:, None, None]
    grid = np.stack(np.meshgrid(boundary["xs"], boundary["ys"]), axis=-1).reshape(-1, 2)
    return grid, values


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
    judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = judged[0].copy(), judged[1]
    X[0] = [1e6, -1e6]
    clf = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(*labelled(200, 0))
    path = path_of(clf, X, y)
    grid, values = grid_values(path)
    np.testing.assert_allclose(values[-1, 0], clf.decision_function(grid), atol=1e-6)
    assert np.ptp(grid, axis=0).max() < 1.2
    page = read(write_report(tmp_path / "page.html", clf, X, y))
    assert "The picture leaves out 1 row far from all others." in page.text


def test_a_broken_cell_does_no_harm(tmp_path: Path) -> None:
    X, y = labelled(150, 0)
    table = np.c_[X, X[:, :1] * X[:, 1:]]
    clf = FCGBoostClassifier("polynomial", max_iter=10, random_state=0).fit(table, y)
    table[3, 2] = 999_999.0
    page = read(write_report(tmp_path / "page.html", clf, table, y))
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
    clf = table_model[-1]
    assert path["boundary"] is None
    found = np.frombuffer(base64.b64decode(path["coef"]["values"]), dtype="<f4")
    expected = np.concatenate([step.coef[0] for step in clf.trace_])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert path["nAtoms"] == [step.n_atoms for step in clf.trace_]
    assert len(path["atoms"]) == clf.trace_[-1].n_atoms


def test_columns_are_summed_up(tmp_path: Path, table_model: Any) -> None:
    X, y = mixed(80, 1)
    page = read(write_report(tmp_path / "page.html", table_model, X, y))
    heads, rows = page.table("smallest")
    by_name = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert by_name["age"]["missing"] == "8 (10.0 %)"
    assert by_name["age"]["median"] == number(X["age"].median())
    assert by_name["since"]["kind"] == "date"
    assert by_name["since"]["largest"] == str(X["since"].max().date())
    assert by_name["same"]["kind"].startswith("left out")
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
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = judged
    y = y.astype(object)
    y[:7] = "perhaps"
    page = read(write_report(tmp_path / "page.html", model, X, y))
    heads, rows = page.table("true class")
    assert rows[-1][:2] == ["unknown to the model", "7"]
    assert rows[-1][heads.index("found")] == "0.0 %"
    assert evaluate(model, X, y)["accuracy"].value < 1.0 - 7 / len(y)


# ---- one file, safe and small


def test_the_page_refers_to_nothing_outside(page: Reader) -> None:
    for tag, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    everything = "".join(page.blocks["style"]) + "".join(page.blocks["script"])
    assert "://" not in everything
    assert "@import" not in everything
    assert not re.search(r"url\((?!#)", everything)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|eval|Function)\(", everything)


def test_the_policy_allows_the_page_s_own_style_and_script_and_nothing_else(page: Reader) -> None:
    import hashlib

    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    digests = {
        name: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for name, text in (("style", page.blocks["style"][0]), ("script", page.blocks["script"][1]))
    }
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digests['style']}'",
        "script-src": f"'sha256-{digests['script']}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    # What the policy would ignore must not be there.
    assert len(page.blocks["style"]) == 1
    assert not [tag for tag, attributes in page.elements if "style" in attributes]
    assert not [a for _, attributes in page.elements for a in attributes if a.startswith("on")]


EVIL = "<script>alert(1)</script>"


def test_names_of_any_kind_are_shown_as_text(tmp_path: Path) -> None:
    X, y = labelled(120, 0)
    names = ["a</script><b>", "$x^{_$ <img src=x>\n\u4e2d"]
    table, labels = (
        pd.DataFrame(X, columns=names),
        np.where(y == "yes", EVIL, "$\\frac{ \u4e2d"),
    )
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(table, labels)
    title = f"</title>{EVIL}"
    text = write_report(tmp_path / "page.html", clf, table, labels, title=title).read_text("utf-8")
    page = Reader(text)
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", None]
    assert not [tag for tag, _ in page.elements if tag == "b"]
    assert all(a["src"] != "x" for tag, a in page.elements if tag == "img")
    assert page.data["path"]["boundary"]["classes"][1] == EVIL
    assert page.data["path"]["boundary"]["names"][0] == names[0]
    assert EVIL in page.table("class")[1][1][0]
    assert page.text.startswith(title)


def test_drawings_have_ids_of_their_own_and_text_for_those_who_do_not_see(page: Reader) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]+)\)", str(page.elements))
    used += [
        str(attributes["href"])[1:]
        for _, attributes in page.elements
        if str(attributes.get("href", "")).startswith("#")
    ]
    assert used
    assert set(used) <= set(ids)
    for tag, attributes in page.elements:
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"


def test_every_picture_is_there(page: Reader) -> None:
    figures = [attributes["id"] for tag, attributes in page.elements if tag == "figure"]
    shown = ["margins", "reliability", "coefficients", "influence", "atoms", "shuffled"]
    shown += ["dependence-1", "dependence-2"]
    assert figures == ["still-path", "still-boundary", *shown]


def test_drawings_take_the_page_s_colours() -> None:
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><metadata/><g id="a" '
        'style="fill: #000000; stroke: #ff0000; clip-path: url(#b)"><path d="M 1.23456 2"/>'
        '<path style="fill: #ffffff; stroke: #333333"/></g></svg>'
    )
    found = inline(drawing, "one", 'a "summary" <')
    assert 'id="one-a"' in found
    assert 'fill="currentColor" stroke="#ff0000" clip-path="url(#one-b)"' in found
    assert 'd="M 1.23 2"' in found
    assert 'fill="var(--back)" stroke="currentColor"' in found
    assert 'aria-label="a &quot;summary&quot; &lt;"' in found
    assert "metadata" not in found
    assert "style=" not in found


def test_the_same_model_and_data_give_the_same_page(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    pages = [
        write_report(tmp_path / name, model, *judged).read_bytes() for name in ("a.html", "b.html")
    ]
    assert pages[0] == pages[1]
    assert len(pages[0]) < 3 * MEGABYTE


def test_a_large_model_s_page_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 50))
    y = X[:, 0] * X[:, 1] + X[:, 2] > rng.standard_normal(600)
    clf = FCGBoostClassifier("gauss", max_iter=200, random_state=0).fit(X[:400], y[:400])
    assert clf.n_iter_ == 200
    path = write_report(tmp_path / "page.html", clf, X[400:], y[400:])
    assert path.stat().st_size < 3 * MEGABYTE
    assert len(read(path).data["path"]["frames"]) == 200


def test_a_long_path_keeps_all_errors_and_the_boundaries_of_some_steps(tmp_path: Path) -> None:
    X, y = labelled(60, 0)
    clf = FCGBoostClassifier("gauss", scheme="shrinkage", max_iter=1200, random_state=0).fit(X, y)
    n = len(clf.trace_)
    assert n > 600
    path = write_report(tmp_path / "page.html", clf, X, y)
    page = read(path)
    data = page.data["path"]
    frames = data["frames"]
    assert 150 < len(frames) < 250
    assert {1, clf._k0_, clf.n_iter_, n, data["best"]} <= set(frames)
    assert f"The curves have all {n:,} steps; the boundary can be seen after" in page.text
    assert path.stat().st_size < 2 * MEGABYTE
    errors = data["panels"][0]["curves"][0]["values"]
    np.testing.assert_allclose(errors, path_error(clf, X, y), atol=1e-6)
    assert errors[data["best"] - 1] == min(errors)
    grid, values = grid_values(data)
    place = len(frames) // 2
    expected = clf.truncate(frames[place]).decision_function(grid)
    np.testing.assert_allclose(values[place, 0], expected, atol=1e-6)


def test_the_boundary_of_several_classes_has_many_steps_too() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 150)
    X = rng.normal(size=(150, 2)) + 2.0 * np.c_[codes % 3, codes // 3]
    clf = FCGBoostClassifier("gauss", max_iter=60, random_state=0).fit(X, codes)
    path = path_of(clf, X, codes)
    assert len(path["nAtoms"]) == len(clf.trace_)
    assert len(path["frames"]) >= min(40, len(clf.trace_))


def test_the_page_says_which_lines_it_has_and_why_the_step_was_chosen(
    judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = labelled(300, 0)
    auto = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0).fit(X, y)
    few = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(X, y)
    texts = {
        name: read(write_report(tmp_path / f"{name}.html", model, *judged)).text
        for name, model in {"auto": auto, "few": few, "none": auto.truncate(0)}.items()
    }
    why = 'With max_iter="auto" only multiples of k₀'
    assert why in texts["auto"]
    assert why not in texts["few"] + texts["none"]
    assert "The dashed line is the chosen number of steps." in texts["few"]
    assert "dotted one" not in texts["few"]
    assert "cut down to no step at all" in texts["none"]
    assert "dashed line" not in texts["none"]


# ---- models and data of all kinds


def test_without_data_the_page_shows_what_the_model_file_knows(
    table_model: Any, tmp_path: Path
) -> None:
    about = {
        "target": "left",
        "data": {"file": "people.csv", "n_samples": 200, "class_counts": {"no": 90, "yes": 110}},
        "test": {
            "n_samples": 50,
            "scores": {"accuracy": {"value": 0.875, "low": 0.75, "high": 0.9375}, "odd": 3},
        },
        "seconds": 2.5,
        "created": "2026-05-04T03:02:01",
    }
    save_model(table_model, tmp_path / "model.json", about=about)
    page = read(write_report(tmp_path / "page.html", load_model(tmp_path / "model.json")))
    assert page.text.startswith("A model of left A model of left")
    assert "Accuracy 87.5 % 75.0 to 93.8 %" in page.text
    assert "The scores are those of 50 rows that were held out when it was fitted." in page.text
    for fact in ("people.csv", "rows held out 50", "2026-05-04T03:02:01", "time of the fit 2.5 s"):
        assert fact in page.text
    clf = table_model[-1]
    assert page.data["path"]["frames"] == list(range(1, len(clf.trace_) + 1))
    assert [panel["title"] for panel in page.data["path"]["panels"]] == ["training objective"]
    heads, rows = page.table("as the model takes it")
    treatment = {row[0]: row[heads.index("as the model takes it")] for row in rows}
    assert treatment["city"] == "one of Bern, Oslo and Rome"
    assert treatment["age"].startswith("a missing value becomes")
    heads, rows = page.table("what it looks at")
    assert [float(row[2].replace("\N{MINUS SIGN}", "-")) for row in rows] == pytest.approx(
        clf.coef_[0], rel=1e-3
    )


def test_a_file_without_its_path_gives_a_page_without_one(table_model: Any, tmp_path: Path) -> None:
    save_model(table_model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = read(write_report(tmp_path / "page.html", loaded, *mixed(60, 1)))
    assert "path" not in page.data
    assert "The model file does not hold the path" in page.text


def test_a_plane_without_its_path_has_the_final_boundary(
    model: Any, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = read(write_report(tmp_path / "page.html", loaded, *judged))
    assert "still-boundary" in [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert "path" not in page.data


def test_pictures_are_drawn_from_rows_whose_class_is_known(model: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(size=(9000, 2))
    y = np.full(9000, "perhaps")
    y[[17, 8999]] = "no"
    page = read(write_report(tmp_path / "page.html", model, X, y))
    assert "Drawn from 2 rows." in page.text


def test_shuffled_columns_lose_what_scikit_learn_says(model: Any, judged: tuple[Any, Any]) -> None:
    subject = find_subject(model)
    found = shuffled_losses(subject, judge(subject, *judged))
    assert found is not None
    X, y = judged
    expected = permutation_importance(model, X, y, n_repeats=40, random_state=0)
    np.testing.assert_allclose(found.mean, expected.importances_mean, atol=0.05)
    assert found.n_rows == len(y)


def test_columns_of_words_are_shuffled_as_a_whole(table_model: Any) -> None:
    subject = find_subject(table_model)
    judged = judge(subject, *mixed(150, 1))
    found = shuffled_losses(subject, judged)
    assert found is not None
    assert found.places == [0, 1, 2]
    assert found.mean[1] > 0.1
    one = dependences(subject, judged, found, 3)
    by_name = {subject.columns[d.place].name: d for d in one}
    assert by_name["city"].values == ["Bern", "Oslo", "Rome"]


def test_dependences_are_those_of_scikit_learn(model: Any, judged: tuple[Any, Any]) -> None:
    subject = find_subject(model)
    data = judge(subject, *judged)
    losses = shuffled_losses(subject, data)
    assert losses is not None
    for one in dependences(subject, data, losses, 2):
        expected = partial_dependence(
            model,
            judged[0],
            [one.place],
            method="brute",
            response_method="decision_function",
            custom_values={one.place: one.values},
        )
        np.testing.assert_allclose(one.means[:, 0], expected["average"][0])


def test_a_model_that_is_too_large_is_not_shuffled(
    model: Any, judged: tuple[Any, Any], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("fcgboost.report.effects._MOST_PRODUCTS", 1000)
    page = read(write_report(tmp_path / "page.html", model, *judged))
    assert "too large to shuffle its columns" in page.text
    assert "shuffled" not in [a.get("id") for tag, a in page.elements if tag == "figure"]


def test_sparse_centres_are_described_by_what_is_not_zero() -> None:
    rows = sparse.random(60, 40, 0.1, "csr", random_state=0)
    y = np.asarray(rows[:, :20].sum(axis=1)).ravel() > 1.0
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(rows, y)
    subject = find_subject(clf)
    texts = describe_atoms(subject, clf.model_.atoms)
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


def test_a_strange_note_in_a_model_file_does_no_harm(model: Any, tmp_path: Path) -> None:
    about = {
        "target": 3,
        "data": [1],
        "test": {"scores": {"accuracy": {"value": "x"}}},
        "seconds": {},
    }
    save_model(model, tmp_path / "model.json", about=about)
    page = read(write_report(tmp_path / "page.html", load_model(tmp_path / "model.json")))
    assert page.text.startswith("A fitted model")


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


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_and_data_has_a_page(name: str, tmp_path: Path) -> None:
    estimator, rows, y, part = KINDS[name]
    fitted = clone(estimator).fit(rows, y)
    page = read(write_report(tmp_path / "page.html", fitted, rows[part], y[part]))
    assert f"{count(len(y[part]), 'row')} with" in page.text
    assert ("path" in page.data) == (name != "no step")
    assert ("Brier score" in page.text) == (name != "hinge")
    if name == "search":
        curves = [curve["name"] for curve in page.data["path"]["panels"][0]["curves"]]
        assert curves == ["this data", "cross-validation"]
    if name == "scoring":
        titles = [panel["title"] for panel in page.data["path"]["panels"]]
        assert titles == ["error", "validation (roc_auc)", "training objective"]


# ---- errors


def test_what_can_not_be_reported_is_said_in_a_sentence(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = judged
    page = tmp_path / "page.html"
    page.write_text("before")
    with pytest.raises(ValueError, match="pass X and y, or neither"):
        write_report(page, model, X)
    with pytest.raises(ValueError, match="X has 250 rows, y has shape"):
        write_report(page, model, X, y[:-1])
    with pytest.raises(ValueError, match="No label in y is a class of the model"):
        write_report(page, model, X, np.arange(len(y)))
    with pytest.raises(TypeError, match="A model is a fitted classifier of fcgboost"):
        write_report(page, object())
    with pytest.raises(FileNotFoundError, match="The folder for the report"):
        write_report(tmp_path / "nowhere" / "page.html", model)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "before"


# ---- comparisons


def comparison() -> Comparison:
    rows = (
        Row(
            "a <b>rival</b>",
            {"accuracy": Score(0.9, 0.8, 0.95), "brier": Score(0.1, 0.05, np.inf)},
            12.0,
            "100 trees",
        ),
        Row(
            "fcgboost",
            {"accuracy": Score(0.85, 0.7, 0.9), "auc": Score(0.9, 0.8, 1.0)},
            0.1,
            "9 atoms",
        ),
        Row("too slow", {}, 0.0, "", "left out: would take too long"),
    )
    data = {"n_train": 750, "n_test": 250, "classes": {"no": 0.25, EVIL: 0.75}, "random_state": 0}
    return Comparison(data, rows)


def test_a_comparison_s_page_has_every_method(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "page.html", comparison(), title="Which?")
    page = read(path)
    assert page.text.startswith("Which? Which? 3 methods fitted to the same 750 rows")
    heads, rows = page.table("method")
    assert heads == ["method", "Accuracy", "Brier score", "AUC", "time of the fit", "size", "note"]
    assert rows[0][:2] == ["a <b>rival</b>", "90.0 %80.0 to 95.0 %"]
    assert rows[1] == [
        "fcgboost",
        "85.0 %70.0 to 90.0 %",
        "",
        "0.9000.800 to 1.000",
        "0.1 s",
        "9 atoms",
        "",
    ]
    assert rows[2] == ["too slow", *[""] * 5, "left out: would take too long"]
    ours = [a for tag, a in page.elements if tag == "tr" and a.get("class") == "ours"]
    assert len(ours) == 1
    assert page.table("share")[1][1] == [EVIL, "75.0 %"]
    assert path.stat().st_size < 100_000


def test_a_comparison_s_page_says_what_methods_were_given_and_leaves_the_baseline_untimed(
    tmp_path: Path,
) -> None:
    plain = comparison()
    baseline = Row(BASELINE, {"accuracy": Score(0.75, 0.7, 0.8)}, 1e-4, "2 shares")
    data = {**plain.data, "n_columns": 4, "n_features": 7, "n_threads": 1}
    page = read(write_comparison(tmp_path / "p.html", Comparison(data, (*plain.rows, baseline))))
    assert (
        "the same 7 columns of numbers, made from 4 columns of the data, and 1 thread." in page.text
    )
    assert "Fastest fit 0.1 s fcgboost" in " ".join(page.text.split())


def test_a_comparison_s_picture_has_every_finite_interval(tmp_path: Path) -> None:
    data = read(write_comparison(tmp_path / "page.html", comparison())).data["intervals"]
    assert [metric["name"] for metric in data["metrics"]] == ["accuracy", "auc"]
    assert [row["ours"] for row in data["rows"]] == [False, True, False]
    assert data["rows"][0]["scores"] == {"accuracy": [0.9, 0.8, 0.95]}


def test_a_comparison_of_failures_still_has_a_page(tmp_path: Path) -> None:
    failed = Comparison({}, (Row("fcgboost", {}, 0.0, "", "failed: no rows"),))
    page = read(write_comparison(tmp_path / "page.html", failed))
    assert page.data == {}
    assert page.table("note")[1] == [["fcgboost", "", "", "failed: no rows"]]


# ---- words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.123456, "0.1235"),
        (-12.5, "−12.5"),
        (1234567.0, "1,234,567"),
        (1.5e-7, "1.5e−7"),
        (2.5e12, "2.5e12"),
        (float("nan"), ""),
        (float("inf"), "∞"),
        (-0.0, "0"),
    ],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_times_counts_and_shares_have_their_units() -> None:
    thin = "\N{NARROW NO-BREAK SPACE}"
    times = [seconds(value).replace(thin, " ") for value in (2e-5, 0.02, 0.25, 40, 200, 7300)]
    assert times == ["20 µs", "20 ms", "0.25 s", "40 s", "3 min 20 s", "2 h 1 min"]
    assert [count(1, "row"), count(1000, "class"), count(2, "query")] == [
        *("1 row", "1,000 classes"),
        "2 queries",
    ]
    assert percent(0.125) == f"12.5{thin}%"
