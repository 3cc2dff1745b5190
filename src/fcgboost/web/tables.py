"""The tables of a report: classes, columns, the confusion matrix and the worst mistakes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import SmoothDictionary
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.columns import why_left_out
from fcgboost.web.blocks import Cell, Head, Table, share_cell
from fcgboost.web.columns import kind_of, treatment_of, value_of
from fcgboost.web.models import Evaluation, FittedModel
from fcgboost.web.reasons import MOST_MISTAKES, Reasons
from fcgboost.web.text import count, fixed, label, percent, quoted, shortened

_UNKNOWN = "unknown to the model"
# Columns, and bars of a histogram, that are shown.
_MOST_COLUMNS, _N_BARS = 100, 16
# Classes with a column in the confusion matrix, and letters of their names side by side.
_MOST_CLASSES, _LONGEST_NAMES = 12, 60
_NOTHING = Cell("")
_WHY = (
    "Explanation: the columns with the largest Shapley values, and what each adds to the decision "
    "value of the predicted class."
)


def class_table(model: FittedModel, evaluation: Evaluation) -> Table:
    """Count the rows of every class."""
    rows = []
    for code, value in [*enumerate(model.classes), (-1, _UNKNOWN)]:
        n = int((evaluation.codes == code).sum())
        if code >= 0 or n:
            rows.append([Cell(label(value)), _count(n), share_cell(n / len(evaluation))])
    heads = [Head("class"), Head("rows", "number"), Head("share", "number")]
    return Table("Classes", heads, rows)


def column_table(model: FittedModel, evaluation: Evaluation | None) -> Table:
    """Describe the columns, the most important ones if there are many."""
    influence, n = model.influence, len(model.columns)
    heads = [Head("column"), Head("kind")]
    heads += [] if influence is None else [Head("influence", "number")]
    if evaluation is None:
        heads += [Head("encoding", "text")]
    else:
        heads += [Head(name, "number") for name in ("missing", "min", "median", "max")]
        heads += [Head("distribution", "picture")]
        if any(isinstance(column, CategoryColumn) for column in model.columns):
            heads += [Head("most frequent", "text")]
    places = np.arange(n) if influence is None else np.argsort(-influence, kind="stable")
    shown = sorted(places[:_MOST_COLUMNS].tolist())
    rows = [_column_row(model, evaluation, place, len(heads)) for place in shown]
    notes = _left_out(len(shown), n)
    if evaluation is not None and len(model.classes) == 2:
        notes.append(f"In colour: rows of class {quoted(model.classes[1])}.")
    if influence is not None:
        notes.append(f"Influence: {influence_words(model)}, as a share of the total.")
    return Table(f"All {count(n, 'column')}", heads, rows, notes, is_folded=n > 1)


def influence_words(model: FittedModel) -> str:
    """Define influence in words."""
    if isinstance(model.classifier.model_.dictionary, SmoothDictionary):
        return "the mean absolute slope of the decision value, in standardised units"
    return "the mean absolute change of the decision value when the column is permuted"


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


def confusion_table(model: FittedModel, evaluation: Evaluation) -> Table:
    """Count the rows of every true class by their predicted class, with recall and precision."""
    classes, n = model.classes, len(model.classes)
    predicted = (evaluation.labels[:, None] == classes[None, :]).argmax(axis=1)
    counts = np.zeros((n + 1, n), dtype=int)
    # The last row is that of labels which the model does not know.
    np.add.at(counts, (evaluation.codes, predicted), 1)
    names = [*map(label, classes), _UNKNOWN]
    shown = range(n) if n <= _MOST_CLASSES else range(0)
    # Columns of long names are numbered as the rows are.
    is_numbered = len(shown) > 0 and sum(map(len, names[:n])) > _LONGEST_NAMES
    heads = [f"{j + 1}" if is_numbered else names[j] for j in shown]
    columns = ["rows", *heads, "recall", "precision"]
    rows = []
    for i in range(n + 1 if counts[n].any() else n):
        right = counts[i, i] if i < n else 0
        name = f"{i + 1}.\N{NO-BREAK SPACE}{names[i]}" if is_numbered and i < n else names[i]
        rows.append(
            [
                *(Cell(name), _count(counts[i].sum())),
                *(_count(counts[i, j], "hit" if i == j else "miss") for j in shown),
                _share(right, counts[i].sum()),
                _share(right, counts[:, i].sum()) if i < n else _NOTHING,
            ]
        )
    groups = [("", 2), ("predicted class", n), ("", 2)] if shown else ()
    all_heads = [Head("true class"), *(Head(name, "number") for name in columns)]
    return Table("Confusion matrix", all_heads, rows, groups=groups)


def _share(part: Any, whole: Any) -> Cell:
    return Cell(percent(part / whole), key=float(part / whole)) if whole else Cell("–")


def mistake_table(model: FittedModel, evaluation: Evaluation, reasons: Reasons | None) -> Table:
    """List the mistakes with the most negative margins."""
    wrong, rows = evaluation.mistakes, evaluation.mistakes[:MOST_MISTAKES].tolist()
    ids = id_columns(model, evaluation)
    has_proba = evaluation.proba is not None
    heads = [Head("row", "number"), *(Head(shortened(name, 28)) for name in ids)]
    heads += [Head("true class"), Head("predicted class")]
    heads += [Head("P(true class)" if has_proba else "margin", "number")]
    heads += [] if reasons is None else [Head("explanation", "text")]
    cells = []
    for i in rows:
        found = [_count(i), *(Cell(shortened(str(column[i]), 28)) for column in ids.values())]
        found += [Cell(label(evaluation.y[i])), Cell(label(evaluation.labels[i]))]
        found += [_certainty(evaluation, i)]
        cells.append(found if reasons is None else [*found, Cell(reasons.why[i])])
    caption = f"The {len(rows)} worst of {count(len(wrong), 'mistake')}"
    if len(rows) == len(wrong):
        caption = f"All {count(len(wrong), 'mistake')}, the worst first"
    notes = ["Rows are numbered from 0, as in the data."]
    if not has_proba:
        notes.append("Margin: the lead of the true class, which is negative for every mistake.")
    return Table(caption, heads, cells, notes if reasons is None else [*notes, _WHY])


def id_columns(model: FittedModel, evaluation: Evaluation) -> dict[str, NDArray[Any]]:
    """Return the columns that the model leaves out and that tell every row apart."""
    found: dict[str, NDArray[Any]] = {}
    for place, column in enumerate(model.columns):
        if why_left_out(column) and (values := evaluation.values(place)) is not None:
            cells = np.asarray(values, dtype=object)
            if len(set(map(str, cells))) == len(cells) > 1:
                found[column.name] = cells
    return found


def _certainty(evaluation: Evaluation, i: int) -> Cell:
    """Return the probability of the true class, or the margin where there is none."""
    code, margin = evaluation.codes[i], float(evaluation.margins[i])
    if evaluation.proba is None:
        return Cell(fixed(margin, 3), key=margin)
    p = float(evaluation.proba[i, code]) if code >= 0 else 0.0
    return Cell(fixed(p, 3), key=p)
