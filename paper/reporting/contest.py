"""Who leads a contest, from its rows alone: means, ranks, paired differences.

Only splits on which every method has a row are compared, so that a contest can be looked at
while it runs. Sets count equally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from paper.reporting.summaries import Summary, summarize
from paper.rivals import RIVALS as ALL_RIVALS

if TYPE_CHECKING:
    from pandas import DataFrame

AUTO, COMPACT = "fcg_auto", "fcg_compact"
LABELS: Mapping[str, str] = {
    AUTO: "fcgboost",
    COMPACT: "fcgboost compact",
    **{name: rival.title for name, rival in ALL_RIVALS.items() if rival.contest},
}
OURS = (AUTO, COMPACT)
RIVALS = tuple(name for name in LABELS if name not in OURS)


class Gap(NamedTuple):
    """By how much ours is above the best rival on a set, over the same splits."""

    rival: str
    difference: Summary


def complete(frame: DataFrame, methods: Sequence[str], column: str = "accuracy") -> DataFrame:
    """Give the rows of these methods on splits that have one of each."""
    rows = frame[frame["method"].isin(methods) & frame[column].notna()]
    counts = rows.groupby(["dataset", "repetition"])["method"].transform("nunique")
    return rows[counts == len(methods)]


def by_set(rows: DataFrame, column: str) -> DataFrame:
    """Give a column's mean over splits: a row per set, a column per method."""
    return rows.groupby(["dataset", "method"])[column].mean().unstack()


def overall(rows: DataFrame, column: str) -> dict[str, float]:
    """Give the mean over sets of the means over splits."""
    return {str(name): float(mean) for name, mean in by_set(rows, column).mean().items()}


def ranks(rows: DataFrame, column: str = "accuracy", *, largest: bool = True) -> DataFrame:
    """Give mean ranks within splits, ties sharing theirs: by set and method."""
    wide = rows.pivot_table(index=["dataset", "repetition"], columns="method", values=column)
    # The mean of equal accuracies can differ in the last bit; shares of rows never do so little.
    return wide.round(12).rank(axis=1, ascending=not largest).groupby("dataset").mean()


def rank_summaries(
    rows: DataFrame, column: str = "accuracy", *, largest: bool = True
) -> dict[str, Summary]:
    """Give mean ranks over sets, with standard errors over sets."""
    found = ranks(rows, column, largest=largest)
    return {str(name): summarize(found[name]) for name in found}


def beside(
    wide: DataFrame, ours: str, labels: Mapping[str, str], *, largest: bool
) -> dict[str, Summary]:
    """Give means over sets by label, the best first; errors are those of differences to ours."""
    means = wide.mean().sort_values(ascending=not largest, kind="stable")
    errors = {name: summarize(wide[name] - wide[ours]).error for name in wide if name != ours}
    return {
        labels.get(name, name): Summary(mean, errors.get(name, np.nan), len(wide))
        for name, mean in means.items()
    }


def gaps(
    rows: DataFrame,
    ours: str,
    column: str = "accuracy",
    *,
    largest: bool = True,
    own: Sequence[str] = OURS,
) -> dict[str, Gap]:
    """Compare ours with the rival whose mean is best, set by set; `own` are no rivals.

    That rival is chosen by the test part, which flatters it.
    """
    found = {}
    for name, part in rows.groupby("dataset"):
        wide = part.pivot_table(index="repetition", columns="method", values=column)
        rivals = {method: float(wide[method].mean()) for method in wide if method not in own}
        best = (max if largest else min)(rivals, key=rivals.__getitem__)
        found[str(name)] = Gap(str(best), summarize(wide[ours] - wide[best]))
    return found


def in_points(difference: Summary) -> Summary:
    """Give a difference of shares in percentage points."""
    return Summary(100.0 * difference.mean, 100.0 * difference.error, difference.n)


def ratios(rows: DataFrame, column: str, above: str, below: str) -> dict[str, float]:
    """Give the ratio of two methods' means, set by set."""
    wide = by_set(rows, column)
    return {str(name): float(ratio) for name, ratio in (wide[above] / wide[below]).items()}


def median(values: Mapping[str, float]) -> float:
    """Give the median over sets."""
    return float(np.median(list(values.values())))
