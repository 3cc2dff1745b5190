"""The command `python -m paper`."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.utils import Bunch

from paper import commands, runner
from paper.__main__ import main
from paper.base import DataError, Unit
from paper.data.catalog import UCI_SETS
from paper.display import Display
from paper.experiments.admm_vs_gd import AdmmVsGd
from paper.experiments.earthquake import Earthquake
from paper.experiments.samples import Samples
from paper.registry import EXPERIMENTS, named

ROOT = Path(__file__).parents[2]


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "paper", "run", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_a_killed_and_resumed_run_gives_the_tables_of_an_uninterrupted_one(tmp_path):
    options = ("--preset", "quick", "--jobs", 1)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = started("rates", *options, "--out", killed)
    rows = killed / "rows" / "rates.csv"
    deadline = time.monotonic() + 120
    while not (rows.exists() and rows.read_text().count("\n") > 12):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    n_stored = rows.read_text().count("\n")
    for folder, more in ((killed, ["--resume"]), (whole, [])):
        assert main(["run", "rates", *map(str, options), "--out", str(folder), *more]) == 0
    assert n_stored < rows.read_text().count("\n")
    drop = ["unit_seconds"]
    frames = [
        runner.load(EXPERIMENTS["rates"], folder / "rows")[0].drop(columns=drop)
        for folder in (killed, whole)
    ]
    assert frames[0].equals(frames[1])
    reports = [(folder / "REPORT.md").read_text() for folder in (killed, whole)]
    # The last section says how long it took.
    tables, other = (text.partition("## How the rows were made")[0] for text in reports)
    assert tables == other
    assert tables.count("\n|") > 10


def test_the_list_explains_every_experiment_with_its_times(capsys):
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment.title}" in text
        assert all(f"({', '.join(experiment.printed)})" in text for _ in experiment.printed)
    assert text.count("standard ") == len(EXPERIMENTS)


def test_every_table_and_figure_of_the_paper_names_one_experiment():
    printed = [f"Table {i}" for i in range(1, 7)] + [f"Figure {i}" for i in range(1, 7)]
    found = {number: named(number) for number in printed}
    assert all(len(names) == 1 for names in found.values()), found
    assert [named(f"table{i}") for i in range(1, 7)] == [
        ["sim3"],
        ["sim3"],
        ["sim4"],
        ["sizes"],
        ["uci"],
        ["earthquake"],
    ]
    everything = [number for one in EXPERIMENTS.values() for number in one.printed]
    assert sorted(everything) == sorted(printed)


def test_a_figure_is_run_by_its_number_in_the_paper(tmp_path, capsys):
    assert main(["run", "Figure 3", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "rows" / "samples.csv").exists()
    assert "(Figure 3 in the paper)" in (tmp_path / "REPORT.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "no experiment named: choose among admm-vs-gd, samples"),
        (["run", "sim5"], "unknown experiment 'sim5'"),
        (["run", "sim1", "--jobs", "0"], "at least 1, got '0'"),
        (["run", "sim1", "--preset", "slow"], "invalid choice: 'slow'"),
        (["run", "contest", "--repetitions", "0-x"], "such as 0-2,5 are needed, got '0-x'"),
    ],
)
def test_wrong_usage_ends_with_status_2_and_a_sentence(arguments, message, capsys):
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


def test_an_existing_table_ends_with_status_1_and_advice(tmp_path, capsys):
    assert main(["run", "samples", "--jobs", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["run", "samples", "--jobs", "1", "--out", str(tmp_path)]) == 1
    assert "Go on with it by --resume" in capsys.readouterr().err
    assert main(["report", "--out", str(tmp_path)]) == 0


def test_a_method_that_no_one_knows_is_refused_and_names_go_in_any_case(tmp_path, capsys):
    assert main(["run", "contest", "--methods", "magic", "--out", str(tmp_path)]) == 1
    assert "no method is called 'magic'" in capsys.readouterr().err
    units = [SimpleNamespace(method="LightGBM"), SimpleNamespace(method="ours")]
    assert runner._asked(units, {"method": ["lightgbm"]}) == units[:1]


def test_units_are_chosen_by_methods_sets_and_repetitions():
    units = EXPERIMENTS["contest"].units("standard", None)
    asked = {"method": ["catboost"], "dataset": ["HEART", "musk2"], "repetition": ["0", "7"]}
    found = runner._asked(units, asked)
    assert {(unit.dataset, unit.repetition) for unit in found} == {
        *(("heart", 0), ("heart", 7), ("musk2", 0), ("musk2", 7)),
    }
    assert {unit.method for unit in found} == {"catboost"}
    with pytest.raises(DataError, match="no repetition is called '12': 0, 1, "):
        runner._asked(units, {"repetition": ["12"]})


def hinder(monkeypatch, experiment, act):
    monkeypatch.setattr(experiment, "obstacle", lambda self, units: act())


def fail(error):
    raise error


def test_what_is_in_the_way_is_said_once_before_the_first_starts(tmp_path, monkeypatch, capsys):
    rows, calls = tmp_path / "rows" / "samples.csv", []
    hinder(monkeypatch, Earthquake, lambda: calls.append(rows.exists()) or "No data.")
    assert main(["run", "samples", "earthquake", "--jobs", "1", "--out", str(tmp_path)]) == 1
    assert calls == [False]
    assert "earthquake was not run: No data." in capsys.readouterr().err
    report = (tmp_path / "REPORT.md").read_text()
    assert "has not been run. No data." in report
    assert Samples.title in report


@pytest.mark.parametrize("error", [DataError("x.gz is damaged."), ImportError("Needs tqdm.")])
def test_a_fault_of_one_leaves_the_others_and_the_report(tmp_path, monkeypatch, capsys, error):
    hinder(monkeypatch, AdmmVsGd, lambda: fail(error))
    assert main(["run", "admm-vs-gd", "samples", "--jobs", "1", "--out", str(tmp_path)]) == 1
    assert f"paper: admm-vs-gd was not run: {error}\n" in capsys.readouterr().err
    assert runner.load(Samples(), tmp_path / "rows")[1]["is_finished"]
    assert (tmp_path / "REPORT.md").exists()


def test_an_error_of_the_program_is_not_hidden_and_the_report_written(tmp_path, monkeypatch):
    monkeypatch.setattr(Samples, "run", lambda self, unit: fail(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["run", "samples", "--jobs", "1", "--out", str(tmp_path)])
    assert (tmp_path / "REPORT.md").exists()


def test_a_damaged_table_is_left_out_of_the_report(tmp_path, capsys):
    assert main(["run", "samples", "--jobs", "1", "--out", str(tmp_path)]) == 0
    (tmp_path / "rows" / "samples.json").write_text("{}")
    assert main(["report", "--out", str(tmp_path)]) == 1
    assert "samples is left out of the report: " in capsys.readouterr().err
    assert EXPERIMENTS["samples"].title not in (tmp_path / "REPORT.md").read_text()


@pytest.mark.parametrize(
    ("asked", "absent", "status"),
    [
        (["all"], ["earthquake"], 0),
        (["all", "earthquake"], ["earthquake"], 1),
        (["earthquake"], ["earthquake"], 1),
        (["all"], ["earthquake", "uci"], 1),
    ],
)
def test_all_is_complete_without_the_file_that_cannot_be_downloaded(
    tmp_path, monkeypatch, asked, absent, status
):
    for name, experiment in EXPERIMENTS.items():
        obstacle = "No data." if name in absent else None
        monkeypatch.setattr(type(experiment), "obstacle", lambda self, units, said=obstacle: said)
        monkeypatch.setattr(type(experiment), "units", lambda self, preset, split: [Unit()])
    monkeypatch.setattr(runner, "carry_out", lambda task, n_jobs: task.obstacle)
    monkeypatch.setattr(commands, "_report", lambda out, names: True)
    assert main(["run", *asked, "--out", str(tmp_path)]) == status


def test_all_leaves_out_what_needs_other_libraries(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(commands, "_run", lambda names, options: asked.append(names) or True)
    monkeypatch.setattr(commands, "_report", lambda out, names: True)
    others = [name for name, experiment in EXPERIMENTS.items() if not experiment.in_all]
    for names in (["all"], ["all", *others]):
        assert main(["run", *names, "--out", str(tmp_path)]) == 0
    assert "contest" in others
    assert asked == [[name for name in EXPERIMENTS if name not in others], list(EXPERIMENTS)]


def test_a_set_is_written_with_its_target_and_all_are_listed(tmp_path, capsys, monkeypatch):
    bunch = Bunch(
        data=np.array([[1.0, 2.0], [3.0, 4.5]]),
        target=np.array([1.0, -1.0]),
        feature_names=["a", "b"],
    )
    monkeypatch.setattr(commands, "fetch_uci", lambda name, return_X_y: bunch)
    out = tmp_path / "heart.csv"
    assert main(["data", "heart", "--out", str(out)]) == 0
    assert out.read_text().splitlines() == ["a,b,target", "1.0,2.0,1", "3.0,4.5,-1"]
    assert "2 rows, 2 features and the target" in capsys.readouterr().out
    assert main(["data", "heart", "--out", str(out), "--json"]) == 0
    told = {"out": str(out), "n_rows": 2, "n_features": 2}
    assert json.loads(capsys.readouterr().out) == told
    assert main(["data", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(UCI_SETS)
    assert main(["data"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(UCI_SETS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hearts"], "Did you mean 'heart'"),
        (["heart", "--out", "{}/absent/heart.csv"], "there is no folder"),
    ],
)
def test_data_that_cannot_be_written_end_with_status_3_and_a_sentence(
    arguments, message, tmp_path, capsys
):
    assert main(["data", *(text.format(tmp_path) for text in arguments)]) == 3
    assert message in capsys.readouterr().err


def test_an_absent_package_ends_with_status_5_and_its_group(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    assert main(["report", "--out", str(tmp_path)]) == 5
    assert "matplotlib and pandas: pip install --group paper" in capsys.readouterr().err


def test_an_interruption_ends_with_status_130_and_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commands, "_run", lambda names, options: fail(KeyboardInterrupt()))
    assert main(["run", "samples", "--jobs", "1", "--out", str(tmp_path)]) == 130
    assert "go on with --resume" in capsys.readouterr().err


def test_a_terminal_shows_a_bar_and_a_pipe_plain_lines():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, sign in ((Terminal(), "\r"), (io.StringIO(), "toy: 100%")):
        with Display("toy", 4.0, 1.0, 2, stream) as display:
            assert "25%" in stream.getvalue()
            display.advance(3.0)
            assert display.seconds_left() == 0.0
        assert sign in stream.getvalue()
        assert "100%" in stream.getvalue()
