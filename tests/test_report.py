"""The report says what the rows say: summaries, marks, footnotes, both formats, and gaps."""

import csv
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_frames import FINISHED, frame_of

from fcgboost.experiments import figures, published
from fcgboost.experiments.base import Experiment
from fcgboost.experiments.document import Picture, Section
from fcgboost.experiments.markdown import escape, write_markdown
from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.report import write_report
from fcgboost.experiments.sections import WRITERS, section, sim3
from fcgboost.experiments.sections.earthquake import draw_map
from fcgboost.experiments.sim3 import Sim3
from fcgboost.experiments.store import Store
from fcgboost.experiments.summaries import (
    Summary,
    carried,
    fit_slope,
    flags,
    growth,
    marks,
    paired,
    summaries,
    summarize,
)
from fcgboost.experiments.tables import (
    Cell,
    Table,
    deviations,
    difference,
    plus_minus,
    repetitions,
    row,
)
from fcgboost.experiments.webpage import write_page

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


def table(*rows: tuple[Cell, ...], **options: Any) -> Table:
    return Table("caption", ("a", "b"), rows, **options)


def page_and_text(*tables: Table) -> tuple[str, str]:
    sections = [Section("title", tables=tables)]
    return write_page("t", (), sections), write_markdown("t", (), sections)


def store_rows(
    folder: Path, experiment: Experiment[Any], units: list[list[dict[str, Any]]]
) -> None:
    store = Store(folder, experiment.name, experiment.settings, experiment.results)
    facts = {**FINISHED, "preset": "quick", "split": None, "n_units": len(units)}
    store.create({**facts, "command": "fcgboost reproduce sim3 --preset quick"})
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


# Summaries


def test_a_mean_and_its_standard_error_are_those_by_hand() -> None:
    # Deviations -2, 0, 2: variance 8 / 2 = 4, standard error sqrt(4 / 3).
    found = summarize([1.0, 3.0, 5.0])
    assert found == pytest.approx((3.0, np.sqrt(4.0 / 3.0), 3))


@pytest.mark.parametrize(("values", "n"), [([], 0), ([NAN], 0), ([2.0], 1), ([2.0, NAN], 1)])
def test_fewer_than_two_values_have_no_standard_error(values: list[float], n: int) -> None:
    found = summarize(values)
    assert found.n == n
    assert np.isnan(found.error)


def test_a_paired_change_uses_only_repetitions_that_have_both() -> None:
    frame = pd.DataFrame(
        {"repetition": [0, 0, 1, 1, 2], "n": [1, 2, 1, 2, 1], "e": [0.1, 0.3, 0.2, 0.6, 9.0]}
    )
    assert paired(frame, "e", "n", 1, 2) == pytest.approx((0.3, 0.1, 2))
    assert paired(frame, "e", "n", 1, 7).n == 0


def test_a_path_that_ended_keeps_its_last_value() -> None:
    frame = pd.DataFrame({"repetition": [0, 0, 1], "k": [1, 5, 1], "e": [0.4, 0.2, 0.3]})
    assert carried(frame, "e").to_numpy().tolist() == [[0.4, 0.3], [0.2, 0.3]]


def test_truth_values_are_read_from_words_and_numbers() -> None:
    assert flags(pd.Series(["True", "False", "1", "0", 1.0])).tolist() == [1, 0, 1, 0, 1]


def test_best_and_second_share_marks_on_ties() -> None:
    values = {"a": 97.004, "b": 97.001, "c": 96.5, "d": 96.5, "e": NAN, "f": 90.0}
    found = marks(values, 2, largest=True)
    assert found == {"a": "best", "b": "best", "c": "second", "d": "second", "e": "", "f": ""}
    assert marks({"a": 1.0, "b": 2.0}, 2, second=False) == {"a": "best", "b": ""}
    assert marks({"a": NAN}, 2) == {"a": ""}


@pytest.mark.parametrize("exponent", [-0.25, -0.5])
def test_the_slope_recovers_a_known_exponent(exponent: float) -> None:
    random = np.random.default_rng(0)
    sizes = np.repeat([250 * 2**i for i in range(8)], 20)
    noise = random.uniform(0.8, 1.2, len(sizes))
    frame = pd.DataFrame({"n_samples": sizes, "risk": 0.3 * growth(sizes) ** exponent * noise})
    found = fit_slope(frame, "risk")
    assert found is not None
    assert found.slope == pytest.approx(exponent, abs=0.02)
    assert found.low <= exponent <= found.high
    assert found.high - found.low < 0.1
    shuffled = frame.sample(frac=1.0, random_state=1)
    assert fit_slope(shuffled, "risk") == found


def test_an_exact_power_law_has_an_interval_of_no_width() -> None:
    sizes = np.repeat([250, 1000, 4000], 3)
    frame = pd.DataFrame({"n_samples": sizes, "risk": 2.0 * growth(sizes) ** -0.5})
    assert fit_slope(frame, "risk") == pytest.approx((-0.5, np.log(2.0), -0.5, -0.5))


@pytest.mark.parametrize("risks", [[0.1], [0.1, 0.0], [0.1, NAN]])
def test_no_slope_is_drawn_through_fewer_than_two_positive_means(risks: list[float]) -> None:
    sizes = [250, 500][: len(risks)]
    assert fit_slope(pd.DataFrame({"n_samples": sizes, "risk": risks}), "risk") is None


