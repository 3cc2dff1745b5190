"""What a fit learns from y: classes, or numbers in standard units."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from fcgboost import Square, SquaredHinge
from fcgboost.calibration import HeldOut
from fcgboost.training.tasks import Classification, Regression


def learned(y: np.ndarray, weights: np.ndarray | None = None, is_centred: bool = True):
    task, target = Regression(Square(), is_centred).read(y)
    return task.learned(target, np.ones(len(y)) if weights is None else weights)


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e300])
def test_numbers_are_standardised_whatever_their_size(size: float) -> None:
    rng = np.random.default_rng(0)
    y = size * (3.0 + rng.normal(size=50))
    weights = rng.integers(1, 4, 50) * 1.0
    task = learned(y, weights)
    z = task.standard(y)
    assert np.average(z, weights=weights) == pytest.approx(0.0, abs=1e-12)
    assert np.average(z**2, weights=weights) == pytest.approx(1.0)
    np.testing.assert_allclose(task.in_units(z), y, rtol=1e-12)


def test_without_an_intercept_numbers_are_not_shifted() -> None:
    y = np.array([3.0, 4.0])
    task = learned(y, is_centred=False)
    assert task.shift == 0.0
    assert task.standard(y).tolist() == pytest.approx((y / np.sqrt(12.5)).tolist())


def test_equal_numbers_have_the_unit_one() -> None:
    assert learned(np.full(3, 7.0)).standard(np.full(3, 7.0)).tolist() == [0.0] * 3


def test_sums_of_levels_tell_means_and_the_variance() -> None:
    rng = np.random.default_rng(0)
    y, weights, bins = rng.normal(size=90), rng.random(90), rng.integers(4, size=90)
    task = learned(y, weights)
    sums, excess = task.level_sums(bins, 5, y, weights)
    z = task.standard(y)
    assert sums[4].tolist() == [0.0, 0.0]
    for level in range(4):
        is_in = bins == level
        assert sums[level].sum() == pytest.approx(weights[is_in].sum())
        assert sums[level, 1] == pytest.approx(weights[is_in] @ z[is_in])
    mean = sums[:, 1].sum() / sums.sum()
    variance = mean * (1.0 - mean) + excess[1] / sums.sum()
    assert variance == pytest.approx(np.average((z - mean) ** 2, weights=weights))


def test_of_classes_the_variance_is_that_of_their_shares() -> None:
    task = Classification(SquaredHinge(), None, np.arange(3))
    sums, excess = task.level_sums(np.array([0, 0, 1]), 2, np.array([2, 0, 1]), np.ones(3))
    assert sums.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    assert not excess.any()


def test_scores_of_numbers_are_those_of_their_units() -> None:
    rng = np.random.default_rng(0)
    y, weights = rng.normal(5.0, 3.0, 40), rng.random(40)
    f = y + rng.normal(size=40)
    task = learned(y, weights)
    assert task.score(f[:, None], y, weights) == pytest.approx(
        r2_score(y, f, sample_weight=weights)
    )
    risk = task.risk([HeldOut(f[:, None], y, weights)])
    assert risk == pytest.approx(1.0 - r2_score(y, f, sample_weight=weights))
    mean_score = task.sums(y, weights)(task.standard(f)[:, None]) / weights.sum()
    assert mean_score == pytest.approx(-risk)


def test_a_mean_of_squares_is_as_uncertain_as_those_of_normal_errors() -> None:
    rng = np.random.default_rng(0)
    means = -(rng.normal(size=(4000, 100)) ** 2).mean(axis=1)
    error = Regression(Square()).standard_error(float(means.mean()), 100.0)
    assert error == pytest.approx(means.std(), rel=0.05)
    # Of R^2 that is what it lacks of 1.
    assert Regression(Square()).standard_error(0.75, 200.0) == pytest.approx(0.25 * 0.1)


def test_a_training_part_without_rows_is_refused() -> None:
    Regression(Square()).check_part(np.ones(1), "The part")
    with pytest.raises(ValueError, match="The part has no row of positive weight"):
        Regression(Square()).check_part(np.ones(0), "The part")
