"""The columns of a table: what they hold, and how much they matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import SmoothDictionary
from fcgboost.report.document import Cell, Head, Table
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.report.wording import count, listed, number, percent, quoted, shortened
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn

_MOST_COLUMNS = 100
_N_BINS = 16
_MOST_LEVELS = 16
_NOTHING = Cell("")


def column_table(subject: Subject, judged: Judged | None) -> Table:
    """Describe the columns, the most important ones first if there are many."""
    influence = subject.influence
    heads = [Head("column"), Head("kind")]
    heads += [] if influence is None else [Head("influence", "number")]
    if judged is None:
        heads += [Head("as the model takes it", "text")]
    else:
        heads += [Head(name, "number") for name in ("missing", "smallest", "median", "largest")]
        heads += [Head("rows by value", is_sortable=False)]
        if any(isinstance(column, CategoryColumn) for column in subject.columns):
            heads += [Head("most frequent", "text")]
    places = _shown(subject)
    rows = [_row(subject, judged, place, len(heads)) for place in places]
    return Table("The columns.", heads, rows, _notes(subject, judged, len(places)))


def _shown(subject: Subject) -> list[int]:
    n, influence = len(subject.columns), subject.influence
    if n <= _MOST_COLUMNS or influence is None:
        return list(range(min(n, _MOST_COLUMNS)))
    return sorted(np.argsort(-influence, kind="stable")[:_MOST_COLUMNS].tolist())


def _notes(subject: Subject, judged: Judged | None, n_shown: int) -> list[str]:
    notes = []
    if n_shown < len(subject.columns):
        notes.append(f"{count(n_shown)} of {count(len(subject.columns), 'column')} are shown.")
    if judged is not None and len(subject.classes) == 2:
        notes.append(f"In colour: rows of the class {quoted(subject.classes[1])}.")
    if subject.influence is not None:
        notes.append(f"Influence: {influence_words(subject)}, as a share of all columns'.")
    return notes


def influence_words(subject: Subject) -> str:
    """Say what influence is."""
    if isinstance(subject.classifier.model_.dictionary, SmoothDictionary):
        return "the mean size of the model's slope in a column, in standard deviations"
    return "the mean size of the model's change where a row has the column's value of another row"


def _influence(influence: Array, place: int) -> Cell:
    value = float(influence[place])
    return Cell(percent(value), key=value, share=value / (float(influence.max()) or 1.0))


def _row(subject: Subject, judged: Judged | None, place: int, n_cells: int) -> list[Cell]:
    column = subject.columns[place]
    cells = [Cell(shortened(column.name)), _kind(column)]
    if subject.influence is not None:
        cells.append(_influence(subject.influence, place))
    if judged is None:
        cells.append(Cell(_treatment(column)))
    elif (values := judged.values(place)) is not None:
        part = (judged.codes == 1) & (len(subject.classes) == 2)
        if isinstance(column, NumberColumn):
            cells += _describe_numbers(column, values, part)
        elif isinstance(column, CategoryColumn):
            cells += _describe_category(column, values, part)
    return [*cells, *[_NOTHING] * (n_cells - len(cells))]


def _kind(column: Column) -> Cell:
    if isinstance(column, SkippedColumn):
        return Cell("left out", detail=column.reason)
    if isinstance(column, CategoryColumn):
        return Cell("category")
    is_date = isinstance(column, NumberColumn) and column.unit == "days"
    return Cell("date" if is_date else "number")


def _treatment(column: Column) -> str:
    """Say what the model file knows about a column."""
    if isinstance(column, SkippedColumn):
        return ""
    mark = "; missing values are marked" if getattr(column, "is_marked", False) else ""
    if isinstance(column, CategoryColumn):
        other = "; other texts are pooled" if column.has_other else ""
        return f"one of {listed([shortened(level, 20) for level in column.levels])}{other}{mark}"
    fill = _value(column, column.fill) if isinstance(column, NumberColumn) and mark else ""
    return f"a missing value becomes {fill}{mark}" if fill else "as it is"


def _value(column: NumberColumn, value: float) -> str:
    if column.unit == "days" and np.isfinite(value):
        return str(np.datetime64(int(np.floor(value)), "D"))
    return number(value)


def _missing(is_gap: NDArray[np.bool_]) -> Cell:
    n = int(is_gap.sum())
    text = f"{count(n)} ({percent(n / len(is_gap))})" if n else "0"
    return Cell(text, key=float(n))


def _describe_numbers(column: NumberColumn, values: Any, part: NDArray[np.bool_]) -> list[Cell]:
    numbers, gaps = replace(column, is_marked=True).encode(values).T
    is_there = gaps == 0.0
    found = numbers[is_there]
    cells = [_missing(~is_there)]
    if len(found) == 0:
        return cells
    ends = (float(found.min()), float(np.median(found)), float(found.max()))
    cells += [Cell(_value(column, value), key=value) for value in ends]
    edges = np.linspace(ends[0], ends[2], _N_BINS + 1) if ends[0] < ends[2] else _N_BINS
    whole, of_part = (np.histogram(some, edges)[0] for some in (found, found[part[is_there]]))
    summary = f"Histogram from {_value(column, ends[0])} to {_value(column, ends[2])}"
    return [*cells, _bars(whole, of_part, summary)]


def _describe_category(column: CategoryColumn, values: Any, part: NDArray[np.bool_]) -> list[Cell]:
    members = replace(column, has_other=True, is_marked=True).encode(values)
    counts, of_part = members[:, :-1].sum(axis=0), members[part, :-1].sum(axis=0)
    names = [*(shortened(level, 24) for level in column.levels), "other"]
    order = [j for j in np.argsort(-counts, kind="stable")[:_MOST_LEVELS] if counts[j]]
    texts = [f"{names[j]} {percent(counts[j] / len(members), 0)}" for j in order[:3]]
    bars = _bars(counts[order], of_part[order], f"Rows per text of {shortened(column.name)}")
    gaps = members[:, -1] > 0.0
    rest = ", …" if len(order) > 3 else ""
    return [_missing(gaps), _NOTHING, _NOTHING, _NOTHING, bars, Cell(", ".join(texts) + rest)]


def _bars(whole: NDArray[Any], part: NDArray[Any], summary: str) -> Cell:
    tallest = float(np.max(whole, initial=0.0)) or 1.0
    pairs = zip(whole / tallest, part / tallest, strict=True)
    return Cell(summary, bars=tuple((float(a), float(b)) for a, b in pairs))
