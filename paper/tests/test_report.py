"""The report says what the rows say: summaries, marks, footnotes, both formats, and gaps."""

import csv
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_frames import FINISHED, frame_of

from paper.base import Experiment
from paper.experiments.sim3 import Sim3
from paper.registry import EXPERIMENTS
from paper.report import write_report
from paper.reporting import figures
from paper.reporting.document import Picture, Section
from paper.reporting.markdown import write_markdown
from paper.reporting.sections import WRITERS, section, sim3
from paper.reporting.sections.earthquake import draw_map
from paper.reporting.summaries import (
    Summary,
    summaries,
)
from paper.reporting.tables import (
    difference,
    plus_minus,
)
from paper.reporting.webpage import write_page
from paper.store import Store

each_experiment = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
NAN = float("nan")
draw_fully = figures.picture


class Checker(HTMLParser):
    """Fails on tags that do not nest; keeps what would be loaded."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.targets += [found["href"]] if "href" in found else []
        self.loaded += [found[name] for name in ("src", "data", "srcset") if name in found]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


@pytest.fixture(autouse=True)
def _coarse_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few pixels without arranging them, which takes a third of the time."""

    def draw(figure: Any, name: str, caption: str) -> Picture:
        figure.set_layout_engine("none")
        return draw_fully(figure, name, caption)

    monkeypatch.setattr(figures, "DPI", 20)
    monkeypatch.setattr(figures, "picture", draw)


def section_of(experiment: Experiment[Any], frame: pd.DataFrame) -> Section:
    return section(experiment, frame, {**FINISHED, "command": f"run {experiment.name}"})


def store_rows(
    folder: Path, experiment: Experiment[Any], units: list[list[dict[str, Any]]]
) -> None:
    store = Store(folder, experiment.name, experiment.settings, experiment.results)
    facts = {**FINISHED, "preset": "quick", "split": None, "n_units": len(units)}
    store.create({**facts, "command": "python -m paper run sim3 --preset quick"})
    for rows in units:
        store.append(rows, 1.0)


def sim3_units() -> list[list[dict[str, Any]]]:
    """Give rows for every unit of the quick preset."""
    units = Sim3().units("quick", None)
    made = []
    for i, unit in enumerate(units):
        results = {"correction": "ridge", "steps": 13, "atoms": 13, "parameter": 0.5}
        rows = [
            unit.row(loss=loss, test_error=0.02 + 0.001 * ((7 * i + 3 * j) % 11), **results)
            for j, loss in enumerate(("squared_hinge", "hinge", "cubed_hinge", "square"))
        ]
        made.append([{**found, "deviation": None} for found in rows])
    return made


# Sections


def test_every_experiment_has_a_section() -> None:
    assert set(WRITERS) == set(EXPERIMENTS)


