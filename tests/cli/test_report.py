"""`fcgboost report`: a page about a model and the rows that it is scored on."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import load_model
from tests.suites.commands import read_exactly, run, run_json
from tests.suites.rows import write

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_a_page_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    command = ["report", folder / "m.json", folder / "test.csv", "--out", page]
    told = run_json(capsys, *command)
    assert told == {"out": str(page), "bytes": page.stat().st_size}
    assert "<title>A model of churned" in page.read_text(encoding="utf-8")


def test_the_page_lies_beside_the_model_and_shows_the_rows_of_the_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []

    def keep(out: Path, *rest: Any, row: int | None) -> Path:
        written.extend([*rest, row])
        out.write_text("a page")
        return out

    monkeypatch.setattr("fcgboost.report.write_model_report", keep)
    model = tmp_path / "m.json"
    model.write_bytes((folder / "m.json").read_bytes())
    assert run("report", model, folder / "test.csv", "--row", "3") == 0
    assert (tmp_path / "m.html").read_text() == "a page"
    loaded, X, y, row = written
    table = read_exactly(folder / "test.csv")
    expected = load_model(model).decision_function(table.drop(columns="churned"))
    np.testing.assert_array_equal(loaded.decision_function(X), expected)
    assert y.tolist() == table["churned"].tolist()
    assert row == 2
    # What was there is replaced.
    (tmp_path / "m.html").write_text("before")
    assert run("report", model, folder / "test.csv") == 0
    assert (tmp_path / "m.html").read_text() == "a page"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_report_gets_the_columns_that_the_model_leaves_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    table = read_exactly(folder / "test.csv")[:50]
    data = write(tmp_path / f"t.{suffix}", table)
    found = {}

    def keep(out: Path, model: object, X: pd.DataFrame, y: object, **rest: object) -> Path:
        found["X"] = X
        return data

    monkeypatch.setattr("fcgboost.report.write_model_report", keep)
    assert run("report", folder / "m.json", data, "--out", tmp_path / "r.html") == 0
    assert found["X"]["id"].tolist() == table["id"].tolist()
