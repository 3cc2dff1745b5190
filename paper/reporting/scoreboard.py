"""Ours beside the strongest rival in one table: better, tie or worse by two standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from paper.reporting import contest, frames
from paper.reporting.contest import AUTO, COMPACT, by_set, complete, in_points, ranks
from paper.reporting.document import Section
from paper.reporting.frames import AS_IT_IS, Rate
from paper.reporting.ledger.base import Frames
from paper.reporting.summaries import Summary, summarize
from paper.reporting.tables import Table, number, row, signed_plus_minus

if TYPE_CHECKING:
    from pandas import DataFrame

Verdict = Literal["better", "tie", "worse"]
HEADER = ("Question", "Data", "fcgboost", "Rival", "Difference", "Verdict")
_NOISE = 0.3
_MOST_NOISE = 0.4
_LEARNERS = ("default", "hinge", "svm_rbf", "lightgbm", "xgboost", "random_forest")


class Line(NamedTuple):
    """A question, the data, both figures, and their difference as text; its verdict."""

    question: str
    data: str
    ours: str
    rival: str
    difference: str
    verdict: Verdict


def section(found: Frames) -> Section | None:
    """Give the table of all comparisons whose rows are there; None if there are none."""
    writers: dict[str, Callable[[DataFrame], Iterator[Line]]] = {
        "contest": _contest,
        "tables": _tables,
        "gaps": _gaps,
        "robustness": _robustness,
    }
    lines = [
        line
        for name, write in writers.items()
        if name in found and len(found[name])
        for line in write(found[name])
    ]
    if not lines:
        return None
    notes = (
        "Better and worse are differences of more than two standard errors, a tie is less. The "
        "error (±) is over data sets; with missing cells, and on a single table, over splits. "
        "Seconds and sizes are medians over data sets; their ratio is a geometric mean, with the "
        "interval of two standard errors. The rival is the strongest by that figure unless the "
        "question names it.",
    )
    rows = tuple(row(*line) for line in lines)
    table = Table("fcgboost beside rivals.", HEADER, rows, notes, n_labels=2)
    return Section("Beside rivals", tables=(table,), name="scoreboard")


def judge(difference: Summary, *, largest: bool) -> Verdict:
    """Judge ours minus a rival's by two standard errors.

    >>> judge(Summary(0.5, 0.2, 11), largest=True), judge(Summary(0.3, 0.2, 11), largest=True)
    ('better', 'tie')
    """
    gain = difference.mean if largest else -difference.mean
    if not abs(gain) > 2.0 * difference.error:
        return "tie"
    return "better" if gain > 0.0 else "worse"


class _Field:
    """Means by data set of ours and of rivals, on the splits that all have."""

    def __init__(self, data: str, rows: DataFrame, ours: str, labels: Mapping[str, str]) -> None:
        self.data, self.rows, self.ours, self.labels = data, rows, ours, labels

    def compare(
        self,
        question: str,
        column: str,
        rival: str | None = None,
        *,
        digits: int = 2,
        percent: bool = False,
        largest: bool = True,
    ) -> Line:
        """Compare means over sets with a rival's, by default with the best."""
        wide = by_set(self.rows, column) * (100.0 if percent else 1.0)
        return self._line(question, wide, rival, largest, digits, " %" if percent else "")

    def compare_ranks(self, question: str, column: str, *, largest: bool) -> Line:
        """Compare mean ranks with the best rival's."""
        return self._line(question, ranks(self.rows, column, largest=largest), None, False, 2, "")

    def _line(
        self,
        question: str,
        wide: DataFrame,
        rival: str | None,
        largest: bool,
        digits: int,
        unit: str,
    ) -> Line:
        means = wide.drop(columns=self.ours).mean()
        rival = rival or str(means.idxmax() if largest else means.idxmin())
        difference = summarize(wide[self.ours] - wide[rival])
        return Line(
            question,
            self.data,
            f"{number(float(wide[self.ours].mean()), digits)}{unit}",
            f"{self.labels[rival]} {number(float(means[rival]), digits)}{unit}",
            signed_plus_minus(difference, digits),
            judge(difference, largest=largest),
        )

    def compare_costs(
        self, question: str, column: str, rival: str, digits: int, unit: str = ""
    ) -> Line:
        """Compare seconds or sizes as ratios, of which less is better."""
        wide = by_set(self.rows, column)
        ratio = summarize(np.log(wide[self.ours] / wide[rival]))
        low, high = (exp(ratio.mean + side * ratio.error) for side in (-2.0, 2.0))
        ours, theirs = (f"{wide[name].median():,.{digits}f}{unit}" for name in (self.ours, rival))
        return Line(
            question,
            self.data,
            ours,
            f"{self.labels[rival]} {theirs}",
            f"{exp(ratio.mean):.2g} × ({low:.2g} to {high:.2g})",
            judge(ratio, largest=False),
        )


