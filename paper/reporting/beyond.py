"""What the reports of experiments that are not in the paper share: paired comparisons over sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paper.base import CLIPPING
from paper.reporting import published
from paper.reporting.ledger.base import Claim
from paper.reporting.summaries import (
    NOTHING,
    Summary,
    marks,
    paired,
    summaries,
    summarize,
)
from paper.reporting.tables import (
    Cell,
    Table,
    number,
    plus_minus,
    present,
    row,
)

if TYPE_CHECKING:
    from pandas import DataFrame


def verdicts(name: str, claims: Sequence[Claim], frame: DataFrame) -> Table:
    """Judge an experiment's claims by its rows."""
    rows = []
    for claim in claims:
        verdict, evidence = claim.finding({name: frame})
        rows.append(row(claim.text, verdict, evidence))
    return Table("Claims and verdicts.", ("Claim", "Verdict", "Evidence"), tuple(rows), n_labels=3)


def common(frame: DataFrame, models: Sequence[str], cells: Sequence[str]) -> DataFrame:
    """Give the rows of these models where all of them have one."""
    rows = frame[frame["model"].isin(models)]
    counts = rows.groupby(list(cells))["model"].transform("nunique")
    return rows[counts == len(models)]


def clipped(facts: Mapping[str, Any]) -> str:
    """Say where probabilities were clipped for the log-losses in stored rows."""
    made = facts.get("clipping", "an unknown amount")
    later = "" if made == CLIPPING else f" (in a new run at {CLIPPING})"
    return f"clipped at {made}{later}"


def by_set(frame: DataFrame, column: str, first: str, last: str) -> dict[str, Summary]:
    """Give, set by set, the value of model `last` minus that of `first` on the same splits."""
    return {
        str(name): paired(part, column, "model", first, last)
        for name, part in frame.groupby("dataset")
    }


def over_sets(frame: DataFrame, column: str, first: str, last: str) -> Summary:
    """Give the mean difference over sets; its standard error is that over sets."""
    found = by_set(frame, column, first, last).values()
    return summarize([difference.mean for difference in found])


def is_above(difference: Summary) -> bool:
    """Whether a difference is positive by more than two standard errors."""
    return difference.mean > 2.0 * difference.error


def is_below(difference: Summary) -> bool:
    """Whether a difference is negative by more than two standard errors."""
    return -difference.mean > 2.0 * difference.error


def in_points(difference: Summary) -> Summary:
    """Give a difference of shares in percentage points."""
    return Summary(100.0 * difference.mean, 100.0 * difference.error, difference.n)


def grid(
    frame: DataFrame,
    column: str,
    labels: Mapping[str, str],
    caption: str,
    *,
    digits: int,
    factor: float = 1.0,
    largest: bool = False,
) -> Table:
    """Show a column's mean ± standard error: a row per set, a column per model."""
    models = present(tuple(labels), frame, "model")
    values = frame.assign(**{column: factor * frame[column]})
    lines = []
    for name in present(published.datasets(), frame, "dataset"):
        found = summaries(values[values["dataset"] == name], ["model"], column)
        means = {model: found.get(model, NOTHING) for model in models}
        best = marks({key: one.mean for key, one in means.items()}, digits, largest=largest)
        cells = (Cell(plus_minus(means[model], digits), best[model]) for model in models)
        lines.append(row(name, *cells))
    means_over_sets = values.groupby(["dataset", "model"])[column].mean().unstack().mean()
    ends = {model: float(means_over_sets.get(model, float("nan"))) for model in models}
    best = marks(ends, digits, largest=largest)
    lines.append(row("mean", *(Cell(number(ends[one], digits), best[one]) for one in models)))
    return Table(caption, ("data set", *(labels.get(one, one) for one in models)), tuple(lines))
