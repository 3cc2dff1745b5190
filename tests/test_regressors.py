"""What fitted regressors say: numbers, and intervals around them."""

from functools import lru_cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from fcgboost import FCGBoostRegressor
from fcgboost.members import of_fold

X, Y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
X_TEST, Y_TEST = make_friedman1(2000, n_features=5, noise=1.0, random_state=1)


@lru_cache
def fitted(dictionary: str = "auto", **changes) -> FCGBoostRegressor:
    """Give a model that tests share: read it, do not fit it again."""
    options = {"max_iter": 30, "random_state": 0, **changes}
    return FCGBoostRegressor(dictionary, **options).fit(X, Y)


def coverage(interval: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])))


@pytest.mark.parametrize("dictionary", ["auto", "fast", "compact"])
def test_intervals_hold_about_the_share_they_should(dictionary: str) -> None:
    model = fitted(dictionary)
    widths = []
    for alpha in (0.5, 0.2, 0.1):
        interval = model.predict_interval(X_TEST, alpha)
        assert 1.0 - 1.6 * alpha < coverage(interval, Y_TEST) < 1.0 - 0.2 * alpha
        widths.append(np.mean(interval[:, 1] - interval[:, 0]))
    assert widths == sorted(widths)


def test_intervals_are_made_of_each_folds_members_and_errors() -> None:
    model = fitted(cv=3)
    low, high = model.predict_interval(X_TEST[:5], 0.2).T
    n_folds = len(model._errors_.errors)
    assert n_folds == 3
    reached = []
    for fold in range(n_folds):
        members = of_fold(model.members_, fold, n_folds)
        centre = sum(member.weight * member.decision(X_TEST[:5])[:, 0] for member in members)
        errors = model._errors_.errors[fold]
        reached += [(centre + error, centre - error) for error in errors]
    up, down = np.sort(np.moveaxis(reached, 1, 0), axis=1)[:2]
    rank = int(np.ceil(0.8 * 301)) - 1
    np.testing.assert_allclose(high, up[rank])
    np.testing.assert_allclose(low, down[len(reached) - 1 - rank])


def test_one_held_out_part_gives_split_conformal_intervals() -> None:
    model = clone(fitted("relu")).fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    errors = np.sort(np.abs(Y[200:] - model.predict(X[200:])))
    centre = model.predict(X_TEST[:4])
    radius = errors[int(np.ceil(0.9 * 101)) - 1]
    expected = np.column_stack([centre - radius, centre + radius])
    np.testing.assert_allclose(model.predict_interval(X_TEST[:4]), expected)


def test_weights_of_errors_are_repetitions() -> None:
    counts = np.arange(300) % 3
    rows = np.repeat(np.arange(300), counts)
    options = {"max_iter": 3, "cv": 2, "random_state": 0}
    first = FCGBoostRegressor(**options).fit(X, Y, counts)
    second = FCGBoostRegressor(**options).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        first.predict_interval(X_TEST[:9]), second.predict_interval(X_TEST[:9]), rtol=1e-12
    )


def test_a_few_rows_bound_nothing() -> None:
    model = FCGBoostRegressor(max_iter=2, random_state=0).fit(X[:6], Y[:6])
    assert np.isinf(model.predict_interval(X_TEST[:3], 0.1)).all()
    assert np.isfinite(model.predict_interval(X_TEST[:3], 0.5)).all()


def test_without_held_out_rows_there_are_no_intervals() -> None:
    with pytest.raises(ValueError, match="fit with cv, for example cv=5, or with X_val and y_val"):
        fitted("relu").predict_interval(X_TEST)
    with pytest.raises(ValueError, match="There are no errors of held-out rows"):
        fitted("fast").truncate(2).predict_interval(X_TEST)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, "a", None, np.nan])
def test_a_share_lies_between_zero_and_one(alpha) -> None:
    with pytest.raises(ValueError, match="alpha must be"):
        fitted().predict_interval(X_TEST, alpha)


def test_members_are_averaged_before_the_inverse_link() -> None:
    counts = np.random.default_rng(0).poisson(np.exp(Y / 12.0))
    model = FCGBoostRegressor(loss="poisson", cv=3, max_iter=10, random_state=0).fit(X, counts)
    f = sum(member.weight * member.decision(X_TEST)[:, 0] for member in model.members_)
    np.testing.assert_allclose(model.predict(X_TEST), np.exp(f))
    assert model.score(X_TEST, np.exp(Y_TEST / 12.0)) > 0.6
    assert model.oof_prediction_.min() > 0.0
    interval = model.predict_interval(X_TEST[:5])
    assert ((interval[:, 0] < model.predict(X_TEST[:5])) & (interval[:, 1] > 0.0)).all()
    assert model.predict_interval(X_TEST, 0.01).min() == 0.0


def test_scores_may_have_weights() -> None:
    weights = np.arange(300.0)
    model = fitted("fast")
    rows = np.repeat(np.arange(300), weights.astype(int))
    expected = model.score(X[rows], Y[rows])
    assert model.score(X, Y, weights) == pytest.approx(expected)
