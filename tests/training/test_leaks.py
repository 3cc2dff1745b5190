"""A column that alone predicts the label is named; others are not."""

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.training.leaks import find_leaks

N = 3_000
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
RARE = (RNG.uniform(size=N) < 0.01).astype(int)
MANY = RNG.integers(0, 5, N)
NOISE = RNG.normal(size=N)


def leaks(column, y, is_level=False) -> list[tuple[str, ...]]:
    X = np.column_stack([NOISE, column])
    found = find_leaks(X, y, np.array([False, is_level]), ["noise", "odd"])
    assert {finding.kind for finding in found} <= {"leak"}
    return [finding.columns for finding in found]


LEAKS = {
    "a copy": (Y, Y, False),
    "a threshold": (Y + RNG.uniform(0.0, 0.9, N), Y, False),
    "two thresholds": (np.where(Y == 1, 0.0, RNG.choice([-1.0, 1.0], N)) * 9 + NOISE, Y, False),
    "a gap": (np.where(Y == 1, np.nan, NOISE), Y, False),
    "a rare class": (RARE * 9.0 + RNG.uniform(size=N), RARE, False),
    "levels": ((RNG.integers(0, 100, N) * 2 + Y) * 7 % 200, Y, True),
    "huge numbers": (np.where(Y == 1, 1e300, -1e300), Y, False),
    "five classes": (MANY * 2.0 + RNG.uniform(size=N), MANY, False),
    "levels of five classes": ((RNG.integers(0, 20, N) * 5 + MANY) * 3 % 100, MANY, True),
}


@pytest.mark.parametrize(("column", "y", "is_level"), LEAKS.values(), ids=LEAKS)
def test_a_column_that_gives_the_label_away_is_named(column, y, is_level) -> None:
    assert leaks(column, y, is_level) == [("odd",)]
    order = np.argsort(y, kind="stable")
    assert leaks(column[order], y[order], is_level) == [("odd",)]


HONEST = {
    "noise": (RNG.normal(size=N), Y, False),
    "a strong column": (Y + RNG.normal(size=N) * 0.4, Y, False),
    "a constant": (np.zeros(N), Y, False),
    "nothing": (np.full(N, np.nan), Y, False),
    "ids": (RNG.permutation(N).astype(float), Y, True),
    "levels of few rows": (RNG.integers(0, 900, N).astype(float), Y, True),
    "noise and a rare class": (RNG.normal(size=N), RARE, False),
    "a few classes of five": (np.minimum(MANY, 2).astype(float), MANY, False),
}


@pytest.mark.parametrize(("column", "y", "is_level"), HONEST.values(), ids=HONEST)
def test_a_column_that_does_not_is_not(column, y, is_level) -> None:
    assert leaks(column, y, is_level) == []
    order = np.argsort(y, kind="stable")
    assert leaks(column[order], y[order], is_level) == []


def test_too_few_rows_say_nothing() -> None:
    y = np.repeat([0, 1], [200, 9])
    assert find_leaks(y[:, None] * 1.0, y, np.array([False]), ["a"]) == []


def test_many_columns_are_judged_in_turn() -> None:
    X = RNG.normal(size=(400, 150))
    y = (X[:, 3] > 0.0).astype(int)
    X[:, 149] = X[:, 3]
    names = [f"x{j}" for j in range(150)]
    found = find_leaks(X, y, np.zeros(150, dtype=bool), names)
    assert [finding.columns for finding in found] == [("x3",), ("x149",)]


def test_a_fit_says_it() -> None:
    X = np.column_stack([NOISE, Y])[:300]
    model = FCGBoostClassifier("tree", max_iter=2, cv=None).fit(X, Y[:300])
    assert "'x1' alone predicts the label (AUC 1.000 out of fold)" in model.notes_[0]
