"""`fcgboost compare`: ours beside the classifiers that are installed."""

import io
from pathlib import Path

import pandas as pd
import pytest

from tests.suites.commands import run, run_json

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_compare_puts_ours_beside_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = ("--method", "FCGBoost", "--method", "logistic regression", "--method", "svc (rbf)")
    command = ["compare", folder / "train.csv", "--target", "churned", *methods]
    told = run_json(capsys, *command)
    accuracies = [row["scores"]["accuracy"]["value"] for row in told["rows"]]
    assert accuracies == sorted(accuracies, reverse=True)
    others = {"logistic regression", "SVC (RBF)", "most frequent class"}
    assert {row["method"] for row in told["rows"]} == {"fcgboost", *others}
    assert told["data"]["n_train"] == 900
    assert told["data"]["n_threads"] == 1
    assert run(*command, "--threads", 2) == 0
    printed = capsys.readouterr().out
    assert "interval" in printed
    n_features = told["data"]["n_features"]
    assert "Threads per method: 2. fcgboost gets the 4 columns\nof the table" in printed
    assert f"the others {n_features} numeric columns made from them." in printed
    assert run(*command, "--csv") == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(table["accuracy"]) == accuracies
    assert (table["auc_low"] <= table["auc"]).all()
