"""Generated data: the simulation of the paper by its formulas, and the messy table."""

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import bayes_boundary, make_customers, make_simulation
from fcgboost.tables.learning import Levels, almost_all


def clean_labels(X):
    return np.where(X[:, 1] >= bayes_boundary(X[:, 0]), 1.0, -1.0)


def test_the_boundary_starts_at_one_and_is_one_half_from_one_half_on():
    t = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    expected = [1.0, (0.5**5 * (2.0 + 2.5 + 1.0) + 1.0) / 2.0, 0.5, 0.5, 0.5]
    np.testing.assert_allclose(bayes_boundary(t), expected, rtol=1e-15)


def test_without_noise_labels_are_those_of_the_boundary():
    X, y = make_simulation(2000, noise=None, random_state=0)
    np.testing.assert_array_equal(y, clean_labels(X))
    assert X.min() >= 0.0
    assert X.max() <= 1.0


@pytest.mark.parametrize("level", [0.0, 0.2, 0.3, 0.4, 1.0])
def test_uniform_noise_flips_its_share_of_labels(level):
    X, y = make_simulation(50_000, level=level, random_state=1)
    flipped = np.mean(y != clean_labels(X))
    assert flipped == pytest.approx(level, abs=0.007)


@pytest.mark.parametrize(("ratio", "share"), [(0.2, 0.087), (0.3, 0.130), (0.4, 0.173)])
def test_outlier_noise_flips_the_shares_the_paper_prints(ratio, share):
    shares = []
    for seed in range(6):
        X, y = make_simulation(200_000, noise="outlier", tol=0.3, ratio=ratio, random_state=seed)
        shares.append(np.mean(y != clean_labels(X)))
    assert np.mean(shares) == pytest.approx(share, abs=0.001)


def test_outlier_noise_flips_only_far_from_the_boundary():
    X, y = make_simulation(20_000, noise="outlier", tol=0.3, ratio=0.4, random_state=3)
    is_near = np.abs(X[:, 1] - bayes_boundary(X[:, 0])) <= 0.3
    is_flipped = y != clean_labels(X)
    assert not is_flipped[is_near].any()
    assert is_flipped[~is_near].mean() == pytest.approx(0.4, abs=0.02)


def test_equal_seeds_give_equal_data_and_noise_keeps_the_inputs():
    X, y = make_simulation(100, random_state=4)
    again, labels = make_simulation(100, random_state=4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(X, make_simulation(100, noise=None, random_state=4)[0])
    assert (make_simulation(100, random_state=5)[0] != X).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": "gauss"}, "noise must be 'uniform', 'outlier' or None"),
        ({"level": 1.5}, "level must be between 0 and 1"),
        ({"ratio": -0.1}, "ratio must be between 0 and 1"),
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"n_samples": "many"}, "n_samples must be a whole number of at least 1"),
    ],
)
def test_impossible_settings_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make_simulation(**{"n_samples": 10, **changes})


def test_customers_are_messy_and_the_same_at_every_call():
    customers = make_customers(500, random_state=7)
    assert customers.equals(make_customers(500, random_state=7))
    assert not customers.equals(make_customers(500, random_state=8))
    assert customers["customer_id"].is_unique
    assert customers["churned"].isin(["yes", "no"]).all()
    units = {name: almost_all(Levels.of(customers[name])) for name in customers}
    numbers = ("age", "income", "monthly_fee", "calls")
    assert {name for name, unit in units.items() if unit == "number"} == set(numbers)
    assert {name for name, unit in units.items() if unit == "days"} == {"last_contact"}
    assert {"age", "income", "town", "complaint"} <= set(customers.columns[customers.isna().any()])


def test_without_odd_cells_numbers_of_customers_are_numbers():
    customers = make_customers(odd_cells=0.0)
    assert len(customers) == 2000
    assert all(customers[name].dtype.kind in "if" for name in ("age", "income", "calls"))
    assert (customers["signup_date"] <= customers["last_contact"].fillna("9999")).all()
    assert 0.70 < (customers["churned"] == "no").mean() < 0.76


def test_customers_have_something_to_learn_and_their_ids_tell_nothing():
    customers = make_customers(odd_cells=0.0)
    y = customers.pop("churned")
    clf = FCGBoostClassifier(random_state=0).fit(customers[:1500], y[:1500])
    assert clf.score(customers[1500:], y[1500:]) > (y[1500:] == "no").mean() + 0.08
    assert clf.feature_importances_[0] == 0.0
    assert any("'customer_id' is left out" in note for note in clf.notes_)


@pytest.mark.parametrize("given", [{"n_samples": 0}, {"n_samples": 1.5}, {"odd_cells": 1.1}])
def test_customers_need_sensible_parameters(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        make_customers(**given)