def _has_sets(rows: DataFrame) -> bool:
    return bool(rows["dataset"].nunique() > 1)


def _contest(frame: DataFrame) -> Iterator[Line]:
    for noise, labels in ((0.0, "clean labels"), (_NOISE, "30 % of labels flipped")):
        rows = complete(frame[frame["noise"] == noise], (*contest.RIVALS, AUTO, COMPACT))
        if not _has_sets(rows):
            continue
        data = f"{rows['dataset'].nunique()} data sets, {labels}"
        ours, small = (
            _Field(data, rows[rows["method"] != other], one, contest.LABELS)
            for one, other in ((AUTO, COMPACT), (COMPACT, AUTO))
        )
        yield ours.compare("Mean accuracy", "accuracy", percent=True)
        yield ours.compare("Mean accuracy beside LightGBM", "accuracy", "lightgbm", percent=True)
        if not noise:
            yield from _clean(ours)
            yield small.compare_costs("Numbers stored by compact", "stored_numbers", "lightgbm", 0)
        yield small.compare("Mean accuracy of compact", "accuracy", "lightgbm", percent=True)


def _clean(ours: _Field) -> Iterator[Line]:
    yield ours.compare_ranks("Mean rank by accuracy", "accuracy", largest=True)
    yield ours.compare("Mean log-loss", "log_loss", digits=4, largest=False)
    for rival in ("catboost", "lightgbm"):
        yield ours.compare_costs("CPU time, tuning included", "seconds_tune", rival, 2, " s")
    yield ours.compare_costs("Numbers stored", "stored_numbers", "lightgbm", 0)


def _tables(frame: DataFrame) -> Iterator[Line]:
    rows = complete(frames.judged(frame), (AS_IT_IS, *frames.RIVALS))
    if not _has_sets(rows):
        return
    data = f"{rows['dataset'].nunique()} tables with text and gaps, ours untuned"
    field = _Field(data, rows, AS_IT_IS, frames.LABELS)
    for column, largest in frames.JUDGED.items():
        yield field.compare_ranks(f"Mean rank by {frames.NAMES[column]}", column, largest=largest)
    gaps = frames.table_gaps(rows, AS_IT_IS, "auc")
    worst = min(gaps, key=lambda name: gaps[name].difference.mean)
    rival, difference = gaps[worst]
    means = 100.0 * by_set(rows, "auc").loc[worst]
    yield Line(
        "AUC on the table where it is worst",
        worst,
        f"{means[AS_IT_IS]:.2f} %",
        f"{frames.LABELS[rival]} {means[rival]:.2f} %",
        signed_plus_minus(in_points(difference), 2),
        judge(difference, largest=True),
    )
    yield field.compare_costs("CPU time, both with defaults", "seconds", "catboost", 2, " s")


def _gaps(frame: DataFrame) -> Iterator[Line]:
    for rate, rows in frames.judged(frame).groupby("rate"):
        found = Rate(rows)
        if not found.has_lead:
            continue
        lead, rival = found.lead(), found.best
        yield Line(
            "Mean accuracy, all with defaults",
            f"{len(found.by_set)} data sets, {100 * rate:g} % of cells missing",
            f"{100.0 * found.means[AS_IT_IS]:.2f} %",
            f"{frames.LABELS[rival]} {100.0 * found.means[rival]:.2f} %",
            signed_plus_minus(in_points(lead), 2),
            judge(lead, largest=True),
        )


def _robustness(frame: DataFrame) -> Iterator[Line]:
    rows = frame[(frame["noise"] == _MOST_NOISE) & frame["model"].isin(_LEARNERS)]
    rows = complete(rows.assign(method=rows["model"]), _LEARNERS)
    if not _has_sets(rows):
        return
    labels = {**contest.LABELS, "hinge": "Gauss atoms, hinge loss"}
    data = f"{rows['dataset'].nunique()} data sets, 40 % of labels flipped"
    yield _Field(data, rows, "default", labels).compare("Mean accuracy", "accuracy", percent=True)
