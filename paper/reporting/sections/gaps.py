"""Accuracies with missing cells, by their share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting.beyond import in_points, verdicts
from paper.reporting.document import Body
from paper.reporting.frames import LABELS, Rate, judged
from paper.reporting.ledger.frames import GAPS
from paper.reporting.summaries import marks
from paper.reporting.tables import Cell, Table, number, present, row, signed_plus_minus

if TYPE_CHECKING:
    from pandas import DataFrame

_HOW = (
    "The same cells are missing for all methods, in the rows to learn from and in those to test. "
    "Three quarters of the rows train, a quarter tests. Means are over splits "
    "that all methods have, and sets count equally."
)


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Show means by share, and set by set."""
    rows = judged(frame)
    rates = {rate: Rate(rows[rows["rate"] == rate]) for rate in sorted(rows["rate"].unique())}
    rates = {rate: found for rate, found in rates.items() if found.n_splits}
    methods = present(tuple(LABELS), rows, "method")
    tables = [verdicts("gaps", GAPS, frame)]
    if rates:
        tables += [_means(rates, methods), _by_set(rates, methods)]
    return Body((_HOW,), tuple(tables))


def _cells(means: Mapping[str, float], methods: list[str]) -> list[Cell]:
    shown = {one: 100.0 * means.get(one, float("nan")) for one in methods}
    best = marks(shown, 2, largest=True)
    return [Cell(number(shown[one], 2), best[one]) for one in methods]


def _header(methods: list[str]) -> tuple[str, ...]:
    return tuple(LABELS.get(name, name) for name in methods)


def _means(rates: Mapping[float, Rate], methods: list[str]) -> Table:
    lines = []
    for rate, found in rates.items():
        lead = signed_plus_minus(in_points(found.lead()), 2) if found.has_lead else ""
        lines.append(row(f"{rate:.0%}", *_cells(found.means, methods), lead))
    return Table(
        "Mean test accuracies in percent, by the share of missing cells.",
        ("missing", *_header(methods), "ours minus the better"),
        tuple(lines),
        ("± is the standard error of the difference on the same splits.",),
    )


def _by_set(rates: Mapping[float, Rate], methods: list[str]) -> Table:
    lines = [
        row(str(name), f"{rate:.0%}", *_cells(means, methods))
        for rate, found in rates.items()
        for name, means in found.by_set.to_dict(orient="index").items()
    ]
    return Table(
        "Test accuracies in percent, set by set.",
        ("data set", "missing", *_header(methods)),
        tuple(lines),
        n_labels=2,
    )
