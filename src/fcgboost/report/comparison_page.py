"""The page about a comparison of methods."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from fcgboost.comparison import BASELINE, Comparison, Row
from fcgboost.report.document import (
    Block,
    Card,
    Cell,
    Explorer,
    Facts,
    Head,
    Page,
    Section,
    Table,
)
from fcgboost.report.rendering import write_page
from fcgboost.report.wording import (
    count,
    interval,
    listed,
    percent,
    score,
    score_notes,
    score_title,
    seconds,
    shortened,
)
from fcgboost.scores import LARGER_IS_BETTER, TITLES

_OURS = "fcgboost"
_NAMES = {
    "n_train": "rows fitted to",
    "n_test": "rows scored on",
    "n_columns": "columns of the data",
    "n_features": "columns of numbers made from them",
    "n_threads": "threads of every method",
    "test_size": "share scored on",
    "random_state": "random_state",
}


def write_comparison(
    path: str | os.PathLike[str], comparison: Comparison, *, title: str | None = None
) -> Path:
    """Write one HTML page about a comparison of methods, which needs no network to be read.

    Parameters
    ----------
    path : path
        The page is there in full or not at all.
    comparison : Comparison
    title : str or None, default=None
        The heading of the page.

    Returns
    -------
    Path
    """
    return write_page(path, make_page(comparison, title))


def make_page(comparison: Comparison, title: str | None) -> Page:
    """Collect what there is to say."""
    sections = []
    if any(row.scores for row in comparison.rows):
        hint = "Choose a score. Intervals that overlap much leave open who is better."
        explorer = Explorer("intervals", _intervals(comparison), hint)
        sections.append(Section("scores", "Scores", [explorer, _table(comparison)]))
    else:
        sections.append(Section("scores", "Scores", [_table(comparison)]))
    sections.append(Section("data", "Data and settings", _data(comparison.data)))
    footer = f"Written by fcgboost {version('fcgboost')}. This page loads nothing from elsewhere."
    heading = title or "A comparison of classifiers"
    return Page(heading, _lead(comparison), _cards(comparison), sections, footer)


def _lead(comparison: Comparison) -> list[str]:
    data, rows = comparison.data, [row for row in comparison.rows if row.scores]
    lines = []
    if {"n_train", "n_test"} <= data.keys():
        lines.append(
            f"{count(len(comparison.rows), 'method')} fitted to the same {count(data['n_train'])} "
            f"rows and scored on {count(data['n_test'])} others."
        )
    if {"n_columns", "n_features", "n_threads"} <= data.keys():
        lines.append(
            f"Every method is given the same {count(data['n_features'], 'column')} of numbers, "
            f"made from {count(data['n_columns'], 'column')} of the data, and "
            f"{count(data['n_threads'], 'thread')}."
        )
    if rows:
        best = max(rows, key=lambda row: row.scores["accuracy"].value)
        lines.append(f"The best accuracy: {_phrase(best)}.")
        others = [row for row in rows if _is_ours(row) and row is not best]
        lines += [f"Ours: {_phrase(row)}." for row in others[:1]]
    lines.append(
        "All methods have the default settings of their libraries, unless their name says "
        "otherwise: this is a first look and no verdict, since tuning may change the order."
    )
    return lines


def _phrase(row: Row) -> str:
    accuracy = row.scores["accuracy"]
    value, ends = score("accuracy", accuracy.value), interval("accuracy", accuracy)
    made = f", made of {row.size}" if row.size else ""
    return f"{shortened(row.method)} with {value} (95 % interval: {ends}){made}"


def _cards(comparison: Comparison) -> list[Card]:
    rows = [row for row in comparison.rows if row.scores]
    if not rows:
        return []
    cards, notes = [], score_notes(_metrics(comparison), _n_classes(comparison))
    for name in _metrics(comparison):
        scored = [row for row in rows if name in row.scores]
        sign = 1 if name in LARGER_IS_BETTER else -1
        best = max(scored, key=lambda row: sign * row.scores[name].value)
        value = score(name, best.scores[name].value)
        title, method = f"Best {TITLES.get(name, name)}", shortened(best.method)
        cards.append(Card(title, value, method, notes.get(name, "")))
    timed = [row for row in rows if row.method != BASELINE]
    if timed:
        fastest = min(timed, key=lambda row: row.seconds)
        cards.append(Card("Fastest fit", seconds(fastest.seconds), shortened(fastest.method)))
    return cards


def _is_ours(row: Row) -> bool:
    return row.method.split()[0].lower() == _OURS if row.method.split() else False


def _metrics(comparison: Comparison) -> list[str]:
    """Name the scores that any method has, in the order of the first."""
    return list(dict.fromkeys(name for row in comparison.rows for name in row.scores))


def _intervals(comparison: Comparison) -> dict[str, Any]:
    """Give the scores as the page's script draws them; ends that are not finite are left out."""
    rows: list[dict[str, Any]] = []
    for row in comparison.rows:
        scores = {
            name: [one.value, one.low, one.high]
            for name, one in row.scores.items()
            if np.isfinite([one.value, one.low, one.high]).all()
        }
        rows.append({"method": shortened(row.method), "ours": _is_ours(row), "scores": scores})
    metrics = [
        {
            "name": name,
            "title": score_title(name),
            "percent": name == "accuracy",
            "larger": name in LARGER_IS_BETTER,
        }
        for name in _metrics(comparison)
        if any(name in row["scores"] for row in rows)
    ]
    return {"metrics": metrics, "rows": rows}


