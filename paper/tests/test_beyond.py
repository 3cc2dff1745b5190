"""The page on experiments beyond the paper says what their committed rows say."""

import pytest

from paper import findings
from paper.base import Experiment
from paper.findings import DOCS
from paper.registry import EXPERIMENTS
from paper.report import BEYOND, PAPER, heading, write_report
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
    assert not (tmp_path / "figures").exists()


@each_experiment
def test_the_page_holds_the_verdicts_of_the_report(experiment: Experiment) -> None:
    lines = findings.verdicts_of(report(), experiment.name)
    assert len(lines.splitlines()) == len(CLAIMS[experiment.name]) + 2
    assert lines.startswith("| Claim | Verdict | Evidence |\n")
    name = experiment.name
    assert f"<!-- {name}: begin -->\n\n{lines}\n<!-- {name}: end -->" in page()


def test_a_report_is_the_papers_if_something_in_it_is() -> None:
    assert heading([EXPERIMENTS["contest"], EXPERIMENTS["leaves"]]) == BEYOND
    assert heading([EXPERIMENTS["sim1"], EXPERIMENTS["leaves"]]) == PAPER
    assert report().startswith(f"# {BEYOND.title}\n")
    assert "paper's" not in BEYOND.title