# Published figures


def test_published_figures_are_those_of_the_paper() -> None:
    assert published.sim3("outlier", "relu", 0.1283, "squared_hinge") == 0.0156
    assert published.sim3("uniform", "relu", 0.5, "hinge") is None
    assert published.sim4("fully_corrective") == (0.0229, 0.3076, 12.6)
    assert published.sim4("letter") is None
    assert published.uci("heart", "fcg_relu") == 89.93
    assert published.earthquake("baseline") is None
    assert published.admm_vs_gd() == (0.034, 0.53)
    assert len(published.datasets()) == 11


def test_printed_marks_follow_the_paper_also_where_it_slips() -> None:
    assert published.sim3_best("outlier", "polynomial", 0.1283) == "squared_hinge"
    assert published.sim3_best("outlier", "polynomial", 0.1731) == "hinge"
    htru2 = published.uci_marks("HTRU2")
    assert {name: mark for name, mark in htru2.items() if mark} == {
        "fcg_relu": "best",
        "baseline": "second",
    }
    banknote = [
        name for name, mark in published.uci_marks("banknote_authentication").items() if mark
    ]
    assert banknote == ["fcg_gauss", "fcg_polynomial", "fcg_relu"]


# Tables in both formats


def test_numbers_are_written_with_their_error_and_sign() -> None:
    assert plus_minus(Summary(0.02391, 0.00104, 20), 4) == "0.0239 ± 0.0010"
    assert plus_minus(Summary(0.02391, NAN, 1), 4) == "0.0239"
    assert plus_minus(summarize([]), 4) == "–"
    # Of the rounded figures, so that a reader finds it right: 0.0239 - 0.0238.
    assert difference(0.02386, 0.0238, 4) == "+0.0001"
    assert difference(0.01, 0.0238, 4) == "−0.0138"
    assert difference(0.01, None, 4) == "–"


def test_repetitions_are_counted_in_words() -> None:
    assert repetitions([20, 20]) == "Mean ± standard error over 20 repetitions."
    assert "3 to 20" in repetitions([20, 3, 0])
    assert "no standard error" in repetitions([1, 1])
    assert "No repetition" in repetitions([])


def test_marks_have_a_cue_beside_colour() -> None:
    page, text = page_and_text(table(row("x", Cell("1", "best")), row("y", Cell("2", "second"))))
    assert '<b class="best">1</b>' in page
    assert '<i class="second">2</i>' in page
    assert "| x | **1** |" in text
    assert "| y | *2* |" in text
    assert "**bold**: best, *italic*: second." in text


def test_deviations_are_footnotes_of_their_cells() -> None:
    made = table(
        row("x", Cell("1", note="one fold")),
        row("y", Cell("2", note="thinned; one fold")),
        row("z", Cell("3")),
    )
    page, text = page_and_text(made)
    assert made.footnotes() == {"one fold": "†", "thinned": "‡"}
    assert "| x | 1† |" in text
    assert "| y | 2‡,† |" in text
    assert "| z | 3 |" in text
    assert "† one fold" in text
    assert "<td>2<sup>‡,†</sup></td>" in page.replace(' class="open"', "")
    assert "<sup>‡</sup> thinned" in page


def test_many_footnotes_have_distinct_signs() -> None:
    made = table(*(row("x", Cell("1", note=f"note {i}")) for i in range(12)))
    assert len(set(made.footnotes().values())) == 12


def test_deviations_of_repetitions_are_named_once_and_nothing_is_none() -> None:
    frame = pd.DataFrame({"deviation": ["b; a", "a", "", None, NAN]})
    assert deviations(frame) == "a; b"
    assert deviations(frame[["deviation"]].iloc[2:]) == ""
    assert deviations(pd.DataFrame({"x": [1]})) == ""


def test_text_is_escaped() -> None:
    hostile = "<script>alert('x')</script> & a|b *c* _d_ `e` [f](g)"
    sections = [
        Section(
            hostile,
            (hostile,),
            (Table(hostile, (hostile,), (row(Cell(hostile, note=hostile)),), (hostile,), hostile),),
            (Picture("p", hostile, b"png"),),
        )
    ]
    page = write_page(hostile, (hostile,), sections)
    assert "<script" not in page
    assert "script" not in Checker(page).tags
    text = write_markdown(hostile, (hostile,), sections)
    # Within backticks nothing is markup.
    outside = re.sub(r"`[^`]*`", "", text.replace("\\`", "").replace("\\<", ""))
    assert "<script" not in outside
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 2 for line in lines)
    assert escape("a_b") == "a\\_b"


def test_a_table_names_its_command_unless_it_is_the_papers_own() -> None:
    made = Section("s", tables=(table(), table(is_printed=True))).sourced("fcgboost x", "9.9")
    page, text = page_and_text(*made.tables)
    assert page.count("<code>fcgboost x</code>, fcgboost 9.9") == 1
    assert text.count("Made by `fcgboost x`, fcgboost 9.9.") == 1


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
    assert draw_map(places, places + 0.5, [1.0, -1.0, 1.0]).png.startswith(b"\x89PNG")


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
        assert "fcgboost reproduce sim3 --preset quick" in text
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

    page = write_report(tmp_path, [EXPERIMENTS["sim3"], EXPERIMENTS["rates"]], ledger)
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
