"""What can go wrong, exit statuses that scripts can use, how commands explain themselves."""

import errno
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcgboost.cli import make_parser
from tests.suites.commands import commands, run, spoil

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def damaged(folder: Path) -> Path:
    path = folder / "damaged.json"
    path.write_bytes((folder / "m.json").read_bytes()[:-20])
    return path


CASES = {
    "no such data": (3, "nowhere.csv", ["fit", "{}/nowhere.csv", "--target", "y"]),
    "no such data to predict": (
        3,
        "nowhere.csv: there is no such file",
        ["predict", "{}/m.json", "{}/nowhere.csv"],
    ),
    "no such data to score": (
        3,
        "nowhere.csv: there is no such file",
        ["evaluate", "{}/m.json", "{}/nowhere.csv"],
    ),
    "no such data to report": (
        3,
        "nowhere.csv: there is no such file",
        ["report", "{}/m.json", "{}/nowhere.csv"],
    ),
    "no such data to compare": (
        3,
        "nowhere.csv: there is no such file",
        ["compare", "{}/nowhere.csv", "--target", "y"],
    ),
    "no such model to report": (4, "nowhere.json", ["report", "{}/nowhere.json", "{}/test.csv"]),
    "no such model to export": (4, "nowhere.json", ["export", "{}/nowhere.json", "--to", "c"]),
    "no such folder for labels": (
        3,
        "there is no folder",
        ["predict", "{}/m.json", "{}/test.csv", "--out", "{}/no/l.csv"],
    ),
    "no such folder for a page": (
        3,
        "there is no folder",
        ["report", "{}/m.json", "{}/test.csv", "--out", "{}/no/p.html"],
    ),
    "no such folder for a program": (
        3,
        "there is no folder",
        ["export", "{}/m.json", "--to", "c", "--out", "{}/no/p.h"],
    ),
    "labels of an unknown form": (
        3,
        "must end in .csv",
        ["predict", "{}/m.json", "{}/test.csv", "--out", "{}/l.xlsx"],
    ),
    "data of an unknown form": (
        3,
        "must end in .csv",
        ["datasets", "simulation", "--out", "{}/s.xlsx"],
    ),
    "no such column": (3, "churned", ["fit", "{}/train.csv", "--target", "churn"]),
    "no target": (3, "with --target; the columns are id, age", ["fit", "{}/train.csv"]),
    "a quantity": (3, "quantity", ["compare", "{}/train.csv", "--target", "income"]),
    "an unknown parameter": (
        3,
        "nonsense",
        ["fit", "{}/train.csv", "--target", "churned", "--set", "nonsense=1"],
    ),
    "an unknown column to drop": (
        3,
        "no column 'nothing'",
        ["fit", "{}/train.csv", "--target", "churned", "--drop", "nothing"],
    ),
    "a model that is not there": (4, "nowhere.json", ["inspect", "{}/nowhere.json"]),
    "a damaged model": (4, "damaged.json", ["inspect", "{}/damaged.json"]),
    "data without the model's columns": (3, "age", ["predict", "{}/m.json", "{}/other.csv"]),
    "an unknown method": (
        3,
        "Unknown method",
        ["compare", "{}/train.csv", "--target", "churned", "--method", "magic"],
    ),
    "a folder that is not there": (
        3,
        "there is no folder",
        ["fit", "{}/train.csv", "--target", "churned", "--out", "{}/nowhere/m.json"],
    ),
    "an input as output": (
        3,
        "is an input",
        ["predict", "{}/m.json", "{}/test.csv", "--out", "{}/test.csv"],
    ),
    "a model as output": (
        3,
        "is an input",
        ["export", "{}/m.json", "--to", "c", "--out", "{}/m.json"],
    ),
    "a report over its data": (
        3,
        "is an input",
        ["report", "{}/m.json", "{}/test.csv", "--out", "{}/test.csv"],
    ),
    "a folder as data": (3, "this is a folder", ["fit", "{}", "--target", "churned"]),
    "a column kept under a name that is taken": (
        3,
        "already",
        ["predict", "{}/m.json", "{}/labelled.csv", "--keep", "label"],
    ),
    "json of what goes to standard output": (
        3,
        "--out",
        ["predict", "{}/m.json", "{}/test.csv", "--json"],
    ),
    "an infinite label": (3, "infinite", ["fit", "{}/infinite.csv", "--target", "y"]),
    "too few rows": (3, "too few", ["fit", "{}/few.csv", "--target", "y"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_used_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    damaged(folder)
    spoil(folder, "other.csv", "a,b\n1,2\n")
    spoil(folder, "infinite.csv", "a,y\n1,0\n2,1e400\n3,0\n4,1e400\n")
    spoil(folder, "few.csv", "a,y\n1,0\n2,1\n3,0\n4,1\n")
    pd.read_csv(folder / "test.csv").assign(label=1).to_csv(folder / "labelled.csv", index=False)
    status, words, command = CASES[case]
    assert run(*(argument.format(folder) for argument in command)) == status
    error = capsys.readouterr().err
    assert error.startswith("fcgboost: ")
    assert words in error
    assert "Traceback" not in error
    assert "[Errno" not in error


def test_every_command_is_explained_with_examples_that_parse() -> None:
    found = dict(commands())
    assert list(found) == [
        *("fit", "predict", "evaluate", "inspect", "report", "audit", "export", "compare"),
        *("playground", "datasets"),
    ]
    for name, parser in found.items():
        text = parser.format_help()
        assert "examples:" in text, name
        lines = [line.strip() for line in text.split("examples:")[1].splitlines()]
        examples = [line for line in lines if line.startswith("fcgboost ")]
        assert examples, name
        for line in examples:
            words = shlex.split(line.split(" | ")[0])[1:]
            assert words[0] == name
            make_parser().parse_args(words)


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    script = "import sys; from fcgboost.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", script, "predict", "m.json", "train.csv", "--batch", "1"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert errors == ""


def test_a_request_to_end_leaves_no_half_file(folder: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, fcgboost.cli.predict as p\n"
        "plain = p._predictions\n"
        "def frame(*rest):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return plain(*rest)\n"
        "p._predictions = frame\n"
        "from fcgboost.cli import main\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, "-c", script, "predict", str(folder / "m.json")]
    command += [str(folder / "test.csv"), "--out", str(tmp_path / "out.csv"), "--batch", "10"]
    assert subprocess.run(command, check=False).returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_refuses_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> Any:
        def raised(*rest: Any, **named: Any) -> Any:
            raise OSError(number, os.strerror(number), "rows.csv")

        return raised

    for number, words in ((errno.EACCES, "permission denied"), (errno.EIO, "rows.csv: ")):
        monkeypatch.setattr("fcgboost.cli.inputs.open_rows", fail(number))
        assert run("evaluate", folder / "m.json", folder / "test.csv") == 1
        error = capsys.readouterr().err
        assert error.startswith("fcgboost: rows.csv")
        assert words in error
        assert "[Errno" not in error


@pytest.mark.parametrize("command", [["compare", "rows.csv"], ["datasets", "simulation"]])
def test_files_of_rows_need_their_extra(tmp_path: Path, command: list[str]) -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from fcgboost.cli import main; sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert "pip install 'fcgboost[tables]'" in done.stderr
