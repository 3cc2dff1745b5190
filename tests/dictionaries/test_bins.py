"""Thresholds and the bins between them."""

import numpy as np
import pytest

from fcgboost.dictionaries.bins import bin_rows, codes_of, find_thresholds
from fcgboost.threads import shared
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


@pytest.mark.parametrize("n", [1, 700, 70_000])
def test_codes_are_the_same_for_any_threads_and_precision(n) -> None:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 9)).astype(np.float32)
    X[rng.random(n) < 0.1, 0] = np.nan
    X[:, 1] = rng.integers(0, 9, n)
    # Features that share a column: no row has numbers in two of them.
    X[:, 3:] = np.eye(6)[rng.integers(0, 6, n)] * rng.integers(-5, 6, n)[:, None]
    bins, codes = bin_rows(X, np.arange(9) == 1)
    if n > 1:
        assert bins.n_columns == 4
    numbers = bins.numbers(X)
    for j in np.flatnonzero(bins.default_bin < 0):
        np.testing.assert_array_equal(codes[:, bins.column[j]], numbers[j])
    for n_threads in (2, 3, 7):
        with shared.ours(n_threads):
            for rows in (X, X.astype(np.float64), np.asfortranarray(X)):
                found, clash = codes_of(bins, rows)
                np.testing.assert_array_equal(found, codes)
                assert len(clash) == 0


def test_numbers_beyond_all_thresholds_are_in_the_last_bins() -> None:
    X = np.arange(200.0)[:, None]
    bins, _ = bin_rows(X, np.array([False]))
    ends = np.array([[-np.inf], [np.inf], [np.finfo(np.float64).max], [np.nan]])
    assert codes_of(bins, ends)[0].ravel().tolist() == [0, 199, 199, 200]


def test_columns_whose_features_clash_are_named() -> None:
    X = np.eye(6)[np.arange(600) % 6]
    bins, _ = bin_rows(X, np.zeros(6, bool))
    assert bins.n_columns == 1
    assert codes_of(bins, np.ones((1, 6)))[1].tolist() == [0]
