"""The benchmarks run, and say what they measured; how fast anything is, is not asserted here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import large, page, tables, text
from benchmarks.figures import FIGURES
from benchmarks.figures.growth import point
from benchmarks.measure import (
    MEBIBYTE,
    Bound,
    Record,
    at_least,
    at_most,
    fitted_slope,
    peak_memory,
)
from benchmarks.picture import draw_growth
from benchmarks.processes import ProcessError, call
from benchmarks.stored_rows import read_rows, write_rows

ROOT = Path(__file__).parents[2]
ALL_FIGURES = page.DOCS / "results" / "BENCHMARKS.md"
STORED = page.DOCS / "results" / "bench"
FIELDS = {
    *("name", "ours", "baseline", "ratio", "bound", "met", "unit"),
    *("versions", "threads", "details"),
}


def run(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_quick_figures_run_and_their_records_are_complete(tmp_path: Path) -> None:
    names = ["stored", "unstored", "correction"]
    printed = run("benchmarks", "--quick", "--only", *names, "--out", str(tmp_path))
    results = load(tmp_path / "latest.json")
    assert results["quick"]
    assert [*dict.fromkeys(record["figure"] for record in results["records"])] == names
    for record in results["records"]:
        assert record.keys() >= FIELDS
        assert record["ours"] is not None
        assert (record["met"] is None) == (record["bound"] is None)
        assert record["threads"] == 2
        assert {"fcgboost", "numpy", "python", "blas"} <= record["versions"].keys()
        assert record["name"].split()[0] in printed
    assert "bounds met" in printed


@pytest.mark.extras
def test_the_figures_of_a_gpu_run_on_a_processor(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks import gpu

    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", X=rng.random((300, 5)), y=rng.integers(1, 8, 300))
    options = ["--quick", "--cpu", "--covtype", str(tmp_path / "rows.npz")]
    printed = run("benchmarks.gpu", *options, "--device", "torch", "--out", str(tmp_path))
    records = load(tmp_path / "gpu.json")["records"]
    assert [*dict.fromkeys(record["figure"] for record in records)] == [*gpu.FIGURES]
    for record in records:
        assert (record["ours"] is None) == bool(record["reason"])
        assert (record["met"] is None) == (record["bound"] is None)
    assert "data checks" in printed
    # Another run replaces what it measures, and leaves the rest.
    run(
        "benchmarks.gpu",
        *options,
        "--only",
        "accuracy",
        "--device",
        "torch",
        "--out",
        str(tmp_path),
    )
    again = load(tmp_path / "gpu.json")["records"]
    assert [record["name"] for record in again] == [record["name"] for record in records]


def test_every_figure_has_a_module_and_a_line_in_the_page() -> None:
    modules = {path.stem for path in (ROOT / "benchmarks" / "figures").glob("[a-z]*.py")}
    assert modules == set(FIGURES)
    text = ALL_FIGURES.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in FIGURES)


def test_the_fitted_slope_of_a_power_law_is_its_exponent() -> None:
    sizes = [10, 100, 1000, 5000]
    for exponent in (0.0, 1.0, 2.5):
        slope = fitted_slope(sizes, [3.0 * m**exponent for m in sizes])
        assert slope == pytest.approx(exponent, abs=1e-12)


def test_memory_of_a_block_is_what_it_took_beyond_what_was_there() -> None:
    with peak_memory() as memory:
        np.ones(20 * MEBIBYTE)
    # 160 MiB, that are free again by now.
    assert 150 * MEBIBYTE <= memory.above <= 250 * MEBIBYTE


def test_a_point_of_the_growth_has_a_time_and_a_memory() -> None:
    measured = point("fcgboost", 120)
    assert measured["m"] == 120
    assert measured["seconds"] > 0.0
    assert measured["bytes"] >= 0


@pytest.mark.parametrize(
    ("bound", "ours", "baseline", "met", "ratio"),
    [
        (at_most(1.5), 3.0, 2.0, True, 1.5),
        (at_most(1.4), 3.0, 2.0, False, 1.5),
        (at_least(10.0, of="speedup"), 2.0, 30.0, True, 15.0),
        (at_least(-0.3, of="difference"), 87.7, 88.0, True, 87.7 / 88.0),
        (at_least(-0.3, of="difference"), 87.6, 88.0, False, 87.6 / 88.0),
        (at_most(20.0, of="ours"), 21.0, None, False, None),
        (None, 1.0, 2.0, None, 0.5),
    ],
)
def test_a_record_judges_its_bound(
    bound: Bound | None, ours: float, baseline: float | None, met: bool | None, ratio: float | None
) -> None:
    record = Record("x", "s", ours, baseline, bound=bound)
    assert record.met is met
    assert record.ratio == (ratio if ratio is None else pytest.approx(ratio))


def test_a_figure_without_its_data_gives_the_reason_and_is_not_met() -> None:
    record = Record("x", reason="no data").as_dict()
    assert record["met"] is None
    assert tables.cells(record)[1:3] == ("not measured", "no data")


def test_a_process_that_fails_is_an_error_here() -> None:
    with pytest.raises(ProcessError, match="status 1"):
        call("benchmarks.measure:no_such_function", {}, threads=1, limit=60.0)


RESULTS = {
    "quick": False,
    "seconds": 12.0,
    "machine": {"processor": "P"},
    "records": [
        {**record.as_dict(), "versions": {"numpy": "2.0"}}
        for record in (
            Record("fit", "s", 2.0, 1.0, "rival | float32", at_most(1.5)),
            Record("accuracy", "%", 87.7, 87.5, "rival", at_least(-0.3, of="difference")),
            Record("prediction", "ms", 2.0, 250.0, "rival", at_least(100.0, of="speedup")),
        )
    ],
}


def test_the_tables_say_the_numbers_the_bound_and_whether_it_holds() -> None:
    lines = tables.markdown(RESULTS["records"]).splitlines()
    assert lines[2] == "| fit | 2 s | 1 s, rival \\| float32 | 2 × | ≤ 1.5 × | **NO** |"
    assert lines[3] == "| accuracy | 87.70 % | 87.50 %, rival | +0.20 | ≥ -0.3 | yes |"
    assert lines[4] == "| prediction | 2 ms | 250 ms, rival | 125 × faster | ≥ 100 × faster | yes |"
    assert "125 × faster" in tables.terminal(RESULTS["records"])


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Return a copy of the pages that hold tables of benchmarks."""
    folder = tmp_path / "docs"
    (folder / "results").mkdir(parents=True)
    for path in (ALL_FIGURES, page.DOCS / "benchmarks.md"):
        shutil.copyfile(path, folder / path.relative_to(page.DOCS))
    return folder


