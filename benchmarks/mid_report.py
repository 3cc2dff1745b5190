"""What the rows of `benchmarks.mid` say, as Markdown: ranks, AUC by table, where ours is behind.

Of every number of training rows only splits on which all of its methods have a row are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.mid_fit import METHODS
from benchmarks.mid_sets import TABLES
from paper.reporting.contest import (
    Gap,
    by_set,
    complete,
    gaps,
    in_points,
    median,
    overall,
    rank_summaries,
    ratios,
)
from paper.reporting.document import Section
from paper.reporting.markdown import write_markdown
from paper.reporting.summaries import marks, summarize
from paper.reporting.tables import (
    ABSENT,
    Cell,
    Table,
    number,
    plus_minus,
    present,
    row,
    signed_plus_minus,
)

if TYPE_CHECKING:
    from pandas import DataFrame

OURS = tuple(name for name, method in METHODS.items() if method.package == "fcgboost")
DEFAULT = OURS[0]
#: Ours is timed beside it.
PACE = "catboost"
#: Of AUC: ours is behind by more than this, and by more than two standard errors.
HALF_A_POINT = 0.005
_BRACKETS = "In brackets: minus that of our default, ± the paired standard error over splits."
_TEXTS = ("data", "method", "version")
_KEY = ["dataset", "method", "size", "repetition"]
_NAMES = {"data": "dataset", "split": "repetition"}


@dataclass(frozen=True)
class Size:
    """The rows of splits that all methods have, at one number of training rows.

    `n_splits` counts all splits of tables, `methods` are in the order of the report.
    """

    size: int
    rows: DataFrame
    methods: tuple[str, ...]
    n_splits: int

    @property
    def title(self) -> str:
        """The number, which a table may not reach."""
        return f"{self.size:,}"

    @property
    def tables(self) -> list[str]:
        """Names of tables."""
        return present(tuple(TABLES), self.rows, "dataset")

    @property
    def ours(self) -> list[str]:
        """Those of the methods that are ours."""
        return [name for name in self.methods if name in OURS]

    @property
    def has_rivals(self) -> bool:
        """Whether ours can be compared."""
        return bool(self.ours) and len(self.ours) < len(self.methods)


def report(rows: Sequence[Mapping[str, str]]) -> str:
    """Return all sections; a line if there is nothing to compare."""
    sizes = [size for size in sizes_of(rows) if len(size.rows)]
    if not sizes:
        return "No split has been measured with every method yet.\n"
    sections = [
        Section("Overview", tables=(overview(sizes),)),
        *(_size_section(size) for size in sizes),
    ]
    if any(size.has_rivals for size in sizes):
        sections += [
            behind(sizes),
            Section("Time", tables=(times(sizes),)),
        ]
    return write_markdown("Mid-size tables", (), sections)


def sizes_of(rows: Sequence[Mapping[str, str]]) -> list[Size]:
    """Return the last row of every fit, by number of training rows."""
    import pandas as pd

    if not rows:
        return []
    frame = pd.DataFrame(list(rows))
    numbers = [name for name in frame if name not in _TEXTS]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    frame = frame.rename(columns=_NAMES).drop_duplicates(_KEY, keep="last")
    frame = frame[frame["method"].isin(list(METHODS))]
    found = []
    for size, part in frame.groupby("size"):
        methods = tuple(present(tuple(METHODS), part, "method"))
        n_splits = len(part.drop_duplicates(["dataset", "repetition"]))
        found.append(Size(int(size), complete(part, methods), methods, n_splits))
    return found


def overview(sizes: Sequence[Size]) -> Table:
    """Show mean ranks and the mean AUC: a column per method."""
    methods = [name for name in METHODS if any(name in size.methods for size in sizes)]
    lines = [
        row(
            size.title, str(len(size.tables)), title, *(cells.get(name, ABSENT) for name in methods)
        )
        for size in sizes
        for title, cells in _summaries(size).items()
    ]
    return Table(
        "Mean ranks of the default and its rivals, 1 for the best, and the mean AUC in percent.",
        ("training rows", "tables", "mean", *(METHODS[name].title for name in methods)),
        tuple(lines),
        ("± is a standard error over tables.",),
        n_labels=3,
    )


def _summaries(size: Size) -> dict[str, dict[str, Cell]]:
    """Return the lines of a size in the overview: cells by method."""
    lines = {}
    # A second method of ours would take ranks from the rivals behind it.
    ranked = size.rows[~size.rows["method"].isin(OURS[1:])]
    for title, column, largest in (
        ("rank by AUC", "auc", True),
        ("rank by log-loss", "log_loss", False),
    ):
        ranks = rank_summaries(ranked, column, largest=largest)
        best = marks({name: rank.mean for name, rank in ranks.items()}, 2)
        lines[title] = {name: Cell(plus_minus(ranks[name], 2), best[name]) for name in ranks}
    means = {name: 100.0 * mean for name, mean in overall(size.rows, "auc").items()}
    best = marks(means, 2, largest=True)
    lines["AUC"] = {name: Cell(number(means[name], 2), best[name]) for name in means}
    return lines


def _size_section(size: Size) -> Section:
    n_common = len(size.rows.drop_duplicates(["dataset", "repetition"]))
    text = f"All methods have {n_common} of {size.n_splits} splits."
    return Section(f"{size.title} training rows", (text,), (areas(size),), name=f"auc-{size.size}")


def areas(size: Size) -> Table:
    """Show the AUC of every table and method, and how far it is from our default's."""
    lines = []
    for name in size.tables:
        part = size.rows[size.rows["dataset"] == name]
        wide = part.pivot_table(index="repetition", columns="method", values="auc")
        n_rows = int(part["rows"].iloc[0])
        lines.append(row(name, f"{n_rows:,}", str(len(wide)), *_area_cells(wide, size.methods)))
    return Table(
        "AUC in percent.",
        ("table", "rows", "splits", *(METHODS[name].title for name in size.methods)),
        tuple(lines),
        (_BRACKETS,) if DEFAULT in size.methods else (),
        n_labels=2,
    )


