"""Pages about models and comparisons are whole, safe and small."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from suites.pages import (
    EVIL,
    MEGABYTE,
    Reader,
    Show,
    grid_values,
    labelled,
    path_of,
    read,
)

from fcgboost import FCGBoostClassifier
from fcgboost.comparison import BASELINE, Comparison, Row
from fcgboost.plotting import path_error
from fcgboost.scores import Score
from fcgboost.web import write_comparison_report, write_model_report
from fcgboost.web.svg import inline
from fcgboost.web.text import count, fixed, number, percent, seconds


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
    shown = ["reliability", "margins", "permutation", "dependence-1", "dependence-2"]
    shown += ["contributions"]
    assert figures == [*shown, "still-path", "still-boundary"]


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
    assert 'fill="var(--surface)" stroke="currentColor"' in found
    assert 'aria-label="a &quot;summary&quot; &lt;"' in found
    assert "metadata" not in found
    assert "style=" not in found


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


def test_a_long_path_keeps_all_errors_and_the_boundaries_of_some_steps(
    show: Show, tmp_path: Path
) -> None:
    X, y = labelled(60, 0)
    clf = FCGBoostClassifier("gauss", scheme="shrinkage", max_iter=1200, random_state=0).fit(X, y)
    n = len(clf.trace_)
    assert n > 600
    page = show(clf, X, y)
    data = page.data["path"]
    frames = data["frames"]
    assert 150 < len(frames) < 250
    assert {1, clf._k0_, clf.n_iter_, n, data["best"]} <= set(frames)
    assert f"The curves have all {n:,} steps; the page holds the boundary after" in page.text
    assert (tmp_path / "page.html").stat().st_size < 2 * MEGABYTE
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


# ---- errors


def test_what_cannot_be_reported_is_said_in_a_sentence(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path: Path
) -> None:
    X, y = judged
    page = tmp_path / "page.html"
    page.write_text("before")
    with pytest.raises(ValueError, match="Pass both X and y, or neither"):
        write_model_report(page, model, X)
    with pytest.raises(ValueError, match="X has 250 rows, y has shape"):
        write_model_report(page, model, X, y[:-1])
    with pytest.raises(ValueError, match="No label in y is a class of the model"):
        write_model_report(page, model, X, np.arange(len(y)))
    with pytest.raises(TypeError, match="A model is a fitted classifier of fcgboost"):
        write_model_report(page, object())
    with pytest.raises(FileNotFoundError, match="The folder for the report"):
        write_model_report(tmp_path / "nowhere" / "page.html", model)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text() == "before"


# ---- comparisons


def test_a_number_that_is_shown_as_zero_has_no_sign() -> None:
    assert [fixed(-0.0004, 3), fixed(-0.0006, 3)] == ["0.000", "−0.001"]


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
    path = write_comparison_report(tmp_path / "page.html", comparison(), title="Which?")
    page = read(path)
    assert page.text.startswith("Which? Which? 3 methods, trained on the same 750 rows")
    heads, rows = page.table("method")
    assert heads == ["method", "Accuracy", "Brier score", "AUC", "fit time", "size", "note"]
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
    page = read(
        write_comparison_report(tmp_path / "p.html", Comparison(data, (*plain.rows, baseline)))
    )
    assert "Every method has 1 thread." in page.text
    assert "fcgboost reads the 4 columns of the table itself; all others get 7" in page.text
    assert "Fastest fit 0.1 s fcgboost" in " ".join(page.text.split())


def test_a_comparison_s_picture_has_every_finite_interval(tmp_path: Path) -> None:
    data = read(write_comparison_report(tmp_path / "page.html", comparison())).data["intervals"]
    assert [metric["name"] for metric in data["metrics"]] == ["accuracy", "auc"]
    assert [row["ours"] for row in data["rows"]] == [False, True, False]
    assert data["rows"][0]["scores"] == {"accuracy": [0.9, 0.8, 0.95]}


def test_a_comparison_of_failures_still_has_a_page(tmp_path: Path) -> None:
    failed = Comparison({}, (Row("fcgboost", {}, 0.0, "", "failed: no rows"),))
    page = read(write_comparison_report(tmp_path / "page.html", failed))
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
