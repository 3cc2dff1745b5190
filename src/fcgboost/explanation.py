"""Explanations of predictions: what each column adds to the decision values of a row."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import get_ident

import numpy as np

from fcgboost import threads
from fcgboost.arrays import Array, Codes, Matrix, Rows, to_numpy
from fcgboost.checks import check_rows
from fcgboost.designs.blocks import row_blocks
from fcgboost.members import Member
from fcgboost.prediction import BaseFCGBoost
from fcgboost.shapley import MOST_ROWS, Game, Term
from fcgboost.tables.inputs import encode
from fcgboost.training.dataset import table_columns_of
from fcgboost.training.progress import ProgressLine

__all__ = ["Explanation"]

# With many inputs the background is limited to _MOST_NUMBERS values, but at least ten rows.
_LEAST_ROWS = 10
# Rows whose values one thread computes at once, and the most of these threads: others help within
# compiled calls, because more would wait for each other's Python.
_ROWS_AT_ONCE = 8
_MOST_CALLERS = 4
_MOST_NUMBERS = 1 << 24


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of rows, with the attribute names of shap's Explanation.

    A row's base value and its Shapley values add up to its decision value. Of a regressor that is
    the prediction, or with the loss "poisson" its logarithm.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features), or (n_samples, n_features, n_classes)
        Shapley values; for two classes, in favour of the second.
    base_values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The mean decision value of the background, the same for all rows.
    data : array-like, data frame or sparse matrix
        The rows that were explained.
    feature_names : list of str
        The names of the columns.
    errors : ndarray of shape (n_samples,)
        Three standard errors of the least certain value; 0 if all are exact. At most one per cent
        of the largest value, unless 100,000 orders were not enough.
    """

    values: Array
    base_values: Array
    data: Rows
    feature_names: list[str]
    errors: Array

    def towards(self, codes: Codes | int) -> tuple[Array, Array]:
        """Return values and base values in favour of classes, given by their codes."""
        codes = np.broadcast_to(codes, len(self.values))
        if self.values.ndim == 2:
            signs = 2 * codes - 1
            return self.values * signs[:, None], self.base_values * signs
        rows = np.arange(len(codes))
        return self.values[rows, :, codes], self.base_values[rows, codes]


def explain(classifier: BaseFCGBoost, X: Rows, background: Rows = None) -> Explanation:
    """Explain predictions, as `FCGBoostClassifier.explain`."""
    members = classifier.members_
    rows = check_rows(classifier, X)
    seen = [encode(member.inputs, rows) for member in members]
    game = game_of(members, _background(classifier, background))

    n_rows = rows.shape[0]
    blocks = row_blocks(n_rows, _ROWS_AT_ONCE)
    done = deque[int]()
    caller = get_ident()

    def explained(block: slice) -> tuple[Array, Array]:
        result = game.values([_dense(Z[block]) for Z in seen])
        done.append(len(result[1]))
        if get_ident() == caller:
            line.show_rows(sum(done.copy()), n_rows)
        return result

    n_threads = threads.allowed(classifier.n_jobs)
    n_callers = min(n_threads, len(blocks), _MOST_CALLERS)
    pool = threads.shared.ours(n_threads - n_callers + 1)
    with pool, closing(ProgressLine(int(classifier.verbose))) as line:
        results = threads.each(explained, blocks, n_callers)
        line.show_rows(n_rows, n_rows)
    values = np.concatenate([phi for phi, _ in results])
    base = np.tile(game.base, (n_rows, 1))
    base = classifier._flat(base)
    if base.ndim == 1:
        values = values[:, :, 0]
    return Explanation(
        values,
        base_values=base,
        data=X,
        feature_names=[column.name for column in table_columns_of(classifier)],
        errors=np.concatenate([errors for _, errors in results]),
    )


def game_of(members: Sequence[Member], background: Matrix) -> Game:
    """Return the game of a classifier's members, given checked background rows."""
    n_columns = background.shape[1]
    pairs = sorted({pair.columns for member in members for pair in member.pairs})
    terms = []
    for member in members:
        places = [n_columns + pairs.index(pair.columns) for pair in member.pairs]
        players = np.array([*range(n_columns), *places])
        term = Term(
            member.model,
            member.weight,
            _dense(encode(member.inputs, background)),
            players[member.sources(n_columns)],
        )
        terms.append(term)
    return Game(terms, n_columns, pairs)


def _background(classifier: BaseFCGBoost, background: Rows) -> Matrix:
    """Return the rows to explain against: some of those passed, or of the training rows."""
    size = most_rows(sum(len(member.model.scale) for member in classifier.members_))
    if background is None:
        known = classifier._background()
        if known is None:
            raise ValueError(
                "The model file holds no background rows: pass some, for example "
                "explain(X, background=X_train), or --background FILE on the command line."
            )
        return known[:size]
    rows = check_rows(classifier, background)
    if rows.shape[0] > size:
        drawn = np.random.default_rng(0).choice(rows.shape[0], size, replace=False)
        rows = rows[np.sort(drawn)]
    return rows


def most_rows(n_inputs: int) -> int:
    """Return the largest number of background rows."""
    return min(MOST_ROWS, max(_LEAST_ROWS, _MOST_NUMBERS // n_inputs))


def _dense(rows: Matrix) -> Array:
    return np.ascontiguousarray(to_numpy(rows), dtype=np.float64)
