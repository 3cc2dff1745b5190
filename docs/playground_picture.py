"""Draw `docs/_static/playground.png` again: `python docs/playground_picture.py`.

Needs the package playwright and a Chromium on the PATH.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from fcgboost.web import Playground

OUT = Path(__file__).parent / "_static" / "playground.png"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Open the playground and save what it shows."""
    path = next(filter(None, map(shutil.which, NAMES)))
    with Playground() as playground, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 764})
        page.goto(playground.invite())
        page.wait_for_selector("body[data-redraws][data-busy=false]")
        page.screenshot(path=OUT)
        browser.close()


if __name__ == "__main__":
    main()
