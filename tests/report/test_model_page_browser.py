"""The pages about models in a real browser, without a network."""

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

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.report import write_model_report
from tests.suites.browsers import OpenBrowser, browser, open_page

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
    fitted = FCGBoostClassifier("gauss", max_iter=9, random_state=0).fit(X, y)
    return write_model_report(folder / "table.html", fitted, X, y, title=EVIL).as_uri()


def names() -> list[str]:
    return ["plane", "table"]


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


def shown_step(page: Any) -> int:
    return int(page.locator("#path output").inner_text().removeprefix("k = "))


def place_of(page: Any, k: int) -> tuple[float, float]:
    """Give a place on the screen where the curves are at step k."""
    frame = page.locator("#path svg.chart rect.frame").first.bounding_box()
    n = int(page.get_by_role("slider", name="number of steps k").get_attribute("max"))
    return frame["x"] + (k - 1) / n * frame["width"], frame["y"] + 40


def test_hovering_shows_the_scores_after_that_step(
    chromium: OpenBrowser, plane: str, model: FCGBoostClassifier
) -> None:
    page, _ = open_page(chromium, plane)
    page.locator("#path").scroll_into_view_if_needed()
    assert shown_step(page) == model.n_iter_
    for k in (2, 9, len(model.trace_) - 3):
        page.mouse.move(*place_of(page, k))
        assert shown_step(page) == k
        error = page.locator("#path .legend li", has_text="validation").inner_text()
        assert f"{100 * (1 - model.trace_[k - 1].validation_score):.1f}" in error
    page.context.close()


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
    head = page.locator("#data table").last.locator("th", has_text="influence")
    place = 1 + head.evaluate("(cell) => cell.cellIndex")
    button = head.get_by_role("button")
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    found = column(page, "data", place)
    values = [float(text.split()[0]) for text in found]
    assert values == sorted(values, reverse=True)
    button.focus()
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "data", place) == found[::-1]
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


def test_paper_is_white_also_in_dark_mode(chromium: OpenBrowser, plane: str, folder: Path) -> None:
    page, _ = open_page(chromium, plane, dark=True)
    page.emulate_media(media="print")
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
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
    assert "Written by fcgboost" in sheets[-1]
    assert len(sheets[-1].split("\n")) > 3
    # What was folded is folded again.
    assert page.locator("details[open]").count() == 0
    page.context.close()


def test_letters_on_paper_and_on_a_phone_are_large_enough(
    chromium: OpenBrowser, plane: str
) -> None:
    """Paths have no size of letters: the drawings' width and matplotlib's 10 points give it."""
    page, _ = open_page(chromium, plane, width=703)
    page.emulate_media(media="print")
    # A pixel of a drawing is three quarters of a point, as one of CSS is.
    scale = "(img) => (img.clientWidth - 2 * 0.4 * 16) / img.naturalWidth"
    drawings = ".gallery img[src^='data:image/svg']"
    assert page.locator(drawings).count() >= 4
    for picture in page.locator(drawings).all():
        assert 10.0 * picture.evaluate(scale) >= 7.0
    page.context.close()
    page, _ = open_page(chromium, plane, width=390)
    for picture in page.locator(drawings).all():
        assert 10.0 / 0.75 * picture.evaluate(scale) >= 9.0
    for button in page.locator("#mistakes th button, .tools button").all():
        assert button.bounding_box()["height"] >= 30.0
    page.context.close()


def test_without_scripts_tables_and_pictures_are_there(chromium: OpenBrowser, plane: str) -> None:
    context = chromium.chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(plane)
    assert page.locator("#path-curves img").is_visible()
    assert page.locator("#boundary img").is_visible()
    assert page.locator("#performance table").first.is_visible()
    assert page.locator("#columns figure img").count() == 3
    context.close()


def test_drawings_stand_on_white_in_dark_mode(chromium: OpenBrowser, plane: str) -> None:
    page, _ = open_page(chromium, plane, dark=True)
    pictures = page.locator("figure img")
    assert pictures.count() >= 5
    for picture in pictures.all():
        assert picture.evaluate("(img) => img.complete && img.naturalWidth") > 100
        back = picture.evaluate("(img) => getComputedStyle(img).backgroundColor")
        assert back == "rgb(255, 255, 255)"
    page.context.close()
