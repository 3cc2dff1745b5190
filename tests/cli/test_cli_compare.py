"""`fcgboost compare`: ours beside the classifiers that are installed."""

from pathlib import Path

import pytest
from suites.commands import run, run_json

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_compare_puts_ours_beside_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ("--method", "FCGBoost", "--method", "logistic regression", "--method", "svc (rbf)")
    page = tmp_path / "c.html"
    command = ["compare", folder / "train.csv", "--target", "churned", *methods]
    told = run_json(capsys, *command, "--report", page)
    accuracies = [row["scores"]["accuracy"]["value"] for row in told["rows"]]
    assert accuracies == sorted(accuracies, reverse=True)
    others = {"logistic regression", "SVC (RBF)", "most frequent class"}
    assert {row["method"] for row in told["rows"]} == {"fcgboost", *others}
    assert told["data"]["n_train"] == 900
    assert told["data"]["n_threads"] == 1
    assert "logistic regression" in page.read_text(encoding="utf-8")
    assert run(*command, "--out", tmp_path / "c.json", "--threads", 2) == 0
    printed = capsys.readouterr().out
    assert "interval" in printed
    n_features = told["data"]["n_features"]
    assert "has 2 threads. fcgboost gets the 4 columns\nof the table" in printed
    assert f"the others {n_features} numeric columns made from them." in printed
    assert run("report", tmp_path / "c.json", "--out", tmp_path / "again.html") == 0
    assert "logistic regression" in (tmp_path / "again.html").read_text(encoding="utf-8")
