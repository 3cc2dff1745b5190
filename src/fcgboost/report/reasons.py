"""Explanations of single predictions: what each column adds for the predicted class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fcgboost.dictionaries import TreeDictionary
from fcgboost.dictionaries.planes import LinearProfile
from fcgboost.explanation import Explanation
from fcgboost.plotting.contributions import cells_of, signed
from fcgboost.report.models import Array, EvaluatedRows
from fcgboost.wording import shortened

#: Mistakes that are explained.
MOST_MISTAKES = 20
# Columns, squared, times atoms; so many take about half a second a row.
_MOST_WORK = 5_000_000
_MOST_REASONS = 3
_LONGEST = 40


@dataclass(frozen=True, eq=False)
class Reasons:
    """Explanations of the worst mistakes and, as the last row, of the row that is drawn."""

    why: dict[int, str]
    row: int
    explanation: Explanation
    is_from_training: bool


def find_reasons(evaluation: EvaluatedRows, row: int | None) -> Reasons | None:
    """Explain the worst mistakes and one row; None if it would take too long."""
    model = evaluation.model
    classifier = model.classifier
    # Trees and linear atoms take next to no time.
    n_slow = 0
    for member in model.members:
        for atoms in member.model.by_family():
            is_fast = isinstance(atoms.family, TreeDictionary | LinearProfile)
            n_slow += 0 if is_fast else len(atoms.places)
    if len(model.columns) ** 2 * n_slow > _MOST_WORK:
        return None
    worst = evaluation.mistakes[:MOST_MISTAKES]
    if row is None:
        row = int(worst[0]) if len(worst) else 0
    rows = np.append(worst, row)
    has_rows = model.has_background
    explanation = classifier.explain(
        evaluation.rows(rows), background=None if has_rows else evaluation.X
    )
    explanation = replace(explanation, feature_names=[column.name for column in model.columns])
    codes = (evaluation.labels[rows, None] == model.classes).argmax(axis=1)
    values = explanation.towards(codes)[0]
    why = {
        int(i): _why(explanation.feature_names, values[k], cells_of(explanation, k))
        for k, i in enumerate(worst)
    }
    return Reasons(
        why,
        row,
        explanation,
        is_from_training=has_rows,
    )


def _why(names: list[str], values: Array, cells: list[str]) -> str:
    """Name the columns that add most to a decision value, or subtract most, with their values."""
    reasons = []
    for j in np.argsort(-np.abs(values), kind="stable")[:_MOST_REASONS]:
        name = shortened(names[j], _LONGEST)
        reasons.append(f"{name} = {shortened(cells[j], _LONGEST)} ({signed(values[j])})")
    return ", ".join(reasons)
