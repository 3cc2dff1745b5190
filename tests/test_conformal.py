"""Intervals and sets from held-out errors, against sorted lists."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost.conformal import HeldOutErrors, class_errors, error_of


def make_parts(seed: int, n_parts: int = 3) -> list[tuple[np.ndarray, np.ndarray]]:
    """Give errors of parts of unequal sizes, with whole weights."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_parts)
    return [(rng.exponential(size=n).round(1), rng.integers(1, 4, n) * 1.0) for n in sizes]


def farthest(parts, centres, alpha):
    """Give the smallest number that enough centres plus errors do not exceed, for one row."""
    reached = sorted(
        centre + error
        for (errors, weights), centre in zip(parts, centres, strict=True)
        for error, weight in zip(errors, weights, strict=True)
        for _ in range(int(weight))
    )
    rank = math.ceil((1.0 - alpha) * (len(reached) + 1.0))
    return reached[rank - 1] if rank <= len(reached) else math.inf


@given(st.integers(0, 10**6), st.sampled_from([0.03, 0.1, 0.25, 0.5]))
def test_ends_are_those_of_the_sorted_list(seed: int, alpha: float) -> None:
    parts = make_parts(seed)
    centres = list(np.random.default_rng(seed).normal(size=(len(parts), 5)))
    found = HeldOutErrors.of(parts, are_folds=True).interval(centres, alpha)
    for row, (low, high) in zip(np.transpose(centres), found, strict=True):
        assert high == pytest.approx(farthest(parts, row, alpha), rel=1e-12)
        assert low == pytest.approx(-farthest(parts, -row, alpha), rel=1e-12)


def test_ends_that_cross_are_swapped() -> None:
    parts = [(np.array([0.1]), np.ones(1)), (np.array([0.1]), np.ones(1))]
    centres = [np.array([0.0]), np.array([5.0])]
    found = HeldOutErrors.of(parts, are_folds=True).interval(centres, 0.7)
    np.testing.assert_allclose(found, [[0.1, 4.9]])


def test_parts_without_members_of_their_own_are_one() -> None:
    parts = make_parts(0)
    pooled = HeldOutErrors.of(parts, are_folds=False)
    assert len(pooled.errors) == 1
    (whole,) = [np.concatenate(values) for values in [[part[0] for part in parts]]]
    (weights,) = [np.concatenate(values) for values in [[part[1] for part in parts]]]
    found = pooled.interval([np.zeros(1)], 0.25)
    assert found[0, 1] == pytest.approx(farthest([(whole, weights)], [0.0], 0.25))


def test_of_very_many_errors_few_are_kept_and_none_is_understated() -> None:
    errors = np.random.default_rng(0).exponential(size=30_000)
    weights = np.ones(30_000)
    few = HeldOutErrors.of([(errors, weights)], are_folds=True)
    assert len(few.errors[0]) <= 1_000
    assert few.totals[0][-1] == 30_000.0
    for alpha in (0.01, 0.1, 0.5):
        exact = np.sort(errors)[math.ceil((1.0 - alpha) * 30_001) - 1]
        found = few.farthest([np.zeros(1)], alpha)[0]
        assert exact - 1e-12 <= found <= exact * 1.03


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_class_is_in_the_set_if_enough_errors_are_no_smaller(n_outputs: int) -> None:
    rng = np.random.default_rng(0)
    parts = make_parts(1)
    decisions = list(rng.normal(size=(len(parts), 20, n_outputs)))
    held_out = HeldOutErrors.of(parts, are_folds=True)
    found = held_out.classes(decisions, 0.25)
    total = sum(weights.sum() for _, weights in parts)
    for i, j in np.ndindex(*found.shape):
        below = 0.0
        for (errors, weights), decision in zip(parts, decisions, strict=True):
            own = class_errors(decision)[i, j]
            below += weights[errors < own].sum()
        assert found[i, j] == (below < 0.75 * (total + 1.0))


def test_the_error_of_a_class_is_what_it_lacks_of_the_best_other() -> None:
    decision = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, -1.0]])
    assert class_errors(decision).tolist() == [[2.0, -1.0, 1.0], [0.0, 0.0, 1.0]]
    assert error_of(decision, np.array([2, 2])).tolist() == [1.0, 1.0]
    assert class_errors(np.array([[0.5]])).tolist() == [[0.5, -0.5]]
