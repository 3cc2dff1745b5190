"""What is claimed of the default on tables and with missing cells; none of it is the paper's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from paper.reporting.contest import (
    complete,
    in_points,
    median,
    rank_summaries,
    ratios,
)
from paper.reporting.frames import (
    AS_IT_IS,
    JUDGED,
    LABELS,
    NAMES,
    RIVALS,
    Rate,
    is_far_below,
    judged,
    table_gaps,
)
from paper.reporting.ledger.base import Claim, Finding, graded
from paper.reporting.tables import signed_plus_minus

if TYPE_CHECKING:
    from pandas import DataFrame

RATES = (0.01, 0.1, 0.3)
#: Points of accuracy that may be lacking with missing cells.
_POINTS = 0.003
_PACE = "catboost"
_COMPARED = (AS_IT_IS, "catboost", "hist_gradient_boosting")


def _rows(frame: DataFrame) -> DataFrame | None:
    """Give the splits that ours and all rivals have; None if there are none."""
    rows = complete(judged(frame), (AS_IT_IS, *RIVALS))
    return None if rows.empty else rows


def _ranked_first(column: str, frame: DataFrame) -> Finding | None:
    rows = _rows(frame)
    if rows is None:
        return None
    found = rank_summaries(rows, column, largest=JUDGED[column])
    ordered = sorted(found, key=lambda name: found[name].mean)
    shown = ", ".join(f"{LABELS[name]} {found[name].mean:.2f}" for name in ordered)
    n_tables = rows["dataset"].nunique()
    return Finding(
        graded(int(ordered[0] == AS_IT_IS), 1),
        f"Mean ranks by {NAMES[column]} over {n_tables} tables: {shown}.",
    )


def _nowhere_far_below(frame: DataFrame) -> Finding | None:
    rows = _rows(frame)
    if rows is None:
        return None
    found = table_gaps(rows, AS_IT_IS, "auc")
    below = {name: gap for name, gap in found.items() if is_far_below(gap.difference)}
    shown = "; ".join(
        f"{name}: {LABELS[gap.rival]} {signed_plus_minus(in_points(gap.difference), 2)}"
        for name, gap in (below or found).items()
    )
    what = "Tables below" if below else "No table is below. Ours minus the best rival"
    return Finding(graded(int(not below), 1), f"{what}, in points: {shown}.")


def _no_slower(frame: DataFrame) -> Finding | None:
    rows = complete(judged(frame), (AS_IT_IS, _PACE))
    if rows.empty:
        return None
    times = ratios(rows, "seconds", AS_IT_IS, _PACE)
    middle, slowest = median(times), max(times, key=times.__getitem__)
    return Finding(
        graded(int(middle <= 1.0), 1),
        f"Our CPU time over that of CatBoost's defaults: median over {len(times)} tables "
        f"{middle:.2f}, largest {times[slowest]:.2f} ({slowest}).",
    )


def _keeps_up(rate: float, frame: DataFrame) -> Finding | None:
    found = Rate(judged(frame[frame["rate"] == rate]))
    if not found.has_lead or len(found.means) < len(_COMPARED):
        return None
    lead = found.lead()
    shown = ", ".join(f"{LABELS[name]} {100.0 * mean:.2f}" for name, mean in found.means.items())
    return Finding(
        graded(int(lead.mean >= -_POINTS), 1),
        f"Means in percent over {len(found.by_set)} sets: {shown}. Ours minus "
        f"{LABELS[found.best]}: {signed_plus_minus(in_points(lead), 2)} points.",
    )


TABLES = (
    Claim(
        "On tables as they are the default has the best mean rank by log-loss.",
        "tables",
        partial(_ranked_first, "log_loss"),
    ),
    Claim("It has the best mean rank by AUC.", "tables", partial(_ranked_first, "auc")),
    Claim(
        "On no table is its AUC below the best rival's by more than a point and two standard "
        "errors.",
        "tables",
        _nowhere_far_below,
    ),
    Claim(
        "On the median table it takes no longer than CatBoost by its defaults.",
        "tables",
        _no_slower,
    ),
)
GAPS = tuple(
    Claim(
        f"With {rate:.0%} of the cells missing the default is at most 0.3 points below the better "
        "of CatBoost and HistGradientBoosting with their defaults.",
        "gaps",
        partial(_keeps_up, rate),
    )
    for rate in RATES
)
