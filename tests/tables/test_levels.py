"""What levels and pairs of levels tell about labels, against loops over rows."""

import numpy as np
import pytest

from fcgboost import Square, SquaredHinge, hashing
from fcgboost.tables import CategoryColumn
from fcgboost.tables.levels import LEAST_GAIN, LevelFacts, LevelSums, PairFacts
from fcgboost.tables.pairs import Pair
from fcgboost.training.dataset import DataSet
from fcgboost.training.tasks import Classification, Regression


def make_rows(n: int = 900, n_classes: int = 3, seed: int = 0) -> DataSet:
    """Give rows of two columns of categories with gaps, whose effects do not add up."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=n)
    second = rng.integers(5, size=n)
    is_odd = (first + second) % 2
    y = np.where(rng.random(n) < 0.2, rng.integers(n_classes, size=n), is_odd)
    X = np.column_stack([first, second, rng.normal(size=n)]).astype(float)
    X[rng.random(n) < 0.1, 0] = np.nan
    return DataSet.of(X, y, rng.integers(1, 4, n).astype(float))


COLUMNS = [CategoryColumn("a", tuple("wxyz")), CategoryColumn("b", tuple("abcdef"))]
PAIR = Pair.of(COLUMNS, 0, 1)


def sums_of(n_classes: int) -> LevelSums:
    return Classification(SquaredHinge(), None, np.arange(n_classes)).level_sums


def parts_of(rows: DataSet) -> np.ndarray:
    return (hashing.keyed(rows.row_hashes, 19) % np.uint64(5)).astype(int)


def shares_of(y: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    return np.array([weights[y == c].sum() for c in range(n_classes)]) / weights.sum()


def between(sizes, gaps, n_expected, prior):
    """Give the variance of levels beyond chance."""
    n_free = len(sizes) - n_expected
    within = prior * (1.0 - prior)
    by_chance = (n_free + np.sqrt(2.0 * n_free)) * within
    squares = sum(size * gap**2 for size, gap in zip(sizes, gaps, strict=True))
    total = sum(sizes)
    spread = total - sum(size**2 for size in sizes) / total
    return np.maximum(squares - by_chance, 0.0) / spread, within


def additive(codes, y, weights, prior, n_classes):
    """Give the effects of both columns' levels that add up, fitted in turn."""
    first = dict.fromkeys(range(5), 0.0)
    second = dict.fromkeys(range(7), 0.0)
    is_class = np.eye(n_classes)[y]
    for _ in range(4):
        for own, other, j in ((first, second, 0), (second, first, 1)):
            for level in own:
                rows = np.flatnonzero(codes[:, j] == level)
                rest = [is_class[i] - prior - other[codes[i, 1 - j]] for i in rows]
                total = sum((w * r for w, r in zip(weights[rows], rest, strict=True)), 0.0)
                own[level] = total / (weights[rows].sum() + 10.0)
    return lambda a, b: prior + first[a] + second[b]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_pairs_tell_is_what_a_loop_finds(n_classes: int) -> None:
    rows = make_rows(400, n_classes)
    sizes = (5, 7)
    codes = np.where(np.isnan(rows.X[:, :2]), [4, 6], rows.X[:, :2]).astype(int)
    facts = PairFacts.of(sizes, PAIR.codes(rows.X), rows, sums_of(n_classes))
    found = facts.shares()[PAIR.codes(rows.X)]
    y = rows.target
    weights = rows.weights
    prior = shares_of(y, weights, n_classes)
    everyone = additive(codes, y, weights, prior, n_classes)
    counts = {}
    gaps = {}
    for cell in sorted(set(map(tuple, codes.tolist()))):
        is_in = (codes == cell).all(axis=1)
        counts[cell] = weights[is_in].sum()
        gaps[cell] = shares_of(y[is_in], weights[is_in], n_classes) - everyone(*cell)
    n_expected = sum(len(set(codes[:, j].tolist())) for j in (0, 1)) - 1
    spread, within = between(counts.values(), gaps.values(), n_expected, prior)
    for cell, n in counts.items():
        effect = gaps[cell] * spread * n / (spread * n + within)
        is_in = (codes == cell).all(axis=1)
        expected = np.tile(effect[1:], (is_in.sum(), 1))
        np.testing.assert_allclose(found[is_in], expected, atol=1e-12)


