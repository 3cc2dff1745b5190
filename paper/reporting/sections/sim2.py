"""Simulation 2: the effect of the size n of the dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting import figures
from paper.reporting.document import Body, Picture
from paper.reporting.figures import DICTIONARY_STYLES, NOISE_NAMES
from paper.reporting.summaries import NOTHING, marks, paired, summaries
from paper.reporting.tables import (
    Cell,
    Table,
    plus_minus,
    present,
    repetitions,
    row,
    signed_plus_minus,
)

if TYPE_CHECKING:
    from pandas import DataFrame


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Draw test error against n."""
    paragraphs = (
        "m = 1000, test labels are clean. The paper prints a figure and no numbers, and reads "
        "from it that n has little effect.",
    )
    tables = tuple(
        _table(frame[frame["noise"] == noise], noise)
        for noise in present(tuple(NOISE_NAMES), frame, "noise")
    )
    return Body(paragraphs, tables, (_figure(frame),))


def _figure(frame: DataFrame) -> Picture:
    figure, axes = figures.panels(1, 2, 3.6, sharey=True)
    for ax, noise in zip(axes[0], NOISE_NAMES, strict=True):
        part = frame[frame["noise"] == noise]
        for name in present(tuple(DICTIONARY_STYLES), part, "dictionary"):
            points = summaries(part[part["dictionary"] == name], ["n"], "test_error")
            style = DICTIONARY_STYLES[name]
            figures.curve(ax, [n / 1000 for n in points], list(points.values()), style)
        ax.set(title=NOISE_NAMES[noise], xlabel="candidates n (thousands)")
    axes[0][0].set_ylim(bottom=0.0)
    axes[0][0].set_ylabel("test error (share of labels)")
    caption = "Test error against the number of candidates; mean and a band of one standard error."
    return figures.finish(figure, "sim2-candidates", caption, printed="Figure 5")


def _table(frame: DataFrame, noise: str) -> Table:
    found = summaries(frame, ["dictionary", "n"], "test_error")
    sizes = sorted({n for _, n in found})
    rows = []
    for name in present(tuple(DICTIONARY_STYLES), frame, "dictionary"):
        own = {n: found.get((name, n), NOTHING) for n in sizes}
        best = marks({n: value.mean for n, value in own.items()}, 4, second=False)
        cells = [Cell(plus_minus(value, 4), best[n]) for n, value in own.items()]
        part = frame[frame["dictionary"] == name]
        change = paired(part, "test_error", "n", sizes[0], sizes[-1])
        rows.append(row(DICTIONARY_STYLES[name].label, *cells, signed_plus_minus(change, 4)))
    return Table(
        f"Test error for n candidates under {NOISE_NAMES.get(noise, noise)}.",
        ("dictionary", *(f"n = {n}" for n in sizes), "change, first to last n"),
        tuple(rows),
        (
            repetitions(value.n for value in found.values()),
            "The change is paired: the same training set at the largest n and at the smallest. "
            "Marked: the best n.",
        ),
    )
