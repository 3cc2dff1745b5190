"""The benchmark of regressors: what its report says of made-up rows, and that it runs."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import regression, regression_fit, regression_report, regression_sets
from benchmarks.mid_sets import Table
from benchmarks.regression_sets import DIVISORS, draw
from benchmarks.stored_rows import read_rows
from paper.data.tables import LabelledFrame
from tests.contracts.test_mid import line_of

#: Errors on two splits: ours is ahead on the first table, and behind on the second.
ERRORS = {
    "diamonds": {"fcgboost": (1.0, 1.2), "catboost": (2.0, 2.0), "lightgbm": (3.0, 1.9)},
    "compactiv": {"fcgboost": (4.0, 4.4), "catboost": (4.0, 4.0), "lightgbm": (5.0, 5.0)},
}


def made_up() -> list[dict[str, str]]:
    """Return rows in which ours takes a second, and rivals two."""
    return [
        {
            "goal": "mean",
            "data": data,
            "method": method,
            "size": "3000",
            "split": str(split),
            "rows": "3000",
            "score": str(error),
            "coverage": "0.91" if method == "fcgboost" else "",
            "width": "2.0" if method == "fcgboost" else "",
            "cpu": "1.0" if method == "fcgboost" else "2.0",
            "version": "1.0",
        }
        for data, errors_of in ERRORS.items()
        for method, errors in errors_of.items()
        for split, error in enumerate(errors)
    ]


def test_ours_is_compared_with_the_best_rival() -> None:
    report = regression_report.report(made_up())
    assert line_of(report, "diamonds") == ["1.1", "2", "2.45", "−45.0 ± 5.0 %"]
    assert line_of(report, "compactiv") == ["4.2", "4", "5", "+5.0 ± 5.0 %"]
    assert line_of(report, "mean rank")[0].startswith("1.38")


def test_times_and_coverage_are_told() -> None:
    report = regression_report.report(made_up())
    assert "fcgboost takes 0.50 times the CPU time of CatBoost" in report
    assert line_of(report, "3,000", "diamonds", "fcgboost")[0] == "91.0"


def test_without_ours_there_is_nothing_to_compare() -> None:
    assert "no rows of fcgboost" in regression_report.report([])


def test_counts_follow_their_rate() -> None:
    for name, divisor in DIVISORS.items():
        part = draw(name, seed=0)
        x = part.X.to_numpy()
        f = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20.0 * (x[:, 2] - 0.5) ** 2
        rate = np.exp((f + 10.0 * x[:, 3] + 5.0 * x[:, 4]) / divisor)
        assert part.y.mean() == pytest.approx(rate.mean(), rel=0.03)
        assert ((part.y - rate) ** 2 / rate).mean() == pytest.approx(1.0, abs=0.1)


def test_medians_and_quantiles_stop_at_fewer_rows() -> None:
    fits = list(regression.plan(["mean", "median", "rate"], [3_000, 40_000], 1))
    assert {fit.size for fit in fits if fit.goal == "median"} == {3_000}
    assert {fit.size for fit in fits if fit.goal == "mean"} == {3_000, 40_000}
    assert {fit.split for fit in fits if fit.goal == "rate"} == set(range(regression.N_DRAWS))
    assert {fit.split for fit in fits if fit.goal == "mean"} == {0}
    assert not [fit for fit in fits if fit.goal == "median" and fit.method == "random_forest"]


def test_a_run_appends_a_row_per_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(target: str, arguments: dict[str, Any], threads: int, limit: float) -> Any:
        module, _, function = target.partition(":")
        return getattr(import_module(module), function)(**arguments)

    def table() -> LabelledFrame:
        generator = np.random.default_rng(0)
        numbers = generator.standard_normal(400)
        letters = generator.choice(["a", "b"], 400)
        y = numbers + (letters == "a") + 0.1 * generator.standard_normal(400)
        return LabelledFrame(pd.DataFrame({"number": numbers, "letter": letters}), y)

    tables = {"made-up": Table(table, 400)}
    for module in (regression, regression_sets):
        monkeypatch.setattr(module, "TABLES", tables)
    monkeypatch.setattr(regression, "call", call)
    monkeypatch.setattr(regression, "PATH", tmp_path / "regression.csv")
    monkeypatch.setattr(regression_fit, "N_READY", 50)
    options = ["--goals", "mean", "--methods", "fcgboost", "random_forest"]
    options += ["--rows", "200", "--splits", "1"]
    regression.main(options)
    rows = read_rows(tmp_path / "regression.csv")
    assert [row["method"] for row in rows] == ["fcgboost", "random_forest"]
    assert all(0.05 < float(row["score"]) < 0.5 for row in rows)
    assert 0.8 < float(rows[0]["coverage"]) <= 1.0
    assert rows[1]["coverage"] == ""
    assert "Root mean squared error" in capsys.readouterr().out
    regression.main([*options, "--resume"])
    assert read_rows(tmp_path / "regression.csv") == rows
