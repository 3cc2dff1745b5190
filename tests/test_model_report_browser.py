"""The pages about models and comparisons in a real browser, without a network."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from suites.browsers import OpenBrowser, browser, open_page

from fcgboost import FCGBoostClassifier
from fcgboost.comparison import Comparison, Row
from fcgboost.datasets import make_simulation
from fcgboost.scores import Score
from fcgboost.tables import TableEncoder
from fcgboost.web import write_comparison_report, write_model_report

pytestmark = pytest.mark.extras

NAMES = np.array(["no", "yes"])
EVIL = "<script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[OpenBrowser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def model() -> FCGBoostClassifier:
    X, y = make_simulation(400, noise="uniform", level=0.1, random_state=0)
    clf = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0)
    return clf.fit(X, NAMES[(y > 0).astype(int)])


@pytest.fixture(scope="module")
def plane(model: FCGBoostClassifier, folder: Path) -> str:
    """Write a page with a boundary; give its address."""
    X, y = make_simulation(300, noise="uniform", level=0.1, random_state=1)
    return write_model_report(folder / "plane.html", model, X, NAMES[(y > 0).astype(int)]).as_uri()


@pytest.fixture(scope="module")
def table(folder: Path) -> str:
    """Write a page about a table with words and gaps, and names that would like to be markup."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 4)), columns=["a", "b", "c", f"d {EVIL}"])
    X["word"] = rng.choice(["x", "y", EVIL], 200)
    X.loc[::7, "b"] = np.nan
    y = np.where(X["a"] + X["c"] > 0.3 * rng.standard_normal(200), EVIL, "other")
    fitted = make_pipeline(TableEncoder(), FCGBoostClassifier("gauss", max_iter=9, random_state=0))
    fitted.fit(X, y)
    return write_model_report(folder / "table.html", fitted, X, y, title=EVIL).as_uri()


@pytest.fixture(scope="module")
def comparison(folder: Path) -> str:
    rows = [
        Row(
            name,
            {"accuracy": Score(a, a - 0.05, a + 0.04), "brier": Score(b, b - 0.02, b + 0.02)},
            t,
            f"{n} trees",
        )
        for name, a, b, t, n in (
            ("first", 0.9, 0.2, 3.0, 100),
            ("fcgboost", 0.88, 0.1, 0.2, 9),
            ("third", 0.85, 0.15, 20.0, 20),
        )
    ]
    data = {"n_train": 75, "n_test": 25, "classes": {"no": 0.5, "yes": 0.5}}
    return write_comparison_report(
        folder / "comparison.html", Comparison(data, tuple(rows))
    ).as_uri()


def names() -> list[str]:
    return ["plane", "table", "comparison"]


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_a_page_opens_alone_and_fits(
    name: str, width: int, dark: bool, chromium: OpenBrowser, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(name)
    page, errors = open_page(chromium, "about:blank", width=width, dark=dark)
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda one: asked.append(one.url))
    page.goto(url)
    assert page.locator("[data-explorer] .view").count() >= 1
    assert [one for one in asked if not one.startswith("data:")] == [url]
    assert errors == []
    assert page.title() != "broken"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(","))) < 150) is dark
    page.context.close()


def decision_on_grid(page: Any, model: FCGBoostClassifier, k: int) -> tuple[Any, Any]:
    """Give what the page draws, and what the model says there."""
    grid = page.evaluate(
        "JSON.parse(document.getElementById('page-data').textContent).path.boundary"
    )
    points = np.stack(np.meshgrid(grid["xs"], grid["ys"]), axis=-1).reshape(-1, 2)
    found = page.evaluate("window.fcgboost.decision()")
    return np.array(found), model.truncate(k).decision_function(points)


def shown_step(page: Any) -> int:
    return int(page.locator("#path output").inner_text().removeprefix("k = "))


