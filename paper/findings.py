"""Draw docs/results and docs/beyond again from paper/rows, and put the verdicts into the pages.

docs/findings.md has the ledger of the paper's claims, docs/beyond.md the first table of every
experiment beyond the paper.
"""

from __future__ import annotations

from pathlib import Path

from paper.registry import EXPERIMENTS
from paper.report import write_report
from paper.reporting import ledger

ROWS = Path(__file__).parent / "rows"
DOCS = ROWS.parents[1] / "docs"
#: The paper's experiments and what belongs to them, and those beyond it that have stored rows.
PAPER = [experiment for experiment in EXPERIMENTS.values() if experiment.in_all]
BEYOND = [
    experiment
    for name, experiment in EXPERIMENTS.items()
    if not experiment.in_all and (ROWS / "beyond" / f"{name}.csv").exists()
]


def ledger_of(report: str) -> str:
    """Return the ledger's lines of a report."""
    section = report.partition("## The paper's claims")[2].partition("\n## ")[0]
    return "".join(f"{line}\n" for line in section.splitlines() if line.startswith("|"))


def verdicts_of(report: str, name: str) -> str:
    """Return the lines of an experiment's first table."""
    table = report.partition(f"**Table {name}-1.**")[2].partition("**Table")[0]
    return "".join(f"{line}\n" for line in table.splitlines() if line.startswith("|"))


def put(page: str, name: str, lines: str) -> str:
    """Put lines between the two marks of a name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, mark, rest = page.partition(begin)
    assert mark, f"no place for {name}"
    return f"{before}{begin}\n{lines}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Draw all of it."""
    write_report(DOCS / "results", PAPER, ledger.section, rows=ROWS / "results")
    report = (DOCS / "results" / "REPORT.md").read_text(encoding="utf-8")
    page = DOCS / "findings.md"
    page.write_text(
        put(page.read_text(encoding="utf-8"), "ledger", ledger_of(report)), encoding="utf-8"
    )
    write_beyond()


def write_beyond() -> None:
    """Draw what goes beyond the paper."""
    write_report(DOCS / "beyond", BEYOND, rows=ROWS / "beyond")
    report = (DOCS / "beyond" / "REPORT.md").read_text(encoding="utf-8")
    page = DOCS / "beyond.md"
    text = page.read_text(encoding="utf-8")
    for experiment in BEYOND:
        text = put(text, experiment.name, verdicts_of(report, experiment.name))
    page.write_text(text, encoding="utf-8")
