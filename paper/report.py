"""From stored rows to a report: Markdown, one HTML file, and the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from paper.base import Experiment
from paper.files import replace_file
from paper.reporting import ledger, scoreboard
from paper.reporting.document import Section
from paper.reporting.markdown import write_markdown
from paper.reporting.sections import circumstances, section
from paper.reporting.webpage import write_page
from paper.runner import load

if TYPE_CHECKING:
    from pandas import DataFrame

#: Where an output folder holds the rows.
ROWS = "rows"


class Heading(NamedTuple):
    """What stands above the sections."""

    title: str
    intro: tuple[str, ...]


PAPER = Heading(
    "The paper's experiments, run again",
    (
        "Every table and figure here is drawn from stored rows, one file per experiment. "
        "“Paper” means the printed figure; a difference is ours minus the paper's.",
        "A cell with a footnote sign departs from the paper's protocol as the footnote says.",
    ),
)
BEYOND = Heading(
    "Experiments beyond the paper",
    (
        "Every table here is drawn from stored rows, one file per experiment. None of it is in "
        "the paper. The first table of a section lists its claims, with verdicts computed from the "
        "rows.",
        "A footnote marks what was tuned or fitted with less effort. Seconds may have been "
        "measured beside other work; compare them within a table only.",
    ),
)

#: Judges by the rows of all experiments: the paper's claims, or ours beside rivals.
Judge = Callable[[Mapping[str, "DataFrame"]], Section | None]
#: The first sections of a report, where their rows are there.
JUDGES: tuple[Judge, ...] = (ledger.section, scoreboard.section)


def write_report(
    out: Path,
    experiments: Iterable[Experiment[Any]],
    *,
    rows: Path | None = None,
    judges: Sequence[Judge] = JUDGES,
) -> Path:
    """Write REPORT.md, report.html and figures/ from stored rows.

    Parameters
    ----------
    out : Path
    experiments : iterable of Experiment
        In the order of the report. One that has no rows has a section that says so.
    rows : Path or None
        Where the rows are; None is `out`/rows.
    judges : sequence of callable
        Each gives a first section, or None, from the data frames of all experiments that have
        rows, by name.

    Returns
    -------
    Path
        Of the HTML file.
    """
    shown = list(experiments)
    loaded = [(experiment, *_load(experiment, rows or out / ROWS)) for experiment in shown]
    sections = [section(*found) for found in loaded]
    frames = {experiment.name: frame for experiment, frame, _ in loaded if frame is not None}
    first = [found for judge in judges if (found := judge(frames)) is not None]
    return _write(out, heading(shown), [*first, *sections, circumstances(loaded)])


def heading(experiments: Sequence[Experiment[Any]]) -> Heading:
    """Give the paper's heading, unless nothing here is the paper's."""
    is_paper = not experiments or any(experiment.in_all for experiment in experiments)
    return PAPER if is_paper else BEYOND


def _load(
    experiment: Experiment[Any], folder: Path
) -> tuple[DataFrame | None, dict[str, Any] | None]:
    """Give rows and facts, or nothing where the experiment was never started."""
    if not (folder / f"{experiment.name}.csv").exists():
        return None, None
    return load(experiment, folder)


def _write(out: Path, head: Heading, sections: Sequence[Section]) -> Path:
    for part in sections:
        for picture in part.figures:
            replace_file(out / "figures" / f"{picture.name}.png", picture.png)
    replace_file(out / "REPORT.md", write_markdown(*head, sections))
    page = out / "report.html"
    replace_file(page, write_page(*head, sections))
    return page
