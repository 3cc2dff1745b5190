"""Trees grow as on paper, and depend on nothing but the rows, their residuals and weights."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import Sample, bins
from fcgboost.dictionaries.bins import bin_rows
from fcgboost.dictionaries.nodes import nodes_of
from fcgboost.dictionaries.trees import TreeDictionary
from tests.suites.naive_trees import Naive, naive_value


class Data(NamedTuple):
    """Rows with residuals, which hold the weights already."""

    rows: np.ndarray
    residual: np.ndarray
    weights: np.ndarray
    is_category: np.ndarray

    def permuted(self, seed: int) -> "Data":
        order = np.random.default_rng(seed).permutation(len(self.rows))
        parts = self.rows[order], self.residual[order], self.weights[order]
        return Data(*parts, self.is_category)

    def repeated(self) -> "Data":
        """Give every row as often as its weight says."""
        counts = self.weights.astype(int)
        unit = self.residual / np.maximum(self.weights, 1.0)
        rows, residual = np.repeat(self.rows, counts, axis=0), np.repeat(unit, counts)
        return Data(rows, residual, np.ones(len(rows)), self.is_category)


def make_data(seed: int, n: int = 60, n_codes: int = 5) -> Data:
    """Give two columns of numbers, one of categories and one that is mostly missing."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            rng.standard_normal(n),
            rng.integers(-3, 4, n) / 2.0,
            rng.integers(0, n_codes, n).astype(float),
            rng.standard_normal(n),
        ]
    )
    rows[rng.random(n) < 0.2, 1] = np.nan
    rows[rng.random(n) < 0.1, 2] = rng.choice([np.nan, -1.0, 2.5, 255.0, 1e300])
    rows[rng.random(n) < 0.7, 3] = np.nan
    weights = rng.integers(0, 4, n).astype(float)
    signal = np.sin(2.0 * rows[:, 0]) + (rows[:, 2] == 2) + np.isnan(rows[:, 1])
    residual = np.round(signal + rng.standard_normal(n), 2) * weights
    residual[rng.random(n) < 0.2] = 0.0
    return Data(rows, residual, weights, np.array([False, False, True, False]))


def grow(data: Data, **parameters) -> np.ndarray:
    """Grow one tree."""
    dictionary = TreeDictionary(categorical_features=data.is_category, **parameters)
    dictionary.check_parameters()
    grower = dictionary.grower(make_sample(data.rows))
    atoms = grower.grow(data.residual, data.weights, 0)
    assert atoms.shape[0] == 1
    return atoms[0]


def make_sample(rows: np.ndarray) -> Sample:
    zeros, ones = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    return Sample(rows, zeros, ones, zeros, ones, 1.0, 1.0)


def naive_tree(data: Data, depth: int, **parameters) -> np.ndarray:
    names = TreeDictionary(**parameters).get_params()
    return Naive(data.rows, data.residual, data.weights, names, data.is_category).grow(depth)


