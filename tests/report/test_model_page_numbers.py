"""Pages about regressors."""

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostRegressor
from fcgboost.report import write_model_report
from tests.suites.pages import Reader


def make_houses(m: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return houses and their prices, of which one is far off."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"area": rng.uniform(30.0, 200.0, m), "town": rng.choice(["x", "y"], m)})
    y = 2000.0 * X["area"].to_numpy() + 50_000.0 * (X["town"] == "y")
    y = y.to_numpy() + rng.normal(scale=5000.0, size=m)
    y[7] += 1e6
    return X, y


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    X, y = make_houses(200, 0)
    reg = FCGBoostRegressor("relu", max_iter=5, cv=3, random_state=0, n_jobs=1).fit(X, y)
    path = tmp_path_factory.mktemp("page") / "page.html"
    return Reader(write_model_report(path, reg, *make_houses(150, 1)).read_text("utf-8"))


def test_residuals_and_intervals_take_the_place_of_confusion_and_thresholds(page: Reader) -> None:
    figures = [attributes["id"] for tag, attributes in page.elements if tag == "figure"]
    shown = ["actual_vs_predicted", "residual_vs_predicted", "intervals", "influence"]
    assert figures == [*shown, "dependence-1", "dependence-2", "contributions"]
    assert "thresholds" not in page.text
    assert "Confusion" not in page.text


def test_the_row_that_is_far_off_comes_first(page: Reader) -> None:
    _, rows = page.table("residual")
    assert rows[0][0] == "8"
    assert len(rows) == 20


def test_the_baseline_is_the_mean(page: Reader) -> None:
    _, y = make_houses(150, 1)
    assert f"always predicting {y.mean():,.0f}, the mean" in page.text
