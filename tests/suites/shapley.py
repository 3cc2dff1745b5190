"""Shapley values by their definition, and the check that ours are these."""

from itertools import combinations
from math import factorial

import numpy as np

from fcgboost.checks import check_rows
from fcgboost.explanation import game_of
from fcgboost.members import decision_of
from fcgboost.tables.inputs import encode


def brute_force(members, x, background):
    """Return Shapley values by their definition; rows are numbers, one per column."""
    n_columns = len(x)
    worth = {}
    for size in range(n_columns + 1):
        for joined in combinations(range(n_columns), size):
            rows = np.where(np.isin(np.arange(n_columns), joined), x, background)
            worth[frozenset(joined)] = decision_of(members, rows).mean(axis=0)
    phi = np.zeros((n_columns, len(members[0].model.intercept)))
    for joined, value in worth.items():
        n = len(joined)
        share = (
            factorial(n) * factorial(n_columns - n - 1) / factorial(n_columns)
            if n < n_columns
            else 0
        )
        for j in set(range(n_columns)) - joined:
            phi[j] += share * (worth[joined | {j}] - value)
    return phi


def values_of(members, game, x):
    """Return the Shapley values of a row, and their error."""
    values, errors = game.values([np.asarray(encode(member.inputs, x[None])) for member in members])
    return values[0], errors[0]


def check(classifier, X, rows=(0, 1, 2), n_background=20, tolerance=1e-12):
    members = classifier.members_
    background = np.asarray(classifier._sample_, dtype=np.float64)[:n_background]
    game = game_of(members, background)
    for i in rows:
        x = np.asarray(check_rows(classifier, X[i : i + 1]), dtype=np.float64)[0]
        found, error = values_of(members, game, x)
        expected = brute_force(members, x, background)
        np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
        total = game.base + found.sum(axis=0)
        np.testing.assert_allclose(total, decision_of(members, x[None])[0], atol=1e-12)
        assert error == 0.0
