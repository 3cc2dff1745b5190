"""Importances of inputs: mean slopes of what a model learned, that sum to one."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import (
    FCGBoostClassifier,
)
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.model import Model
from tests.suites.fits import DICTIONARIES, make, noisy, three_classes


@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_importances_sum_to_one_and_find_the_inputs_that_matter(name, convert):
    rng = np.random.default_rng(0)
    # Units must not matter: the informative columns have the smallest and the largest.
    X = rng.standard_normal((400, 6)) * [1.0, 1e-3, 1.0, 1.0, 1e3, 1.0]
    y = np.where(X[:, 1] / 1e-3 - X[:, 4] / 1e3 > 0.0, 1, 0)
    model = FCGBoostClassifier(name, max_iter=30, random_state=0).fit(convert(X), y)
    importances = model.feature_importances_
    assert importances.shape == (6,)
    assert importances.min() >= 0.0
    assert importances.sum() == pytest.approx(1.0)
    assert set(np.argsort(importances)[-2:]) == {1, 4}
    assert importances[[1, 4]].sum() > 0.5


def test_importances_of_several_classes_add_up():
    X, y = three_classes()
    model = make().fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[1] > 0.5


class Steps(Dictionary):
    """Indicators of half-spaces x_j > c, which have no slope."""

    def candidates(self, sample, n, key):
        rows = sample.dense_rows()
        columns = np.arange(len(rows)) % rows.shape[1]
        return np.column_stack([columns, rows[np.arange(len(rows)), columns]])

    def evaluate(self, X, atoms, scale):
        return (X[:, atoms[:, 0].astype(int)] > atoms[:, 1]).astype(float)


def test_importances_without_a_slope_are_mean_changes():
    X, y = noisy()
    X[:, 1] = 0.0
    model = make(dictionary=Steps()).fit(X, y)
    rows = model._sample_
    expected = []
    for j in range(X.shape[1]):
        moved = rows.copy()
        moved[:, j] = np.roll(rows[:, j], 1)
        changes = model.decision_function(moved) - model.decision_function(rows)
        expected.append(np.abs(changes).mean())
    assert expected[0] > 0.0
    np.testing.assert_allclose(model.feature_importances_, np.divide(expected, sum(expected)))


@pytest.mark.parametrize(
    "dictionary",
    [
        TreeDictionary(2),
        StepDictionary(max_features=1),
        UnionDictionary([TreeDictionary(2), StepDictionary(max_features=1)]),
    ],
    ids=["tree", "step", "union"],
)
def test_columns_that_no_atom_uses_cost_nothing(dictionary, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 300))
    y = (X[:, 7] > 0.0).astype(int)
    model = FCGBoostClassifier(dictionary, max_iter=3, cv=None, random_state=0).fit(X, y)
    decisions = []
    decide = Model.decision
    monkeypatch.setattr(Model, "decision", lambda self, X: decisions.append(X) or decide(self, X))
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert 1 + np.count_nonzero(importances) <= len(decisions) <= 11


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("families", [[], [ReluDictionary(), GaussDictionary()]])
def test_importances_of_trees_and_unions_find_the_inputs_that_matter(families, convert):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6)) * [1.0, 1e-3, 1.0, 1.0, 1e3, 1.0]
    y = np.where(X[:, 1] / 1e-3 - X[:, 4] / 1e3 > 0.0, 1, 0)
    dictionary = UnionDictionary([TreeDictionary(), *families])
    model = FCGBoostClassifier(dictionary, max_iter=30, random_state=0).fit(convert(X), y)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert set(np.argsort(importances)[-2:]) == {1, 4}
    assert importances[[1, 4]].sum() > 0.5
