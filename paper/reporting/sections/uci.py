"""Real data: accuracies beside the paper's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting import published
from paper.reporting.document import Body
from paper.reporting.figures import METHOD_STYLES
from paper.reporting.sections import splits
from paper.reporting.summaries import (
    NOTHING,
    Mark,
    Summary,
    marks,
    summaries,
    summarize,
)
from paper.reporting.tables import (
    Cell,
    Table,
    deviations,
    difference,
    number,
    plus_minus,
    present,
    repetitions,
    row,
)

if TYPE_CHECKING:
    from pandas import DataFrame

METHODS = tuple(METHOD_STYLES)
_SPLITS = {"random": "random", "file-order": "file order", "molecules": "by molecules"}


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare ten methods on eleven sets, for every way to split them."""
    frame = in_percent(frame)
    random = frame[frame["split"] == "random"]
    tables = []
    if len(random):
        tables += [_accuracies(random), _published(random), _differences(random)]
    tables.append(_by_split(frame[frame["split"] != "molecules"]))
    molecules = frame[frame["dataset"] == "musk2"]
    if (molecules["split"] == "molecules").any():
        tables.append(_molecules(molecules))
    if len(random):
        tables += [splits.table(random), _sizes(random)]
    pictures = splits.pictures(random)
    return Body((_count(random),) if len(random) else (), tuple(tables), pictures)


_EXACT = "exact with λ = 1/m and an intercept (paper: 100 ADMM iterations)"
#: How a method departs from the paper in every cell.
_ALWAYS = {
    "fcg_gauss": "σ also in units of √(d/2)",
    "fcg_polynomial": "inner products divided by d",
    "fpc": "inner products divided by d, columns of unit mean square",
}


def _notes(method: str, frame: DataFrame) -> str:
    """Say how a method departs from the paper's, in all cells and in these."""
    always = [_EXACT] * method.startswith("fcg_") + [_ALWAYS.get(method, "")]
    return "; ".join(filter(None, (*always, deviations(frame))))


def in_percent(frame: DataFrame) -> DataFrame:
    """Give accuracies in percent, as the paper prints them."""
    columns = ("accuracy", "validation_accuracy", "majority")
    return frame.assign(**{name: 100.0 * frame[name] for name in columns if name in frame})


def header() -> tuple[str, ...]:
    """Name the methods."""
    return tuple(style.label for style in METHOD_STYLES.values())


def own_cells(frame: DataFrame) -> list[Cell]:
    """Give the accuracies of all methods in a frame of one set and one split."""
    found = summaries(frame, ["method"], "accuracy")
    given = {method: found.get(method, NOTHING) for method in METHODS}
    best = marks({method: value.mean for method, value in given.items()}, 2, largest=True)
    return [
        Cell(plus_minus(value, 2), best[method], _notes(method, frame[frame["method"] == method]))
        for method, value in given.items()
    ]


def _sets(frame: DataFrame) -> Iterator[tuple[str, DataFrame]]:
    for name in present(published.datasets(), frame, "dataset"):
        yield name, frame[frame["dataset"] == name]


def _repetitions(frame: DataFrame) -> str:
    return repetitions(frame.groupby(["dataset", "method"]).size())


def _accuracies(random: DataFrame) -> Table:
    return Table(
        "Test accuracies in percent, random splits into 50 % training, 25 % validation and 25 % "
        "test rows.",
        ("data set", "splits", *header()),
        tuple(row(name, _n_splits(part), *own_cells(part)) for name, part in _sets(random)),
        (_repetitions(random), "The paper does not define its baseline: logistic regression here."),
        n_labels=2,
        printed="Table 5",
    )


def _n_splits(part: DataFrame) -> str:
    return str(part["repetition"].nunique())


def _printed_cells(dataset: str) -> list[Cell]:
    printed = published.uci_marks(dataset)
    return [
        Cell(number(published.uci(dataset, method), 2), printed.get(method, ""))
        for method in METHODS
    ]


def _published(random: DataFrame) -> Table:
    return Table(
        "The paper's table, with its own marks.",
        ("data set", *header()),
        tuple(row(name, *_printed_cells(name)) for name, _ in _sets(random)),
        ("The paper prints no standard errors.",),
        is_printed=True,
        printed="Table 5",
    )


def _differences(random: DataFrame) -> Table:
    rows = []
    for name, part in _sets(random):
        found = summaries(part, ["method"], "accuracy")
        cells = (
            difference(found.get(method, NOTHING).mean, published.uci(name, method), 2)
            for method in METHODS
        )
        rows.append(row(name, *cells))
    return Table(
        "Ours minus the paper's, in percentage points.", ("data set", *header()), tuple(rows)
    )


def _by_split(frame: DataFrame) -> Table:
    rows = []
    for name, part in _sets(frame):
        rows += [
            _split_row(part[part["split"] == split], name, split)
            for split in present(tuple(_SPLITS), part, "split")
        ]
        rows.append(row(name, "paper", *_printed_cells(name), "–"))
    return Table(
        "Random splits beside one split in the order of the file (first half, next quarter, last "
        "quarter), and what always giving the training rows' majority class reaches.",
        ("data set", "split", *header(), "training majority"),
        tuple(rows),
        ("Mean ± standard error for random splits; the order of the file gives one split.",),
        n_labels=2,
    )


def _split_row(part: DataFrame, name: str, split: str) -> tuple[Cell, ...]:
    # It belongs to the split, the same for every method on it.
    majority = summarize(part.drop_duplicates("repetition")["majority"])
    return row(name, _SPLITS.get(split, split), *own_cells(part), plus_minus(majority, 2))


def _molecules(musk2: DataFrame) -> Table:
    shown = [split for split in ("random", "molecules") if (musk2["split"] == split).any()]
    rows = [_split_row(musk2[musk2["split"] == split], "musk2", split) for split in shown]
    rows.append(row("musk2", "paper", *_printed_cells("musk2"), "–"))
    return Table(
        "musk2 with the conformations of a molecule kept together, beside random splits.",
        ("data set", "split", *header(), "training majority"),
        tuple(rows),
        (repetitions(musk2[musk2["split"].isin(shown)].groupby(["split", "method"]).size()),),
        n_labels=2,
    )


def _sizes(random: DataFrame) -> Table:
    rows = []
    for name, part in _sets(random):
        found = summaries(part, ["method"], "size")
        cells = (number(found.get(method, NOTHING).mean, 1) for method in METHODS)
        train = number(summarize(part["n_train"]).mean, 0)
        rows.append(row(name, train, *cells))
    return Table(
        "Size of what is stored: atoms, support vectors, centres (FPC), nodes of trees, "
        "coefficients; means over random splits.",
        ("data set", "training rows", *header()),
        tuple(rows),
    )


def _count(random: DataFrame) -> str:
    """Say how often a fully corrective method is best, here and in the paper."""
    ours, theirs, n_sets = 0, 0, 0
    for name, part in _sets(random):
        found = summaries(part, ["method"], "accuracy")
        n_sets += 1
        ours += _boosting_leads(marks(_means(found), 2, largest=True))
        theirs += _boosting_leads(published.uci_marks(name))
    return (
        f"On random splits one of the four FCG methods is best, or ties, on {ours} of {n_sets} "
        f"data sets; in the paper on {theirs} of the same."
    )


def _means(found: Mapping[str, Summary]) -> dict[str, float]:
    return {method: value.mean for method, value in found.items()}


def _boosting_leads(given: Mapping[str, Mark]) -> bool:
    return any(mark == "best" and name.startswith("fcg_") for name, mark in given.items())