def place_of(page: Any, k: int) -> tuple[float, float]:
    """Give a place on the screen where the curves are at step k."""
    frame = page.locator("#path svg.chart rect.frame").first.bounding_box()
    n = int(page.get_by_role("slider", name="number of steps k").get_attribute("max"))
    return frame["x"] + (k - 1) / n * frame["width"], frame["y"] + 40


def test_hovering_shows_the_boundary_of_that_step(
    chromium: OpenBrowser, plane: str, model: FCGBoostClassifier
) -> None:
    page, _ = open_page(chromium, plane)
    page.locator("#path").scroll_into_view_if_needed()
    assert shown_step(page) == model.n_iter_
    for k in (2, 9, len(model.trace_) - 3):
        place = place_of(page, k)
        page.mouse.move(*place)
        assert shown_step(page) == k
        assert page.locator("#path output").inner_text() == f"k = {k}"
        found, expected = decision_on_grid(page, model, k)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert_colours_follow(page, expected)
        error = page.locator("#path .legend li", has_text="validation").inner_text()
        assert f"{100 * (1 - model.trace_[k - 1].validation_score):.1f}" in error
    page.context.close()


#: Gives the colour of the canvas at every point of the grid.
PIXELS = """() => {
  const { xs, ys } = JSON.parse(document.getElementById("page-data").textContent).path.boundary;
  const canvas = document.querySelector("#path canvas");
  const ratio = canvas.width / canvas.clientWidth;
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colors = [];
  for (let j = 0; j < ys.length; j += 1) {
    for (let i = 0; i < xs.length; i += 1) {
      const x = 50 + (i / (xs.length - 1)) * (w - 58);
      const y = h - 40 - (j / (ys.length - 1)) * (h - 48);
      const at = 4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio));
      colors.push(Array.from(image.data.slice(at, at + 3)));
    }
  }
  return colors;
}"""


def assert_colours_follow(page: Any, decision: Any) -> None:
    """Where the model is rather sure, the plane has the colour of the class it says."""
    red, _, blue = np.array(page.evaluate(PIXELS)).T
    sure = np.abs(decision) > 0.3
    assert sure.sum() > 100
    # Points and lines cover a part of the plane.
    assert np.mean((blue > red)[sure] == (decision > 0.0)[sure]) > 0.9


def test_the_keyboard_and_the_buttons_move_k(
    chromium: OpenBrowser, plane: str, model: FCGBoostClassifier
) -> None:
    page, _ = open_page(chromium, plane)
    slider = page.get_by_role("slider", name="number of steps k")
    slider.focus()
    slider.press("Home")
    assert shown_step(page) == 1
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert shown_step(page) == 3
    assert slider.get_attribute("aria-valuetext") == "k = 3"
    page.get_by_role("button", name="k₀").click()
    assert shown_step(page) == model._k0_
    page.get_by_role("button", name="chosen").press("Enter")
    assert shown_step(page) == model.n_iter_
    found, expected = decision_on_grid(page, model, model.n_iter_)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    page.context.close()


