"""Trees grown on a device."""

import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

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


class KernelStandIn:
    """`GpuRows` for a machine without a GPU: rows are sent by the compiled library."""

    def __init__(self, X: Any, codes: Any, rules: Any) -> None:
        self._bins, _ = bin_rows(X, TREES.categories(X.shape[1]))
        self._codes = np.ascontiguousarray(codes.numpy().T)
        self._rules = rules

    def begin(self, steps: Any) -> None:
        self._host = HostRows(self._bins, self._codes, steps.numpy())
        self._rows = SummedRows(self._host.split, self._bins, self._rules)

    @property
    def nodes(self) -> Any:
        return self._rows.nodes

    def split(self, wanted: Any) -> None:
        self._rows.split(wanted)

    @property
    def row_nodes(self) -> Any:
        return torch.tensor(self._host.nodes)


@given(seed=seeds, n=st.integers(1, 400), n_codes=st.sampled_from([6, 60, 255]))
def test_a_tree_is_that_of_the_compiled_grower(seed: int, n: int, n_codes: int) -> None:
    X, residual = make_rows(n, seed, n_codes)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(np.float64)
    device = TorchDevice("cpu")
    rows, r, w = map(device.put, (X, residual, weights))

    def gpu_rows(codes: Any, features: Any, limits: Any, rules: Any, _: Any) -> KernelStandIn:
        return KernelStandIn(X, codes, rules)

    stand_in = {"fcgboost.backends.torch.triton_trees": SimpleNamespace(GpuRows=gpu_rows)}
    with patch.dict(sys.modules, stand_in):
        grower = DeviceGrower(TREES, rows, w, device)
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