SETTINGS = {
    "default": {},
    "unsmoothed": {"smoothing": 0.0, "min_leaf": 1},
    "large leaves": {"min_leaf": 12.5, "peak": 3.0},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_trees_are_those_of_the_naive_grower(settings) -> None:
    sizes = []
    for seed, depth in itertools.product(range(4), (1, 3)):
        data = make_data(seed)
        tree = grow(data, depth=depth, **settings)
        expected = naive_tree(data, depth, **settings)
        np.testing.assert_array_equal(tree, expected)
        sizes.append(len(tree) // 4)
    assert max(sizes) > 3


@pytest.mark.parametrize("n_thresholds", [1, 5])
def test_few_thresholds_are_those_of_the_naive_grower(n_thresholds, monkeypatch) -> None:
    monkeypatch.setattr(bins, "N_THRESHOLDS", n_thresholds)
    test_trees_are_those_of_the_naive_grower({"min_leaf": 2})


@pytest.mark.parametrize("n_codes", [52, 53, 60, 150, 255])
def test_many_categories_are_split_as_by_the_naive_grower(n_codes: int) -> None:
    settings = {"depth": 3, "min_leaf": 1, "smoothing": 1.0}
    data = make_data(n_codes, n=400, n_codes=n_codes)
    data.rows[0, 2] = n_codes - 1
    signal = np.cos(np.nan_to_num(data.rows[:, 2]) % 11.0)
    data = data._replace(residual=data.residual + 2.0 * signal * data.weights)
    tree = grow(data, **settings)
    np.testing.assert_array_equal(tree, naive_tree(data, **settings))
    nodes = tree.reshape(-1, 4)
    assert (nodes[:, 3] % 4 >= 2).any()
    assert (nodes[:, 3] >= 4).any() == (nodes[:, 0] <= -2.0).any() == (n_codes > 52)


@st.composite
def small_data(draw) -> Data:
    """Few rows on a coarse grid, so that ties, constant columns and equal rows are common."""
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 3))
    entries = st.sampled_from([0.0, 1.0, 2.0, -0.0, 0.5, -1.0, 51.0, 52.0, 254.0, 255.0, np.nan])
    rows = np.array(draw(st.lists(entries, min_size=n * d, max_size=n * d))).reshape(n, d)
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    pulls = st.sampled_from([-1.0, -0.3, 0.0, 0.3, 1.0])
    residual = np.array(draw(st.lists(pulls, min_size=n, max_size=n))) * weights
    is_category = np.array(draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    return Data(rows, residual, weights, is_category)


@given(small_data(), st.sampled_from([0.0, 1.0]), st.sampled_from([2, 250]))
def test_small_trees_are_those_of_the_naive_grower(data, smoothing, n) -> None:
    settings = {"smoothing": smoothing, "min_leaf": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "N_THRESHOLDS", n)
        tree, expected = grow(data, depth=3, **settings), naive_tree(data, 3, **settings)
    np.testing.assert_array_equal(tree, expected)


@given(small_data(), st.integers(0, 1000))
def test_neither_order_nor_repetition_changes_a_tree(data, seed) -> None:
    settings = {"smoothing": 0.5, "min_leaf": 1}
    weights = np.maximum(data.weights, 1.0)
    data = data._replace(weights=weights, residual=weights * np.round(data.residual * 8.0) / 8.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "N_THRESHOLDS", 3)
        tree = grow(data, **settings, depth=3)
        for other in (data.permuted(seed), data.repeated(), data.repeated().permuted(seed)):
            np.testing.assert_array_equal(grow(other, **settings, depth=3), tree)


@pytest.mark.parametrize("n_codes", [52, 255])
def test_large_trees_of_whole_weights_do_not_depend_on_the_order(n_codes: int) -> None:
    data = make_data(7, n=3000, n_codes=n_codes)
    rng = np.random.default_rng(1)
    data = data._replace(weights=rng.integers(1, 1000, 3000).astype(float))
    data = data._replace(residual=data.residual * data.weights)
    tree = grow(data, depth=8, min_leaf=0.1)
    assert len(tree) > 4 * 30
    np.testing.assert_array_equal(grow(data.permuted(3), depth=8, min_leaf=0.1), tree)


@pytest.mark.parametrize("n_numbers", [1, 6000, 20_000])
def test_with_little_memory_all_histograms_are_added_up(n_numbers, monkeypatch) -> None:
    data = make_data(8, n=400)
    expected = grow(data, depth=6)
    monkeypatch.setattr("fcgboost.dictionaries.trees._MOST_NUMBERS", n_numbers)
    np.testing.assert_array_equal(grow(data, depth=6), expected)


def test_bins_say_on_which_side_of_every_threshold_a_value_lies(monkeypatch) -> None:
    data = make_data(3, n=500)
    monkeypatch.setattr("fcgboost.dictionaries.bins.N_THRESHOLDS", 20)
    bins, every = bin_rows(data.rows, data.is_category)
    for j in (0, 1, 3):
        column, codes = data.rows[:, j], every[:, bins.column[j]]
        is_missing = np.isnan(column)
        assert (codes[is_missing] == bins.n_numbers[j]).all()
        edges = bins.edges[j, : bins.n_numbers[j] - 1]
        for place, edge in enumerate(edges):
            np.testing.assert_array_equal(
                (column <= edge)[~is_missing], codes[~is_missing] <= place
            )
    assert bins.n_distinct == 500


def test_without_anything_to_split_a_tree_is_one_leaf() -> None:
    no_category = np.zeros(2, bool)
    x = np.arange(20.0)
    rows = np.column_stack([x, np.ones(20)])
    ones = np.ones(20)
    cases = {
        "equal residuals": (Data(rows, ones, ones, no_category), 0.1),
        "no residuals": (Data(rows, 0.0 * ones, ones, no_category), 0.0),
        "constant features": (Data(0.0 * rows, x + 1.0, ones, no_category), 0.1),
        "missing features": (Data(np.nan * rows, -x, ones, no_category), -0.1),
        "one row": (Data(rows[:1], -ones[:1], ones[:1], no_category), -0.1),
        "no weights": (Data(rows, x, 0.0 * ones, no_category), 0.0),
    }
    for data, value in cases.values():
        for smoothing in (0.0, 10.0):
            tree = grow(data, smoothing=smoothing, min_leaf=1, depth=3)
            np.testing.assert_array_equal(tree, [-1.0, value, 0.0, 0.0])


def test_missing_values_go_to_the_better_side_or_to_the_larger() -> None:
    x = np.repeat([0.0, 1.0, np.nan], [10, 20, 10])
    flat = np.zeros(1, bool)
    for pulls, kind in (((1.0, -1.0, 1.0), 1), ((1.0, -1.0, -1.0), 0)):
        data = Data(x[:, None], np.repeat(pulls, [10, 20, 10]), np.ones(40), flat)
        np.testing.assert_array_equal(grow(data, depth=1)[:4], [0, 0.5, 1, kind])
    for counts, kind in (((10, 20), 0), ((20, 10), 1), ((10, 10), 1)):
        x = np.repeat([0.0, 1.0], counts)
        data = Data(x[:, None], 0.5 - x, np.ones(len(x)), flat)
        np.testing.assert_array_equal(grow(data, depth=1)[:4], [0, 0.5, 1, kind])
    # Only whether there is a value matters: all that there are go left.
    x = np.repeat([0.0, 1.0, np.nan], 10)
    data = Data(x[:, None], np.where(np.isnan(x), 1.0, -1.0), np.ones(30), flat)
    tree = grow(data, depth=1)
    assert [naive_value([v], tree) > 0 for v in (0.0, 1e300, np.nan)] == [False, False, True]


@pytest.mark.parametrize(("last", "kind"), [(51.0, 3), (52.0, 15), (254.0, 15)])
def test_categories_are_split_by_their_means_and_unseen_ones_go_with_the_missing(
    last: float, kind: int
) -> None:
    codes = np.repeat([0.0, 3.0, 7.0, last], [10, 10, 10, 11])
    residual = np.where((codes == 3) | (codes == last), -1.0, 1.0)
    data = Data(codes[:, None], residual, np.ones(41), np.ones(1, bool))
    tree = grow(data, depth=1)
    goes_left = [naive_value([v], tree) < 0 for v in (0, 3, 7, last)]
    assert goes_left == [False, True, False, True]
    # The side of 3 and the last has more rows: codes that never occurred, and no codes, go there.
    for other in (1.0, 50.0, 53.0, 253.0, 255.0, -1.0, 3.5, np.nan, np.inf, -np.inf):
        assert naive_value([other], tree) < 0
    assert tree[3] == kind


def test_the_lowest_feature_and_threshold_win_ties() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    rows = np.column_stack([np.zeros(4), x, x, -x])
    data = Data(rows, np.array([1.0, -1.0, -1.0, 1.0]), np.ones(4), np.zeros(4, bool))
    tree = grow(data, depth=1, min_leaf=1, smoothing=0.0)
    np.testing.assert_array_equal(tree[:2], [1, 0.5])


def test_nothing_but_the_scale_of_residuals_is_lost_when_they_are_multiplied() -> None:
    data = make_data(5, n=300)
    tree = grow(data)
    np.testing.assert_array_equal(grow(data._replace(residual=data.residual * 2.0**-70)), tree)
    mirrored = grow(data._replace(residual=-data.residual)).reshape(-1, 4)
    flat = tree.reshape(-1, 4)
    numbers = mirrored[:, 3] < 2  # the order of categories is turned round, too
    if numbers.all():
        np.testing.assert_array_equal(mirrored[:, 0], flat[:, 0])


def test_the_automatic_depth_grows_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    for n, depth in ((64, 3), (1024, 5), (4096, 6)):
        rows = rng.standard_normal((n, 2))
        data = Data(rows, rng.standard_normal(n), np.ones(n), np.zeros(2, bool))
        expected = grow(data, depth=depth, min_leaf=1)
        np.testing.assert_array_equal(grow(data, min_leaf=1), expected)
        # The weights of rows without a residual may be left out.
        data.residual[: n // 2] = 0.0
        expected = grow(data, depth=depth, min_leaf=1)
        active = data._replace(weights=(data.residual != 0.0) * 1.0)
        np.testing.assert_array_equal(grow(active, min_leaf=1), expected)
    heavy = data._replace(weights=np.full(n, 16.0), residual=data.residual * 16.0)
    np.testing.assert_array_equal(grow(heavy, min_leaf=1), grow(heavy, min_leaf=1, depth=8))


def test_leaves_hold_enough_rows_and_reach_the_peak() -> None:
    data = make_data(9, n=800)
    tree = grow(data, min_leaf=9, peak=0.7)
    values = np.array([naive_value(x, tree) for x in data.rows])
    assert np.abs(values).max() == 0.7
    is_active = data.residual != 0.0
    for value in np.unique(values):
        assert data.weights[is_active & (values == value)].sum() >= 9
    assert data.residual @ values > 0.0


def test_a_grower_bins_its_rows_once(monkeypatch) -> None:
    calls = []

    def spy(*arguments):
        calls.append(arguments)
        return bin_rows(*arguments)

    monkeypatch.setattr("fcgboost.dictionaries.trees.bin_rows", spy)
    data = make_data(0)
    grower = TreeDictionary().grower(make_sample(data.rows))
    grower.grow(data.residual, data.weights, 0)
    grower.grow(-data.residual, data.weights, 1)
    assert len(calls) == 1


def test_one_grower_grows_tree_after_tree() -> None:
    data = make_data(0, 900)
    grower = TreeDictionary(depth=6).grower(make_sample(data.rows))
    first = grower.grow(data.residual, data.weights, 0)
    kept = first.copy()
    grower.grow(-data.residual, data.weights, 0)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(grower.grow(data.residual, data.weights, 0), kept)


def test_nothing_is_written_on() -> None:
    data = make_data(0)
    before = [array.copy() for array in data]
    for array in data:
        array.flags.writeable = False
    grow(data)
    for array, own in zip(data, before, strict=True):
        np.testing.assert_array_equal(array, own)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"depth": 0}, "depth must be a whole number"),
        ({"depth": "deep"}, "depth must be a whole number"),
        ({"depth": 31}, "depth must be at most 30"),
        ({"min_leaf": 0}, "min_leaf must be a positive number"),
        ({"smoothing": -1.0}, "smoothing must be a number of at least 0"),
        ({"smoothing": None}, "smoothing must be a number of at least 0"),
        ({"peak": 0.0}, "peak must be a positive number"),
        ({"categorical_features": ["a"]}, "categorical_features must be None, a list"),
        ({"categorical_features": [[0]]}, "categorical_features must be None, a list"),
    ],
)
def test_impossible_parameters_are_named(parameters, words) -> None:
    with pytest.raises(ValueError, match=f"TreeDictionary: {words}"):
        TreeDictionary(**parameters).check_parameters()


