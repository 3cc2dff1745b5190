"""Rows become a data set: equal ones are one, and some can be set aside."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, SquaredHinge
from fcgboost.training.dataset import DataSet, check_data, subsample
from fcgboost.training.tasks import Classification
from tests.suites.weights import counted

TASK = Classification(SquaredHinge())


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_equal_rows_of_a_class_become_one(is_sparse):
    generator = np.random.default_rng(0)
    X, y = generator.integers(0, 4, size=(300, 2)).astype(float), generator.integers(0, 2, size=300)
    X[::7, 0] *= -1.0  # zeros of both signs are one
    weights = generator.uniform(0.1, 2.0, size=300)
    data = DataSet.of(sparse.csr_array(X) if is_sparse else X, y, weights).canonical()
    rows = data.X.toarray() if is_sparse else data.X
    found = {
        (*row, code): w
        for row, code, w in zip(rows.tolist(), data.target, data.weights, strict=True)
    }
    expected: dict = {}
    for row, code, weight in zip(X.tolist(), y, weights, strict=True):
        expected[(*row, code)] = expected.get((*row, code), 0.0) + weight
    assert len(found) == len(rows)
    assert found == pytest.approx(expected, rel=1e-14)
    # In any order the same rows in the same order.
    order = generator.permutation(300)
    again = DataSet.of(X[order], y[order], weights[order]).canonical()
    np.testing.assert_array_equal(again.X, rows)
    np.testing.assert_array_equal(again.weights, data.weights)


def test_rows_that_differ_stay_apart_even_if_their_fingerprints_do_not():
    X, row_hashes = np.array([[1.0], [2.0], [1.0]]), np.zeros(3, np.uint64)
    data = DataSet(X, np.zeros(3, np.intp), np.array([1.0, 2.0, 1.0]), row_hashes).canonical()
    assert data.X.ravel().tolist() == [1.0, 2.0]
    assert data.weights.tolist() == [2.0, 2.0]


def test_original_rows_are_kept_where_a_score_needs_them():
    X, y, counts = counted()
    rows = np.repeat(np.arange(60), counts)
    data = DataSet.of(X[rows], (y[rows] > 0) * 1, np.ones(len(rows))).canonical(
        keeps_originals=True
    )
    part = data.take(data.target == 1)
    np.testing.assert_array_equal(part.originals.X, X[rows][y[rows] > 0])
    np.testing.assert_array_equal(part.X[part.positions], part.originals.X)


def test_a_part_of_the_data_knows_where_its_rows_were():
    X, y, counts = counted()
    X[50:] = X[:10]
    model = FCGBoostClassifier("relu")
    data = check_data(model, TASK, X, y, counts, (None, None, None))
    assert data.n_rows == 60
    np.testing.assert_array_equal(data.kept, np.flatnonzero(counts))
    np.testing.assert_array_equal(data.others, np.flatnonzero(counts == 0))
    np.testing.assert_array_equal(data.uncounted, X[counts == 0])
    mask = np.arange(len(data.train.target)) % 3 > 0
    part = data.part(mask)
    np.testing.assert_array_equal(part.train.X, data.train.X[mask])
    np.testing.assert_array_equal(part.given.X, X[part.kept])
    np.testing.assert_array_equal(part.train.X[part.train.positions], part.given.X)
    assert part.train.weights.sum() == part.given.weights.sum() == counts[part.kept].sum()
    assert part.task is data.task


def test_a_share_keeps_equal_rows_together_and_a_row_of_each_class():
    X, y, counts = counted(n_classes=3)
    data = check_data(FCGBoostClassifier("relu"), TASK, X, y, counts, (None, None, None))
    part = subsample(data, 0.01)
    assert np.unique(part.train.target).tolist() == [0, 1, 2]
    assert len(part.train.target) < len(data.train.target) / 3
    assert subsample(data, 1.0) is data
