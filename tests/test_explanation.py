"""Explanations of rows: the columns, the background, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_classification, make_friedman1

import fcgboost
from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.explanation import most_rows
from tests.suites.averages import average_of, mixed_average, mixed_fits
from tests.suites.shapley import check


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
    inputs = classifier.members_[0].inputs
    assert len(np.unique(inputs.sources)) < inputs.n_inputs
    check(classifier, frame)
    found = classifier.explain(frame[:10])
    assert found.feature_names == list(frame.columns)
    assert found.values.shape == (10, 5)
    assert not found.values[:, 4].any()
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.decision_function(frame[:10]), atol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_contributions_to_numbers_add_up_before_the_inverse_link(loss):
    X, y = make_friedman1(200, 7, random_state=0)
    model = FCGBoostRegressor("auto", loss=loss, max_iter=4, cv=2, random_state=0).fit(X, y)
    found = model.explain(X[:9])
    assert found.values.shape == (9, 7)
    total = model._loss_.inverse_link(found.base_values + found.values.sum(axis=1))
    np.testing.assert_allclose(total, model.predict(X[:9]), rtol=1e-12)
    assert set(np.argsort(model.feature_importances_)[2:]) == set(range(5))


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


def test_columns_of_a_table_stay_whole(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 200), "b": rng.normal(size=200)})
    y = ((frame["a"] == "x") ^ (frame["b"] > 0)).astype(int)
    classifier = FCGBoostClassifier(max_iter=20, random_state=0).fit(frame, y)
    found = classifier.explain(frame[:4])
    assert found.feature_names == ["a", "b"]
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.decision_function(frame[:4]), atol=1e-12)
    fcgboost.save_model(classifier, tmp_path / "model.json")
    again = fcgboost.load_model(tmp_path / "model.json").explain(frame[:4])
    np.testing.assert_array_equal(found.values, again.values)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_average_has_the_values_of_the_definition(n_classes):
    X, y = make_classification(
        150, 5, n_informative=4, n_redundant=1, n_classes=n_classes, random_state=3
    )
    check(mixed_average(X, y), X)


def test_the_values_of_members_add_up_by_their_weights():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({"size": rng.normal(size=n), "city": rng.choice(list("abcd"), n)})
    frame.loc[::5, "size"] = np.nan
    frame["shop"] = rng.choice([f"shop {i}" for i in range(30)], n)
    y = (frame["size"].fillna(1) + (frame["city"] == "a") > 0.5).astype(int)
    weights = [0.1, 0.4, 0.3, 0.2]
    fits = mixed_fits(frame, y)
    whole = average_of(fits, weights)
    check(whole, frame)
    found = whole.explain(frame[:3], background=frame[20:40])
    parts = [fit.explain(frame[:3], background=frame[20:40]) for fit in fits]
    for name in ("values", "base_values"):
        expected = np.tensordot(weights, [getattr(part, name) for part in parts], 1)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-12)


def test_a_background_of_one_row_is_that_row():
    X, y = make_classification(150, 5, random_state=0)
    classifier = FCGBoostClassifier(random_state=0).fit(X, y)
    found = classifier.explain(X[:2], background=X[3:4])
    np.testing.assert_allclose(found.base_values, classifier.decision_function(X[3:4])[0])
    assert not classifier.explain(X[3:4], background=X[3:4]).values.any()


def test_bad_calls_are_refused():
    X, y = make_classification(80, 4, random_state=0)
    with pytest.raises(ValueError, match="not fitted yet"):
        FCGBoostClassifier().explain(X)
    classifier = FCGBoostClassifier("tree", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        classifier.explain(X[:, :3])
    with pytest.raises(ValueError, match="3 features"):
        classifier.explain(X, background=X[:, :3])


def test_a_background_of_many_inputs_has_fewer_rows_and_ten_at_least():
    assert [most_rows(2**n) for n in (0, 17, 18, 20, 24, 30)] == [100, 100, 64, 16, 10, 10]
