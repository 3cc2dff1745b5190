"""Other people's explainers and selectors of features take our classifiers as they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE, RFECV, SelectFromModel

from fcgboost import FCGBoostClassifier


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        300, 6, n_informative=3, n_redundant=0, shuffle=False, class_sep=1.5, random_state=0
    )
    return X, y


@pytest.fixture(scope="module", params=["auto", "compact", "tree"])
def classifier(request, data):
    return FCGBoostClassifier(request.param, random_state=0).fit(*data)


@pytest.mark.extras
def test_an_explainer_of_decision_values_agrees(classifier, data):
    shap = pytest.importorskip("shap")
    X, _ = data
    background, rows = X[:40], X[50:55]
    masker = shap.maskers.Independent(background, max_samples=40)
    theirs = shap.Explainer(classifier.decision_function, masker, algorithm="exact")(rows)
    ours = classifier.explain(rows, background=background)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-9)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, atol=1e-9)
    # What shap chooses by itself draws permutations.
    drawn = shap.Explainer(classifier.decision_function, masker, seed=0)(rows)
    largest = np.abs(ours.values).max()
    np.testing.assert_allclose(ours.values, drawn.values, atol=0.1 * largest)


@pytest.mark.extras
def test_an_explainer_of_probabilities_adds_up(classifier, data):
    shap = pytest.importorskip("shap")
    X, _ = data
    rows = X[50:53]
    found = shap.Explainer(classifier.predict_proba, X[:40], seed=0)(rows)
    assert found.values.shape == (3, 6, 2)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.predict_proba(rows), atol=1e-9)
    np.testing.assert_allclose(found.values[:, :, 0], -found.values[:, :, 1], atol=1e-9)
    # Columns that matter to the decision value matter to the probability, in the same direction.
    ours = classifier.explain(rows, background=X[:40]).values
    at = np.abs(ours).argmax(axis=1)
    assert (np.sign(ours[range(3), at]) == np.sign(found.values[range(3), at, 1])).all()


@pytest.mark.extras
def test_no_explainer_of_other_models_is_taken(classifier, data):
    shap = pytest.importorskip("shap")
    # Nothing that looks like a linear model, or like a tree of another library.
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(classifier, data[0])
    assert not hasattr(classifier, "coef_")


@pytest.mark.extras
def test_pictures_of_shap_take_our_values(classifier, data):
    shap = pytest.importorskip("shap")
    found = classifier.explain(data[0][:20])
    theirs = shap.Explanation(
        found.values, found.base_values, found.data, feature_names=found.feature_names
    )
    for draw, rows in ((shap.plots.waterfall, theirs[0]), (shap.plots.beeswarm, theirs)):
        ax = draw(rows, show=False)
        names = {label.get_text().split(" = ")[-1] for label in ax.get_yticklabels()}
        assert set(found.feature_names) <= names
        ax.figure.clear()


def test_selection_by_importances_agrees_with_them(data):
    X, y = data
    classifier = FCGBoostClassifier("tree", max_iter=20, random_state=0)
    selector = SelectFromModel(classifier, max_features=3, threshold=-np.inf).fit(X, y)
    importances = selector.estimator_.feature_importances_
    np.testing.assert_array_equal(np.sort(np.argsort(-importances)[:3]), selector.get_support(True))
    assert selector.transform(X).shape == (300, 3)
    prefit = SelectFromModel(classifier.fit(X, y), prefit=True, threshold="mean")
    expected = classifier.feature_importances_ >= classifier.feature_importances_.mean()
    prefit.fit(X, y)
    np.testing.assert_array_equal(prefit.get_support(), expected)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_features_that_tell_nothing_are_eliminated(make, data):
    X, y = data
    names = [f"column {j}" for j in range(X.shape[1])]
    rows = make(X, columns=names) if make is pd.DataFrame else make(X)
    classifier = FCGBoostClassifier("relu", max_iter=10, random_state=0)
    selector = RFE(classifier, n_features_to_select=3).fit(rows, y)
    assert set(selector.get_support(True)) == {0, 1, 2}
    # The ranking is that of importances, fitted again after every elimination.
    left = list(range(6))
    while len(left) > 3:
        fitted = FCGBoostClassifier("relu", max_iter=10, random_state=0).fit(X[:, left], y)
        worst = left.pop(int(np.argmin(fitted.feature_importances_)))
        assert selector.ranking_[worst] == len(left) - 1


def test_elimination_with_cross_validation(data):
    X, y = data
    classifier = FCGBoostClassifier("tree", max_iter=10, random_state=0)
    selector = RFECV(classifier, cv=3).fit(X, y)
    assert 1 <= selector.n_features_ <= 6
    assert selector.get_support()[:3].any()
    # Of equal scores RFECV takes the fewest features.
    scores = selector.cv_results_["mean_test_score"]
    assert selector.n_features_ == selector.cv_results_["n_features"][np.argmax(scores)]


def test_an_ensemble_selects_features_too(data):
    X, y = data
    ensemble = FCGBoostClassifier("tree", max_iter=5, cv=2, random_state=0)
    assert SelectFromModel(ensemble).fit(X, y).transform(X).shape[1] < 6
