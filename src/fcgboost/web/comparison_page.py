"""The page about a comparison of methods."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fcgboost.comparison import BASELINE, Comparison, Row
from fcgboost.scores import LARGER_IS_BETTER, TITLES
from fcgboost.web import text
from fcgboost.web.blocks import Block, Card, Cell, Explorer, Head, Section, Table, share_cell
from fcgboost.web.page import write_page
from fcgboost.web.text import count, shortened

_OURS = "fcgboost"
_NAMES = {
    "n_train": "training rows",
    "n_test": "test rows",
    "n_columns": "columns",
    "n_features": "columns after encoding",
    "n_threads": "threads per method",
    "test_size": "test share",
    "random_state": "random_state",
}


def write_comparison_report(
    path: str | os.PathLike[str], comparison: Comparison, *, title: str | None = None
) -> Path:
    """Write one self-contained HTML page about a comparison of methods.

    Parameters
    ----------
    path : path
        The page is written in full or not at all.
    comparison : Comparison
    title : str or None, default=None
        The heading of the page.

    Returns
    -------
    Path
    """
    scores: list[Block] = [_table(comparison)]
    if any(row.scores for row in comparison.rows):
        hint = "Choose a score. Intervals that overlap a lot decide nothing."
        scores.insert(0, Explorer("intervals", _intervals(comparison), hint))
    sections: list[Section] = [
        ("scores", "Scores", scores),
        ("data", "Data and settings", _data(comparison.data)),
    ]
    heading = title or "A comparison of classifiers"
    return write_page(path, heading, _lead(comparison), _cards(comparison), sections)


def _lead(comparison: Comparison) -> list[str]:
    data, rows = comparison.data, [row for row in comparison.rows if row.scores]
    lines = []
    if {"n_train", "n_test"} <= data.keys():
        lines.append(
            f"{count(len(comparison.rows), 'method')}, trained on the same "
            f"{count(data['n_train'])} rows and tested on {count(data['n_test'])} others."
        )
    if {"n_columns", "n_features", "n_threads"} <= data.keys():
        lines.append(
            f"Every method has {count(data['n_threads'], 'thread')}. fcgboost reads the "
            f"{count(data['n_columns'], 'column')} of the table itself; all others get "
            f"{count(data['n_features'], 'encoded column')}."
        )
    if rows:
        best = max(rows, key=lambda row: row.scores["accuracy"].value)
        lines.append(f"Best accuracy: {_phrase(best)}.")
        others = [row for row in rows if _is_ours(row) and row is not best]
        lines += [f"Ours: {_phrase(row)}." for row in others[:1]]
    lines.append(
        "All methods use their default settings unless their name says otherwise. This is a first "
        "look, not a verdict: tuning may change the order."
    )
    return lines


def _phrase(row: Row) -> str:
    accuracy = row.scores["accuracy"]
    share, ends = text.percent(accuracy.value), text.interval("accuracy", accuracy)
    made = f", {row.size}" if row.size else ""
    return f"{shortened(row.method)} with {share} (95 % interval: {ends}){made}"


def _is_ours(row: Row) -> bool:
    return row.method.lower().split()[:1] == [_OURS]


def _metrics(comparison: Comparison) -> list[str]:
    """Return the names of all scores, in order of appearance."""
    return list(dict.fromkeys(name for row in comparison.rows for name in row.scores))


def _notes(comparison: Comparison) -> dict[str, str]:
    classes = comparison.data.get("classes")
    n_classes = len(classes) if isinstance(classes, Mapping) else None
    return text.score_notes(_metrics(comparison), n_classes)


def _best(comparison: Comparison, name: str) -> Row:
    sign = 1 if name in LARGER_IS_BETTER else -1
    scored = [row for row in comparison.rows if name in row.scores]
    return max(scored, key=lambda row: sign * row.scores[name].value)


def _cards(comparison: Comparison) -> list[Card]:
    cards, notes = [], _notes(comparison)
    for name in _metrics(comparison):
        best = _best(comparison, name)
        value, title = text.score(name, best.scores[name].value), f"Best {TITLES.get(name, name)}"
        cards.append(Card(title, value, shortened(best.method), notes.get(name, "")))
    timed = [row for row in comparison.rows if row.scores and row.method != BASELINE]
    if timed:
        fastest = min(timed, key=lambda row: row.seconds)
        cards.append(Card("Fastest fit", text.seconds(fastest.seconds), shortened(fastest.method)))
    return cards


def _intervals(comparison: Comparison) -> dict[str, Any]:
    """Return the scores as the page's script draws them, if their intervals are finite."""
    rows: list[dict[str, Any]] = []
    for row in comparison.rows:
        ends = {name: [one.value, one.low, one.high] for name, one in row.scores.items()}
        scores = {name: three for name, three in ends.items() if np.isfinite(three).all()}
        rows.append({"method": shortened(row.method), "ours": _is_ours(row), "scores": scores})
    metrics = [
        {
            "name": name,
            "title": text.score_title(name),
            "percent": name == "accuracy",
            "larger": name in LARGER_IS_BETTER,
        }
        for name in _metrics(comparison)
        if any(name in row["scores"] for row in rows)
    ]
    return {"metrics": metrics, "rows": rows}


def _table(comparison: Comparison) -> Table:
    names = _metrics(comparison)
    heads = [Head("method"), *(Head(text.score_title(name), "number") for name in names)]
    heads += [Head("fit time", "number"), Head("size", "label")]
    has_notes = any(row.note for row in comparison.rows)
    heads += [Head("note", "text")] if has_notes else []
    rows = []
    for row in comparison.rows:
        cells = [Cell(shortened(row.method), style="ours" if _is_ours(row) else "")]
        cells += [_score_cell(comparison, row, name) for name in names]
        cells.append(Cell(text.seconds(row.seconds), key=row.seconds) if row.scores else Cell(""))
        cells.append(Cell(shortened(str(row.size))))
        cells += [Cell(row.note)] if has_notes else []
        rows.append(cells)
    notes = ["95 % intervals below the scores. Bold: the best. Highlighted: ours."]
    smaller = [text.score_title(name) for name in names if name not in LARGER_IS_BETTER]
    notes += [f"Smaller is better: {text.listed(smaller)}."] if smaller else []
    return Table("Methods", heads, rows, [*notes, *_notes(comparison).values()])


def _score_cell(comparison: Comparison, row: Row, name: str) -> Cell:
    one = row.scores.get(name)
    if one is None:
        return Cell("")
    is_best = one.value == _best(comparison, name).scores[name].value
    ends = text.interval(name, one)
    return Cell(text.score(name, one.value), one.value, ends, style="best" if is_best else "")


def _data(data: Mapping[str, Any]) -> list[Block]:
    facts, tables = {}, []
    for key, value in data.items():
        if key == "classes" and isinstance(value, Mapping):
            heads = [Head("class"), Head("share", "number")]
            rows = [[Cell(shortened(str(name))), share_cell(float(p))] for name, p in value.items()]
            tables.append(Table("Classes", heads, rows))
        else:
            shown = count(value) if key.startswith("n_") else shortened(str(value))
            facts[_NAMES.get(key, key.replace("_", " "))] = shown
    return [facts, *tables]
