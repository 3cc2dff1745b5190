"""Compiled Shapley values of products and trees."""

import numpy as np

from fcgboost import (
    FCGBoostClassifier,
)
from fcgboost.shapley import Game, Term


def test_a_wide_product_is_exact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 90))
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    classifier = FCGBoostClassifier("gauss", max_iter=10, random_state=0).fit(X, y)
    background = X[:3]
    game = Game([Term(classifier.model_, 1.0, background, np.arange(90))], 90)
    (found,), _ = game.values([X[5:6]])
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
