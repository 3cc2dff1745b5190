"""The benchmark on mid-size tables: what its report says of made-up rows, and that it runs."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import mid, mid_fit, mid_report, mid_sets
from benchmarks.mid_fit import METHODS
from benchmarks.mid_sets import TABLES, Table
from benchmarks.stored_rows import read_rows
from paper.data.tables import LabelledFrame
from paper.reporting.contest import Gap
from paper.reporting.summaries import Summary

#: AUC on two splits: ours is behind on the first table, and ahead on the second.
AREAS = {
    "diamonds": {
        "fcgboost": (0.90, 0.91),
        "catboost": (0.92, 0.93),
        "lightgbm": (0.89, 0.93),
    },
    "compactiv": {
        "fcgboost": (0.80, 0.81),
        "catboost": (0.79, 0.80),
        "lightgbm": (0.80, 0.79),
    },
}
SECONDS = {"diamonds": 2.0, "compactiv": 6.0}


def made_up() -> list[dict[str, str]]:
    """Return rows in which CatBoost and LightGBM take four seconds."""
    return [
        {
            "data": data,
            "method": method,
            "size": "3000",
            "split": str(split),
            "rows": "3000",
            "auc": str(area),
            "log_loss": str(1.0 - area),
            "accuracy": str(area),
            "cpu": str(SECONDS[data] if method == "fcgboost" else 4.0),
            "version": "1.0",
        }
        for data, areas_of in AREAS.items()
        for method, areas in areas_of.items()
        for split, area in enumerate(areas)
    ]


def line_of(report: str, *beginning: str) -> list[str]:
    """Return the other cells of the one line with these first cells, without marks."""
    lines = [line.strip("| ").split(" | ") for line in report.splitlines()]
    (cells,) = [line for line in lines if tuple(line[: len(beginning)]) == beginning]
    return [cell.strip("*") for cell in cells[len(beginning) :]]


def test_ranks_are_means_over_splits_and_then_over_tables() -> None:
    report = mid_report.report(made_up())
    # Ours is second and third on one table, a tie for the first place and first on the other.
    ranks = ["1.88 ± 0.62", "1.88 ± 0.62", "2.25 ± 0.00"]
    assert line_of(report, "3,000", "2", "rank by AUC") == ranks
    assert line_of(report, "3,000", "2", "rank by log-loss") == ranks
    assert line_of(report, "3,000", "2", "AUC") == ["85.50", "86.00", "85.25"]


def test_differences_to_ours_are_paired_over_splits() -> None:
    report = mid_report.report(made_up())
    cells = ["3,000", "2", "90.50", "92.50 (+2.00 ± 0.00)", "91.00 (+0.50 ± 1.50)"]
    assert line_of(report, "diamonds") == cells


def test_tables_where_ours_is_behind_are_listed_and_others_not() -> None:
    report = mid_report.report(made_up())
    assert line_of(report, "3,000", "diamonds") == ["fcgboost", "CatBoost", "−2.00 ± 0.00"]
    assert "| 3,000 | compactiv |" not in report
    ahead = [row for row in made_up() if row["data"] == "compactiv"]
    assert "Nowhere" in mid_report.report(ahead)


@pytest.mark.parametrize(
    ("points", "error", "behind"),
    [
        (-0.6, 0.1, True),
        (-0.6, 0.4, False),
        (-0.4, 0.1, False),
        (0.6, 0.1, False),
        # One split has no standard error.
        (-0.6, float("nan"), True),
    ],
)
def test_behind_is_more_than_half_a_point_and_than_two_standard_errors(
    points: float, error: float, behind: bool
) -> None:
    gap = Gap("catboost", Summary(points / 100.0, error / 100.0, 3))
    assert mid_report.is_behind(gap) == behind


def test_times_are_multiples_of_those_of_catboost() -> None:
    cells = line_of(mid_report.report(made_up()), "3,000", "fcgboost")
    assert cells == ["4.00", "1.00", "1.50", "compactiv"]


def test_the_last_row_of_a_fit_counts() -> None:
    old = [{**row, "auc": "0.5"} for row in made_up()]
    assert mid_report.report([*old, *made_up()]) == mid_report.report(made_up())


def test_splits_that_a_method_has_not_are_left_out() -> None:
    rows = made_up()
    del rows[-1]
    report = mid_report.report(rows)
    assert "All methods have 3 of 4 splits." in report
    assert line_of(report, "compactiv")[:2] == ["3,000", "1"]


def test_no_rows_are_no_error() -> None:
    assert "No split" in mid_report.report([])


def test_rivals_alone_are_compared_without_ours() -> None:
    report = mid_report.report([row for row in made_up() if row["method"] != "fcgboost"])
    assert line_of(report, "diamonds") == ["3,000", "2", "92.50", "91.00"]
    assert "Behind" not in report
    assert "our default" not in report


def test_a_table_that_is_too_small_for_a_size_is_left_out_there() -> None:
    sizes = {
        name: [table.n_train(size) for size in mid_sets.SIZES] for name, table in TABLES.items()
    }
    assert sizes["compactiv"] == [3_000, 0, 0]
    assert sizes["pole_telecomm"] == [3_000, 9_000, 0]
    assert sizes["california_housing"] == [3_000, 9_000, 14_447]
    assert sizes["covtype"] == [3_000, 9_000, 40_000]


def test_whole_splits_come_first() -> None:
    fits = mid.plan(["compactiv", "p*"], ["catboost"], [3_000, 9_000], 2)
    assert [(fit.split, fit.size, fit.data) for fit in fits[:5]] == [
        (0, 3_000, "pole_telecomm"),
        (0, 3_000, "compactiv"),
        (0, 3_000, "planes2d"),
        (0, 9_000, "pole_telecomm"),
        (0, 9_000, "planes2d"),
    ]
    assert [fit.split for fit in fits] == [0] * 5 + [1] * 5


def made_up_table() -> LabelledFrame:
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal(400)
    letters = generator.choice(["a", "b"], 400)
    y = (numbers + (letters == "a") > 0.5).astype(np.int64)
    return LabelledFrame(pd.DataFrame({"number": numbers, "letter": letters}), y)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run with one made-up table and in this process, and return where the rows go."""

    def call(target: str, arguments: dict[str, Any], threads: int, limit: float) -> Any:
        module, _, function = target.partition(":")
        return getattr(import_module(module), function)(**arguments)

    tables = {"made-up": Table(made_up_table, 400)}
    for module in (mid, mid_report, mid_sets):
        monkeypatch.setattr(module, "TABLES", tables)
    monkeypatch.setattr(mid, "call", call)
    monkeypatch.setattr(mid, "PATH", tmp_path / "mid.csv")
    monkeypatch.setattr(mid_fit, "N_READY", 50)
    return tmp_path / "mid.csv"