def _area_cells(wide: DataFrame, methods: Sequence[str]) -> Iterator[Cell]:
    means = {name: 100.0 * float(wide[name].mean()) for name in methods}
    best = marks(means, 2, largest=True)
    for name in methods:
        text = number(means[name], 2)
        if DEFAULT in methods and name != DEFAULT:
            difference = in_points(summarize(wide[name] - wide[DEFAULT]))
            text += f" ({signed_plus_minus(difference, 2)})"
        yield Cell(text, best[name])


def is_behind(gap: Gap) -> bool:
    """Whether an AUC is lower by more than half a point and more than two standard errors."""
    # NaN, the error of one split, leaves the half point.
    return -gap.difference.mean > max(HALF_A_POINT, 2.0 * gap.difference.error)


def behind(sizes: Sequence[Size]) -> Section:
    """Show where one of ours is behind the best rival, which is chosen by the test rows."""
    lines = []
    for size in sizes:
        for ours in size.ours if size.has_rivals else ():
            found = gaps(size.rows, ours, "auc", own=OURS)
            for name in size.tables:
                if is_behind(found[name]):
                    rival = METHODS[found[name].rival].title
                    difference = signed_plus_minus(in_points(found[name].difference), 2)
                    lines.append(row(size.title, name, METHODS[ours].title, rival, difference))
    if not lines:
        return Section("Behind", ("Nowhere by more than half a point and two standard errors.",))
    table = Table(
        "Where the AUC of ours is more than half a point, and more than two standard errors, "
        "below the best rival's.",
        ("training rows", "table", "ours", "best rival", "points"),
        tuple(lines),
        n_labels=4,
    )
    return Section("Behind", tables=(table,))


def times(sizes: Sequence[Size]) -> Table:
    """Show the CPU time of our fits as multiples of CatBoost's."""
    lines = []
    for size in sizes:
        seconds = by_set(size.rows, "cpu")
        for ours in size.ours if PACE in size.methods else ():
            multiples = ratios(size.rows, "cpu", ours, PACE)
            worst = max(multiples, key=multiples.__getitem__)
            lines.append(
                row(
                    size.title,
                    METHODS[ours].title,
                    number(float(seconds[ours].median()), 2),
                    number(median(multiples), 2),
                    number(multiples[worst], 2),
                    worst,
                )
            )
    return Table(
        f"CPU time of a fit on one thread, and as a multiple of {METHODS[PACE].title}'s.",
        ("training rows", "ours", "median, s", "median multiple", "largest multiple", "on"),
        tuple(lines),
        n_labels=2,
    )
