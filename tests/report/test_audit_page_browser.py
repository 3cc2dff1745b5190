"""The page about an audit in a real browser, without a network."""

from collections.abc import Iterator

import pytest

from tests.report.test_audit_page import EVIL, flipped, quick
from tests.suites.browsers import OpenBrowser, browser, open_page

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def chromium() -> Iterator[OpenBrowser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> str:
    X, y, _ = flipped()
    notes = [f"{EVIL} and a very long note about row {i}" for i in range(len(y))]
    names = {"row": [*range(1, len(y) + 1)], "note": notes}
    page = tmp_path_factory.mktemp("audit") / "audit.html"
    return quick(X, y).report(page, title=EVIL, rows=names).as_uri()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_a_page_opens_alone_and_fits(
    chromium: OpenBrowser, audit: str, width: int, dark: bool
) -> None:
    page, errors = open_page(chromium, "about:blank", width=width, dark=dark)
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda one: asked.append(one.url))
    page.goto(audit)
    assert [one for one in asked if not one.startswith("data:")] == [audit]
    assert errors == []
    assert page.title() == EVIL
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(","))) < 150) is dark
    # What a row is suspected of is in view also on a phone.
    likely = page.locator("#suspects th", has_text="more likely").bounding_box()
    assert likely["x"] + likely["width"] <= width
    assert page.locator("#suspects td", has_text=EVIL).count() >= 1
    assert page.locator("#label-quality img").evaluate("(img) => img.naturalWidth") > 100
    page.context.close()


def test_the_keyboard_scrolls_and_sorts(chromium: OpenBrowser, audit: str) -> None:
    page, _ = open_page(chromium, audit, width=390)
    region = page.locator("#suspects [role=region]")
    region.focus()
    region.press("ArrowRight")
    page.wait_for_timeout(300)
    assert region.evaluate("(one) => one.scrollLeft") > 0
    head = page.locator("#suspects th", has_text="row").first
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    rows = page.locator("#suspects tbody th").all_inner_texts()
    assert [int(row) for row in rows] == sorted(map(int, rows), reverse=True)
    assert head.get_by_role("button").bounding_box()["height"] >= 30.0
    page.context.close()


def test_without_scripts_and_on_paper_everything_is_there(
    chromium: OpenBrowser, audit: str
) -> None:
    context = chromium.chromium.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(audit)
    page.emulate_media(media="print")
    assert page.locator("#suspects table").is_visible()
    assert page.locator("#label-quality img").is_visible()
    assert page.locator("nav").is_hidden()
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    context.close()
