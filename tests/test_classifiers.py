"""What only fitted classifiers say: sets of classes, and what is not there without a link."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from fcgboost import FCGBoostClassifier

X, Y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
X_TEST, Y_TEST = make_friedman1(2000, n_features=5, noise=1.0, random_state=1)
CUTS = {2: [14.0], 3: [12.0, 17.0]}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dictionary", ["auto", "fast"])
def test_sets_hold_the_class_as_often_as_they_should(dictionary: str, n_classes: int) -> None:
    names = np.array(["low", "mid", "top"])
    model = FCGBoostClassifier(dictionary, max_iter=15, random_state=0)
    model.fit(X, names[np.digitize(Y, CUTS[n_classes])])
    codes = np.digitize(Y_TEST, CUTS[n_classes])
    sizes = []
    for alpha in (0.3, 0.1, 0.05):
        found = model.predict_set(X_TEST, alpha)
        assert found.shape == (2000, n_classes)
        covered = found[np.arange(2000), codes].mean()
        assert 1.0 - 1.6 * alpha < covered
        sizes.append(found.sum())
    assert sizes == sorted(sizes)
    # A class that is in a set alone is the prediction.
    is_alone = found.sum(axis=1) == 1
    predicted = model.predict(X_TEST[is_alone])
    assert (names[found[is_alone].argmax(axis=1)] == predicted).mean() > 0.97


def test_class_weights_are_not_weights_of_errors() -> None:
    y = (Y > 17.0).astype(int)
    plain = FCGBoostClassifier("fast", max_iter=3, random_state=0).fit(X, y)
    balanced = FCGBoostClassifier("fast", max_iter=3, random_state=0, class_weight="balanced").fit(
        X, y
    )
    assert balanced._errors_.totals[0][-1] == pytest.approx(plain._errors_.totals[0][-1])


def test_sets_need_held_out_rows() -> None:
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(X, Y > 14.0)
    with pytest.raises(ValueError, match="There are no errors of held-out rows"):
        model.predict_set(X_TEST)


def test_without_a_formula_or_a_link_there_are_no_probabilities() -> None:
    model = FCGBoostClassifier("relu", loss="hinge", max_iter=3, random_state=0)
    assert not hasattr(model.fit(X, Y > 14.0), "predict_proba")
    assert not hasattr(model, "staged_predict_proba")