def test_a_finger_moves_k(chromium: OpenBrowser, plane: str) -> None:
    size = {"width": 390, "height": 844}
    context = chromium.chromium.new_context(viewport=size, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(plane)
    page.locator("#path svg.chart").first.scroll_into_view_if_needed()
    place = place_of(page, 6)
    page.touchscreen.tap(*place)
    assert shown_step(page) == 6
    context.close()


def test_a_point_of_the_plane_can_be_read(chromium: OpenBrowser, plane: str) -> None:
    page, _ = open_page(chromium, plane)
    page.locator("#path canvas").hover()
    text = page.locator("#path .reading").inner_text()
    assert text.startswith("feature 1 0.")
    assert text.endswith(("class no", "class yes"))
    page.context.close()


def matrix_of(page: Any) -> Any:
    """Give the confusion matrix that is shown, the chosen class first."""
    cells = page.locator("#performance .matrix td").all_inner_texts()
    return np.array([int(text.replace(",", "")) for text in cells]).reshape(2, 2)


def rates_of(page: Any) -> dict[str, str]:
    facts = page.locator("#performance .facts div").all()
    return {one.locator("dt").inner_text(): one.locator("dd").inner_text() for one in facts}


def test_the_matrix_precision_and_recall_follow_the_threshold(
    chromium: OpenBrowser, plane: str, model: FCGBoostClassifier
) -> None:
    page, _ = open_page(chromium, plane)
    X, y = make_simulation(300, noise="uniform", level=0.1, random_state=1)
    is_yes, p = y > 0, model.predict_proba(X)[:, 1]
    slider = page.get_by_role("slider", name="threshold")

    def check(said: Any) -> None:
        (tp, fn), (fp, tn) = matrix_of(page)
        expected = [np.sum(said & is_yes), np.sum(~said & is_yes)]
        assert [tp, fn, fp, tn] == [*expected, np.sum(said & ~is_yes), np.sum(~said & ~is_yes)]
        assert rates_of(page)["recall"] == f"{100 * tp / (tp + fn):.1f}\u202f%"
        assert rates_of(page)["precision"] == f"{100 * tp / (tp + fp):.1f}\u202f%"

    check(model.predict(X) == "yes")
    slider.focus()
    for key in ("PageUp", "PageDown", "ArrowLeft", "Home"):
        before = page.locator("#performance circle.dot").first.bounding_box()
        slider.press(key)
        threshold = float(slider.get_attribute("aria-valuetext"))
        check(np.round(p, 3) >= threshold)
        assert page.locator("#performance circle.dot").first.bounding_box() != before
    page.get_by_role("button", name="default threshold").click()
    check(model.predict(X) == "yes")
    box = page.locator("#performance svg.chart").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 30, box["y"] + 40)
    assert float(rates_of(page)["recall"].removesuffix("\u202f%")) > 95.0
    page.select_option("#positive-class", "0")
    assert matrix_of(page)[0].sum() == np.sum(~is_yes)
    page.context.close()


def test_long_names_of_many_classes_are_not_cut(chromium: OpenBrowser, folder: Path) -> None:
    X, codes = make_classification(
        600, 8, n_informative=6, n_classes=10, n_clusters_per_class=1, random_state=0
    )
    names = np.array([f"Households and businesses of the northern county {i}" for i in range(10)])
    clf = FCGBoostClassifier("gauss", max_iter=10, random_state=0).fit(X, names[codes])
    page_ = write_model_report(folder / "ten.html", clf, X, names[codes])
    for width in (1280, 390):
        page, _ = open_page(chromium, page_.as_uri(), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 1280:
            hidden = "[...document.querySelectorAll('.scroll')].filter((one) => one.clientWidth)"
            cut = f"{hidden}.filter((one) => one.scrollWidth > one.clientWidth).length"
            page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = 1))")
            assert page.evaluate(cut) == 0
        page.context.close()


def column(page: Any, section: str, place: int) -> list[str]:
    cells = page.locator(f"#{section} table").last.locator(f"tbody tr > :nth-child({place})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_tables_sort_by_click_and_key(chromium: OpenBrowser, table: str) -> None:
    page, _ = open_page(chromium, table)
    page.locator("#data summary").click()
    before = column(page, "data", 1)
    # Heads of columns sort, names of rows do not.
    assert page.locator("thead th button").count() > 0
    assert page.locator("tbody th button").count() == 0
    head = page.locator("#data table").last.locator("th", has_text="median")
    place = 1 + head.evaluate("(cell) => cell.cellIndex")
    button = head.get_by_role("button")
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    found = column(page, "data", place)
    # A column of words has no median: it stays below, whichever way the others are sorted.
    values = [float(text.replace("\N{MINUS SIGN}", "-")) for text in found[:-1]]
    assert values == sorted(values, reverse=True)
    assert found[-1] == ""
    button.focus()
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "data", place) == [*found[-2::-1], ""]
    button.press("Space")
    assert head.get_attribute("aria-sort") is None
    assert column(page, "data", 1) == before
    name = page.locator("#data table").last.locator("th", has_text="column")
    name.get_by_role("button").click()
    assert name.get_attribute("aria-sort") == "ascending"
    assert column(page, "data", 1) == sorted(before)
    page.context.close()