def test_categorical_features_are_a_mask_or_indices() -> None:
    data = make_data(4, n=300)
    expected = grow(data)
    for listed in ([2], [-2], np.array([2]), (False, False, True, False)):
        dictionary = TreeDictionary(categorical_features=listed)
        dictionary.check_parameters()
        grower = dictionary.grower(make_sample(data.rows))
        tree = grower.grow(data.residual, data.weights, 0)[0]
        np.testing.assert_array_equal(tree, expected)
    for listed in ([4], [-5], [True], [True] * 5):
        with pytest.raises(ValueError, match="categorical_features must be for 4 features"):
            TreeDictionary(categorical_features=listed).grower(make_sample(data.rows))


@pytest.mark.parametrize("code", [255.0, 1e6])
def test_an_estimator_refuses_codes_that_trees_cannot_tell_apart(code: float) -> None:
    X = np.column_stack([np.arange(40) % 7, np.arange(40) / 40.0]).astype(float)
    X[3, 0] = code
    model = FCGBoostClassifier(TreeDictionary(2, categorical_features=[0]), max_iter=2)
    with pytest.raises(ValueError, match="Column 0 is categorical and has the code "):
        model.fit(X, X[:, 1] > 0.5)
    # In predictions it counts as missing.
    X[3, 0] = np.nan
    model.fit(X, X[:, 1] > 0.5)
    model.predict(np.full((1, 2), code))


