"""What the rows of `benchmarks.labels` say, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.labels_fit import JUDGES, OURS
from benchmarks.labels_sets import CLEAN, CLEAR, KINDS, TABLES
from benchmarks.mid_fit import METHODS

if TYPE_CHECKING:
    from pandas import DataFrame

#: Reported apart: ten classes.
APART = "digits"
#: Rivals' rankings, by the columns that have them.
_RANKINGS = {"plain": "", "adjusted": " adjusted"}


def report(rows: Sequence[Mapping[str, str]]) -> str:
    """Return all tables; of rankings, over tables, kinds and draws that all methods have."""
    import pandas as pd

    if not any(row["method"] == OURS for row in rows):
        return f"There are no rows of {OURS}, with which others are compared."
    frame = pd.DataFrame(rows)
    texts = ("data", "kind", "method", "is_known")
    for name in frame.columns.difference(texts):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    frame = frame.drop_duplicates(["data", "draw", "kind", "method"], keep="last")
    parts = []
    for methods in _nested(frame):
        parts += [_ranking(frame, methods, apart) for apart in (False, True)]
        parts.append(_time(frame, methods))
    return "\n".join([*parts, _counts(frame), _intervals(frame)])


def _nested(frame: DataFrame) -> Iterable[list[str]]:
    """Yield all methods, and if these have fewer cells, those that are cheap."""
    present = [name for name in JUDGES if (frame["method"] == name).any()]
    yield present
    cells = frame.groupby("method").size()
    widest = [name for name in present if cells[name] == cells.max()]
    if widest != present and len(widest) > 1:
        yield widest


def _cells(frame: DataFrame, methods: Sequence[str]) -> DataFrame:
    """Return the rows of cells that all methods have, by cell and method."""
    noisy = frame[frame["method"].isin(methods) & (frame["kind"] != CLEAN)]
    keyed = noisy.set_index(["data", "kind", "draw", "method"]).unstack("method")
    return keyed[keyed["plain"].notna().all(axis=1)]


def _ranking(frame: DataFrame, methods: Sequence[str], apart: bool) -> str:
    """Return mean average precisions by kind of noise; ± is the paired error over tables."""
    cells = _cells(frame, methods)
    names = cells.index.get_level_values("data")
    cells = cells[(names == APART) == apart]
    if cells.empty:
        return ""
    rankings = {f"{OURS} label quality": cells["quality", OURS]}
    for method in methods:
        for column, suffix in _RANKINGS.items():
            rankings[METHODS[method].title + suffix] = cells[column, method]
    ours = next(iter(rankings))
    rivals = [name for name in rankings if not name.startswith(METHODS[OURS].title)]
    head = ["labels flipped", "cells", *rankings, "best rival", "lead"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for kind in [*KINDS, "all"]:
        kinds = cells.index.get_level_values("kind")
        chosen = np.ones(len(cells), dtype=bool) if kind == "all" else kinds == kind
        if not chosen.any():
            continue
        means = {name: 100.0 * values[chosen].mean() for name, values in rankings.items()}
        if not rivals:
            continue
        best = max(rivals, key=lambda name: means[name])
        gaps = 100.0 * (rankings[ours] - rankings[best])[chosen].groupby(level="data").mean()
        lead = f"{means[ours] - means[best]:+.1f}".replace("-", "−")
        if len(gaps) > 1:
            lead += f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}"
        numbers = [f"{means[name]:.1f}" for name in rankings]
        lines.append([kind, str(chosen.sum()), *numbers, best, lead])
    title = APART if apart else "All tables but " + APART
    return f"\n**Average precision, {title}**\n\n" + _markdown(lines)


def _time(frame: DataFrame, methods: Sequence[str]) -> str:
    cells = _cells(frame, methods)
    names = cells.index.get_level_values("data")
    head = ["CPU seconds", "cells", *(METHODS[name].title for name in methods)]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for title, chosen in (("without " + APART, names != APART), (APART, names == APART)):
        sums = [cells["cpu", name][chosen].sum() for name in methods]
        lines.append([title, str(chosen.sum()), *(f"{value:,.0f}" for value in sums)])
    return "\n" + _markdown(lines)


def _counts(frame: DataFrame) -> str:
    """Return mean absolute errors of estimated shares of wrong labels, on clear tables."""
    ours = frame[frame["method"] == OURS]
    head = ["labels flipped", "told", "ours where told", "cleanlab", "1 − accuracy", "told, all"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1)]
    clear = ours[ours["data"].isin(CLEAR)]
    for kind in [CLEAN, *KINDS, "all"]:
        cells = clear if kind == "all" else clear[clear["kind"] == kind]
        everywhere = ours if kind == "all" else ours[ours["kind"] == kind]
        if cells.empty:
            continue
        is_told = cells["is_known"].astype(float) > 0.0
        told = cells[is_told]
        errors = [
            f"{100.0 * (told[name] - told['wrong']).abs().mean():.1f}"
            for name in ("share", "joint", "error")
        ]
        all_told = (everywhere["is_known"].astype(float) > 0.0).sum()
        told_all = f"{all_told} of {len(everywhere)}"
        lines.append([kind, f"{is_told.sum()} of {len(cells)}", *errors, told_all])
    title = "Share of wrong labels: mean absolute error in points, on " + ", ".join(CLEAR)
    return f"\n**{title}**\n\n" + _markdown(lines)


def _intervals(frame: DataFrame) -> str:
    """Return how often 90 % intervals hold the truth, by table."""
    ours = frame[frame["method"] == OURS]
    lines = [["table", "cells", "told", "of these right"], ["---", "---:", "---:", "---:"]]
    for name in [*TABLES, "all"]:
        cells = ours if name == "all" else ours[ours["data"] == name]
        told = cells[cells["is_known"].astype(float) > 0.0]
        # Half of a row's share is a matter of rounding.
        slack = 0.5 / told["rows"]
        is_right = (told["low"] - slack <= told["wrong"]) & (told["wrong"] <= told["high"] + slack)
        share = f"{100.0 * is_right.mean():.0f} %" if len(told) else "–"
        lines.append([name, str(len(cells)), str(len(told)), share])
    return "\n**90 % intervals**\n\n" + _markdown(lines)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
