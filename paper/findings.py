"""Draw docs/results and docs/beyond again from paper/rows, and put the verdicts into the pages.

docs/findings.md has the verdicts on the paper's claims, docs/beyond.md the table of ours beside
rivals.
"""

from __future__ import annotations

import re
from pathlib import Path

from paper.registry import EXPERIMENTS
from paper.report import write_report

ROWS = Path(__file__).parent / "rows"
DOCS = ROWS.parents[1] / "docs"
#: The paper's experiments and what belongs to them, and those beyond it that have stored rows.
PAPER = [experiment for experiment in EXPERIMENTS.values() if experiment.in_all]
BEYOND = [
    experiment
    for name, experiment in EXPERIMENTS.items()
    if not experiment.in_all and (ROWS / "beyond" / f"{name}.csv").exists()
]


def table_of(report: str, name: str) -> str:
    """Return the lines of a section's first table."""
    table = report.partition(f"**Table {name}-1.**")[2].partition("**Table")[0]
    return "".join(f"{line}\n" for line in table.splitlines() if line.startswith("|"))


def verdicts_of(report: str) -> str:
    """Return the ledger without its evidence, the rows being links to the report."""
    lines = []
    for line in table_of(report, "claims").splitlines():
        _, number, claim, verdict, _, rows, _ = re.split(r" *(?<!\\)\| *", line)
        lines.append((number, claim, verdict, rows))
    head, rule, *others = lines
    linked = [
        (number, claim, _stressed(verdict), f"[{rows}](results/REPORT.md#{rows})")
        for number, claim, verdict, rows in others
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *linked))


def scoreboard_of(report: str) -> str:
    """Return the table of ours beside rivals."""
    lines = table_of(report, "scoreboard").splitlines()
    cells = [line.rsplit(" | ", 1) for line in lines]
    return "".join(f"{rest} | {_stressed(last.rstrip(' |'))} |\n" for rest, last in cells)


def _stressed(verdict: str) -> str:
    """Let bad news stand out."""
    return f"**{verdict}**" if verdict in ("does not hold", "worse") else verdict


def put(page: str, name: str, lines: str) -> str:
    """Put lines between the two marks of a name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, mark, rest = page.partition(begin)
    assert mark, f"no place for {name}"
    return f"{before}{begin}\n{lines}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Draw all of it."""
    for folder, shown, page, name, table in (
        ("results", PAPER, "findings.md", "ledger", verdicts_of),
        ("beyond", BEYOND, "beyond.md", "scoreboard", scoreboard_of),
    ):
        write_report(DOCS / folder, shown, rows=ROWS / folder)
        report = (DOCS / folder / "REPORT.md").read_text(encoding="utf-8")
        text = (DOCS / page).read_text(encoding="utf-8")
        (DOCS / page).write_text(put(text, name, table(report)), encoding="utf-8")
