"""Accuracy against the share of wrong labels, and what options against them gain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting.beyond import by_set, common, in_points, verdicts
from paper.reporting.document import Body
from paper.reporting.ledger.beyond import OPTIONS, ROBUSTNESS
from paper.reporting.summaries import NOTHING, marks, summaries
from paper.reporting.tables import (
    Cell,
    Table,
    plus_minus,
    present,
    row,
    signed_plus_minus,
)
from paper.rivals import RIVALS

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS: Mapping[str, str] = {
    "default": "fcgboost",
    **{option: f"fcgboost, {option}" for option in OPTIONS},
    "hinge": "Gauss, hinge",
    "squared_hinge": "Gauss, squared hinge",
    "cubed_hinge": "Gauss, cubed hinge",
    "square": "Gauss, square",
    **{name: RIVALS[name].title for name in ("svm_rbf", "lightgbm", "xgboost", "random_forest")},
}
_SETS = ("simulation", "biodeg", "magic_gamma_telescope", "banknote_authentication")


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Show accuracies set by set, and the options' gains."""
    sets = present(_SETS, frame, "dataset")
    tables = [verdicts("robustness", ROBUSTNESS, frame)]
    tables += [_accuracies(frame[frame["dataset"] == name], name) for name in sets]
    tables.append(_gains(frame, sets))
    how = (
        "Labels of the training part and of the validation part are flipped, the same rows for "
        "all; test labels are clean. Options start from the default's fit and have its ridge and "
        "number of steps, and average as many paths; how much they do is chosen by accuracy on the "
        "noisy validation part."
    )
    return Body((how,), tuple(tables))


def _accuracies(rows: DataFrame, name: str) -> Table:
    noises = sorted(rows["noise"].unique())
    models = present(tuple(LABELS), rows, "model")
    shared = common(rows, models, ("noise", "repetition"))
    # Of an unfinished run, what is there.
    rows = shared if len(shared) else rows
    found = summaries(
        rows.assign(accuracy=100.0 * rows["accuracy"]), ["model", "noise"], "accuracy"
    )
    best = {
        noise: marks(
            {model: found.get((model, noise), NOTHING).mean for model in models}, 1, largest=True
        )
        for noise in noises
    }
    lines = []
    for model in models:
        n = rows[rows["model"] == model]["repetition"].nunique()
        cells = (
            Cell(plus_minus(found.get((model, noise), NOTHING), 1), best[noise][model])
            for noise in noises
        )
        lines.append(row(LABELS.get(model, model), str(n), *cells))
    header = ("method", "splits", *(f"{noise:.0%} flipped" for noise in noises))
    where = "; means over the splits that all have" if len(shared) else ""
    caption = f"Test accuracies in percent, {name}{where}."
    return Table(caption, header, tuple(lines), n_labels=2)


def _gains(frame: DataFrame, sets: list[str]) -> Table:
    noises = sorted(frame["noise"].unique())
    lines = []
    for option in present(tuple(OPTIONS), frame[frame["model"].isin(OPTIONS)], "model"):
        for noise in noises:
            found = by_set(frame[frame["noise"] == noise], "accuracy", "default", option)
            shown = (signed_plus_minus(in_points(found.get(name, NOTHING)), 2) for name in sets)
            lines.append(row(option, f"{noise:.0%}", *shown))
    return Table(
        "Points of accuracy gained over the default, on all of its splits.",
        ("option", "flipped", *sets),
        tuple(lines),
        ("± is the standard error of the difference on the same splits.",),
        n_labels=2,
    )
