"""Trees grown on a device."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import TreeDictionary
from fcgboost.backends.growth import HostRows, SummedRows
from fcgboost.backends.torch.device import TorchDevice
from fcgboost.backends.torch.grower import DeviceGrower, HostGrower
from fcgboost.dictionaries.bins import bin_rows
from tests.suites.grown_trees import compiled, make_rows
from tests.suites.strategies import seeds

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras
TREES = TreeDictionary(
    30, min_leaf=2, max_leaf_nodes=31, corrects_leaves=True, categorical_features=[7]
)


class KernelStandIn(SummedRows):
    """`GpuRows` for a machine without a GPU: rows are sent by the compiled library."""

    def __init__(self, X: Any, codes: Any, steps: Any, rules: Any) -> None:
        bins, _ = bin_rows(X, TREES.categories(X.shape[1]))
        self._host = HostRows(bins, np.ascontiguousarray(codes.numpy().T), steps.numpy())
        super().__init__(self._host.split, bins, rules)

    @property
    def nodes(self) -> Any:
        return torch.tensor(self._host.nodes).long()


@given(seed=seeds, n=st.integers(1, 400), n_codes=st.sampled_from([6, 60, 255]))
def test_a_tree_is_that_of_the_compiled_grower(seed: int, n: int, n_codes: int) -> None:
    X, residual = make_rows(n, seed, n_codes)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(np.float64)
    device = TorchDevice("cpu")
    rows, r, w = map(device.put, (X, residual, weights))
    grower = DeviceGrower(TREES, rows, w, device)

    def gpu_rows(codes: Any, steps: Any, *search: Any) -> KernelStandIn:
        return KernelStandIn(X, codes, steps, grower._rules)

    device.kernels = SimpleNamespace(GpuRows=gpu_rows)
    tree = grower.grow(r, w, 0)
    expected, numbers = compiled(TREES, X, residual, weights)
    np.testing.assert_array_equal(tree, expected)
    np.testing.assert_array_equal(grower.leaves.numpy(), numbers)


def test_without_kernels_the_compiled_grower_takes_tensors() -> None:
    X, residual = make_rows(300, 0)
    weights = np.ones(300)
    device = TorchDevice("cpu")
    rows, r, w = map(device.put, (X, residual, weights))
    grower = device.grower(TREES, rows, w)
    assert isinstance(grower, HostGrower)
    expected, numbers = compiled(TREES, X, residual, weights)
    np.testing.assert_array_equal(grower.grow(r, w, 0), expected)
    np.testing.assert_array_equal(grower.leaves, numbers)
