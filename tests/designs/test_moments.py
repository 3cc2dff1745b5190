"""Moments are exact to rounding, and those of parts of the rows add up."""

from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fcgboost.designs.moments import Frame, Moments, moments_of
from fcgboost.threads import shared
from tests.suites.strategies import Data, training_sets


@given(training_sets(), st.lists(st.integers(0, 30), max_size=4), st.randoms())
def test_moments_of_parts_add_up(data: Data, cuts, random) -> None:
    order = list(range(len(data.weights)))
    random.shuffle(order)
    for X in (data.X, sparse.csr_array(data.X)):
        whole = moments_of(X, data.weights)
        parts = [part for part in np.split(order, sorted(cuts)) if len(part)]
        found = reduce(add, (moments_of(X[part], data.weights[part]) for part in parts))
        size = np.maximum(np.abs(whole.low), np.abs(whole.high))
        assert found.total_weight == pytest.approx(whole.total_weight, rel=1e-14)
        np.testing.assert_array_equal([found.low, found.high], [whole.low, whole.high])
        assert (np.abs(found.mean - whole.mean) <= 1e-14 * size).all()
        spread = np.sqrt(whole.variance)
        assert (np.abs(np.sqrt(found.variance) - spread) <= 1e-12 * spread + 1e-14 * size).all()
        np.testing.assert_array_equal(found.variance == 0.0, whole.variance == 0.0)


@pytest.mark.parametrize("size", [1e-250, 1e-30, 1.0, 1e30, 1e120])
def test_sums_are_those_of_rational_numbers(size: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) * size * np.array([1.0, 1e-9, 1e9])
    weights = rng.uniform(0.1, 3.0, 200)
    moments = moments_of(X, weights)
    total = sum(map(Fraction, weights.tolist()))
    assert moments.total_weight == pytest.approx(float(total), rel=1e-16)
    for j in range(3):
        terms = [Fraction(w) * Fraction(x) for w, x in zip(weights, X[:, j], strict=True)]
        spread = float(np.abs(X[:, j]).max())
        assert abs(moments.mean[j] - float(sum(terms) / total)) <= 4e-16 * spread
        squares = [
            Fraction(w) * (Fraction(x) - Fraction(moments.mean[j])) ** 2
            for w, x in zip(weights, X[:, j], strict=True)
        ]
        assert moments.variance[j] == pytest.approx(float(sum(squares) / total), rel=2e-15, abs=0)


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 700)).astype(np.float32)
    weights = rng.random(3000)
    one = vars(moments_of(X, weights))
    with shared.ours(3):
        three = vars(moments_of(X, weights))
    for name, value in one.items():
        np.testing.assert_array_equal(three[name], value)
    np.testing.assert_allclose(one["mean"], np.average(X, axis=0, weights=weights), atol=1e-8)


def test_a_constant_column_has_no_variance_and_a_tiny_weight_still_counts() -> None:
    X = np.array([[1.0, 0.1], [2.0, 0.1], [4.0, 0.1]])
    moments = moments_of(X, np.array([1e-12, 1.0, 1.0]))
    assert moments.variance[1] == 0.0
    assert moments.total_weight == pytest.approx(2.0 + 1e-12, rel=1e-15)
    assert moments.mean[0] == pytest.approx((1e-12 + 2.0 + 4.0) / (2.0 + 1e-12), rel=1e-15)


def test_large_constants_are_their_own_unit():
    values = np.array([5.0, -3e9, 3e9])
    frame = Frame(Moments(2.0, values, values, values, np.zeros(3)), standardize=True)
    assert frame.scale.tolist() == [1.0, 3e9, 3e9]


def test_a_frame_knows_how_far_rows_are_from_the_centre_and_the_centre_from_zero() -> None:
    # Spreads of 2 and 1 around centres of 2 and 11.
    X = np.array([[0.0, 10.0], [4.0, 12.0]])
    frame = Frame(moments_of(X, np.ones(2)), standardize=False)
    assert frame.is_within(2.0, 11.0)
    assert not frame.is_within(1.9, 11.0)
    assert not frame.is_within(2.0, 10.9)