@each_experiment
def test_a_section_shows_tables_and_pictures_of_reasonable_size(
    experiment: Experiment[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    made = section_of(experiment, frame_of(experiment))
    assert made.tables or made.figures
    assert all(len(row) == len(t.header) for t in made.tables for row in t.rows)
    assert all(not t.groups or sum(n for _, n in t.groups) == len(t.header) for t in made.tables)
    assert all(p.png.startswith(b"\x89PNG") and len(p.png) < 120_000 for p in made.figures)
    assert all(t.command == f"run {experiment.name}" for t in made.tables if not t.is_printed)


@each_experiment
def test_the_order_of_rows_leaves_no_trace(
    experiment: Experiment[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if experiment.name not in ("sim2", "sim4"):  # two stand for all: drawing takes long
        monkeypatch.setattr(figures, "picture", lambda _, *names: Picture(*names, b""))
    frame = frame_of(experiment)
    shuffled = frame.sample(frac=1.0, random_state=3).reset_index(drop=True)
    ours, theirs = section_of(experiment, frame), section_of(experiment, shuffled)
    assert ours.tables == theirs.tables
    assert ours.paragraphs == theirs.paragraphs
    assert ours.figures == theirs.figures


@each_experiment
@pytest.mark.parametrize("n_rows", [1, 40])
def test_a_few_rows_are_shown_without_complaint(experiment: Experiment[Any], n_rows: int) -> None:
    frame = frame_of(experiment)
    part = frame.sample(min(n_rows, len(frame)), random_state=n_rows)
    facts = {**FINISHED, "is_finished": False, "n_units": 99}
    made = section(experiment, part, facts)
    assert f"not finished: {len(part)} of 99 units" in " ".join(made.paragraphs)
    assert "nan" not in write_markdown("t", (), [made])


@each_experiment
def test_missing_measurements_are_shown_as_missing(experiment: Experiment[Any]) -> None:
    frame = frame_of(experiment)
    measured = [
        name
        for name in ("test_error", "accuracy", "excess_risk", "excess_loss", "total_seconds")
        if name in frame
    ]
    if measured and experiment.name != "sim1":  # its pictures are many, and those of sim2 alike
        made = section_of(experiment, frame.assign(**dict.fromkeys(measured, NAN)))
        assert "nan" not in write_markdown("t", (), [made])


def test_an_absent_experiment_and_an_obstacle_are_said_plainly() -> None:
    experiment = EXPERIMENTS["sim1"]
    absent = section(experiment, None, None)
    assert "has not been run" in absent.paragraphs[-1]
    frame = frame_of(experiment).iloc[:0]
    blocked = section(experiment, frame, {**FINISHED, "obstacle": "The file is not there."})
    assert "has not been run. The file is not there." in blocked.paragraphs[-1]
    assert not blocked.tables


def test_close_to_the_paper_is_below_or_near() -> None:
    assert sim3.is_close(Summary(0.010, 0.001, 10), 0.03)
    assert sim3.is_close(Summary(0.045, 0.001, 10), 0.03)
    assert not sim3.is_close(Summary(0.055, 0.001, 10), 0.03)
    assert sim3.is_close(Summary(0.055, 0.015, 10), 0.03)
    assert not sim3.is_close(Summary(0.055, NAN, 1), 0.03)


def test_sim3_counts_cells_and_shows_ours_beside_the_paper() -> None:
    experiment = EXPERIMENTS["sim3"]
    frame = frame_of(experiment)
    made = section_of(experiment, frame)
    assert len(made.tables) == 4
    assert "in 24 of 24 cells" in made.paragraphs[1]
    mean = summaries(frame, ["noise", "level", "dictionary", "loss", "correction"], "test_error")
    first = made.tables[0].rows[0]
    ours = mean["uniform", 0.2, "gauss", "squared_hinge", "ridge"]
    assert [cell.text for cell in first[:4]] == ["20 %", "Gauss", plus_minus(ours, 4), "0.0239"]
    assert first[4].text == difference(ours.mean, 0.0239, 4)
    by_admm = made.tables[2].rows[0]
    assert by_admm[2].note == "one fold"
    assert first[2].note == ""


def test_sim4_says_where_a_scheme_never_reached_the_goal() -> None:
    made = section_of(EXPERIMENTS["sim4"], frame_of(EXPERIMENTS["sim4"]))
    reach = {cells[0].text: cells for cells in made.tables[1].rows}
    assert reach["ε-boosting"][1].text == "3 of 4"
    assert reach["ε-boosting"][3].text.startswith("≥ ")
    assert not reach["original"][3].text.startswith("≥")
    assert reach["fully corrective"][4].text == "1.0"


def test_a_map_is_drawn_from_coordinates() -> None:
    places = np.array([[-120.0, 35.0], [-119.0, 36.0], [-90.0, 40.0]])
    picture = draw_map(
        places,
        places + 0.5,
        [1.0, -1.0, 1.0],
        "map",
        "Where.",
    )
    assert picture.png.startswith(b"\x89PNG")
    assert picture.summary == "Where"


# The whole report


def test_the_report_is_written_from_stored_rows_in_any_order(tmp_path: Path) -> None:
    units = sim3_units()
    experiments = [EXPERIMENTS["sim3"], EXPERIMENTS["earthquake"]]
    for name, order in (("a", 1), ("b", -1)):
        store_rows(tmp_path / name / "rows", EXPERIMENTS["sim3"], units[::order])
        assert write_report(tmp_path / name, experiments) == tmp_path / name / "report.html"
    for file in ("REPORT.md", "report.html"):
        text = (tmp_path / "a" / file).read_text(encoding="utf-8")
        assert text == (tmp_path / "b" / file).read_text(encoding="utf-8")
        assert "has not been run" in text
        assert "python -m paper run sim3 --preset quick" in text
    assert not list((tmp_path / "a").glob(".*"))


def test_a_unit_cut_off_by_a_crash_is_left_out(tmp_path: Path) -> None:
    store_rows(tmp_path / "rows", EXPERIMENTS["sim3"], sim3_units())
    path = tmp_path / "rows" / "sim3.csv"
    with path.open(encoding="utf-8", newline="") as file:
        n_rows = len(list(csv.reader(file))) - 1
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex("\n", 0, -1) + 20], encoding="utf-8")
    write_report(tmp_path, [EXPERIMENTS["sim3"]])
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert n_rows == 96
    assert "| 23 of 24 |" in report


def test_a_ledger_comes_first(tmp_path: Path) -> None:
    store_rows(tmp_path / "rows", EXPERIMENTS["sim3"], sim3_units())
    seen: list[str] = []

    def ledger(frames: Any) -> Section:
        seen.extend(frames)
        return Section("The paper's claims", ("All of them.",), name="claims")

    page = write_report(tmp_path, [EXPERIMENTS["sim3"], EXPERIMENTS["rates"]], judges=[ledger])
    text = page.read_text(encoding="utf-8")
    assert seen == ["sim3"]
    assert text.index('id="claims"') < text.index('id="sim3"')


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    experiments = [EXPERIMENTS[name] for name in ("sim2", "sim3", "samples", "earthquake")]
    sections = [section_of(experiment, frame_of(experiment)) for experiment in experiments]
    found = Checker(write_page("The report", ("Intro.",), sections))
    assert not found.open
    assert all(source.startswith("data:image/png;base64,") for source in found.loaded)
    assert len(found.loaded) == sum(len(part.figures) for part in sections)
    assert not {"script", "link", "iframe", "object"} & set(found.tags)
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.targets) == {f"#{name}" for name in found.ids}


def test_the_style_sheet_loads_nothing_and_serves_the_dark_and_the_printer() -> None:
    page = write_page("t", (), [replace(Section("s"), name="s")])
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in page
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    assert "overflow-x: auto" in style
