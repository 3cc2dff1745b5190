"""What the rows of `benchmarks.regression` say, as Markdown.

Of every goal and number of training rows only splits on which all methods have a row are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from benchmarks.regression_fit import ALPHA, GOALS, METHODS
from paper.reporting.contest import by_set, complete, gaps, median, rank_summaries, ratios
from paper.reporting.document import Section
from paper.reporting.markdown import write_markdown
from paper.reporting.summaries import marks, summarize
from paper.reporting.tables import Cell, Table, number, plus_minus, present, row, signed

if TYPE_CHECKING:
    from pandas import DataFrame

OURS = "fcgboost"
FAST = "fast"
#: The rivals that ours are timed with.
PACES: Mapping[str, str] = {OURS: "catboost", FAST: "lightgbm"}
#: What only has intervals.
CONFORMAL = "mapie"
_TEXTS = ("goal", "data", "method", "version")
_NAMES = {"data": "dataset", "split": "repetition"}
_KEY = ["goal", "dataset", "method", "size", "repetition"]


def report(rows: Sequence[Mapping[str, str]]) -> str:
    """Return all sections; a line if there is nothing to compare."""
    import pandas as pd

    if not any(row["method"] == OURS for row in rows):
        return f"There are no rows of {OURS}, with which others are compared.\n"
    frame = pd.DataFrame(list(rows))
    numbers = [name for name in frame if name not in _TEXTS]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    frame = frame.rename(columns=_NAMES).drop_duplicates(_KEY, keep="last")
    sections = []
    for goal in GOALS:
        judged = frame[(frame["goal"] == goal) & (frame["method"] != CONFORMAL)]
        for size, part in judged.groupby("size"):
            methods = present(tuple(METHODS), part, "method")
            common = complete(part, methods, "score")
            if len(common) and OURS in methods and len(methods) > 1:
                sections.append(_section(goal, int(size), common, methods))
    covered = frame[frame["coverage"].notna()]
    if len(covered):
        sections.append(Section("Intervals", tables=(_coverage(covered),)))
    return write_markdown("Regression", (), sections)


def _section(goal: str, size: int, rows: DataFrame, methods: Sequence[str]) -> Section:
    title = f"{GOALS[goal].title.capitalize()}, {size:,} training rows"
    return Section(
        title,
        tuple(_times(rows)),
        (_scores(title, rows, methods),),
        name=f"{goal}-{size}",
    )


def _scores(title: str, rows: DataFrame, methods: Sequence[str]) -> Table:
    """Show every method's mean, and the paired error of the difference to the best rival's."""
    means = by_set(rows, "score")
    found = gaps(rows, OURS, "score", largest=False, own=(OURS, FAST))
    lines = []
    for name in means.index:
        best = marks({method: float(means.loc[name, method]) for method in methods}, 5)
        gap = found[str(name)].difference
        base = float(means.loc[name, found[str(name)].rival])
        lines.append(
            row(
                str(name),
                *(
                    Cell(f"{float(means.loc[name, method]):.5g}", best[method])
                    for method in methods
                ),
                f"{signed(100.0 * gap.mean / base, 1)} ± {number(100.0 * gap.error / base, 1)} %",
            )
        )
    # A second method of ours would take ranks from the rivals behind it.
    ranked = rows[rows["method"] != FAST]
    ranks = rank_summaries(ranked, "score", largest=False)
    best = marks({name: rank.mean for name, rank in ranks.items()}, 2)
    cells = (
        Cell(plus_minus(ranks[name], 2), best[name]) if name in ranks else Cell("–")
        for name in methods
    )
    lines.append(row("mean rank", *cells, ""))
    return Table(
        f"{title}; less is better.",
        ("table", *(METHODS[name].title for name in methods), "ours to the best rival"),
        tuple(lines),
        ("± is a paired standard error over splits, of ranks a standard error over tables.",),
        n_labels=1,
    )


def _times(rows: DataFrame) -> Iterator[str]:
    """Yield a sentence per pace."""
    methods = set(rows["method"])
    for ours, pace in PACES.items():
        if {ours, pace} <= methods:
            multiples = ratios(rows, "cpu", ours, pace)
            worst = max(multiples, key=multiples.__getitem__)
            yield (
                f"{METHODS[ours].title} takes {number(median(multiples), 2)} times the CPU time of "
                f"{METHODS[pace].title} in the median over tables, at most "
                f"{number(multiples[worst], 2)} times ({worst})."
            )


def _coverage(rows: DataFrame) -> Table:
    """Show the share of targets in their intervals, and the widths as multiples of MAPIE's."""
    lines = []
    for (size, data), part in rows.groupby(["size", "dataset"]):
        shares = part.pivot_table(index="repetition", columns="method", values="coverage")
        widths = part.pivot_table(index="repetition", columns="method", values="width")
        for method in present(tuple(METHODS), part, "method"):
            width = float("nan")
            if CONFORMAL in widths:
                width = float((widths[method] / widths[CONFORMAL]).mean())
            lines.append(
                row(
                    f"{int(size):,}",
                    str(data),
                    METHODS[method].title,
                    number(100.0 * summarize(shares[method]).mean, 1),
                    number(width, 2),
                )
            )
    return Table(
        f"Targets of test rows in their intervals, in percent; {100.0 * (1.0 - ALPHA):.0f} are "
        "asked for. Widths are means.",
        ("training rows", "table", "method", "inside, %", "width over MAPIE's"),
        tuple(lines),
        n_labels=3,
    )
