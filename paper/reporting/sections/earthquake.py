"""Earthquake intensities beside the paper's table, the same in Italy, and a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
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
    frame = in_percent(frame)
    table = Table(
        "Test accuracies in percent, intensity 1 to 4 against 5 to 12.",
        ("", *header(), "training majority"),
        (row("ours", *own_cells(frame), _majority(frame)), *_printed(frame)),
        (repetitions(frame.groupby("method").size()),),
        printed="Table 6",
    )
    return Body((), (table,), _maps())


def _majority(frame: DataFrame) -> str:
    """Give what always answering the training part's most frequent class reaches."""
    return plus_minus(summarize(frame.drop_duplicates("repetition")["majority"]), 2)


def _printed(frame: DataFrame) -> Iterator[tuple[Cell, ...]]:
    """Give the paper's figures, and ours minus them."""
    found = summaries(frame, ["method"], "accuracy")
    marks = published.earthquake_marks()
    theirs = [Cell(number(published.earthquake(name), 2), marks.get(name, "")) for name in METHODS]
    yield row("paper", *theirs, "–")
    gaps = [
        difference(found.get(name, NOTHING).mean, published.earthquake(name), 2) for name in METHODS
    ]
    yield row("difference", *gaps, "–")


def _maps() -> tuple[Picture, ...]:
    try:
        X, y = fetch_earthquake()
    except FileNotFoundError:
        return ()
    caption = (
        "Epicentres, and the cities that reported the quakes, by intensity. The paper's figure is "
        "a drawing without data."
    )
    picture = draw_map(
        X[:, [1, 0]],
        X[:, [3, 2]],
        y,
        "earthquake-map",
        caption,
    )
    return (replace(picture, printed="Figure 6"),)


#: How the reports were split, and what each table says of it.
_ITALIAN_SPLITS = {
    "random": "random splits, as in the paper",
    "events": "splits that keep the reports of an event together",
}


def write_italy(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare the methods on both kinds of splits."""
    frame = in_percent(frame)
    tables = [
        _italian_table(frame[frame["split"] == split], text)
        for split, text in _ITALIAN_SPLITS.items()
        if (frame["split"] == split).any()
    ]
    return Body((), tuple(tables))


def _italian_table(frame: DataFrame, split: str) -> Table:
    # The one method that is not the paper's.
    default = summarize(frame[~frame["method"].isin(METHODS)]["accuracy"])
    return Table(
        f"Not the paper's data: CFTI5Med. Test accuracies in percent, intensity 1 to 4 against 5 "
        f"to 12, {split}.",
        ("", *header(), "fcgboost's default", "training majority"),
        (row("ours", *own_cells(frame), plus_minus(default, 2), _majority(frame)),),
        (
            repetitions(frame.groupby("method").size()),
            "Marked: the best and second of the paper's methods. Magnitudes and epicentres of old "
            "events were estimated from the intensities themselves.",
        ),
    )


def draw_map(
    epicentres: ArrayLike,
    cities: ArrayLike,
    y: ArrayLike,
    name: str,
    caption: str,
) -> Picture:
    """Draw where quakes were and where they were felt.

    Parameters
    ----------
    epicentres, cities : array-like of shape (n_records, 2)
        Longitudes and latitudes in degrees.
    y : array-like of shape (n_records,)
        +1 for intensity 1 to 4, -1 for 5 to 12.
    name, caption : str
        Of the picture.
    """
    places, labels = np.asarray(cities, dtype=np.float64), np.asarray(y)
    figure, axes = figures.panels(1, 1, 5.0)
    ax = axes[0][0]
    names = {-1.0: "felt in a city, intensity 5 to 12", 1.0: "felt in a city, intensity 1 to 4"}
    for (label, felt), color, marker in zip(names.items(), CLASS_COLORS, ("^", "o"), strict=True):
        x, height = places[labels == label].T
        options: dict[str, Any] = {"c": color, "marker": marker, "linewidths": 0, "alpha": 0.5}
        ax.scatter(x, height, s=7, label=felt, **options)
    x, height = np.unique(np.asarray(epicentres, dtype=np.float64), axis=0).T
    ax.scatter(x, height, s=14, marker="+", c="black", linewidths=0.7, label="epicentre")
    ax.set(xlabel="longitude (degrees east)", ylabel="latitude (degrees north)")
    # Degrees of longitude are shorter than those of latitude: about right at 40 degrees north.
    ax.set_aspect(1.0 / np.cos(np.radians(40.0)), adjustable="datalim")
    return figures.finish(figure, name, caption, n_columns=3)
