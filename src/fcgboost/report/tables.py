"""The tables of a report: columns, the confusion matrix and the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fcgboost.findings import Finding
from fcgboost.inspection import encoding_of, kind_of
from fcgboost.plotting.influence import meaning_of_influence
from fcgboost.report.blocks import Table, TableCell, TableColumn
from fcgboost.report.models import Codes, EvaluatedRows, FittedModel, Labels
from fcgboost.report.reasons import MOST_MISTAKES, Reasons
from fcgboost.report.text import label, percent
from fcgboost.wording import count, fixed, shortened

_UNKNOWN = "unknown to the model"
_MOST_COLUMNS = 100
# Classes with a column in the confusion matrix, and letters of their names side by side.
_MOST_CLASSES = 12
_LONGEST_NAMES = 60
_LONGEST_ID = 28
_WHY = (
    "Explanation: the columns with the largest Shapley values, and what each adds to the decision "
    "value of the predicted class."
)


def column_table(model: FittedModel) -> Table:
    """Say how the model reads its columns, the most important ones if there are many."""
    influence = model.influence
    n = len(model.columns)
    order = np.arange(n) if influence is None else np.argsort(-influence, kind="stable")
    shown = sorted(order[:_MOST_COLUMNS].tolist())
    read = [model.columns[j] for j in shown]
    columns = [
        TableColumn.of_texts("column", [shortened(column.name) for column in read]),
        TableColumn.of_texts("kind", map(kind_of, read)),
    ]
    notes = [f"{count(len(shown))} of {count(n, 'column')} are shown."] if len(shown) < n else []
    if influence is not None:
        cells = [TableCell(percent(share), share, share) for share in influence[shown].tolist()]
        columns.append(TableColumn("influence", cells, "number"))
        notes.append(
            f"Influence: {meaning_of_influence(model.classifier)}, as a share of the total."
        )
    columns.append(TableColumn.of_texts("encoding", map(encoding_of, read), "text"))
    notes += model.encoding_notes
    return Table(
        f"All {count(n, 'column')}",
        columns,
        notes,
        is_folded=n > 1,
    )


def finding_table(findings: Sequence[Finding]) -> Table:
    """Say what was suspicious about the training rows."""
    columns = [
        TableColumn.of_texts("kind", [finding.kind for finding in findings]),
        TableColumn.of_texts("what was found", map(str, findings), "text"),
    ]
    return Table("Findings on the training rows", columns)


def confusion_table(evaluation: EvaluatedRows) -> Table:
    """Count the rows of every true class by their predicted class, with recall and precision."""
    counts = evaluation.confusion
    n = len(evaluation.classes)
    names, heads = class_names(evaluation.classes)
    recall = evaluation.recall
    precision = evaluation.precision
    if len(counts) > n:
        names = [*names, _UNKNOWN]
        recall = np.append(recall, 0.0)
        precision = np.append(precision, np.nan)
    columns = [
        TableColumn.of_texts("true class", names),
        TableColumn.of_numbers("rows", counts.sum(axis=1), count),
    ]
    columns += matrix_columns(heads, counts)
    columns.append(TableColumn.of_numbers("recall", recall, percent))
    columns.append(TableColumn.of_numbers("precision", precision, percent))
    return Table(
        "Confusion matrix",
        columns,
        groups=[("", 2), ("predicted class", n), ("", 2)] if heads else (),
    )


def class_names(classes: Labels) -> tuple[list[str], list[str]]:
    """Return the names of classes as rows of a matrix, and as columns, of which many have none."""
    names = [label(value) for value in classes]
    heads = names if len(names) <= _MOST_CLASSES else []
    # Columns of long names are numbered as the rows are.
    if sum(map(len, heads)) > _LONGEST_NAMES:
        heads = [f"{j}" for j in range(1, len(names) + 1)]
        names = [f"{j}.\N{NO-BREAK SPACE}{name}" for j, name in zip(heads, names, strict=True)]
    return names, heads


def matrix_columns(heads: Sequence[str], counts: Codes) -> list[TableColumn]:
    """Return a matrix of counts: those on the diagonal are right, the others wrong."""
    columns = []
    for j, head in enumerate(heads):
        cells = [
            TableCell(count(m), m, style="" if m == 0 else "hit" if i == j else "miss")
            for i, m in enumerate(counts[:, j].tolist())
        ]
        columns.append(TableColumn(head, cells, "number"))
    return columns


def mistake_table(evaluation: EvaluatedRows, reasons: Reasons | None) -> Table:
    """List the mistakes with the most negative margins."""
    n_mistakes = len(evaluation.mistakes)
    rows = evaluation.mistakes[:MOST_MISTAKES]
    notes = ["Rows are counted from 1, as they are in the data."]
    columns = [TableColumn.of_numbers("row", rows + 1, count)]
    for name, cells in id_columns(evaluation).items():
        texts = [shortened(str(cell), _LONGEST_ID) for cell in cells[rows]]
        columns.append(TableColumn.of_texts(shortened(name, _LONGEST_ID), texts))
    columns.append(TableColumn.of_texts("true class", map(label, evaluation.y[rows])))
    columns.append(TableColumn.of_texts("predicted class", map(label, evaluation.labels[rows])))
    if evaluation.proba is None:
        name = "margin"
        certainty = evaluation.margins[rows]
        notes.append("Margin: the lead of the true class, which is negative for every mistake.")
    else:
        name = "P(true class)"
        codes = evaluation.codes[rows]
        certainty = np.where(codes >= 0, evaluation.proba[rows, codes], 0.0)
    columns.append(TableColumn.of_numbers(name, certainty, partial(fixed, digits=3)))
    if reasons is not None:
        why = [reasons.why[i] for i in rows.tolist()]
        columns.append(TableColumn.of_texts("explanation", why, "text"))
        notes.append(_WHY)
    caption = f"All {count(n_mistakes, 'mistake')}, the worst first"
    if len(rows) < n_mistakes:
        caption = f"The {len(rows)} worst of {count(n_mistakes, 'mistake')}"
    return Table(caption, columns, notes)


def id_columns(evaluation: EvaluatedRows) -> dict[str, Labels]:
    """Return the columns that the model leaves out and that tell every row apart."""
    ids: dict[str, Labels] = {}
    X = evaluation.X
    labels = {str(label): label for label in getattr(X, "columns", ())}
    for column in evaluation.model.columns:
        if kind_of(column) == "left out" and column.name in labels:
            cells = np.asarray(X[labels[column.name]], dtype=object)
            if len(set(map(str, cells))) == len(cells) > 1:
                ids[column.name] = cells
    return ids