def test_the_page_holds_the_table_of_a_run(tmp_path: Path, docs: Path) -> None:
    (tmp_path / "latest.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    for _ in range(2):
        page.update(tmp_path, docs)
        text = (docs / "results" / "BENCHMARKS.md").read_text(encoding="utf-8")
        assert text.count(tables.markdown(RESULTS["records"])) == 1
        assert "processor: P, numpy 2.0" in text
    assert load(docs / "results" / "bench" / "latest.json") == RESULTS


def fit(method: str, split: int, seconds: float, accuracy: float) -> dict[str, str]:
    row = {"data": "magic-300", "method": method, "split": split, "rows": 300, "note": "alone"}
    row |= {"seconds": seconds, "accuracy": accuracy, "log_loss": 0.3, "mebibytes": 5.0}
    row |= {"n_numbers": 10, "n_bytes": 4000.0, "one_row": 20.0, "many_rows": 3.0}
    return {name: str(value) for name, value in row.items()}


def test_pages_show_the_means_of_every_size_and_a_picture(tmp_path: Path, docs: Path) -> None:
    rows = [fit("fcgboost", 0, 9.0, 1.0), fit("fcgboost", 0, 1.0, 90.0)]  # The last one counts.
    rows += [fit("fcgboost", 1, 3.0, 92.0), *(fit("LightGBM", i, 0.5, 90.0) for i in (0, 1))]
    write_rows(tmp_path / large.EVERY_SIZE, large.lines(rows))
    page.update(tmp_path, docs)
    full = (docs / "results" / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert (
        "| magic-300 (2 splits) | fcgboost | 2 | 4 | 91.00 | 0.3000 | 10 | 4 | 20 | 3 | – |  |"
        in full
    )
    short = (docs / "benchmarks.md").read_text(encoding="utf-8")
    assert "| MAGIC, 300 rows | **91.00 %**<br>2 s | – | 90.00 %<br>0.5 s | – | – | – |" in short
    assert "| fit time | 4 × (4 to 4), better on 0 | – | – | – |" in short
    assert "| accuracy, points | +1.00 (+1.00 to +1.00), better on 1 | – | – | – |" in short
    assert (docs / "results" / "bench" / "every_size.png").stat().st_size > 1000


def test_numbers_of_a_quick_run_do_not_get_into_the_page(tmp_path: Path, docs: Path) -> None:
    (tmp_path / "latest.json").write_text(json.dumps({**RESULTS, "quick": True}), encoding="utf-8")
    with pytest.raises(ValueError, match="quick"):
        page.update(tmp_path, docs)


def test_the_picture_of_growth_is_drawn_also_for_a_method_with_one_point(tmp_path: Path) -> None:
    growing = {"time exponent": 1.0, "memory exponent": 1.0}
    curves = {
        "fcgboost": {"sizes": [10, 100], "seconds": [1, 10], "mebibytes": [1, 10], **growing},
        "SVC": {"sizes": [10], "seconds": [5], "mebibytes": [2]},
        "AdaBoost": {"sizes": [], "seconds": [], "mebibytes": []},
    }
    draw_growth(curves, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_the_stored_results_are_the_table_of_the_page() -> None:
    text = ALL_FIGURES.read_text(encoding="utf-8")
    for file in page.TABLES:
        assert page.section(load(STORED / file)) in text
    lines = read_rows(STORED / large.EVERY_SIZE)
    assert large.table(lines) in text
    short = (page.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert page.accuracies(lines) in short
    assert page.all_verdicts(lines) in short


def test_a_line_of_words_has_paired_differences_and_ratios_of_time() -> None:
    accuracies = np.array([[90.0, 88.0, 91.0], [92.0, 91.0, 91.0]])
    seconds = np.array([[2.0, 1.0, 4.0], [4.0, 1.0, 8.0]])
    cells = text.line("some", accuracies, seconds).strip("| ").split(" | ")
    assert cells == ["some", "91.00", "89.50", "91.00", "+1.50 ± 0.50, 3 ×", "+0.00 ± 1.00, 0.5 ×"]
    X, y, X_test, y_test = text.CASES["counts, 2 words"](0)
    assert X.shape == X_test.shape == (text.N, text.N_WORDS)
    assert len(y) == len(y_test) == text.N
