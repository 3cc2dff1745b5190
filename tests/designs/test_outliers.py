"""Outliers are limited, whatever else a column holds."""

import numpy as np

from fcgboost.clipping import FAR, Limits, extreme_values, zeros_in
from fcgboost.designs.moments import moments_of
from fcgboost.designs.outliers import find_limits
from fcgboost.dictionaries import Dictionary, ReluDictionary


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
        lambda columns: extreme_values(X, columns),
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
