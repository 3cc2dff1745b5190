"""The memory of this process, as the contract of devices has it."""

import numpy as np
import pytest

from fcgboost.designs.devices import HostDevice
from fcgboost.dictionaries import TreeDictionary


def test_arrays_are_neither_copied_nor_converted_without_need() -> None:
    device, values = HostDevice(), np.arange(4.0)
    assert device.put(values) is values
    assert device.put(values, "float32").dtype == np.float32
    assert device.empty(3, 2, "uint8").shape == (3, 2)
    (fetched,) = device.fetch(values)
    assert fetched is values
    assert device.n_waits == 1
    assert device.with_float64 is device


def test_positions_are_those_of_true_values() -> None:
    mask = np.array([True, False, True, True])
    np.testing.assert_array_equal(HostDevice().positions(mask, 3), [0, 2, 3])


def test_a_grown_tree_has_its_leaves_in_a_forest() -> None:
    rng = np.random.default_rng(0)
    X, residual, weights = rng.standard_normal((200, 3)), rng.standard_normal(200), np.ones(200)
    trees, device = TreeDictionary(corrects_leaves=True), HostDevice()
    grower = device.grower(trees, X, weights)
    atom = grower.grow(residual, weights, 0)
    forest = device.forest(200)
    forest.append(grower.leaves, len(trees.leaf_values(atom)))
    expected = np.bincount(np.asarray(trees.leaves(X, atom)), residual)
    ((total, *sums),) = forest.sums([residual])
    np.testing.assert_allclose(sums, expected, atol=1e-12)
    assert total == pytest.approx(residual.sum(), abs=1e-12)
