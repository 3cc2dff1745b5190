"""Moments are exact to rounding, and those of parts of the rows add up."""

from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import Data, training_sets

from fcgboost.clipping import FAR, Limits, ends_of, zeros_in
from fcgboost.designs.moments import Frame, Moments, find_limits, moments_of
from fcgboost.dictionaries import Dictionary, ReluDictionary


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


def test_a_constant_column_has_no_variance_and_a_tiny_weight_still_counts() -> None:
    X = np.array([[1.0, 0.1], [2.0, 0.1], [4.0, 0.1]])
    moments = moments_of(X, np.array([1e-12, 1.0, 1.0]))
    assert moments.variance[1] == 0.0
    assert moments.total_weight == pytest.approx(2.0 + 1e-12, rel=1e-15)
    assert moments.mean[0] == pytest.approx((1e-12 + 2.0 + 4.0) / (2.0 + 1e-12), rel=1e-15)


class Marked(ReluDictionary):
    """Atoms of columns the last of which has categories."""

    def categories(self, n_features: int) -> np.ndarray:
        return np.arange(n_features) == n_features - 1


def limits_within(X: np.ndarray, dictionary: Dictionary, clip: float | None = None) -> Limits:
    def within(limits: Limits | None) -> np.ndarray:
        return X if limits is None else limits.apply(X)

    limits, moments = find_limits(
        clip,
        dictionary,
        lambda limits: moments_of(within(limits), np.ones(len(X))),
        lambda columns: ends_of(X, columns),
        lambda limits: zeros_in(within(limits)),
    )
    assert limits is not None
    np.testing.assert_array_equal(moments.high, within(limits).max(axis=0))
    return limits


def test_a_column_is_limited_where_it_has_no_squares() -> None:
    X = np.tile([[1.0, 1e152], [-1.0, -1e152]], (10, 1))
    limits = limits_within(X, ReluDictionary())
    assert (limits.low[1], limits.high[1]) == (-FAR, FAR)


def test_a_zero_that_is_wild_is_not_among_the_limits() -> None:
    X = np.linspace(100.0, 104.0, 40)[:, None]
    X[7] = 0.0
    limits = limits_within(X, ReluDictionary(), clip=3.0)
    assert 80.0 < limits.low[0] < 100.0 < 104.0 < limits.high[0] < 130.0


def test_a_zero_that_most_rows_have_is_not_wild() -> None:
    X = np.linspace(-1.0, 1.0, 200)[:, None] * [1.0, 0.0]
    X[:3, 1] = [5.0, 5.01, 5.02]
    X[3, 0] = 999.0
    limits = limits_within(X, ReluDictionary())
    assert limits.high[0] < 4.0
    assert limits.low[1] < 0.0
    assert limits.high[1] > 5.02


def test_no_category_is_wild() -> None:
    X = np.tile(np.linspace(0.0, 4.0, 40)[:, None], 2)
    X[7] = 1e6
    limits = limits_within(X, Marked())
    assert limits.high[0] < 10.0
    assert limits.high[1] > 1e300


def test_large_constants_are_their_own_unit():
    values = np.array([5.0, -3e9, 3e9])
    frame = Frame(Moments(2.0, values, values, values, np.zeros(3)), standardize=True)
    assert frame.scale.tolist() == [1.0, 3e9, 3e9]