def test_what_is_typed_as_a_name_is_shown_as_text(chromium: OpenBrowser, table: str) -> None:
    page, _ = open_page(chromium, table)
    assert page.title() == EVIL
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("#mistakes td", has_text=EVIL).count() >= 1
    assert page.locator("script").count() == 2
    page.context.close()


def test_a_comparison_sorts_its_methods_by_the_chosen_score(
    chromium: OpenBrowser, comparison: str
) -> None:
    page, _ = open_page(chromium, comparison)
    methods = page.locator("#scores text.method")
    assert methods.all_text_contents() == ["first", "fcgboost", "third"]
    page.get_by_role("button", name="Brier score").first.click()
    assert page.locator("#scores button[aria-pressed=true]").inner_text() == "Brier score"
    assert methods.all_text_contents() == ["fcgboost", "third", "first"]
    assert page.locator("#scores text.ours").text_content() == "fcgboost"
    page.context.close()


def test_paper_is_white_also_in_dark_mode(chromium: OpenBrowser, plane: str, folder: Path) -> None:
    page, _ = open_page(chromium, plane, dark=True)
    page.emulate_media(media="print")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
    corner = "document.querySelector('#path canvas').getContext('2d').getImageData(1, 1, 1, 1).data"
    page.wait_for_function(f"{corner}[0] === 255")
    assert page.locator("nav").is_hidden()
    page.pdf(path=folder / "page.pdf", format="A4", print_background=True)
    assert (folder / "page.pdf").read_bytes().startswith(b"%PDF")
    page.context.close()


def printed(page: Any, folder: Path) -> list[str]:
    """Print a page; give the text of every sheet."""
    program = shutil.which("pdftotext")
    if program is None:
        pytest.skip("needs the program pdftotext")
    page.pdf(path=folder / "printed.pdf", format="A4")
    found = subprocess.run(
        [program, "-layout", folder / "printed.pdf", "-"], capture_output=True, check=True
    )
    return found.stdout.decode().split("\f")[:-1]


def test_paper_keeps_headings_legends_and_folded_tables(
    chromium: OpenBrowser, folder: Path
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0.3 * rng.standard_normal(300), "north", "south")
    clf = FCGBoostClassifier("relu", max_iter=90, random_state=0).fit(X, y)
    page, _ = open_page(chromium, write_model_report(folder / "long.html", clf, X, y).as_uri())
    sheets = printed(page, folder)
    heading = re.compile(r"atom\s+step\s+coefficient\s+description")
    assert sum(bool(heading.search(sheet)) for sheet in sheets) >= 2
    whole = "\n".join(sheets)
    assert re.search(r"parameter\s+value\s+default", whole)
    assert f"k = {clf.n_iter_}" in whole
    assert re.search(r"\bnorth\s+south\b", whole)
    assert "Written by fcgboost" in sheets[-1]
    assert len(sheets[-1].split("\n")) > 3
    # What was folded is folded again.
    assert page.locator("details[open]").count() == 0
    page.context.close()


def test_paper_names_the_score_of_a_comparison(
    chromium: OpenBrowser, comparison: str, folder: Path
) -> None:
    page, _ = open_page(chromium, comparison)
    page.get_by_role("button", name="Brier score").first.click()
    # Once in the picture, beside the card and the table.
    assert page.locator("#scores svg text.strong").text_content() == "Brier score"
    assert "smaller is better" in printed(page, folder)[0]
    page.context.close()