def test_a_run_appends_a_row_per_fit_and_prints_the_report(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--methods", "fcgboost", "random_forest", "--rows", "200", "--splits", "2"]
    mid.main(options)
    rows = read_rows(path)
    assert [(row["split"], row["method"]) for row in rows] == [
        (split, method) for split in "01" for method in ("fcgboost", "random_forest")
    ]
    for row in rows:
        assert (row["rows"], row["test_rows"]) == ("200", "200")
        assert 0.9 < float(row["auc"]) <= 1.0
        assert 0.8 < float(row["accuracy"]) <= 1.0
        assert 0.0 < float(row["log_loss"]) < 0.5
        assert float(row["cpu"]) > 0.0
    report = capsys.readouterr().out
    assert "All methods have 2 of 2 splits." in report
    assert len(line_of(report, "made-up")) == 4
    # What is there is not measured again.
    mid.main([*options, "--resume"])
    assert read_rows(path) == rows


def test_a_table_that_is_not_there_is_left_out_with_a_word(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> LabelledFrame:
        raise mid_fit.MissingError("made-up.csv.gz is in no data home")

    monkeypatch.setitem(mid_sets.TABLES, "made-up", Table(load, 400))
    mid.main(["--methods", "random_forest", "--rows", "200"])
    printed = capsys.readouterr()
    assert "No split" in printed.out
    assert printed.err.count("left out") == 1
    assert not path.exists()


@pytest.mark.extras
@pytest.mark.parametrize("method", [name for name in METHODS if name != "fcgboost"])
def test_every_rival_takes_categories(method: str, path: Path) -> None:
    if not METHODS[method].is_installed:
        pytest.skip(f"{METHODS[method].title} is not installed")
    row = mid_fit.point("made-up", method, 200, 0)
    assert row is not None
    assert row["auc"] > 0.9
