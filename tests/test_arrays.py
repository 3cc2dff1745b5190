"""What NumPy and torch name differently is the same for both, and for sparse rows."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import arrays

ROWS = np.random.default_rng(0).normal(size=(5, 3))


def tensor(array):
    return pytest.importorskip("torch").tensor(array)


def same(array):
    return array


MEMORIES = [same, pytest.param(tensor, marks=pytest.mark.extras)]


@pytest.mark.parametrize("memory", MEMORIES)
def test_functions_are_those_of_numpy_in_every_memory(memory):
    rows = memory(ROWS)
    assert arrays.namespace(rows).__name__ == ("torch" if memory is tensor else "numpy")
    assert arrays.is_tensor(rows) is (memory is tensor)
    np.testing.assert_array_equal(arrays.to_numpy(rows), ROWS)
    np.testing.assert_array_equal(arrays.to_numpy(arrays.positive_part(rows)), ROWS.clip(min=0.0))
    np.testing.assert_array_equal(arrays.to_numpy(arrays.sort(rows)), np.sort(ROWS))
    np.testing.assert_allclose(
        arrays.to_numpy(arrays.squared_norms(rows)), [row @ row for row in ROWS], rtol=1e-15
    )


def test_sparse_rows_have_the_norms_of_dense_ones():
    subsample = ROWS * (ROWS > 0.0)
    subsample[2] = 0.0
    rows = sparse.csr_array(subsample)
    assert arrays.is_sparse(rows)
    assert not arrays.is_sparse(subsample)
    np.testing.assert_allclose(arrays.squared_norms(rows), (subsample**2).sum(1), rtol=1e-15)
    np.testing.assert_array_equal(arrays.to_numpy(rows), subsample)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_an_array_comes_beside_another_with_its_values(memory, dtype):
    other = memory(ROWS)
    numbers = np.arange(4).astype(dtype)
    moved = arrays.to_device_of(numbers, other)
    assert arrays.is_tensor(moved) is (memory is tensor)
    np.testing.assert_array_equal(arrays.to_numpy(moved), numbers)
    assert arrays.to_device_of(other, other) is other


def test_what_is_within_reach_has_a_finite_square():
    assert np.isfinite(arrays.REACH**2)


def test_a_value_that_is_missing_on_both_sides_does_not_differ():
    background = np.array([[np.nan, np.nan, 1.0, 1.0], [np.nan, 2.0, 1.0, 1.0]])
    is_other = arrays.differ(np.array([np.nan, np.nan, 1.0, np.nan]), background)
    assert is_other.tolist() == [False, True, False, True]
