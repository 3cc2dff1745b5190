"""Shapley values: brute force over all coalitions, and what theory says of them."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
    shapley,
)
from fcgboost.explanation import game_of
from tests.suites.shapley import brute_force, check, values_of


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
    members = classifier.members_
    game = game_of(members, background)
    for x in X[:2]:
        found, error = values_of(members, game, x)
        expected = brute_force(members, x, background)
        assert 0.0 < error <= 0.01 * np.abs(found).max()
        assert np.abs(found - expected).max() <= error
        np.testing.assert_allclose(game.base + found.sum(0), classifier.decision_function(x[None]))
        again, _ = values_of(members, game, x)
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
