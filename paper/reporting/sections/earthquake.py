"""Earthquake intensities beside the paper's table, and a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fcgboost.colors import CLASS_COLORS
from paper.data import fetch_earthquake
from paper.reporting import figures, published
from paper.reporting.document import Body, Picture
from paper.reporting.sections.uci import METHODS, header, in_percent, own_cells
from paper.reporting.summaries import NOTHING, summaries, summarize
from paper.reporting.tables import (
    Cell,
    Table,
    difference,
    number,
    plus_minus,
    repetitions,
    row,
)

if TYPE_CHECKING:
    from pandas import DataFrame


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare the methods, and draw the records where the file is at hand."""
    return Body((), (_table(in_percent(frame)),), _maps())


def _table(frame: DataFrame) -> Table:
    found = summaries(frame, ["method"], "accuracy")
    majority = summarize(frame.drop_duplicates("repetition")["majority"])
    printed = published.earthquake_marks()
    theirs = [
        Cell(number(published.earthquake(name), 2), printed.get(name, "")) for name in METHODS
    ]
    gaps = [
        difference(found.get(name, NOTHING).mean, published.earthquake(name), 2) for name in METHODS
    ]
    return Table(
        "Test accuracies in percent, intensity 1 to 4 against 5 to 12.",
        ("", *header(), "training majority"),
        (
            row("ours", *own_cells(frame), plus_minus(majority, 2)),
            row("paper", *theirs, "–"),
            row("difference", *gaps, "–"),
        ),
        (repetitions(frame.groupby("method").size()),),
    )


def _maps() -> tuple[Picture, ...]:
    try:
        X, y = fetch_earthquake()
    except FileNotFoundError:
        return ()
    return (draw_map(X[:, [1, 0]], X[:, [3, 2]], y),)


def draw_map(epicentres: ArrayLike, cities: ArrayLike, y: ArrayLike) -> Picture:
    """Draw where quakes were and where they were felt.

    Parameters
    ----------
    epicentres, cities : array-like of shape (n_records, 2)
        Longitudes and latitudes in degrees.
    y : array-like of shape (n_records,)
        +1 for intensity 1 to 4, -1 for 5 to 12.
    """
    places, labels = np.asarray(cities, dtype=np.float64), np.asarray(y)
    figure, axes = figures.panels(1, 1, 5.0)
    ax = axes[0][0]
    names = {-1.0: "felt in a city, intensity 5 to 12", 1.0: "felt in a city, intensity 1 to 4"}
    for (label, name), color, marker in zip(names.items(), CLASS_COLORS, ("^", "o"), strict=True):
        x, height = places[labels == label].T
        options: dict[str, Any] = {"c": color, "marker": marker, "linewidths": 0, "alpha": 0.5}
        ax.scatter(x, height, s=7, label=name, **options)
    x, height = np.unique(np.asarray(epicentres, dtype=np.float64), axis=0).T
    ax.scatter(x, height, s=14, marker="+", c="black", linewidths=0.7, label="epicentre")
    ax.set(xlabel="longitude (degrees east)", ylabel="latitude (degrees north)")
    # Degrees of longitude are shorter than those of latitude: about right at 40 degrees north.
    ax.set_aspect(1.0 / np.cos(np.radians(40.0)), adjustable="datalim")
    caption = "Epicentres, and the cities that reported the quakes, by intensity."
    return figures.finish(figure, "earthquake-map", caption, n_columns=3)
