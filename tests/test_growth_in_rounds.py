"""Trees that are grown in rounds, over rows that are elsewhere: those of the compiled grower."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds
from suites.marks import also

from fcgboost import TreeDictionary
from fcgboost.designs.devices import TorchDevice
from fcgboost.designs.growing import DeviceGrower
from fcgboost.dictionaries import Sample
from fcgboost.dictionaries.bins import bin_rows
from fcgboost.dictionaries.growth import Growth, HostRows, SummedRows, Weights, steps_of

RULES = {
    "best first": {"max_leaf_nodes": 31},
    "to the end": {"max_leaf_nodes": 500, "min_leaf": 1},
    "level by level": {"depth": 5},
    "one leaf too few": {"max_leaf_nodes": 2},
    "no smoothing": {"max_leaf_nodes": 9, "smoothing": 0.0},
    "shallow, many leaves": {"depth": 3, "max_leaf_nodes": 100},
}


def make_rows(n: int, seed: int, n_codes: int = 6) -> tuple[Any, Any]:
    """Return numbers with gaps, categories with gaps, one-hot columns and ties, and a residual."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.standard_normal((n, 2)),
            rng.integers(0, 9, n),
            np.eye(4)[rng.integers(0, 4, n)],
            rng.integers(0, n_codes, n),
        ]
    ).astype(np.float64)
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, -1] = np.nan
    return X, np.round(rng.standard_normal(n) + np.sin(3.0 * X[:, 1]) + (X[:, 2] > 4), 1)


def grow_in_rounds(trees: TreeDictionary, X: Any, residual: Any, weights: Any) -> tuple[Any, Any]:
    bins, codes = bin_rows(X, trees.categories(X.shape[1]), trees.n_thresholds)
    rules = trees.rules(trees.levels(max(weights.sum(), 1.0)), Weights.of(weights).unit)
    rows = HostRows(bins, codes, steps_of(residual, weights, abs(residual).sum(), rules.unit))
    growth = Growth(SummedRows(rows.split, bins, rules), bins, rules)
    return growth.atom(), growth.leaf_numbers()[rows.nodes]


def compiled(trees: TreeDictionary, X: Any, residual: Any, weights: Any) -> tuple[Any, Any]:
    zeros, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    grower = trees.grower(Sample(zeros[None], zeros, ones, zeros, ones, 1.0, 1.0))
    return grower.grow(X, residual, weights, 0), grower.leaves


def grow_on_torch(trees: TreeDictionary, X: Any, residual: Any, weights: Any) -> tuple[Any, Any]:
    pytest.importorskip("torch")
    device = TorchDevice("cpu")
    X, residual, weights = map(device.put, (X, residual, weights))
    grower = DeviceGrower(trees, X, weights, device)
    return grower.grow(X, residual, weights, 0), grower.leaves.numpy()


WAYS = [
    pytest.param(grow_in_rounds, id="histograms"),
    pytest.param(grow_on_torch, id="torch", marks=pytest.mark.extras),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RULES)
@given(seed=seeds, n=st.integers(1, 400), n_codes=st.sampled_from([6, 52, 60, 150, 255]))
def test_a_tree_is_that_of_the_compiled_grower(
    name: str, way: Any, seed: int, n: int, n_codes: int
) -> None:
    X, residual = make_rows(n, seed, n_codes)
    given = {"depth": 30, "min_leaf": 2, "categorical_features": [7], **RULES[name]}
    trees = TreeDictionary(corrects_leaves=True, **given)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(np.float64)
    tree, leaves = way(trees, X, residual, weights)
    expected, numbers = compiled(trees, X, residual, weights)
    np.testing.assert_array_equal(tree, expected)
    np.testing.assert_array_equal(leaves, numbers)


def test_a_large_tree_takes_few_rounds() -> None:
    X, residual = make_rows(20_000, 0)
    trees = TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True)
    weights, calls = np.ones(len(X)), list[int]()
    bins, codes = bin_rows(X, trees.categories(X.shape[1]), trees.n_thresholds)
    rules = trees.rules(trees.levels(len(X)), Weights.of(weights).unit)
    rows = HostRows(bins, codes, steps_of(residual, weights, abs(residual).sum(), rules.unit))

    def split(slots: Any, splits: Any) -> Any:
        calls.append(len(splits))
        return rows.split(slots, splits)

    growth = Growth(SummedRows(split, bins, rules), bins, rules)
    np.testing.assert_array_equal(growth.atom(), compiled(trees, X, residual, weights)[0])
    # The levels of the tree and a few more, and not much is split in vain.
    assert len(calls) <= 25
    assert sum(calls) <= 2 * 255


@pytest.mark.parametrize("scale", [1.0, *also(1e-300, 1e300)])
@pytest.mark.parametrize("fraction", [1.0, 0.3, 1e-3])
def test_weights_that_are_no_counts_are_told_apart_finely(fraction: float, scale: float) -> None:
    X, residual = make_rows(300, 1)
    weights = fraction * np.random.default_rng(2).random(300)
    trees = TreeDictionary(30, min_leaf=0.1 * fraction, max_leaf_nodes=12, corrects_leaves=True)
    tree, leaves = grow_in_rounds(trees, X, scale * residual, weights)
    expected, numbers = compiled(trees, X, scale * residual, weights)
    np.testing.assert_allclose(tree, expected, rtol=1e-3)
    np.testing.assert_array_equal(leaves, numbers)


def test_what_is_known_of_weights_adds_up() -> None:
    weights = np.random.default_rng(0).random(50)
    whole, parts = Weights.of(weights), [Weights.of(weights[:20]), Weights.of(weights[20:])]
    joined = parts[0] + parts[1]
    assert joined == replace(whole, total=joined.total)
    assert joined.total == pytest.approx(whole.total)
    assert Weights.of(np.array([0.0, 2.5, 2.5])).unit == (2.5, True)
    assert Weights.of(np.array([1.0, 0.0, 3.0])).unit == (1.0, True)
