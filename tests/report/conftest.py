"""Models, data and pages for all tests of pages about models; they are shared, to be read only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fcgboost import FCGBoostClassifier
from fcgboost.report import write_model_report
from tests.suites.pages import Reader, Show, labelled, mixed, read


@pytest.fixture(scope="session")
def model() -> FCGBoostClassifier:
    clf = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0)
    return clf.fit(*labelled(300, 0))


@pytest.fixture(scope="session")
def judged() -> tuple[Any, Any]:
    return labelled(250, 1)


@pytest.fixture(scope="session")
def table_model() -> FCGBoostClassifier:
    return FCGBoostClassifier("relu", max_iter=12, random_state=0).fit(*mixed(200, 0))


@pytest.fixture(scope="session")
def written(
    model: FCGBoostClassifier, judged: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return write_model_report(tmp_path_factory.mktemp("page") / "report.html", model, *judged)


@pytest.fixture(scope="session")
def page(written: Path) -> Reader:
    return read(written)


@contextmanager
def axes(*_: Any) -> Iterator[Axes]:
    yield Figure().subplots()


def image(*_: Any) -> str:
    return "data:,"


@pytest.fixture(params=["sketched", pytest.param("drawn", marks=pytest.mark.slow)])
def show(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Write a page and read it; where it is only sketched, its pictures are plotted and not saved.

    Saving ten figures takes most of the time of a page, and nothing of what it says.
    """
    if request.param == "sketched":
        for name, sketch in {"drawing": axes, "image_of": image}.items():
            monkeypatch.setattr(f"fcgboost.report.pictures.{name}", sketch)
    page = tmp_path / "page.html"
    return lambda *about, **options: read(write_model_report(page, *about, **options))
