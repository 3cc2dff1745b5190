"""Text of data is shown as text: it steers no terminal, and no spreadsheet if people ask."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fcgboost.cli import console
from fcgboost.rows.writing import without_formulas
from tests.suites.commands import GAUSS, run
from tests.suites.rows import put

RED, CLEAR = "\x1b[31m", "\x9b2J"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give rows whose names, levels and classes would steer a terminal, and a model of them."""
    folder = tmp_path_factory.mktemp(f"steering{RED}")
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    frame = pd.DataFrame(
        {
            f"a{RED}": a,
            "town": rng.choice(np.array([f"u{CLEAR}", "v", "w\u202e"]), 120),
            f"y{RED}": np.where(a > 0.0, f"yes{RED}", "=no"),
        }
    )
    frame.to_csv(folder / "rows.csv", index=False)
    command = ["fit", folder / "rows.csv", "--target", f"y{RED}", *GAUSS, "--set", "max_iter=3"]
    assert run(*command, "--out", folder / "m.json") == 0
    return folder


def is_harmless(text: str) -> bool:
    return all(part.isprintable() for part in text.split("\n"))


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "{}/m.json"],
        ["inspect", "{}/m.json", "--json"],
        ["evaluate", "{}/m.json", "{}/rows.csv"],
        ["predict", "{}/m.json", "{}/rows.csv", "--out", "{}/out.csv"],
        ["report", "{}/m.json", "{}/rows.csv", "--out", "{}/page.html"],
        ["report", "{}/m.json", "{}/rows.csv", "--out", "{}/page.html", "--json"],
        ["fit", "{}/rows.csv", "--target", "y\x1b[31m", "--out", "{}/new.json", *GAUSS],
        ["fit", "{}/rows.csv", "--target", "y"],
        ["fit", "{}/nowhere\x1b.csv", "--target", "y"],
        ["predict", "{}/m.json", "{}/rows.csv", "--keep", "\x1b"],
        ["inspect", "{}/nowhere.json"],
    ],
)
def test_no_name_reaches_the_terminal_as_more_than_text(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    run(*(word.format(folder) for word in command))
    captured = capsys.readouterr()
    assert captured.out + captured.err
    assert is_harmless(captured.out)
    assert is_harmless(captured.err)
    if "--json" in command:
        told = json.loads(captured.out)
        assert told.get("out", str(folder)).startswith(str(folder))
        assert told.get("classes", ["=no", f"yes{RED}"]) == ["=no", f"yes{RED}"]


class Screen(io.TextIOWrapper):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_predictions_are_escaped_for_people_and_exact_for_programs(
    folder: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["predict", folder / "m.json", folder / "rows.csv", "--keep", "town"]
    assert run(*command) == 0
    exact = capfdbinary.readouterr().out.decode()
    assert RED in exact
    assert CLEAR in exact
    screen = Screen(io.BytesIO(), encoding="utf-8", newline="")
    monkeypatch.setattr(sys, "stdout", screen)
    assert run(*command) == 0
    screen.flush()
    shown = screen.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert is_harmless(shown)
    assert shown == console.shown(exact)


def test_half_a_character_is_shown_as_an_escape(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("a\ud800\tb\nc\r")
    assert capsys.readouterr().out == "a\\ud800\tb\nc\\u000d\n"


def test_an_error_is_one_line_that_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path, "rows.svm", "1 1:" + "x\x0b" * 99_999 + "\n")
    assert run("fit", path) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"fcgboost: {path} cannot be used: ")
    assert error.count("\n") == 1
    assert len(error) < 2100


# Formulas

CELLS = {
    "=cmd|' /C calc'!A0": True,
    "+1+2": True,
    "-2+3": True,
    "@SUM(A1)": True,
    "\t=1": True,
    "\r=1": True,
    "\uff1d1": True,
    "-1.5": False,
    "+3": False,
    "-1,5e-3": False,
    "1=1": False,
    "a": False,
    "": False,
}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_only_cells_that_would_run_get_an_apostrophe(kind: Any) -> None:
    texts = pa.array([*CELLS, None], kind)
    table = pa.table({"=name": texts, "number": [-1.0] * len(texts)})
    found = without_formulas(table)
    assert found.column_names == ["'=name", "number"]
    assert found["number"].equals(table["number"])
    expected = [f"'{cell}" if runs else cell for cell, runs in CELLS.items()]
    assert found["'=name"].to_pylist() == [*expected, None]


def test_levels_of_categories_are_escaped() -> None:
    levels = pa.array(["=1", "b", "=1"]).dictionary_encode()
    assert without_formulas(pa.table({"a": levels}))["a"].to_pylist() == ["'=1", "b", "'=1"]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_predict_escapes_formulas_only_if_asked(folder: Path, tmp_path: Path, end: str) -> None:
    command = ["predict", folder / "m.json", folder / "rows.csv", "--keep", f"a{RED}"]
    plain, safe = tmp_path / f"plain.{end}", tmp_path / f"safe.{end}"
    assert run(*command, "--out", plain) == 0
    assert run(*command, "--out", safe, "--escape-formulas") == 0
    read = (
        pd.read_parquet if end == "parquet" else lambda p: pd.read_csv(p, sep=None, engine="python")
    )
    before, after = read(plain), read(safe)
    assert set(before["label"]) == {"=no", f"yes{RED}"}
    assert set(after["label"]) == {"'=no", f"yes{RED}"}
    pd.testing.assert_frame_equal(before.drop(columns="label"), after.drop(columns="label"))