def test_letters_on_paper_and_on_a_phone_are_large_enough(
    chromium: OpenBrowser, plane: str
) -> None:
    """Paths have no size of letters: the drawings' width and matplotlib's 10 points give it."""
    page, _ = open_page(chromium, plane, width=703)
    page.emulate_media(media="print")
    scale = "(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width"
    for picture in page.locator(".gallery .drawing > svg").all():
        # A pixel of CSS is three quarters of a point.
        assert 10.0 * picture.evaluate(scale) * 0.75 >= 7.0
    page.context.close()
    page, _ = open_page(chromium, plane, width=390)
    for picture in page.locator(".gallery .drawing > svg").all():
        assert 10.0 * picture.evaluate(scale) >= 9.0
    for button in page.locator("#mistakes th button, .tools button").all():
        assert button.bounding_box()["height"] >= 30.0
    page.context.close()


def test_the_plane_is_read_by_keys_and_by_a_finger(chromium: OpenBrowser, plane: str) -> None:
    page, _ = open_page(chromium, plane)
    reading, canvas = page.locator("#path .reading"), page.locator("#path canvas")
    canvas.focus()
    canvas.press("ArrowRight")
    first = reading.inner_text()
    assert first.endswith(("class no", "class yes"))
    canvas.press("ArrowUp")
    assert reading.inner_text() != first
    page.context.close()
    size = {"width": 390, "height": 844}
    context = chromium.chromium.new_context(viewport=size, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(plane)
    page.locator("#path canvas").scroll_into_view_if_needed()
    page.locator("#path canvas").tap()
    assert page.locator("#path .reading").inner_text().startswith("feature 1 0.")
    context.close()


def test_classes_have_shapes_and_atoms_their_coefficients(
    chromium: OpenBrowser, plane: str, model: FCGBoostClassifier
) -> None:
    page, _ = open_page(chromium, plane)
    keys = page.locator("#path .keys li")
    assert keys.all_inner_texts() == ["no", "yes"]
    shapes = [one.get_attribute("d") for one in keys.locator("path").all()]
    assert len(set(shapes)) == 2
    assert page.locator("label:not(:has(input, select))").count() == 0
    found = page.evaluate("window.fcgboost.coefficients()")
    np.testing.assert_allclose(found, model.atom_coef_[0], rtol=1e-6)
    page.locator("#path input[type=checkbox]").check()
    page.context.close()


def test_a_step_without_a_frame_shows_the_nearest_one(chromium: OpenBrowser, folder: Path) -> None:
    X, y = make_simulation(60, noise="uniform", level=0.1, random_state=0)
    clf = FCGBoostClassifier("gauss", scheme="shrinkage", max_iter=1200, random_state=0).fit(X, y)
    page, _ = open_page(chromium, write_model_report(folder / "thin.html", clf, X, y).as_uri())
    data = "JSON.parse(document.getElementById('page-data').textContent).path.frames"
    frames = page.evaluate(data)
    k = next(k for k in range(len(clf.trace_), 0, -1) if k not in frames)
    page.get_by_role("slider", name="number of steps k").fill(str(k - 1))
    assert shown_step(page) == k
    shown = min(frames, key=lambda frame: abs(frame - k))
    assert f"Boundary after {shown} steps" in page.locator("#path .reading").inner_text()
    found, expected = decision_on_grid(page, clf, shown)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    page.context.close()


def test_without_scripts_tables_and_pictures_are_there(chromium: OpenBrowser, plane: str) -> None:
    context = chromium.chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(plane)
    assert page.locator("#still-path svg").is_visible()
    assert page.locator("#still-boundary img").is_visible()
    assert page.locator("#performance table").first.is_visible()
    assert page.locator("#columns svg[role=img]").count() == 3
    context.close()


def test_drawings_follow_the_colour_of_the_text(chromium: OpenBrowser, plane: str) -> None:
    """Style attributes would be ignored: the page's policy allows none."""
    page, _ = open_page(chromium, plane, dark=True)
    color = "getComputedStyle(document.querySelector('#margins svg')).fill"
    assert page.evaluate(color) == page.evaluate("getComputedStyle(document.body).color")
    page.context.close()
