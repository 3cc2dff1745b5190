"""Draw docs/results again from its rows, and put the ledger into docs/findings.md."""

from pathlib import Path

from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.report import write_report
from fcgboost.experiments.reporting import ledger

DOCS = Path(__file__).parent
BEGIN, END = "<!-- ledger: begin -->\n", "<!-- ledger: end -->"


def ledger_of(report: str) -> str:
    """Give the ledger's lines of a report."""
    section = report.partition("## The paper's claims")[2].partition("\n## ")[0]
    return "".join(f"{line}\n" for line in section.splitlines() if line.startswith("|"))


def main() -> None:
    write_report(DOCS / "results", EXPERIMENTS.values(), ledger.section)
    report = (DOCS / "results" / "REPORT.md").read_text(encoding="utf-8")
    page = DOCS / "findings.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{ledger_of(report)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
