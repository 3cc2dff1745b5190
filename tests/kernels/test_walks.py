"""Rows that descend trees, beside the definition of trees."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fcgboost import TreeDictionary
from fcgboost._kernels import walks
from fcgboost.dictionaries.nodes import MISSING_LEFT, WORD, as_rows
from fcgboost.sums import sum_of
from tests.test_sums import N_FEATURES, summand_of

Array = NDArray[np.float64]
LEAF = -1.0
# The last feature has category codes.
CODES = N_FEATURES - 1
# What rows and thresholds have in common, so that there are ties.
VALUES = np.array([-np.inf, -1e300, -1.5, -1e-310, -0.0, 0.0, 1e-310, 0.25, 1e300, np.inf, np.nan])
FINITE = VALUES[np.isfinite(VALUES)]


def split(generator: np.random.Generator, tree: list[list[float]], i: int) -> None:
    """Let a leaf split at random."""
    kind = float(generator.integers(2))
    feature = int(generator.integers(N_FEATURES))
    value = float(generator.choice(FINITE))
    if feature == CODES:
        kind += 2.0
        value = float(generator.integers(2**WORD))
    tree[i] = [float(feature), value, float(len(tree)), kind]
    tree += [[LEAF, float(generator.normal()), 0.0, 0.0] for _ in range(2)]
    if feature == CODES and generator.random() < 0.5:
        tree[i][3] += 4.0 * len(tree)
        tree.append([-2.0 - float(word) for word in generator.integers(2**WORD, size=4)])


def random_tree(generator: np.random.Generator, n_leaves: int) -> list[list[float]]:
    tree = [[LEAF, float(generator.normal()), 0.0, 0.0]]
    for _ in range(n_leaves - 1):
        leaves = [i for i, node in enumerate(tree) if node[0] == LEAF]
        split(generator, tree, leaves[int(generator.integers(len(leaves)))])
    return tree


def padded(trees: list[list[list[float]]]) -> Array:
    nodes = np.zeros((len(trees), max(map(len, trees)), 4))
    for rows, tree in zip(nodes, trees, strict=True):
        rows[: len(tree)] = tree
    return nodes


def goes_left(tree: Array, node: Array, x: float) -> bool:
    kind = int(node[3])
    if not kind & 2:
        return bool(kind & MISSING_LEFT) if math.isnan(x) else bool(x <= node[1])
    is_code = math.isfinite(x) and x >= 0.0 and x == math.floor(x)
    if not is_code or x >= (255 if kind // 4 else WORD):
        return bool(kind & MISSING_LEFT)
    word, bit = divmod(int(x), WORD)
    bits = int(node[1]) if word == 0 else int(-2.0 - tree[kind // 4, word - 1])
    return bool(bits >> bit & 1)


def leaf_of(tree: Array, row: Array) -> int:
    """Walk as the dictionary's documentation says."""
    i = 0
    while tree[i, 0] != LEAF:
        is_left = goes_left(tree, tree[i], float(row[int(tree[i, 0])]))
        i = int(tree[i, 2]) + (not is_left)
    return i


def random_rows(generator: np.random.Generator, n: int) -> Array:
    X = generator.choice(VALUES, (n, N_FEATURES))
    codes = [*range(256), 0.5, -1.0, np.nan, np.inf]
    X[:, CODES] = generator.choice(codes, n)
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 61, 200])
def test_rows_reach_the_leaves_of_the_definition(n_rows: int, dtype: type) -> None:
    generator = np.random.default_rng(n_rows)
    nodes = padded([random_tree(generator, n) for n in (1, 2, 3, 16, 60)])
    with np.errstate(over="ignore"):
        X = random_rows(generator, n_rows).astype(dtype)
    expected = np.array([[leaf_of(tree, row) for tree in nodes] for row in X])
    trees = walks.check_trees(nodes, N_FEATURES)
    found = walks.walk(X, trees)
    np.testing.assert_array_equal(found, nodes[np.arange(len(nodes)), expected, 1])
    for t, tree in enumerate(nodes):
        alone = walks.check_trees(tree[None], N_FEATURES)
        numbers = np.arange(len(tree), dtype=np.uint16)
        leaves = walks.walk_to_leaves(X, alone, numbers)
        np.testing.assert_array_equal(leaves, expected[:, t])
    forest = TreeDictionary()
    coef = generator.normal(size=(3, len(nodes)))
    summand = summand_of(forest, as_rows(nodes), coef)
    laid_out = sum_of([summand])
    assert laid_out is not None
    np.testing.assert_allclose(walks.add_up(laid_out, X), found @ coef.T, rtol=1e-13, atol=1e-13)


def test_a_column_may_have_more_thresholds_than_two_bytes_count() -> None:
    n_leaves = 1 << 17
    n_splits = n_leaves - 1
    # In the order of a heap: the children of node i are 2 i + 1 and 2 i + 2.
    nodes = np.zeros((1, n_splits + n_leaves, 4))
    levels = np.floor(np.log2(np.arange(1, n_splits + 1)))
    nodes[0, :n_splits, 1] = (2 * (np.arange(1, n_splits + 1) - 2**levels) + 1) / 2 ** (levels + 1)
    nodes[0, :n_splits, 2] = 2 * np.arange(n_splits) + 1
    nodes[0, n_splits:, 0] = LEAF
    nodes[0, n_splits:, 1] = np.arange(n_leaves)
    X = np.random.default_rng(0).random((1000, 1))
    X[:3, 0] = 0.5, np.nextafter(0.5, 1.0), 1.0
    found = walks.walk(X, walks.check_trees(nodes, 1))
    np.testing.assert_array_equal(found, np.ceil(X * n_leaves) - 1.0)
