"""Forests of leaves are products with ones and zeros."""

import numpy as np
import pytest

from tests.suites.places import DEVICES, make_device


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [(3,), (256, 1), (5, 300, 2)], ids=str)
@pytest.mark.parametrize("n", [1, 4095, 17_001])
def test_forests_are_products_with_ones_and_zeros(sizes, n, device) -> None:
    where, rng, columns = make_device(device), np.random.default_rng(n), []
    forest = where.forest(n)
    for size in sizes:
        codes = rng.integers(0, size, n)
        forest.append(where.put(codes, "int64"), size)
        columns.append(np.eye(size)[codes])
    A = np.concatenate(columns, axis=1)
    values, r = rng.standard_normal(A.shape[1]), rng.standard_normal(n) * (rng.random(n) < 0.6)
    f, there = rng.standard_normal(n), where.put(r)
    added = forest.add_values(values, where.put(f.copy()))
    np.testing.assert_allclose(added, f + A @ values, atol=1e-12)
    ones = np.ones((n, 1))
    for part, indicators in ((forest, A), (forest.first_trees(1), columns[0])):
        with_total = np.concatenate([ones, indicators], axis=1)
        h = rng.random(n)
        sums = part.sums([there, where.put(h)])
        np.testing.assert_allclose(sums, [with_total.T @ r, with_total.T @ h], atol=1e-10)
        leaf_values = values[: indicators.shape[1]]
        products = part.products(0.5, leaf_values, where.put(h))
        expected = with_total.T @ (h * (0.5 + indicators @ leaf_values))
        np.testing.assert_allclose(products, expected, atol=1e-10)
