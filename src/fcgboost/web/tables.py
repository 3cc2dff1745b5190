"""The tables of a report: classes, columns, confused classes and the worst mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import SmoothDictionary
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.columns import why_left_out
from fcgboost.web.blocks import Block, Cell, Head, Table, share_cell
from fcgboost.web.columns import kind_of, treatment_of, value_of
from fcgboost.web.models import Evaluation, FittedModel
from fcgboost.web.reasons import MOST_MISTAKES, Reasons
from fcgboost.web.text import count, fixed, label, number, percent, quoted, shortened

_UNKNOWN = "unknown to the model"
# Columns, and bars of a histogram, that are shown.
_MOST_COLUMNS, _N_BARS = 100, 16
# Classes with a column in the confusion matrix, and columns of the mistakes.
_MOST_CLASSES, _MOST_VALUES = 12, 8
_NOTHING = Cell("")
_WHY = "Why: the columns that add most to what speaks for the predicted class, or against it."


def class_table(model: FittedModel, evaluation: Evaluation) -> Table:
    """Count the rows of every class."""
    rows = []
    for code, value in [*enumerate(model.classes), (-1, _UNKNOWN)]:
        n = int((evaluation.codes == code).sum())
        if code >= 0 or n:
            rows.append([Cell(label(value)), _count(n), share_cell(n / len(evaluation))])
    heads = [Head("class"), Head("rows", "number"), Head("share", "number")]
    return Table("The classes.", heads, rows)


def column_table(model: FittedModel, evaluation: Evaluation | None) -> Table:
    """Describe the columns, the most important ones if there are many."""
    influence, n = model.influence, len(model.columns)
    heads = [Head("column"), Head("kind")]
    heads += [] if influence is None else [Head("influence", "number")]
    if evaluation is None:
        heads += [Head("as the model takes it", "text")]
    else:
        heads += [Head(name, "number") for name in ("missing", "smallest", "median", "largest")]
        heads += [Head("rows by value", "picture")]
        if any(isinstance(column, CategoryColumn) for column in model.columns):
            heads += [Head("most frequent", "text")]
    places = np.arange(n) if influence is None else np.argsort(-influence, kind="stable")
    shown = sorted(places[:_MOST_COLUMNS].tolist())
    rows = [_column_row(model, evaluation, place, len(heads)) for place in shown]
    notes = _left_out(len(shown), n)
    if evaluation is not None and len(model.classes) == 2:
        notes.append(f"In colour: rows of the class {quoted(model.classes[1])}.")
    if influence is not None:
        notes.append(f"Influence: {influence_words(model)}, as a share of all columns'.")
    return Table("The columns.", heads, rows, notes)


def influence_words(model: FittedModel) -> str:
    """Say what influence is."""
    if isinstance(model.classifier.model_.dictionary, SmoothDictionary):
        return "the mean size of the model's slope in a column, in standard deviations"
    return "the mean size of the model's change where a row has the column's value of another row"


def mistake_blocks(
    model: FittedModel, evaluation: Evaluation, reasons: Reasons | None
) -> list[Block]:
    """Show the confusion matrix and the worst rows."""
    some, none = len(evaluation.mistakes), "No row is classified wrongly."
    return [_confusion(model, evaluation), _worst(model, evaluation, reasons) if some else none]


def _left_out(n_shown: int, n: int) -> list[str]:
    return [f"{count(n_shown)} of {count(n, 'column')} are shown."] if n_shown < n else []


def _count(n: Any, style: Any = "") -> Cell:
    return Cell(count(n), key=float(n), style=style if n else "")


def _column_row(
    model: FittedModel, evaluation: Evaluation | None, place: int, n_cells: int
) -> list[Cell]:
    column = model.columns[place]
    reason = why_left_out(column)
    cells = [Cell(shortened(column.name)), Cell(kind_of(column), detail=reason)]
    if model.influence is not None:
        cells.append(share_cell(float(model.influence[place]), float(model.influence.max())))
    if evaluation is None:
        cells.append(Cell("" if reason else treatment_of(column)))
    elif not reason and (values := evaluation.values(place)) is not None:
        part = (evaluation.codes == 1) & (len(model.classes) == 2)
        if isinstance(column, NumberColumn):
            cells += _describe_numbers(column, values, part)
        elif isinstance(column, CategoryColumn):
            cells += _describe_category(column, values, part)
    return [*cells, *[_NOTHING] * (n_cells - len(cells))]


def _missing(is_gap: NDArray[np.bool_]) -> Cell:
    n = int(is_gap.sum())
    return Cell(f"{count(n)} ({percent(n / len(is_gap))})" if n else "0", key=float(n))


def _describe_numbers(column: NumberColumn, values: Any, part: NDArray[np.bool_]) -> list[Cell]:
    numbers = column.read(values)
    is_there = ~np.isnan(numbers)
    found = numbers[is_there]
    if len(found) == 0:
        return [_missing(~is_there)]
    low, middle, high = float(found.min()), float(np.median(found)), float(found.max())
    edges = np.linspace(low, high, _N_BARS + 1) if low < high else _N_BARS
    whole, of_part = (np.histogram(some, edges)[0] for some in (found, found[part[is_there]]))
    summary = f"Histogram from {value_of(column, low)} to {value_of(column, high)}"
    cells = [Cell(value_of(column, value), key=value) for value in (low, middle, high)]
    return [_missing(~is_there), *cells, _bars(whole, of_part, summary)]


def _describe_category(column: CategoryColumn, values: Any, part: NDArray[np.bool_]) -> list[Cell]:
    codes = replace(column, is_unknown_missing=False).read(values)
    is_gap = np.isnan(codes)
    both = codes[~is_gap], codes[~is_gap & part]
    n = len(column.levels) + 1
    counts, of_part = (np.bincount(some.astype(np.intp), minlength=n) for some in both)
    names = [*(shortened(level, 24) for level in column.levels), "other"]
    order = [j for j in np.argsort(-counts, kind="stable")[:_N_BARS] if counts[j]]
    texts = [f"{names[j]} {percent(counts[j] / len(codes), 0)}" for j in order[:3]]
    bars = _bars(counts[order], of_part[order], f"Rows per text of {shortened(column.name)}")
    most = Cell(", ".join(texts) + (", …" if len(order) > 3 else ""))
    return [_missing(is_gap), _NOTHING, _NOTHING, _NOTHING, bars, most]


def _bars(whole: NDArray[Any], part: NDArray[Any], summary: str) -> Cell:
    tallest = float(np.max(whole, initial=0.0)) or 1.0
    pairs = zip(whole / tallest, part / tallest, strict=True)
    return Cell(summary, bars=tuple((float(a), float(b)) for a, b in pairs))


def _confusion(model: FittedModel, evaluation: Evaluation) -> Table:
    classes, n = model.classes, len(model.classes)
    predicted = (evaluation.labels[:, None] == classes[None, :]).argmax(axis=1)
    counts = np.zeros((n + 1, n), dtype=int)
    # The last row is that of labels which the model does not know.
    np.add.at(counts, (evaluation.codes, predicted), 1)
    names = [*map(label, classes), _UNKNOWN]
    shown = range(n) if n <= _MOST_CLASSES else []
    columns = ["rows", *(names[j] for j in shown), "recall", "precision"]
    heads = [Head("true class"), *(Head(name, "number") for name in columns)]
    rows = []
    for i in range(n + 1 if counts[n].any() else n):
        right = counts[i, i] if i < n else 0
        rows.append(
            [
                *(Cell(names[i]), _count(counts[i].sum())),
                *(_count(counts[i, j], "hit" if i == j else "miss") for j in shown),
                _share(right, counts[i].sum()),
                _share(right, counts[:, i].sum()) if i < n else _NOTHING,
            ]
        )
    groups = [("", 2), ("predicted class", n), ("", 2)] if shown else ()
    notes = [
        "Recall: the share of a class's rows that are predicted as this class. Precision: the "
        "share of the rows predicted as a class that belong to it."
    ]
    return Table("The confusion matrix.", heads, rows, notes, groups)


def _share(part: Any, whole: Any) -> Cell:
    return Cell(percent(part / whole), key=float(part / whole)) if whole else Cell("–")


def _worst(model: FittedModel, evaluation: Evaluation, reasons: Reasons | None) -> Table:
    """List the mistakes with the most negative margins."""
    wrong, rows = evaluation.mistakes, evaluation.mistakes[:MOST_MISTAKES].tolist()
    places = model.largest(_MOST_VALUES)
    values = [np.asarray(evaluation.values(place)) for place in places]
    heads = [Head("row", "number"), Head("true class"), Head("predicted"), Head("margin", "number")]
    heads += [] if evaluation.proba is None else [Head("probability", "number")]
    heads += [] if reasons is None else [Head("why", "text")]
    for place, column in zip(places, values, strict=True):
        name, is_number = shortened(model.columns[place].name, 28), column.dtype.kind in "biuf"
        heads.append(Head(name, "number" if is_number else "label"))
    columns = [column.astype(object) for column in values]
    cells = [[*_mistake(evaluation, i, reasons), *(_any(one[i]) for one in columns)] for i in rows]
    caption = f"The {len(rows)} worst of {count(len(wrong), 'mistake')}."
    if len(rows) == len(wrong):
        caption = f"The {count(len(wrong), 'mistake')}, the worst first."
    notes = [
        "Row: its place in the data, the first is 0. Margin: how far the true class is ahead, "
        "so below 0 for every mistake. Probability: of the true class.",
        *([] if reasons is None else [_WHY]),
        *_left_out(len(places), len(model.columns)),
    ]
    return Table(caption, heads, cells, notes)


def _mistake(evaluation: Evaluation, i: int, reasons: Reasons | None) -> list[Cell]:
    margin, code = float(evaluation.margins[i]), evaluation.codes[i]
    labels = [Cell(label(evaluation.y[i])), Cell(label(evaluation.labels[i]))]
    cells = [_count(i), *labels, Cell(fixed(margin, 3), key=margin)]
    if evaluation.proba is not None:
        p = float(evaluation.proba[i, code]) if code >= 0 else 0.0
        cells.append(Cell(fixed(p, 3), key=p))
    return cells if reasons is None else [*cells, Cell(reasons.why[i])]


def _any(value: Any) -> Cell:
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return Cell(number(float(value)), key=float(value) if value == value else None)
    return Cell("" if value is None else shortened(str(value), 28))
