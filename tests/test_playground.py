"""The playground: its data, its cells as a plain script, and the app in a browser."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.suites.apps import served
from tests.suites.browsers import browser, open_page

pytest.importorskip("marimo", reason="needs the package marimo")

from fcgboost import playground

APP = Path(playground.__file__)


def test_the_app_runs_as_a_plain_script() -> None:
    done = subprocess.run([sys.executable, APP], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_app_opens_with_a_model_that_overcomes_the_noise() -> None:
    _, found = playground.app.run()
    sample, classifier = found["sample"], found["classifier"]
    assert classifier.dictionary == "fast"
    assert 0.2 < sample.is_flipped.mean() < 0.4
    assert found["errors"]["test"][found["k"] - 1] < 0.05
    assert len(found["figure"].axes) == 2


@pytest.mark.parametrize("name", playground.DATA.values())
def test_a_share_of_the_training_labels_is_wrong(name: str) -> None:
    clean, noisy = (playground.draw_sample(name, 400, level, 1) for level in (0.0, 0.4))
    assert not clean.is_flipped.any()
    assert abs(noisy.is_flipped.mean() - 0.4) < 0.12
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_array_equal(clean.y != noisy.y, noisy.is_flipped)
    np.testing.assert_array_equal(clean.y_test, noisy.y_test)
    assert set(noisy.y) == set(clean.y_test)


@pytest.mark.extras
def test_the_app_follows_its_controls_and_loads_nothing_from_elsewhere() -> None:
    with served() as address, browser() as opened:
        requested: list[str] = []
        page, _ = open_page(opened, address, on_request=requested.append)
        page.get_by_text("3.2%").wait_for()
        page.locator("img").first.wait_for()
        page.get_by_label("Atoms").select_option("Gauss")
        page.get_by_text("after 45 steps").wait_for()
        page.get_by_label("Data").select_option("Two rings")
        page.get_by_text("3.2%").wait_for(state="detached")
        page.locator("img").first.wait_for()
        host = re.match(r"http://[^/?]+", address)
        assert host is not None
        assert requested
        assert {re.split(r"[/?]", one, maxsplit=3)[2] for one in requested} == {host[0][7:]}
