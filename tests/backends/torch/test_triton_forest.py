"""Forests on a GPU are those of the processor; without one, kernels are interpreted."""

from importlib.util import find_spec

import numpy as np
import pytest

from fcgboost import TreeDictionary
from fcgboost._kernels.forest import Forest
from fcgboost.backends.torch.device import TorchDevice
from fcgboost.backends.torch.forest import DeviceForest
from tests.suites.grown_trees import compiled, make_rows

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.extras
# Not imported, because the import decides whether kernels are interpreted.
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


@needs_triton
def test_kernels_add_up_leaves_of_trees_of_any_size(device: TorchDevice) -> None:
    rng = np.random.default_rng(0)
    forest, expected = DeviceForest(500, device), Forest(500)
    for n_leaves in (5, 9, 300):
        codes = rng.integers(0, n_leaves, 500)
        forest.append(torch.tensor(codes), n_leaves)
        expected.append(codes.astype(np.uint16), n_leaves)
    r, values = rng.standard_normal(500), rng.standard_normal(314)
    sums = forest.sums([device.put(r)]).cpu()
    np.testing.assert_allclose(sums, expected.sums([r]), rtol=0.0, atol=1e-12)
    f = forest.add_values(values, device.put(np.zeros(500))).cpu()
    np.testing.assert_array_equal(f, expected.add_values(values, np.zeros(500)))


@needs_triton
@pytest.mark.parametrize("categories", [None, [7]])
def test_rows_walk_to_the_leaves_that_they_grew(
    device: TorchDevice, categories: list[int] | None
) -> None:
    trees = TreeDictionary(
        30, min_leaf=2, max_leaf_nodes=40, corrects_leaves=True, categorical_features=categories
    )
    X, residual = make_rows(700, 0, 150)
    atom, leaves = compiled(trees, X, residual, np.ones(700))
    walked = trees.leaves(device.put(X), atom, device.kernels.walk)
    np.testing.assert_array_equal(walked.cpu(), leaves)
