"""What a model's predictions owe to each column: shuffled, or set to a value in all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.plotting.base import usual_range
from fcgboost.prediction import winners
from fcgboost.report.subject import Array, Judged, Subject
from fcgboost.tables import CategoryColumn, NumberColumn

_N_REPEATS = 5
_MOST_COLUMNS, _MOST_ROWS, _FEWEST_ROWS = 60, 2000, 100
# Products of a row and an atom that all shuffles may take, a few seconds' worth.
_MOST_PRODUCTS = 2_000_000_000
# Rows with margins farther from all others than this have no part in means.
_NEAR = 10.0
_N_VALUES, _MOST_MEANS, _MOST_LEVELS = 25, 300, 12


@dataclass(frozen=True, eq=False)
class Losses:
    """What the accuracy loses when columns are shuffled.

    Attributes
    ----------
    places : list of int
        The columns, the most important ones by slope if there are many.
    mean, std : ndarray of shape (n_columns,)
        Over the shuffles.
    n_rows : int
        The rows that were shuffled.
    """

    places: list[int]
    mean: Array
    std: Array
    n_rows: int


@dataclass(frozen=True, eq=False)
class Dependence:
    """The mean decision values of rows that all get the same value in a column.

    Attributes
    ----------
    place : int
        Of the column.
    values : ndarray of numbers, or list of str
    means : ndarray of shape (n_values, n_outputs)
    """

    place: int
    values: Any
    means: Array


def shuffled_losses(subject: Subject, judged: Judged) -> Losses | None:
    """Shuffle every column of some rows; None for a constant, or where it would take too long.

    As scikit-learn's `permutation_importance`, but all numbers that a column becomes move together.
    """
    if subject.classifier.n_atoms_ == 0:
        return None
    places = subject.largest(_MOST_COLUMNS)
    model, n_tries = subject.classifier.model_, 1 + _N_REPEATS * len(places)
    cost = n_tries * max(1, model.n_atoms) * len(subject.feature_names)
    most = min(_MOST_ROWS, _MOST_PRODUCTS // cost)
    if most < min(_FEWEST_ROWS, len(judged)):
        return None
    rows = judged.some(most)
    inputs, y = _dense(judged, rows), judged.y[rows]
    before = _accuracy(subject, inputs, y)
    random = np.random.default_rng(0)
    found = np.empty((len(places), _N_REPEATS))
    for i, place in enumerate(places):
        part = subject.parts[place]
        kept = inputs[:, part].copy()
        for repeat in range(_N_REPEATS):
            inputs[:, part] = kept[random.permutation(len(rows))]
            found[i, repeat] = before - _accuracy(subject, inputs, y)
        inputs[:, part] = kept
    return Losses(places, found.mean(axis=1), found.std(axis=1), len(rows))


def dependences(subject: Subject, judged: Judged, losses: Losses, most: int) -> list[Dependence]:
    """Give the partial dependence on the columns that lose most, from some rows."""
    rows = judged.some(min(_MOST_MEANS, losses.n_rows))
    # One broken row must not be all of a mean.
    low, high = usual_range(judged.margins[rows], _NEAR)
    is_usual = (judged.margins[rows] >= low) & (judged.margins[rows] <= high)
    inputs = _dense(judged, rows[is_usual])
    order = np.argsort(-losses.mean, kind="stable")[:most]
    places = [losses.places[i] for i in order]
    return [_dependence(subject, inputs, place) for place in places]


def _dependence(subject: Subject, inputs: Array, place: int) -> Dependence:
    column, part = subject.columns[place], subject.parts[place]
    settings = np.zeros((0, part.stop - part.start))
    values: Any = []
    if isinstance(column, NumberColumn):
        ends = np.quantile(inputs[:, part.start], [0.05, 0.95])
        values = np.linspace(ends[0], ends[1], _N_VALUES) if ends[0] < ends[1] else ends[:1]
        settings = np.zeros((len(values), part.stop - part.start))
        settings[:, 0] = values
    elif isinstance(column, CategoryColumn):
        often = np.argsort(-inputs[:, part].sum(axis=0), kind="stable")
        shown = sorted(j for j in often[:_MOST_LEVELS] if j < len(column.levels))
        values = [column.levels[j] for j in shown]
        settings = np.eye(part.stop - part.start)[shown]
    means = []
    for setting in settings:
        changed = inputs.copy()
        changed[:, part] = setting
        means.append(np.asarray(subject.classifier.model_.decision(changed)).mean(axis=0))
    return Dependence(place, values, np.array(means))


def _dense(judged: Judged, rows: NDArray[np.intp]) -> Array:
    inputs = judged.some_inputs(rows)
    return np.array(inputs.toarray() if sparse.issparse(inputs) else inputs, dtype=np.float64)


def _accuracy(subject: Subject, inputs: Array, y: NDArray[Any]) -> float:
    decision = np.asarray(subject.classifier.model_.decision(inputs))
    values = decision[:, 0] if decision.shape[1] == 1 else decision
    return float(np.mean(winners(values, subject.classes) == y))
