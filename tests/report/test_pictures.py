"""Which pictures a page has."""

import base64
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.io import load_model, save_model
from fcgboost.plotting import DecisionBoundaryDisplay
from fcgboost.report import write_model_report
from tests.suites.pages import Show, mixed, pictures, read


def drawn_titles(path: Path) -> set[str]:
    """Give the names of a page's figures, all of whose images are whole and show something."""
    page = read(path)
    for picture in pictures(page):
        kind, _, data = picture["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        image = ElementTree.fromstring(base64.b64decode(data))
        assert len(list(image.iter("{http://www.w3.org/2000/svg}path"))) > 10
    names = {str(a.get("id")) for tag, a in page.elements if tag == "figure"}
    assert len(pictures(page)) == len(names)
    return names


OF_EVERY_PAGE = {"influence", "reliability", "margins", "contributions", "path-curves"}


def test_a_page_about_two_classes_of_numbers_has_its_real_pictures(written: Path) -> None:
    dependences = {"dependence-1", "dependence-2"}
    assert drawn_titles(written) == OF_EVERY_PAGE | dependences | {"boundary"}


def test_a_page_about_a_table_of_several_classes_has_its_real_pictures(tmp_path: Path) -> None:
    table, y = mixed(200, 0)
    y = np.where(table["age"] > 60, "old", y)
    clf = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(table, y)
    page = write_model_report(tmp_path / "page.html", clf, table, y)
    dependences = {f"dependence-{i}" for i in (1, 2, 3)}
    assert drawn_titles(page) == OF_EVERY_PAGE | dependences


def test_a_plane_without_its_path_has_the_final_boundary(
    model: Any, judged: tuple[Any, Any], show: Show, tmp_path: Path
) -> None:
    save_model(model, tmp_path / "model.json", trace=False)
    loaded = load_model(tmp_path / "model.json")
    page = show(loaded, *judged)
    assert "boundary" in [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert "path" not in page.data


def test_pictures_are_drawn_from_rows_whose_class_is_known(model: Any, show: Show) -> None:
    X = np.random.default_rng(0).uniform(size=(9000, 2))
    y = np.full(9000, "perhaps")
    y[[17, 8999]] = "no"
    page = show(model, X, y)
    assert "Drawn from 2 rows." in page.text


def drawn_boundary(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the list to which every boundary is added that a page draws."""
    drawn: list[Any] = []
    draw = DecisionBoundaryDisplay.from_estimator

    def keep(*about: Any, **options: Any) -> Any:
        drawn.append(draw(*about, **options))
        return drawn[-1]

    monkeypatch.setattr(DecisionBoundaryDisplay, "from_estimator", keep)
    return drawn


def test_the_boundary_of_a_table_is_that_of_its_two_numbers(
    monkeypatch: pytest.MonkeyPatch, show: Show
) -> None:
    table, y = mixed(150, 0)
    table = table[["age", "since"]].assign(id=[f"p{i}" for i in range(150)])
    clf = FCGBoostClassifier(max_iter=6, random_state=0).fit(table, y)
    drawn = drawn_boundary(monkeypatch)
    show(clf, table, y)
    (display,) = drawn
    surface = display.surface
    assert (surface.xlabel, surface.ylabel) == ("age", "since")
    points = pd.DataFrame({"age": surface.xx0.ravel(), "since": surface.xx1.ravel(), "id": None})
    np.testing.assert_allclose(surface.response.ravel(), clf.decision_function(points))
    # Rows with a gap have no place in the plane.
    assert len(display.points) == table["age"].notna().sum()


def test_other_columns_have_no_boundary(
    table_model: Any, monkeypatch: pytest.MonkeyPatch, show: Show
) -> None:
    drawn = drawn_boundary(monkeypatch)
    show(table_model, *mixed(80, 1))
    assert drawn == []
