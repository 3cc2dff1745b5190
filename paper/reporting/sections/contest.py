"""The contest: accuracies, ranks, probabilities, sizes and times, and what they say of us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcgboost.colors import BLUE, GREEN
from paper.reporting import published
from paper.reporting.beyond import clipped, verdicts
from paper.reporting.contest import (
    AUTO,
    COMPACT,
    LABELS,
    OURS,
    beside,
    by_set,
    complete,
    gaps,
    in_points,
    overall,
    rank_summaries,
)
from paper.reporting.document import Body, Picture
from paper.reporting.figures import dots, panels, picture
from paper.reporting.ledger.contest import CLAIMS
from paper.reporting.summaries import NOTHING, marks, summaries
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
OWN_COLORS: Mapping[str, str] = {LABELS[AUTO]: BLUE, LABELS[COMPACT]: GREEN}
#: Columns that a lower value makes better, with the digits shown and what they are.
_MEASURES: Mapping[str, tuple[int, str]] = {
    "brier": (4, "Brier scores of the probabilities"),
    "log_loss": (
        4,
        "Log-losses of the probabilities, {clipped}; those of the SVM are a logistic curve through "
        "its decision values on the validation part",
    ),
    "stored_numbers": (
        0,
        "Numbers stored: two a split and one a leaf (CatBoost: two a level), a support vector's "
        "features and coefficient, coefficients and atoms' parameters",
    ),
    "file_bytes": (0, "Bytes of the model in its own file format (scikit-learn: pickle)"),
    "n_parts": (0, "Trees, support vectors or atoms"),
    "seconds_tune": (2, "Seconds of CPU time, on one thread, for the whole tuning"),
    "seconds_fit": (3, "Seconds of CPU time, on one thread, for the fit that won"),
}


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare all methods that have rows."""
    tables = [verdicts("contest", CLAIMS, frame)]
    for noise in sorted(frame["noise"].unique()):
        rows = frame[frame["noise"] == noise]
        methods = present(tuple(LABELS), rows, "method")
        common = complete(rows, methods)
        if common.empty:
            continue
        labels = f"{noise:.0%} of the labels flipped" if noise else "clean labels"
        tables += [_accuracies(common, methods, labels), *_gap_tables(common, labels)]
        if not noise:
            tables += [_measure(common, methods, column, facts) for column in _MEASURES]
    return Body((_how(),), tuple(tables), _pictures(frame))


def _pictures(frame: DataFrame) -> tuple[Picture, ...]:
    """Draw mean accuracies with clean and with flipped labels, where more than one set is there."""
    shown = {}
    for noise, rows in frame.groupby("noise"):
        common = complete(rows, present(tuple(LABELS), rows, "method"))
        if common["dataset"].nunique() > 1 and AUTO in set(common["method"]):
            shown[noise] = common
    if not shown:
        return ()
    figure, axes = panels(1, len(shown), 3.6)
    for ax, (noise, rows) in zip(axes[0], shown.items(), strict=True):
        means = 100.0 * by_set(rows, "accuracy")
        dots(ax, beside(means, AUTO, LABELS, largest=True), OWN_COLORS, 2)
        title = f"{100 * noise:g} % of labels flipped" if noise else "clean labels"
        ax.set(title=title, xlabel="mean test accuracy, %")
    n_sets = max(rows["dataset"].nunique() for rows in shown.values())
    caption = (
        f"Mean test accuracy over {n_sets} data sets, each method tuned on the same validation "
        "rows. Training and validation labels are flipped, test labels are clean. A whisker "
        "is the standard error, over data sets, of the difference to fcgboost's default on the "
        "same splits."
    )
    return (picture(figure, "contest-accuracy", caption),)


def _how() -> str:
    return (
        "All are fitted to the training part and tuned by accuracy on the validation part, "
        "without a last fit to both; the gradient boosters' number of trees is that of the lowest "
        "validation log-loss. Tables show splits on which every method has a row. Test labels "
        "are clean in any case."
    )


def _header(methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(LABELS.get(name, name) for name in methods)


def _sets(rows: DataFrame) -> Iterator[tuple[str, DataFrame]]:
    for name in present(published.datasets(), rows, "dataset"):
        yield name, rows[rows["dataset"] == name]


def _accuracies(rows: DataFrame, methods: Sequence[str], labels: str) -> Table:
    lines = []
    for name, part in _sets(rows):
        found = summaries(part.assign(accuracy=100.0 * part["accuracy"]), ["method"], "accuracy")
        best = marks({method: found[method].mean for method in methods}, 2, largest=True)
        notes = {method: deviations(part[part["method"] == method]) for method in methods}
        cells = [Cell(plus_minus(found[one], 2), best[one], notes[one]) for one in methods]
        lines.append(row(name, str(part["repetition"].nunique()), *cells))
    means, places = overall(rows, "accuracy"), rank_summaries(rows)
    best = marks(means, 4, largest=True)
    lines.append(
        row("mean", "", *(Cell(number(100.0 * means[one], 2), best[one]) for one in methods))
    )
    best = marks({name: place.mean for name, place in places.items()}, 2)
    lines.append(
        row("mean rank", "", *(Cell(plus_minus(places[one], 2), best[one]) for one in methods))
    )
    return Table(
        f"Test accuracies in percent, {labels}.",
        ("data set", "splits", *_header(methods)),
        tuple(lines),
        ("± is a standard error: over splits, and for ranks over sets.",),
        n_labels=2,
    )


def _gap_tables(rows: DataFrame, labels: str) -> list[Table]:
    """Compare each of ours with the best rival, set by set."""
    ours = present(OURS, rows[rows["method"].isin(OURS)], "method")
    if not ours or rows["method"].isin(OURS).all():
        return []
    found = {name: gaps(rows, name) for name in ours}
    lines = []
    for dataset, _ in _sets(rows):
        rival = found[ours[0]][dataset].rival
        differences = (in_points(found[name][dataset].difference) for name in ours)
        shown = (signed_plus_minus(difference, 2) for difference in differences)
        lines.append(row(dataset, LABELS.get(rival, rival), *shown))
    return [
        Table(
            f"Ours minus the best rival, in points, {labels}.",
            ("data set", "best rival", *_header(ours)),
            tuple(lines),
            ("± is the standard error of the difference on the same splits.",),
            n_labels=2,
        )
    ]


def _measure(
    rows: DataFrame, methods: Sequence[str], column: str, facts: Mapping[str, Any]
) -> Table:
    digits, text = _MEASURES[column]
    lines = []
    for name, part in _sets(rows):
        found = summaries(part, ["method"], column)
        means = {method: found.get(method, NOTHING).mean for method in methods}
        best = marks(means, digits)
        lines.append(row(name, *(Cell(number(means[one], digits), best[one]) for one in methods)))
    middle = by_set(rows, column).median()
    lines.append(row("median", *(number(float(middle[one]), digits) for one in methods)))
    caption = f"{text.format(clipped=clipped(facts))}; means over splits."
    return Table(caption, ("data set", *_header(methods)), tuple(lines))
