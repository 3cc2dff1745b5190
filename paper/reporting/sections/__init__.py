"""One section of the report per experiment, from its rows and the facts about them.

Every writer takes a frame whose rows may be few or in any order, shows what is there, and says
what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paper.base import Experiment
from paper.display import duration
from paper.reporting.document import Body, Section
from paper.reporting.sections import (
    admm_vs_gd,
    atoms,
    calibration,
    contest,
    earthquake,
    gaps,
    leaves,
    rates,
    robustness,
    samples,
    sim1,
    sim2,
    sim3,
    sim4,
    sizes,
    tables,
    uci,
)
from paper.reporting.tables import ABSENT, Table, row

if TYPE_CHECKING:
    from pandas import DataFrame

Facts = Mapping[str, Any]
Writer = Callable[["DataFrame", Facts], Body]

WRITERS: Mapping[str, Writer] = {
    "admm-vs-gd": admm_vs_gd.write,
    "samples": samples.write,
    "sim1": sim1.write,
    "sim2": sim2.write,
    "sim3": sim3.write,
    "sim4": sim4.write,
    "sizes": sizes.write,
    "uci": uci.write,
    "earthquake": earthquake.write,
    "earthquake-italy": earthquake.write_italy,
    "rates": rates.write,
    "contest": contest.write,
    "robustness": robustness.write,
    "calibration": calibration.write,
    "atoms": atoms.write,
    "leaves": leaves.write,
    "tables": tables.write,
    "gaps": gaps.write,
}


def section(experiment: Experiment[Any], frame: DataFrame | None, facts: Facts | None) -> Section:
    """Write the section of an experiment; frame and facts are None where it was never started."""
    body = Body(("This experiment has not been run: there are no rows of it.",))
    if frame is None or facts is None:
        return _section(experiment, body)
    if facts.get("obstacle"):
        return _section(
            experiment, Body((f"This experiment has not been run. {facts['obstacle']}",))
        )
    body = WRITERS[experiment.name](frame, facts) if len(frame) else Body()
    body = replace(body, paragraphs=(*_state(frame, facts), *body.paragraphs))
    return _section(experiment, body).sourced(
        str(facts.get("command", "an unknown command")), str(facts.get("version", "?"))
    )


def circumstances(
    loaded: Iterable[tuple[Experiment[Any], DataFrame | None, Facts | None]],
) -> Section:
    """Say how the rows of all experiments were made."""
    rows = []
    for experiment, frame, facts in loaded:
        if frame is None or facts is None:
            continue
        units = frame[frame["row"] == 1]
        software = (str(facts.get(part, ABSENT)) for part in ("python", "numpy", "scikit-learn"))
        spent = duration(float(units["unit_seconds"].sum()))
        done = f"{len(units)} of {facts.get('n_units', ABSENT)}"
        place = (str(facts.get("version", ABSENT)), *software, str(facts.get("cores", ABSENT)))
        rows.append(row(experiment.name, str(facts.get("command", ABSENT)), done, spent, *place))
    header = ("experiment", "command", "units", "time of all units", "fcgboost", "Python", "NumPy")
    table = Table(
        "Commands, software and time spent.",
        (*header, "scikit-learn", "cores"),
        tuple(rows),
        ("The time is summed over units, each on one core.",),
        n_labels=2,
    )
    return Section("How the rows were made", (), (table,), name="circumstances")


def _section(experiment: Experiment[Any], body: Body) -> Section:
    paragraphs = (experiment.about, *body.paragraphs)
    return Section(experiment.title, paragraphs, body.tables, body.figures, experiment.name)


def _state(frame: DataFrame, facts: Facts) -> tuple[str, ...]:
    if facts.get("is_finished"):
        return ()
    done = int((frame["row"] == 1).sum())
    return (
        f"This experiment is not finished: {done} of {facts.get('n_units', '?')} units are "
        "there. What follows is drawn from those.",
    )