def test_shares_of_levels_out_of_fold_are_what_a_loop_finds() -> None:
    rows = make_rows(300, 2)
    codes = np.where(np.isnan(rows.X[:, 0]), 4, rows.X[:, 0]).astype(int)
    # Labels that differ by level.
    y = np.where(codes % 2 == 0, rows.target, 1)
    rows = DataSet.of(rows.X, y, rows.weights)
    codes = np.where(np.isnan(rows.X[:, 0]), 4, rows.X[:, 0]).astype(int)
    found = LevelFacts.of((5,), codes, rows, sums_of(2)).out_of_fold(codes, rows.row_hashes)
    prior = shares_of(rows.target, rows.weights, 2)
    counts = [rows.weights[codes == level].sum() for level in range(5)]
    gaps = [
        shares_of(rows.target[codes == level], rows.weights[codes == level], 2) - prior
        for level in range(5)
    ]
    spread, within = between(counts, gaps, 1, prior)
    parts = parts_of(rows)
    for i in range(0, len(codes), 5):
        is_in = (parts != parts[i]) & (codes == codes[i])
        n = rows.weights[is_in].sum()
        gap = shares_of(rows.target[is_in], rows.weights[is_in], 2) - prior
        expected = prior + gap * spread * n / (spread * n + within)
        np.testing.assert_allclose(found[i], expected[1:], atol=1e-12)


def test_random_levels_gain_too_little_to_enter() -> None:
    rng = np.random.default_rng(0)
    n, n_levels = 1500, 500
    gains = {"chance": [], "effects": []}
    for _ in range(30):
        levels = rng.integers(n_levels, size=n)
        p = np.where(levels % 2, 0.02, 0.4)
        X = np.column_stack([levels, rng.normal(size=n)])
        for name, y in {"chance": np.arange(n) % 7 == 0, "effects": rng.random(n) < p}.items():
            rows = DataSet.of(X, y.astype(int), np.ones(n))
            codes = rows.X[:, 0].astype(int)
            gains[name].append(LevelFacts.of((n_levels + 1,), codes, rows, sums_of(2)).gain())
    assert 0.0 < max(gains["chance"]) < LEAST_GAIN < min(gains["effects"])


def test_effects_that_add_up_gain_nothing_in_a_pair() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=3000)
    second = rng.integers(5, size=3000)
    X = np.column_stack([first, second, rng.normal(size=3000)])
    gains = {}
    for name, p in {
        "sum": 0.1 + 0.15 * first + 0.08 * second,
        "product": 0.1 + 0.8 * ((first + second) % 2),
    }.items():
        rows = DataSet.of(X, (rng.random(3000) < p).astype(int), np.ones(3000))
        facts = PairFacts.of(PAIR.sizes, PAIR.codes(rows.X), rows, sums_of(2))
        gains[name] = facts.gain()
    assert gains["sum"] < 2.0
    assert gains["product"] > 500.0


def test_combinations_that_no_row_has_tell_nothing() -> None:
    rows = make_rows()
    facts = PairFacts.of(PAIR.sizes, PAIR.codes(rows.X), rows, sums_of(3))
    shares = facts.shares().reshape(5, 7, 2)
    # No row has the sixth level of the second column, nor a gap there.
    assert (shares[:, 5:] == 0.0).all()
    assert (shares[:4, :5] != 0.0).all()


def test_levels_tell_means_of_numbers_drawn_to_that_of_all() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=400)
    weights = rng.integers(1, 4, 400).astype(float)
    y = np.array([-2.0, 0.0, 1.0, 5.0])[codes] + rng.normal(size=400)
    rows = DataSet.of(np.column_stack([codes, rng.normal(size=400)]), y, weights)
    task = Regression(Square()).learned(y, weights)
    facts = LevelFacts.of((5,), codes, rows, task.level_sums)
    z = task.standard(y)
    sizes = np.array([weights[codes == level].sum() for level in range(4)])
    means = np.array([np.average(z[codes == i], weights=weights[codes == i]) for i in range(4)])
    # Of standard numbers the variance is 1.
    by_chance = 3.0 + np.sqrt(6.0)
    spread = sizes.sum() - (sizes**2).sum() / sizes.sum()
    between = (sizes @ means**2 - by_chance) / spread
    expected = means * between * sizes / (between * sizes + 1.0)
    np.testing.assert_allclose(facts.shares()[:4, 0], expected, rtol=1e-9)
    # All rows of a level and a part are told the same, by the other parts.
    told = facts.out_of_fold(codes, rows.row_hashes)[:, 0]
    places = list(zip(codes.tolist(), parts_of(rows).tolist(), strict=True))
    assert len(set(zip(places, told.tolist(), strict=True))) == len(set(places))
