"""Commands on a table whose target is a quantity."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostRegressor, load_model
from tests.suites.commands import run, run_json

pytestmark = pytest.mark.xdist_group("cli-numbers")

FIT = ("--dictionary", "relu", "--set", "max_iter=5", "--set", "cv=3")


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write houses with prices in euros, of which one is missing."""
    rng = np.random.default_rng(0)
    area = rng.uniform(30.0, 200.0, 300)
    town = rng.choice(["x", "y"], 300)
    price = 2000.0 * area + 50_000.0 * (town == "y") + rng.normal(scale=5000.0, size=300)
    texts = [f"{value:,.0f} €" for value in price]
    texts[5] = ""
    path = tmp_path_factory.mktemp("houses") / "houses.csv"
    pd.DataFrame({"area": area, "town": town, "price": texts}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(houses: Path) -> Path:
    path = houses.parent / "model.json"
    test = houses.parent / "test.csv"
    command = ("fit", houses, "--target", "price", *FIT, "--out", path, "--test-out", test)
    assert run(*command) == 0
    return path


def test_fit_predicts_numbers_where_the_target_is_a_quantity(
    houses: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(load_model(model), FCGBoostRegressor)
    out = tmp_path / "model.json"
    assert run("fit", houses, "--target", "price", *FIT, "--out", out) == 0
    told = capsys.readouterr()
    assert "numbers are predicted. --task classification takes them as classes" in told.err
    assert told.err.count("Read as numbers with €, with a decimal point: price") == 1
    for words in ("R²", "root mean squared error", "Intervals of 90 % hold", "half of them"):
        assert words in told.out


def test_the_task_can_be_named(
    houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "grades.csv"
    frame = pd.read_csv(houses)[["area", "town"]]
    frame.assign(grade=(frame["area"] // 50).astype(int)).to_csv(table, index=False)
    command = ("fit", table, "--target", "grade", *FIT, "--out", tmp_path / "m.json")
    assert set(run_json(capsys, *command)["data"]["class_counts"]) == {"0", "1", "2", "3"}
    told = run_json(capsys, *command, "--task", "regression")
    assert told["data"]["quartiles"][0] == 0.0
    assert run("fit", table, "--target", "town", *FIT, "--task", "regression") == 3
    assert "holds text such as" in capsys.readouterr().err


def test_predictions_have_intervals(
    houses: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", model, houses, "--interval", "0.8", "--decision") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction,low,high,decision"
    table = np.array([line.split(",") for line in lines[1:]], dtype=float)
    assert (table[:, 1] < table[:, 0]).all()
    assert (table[:, 0] < table[:, 2]).all()
    frame = pd.read_csv(houses)[["area", "town"]]
    np.testing.assert_allclose(table[:, 0], load_model(model).predict(frame))


def test_classes_have_no_intervals(
    houses: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "towns.json"
    assert run("fit", houses, "--target", "town", *FIT, "--out", out) == 0
    assert run("predict", out, houses, "--interval", "0.8") == 3
    assert "--interval is for numbers" in capsys.readouterr().err


def test_evaluate_and_report_take_the_held_out_rows(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_json(capsys, "evaluate", model, model.parent / "test.csv")
    assert told["n_rows"] == 60
    assert told["scores"]["r2"]["value"] > 0.95
    stored = json.loads(model.read_text("utf-8"))
    assert stored["about"]["test"]["scores"]["r2"]["value"] == told["scores"]["r2"]["value"]
    page = tmp_path / "page.html"
    assert run("report", model, model.parent / "test.csv", "--out", page) == 0
    assert "residual" in page.read_text("utf-8")