def test_rounding_splits_no_rows_of_one_residual():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = rng.random((int(rng.integers(1000, 4000)), 3))
        data = Data(rows, np.full(len(rows), rng.random()), np.ones(len(rows)), np.zeros(3, bool))
        tree = grow(data, depth=3, smoothing=0.0, min_leaf=1)
        assert nodes_of(tree[None])[0, 0, 0] == -1.0


# Pairs


def pair_data(seed: int, n: int = 1_500, n_columns: int = 40) -> Data:
    """Give normal rows whose residual depends on the signs of columns 3 and 7 together."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, n_columns))
    rows[rng.random(n) < 0.1, 5] = np.nan
    residual = np.sign(rows[:, 3] * rows[:, 7]) * np.where(rng.random(n) < 0.3, -1.0, 1.0)
    return Data(rows, residual, np.ones(n), np.zeros(n_columns, bool))


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_that_says_nothing_apart_begins_a_tree(seed: int) -> None:
    data = pair_data(seed, n_columns=32)
    nodes = grow(data, depth=2).reshape(-1, 4)
    assert {int(feature) for feature in nodes[:3, 0]} == {3, 7}
    # The first split is at a quartile, here the median, of its column.
    assert np.abs(nodes[:3, 1]).max() < 0.2
    values = TreeDictionary().evaluate(data.rows, nodes.reshape(1, -1), np.ones(32))[:, 0]
    assert np.mean(np.sign(values) == np.sign(data.rows[:, 3] * data.rows[:, 7])) > 0.9


def test_some_of_many_columns_are_looked_at_by_turns() -> None:
    data = pair_data(0)
    firsts = set()
    for size in range(1, 30):
        scaled = data._replace(residual=data.residual + 1e-6 * size)
        firsts.add(int(grow(scaled, depth=2)[0]))
    assert firsts & {3, 7}
    assert firsts - {3, 7}


def test_a_tree_begins_with_its_best_split_if_that_says_enough() -> None:
    data = pair_data(1, n=400, n_columns=8)
    additive = data._replace(residual=data.residual + 2.0 * (data.rows[:, 3] > 0.0))
    np.testing.assert_array_equal(grow(additive, depth=3), naive_tree(additive, 3))


def test_trees_with_corrected_leaves_do_not_look_at_pairs() -> None:
    data = pair_data(2, n_columns=8)
    expected = naive_tree(data, 1)[:2]
    np.testing.assert_array_equal(grow(data, depth=1, corrects_leaves=True)[:2], expected)
    assert (grow(data, depth=1)[:2] != expected).any()
