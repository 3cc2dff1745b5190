"""The paper's simulation, by its formulas."""

import numpy as np
import pytest

from fcgboost.datasets import bayes_boundary, make_simulation


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
