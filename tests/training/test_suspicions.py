"""What is suspicious about training rows is said once, whatever holds them."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier


def fitted(X, y, **options):
    return FCGBoostClassifier("relu", cv=None, max_iter=2, random_state=0, **options).fit(X, y)


def kinds(clf):
    return [finding.kind for finding in clf.findings_]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return X, (X[:, 0] + rng.standard_normal(200) > 0.0).astype(int)


def test_rows_without_anything_odd_have_no_findings(rows):
    assert fitted(*rows).findings_ == ()


def test_rows_equal_but_for_the_label_are_counted_with_their_positions(rows):
    X, y = rows
    X[7] = X[3]
    y[[3, 7]] = 0, 1
    (finding,) = fitted(X, y).findings_
    assert (finding.kind, finding.rows) == ("duplicates", (3, 7))
    assert str(finding).endswith("They are rows 4 and 8.")


def test_constant_columns_and_leaks_are_named(rows):
    X, y = rows
    clf = fitted(np.column_stack([X, np.ones(200), y + 0.1 * X[:, 0].clip(-1.0, 1.0)]), y)
    found = {finding.kind: finding.columns for finding in clf.findings_}
    assert found == {"constant": ("x3",), "leak": ("x4",)}


def test_classes_of_few_distinct_rows_and_quantities_are_told_of(rows):
    X, y = rows
    y[:2] = 2
    assert kinds(fitted(X, y)) == ["classes"]
    assert "quantity" in kinds(fitted(X, np.arange(200) % 60))


def test_columns_of_sparse_rows_are_not_judged(rows):
    X, y = rows
    X[:, 2] = y
    assert "leak" in kinds(fitted(X, y))
    assert kinds(fitted(sparse.csr_array(X), y)) == []