def _table(comparison: Comparison) -> Table:
    names = _metrics(comparison)
    heads = [Head("method"), *(Head(score_title(name), "number") for name in names)]
    heads += [Head("time of the fit", "number"), Head("size", "label")]
    has_notes = any(row.note for row in comparison.rows)
    heads += [Head("note", "text")] if has_notes else []
    rows = []
    for row in comparison.rows:
        cells = [Cell(shortened(row.method), style="ours" if _is_ours(row) else "")]
        cells += [_score_cell(comparison, row, name) for name in names]
        is_fitted = bool(row.scores)
        cells.append(Cell(seconds(row.seconds), key=row.seconds) if is_fitted else Cell(""))
        cells.append(Cell(shortened(str(row.size))))
        cells += [Cell(row.note)] if has_notes else []
        rows.append(cells)
    notes = ["Below every score its 95 % interval. Bold: the best. Marked rows are ours."]
    smaller = [score_title(name) for name in names if name not in LARGER_IS_BETTER]
    if smaller:
        notes.append(f"Smaller is better: {listed(smaller)}.")
    notes += score_notes(names, _n_classes(comparison)).values()
    return Table("The methods.", heads, rows, notes)


def _n_classes(comparison: Comparison) -> int | None:
    classes = comparison.data.get("classes")
    return len(classes) if isinstance(classes, Mapping) else None


def _score_cell(comparison: Comparison, row: Row, name: str) -> Cell:
    one = row.scores.get(name)
    if one is None:
        return Cell("")
    sign = 1 if name in LARGER_IS_BETTER else -1
    all_values = [other.scores[name].value for other in comparison.rows if name in other.scores]
    is_best = sign * one.value == max(sign * value for value in all_values)
    style: Any = "best" if is_best else ""
    return Cell(score(name, one.value), one.value, interval(name, one), style=style)


def _data(data: Mapping[str, Any]) -> list[Block]:
    facts, classes = [], None
    for key, value in data.items():
        if key == "classes" and isinstance(value, Mapping):
            classes = value
        else:
            name = _NAMES.get(key, key.replace("_", " "))
            shown = count(value) if key.startswith("n_") else shortened(str(value))
            facts.append((name, shown))
    blocks: list[Block] = [Facts(facts)]
    if classes is not None:
        heads = [Head("class"), Head("share", "number")]
        rows = [[Cell(shortened(str(name))), _share(float(p))] for name, p in classes.items()]
        blocks.append(Table("The classes.", heads, rows))
    return blocks


def _share(value: float) -> Cell:
    return Cell(percent(value), key=value, share=value)
