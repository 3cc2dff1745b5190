"""The findings page says what the committed rows of the standard run say."""

import re

import pytest

from paper import findings
from paper.base import Experiment
from paper.experiments.sim3 import LEVELS
from paper.findings import DOCS
from paper.methods import METHODS
from paper.registry import EXPERIMENTS
from paper.report import write_report
from paper.reporting import ledger, published
from paper.reporting.ledger.schemes import PARTIAL
from paper.runner import load

ROWS = findings.ROWS / "results"
RESULTS = DOCS / "results"


def rows(name: str):
    return load(EXPERIMENTS[name], ROWS)[0]


#: What "all" does not run may have no rows here.
SHOWN = {
    name: experiment
    for name, experiment in EXPERIMENTS.items()
    if experiment.in_all or (ROWS / f"{name}.csv").exists()
}


@pytest.mark.parametrize("experiment", SHOWN.values(), ids=SHOWN)
def test_the_standard_run_is_complete_or_says_why_not(experiment: Experiment) -> None:
    frame, facts = load(experiment, ROWS)
    assert facts["preset"] == "standard"
    if experiment.name == "earthquake":
        assert facts["obstacle"]
        assert frame.empty
    else:
        assert facts["is_finished"]
        units = experiment.units("standard", None)
        assert len(frame[frame["row"] == 1]) == len(units) == facts["n_units"]


def test_the_report_is_what_the_rows_give(tmp_path) -> None:
    write_report(tmp_path, SHOWN.values(), rows=ROWS)
    drawn = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert drawn == (RESULTS / "REPORT.md").read_text(encoding="utf-8")
    for picture in (tmp_path / "figures").iterdir():
        assert (RESULTS / "figures" / picture.name).exists()


def test_the_page_holds_the_verdicts_of_the_report() -> None:
    report = (RESULTS / "REPORT.md").read_text(encoding="utf-8")
    page = (DOCS / "findings.md").read_text(encoding="utf-8")
    head, _, *lines = findings.verdicts_of(report).splitlines()
    assert findings.verdicts_of(report) in page
    assert head == "|  | Claim | Verdict | Rows |"
    assert len(lines) == len(ledger.CLAIMS)
    for claim, line in zip(ledger.CLAIMS, lines, strict=True):
        assert f"[{claim.experiment}](results/REPORT.md#{claim.experiment})" in line
        assert f'<a id="{claim.experiment}"></a>' in report


def test_pages_show_pictures_that_the_reports_draw() -> None:
    for page in ("evidence.md", "findings.md", "beyond.md", "noise.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        shown = re.findall(r"!\[.+?\]\((results|beyond)/figures/([\w-]+)\.png\)", text)
        assert shown
        for folder, name in shown:
            report = (DOCS / folder / "REPORT.md").read_text(encoding="utf-8")
            assert f"](figures/{name}.png)" in report


def test_squared_hinge_errors_are_near_the_published_ones() -> None:
    frame = rows("sim3").query("correction == 'ridge' and loss == 'squared_hinge'")
    found = frame.groupby(["noise", "level", "dictionary"])["test_error"].agg(["mean", "sem"])
    printed = {(noise, level): share for noise, level, share in LEVELS}
    near = [
        mean
        <= published.sim3(noise, name, printed[noise, level], "squared_hinge")
        + max(0.02, 2.0 * sem)
        for (noise, level, name), (mean, sem) in found.iterrows()
    ]
    assert len(near) == 24
    assert sum(near) >= 20


def test_other_schemes_need_three_times_the_atoms_and_reach_the_same_errors() -> None:
    frame = rows("sim4").query("width == 'cv'")
    atoms = frame.query("kind == 'reach'").groupby("scheme")["atoms"].mean()
    assert min(atoms[scheme] for scheme in PARTIAL) >= 3.0 * atoms["fully_corrective"]
    assert set(frame.query("kind == 'best'")["scheme"]) >= {*PARTIAL, "fully_corrective"}


def test_every_cell_of_the_real_data_table_is_filled() -> None:
    frame = rows("uci").query("split == 'random'")
    counts = frame.groupby(["dataset", "method"])["accuracy"].count()
    assert len(counts) == 11 * len(METHODS)
    large = ("default_credit_card_clients", "Skin_NonSkin")
    assert counts.drop(list(large), level="dataset").min() >= 10
    assert counts.min() >= 2
