"""Explanations of single predictions: what each column adds for the predicted class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fcgboost.dictionaries import LinearProfile, TreeDictionary
from fcgboost.explanation import Explanation, explain
from fcgboost.model import by_family
from fcgboost.plotting.contributions import cells_of
from fcgboost.web.models import Array, Evaluation, FittedModel
from fcgboost.web.text import number, shortened

#: Mistakes that are explained.
MOST_MISTAKES = 20
# Columns, squared, times atoms; so many take about half a second a row.
_MOST_WORK = 5_000_000
_MOST_REASONS, _LONGEST = 3, 40


@dataclass(frozen=True, eq=False)
class Reasons:
    """Explanations of the worst mistakes and, as the last row, of the row that is drawn."""

    why: dict[int, str]
    row: int
    explanation: Explanation
    is_from_training: bool


def find_reasons(model: FittedModel, evaluation: Evaluation, row: int | None) -> Reasons | None:
    """Explain the worst mistakes and one row; None if it would take too long."""
    classifier, X = model.classifier, evaluation.X
    # Trees and linear atoms take next to no time.
    members = by_family(classifier.model_.dictionary, classifier.atoms_, len(model.feature_names))
    slow = [one for one in members if not isinstance(one.family, TreeDictionary | LinearProfile)]
    if len(model.columns) ** 2 * sum(len(one.places) for one in slow) > _MOST_WORK:
        return None
    worst = evaluation.mistakes[:MOST_MISTAKES]
    row = int(np.append(worst, 0)[0]) if row is None else row
    places = np.append(worst, row)
    has_rows = classifier._background() is not None
    rows = getattr(X, "iloc", X)[places]  # pandas' data frames take labels, not places
    found = explain(classifier, rows, None if has_rows else X, encoder=model.encoder)
    found = replace(found, feature_names=[column.name for column in model.columns])
    values, _ = found.towards((evaluation.labels[places, None] == model.classes).argmax(axis=1))
    why = {int(i): _why(model, values[k], cells_of(found, k)) for k, i in enumerate(worst)}
    return Reasons(why, row, found, has_rows)


def _why(model: FittedModel, values: Array, cells: list[str]) -> str:
    """Name the columns that add most to a decision value, or subtract most, with their values."""
    said = []
    for j in np.argsort(-np.abs(values), kind="stable")[:_MOST_REASONS]:
        value, sign = number(float(f"{values[j]:.2g}")), "+" if values[j] > 0.0 else ""
        name, cell = (shortened(one, _LONGEST) for one in (model.columns[j].name, cells[j]))
        said.append(f"{name} = {cell} ({sign}{value})")
    return ", ".join(said)
