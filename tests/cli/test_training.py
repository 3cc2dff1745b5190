"""What commands show while they work, and when a fit ends."""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fcgboost import Status, load_model
from tests.suites.commands import GAUSS, run, run_json

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let standard error be a terminal; the list holds what it showed once it is closed."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals exist on Unix only")
    ours, theirs = pty.openpty()
    shown, pieces = [], []

    def read() -> None:
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux says so when the other side has closed
                return
            if not piece:
                return
            pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with os.fdopen(theirs, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield shown
    reader.join()
    os.close(ours)
    shown.append(b"".join(pieces).decode())


@pytest.mark.parametrize("dictionary", ["gauss", "auto"])
def test_on_a_terminal_one_line_serves_the_whole_fit(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dictionary: str
) -> None:
    with terminal(monkeypatch) as shown:
        command = ["fit", small, "--target", "y", "--dictionary", dictionary]
        assert run(*command, "--out", tmp_path / "m.json") == 0
    (text,) = shown
    assert "\x1b" not in text
    assert "Fitting" in text
    shares = [int(share) for share in re.findall(r"(\d+) %", text)]
    assert len(set(shares)) > 5
    assert shares == sorted(shares)
    assert shares[-1] == 100
    if dictionary == "auto":
        assert "path 1 of 16" in text
        assert "path 16 of 16" in text


@pytest.mark.parametrize("dictionary", ["gauss", "auto"])
def test_in_a_pipe_ten_lines_serve_the_whole_fit(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], dictionary: str
) -> None:
    command = ["fit", small, "--target", "y", "--dictionary", dictionary]
    assert run(*command, "--out", tmp_path / "m.json") == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.err + printed.out
    lines = [line for line in printed.err.splitlines() if line.startswith("Fitting: ")]
    assert 5 <= len(lines) <= 10
    shares = [int(line.split()[1]) for line in lines]
    assert shares == sorted(set(shares))
    assert shares[-1] == 100
    assert all("step" in line or "done" in line for line in lines)


def test_a_time_limit_ends_a_fit_with_the_steps_it_has(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    command = ["fit", small, "--target", "y", "--out", out]
    assert run(*command, "--time-limit", "1e-9") == 0
    printed = capsys.readouterr()
    assert "The time limit was reached" in printed.out
    assert "Reading and checking the data took" in printed.err
    assert re.search(r"\n1 step in \d+\.\d\d s\. \w", printed.out)
    fitted = load_model(out)
    assert fitted.n_iter_ == 1
    assert Status.TIME_LIMIT in {member.status for member in fitted.members_}
    assert run(*command, "--set", "max_iter=3") == 0
    assert "time limit" not in capsys.readouterr().err


def test_what_ended_a_fit_is_told_to_programs_and_kept_with_the_model(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    command = ["fit", small, "--target", "y", *GAUSS, "--set", "max_iter=3", "--out", out]
    ended = run_json(capsys, *command)["ended"]
    assert ended["status"] == "step_limit"
    assert ended["reason"] == Status.STEP_LIMIT.value
    assert (ended["steps"], ended["time_limit"]) == (3, None)
    assert load_model(out).about_["ended"] == ended
    ended = run_json(capsys, *command, "--time-limit", "1e-9")["ended"]
    assert (ended["status"], ended["steps"], ended["time_limit"]) == ("time_limit", 1, 1e-9)
    assert ended["seconds"] > 0.0
    assert load_model(out).about_["ended"] == ended
    assert run("inspect", out) == 0
    assert "The time limit was reached" in capsys.readouterr().out


def test_a_class_of_one_row_stays_in_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{i},{'ab'[i % 2]}\n" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(lines) + "99,c\n", encoding="utf-8")
    for dictionary in ("gauss", "fast"):
        command = ["fit", path, "--target", "y", "--dictionary", dictionary]
        assert run(*command, "--out", tmp_path / "m.json") == 0
        told = capsys.readouterr()
        assert "Classes of one row, which is not held out: c." in told.err
        assert "c (1)" in told.out
        assert load_model(tmp_path / "m.json").classes_.tolist() == ["a", "b", "c"]
