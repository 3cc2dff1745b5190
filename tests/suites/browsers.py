"""A headless Chromium for tests that look at pages as a reader would.

    with browser() as chromium:
        page, errors = open_page(chromium, url, width=390, dark=True)

Whatever a page writes to its console as an error, and every script that fails, is in `errors`, and
fails the test when the browser closes. A test that means an error clears the list.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

NAMES = ("chromium", "chromium-browser", "google-chrome")
# A browser that runs as root has no sandbox, and one for tests has no business on the network.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# Milliseconds that anything may take on a busy machine.
PATIENCE = 120_000


@dataclass
class OpenBrowser:
    """A running browser and the errors of every page that it has opened."""

    chromium: Browser
    errors: list[list[str]] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[OpenBrowser]:
    """Start a browser; skip the test where there is none; fail if any page had an error."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs a browser: one of {', '.join(NAMES)} on the PATH")
    with driver.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        opened = OpenBrowser(chromium)
        try:
            yield opened
        finally:
            chromium.close()
    assert not any(opened.errors), [errors for errors in opened.errors if errors]


def open_page(
    browser: OpenBrowser,
    url: str,
    *,
    width: int = 1280,
    height: int = 900,
    dark: bool = False,
    on_request: Callable[[str], None] | None = None,
) -> tuple[Page, list[str]]:
    """Open a page in a profile of its own; give it and the list its errors are added to.

    `on_request` is told the address of everything that the page asks for.
    """
    context = browser.chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    page, errors = context.new_page(), list[str]()
    browser.errors.append(errors)
    page.on("pageerror", lambda error: errors.append(f"script: {error}"))
    page.on("requestfailed", lambda request: errors.extend(failures(request)))
    page.on("console", lambda message: errors.extend(complaints(message)))
    if on_request is not None:
        page.on("request", lambda request: on_request(request.url))
    page.goto(url)
    return page, errors


def failures(request: Request) -> list[str]:
    """Name a request that failed, unless the page itself gave it up."""
    reason = str(request.failure)
    return [] if "ERR_ABORTED" in reason else [f"not loaded: {request.url}: {reason}"]


def complaints(message: ConsoleMessage) -> list[str]:
    """Give the text of a line in the console that is an error."""
    return [message.text] if message.type == "error" else []
