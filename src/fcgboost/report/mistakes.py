"""Which classes are confused, and which rows are most wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.report.document import Block, Cell, Head, Table, Text
from fcgboost.report.subject import Judged, Subject
from fcgboost.report.wording import count, fixed, label, number, percent, shortened

_MOST_CLASSES = 12
_MOST_ROWS = 20
_MOST_COLUMNS = 8


def mistake_blocks(subject: Subject, judged: Judged) -> list[Block]:
    """Give the confusion table and the worst rows."""
    n_wrong = int((judged.labels != judged.y).sum())
    if n_wrong == 0:
        return [_confusion(subject, judged), Text("No row is classified wrongly.")]
    return [_confusion(subject, judged), _worst(subject, judged, n_wrong)]


def _confusion(subject: Subject, judged: Judged) -> Table:
    """Count what is said about the rows of each class."""
    classes = subject.classes
    n = len(classes)
    said = (judged.labels[:, None] == classes[None, :]).argmax(axis=1)
    counts = np.zeros((n + 1, n), dtype=int)
    np.add.at(counts, (judged.codes, said), 1)
    # The last row is that of labels which the model does not know.
    names = [*map(label, classes), "unknown to the model"]
    shown = range(n) if n <= _MOST_CLASSES else []
    heads = [Head("true class"), Head("rows", "number")]
    heads += [Head(f"{names[j]}", "number") for j in shown]
    heads += [Head("found", "number"), Head("right when said", "number")]
    rows = []
    for i in range(n + 1 if counts[n].any() else n):
        cells = [Cell(names[i]), _count(counts[i].sum())]
        cells += [_count(counts[i, j], "hit" if i == j else "miss") for j in shown]
        right = counts[i, i] if i < n else 0
        cells += [_share(right, counts[i].sum())]
        cells += [_share(right, counts[:, i].sum()) if i < n else Cell("")]
        rows.append(cells)
    groups = [("", 2), ("said to be", n), ("", 2)] if shown else ()
    notes = [
        "Found: the share of a class's rows that are said to be it (recall). Right when said: "
        "the share of the rows said to be a class that are (precision)."
    ]
    return Table("What the model says about the rows of each class.", heads, rows, notes, groups)


def _count(n: Any, style: Any = "") -> Cell:
    return Cell(count(n), key=float(n), style=style if n else "")


def _share(part: Any, whole: Any) -> Cell:
    return Cell(percent(part / whole), key=float(part / whole)) if whole else Cell("–")


def _worst(subject: Subject, judged: Judged, n_wrong: int) -> Table:
    """List the mistakes with the most negative margins."""
    wrong = np.flatnonzero(judged.labels != judged.y)
    rows = wrong[np.argsort(judged.margins[wrong], kind="stable")[:_MOST_ROWS]]
    places = subject.largest(_MOST_COLUMNS)
    heads = [Head("row", "number"), Head("true class"), Head("said to be")]
    heads += [Head("margin", "number")]
    if judged.proba is not None:
        heads += [Head("probability", "number")]
    values = [np.asarray(judged.values(place), dtype=object) for place in places]
    heads += [_value_head(subject, judged, place) for place in places]
    cells = [[*_facts(judged, int(i)), *(_value(column[i]) for column in values)] for i in rows]
    caption = f"The {len(rows)} worst of {count(n_wrong, 'mistake')}."
    if len(rows) == n_wrong:
        caption = f"The {count(n_wrong, 'mistake')}, the worst first."
    notes = [
        "Row: its place in the data, the first is 0. Margin: how far the true class is ahead, "
        "so below 0 for every mistake. Probability: of the true class."
    ]
    if len(places) < len(subject.columns):
        notes.append(f"{count(len(places))} of {count(len(subject.columns), 'column')} are shown.")
    return Table(caption, heads, cells, notes)


def _facts(judged: Judged, i: int) -> list[Cell]:
    margin = float(judged.margins[i])
    cells = [Cell(count(i), key=float(i)), Cell(label(judged.y[i])), Cell(label(judged.labels[i]))]
    cells.append(Cell(fixed(margin, 3), key=margin))
    if judged.proba is not None:
        code = judged.codes[i]
        p = float(judged.proba[i, code]) if code >= 0 else 0.0
        cells.append(Cell(fixed(p, 3), key=p))
    return cells


def _value_head(subject: Subject, judged: Judged, place: int) -> Head:
    name = shortened(subject.columns[place].name, 28)
    is_number = np.asarray(judged.values(place)).dtype.kind in "biuf"
    return Head(name, "number" if is_number else "label")


def _value(value: Any) -> Cell:
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return Cell(number(float(value)), key=float(value) if value == value else None)
    return Cell("" if value is None else shortened(str(value), 28))
