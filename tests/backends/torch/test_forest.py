"""Forests of leaves are products with ones and zeros."""

import numpy as np
import pytest

from tests.suites.places import DEVICES, make_device


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [(3,), (256, 1), (5, 300, 2)], ids=str)
@pytest.mark.parametrize("n", [1, 2047, 5001])
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
    np.testing.assert_allclose(forest.sums(there), A.T @ r, atol=1e-11)
    np.testing.assert_allclose(forest.first_trees(1).sums(there), columns[0].T @ r, atol=1e-11)
