"""The page on experiments beyond the paper says what their committed rows say."""

import pandas as pd
import pytest

from paper import findings
from paper.base import Experiment
from paper.findings import DOCS
from paper.registry import EXPERIMENTS
from paper.report import BEYOND, PAPER, heading, write_report
from paper.reporting import scoreboard
from paper.reporting.contest import LABELS
from paper.reporting.ledger import atoms, beyond, contest, frames
from paper.runner import load

ROWS = findings.ROWS / "beyond"
RESULTS = DOCS / "beyond"
SHOWN = {one.name: one for one in findings.BEYOND}
CLAIMS = {
    "contest": contest.CLAIMS,
    "robustness": beyond.ROBUSTNESS,
    "calibration": beyond.CALIBRATION,
    "atoms": atoms.ATOMS,
    "leaves": beyond.LEAVES,
    "tables": frames.TABLES,
    "gaps": frames.GAPS,
}
each_experiment = pytest.mark.parametrize("experiment", SHOWN.values(), ids=SHOWN)


def test_all_but_those_that_wait_for_their_rows_are_shown() -> None:
    others = {name for name, one in EXPERIMENTS.items() if not one.in_all}
    assert others == CLAIMS.keys()
    assert others - SHOWN.keys() <= {"tables", "gaps"}


def report() -> str:
    return (RESULTS / "REPORT.md").read_text(encoding="utf-8")


def page() -> str:
    return (DOCS / "beyond.md").read_text(encoding="utf-8")


@each_experiment
def test_rows_are_those_of_a_standard_run(experiment: Experiment) -> None:
    frame, facts = load(experiment, ROWS)
    assert facts["preset"] == "standard"
    assert facts["obstacle"] is None
    units = {unit.key for unit in experiment.units("standard", None)}
    assert 0 < len(frame[frame["row"] == 1]) <= len(units) == facts["n_units"]


def test_the_report_is_what_the_rows_give(tmp_path) -> None:
    write_report(tmp_path, SHOWN.values(), rows=ROWS)
    assert (tmp_path / "REPORT.md").read_text(encoding="utf-8") == report()
    for picture in (tmp_path / "figures").iterdir():
        assert (RESULTS / "figures" / picture.name).exists()


@each_experiment
def test_the_report_judges_every_claim(experiment: Experiment) -> None:
    lines = findings.table_of(report(), experiment.name)
    assert len(lines.splitlines()) == len(CLAIMS[experiment.name]) + 2
    assert lines.startswith("| Claim | Verdict | Evidence |\n")


def test_the_page_holds_the_scoreboard_of_the_report() -> None:
    lines = findings.scoreboard_of(report())
    assert len(lines.splitlines()) == 22
    assert lines.count("| **worse** |") == report().count("| worse |") == 4
    assert f"<!-- scoreboard: begin -->\n\n{lines}\n<!-- scoreboard: end -->" in page()


def contest_rows(**accuracies: list[float]) -> pd.DataFrame:
    """Give rows of the contest: an accuracy for every set and method, others as LightGBM."""
    made = [
        {
            **{"dataset": f"set {i}", "method": name, "noise": 0.0, "repetition": 0},
            **{"accuracy": accuracies.get(name, accuracies["lightgbm"])[i], "log_loss": 0.1},
            **{"seconds_tune": 2.0 if name == "fcg_auto" else 1.0 + i, "stored_numbers": 10.0},
        }
        for name in LABELS
        for i in range(3)
    ]
    return pd.DataFrame(made)


def test_better_worse_and_tie_are_two_standard_errors_apart() -> None:
    rows = contest_rows(
        fcg_auto=[0.90, 0.91, 0.92], lightgbm=[0.80, 0.81, 0.83], catboost=[0.89, 0.95, 0.90]
    )
    table = scoreboard.section({"contest": rows}).tables[0]
    lines = {cells[0].text: [cell.text for cell in cells[2:]] for cells in table.rows}
    assert lines["Mean accuracy"] == ["91.00 %", "CatBoost 91.33 %", "−0.33 ± 1.86", "tie"]
    assert lines["Mean accuracy beside LightGBM"][2:] == ["+9.67 ± 0.33", "better"]
    # Ours is tied for nothing by rank, and both of ours are left out of the other's ranks.
    assert lines["Mean rank by accuracy"][:2] == ["1.33", "CatBoost 1.67"]
    assert lines["CPU time, tuning included"][0] == "2.00 s"
    assert lines["Numbers stored"][2:] == ["1 × (1 to 1)", "tie"]
    worse = rows.assign(accuracy=rows["accuracy"].where(rows["method"] != "fcg_auto", 0.5))
    assert scoreboard.section({"contest": worse}).tables[0].rows[0][-1].text == "worse"


def test_without_two_sets_there_is_nothing_to_judge() -> None:
    rows = contest_rows(lightgbm=[0.8, 0.8, 0.8])
    assert scoreboard.section({"contest": rows[rows["dataset"] == "set 0"]}) is None
    assert scoreboard.section({}) is None


def test_a_report_is_the_papers_if_something_in_it_is() -> None:
    assert heading([EXPERIMENTS["contest"], EXPERIMENTS["leaves"]]) == BEYOND
    assert heading([EXPERIMENTS["sim1"], EXPERIMENTS["leaves"]]) == PAPER
    assert report().startswith(f"# {BEYOND.title}\n")
    assert "paper's" not in BEYOND.title
