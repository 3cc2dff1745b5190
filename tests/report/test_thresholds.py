"""Curves over thresholds have the counts and areas of scikit-learn."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from fcgboost import FCGBoostClassifier
from fcgboost.report.models import FittedModel, evaluate_model
from fcgboost.report.thresholds import threshold_data
from tests.suites.pages import (
    Reader,
)


def test_thresholds_have_the_counts_and_areas_of_scikit_learn(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    X, y = judged
    data, proba = page.data["thresholds"], model.predict_proba(X)
    assert [one["name"] for one in data["classes"]] == ["no", "yes"]
    assert (data["first"], data["isProbability"]) == (1, True)
    for code, one in enumerate(data["classes"]):
        is_own, p = y == one["name"], proba[:, code]
        assert (one["positives"], one["negatives"]) == (is_own.sum(), (~is_own).sum())
        for i in (0, len(p) // 3, len(one["thresholds"]) - 1):
            said = p >= one["thresholds"][i] - 1e-6
            assert (one["true"][i], one["false"][i]) == (
                (said & is_own).sum(),
                (said > is_own).sum(),
            )
        assert one["auc"] == pytest.approx(roc_auc_score(is_own, p))
        assert one["averagePrecision"] == pytest.approx(average_precision_score(is_own, p))
    # The default threshold is that of `predict`.
    start = one["start"]
    counts = confusion_matrix(y, model.predict(X))
    assert one["thresholds"][start] == 0.5
    assert [one["true"][start], one["false"][start]] == counts[::-1, 1].tolist()


def curves_of(clf: Any, X: Any, y: Any) -> Any:
    """Return the curves of a page without drawing its pictures."""
    fitted = FittedModel.of(clf)
    data: Any = threshold_data(evaluate_model(fitted, X, y))
    return data["classes"]


@pytest.mark.parametrize("n_rows", [300, 9])
def test_of_several_classes_each_has_curves_if_rows_belong_to_it(n_rows: int) -> None:
    X, y = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=0)
    clf = FCGBoostClassifier("gauss", loss="hinge", max_iter=8, random_state=0).fit(X, y)
    X, y = X[:n_rows], np.where(y[:n_rows] == 3, 2, y[:n_rows]) if n_rows < 10 else y
    curves = curves_of(clf, X, y)
    assert [curve["name"] for curve in curves] == [str(value) for value in np.unique(y)]
    for curve in curves:
        own = int(curve["name"])
        score = clf.decision_function(X)[:, own]
        start = curve["start"]
        assert curve["thresholds"][start] == 0.0  # the hinge has no probabilities
        assert curve["auc"] == pytest.approx(roc_auc_score(y == own, score))
        assert curve["true"][start] == np.sum((score >= 0.0) & (y == own))


def test_many_rows_keep_exact_areas_and_few_thresholds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 2)), np.where(rng.random(4000) < 0.1, "rare", "usual")
    clf = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(X[:200], y[:200])
    rare, _ = curves_of(clf, X, y)
    assert len(rare["thresholds"]) <= 301
    assert rare["true"][-1] == rare["positives"]
    assert rare["auc"] == pytest.approx(roc_auc_score(y == "rare", clf.predict_proba(X)[:, 0]))
