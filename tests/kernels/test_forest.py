"""Codes of leaves take as few bytes as they need, and sums do not depend on threads."""

import numpy as np
import pytest

from fcgboost._kernels import square_terms
from fcgboost._kernels.forest import Forest
from fcgboost.losses import ModifiedHuber, SmoothLoss, Square, SquaredHinge
from fcgboost.threads import shared


@pytest.mark.parametrize("sizes", [(3,), (256, 1), (5, 300, 2)], ids=str)
def test_a_leaf_is_one_byte_as_long_as_that_is_enough(sizes) -> None:
    forest = Forest(9)
    for size in sizes:
        forest.append(np.zeros(9), size)
    assert [codes.itemsize for codes in forest.codes] == [1 + (size > 256) for size in sizes]


def make_forest(n: int, sizes: tuple[int, ...]) -> Forest:
    rng = np.random.default_rng(n)
    forest = Forest(n)
    for size in sizes:
        forest.append(rng.integers(0, size, n), size)
    return forest


# With many trees and few rows, threads share the trees of a part of the rows.
@pytest.mark.parametrize("n_threads", [2, 3, 7, 16])
@pytest.mark.parametrize(
    ("n", "n_trees"), [(0, 3), (1, 3), (9_000, 60), (40_000, 60), (1_200_000, 3)]
)
def test_threads_do_not_change_a_bit(n: int, n_trees: int, n_threads: int) -> None:
    forest = make_forest(n, n_trees // 3 * (3, 255, 300))
    rng = np.random.default_rng(0)
    r = rng.standard_normal((2, n)) * (rng.random(n) < 0.6)
    values = rng.standard_normal(forest.n_leaves)
    y = rng.choice([-1.0, 1.0], n)

    def answers() -> list[np.ndarray]:
        return [
            forest.sums(list(r)),
            forest.products(0.5, values, r[0]),
            forest.add_values(values, r[1].copy()),
            *forest.terms(np.inf, values, r[0].copy(), y, abs(r[1])),
        ]

    expected = answers()
    with shared.ours(n_threads):
        for _ in range(3):
            for found, wanted in zip(answers(), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("loss", "bend"),
    [(SquaredHinge(), np.inf), (Square(), 0.0), (ModifiedHuber(0.5), 0.5)],
    ids=str,
)
@pytest.mark.parametrize("n", [1, 50_000])
def test_compiled_terms_are_those_of_the_loss(loss: SmoothLoss, bend: float, n: int) -> None:
    rng = np.random.default_rng(0)
    f = 2.0 * rng.standard_normal(n)
    y = rng.choice([-1.0, 1.0], n)
    shares = rng.random(n)
    f[0] = y[0]
    with shared.ours(2):
        found = square_terms(bend, f, y, shares)
    for values, wanted in zip(found, loss.terms(y, f), strict=True):
        np.testing.assert_allclose(values, shares * wanted, rtol=1e-15)


@pytest.mark.parametrize("bend", [np.inf, 0.5, 0.0])
@pytest.mark.parametrize("sizes", [(1,), (256,), (300,), (3, 255, 7, 2, 9, 300, 5)], ids=str)
def test_vectors_have_the_same_sums_alone_and_together(sizes: tuple, bend: float) -> None:
    n = 10_000
    forest = make_forest(n, sizes)
    rng = np.random.default_rng(1)
    y = rng.choice([-1.0, 1.0], n)
    shares = rng.random(n) * (rng.random(n) < 0.9)
    values = rng.standard_normal(forest.n_leaves)
    before = rng.standard_normal(n)
    f = before.copy()
    terms, sums = forest.terms(bend, values, f, y, shares)
    np.testing.assert_array_equal(f, forest.add_values(values, before))
    np.testing.assert_array_equal(terms, square_terms(bend, f, y, shares))
    for vector, together in zip(terms, sums, strict=True):
        np.testing.assert_array_equal(together, forest.sums([vector])[0])
        naive = [vector.sum()]
        for codes, size in zip(forest.codes, sizes, strict=True):
            naive.extend(np.bincount(codes, vector, size))
        np.testing.assert_allclose(together, naive, rtol=1e-10, atol=1e-10)


def test_products_are_sums_of_curvatures_times_values() -> None:
    n = 10_000
    forest = make_forest(n, (3, 255, 7, 2, 9, 300, 5))
    rng = np.random.default_rng(2)
    h = rng.random(n) * (rng.random(n) < 0.5)
    values = rng.standard_normal(forest.n_leaves)
    f = forest.add_values(values, np.full(n, 0.5))
    np.testing.assert_array_equal(forest.products(0.5, values, h), forest.sums([h * f])[0])
