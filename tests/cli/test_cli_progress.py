"""What commands show while they work, and when a fit ends."""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from suites.commands import GAUSS, run, run_json

from fcgboost import FCGBoostClassifier, Status, Step, load_model
from fcgboost.cli import console
from fcgboost.cli.watching import Plan, Watch, plan_of
from fcgboost.datasets import make_simulation
from fcgboost.scores import Score, as_data

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_tables_are_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "value"), [("a", "1.5"), ("long name", "10")])
    assert capsys.readouterr().out == "name       value\na            1.5\nlong name     10\n"


def test_scores_without_end_are_null_in_json() -> None:
    data = as_data({"log_loss": Score(0.5, 0.0, float("inf"))})
    assert data == {"log_loss": {"value": 0.5, "low": 0.0, "high": None}}


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
def test_on_a_terminal_one_bar_serves_the_whole_fit(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dictionary: str
) -> None:
    pytest.importorskip("rich", reason="a bar needs rich")
    with terminal(monkeypatch) as shown:
        # Nothing is drawn in between: every step is.
        monkeypatch.setattr("rich.progress.Progress.update", always_drawn())
        command = ["fit", small, "--target", "y", "--dictionary", dictionary]
        assert run(*command, "--out", tmp_path / "m.json") == 0
    (text,) = shown
    assert "\x1b" in text
    assert "Fitting" in text
    shares = [int(share) for share in re.findall(r"(\d+)%", text)]
    assert len(set(shares)) > 5
    assert shares == sorted(shares)
    assert shares[-1] == 100
    if dictionary == "auto":
        assert "validation path 1 of 4" in text
        assert "final path 3 of 3" in text


def always_drawn() -> Any:
    from rich.progress import Progress

    plain = Progress.update

    def update(self: Any, *rest: Any, **changes: Any) -> None:
        plain(self, *rest, **{**changes, "refresh": True})

    return update


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


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"l2": 0.5},
        {"max_iter": 4},
        {"l2": 0.5, "max_iter": 4},
        {"removal": "backward"},
        {"validation_fraction": 0.25},
        {"n_iter_no_change": 3},
        {"scheme": "original"},
        {"dictionary": "compact"},
        {"dictionary": "gauss"},
        {"dictionary": "gauss", "validation_fraction": 0.25},
    ],
    ids=str,
)
def test_a_fit_makes_as_many_paths_as_were_planned(settings: dict[str, Any]) -> None:
    X, y = make_simulation(80, random_state=0)
    clf = FCGBoostClassifier(random_state=0).set_params(**settings)
    firsts: list[int] = []
    clf.set_callbacks(lambda step: firsts.append(step.k) if step.k == 1 else None).fit(X, y)
    plan = plan_of(clf, 80, 2)
    assert len(firsts) == plan.n_paths
    assert len(clf.trace_) <= plan.n_steps


def test_shares_of_a_fit_only_grow() -> None:
    shares, one = [0.0], np.zeros(1)
    watch = Watch(Plan(n_trials=3, n_others=1, n_steps=100), lambda share, _: shares.append(share))
    for n_steps in (30, 50, 20, 40):
        for k in range(1, n_steps + 1):
            watch(Step(k, np.array([0]), one, one, np.zeros((1, k)), one, 1, 0.0, True, 0.0))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(0.95)


def test_a_time_limit_ends_a_fit_with_the_steps_it_has(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    command = ["fit", small, "--target", "y", "--out", out]
    assert run(*command, "--time-limit", "1e-9") == 0
    printed = capsys.readouterr()
    assert "stopped early by its time limit of 1e-09 s" in printed.err
    assert "Reading and checking the data took" in printed.err
    assert re.search(r"\n1 step in \d+\.\d\d s\. \w", printed.out)
    fitted = load_model(out)
    assert fitted.n_iter_ == 1
    assert fitted.status_ is Status.TIME_LIMIT
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
