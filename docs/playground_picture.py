"""Draw `docs/_static/playground.png` again: `python docs/playground_picture.py`.

Needs the packages marimo and playwright, and a Chromium on the PATH.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import sync_playwright

OUT = Path(__file__).parent / "_static" / "playground.png"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Open the playground and save what it shows."""
    browser_path = next(filter(None, map(shutil.which, NAMES)))
    command = ["fcgboost", "playground", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    addresses = (re.search(r"http://\S+", line) for line in server.stdout)
    address = next(match[0] for match in addresses if match)
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            page.locator("img").nth(1).wait_for()
            page.screenshot(path=OUT)
            browser.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
