"""Trees that a GPU grows are those of the processor; without one, kernels are interpreted."""

from importlib.util import find_spec

import numpy as np
import pytest

from fcgboost import (
    FCGBoostClassifier,
    TreeDictionary,
)
from fcgboost.backends.torch.device import TorchDevice
from fcgboost.backends.torch.grower import DeviceGrower
from tests.suites.grown_trees import compiled, make_rows

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.extras
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
# Not imported, because the import decides whether kernels are interpreted.
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


@needs_triton
@pytest.mark.parametrize(("n_codes", "n_rows"), [(6, 150), (60, 300), (255, 200)])
def test_kernels_grow_the_trees_of_the_compiled_grower(
    device: TorchDevice, n_codes: int, n_rows: int
) -> None:
    trees = TreeDictionary(
        30, min_leaf=2, max_leaf_nodes=12, corrects_leaves=True, categorical_features=[7]
    )
    X, residual = make_rows(n_rows, 0, n_codes)
    weights = np.random.default_rng(0).integers(1, 4, n_rows).astype(np.float64)
    rows, r, w = map(device.put, (X, residual, weights))
    grower = DeviceGrower(trees, rows, w, device)
    expected, leaves = compiled(trees, X, residual, weights)
    np.testing.assert_array_equal(grower.grow(r, w, 0), expected)
    np.testing.assert_array_equal(grower.leaves.cpu(), leaves)
    # The rounds that the last tree took are enough for the same one.
    n_waits = device.n_waits
    np.testing.assert_array_equal(grower.grow(r, w, 0), expected)
    assert device.n_waits == n_waits + 1


@needs_triton
def test_a_tree_that_needs_more_rounds_and_room_gets_them(
    device: TorchDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_ROUNDS": 1, "_MORE": 2, "_ROOM": 8}.items():
        monkeypatch.setattr(f"fcgboost.backends.torch.triton_trees.{name}", value)
    trees = TreeDictionary(4, min_leaf=2, corrects_leaves=True)
    X, residual = make_rows(200, 0)
    rows, r, w = map(device.put, (X, residual, np.ones(200)))
    grower = DeviceGrower(trees, rows, w, device)
    expected, leaves = compiled(trees, X, residual, np.ones(200))
    np.testing.assert_array_equal(grower.grow(r, w, 0), expected)
    np.testing.assert_array_equal(grower.leaves.cpu(), leaves)


@needs_gpu
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fast_fit_grows_the_trees_of_the_processor(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((12_000, 4)), np.eye(4)[rng.integers(0, 4, 12_000)]])
    X[rng.random(12_000) < 0.1, 1] = np.nan
    side = np.sin(2.0 * X[:, 0]) + X[:, 2] * X[:, 4] + np.isnan(X[:, 1])
    y = (side + 0.5 * rng.standard_normal(12_000) > 0.3) + (n_classes == 3) * (X[:, 3] > 1.0)
    here, there, again = (
        FCGBoostClassifier("fast", device=device, random_state=0).fit(X, y)
        for device in ("cpu", "cuda", "cuda")
    )
    assert here.model_.dictionary.corrects_leaves
    assert (there.l2_, there.n_iter_) == (here.l2_, here.n_iter_)
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(again.predict_proba(X), there.predict_proba(X))


@needs_gpu
@pytest.mark.parametrize("n_codes", [30, 60, 150, 255])
def test_categories_are_split_on_a_gpu_as_on_the_processor(n_codes: int) -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, n_codes, 3000), rng.standard_normal(3000)]).astype(float)
    X[rng.random(3000) < 0.1, 0] = np.nan
    y = (np.sin(7.0 * np.nan_to_num(X[:, 0])) + X[:, 1] > 0.0).astype(int)
    trees = TreeDictionary(
        30, min_leaf=2, max_leaf_nodes=40, corrects_leaves=True, categorical_features=[0]
    )
    here, there = (
        FCGBoostClassifier(trees, l2=1e-3, max_iter=6, device=device, random_state=0).fit(X, y)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
