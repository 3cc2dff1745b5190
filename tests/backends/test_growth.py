"""Trees that are grown in rounds, over rows that are elsewhere: those of the compiled grower."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import TreeDictionary
from fcgboost.backends.growth import Growth, HostRows, SummedRows, WeightSummary, quantize
from fcgboost.dictionaries.bins import bin_rows
from tests.suites.grown_trees import compiled, grow_in_rounds, make_rows
from tests.suites.marks import also
from tests.suites.strategies import seeds

RULES = {
    "best first": {"max_leaf_nodes": 31},
    "to the end": {"max_leaf_nodes": 500, "min_leaf": 1},
    "level by level": {"depth": 5},
    "one leaf too few": {"max_leaf_nodes": 2},
    "no smoothing": {"max_leaf_nodes": 9, "smoothing": 0.0},
    "shallow, many leaves": {"depth": 3, "max_leaf_nodes": 100},
}


@pytest.mark.parametrize("name", RULES)
@given(seed=seeds, n=st.integers(1, 400), n_codes=st.sampled_from([6, 52, 60, 150, 255]))
def test_a_tree_is_that_of_the_compiled_grower(name: str, seed: int, n: int, n_codes: int) -> None:
    X, residual = make_rows(n, seed, n_codes)
    parameters = {"depth": 30, "min_leaf": 2, "categorical_features": [7], **RULES[name]}
    trees = TreeDictionary(corrects_leaves=True, **parameters)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(np.float64)
    tree, leaves = grow_in_rounds(trees, X, residual, weights)
    expected, numbers = compiled(trees, X, residual, weights)
    np.testing.assert_array_equal(tree, expected)
    np.testing.assert_array_equal(leaves, numbers)


def test_a_large_tree_takes_few_rounds() -> None:
    X, residual = make_rows(20_000, 0)
    trees = TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True)
    weights, calls = np.ones(len(X)), list[int]()
    bins, codes = bin_rows(X, trees.categories(X.shape[1]))
    rules = trees.rules(trees.levels(len(X)), WeightSummary.of(weights).unit)
    rows = HostRows(bins, codes, quantize(residual, weights, abs(residual).sum(), rules.unit))

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
    whole = WeightSummary.of(weights)
    parts = [WeightSummary.of(weights[:20]), WeightSummary.of(weights[20:])]
    joined = parts[0] + parts[1]
    assert joined == replace(whole, total=joined.total)
    assert joined.total == pytest.approx(whole.total)
    assert WeightSummary.of(np.array([0.0, 2.5, 2.5])).unit == (2.5, True)
    assert WeightSummary.of(np.array([1.0, 0.0, 3.0])).unit == (1.0, True)
