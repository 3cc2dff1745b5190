"""The quality of labels after a fit: which rows have one, and what it does not depend on."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneGroupOut, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.calibration import fit_link
from tests.suites.members import noisy


def flipped(n_rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of two clear classes, labels, and which of them are wrong: a fifth of one."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, 3)) + 4.0 * true[:, None]
    is_wrong = (true == 1) & (rng.random(n_rows) < 0.2)
    return X, np.where(is_wrong, 0, true), is_wrong


def quick(**params) -> FCGBoostClassifier:
    """Return a classifier of four members that takes little time."""
    settings = {"dictionary": "gauss", "cv": 4, "l2": 1e-2, "max_iter": 8, "n_jobs": 1}
    return FCGBoostClassifier(random_state=0, **settings | params)


@pytest.fixture(scope="module")
def fitted() -> FCGBoostClassifier:
    X, y, _ = flipped()
    return quick().fit(X, y)


def test_wrong_labels_have_low_quality(fitted) -> None:
    _, y, is_wrong = flipped()
    quality = fitted.label_quality_
    assert quality.shape == y.shape
    assert roc_auc_score(is_wrong, -quality) > 0.98
    assert (quality[is_wrong] < 0.5).mean() > 0.7
    # The other class has no wrong labels.
    assert (quality[y == 1] > 0.5).all()


def test_perfect_labels_are_right() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = FCGBoostClassifier(random_state=0).fit(X, y)
    assert (model.label_quality_ < 0.5).mean() < 0.02
    assert model._judged_.noise.wrong().high < 0.05


@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_of_rows_and_repetitions_do_not_matter(n_classes) -> None:
    X, y = noisy(150, n_classes)
    model = quick().fit(X, y)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    shuffled = quick().fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.label_quality_, model.label_quality_[order], rtol=1e-9)
    counts = rng.integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    weighted = quick().fit(X, y, counts)
    repeated = quick().fit(X[rows], y[rows])
    np.testing.assert_allclose(repeated.label_quality_, weighted.label_quality_[rows], rtol=1e-9)


def test_names_of_classes_do_not_matter(fitted) -> None:
    X, y, _ = flipped()
    names = np.array(["no", "yes"])
    for labels in (
        names[y],
        names[y].astype(object).tolist(),
        pd.Series(names[y]),
        y == 1,
        y * 2.0,
    ):
        model = quick().fit(X, labels)
        np.testing.assert_array_equal(model.label_quality_, fitted.label_quality_)


def test_class_weights_are_undone() -> None:
    X, y, is_wrong = flipped()
    model = quick(class_weight={0: 1.0, 1: 8.0}, link="power").fit(X, y)
    judged = model._judged_
    weighted = model.link_.probabilities(model.oof_decision_function_)
    odds = weighted[:, 1] / weighted[:, 0] / 8.0
    np.testing.assert_allclose(judged.p[:, 1] / judged.p[:, 0], odds, rtol=1e-9)
    assert roc_auc_score(is_wrong, -model.label_quality_) > 0.97
    wrong = judged.noise.wrong()
    assert wrong.low <= is_wrong.mean() <= wrong.high


def test_trusted_rows_are_certain(fitted) -> None:
    X, y, is_wrong = flipped()
    trusted = np.zeros(len(y), dtype=bool)
    trusted[np.flatnonzero(is_wrong)[::2]] = True
    model = quick().fit(X, y, trusted=trusted)
    assert (model.label_quality_[trusted] == 1.0).all()
    np.testing.assert_array_equal(model.oof_decision_function_, fitted.oof_decision_function_)
    before = fitted._judged_.noise.wrong().share
    after = model._judged_.noise.wrong().share
    assert after < before


def test_trusted_is_a_mask_of_rows_that_folds_judge() -> None:
    X, y, _ = flipped(60)
    with pytest.raises(ValueError, match="trusted must be a mask"):
        quick().fit(X, y, trusted=[0, 1])
    with pytest.raises(ValueError, match="trusted must be a mask"):
        quick().fit(X, y, trusted=np.zeros(60))
    for params in ({"cv": None}, {"validation_fraction": 0.2}):
        with pytest.raises(ValueError, match="trusted says which targets are certain"):
            quick(**params).fit(X, y, trusted=y == 1)


def test_trusted_is_routed() -> None:
    X, y, _ = flipped(80)
    trusted = y == 0
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), quick())
        pipeline.fit(X, y, trusted=trusted)
        assert (pipeline[-1].label_quality_[trusted] == 1.0).all()


def test_rows_that_no_fold_judges_have_none() -> None:
    X, y, _ = flipped(90)
    model = quick(cv=TimeSeriesSplit(2)).fit(X, y)
    is_judged = ~np.isnan(model.oof_decision_function_)
    np.testing.assert_array_equal(~np.isnan(model.label_quality_), is_judged)
    groups = np.arange(90) % 3
    by_group = quick(cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    assert np.isfinite(by_group.label_quality_).all()


def test_rows_of_weight_zero_are_judged_if_they_have_a_class() -> None:
    X, y, _ = flipped(120)
    labels = y.astype(object)
    labels[:2] = ["neither", 1]
    weights = np.ones(120)
    weights[:2] = 0.0
    labels = labels.astype(str)
    model = quick().fit(pd.DataFrame(X), labels, weights)
    assert np.isnan(model.label_quality_[0])
    assert np.isfinite(model.label_quality_[1:]).all()


def test_losses_without_probabilities_are_calibrated() -> None:
    X, y, is_wrong = flipped(200)
    model = quick(loss="hinge").fit(X, y)
    assert model.link_ is None
    assert roc_auc_score(is_wrong, -model.label_quality_) > 0.9
    held_out = (model.oof_decision_function_[:, None], y, np.ones(200))
    expected = fit_link([held_out]).probabilities(model.oof_decision_function_)
    np.testing.assert_allclose(model._judged_.p, expected, rtol=1e-3)


def test_only_fits_with_folds_have_them(fitted, tmp_path) -> None:
    X, y, _ = flipped()
    for name in ("label_quality_", "_judged_"):
        assert not hasattr(quick(cv=None).fit(X, y), name)
        assert not hasattr(fitted.truncate(1), name)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.label_quality_, fitted.label_quality_)
    fitted.save_model(tmp_path / "model.json")
    assert not hasattr(load_model(tmp_path / "model.json"), "label_quality_")
    refitted = quick(cv=None)
    refitted.__dict__.update(vars(fitted) | vars(refitted))
    assert not hasattr(refitted.fit(X, y), "label_quality_")
