"""`fcgboost compare`: ours beside the classifiers that are installed."""

from pathlib import Path

import pytest
from suites.commands import run, run_json

# The session's fixture fits once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_compare_puts_ours_beside_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ("--method", "fcgboost", "--method", "logistic regression", "--method", "SVC (RBF)")
    page = tmp_path / "c.html"
    command = ["compare", folder / "train.csv", "--target", "churned", *methods]
    told = run_json(capsys, *command, "--report", page)
    accuracies = [row["scores"]["accuracy"]["value"] for row in told["rows"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert {row["method"] for row in told["rows"]} == {*methods[1::2]}
    assert told["data"]["n_train"] == 900
    assert "logistic regression" in page.read_text(encoding="utf-8")
    assert run(*command, "--out", tmp_path / "c.json") == 0
    assert "interval" in capsys.readouterr().out
    assert run("report", tmp_path / "c.json", "--out", tmp_path / "again.html") == 0
    assert "logistic regression" in (tmp_path / "again.html").read_text(encoding="utf-8")
