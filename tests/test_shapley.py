"""Shapley values: brute force over all coalitions, and what theory says of them."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.pipeline import make_pipeline

import fcgboost
from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
    shapley,
)
from fcgboost.explanation import explain, most_rows
from fcgboost.shapley import Game
from fcgboost.tables import TableEncoder


def brute_force(classifier, x, background, n_columns):
    """Return Shapley values by their definition; rows are as atoms see them."""
    inputs = vars(classifier).get("_inputs_")
    sources = np.arange(len(x)) if inputs is None else inputs.sources
    worth = {}
    for size in range(n_columns + 1):
        for members in combinations(range(n_columns), size):
            rows = np.where(np.isin(sources, members), x, background)
            worth[frozenset(members)] = classifier.model_.decision(rows).mean(axis=0)
    phi = np.zeros((n_columns, len(classifier.model_.intercept)))
    for members, value in worth.items():
        n = len(members)
        share = (
            factorial(n) * factorial(n_columns - n - 1) / factorial(n_columns)
            if n < n_columns
            else 0
        )
        for j in set(range(n_columns)) - members:
            phi[j] += share * (worth[members | {j}] - value)
    return phi


def check(classifier, X, rows=(0, 1, 2), n_background=20, tolerance=1e-12):
    n_columns = classifier.n_features_in_
    inputs = vars(classifier).get("_inputs_")
    sources = np.arange(n_columns) if inputs is None else inputs.sources
    background = np.asarray(classifier._sample_)[:n_background]
    game = Game(classifier.model_, background, sources, n_columns)
    for i in rows:
        z = np.asarray(classifier._encoded(X[i : i + 1]), dtype=np.float64)[0]
        found, error = game.values(z)
        expected = brute_force(classifier, z, background, n_columns)
        np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
        total = game.base + found.sum(axis=0)
        np.testing.assert_allclose(total, classifier.model_.decision(z[None])[0], atol=1e-12)
        assert error == 0.0


class Ripples(Dictionary):
    """A family that the package does not know."""

    def candidates(self, sample, n, key):
        return sample.centers("data", n, key)

    def evaluate(self, X, atoms, scale):
        return np.cos(X @ atoms.T) * (np.abs(X[:, :1]) > 0.5)

    def n_parameters(self, n_features):
        return n_features


FAMILIES = {
    **{name: name for name in ("gauss", "polynomial", "sigmoid", "relu", "linear", "step", "tree")},
    **{name: name for name in ("auto", "compact")},
    "narrow": GaussDictionary(width=0.01),
    "forest": TreeDictionary(6, max_leaf_nodes=20, corrects_leaves=True, min_leaf=2),
    "own": Ripples(),
    "two walks": UnionDictionary([ReluDictionary(), Ripples(), LinearDictionary()]),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_definition(family, n_classes):
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=1, n_classes=n_classes, random_state=3
    )
    classifier = FCGBoostClassifier(FAMILIES[family], max_iter=12, random_state=0).fit(X, y)
    assert classifier.n_atoms_ > 1
    check(classifier, X)


@pytest.mark.parametrize("dictionary", ["auto", "tree"])
def test_a_column_of_a_table_is_one_player(dictionary):
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.normal(40, 10, n)),
            "city": rng.choice(list("abcd"), n),
            "shop": rng.choice([f"shop {i}" for i in range(30)], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "same": "x",
        }
    )
    y = (frame["age"].fillna(30) + 10 * (frame["city"] == "a") > 40).astype(int)
    classifier = FCGBoostClassifier(dictionary, max_iter=30, random_state=0).fit(frame, y)
    assert len(np.unique(classifier._inputs_.sources)) < classifier._inputs_.n_inputs
    check(classifier, frame)
    found = classifier.explain(frame[:10])
    assert found.feature_names == list(frame.columns)
    assert found.values.shape == (10, 5)
    assert not found.values[:, 4].any()
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.decision_function(frame[:10]), atol=1e-12)


def test_missing_values_are_values():
    X, y = make_classification(200, 4, n_informative=3, n_redundant=1, random_state=0)
    X[::3, 0] = X[1::4, 2] = np.nan
    classifier = FCGBoostClassifier("tree", max_iter=20, random_state=0).fit(X, y)
    check(classifier, X, rows=range(6))


@pytest.mark.parametrize("family", ["relu", "sigmoid", "polynomial", "auto"])
def test_random_orders_are_as_good_as_they_say(family, monkeypatch):
    monkeypatch.setattr(shapley, "_MOST_EXACT", 4)
    X, y = make_classification(250, 9, n_informative=7, n_redundant=0, random_state=1)
    classifier = FCGBoostClassifier(family, max_iter=15, random_state=0).fit(X, y)
    background = np.asarray(classifier._sample_)[:4]
    game = Game(classifier.model_, background, np.arange(9), 9)
    for x in X[:2]:
        found, error = game.values(x)
        expected = brute_force(classifier, x, background, 9)
        assert 0.0 < error <= 0.01 * np.abs(found).max()
        assert np.abs(found - expected).max() <= error
        np.testing.assert_allclose(game.base + found.sum(0), classifier.decision_function(x[None]))
        again, _ = game.values(x)
        np.testing.assert_array_equal(found, again)


def test_orders_end_where_a_function_is_wild(monkeypatch):
    monkeypatch.setattr(shapley, "_MOST_ORDERS", 4_000)
    X, y = make_classification(100, 13, n_informative=9, random_state=1)
    classifier = FCGBoostClassifier(Ripples(), max_iter=3, random_state=0).fit(X, y)
    found = classifier.explain(X[:1], background=X[:2])
    assert found.errors[0] > 0.01 * np.abs(found.values).max()
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.decision_function(X[:1]), atol=1e-12)


class Slower(GaussDictionary):
    """Bells with other values."""

    def evaluate(self, X, atoms, scale):
        return np.sqrt(super().evaluate(X, atoms, scale))

    def prepared(self, atoms, scale):
        return lambda X: self.evaluate(X, atoms, scale)


class Bent(LinearDictionary):
    """Lines with another profile."""

    def profile(self, z):
        return z**2


@pytest.mark.parametrize("family", [Slower(), Bent()])
def test_a_class_derived_from_ours_has_its_own_values(family):
    X, y = make_classification(150, 4, n_informative=3, n_redundant=1, random_state=3)
    check(FCGBoostClassifier(family, max_iter=6, random_state=0).fit(X, y), X)


def test_columns_that_do_not_matter_have_the_value_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    X[:, 5:] = 1.0
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    classifier = FCGBoostClassifier(random_state=0).fit(X, y)
    found = classifier.explain(X[:3])
    assert not found.values[:, 5:].any()
    assert not found.errors.any()  # five columns differ: all coalitions were looked at


def test_a_wide_product_is_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 90))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    classifier = FCGBoostClassifier("gauss", max_iter=10, random_state=0).fit(X, y)
    background = X[:3]
    game = Game(classifier.model_, background, np.arange(90), 90)
    found, _ = game.values(X[5])
    # The integral over t by a rule of many more points.
    points, weights = np.polynomial.legendre.leggauss(200)
    centers, widths = classifier.atoms_[:, :-1], classifier.atoms_[:, -1:]
    units = 0.5**0.5 / (widths * classifier.model_.scale)
    expected = np.zeros(90)
    for b in background:
        own, other = (np.exp(-(((row - centers) * units) ** 2)) for row in (X[5], b))
        for t, weight in zip((points + 1) / 2, weights / 2, strict=True):
            terms = other + t * (own - other)
            slopes = terms.prod(axis=1, keepdims=True) / terms * (own - other)
            expected += weight * (classifier.atom_coef_[0] @ slopes) / len(background)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-13)


def test_sparse_rows_are_explained_as_dense_ones():
    X, y = make_classification(150, 6, random_state=0)
    X[np.abs(X) < 0.7] = 0.0
    classifier = FCGBoostClassifier("relu", max_iter=10, random_state=0).fit(sparse.csr_array(X), y)
    found = classifier.explain(sparse.csr_array(X[:4]))
    dense = classifier.explain(X[:4], background=classifier._sample_.toarray()[:100])
    np.testing.assert_allclose(found.values, dense.values, atol=1e-12)


def test_a_model_file_has_the_rows_to_explain_against(tmp_path):
    X, y = load_digits(n_class=3, return_X_y=True)
    classifier = FCGBoostClassifier("tree", max_iter=5).fit(X, y)
    path = tmp_path / "model.json"
    classifier.save_model(path)
    found = classifier.explain(X[:3])
    assert found.values.shape == (3, 64, 3)
    assert found.base_values.shape == (3, 3)
    loaded = fcgboost.load_model(path)
    np.testing.assert_array_equal(loaded.explain(X[:3]).values, found.values)
    np.testing.assert_array_equal(loaded.truncate(2).explain(X[:3]).base_values[0].shape, (3,))
    loaded.save_model(path)  # once more
    assert fcgboost.load_model(path).explain(X[:1]).errors == 0.0
    classifier.save_model(path, background=False)
    bare = fcgboost.load_model(path)
    with pytest.raises(ValueError, match=r"holds no background rows.*background=X_train"):
        bare.explain(X[:3])
    assert bare.explain(X[:3], background=X).values.shape == (3, 64, 3)
    wide = FCGBoostClassifier("tree", max_iter=2).fit(np.tile(X, 2), y)
    wide.save_model(path)
    assert fcgboost.load_model(path)._background() is None


def test_missing_values_of_a_background_survive_a_file(tmp_path):
    X, y = make_classification(100, 4, random_state=0)
    X[::2, 1] = np.nan
    classifier = FCGBoostClassifier("tree", max_iter=5).fit(X, y)
    classifier.save_model(tmp_path / "model.json")
    loaded = fcgboost.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded._background(), classifier._background())
    np.testing.assert_array_equal(loaded.explain(X[:5]).values, classifier.explain(X[:5]).values)


def test_an_encoder_in_front_keeps_columns_whole(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 200), "b": rng.normal(size=200)})
    y = ((frame["a"] == "x") ^ (frame["b"] > 0)).astype(int)
    pipe = make_pipeline(TableEncoder(), FCGBoostClassifier(max_iter=20, random_state=0))
    pipe.fit(frame, y)
    found = explain(pipe[-1], frame[:4], encoder=pipe[0])
    assert found.feature_names == ["a", "b"]
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, pipe.decision_function(frame[:4]), atol=1e-12)
    fcgboost.save_model(pipe, tmp_path / "model.json")
    loaded = fcgboost.load_model(tmp_path / "model.json")
    again = explain(loaded[-1], frame[:4], encoder=loaded[0])
    np.testing.assert_array_equal(found.values, again.values)


def test_a_background_of_one_row_is_that_row():
    X, y = make_classification(150, 5, random_state=0)
    classifier = FCGBoostClassifier(random_state=0).fit(X, y)
    found = classifier.explain(X[:2], background=X[3:4])
    np.testing.assert_allclose(found.base_values, classifier.decision_function(X[3:4])[0])
    assert not classifier.explain(X[3:4], background=X[3:4]).values.any()


def test_a_search_explains_as_what_it_found_does():
    X, y = make_classification(120, 4, random_state=0)
    search = FCGBoostClassifierCV("tree", max_iter=5, cv=2, random_state=0).fit(X, y)
    found = search.explain(X[:2])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, search.decision_function(X[:2]), atol=1e-12)


def test_bad_calls_are_refused():
    X, y = make_classification(80, 4, random_state=0)
    with pytest.raises(ValueError, match="not fitted yet"):
        FCGBoostClassifier().explain(X)
    classifier = FCGBoostClassifier("tree", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        classifier.explain(X[:, :3])
    with pytest.raises(ValueError, match="3 features"):
        classifier.explain(X, background=X[:, :3])


def test_as_many_columns_as_can_be_looked_at_are_exact(monkeypatch):
    monkeypatch.setattr(shapley, "_MOST_EXACT", 4)
    X, y = make_classification(100, 5, n_informative=4, n_redundant=0, random_state=1)
    for n_columns, is_exact in ((4, True), (5, False)):
        rows = X[:, :n_columns]
        classifier = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(rows, y)
        assert (classifier.explain(rows[:1]).errors[0] == 0.0) == is_exact


def thresholds(sign):
    """Give walks of one row: the worth is one as soon as the first three columns are there."""

    def worth(moves):
        is_there = (moves[:, None, :] == np.arange(1, 4)[:, None]).cumsum(axis=2).all(axis=1)
        return sign * np.column_stack([np.zeros(len(moves)), is_there])[:, :, None]

    return worth


def test_the_error_of_random_orders_is_that_of_their_mean(monkeypatch):
    monkeypatch.setattr(shapley, "_MOST_ORDERS", 1)  # so that one batch is enough
    monkeypatch.setattr(shapley, "_ORDERS", 50)
    found, error = shapley._sampled(np.zeros((5, 1)), thresholds(1.0), np.arange(5)[None, :])
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(5), (50, 1, 1)), axis=2)
    pairs = np.zeros((50, 5))
    for i, order in enumerate(orders[:, 0]):
        for one in (order, order[::-1]):
            pairs[i, [j for j in one if j < 3][-1]] += 0.5  # the last one makes the difference
    np.testing.assert_allclose(found[:, 0], pairs.mean(axis=0))
    assert error == pytest.approx(3.0 * 1.08 * pairs.std(axis=0, ddof=1).max() / 50**0.5)


def test_values_below_zero_are_known_as_well_as_those_above(monkeypatch):
    monkeypatch.setattr(shapley, "_TOLERANCE", 0.1)
    above, below = (
        shapley._sampled(np.zeros((5, 1)), thresholds(sign), np.arange(5)[None, :])
        for sign in (1.0, -1.0)
    )
    np.testing.assert_array_equal(above[0], -below[0])
    assert above[1] == below[1]


def test_a_value_that_is_missing_on_both_sides_does_not_differ():
    background = np.array([[np.nan, np.nan, 1.0, 1.0], [np.nan, 2.0, 1.0, 1.0]])
    part = shapley._Part(None, None, None, None, background, np.arange(4), 4)
    differs = part.differs(np.array([np.nan, np.nan, 1.0, np.nan]))
    assert differs.tolist() == [False, True, False, True]


def test_a_background_of_many_inputs_has_fewer_rows_and_ten_at_least():
    assert [most_rows(2**n) for n in (0, 17, 18, 20, 24, 30)] == [100, 100, 64, 16, 10, 10]
