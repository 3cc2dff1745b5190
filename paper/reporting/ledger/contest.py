"""What is claimed of our presets beside tuned rivals; none of it is the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.reporting.contest import (
    AUTO,
    COMPACT,
    LABELS,
    RIVALS,
    by_set,
    complete,
    gaps,
    in_points,
    median,
    overall,
    rank_summaries,
    ranks,
    ratios,
)
from paper.reporting.ledger.base import Claim, Finding, Verdict, graded, select
from paper.reporting.summaries import summarize
from paper.reporting.tables import signed_plus_minus

if TYPE_CHECKING:
    from pandas import DataFrame

NOISE = 0.3
#: Points of accuracy that may be lacking on a set, standard errors apart.
_POINTS = 0.01
_FASTER = 3.0
_SMALLER = 0.1
_COMPACT_LOSS = 0.003


def _rows(frame: DataFrame, noise: float, *ours: str) -> DataFrame | None:
    """Give the splits that all rivals and these of ours have; None if there are none."""
    rows = complete(select(frame, noise=noise), (*RIVALS, *ours))
    return None if rows.empty else rows


def _verdict(is_true: bool) -> Verdict:
    return graded(int(is_true), 1)


def _extent(rows: DataFrame) -> str:
    counts = rows.groupby("dataset")["repetition"].nunique()
    least, most = int(counts.min()), int(counts.max())
    return f"{len(counts)} sets, {least if least == most else f'{least} to {most}'} splits each"


def _listed(values: dict[str, float], scale: float = 100.0) -> str:
    ordered = sorted(values.items(), key=lambda one: -one[1])
    return ", ".join(f"{LABELS.get(name, name)} {scale * value:.2f}" for name, value in ordered)


def _most_accurate(frame: DataFrame) -> Finding | None:
    rows = _rows(frame, 0.0, AUTO)
    if rows is None:
        return None
    means = overall(rows, "accuracy")
    behind = [name for name in RIVALS if means[name] > means[AUTO]]
    return Finding(
        _verdict(not behind),
        f"Means in percent: {_listed(means)} ({_extent(rows)}). {_lead(rows, means)}",
    )


def _lead(rows: DataFrame, means: dict[str, float]) -> str:
    """Say by how much ours is above the best rival, as a tie can be a lead in the last digit."""
    best = max(RIVALS, key=lambda name: means[name])
    wide = by_set(rows, "accuracy")
    difference = in_points(summarize(wide[AUTO] - wide[best]))
    return (
        f"Ours minus {LABELS[best]}: {signed_plus_minus(difference, 3)} points (standard error "
        "over sets)."
    )


def _rank(frame: DataFrame) -> Finding | None:
    rows = _rows(frame, 0.0, AUTO)
    if rows is None:
        return None
    found = rank_summaries(rows)
    best = min(RIVALS, key=lambda name: found[name].mean)
    table = ranks(rows)
    excess = summarize(table[AUTO] - table[best])
    # One set has no standard error: then any excess counts.
    is_close = excess.mean <= (excess.error if excess.error == excess.error else 0.0)
    return Finding(
        _verdict(is_close),
        f"Mean ranks: ours {found[AUTO].mean:.2f}, {LABELS[best]} {found[best].mean:.2f}; "
        f"difference {signed_plus_minus(excess, 2)} (standard error over sets).",
    )


def _nowhere_far_below(frame: DataFrame) -> Finding | None:
    rows = _rows(frame, 0.0, AUTO)
    if rows is None:
        return None
    found = gaps(rows, AUTO)
    # NaN, the error of one split, leaves the one point.
    below = {
        name: gap
        for name, gap in found.items()
        if -gap.difference.mean > max(_POINTS, 2.0 * gap.difference.error)
    }
    shown = "; ".join(
        f"{name}: {LABELS[gap.rival]} {signed_plus_minus(in_points(gap.difference), 2)}"
        for name, gap in (below or found).items()
    )
    what = "Sets below" if below else "No set is below. Ours minus the best rival"
    return Finding(_verdict(not below), f"{what}, in points: {shown}.")


def _faster(frame: DataFrame) -> Finding | None:
    rows = _rows(frame, 0.0, AUTO)
    if rows is None:
        return None
    times = ratios(rows, "seconds_tune", "catboost", AUTO)
    means = overall(rows, "seconds_tune")
    total, middle = means["catboost"] / means[AUTO], median(times)
    slowest = min(times, key=times.__getitem__)
    return Finding(
        _verdict(min(total, middle) >= _FASTER),
        f"CatBoost's CPU time for tuning over ours: {total:.1f} in all, median over sets "
        f"{middle:.1f}, smallest {times[slowest]:.2f} ({slowest}). The total and "
        "the median both have to reach 3.",
    )


def _compact(frame: DataFrame) -> Finding | None:
    rows = _rows(frame, 0.0, AUTO, COMPACT)
    if rows is None:
        return None
    middle = median(ratios(rows, "stored_numbers", COMPACT, "lightgbm"))
    means = overall(rows, "accuracy")
    loss = means[AUTO] - means[COMPACT]
    is_true = middle <= _SMALLER and loss <= _COMPACT_LOSS
    return Finding(
        _verdict(is_true),
        f"Numbers stored over LightGBM's: median over sets {middle:.3f}. Mean accuracy "
        f"{100.0 * means[COMPACT]:.2f} %, {100.0 * loss:.2f} points below the default's.",
    )


def _robust(frame: DataFrame) -> Finding | None:
    noisy, clean = _rows(frame, NOISE, AUTO), _rows(frame, 0.0, AUTO)
    if noisy is None or clean is None:
        return None
    means, before = overall(noisy, "accuracy"), overall(clean, "accuracy")
    losses = {name: before[name] - mean for name, mean in means.items()}
    is_best = all(means[AUTO] >= means[name] for name in RIVALS)
    return Finding(
        _verdict(is_best),
        f"Means in percent: {_listed(means)} ({_extent(noisy)}). {_lead(noisy, means)} Points "
        f"lost against clean labels: {_listed(losses)}.",
    )


CLAIMS = (
    Claim("The default has the highest mean accuracy.", "contest", _most_accurate),
    Claim("Its mean rank is at most one standard error behind the best rival's.", "contest", _rank),
    Claim(
        "On no set is it below the best rival by more than a point and two standard errors.",
        "contest",
        _nowhere_far_below,
    ),
    Claim("Tuned, it is at least three times as fast as CatBoost.", "contest", _faster),
    Claim(
        "The compact preset stores a tenth of LightGBM's numbers, at 0.3 points or less.",
        "contest",
        _compact,
    ),
    Claim("With 30 % of the labels flipped the default is the most accurate.", "contest", _robust),
)
