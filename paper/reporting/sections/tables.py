"""The contest on tables: log-losses, AUCs and ranks, gaps to the best rival, sizes and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcgboost.colors import BLUE
from paper.data.tables import TABLES as ALL_TABLES
from paper.reporting.beyond import clipped, verdicts
from paper.reporting.contest import beside, by_set, complete, in_points, rank_summaries, ranks
from paper.reporting.document import Body, Picture
from paper.reporting.figures import dots, panels, picture
from paper.reporting.frames import (
    AS_IT_IS,
    JUDGED,
    LABELS,
    NAMES,
    OURS,
    RIVALS,
    is_far_below,
    judged,
    table_gaps,
)
from paper.reporting.ledger.frames import TABLES
from paper.reporting.summaries import marks, summaries
from paper.reporting.tables import (
    Cell,
    Table,
    deviations,
    number,
    plus_minus,
    present,
    row,
    signed_plus_minus,
)

if TYPE_CHECKING:
    from pandas import DataFrame

#: Of pictures.
OWN_COLORS: Mapping[str, str] = {LABELS[AS_IT_IS]: BLUE}
#: Columns with their digits, what they are, and whether more is better.
_MEASURES: Mapping[str, tuple[int, str, bool]] = {
    "accuracy": (4, "Accuracies", True),
    "stored_numbers": (
        0,
        "Numbers stored: two a split and one a leaf and class (CatBoost: two a level), "
        "coefficients and atoms' parameters; how levels are coded is not counted",
        False,
    ),
    "seconds": (2, "Seconds of CPU time, on one thread, tuning included", False),
    "seconds_predict": (3, "Seconds of CPU time for the test part's probabilities", False),
}
_TITLES = {
    "log_loss": "Log-losses, {clipped}",
    "auc": "Areas under the ROC curve, of several classes the mean of each against the rest",
}
_HOW = (
    "Half of the rows are for training, a quarter for validation and a quarter to test. All learn "
    "from training and validation rows together. A tuned rival tries its grid on the training "
    "rows, its number of trees stopped by the validation loss; the lowest validation log-loss wins "
    "and is fitted to both parts with the number of trees found. Tables show splits on which every "
    "method has a row.",
    "Ours takes the frame. CatBoost gets text as strings, missing text as a level of its own; "
    "LightGBM and HistGradientBoosting get the categories of the rows they learn from, others as "
    "missing. No rival takes dates: they, and ours with one-hot encoding, get days, month, weekday "
    "and hour as numbers.",
)


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare all methods that have rows."""
    rows = judged(frame)
    methods = present(tuple(LABELS), rows, "method")
    common = complete(rows, methods)
    tables = [verdicts("tables", TABLES, frame)]
    if len(common):
        tables += [_scores(common, methods, column, facts) for column in JUDGED]
        tables += _gap_tables(common)
        tables += [_measure(common, methods, column) for column in _MEASURES]
    return Body(_HOW, tuple(tables), _pictures(rows))


def _pictures(rows: DataFrame) -> tuple[Picture, ...]:
    """Draw mean ranks of ours, as tables are, and of all rivals, where they have two tables."""
    rows = complete(rows, (AS_IT_IS, *RIVALS))
    if rows["dataset"].nunique() < 2:
        return ()
    figure, axes = panels(1, len(JUDGED), 3.6)
    for ax, (column, largest) in zip(axes[0], JUDGED.items(), strict=True):
        found = ranks(rows, column, largest=largest)
        dots(ax, beside(found, AS_IT_IS, LABELS, largest=False), OWN_COLORS, 2)
        ax.set(title=NAMES[column], xlabel="mean rank (lower is better)")
    caption = (
        f"Mean rank on {rows['dataset'].nunique()} tables with text, categories, dates and missing "
        "values. fcgboost is not tuned. A whisker is the standard error, over tables, of the "
        "difference to fcgboost."
    )
    return (picture(figure, "tables-ranks", caption),)


def _header(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(LABELS.get(name, name) for name in methods)


def _scores(
    rows: DataFrame, methods: Sequence[str], column: str, facts: Mapping[str, Any]
) -> Table:
    """Show means by table and method, and mean ranks."""
    largest, lines = JUDGED[column], []
    for name in present(ALL_TABLES, rows, "dataset"):
        part = rows[rows["dataset"] == name]
        found = summaries(part, ["method"], column)
        best = marks({one: found[one].mean for one in methods}, 4, largest=largest)
        notes = {one: deviations(part[part["method"] == one]) for one in methods}
        cells = [Cell(plus_minus(found[one], 4), best[one], notes[one]) for one in methods]
        lines.append(row(name, str(part["repetition"].nunique()), *cells))
    places = rank_summaries(rows, column, largest=largest)
    best = marks({one: places[one].mean for one in methods}, 2)
    cells = [Cell(plus_minus(places[one], 2), best[one]) for one in methods]
    lines.append(row("mean rank", "", *cells))
    return Table(
        f"{_TITLES[column].format(clipped=clipped(facts))}.",
        ("table", "splits", *_header(methods)),
        tuple(lines),
        ("± is a standard error: over splits, and for ranks over tables.",),
        n_labels=2,
    )


def _gap_tables(rows: DataFrame) -> list[Table]:
    """Compare each of ours with the best rival, table by table."""
    ours = present(OURS, rows[rows["method"].isin(OURS)], "method")
    return [] if rows["method"].isin(OURS).all() else [_gaps(rows, name) for name in ours]


def _gaps(rows: DataFrame, ours: str) -> Table:
    losses, areas = (table_gaps(rows, ours, column) for column in JUDGED)
    lines = []
    for name in present(ALL_TABLES, rows, "dataset"):
        loss, area = losses[name], areas[name]
        lines.append(
            row(
                name,
                LABELS.get(loss.rival, loss.rival),
                signed_plus_minus(loss.difference, 4),
                LABELS.get(area.rival, area.rival),
                signed_plus_minus(in_points(area.difference), 2),
                "below" if is_far_below(area.difference) else "",
            )
        )
    what = "" if ours == AS_IT_IS else " (with one-hot encoding)"
    return Table(
        f"Ours{what} minus the best rival: log-loss, and AUC in points.",
        ("table", "best log-loss", "difference", "best AUC", "difference", "AUC far below"),
        tuple(lines),
        (
            "± is the standard error of the difference on the same splits. Far below is by more "
            "than a point and more than two of these errors.",
        ),
    )


def _measure(rows: DataFrame, methods: Sequence[str], column: str) -> Table:
    digits, text, largest = _MEASURES[column]
    means, lines = by_set(rows, column), []
    for name in present(ALL_TABLES, rows, "dataset"):
        values = {one: float(means.loc[name, one]) for one in methods}
        best = marks(values, digits, largest=largest)
        lines.append(row(name, *(Cell(number(values[one], digits), best[one]) for one in methods)))
    lines.append(row("median", *(number(float(means[one].median()), digits) for one in methods)))
    return Table(f"{text}; means over splits.", ("table", *_header(methods)), tuple(lines))
