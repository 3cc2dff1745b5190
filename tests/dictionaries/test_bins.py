"""Thresholds and the bins between them."""

import numpy as np

from fcgboost.dictionaries.bins import find_thresholds
from tests.suites.naive_trees import thresholds


def test_thresholds_of_a_mostly_zero_feature_tell_the_others_apart() -> None:
    column = np.concatenate([np.zeros(9000), np.arange(1.0, 1001.0)])
    rows = np.column_stack([column, np.arange(10000.0)])  # all of them distinct
    found = find_thresholds(column, 250)
    assert found[0] == 0.5
    assert 125 <= len(found) <= 150
    assert np.diff(found).max() < 10.0
    for n in (1, 2, 7, 250):
        np.testing.assert_array_equal(
            find_thresholds(column[::10], n), thresholds(rows[::10], 0, n)
        )


def test_thresholds_lie_between_neighbours() -> None:
    ends = np.array([1.0, np.nextafter(1.0, 2.0), -1e308, 1e308, 5e-324, 0.0, -0.0, np.nan])
    found = find_thresholds(ends, 250)
    values = np.unique(ends[~np.isnan(ends)])
    assert len(found) == len(values) - 1
    assert ((values[:-1] <= found) & (found < values[1:])).all()


def test_half_of_the_thresholds_are_quantiles_of_rows() -> None:
    rng = np.random.default_rng(0)
    column = rng.exponential(size=20001)
    found = find_thresholds(column, 9)
    quantiles = np.quantile(column, [*np.arange(1, 5) / 5, *np.arange(1, 6) / 6])
    np.testing.assert_allclose(found, np.sort(quantiles), atol=2e-3)


def test_neighbouring_numbers_are_told_apart():
    first = 1.0 + 2.0**-52
    for lower, upper in ((1.0, first), (first, 1.0 + 2.0**-51), (5e-324, 1e-323), (-1e-323, 0.0)):
        (threshold,) = find_thresholds(np.array([lower, upper]), 8)
        assert lower <= threshold < upper
