"""What commands show while they work, and when a fit ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from suites.commands import GAUSS, run

from fcgboost import load_model
from fcgboost.cli import console
from fcgboost.scores import Score

# The session's fixture fits once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_tables_are_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "value"), [("a", "1.5"), ("long name", "10")])
    assert capsys.readouterr().out == "name       value\na            1.5\nlong name     10\n"


def test_scores_without_end_are_null_in_json() -> None:
    data = console.as_data({"log_loss": Score(0.5, 0.0, float("inf"))})
    assert data == {"log_loss": {"value": 0.5, "low": 0.0, "high": None}}


def test_a_terminal_shows_a_bar_and_a_pipe_ten_lines(folder: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="pseudo-terminals exist on Unix only")
    script = "from fcgboost.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", script, "fit", str(folder / "train.csv"), *GAUSS]
    command += ["--target", "churned", "--out", str(tmp_path / "m.json")]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 5 <= piped.stderr.count("Fitting: step") <= 20
    assert "\x1b" not in piped.stderr + piped.stdout
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"Fitting" in shown
    assert b"\x1b" in shown


def test_a_time_limit_ends_a_fit_with_the_steps_it_has(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", folder / "train.csv", "--target", "churned", "--out", tmp_path / "m.json"]
    assert run(*command, "--time-limit", "1e-9") == 0
    assert "time limit of 1e-09 s ended the fit after 1 of" in capsys.readouterr().err
    assert load_model(tmp_path / "m.json")[-1].n_iter_ == 1
    assert run(*command, "--time-limit", "0", "--set", "max_iter=3") == 0
    assert "time limit" not in capsys.readouterr().err
