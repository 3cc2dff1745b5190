"""Moments are exact to rounding, and the same whatever the order and the partition of the rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import Data, training_sets

from fcgboost.designs.moments import Moments, add_up, gather_moments, moments_of
from fcgboost.sums import ExactSum


def in_parts(X, weights, cuts: list[int]) -> Moments:
    parts = [p for p in np.split(np.arange(len(weights)), sorted(cuts)) if len(p)]
    return gather_moments(
        lambda function, *arguments: add_up(
            [function(X[part], weights[part], *arguments) for part in parts]
        )
    )


def assert_identical(first: Moments, second: Moments) -> None:
    for name in vars(first):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@given(training_sets(), st.lists(st.integers(0, 30), max_size=4), st.randoms())
def test_order_and_partition_do_not_change_a_bit(data: Data, cuts, random) -> None:
    order = list(range(len(data.weights)))
    random.shuffle(order)
    for X in (data.X, sparse.csr_array(data.X)):
        whole = moments_of(X, data.weights)
        assert_identical(whole, in_parts(X[order], data.weights[order], cuts))


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


def test_a_constant_column_has_no_variance_and_a_tiny_weight_still_counts() -> None:
    X = np.array([[1.0, 0.1], [2.0, 0.1], [4.0, 0.1]])
    moments = moments_of(X, np.array([1e-12, 1.0, 1.0]))
    assert moments.variance[1] == 0.0
    assert moments.total_weight == pytest.approx(2.0 + 1e-12, rel=1e-15)
    assert moments.mean[0] == pytest.approx((1e-12 + 2.0 + 4.0) / (2.0 + 1e-12), rel=1e-15)


def test_many_rows_are_still_added_up_exactly() -> None:
    # Beyond 2^53 units in one float64 sum the order would show.
    weights = np.random.default_rng(0).uniform(0.9, 1.0, 6_000_000)
    units = weights[:, None]
    whole = ExactSum.of(units)
    parts = ExactSum.of(units[::-1][:1_234_567]) + ExactSum.of(units[::-1][1_234_567:])
    assert whole.whole() == parts.whole()
