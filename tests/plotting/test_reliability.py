"""Reliability diagrams, by the numbers they hold and the Axes they draw."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import ReliabilityDisplay
from tests.suites.pictures import BLOBS, COLORS, X, legend_texts, y


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_agree_with_those_of_scikit_learn(strategy: Any, ax: Axes) -> None:
    rng = np.random.default_rng(0)
    prob = rng.uniform(size=500)
    happened = rng.uniform(size=500) < prob
    display = ReliabilityDisplay.from_predictions(happened, prob, strategy=strategy, ax=ax)
    shares, means = calibration_curve(happened, prob, n_bins=10, strategy=strategy)
    assert_allclose(display.prob_true, shares)
    assert_allclose(display.prob_pred, means)
    assert display.counts.sum() == 500
    assert display.brier == pytest.approx(brier_score_loss(happened, prob))
    assert legend_texts(ax) == [
        "perfectly calibrated",
        f"Brier score {display.brier:.3f}",
        "observed frequency, 95 % interval",
    ]
    assert_allclose(display.line_.get_data(), [means, shares])
    _, caps, _ = display.errorbar_
    assert_allclose([cap.get_ydata() for cap in caps], display.intervals)
    heights = np.array([bar.get_height() for bar in display.bars_])
    assert_allclose(heights / heights.max(), display.counts / display.counts.max())


def test_intervals_are_wilsons() -> None:
    # Newcombe, Statist. Med. 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    hits, n = np.array([81, 15, 0, 1]), np.array([263, 148, 20, 29])
    low, high = ReliabilityDisplay(hits / n, hits / n, n, np.eye(4, 2), 0.0).intervals
    assert_allclose(low, [0.2553, 0.0624, 0.0, 0.0061], atol=5e-5)
    assert_allclose(high, [0.3662, 0.1605, 0.1611, 0.1718], atol=5e-5)


def test_a_classifiers_probabilities_are_those_of_the_second_class(
    relu: FCGBoostClassifier, ax: Axes
) -> None:
    display = ReliabilityDisplay.from_estimator(relu, X, y, n_bins=4, ax=ax)
    prob = relu.predict_proba(X)[:, 1]
    assert display.brier == pytest.approx(np.mean((prob - (y > 0)) ** 2))
    assert ax.get_xlabel() == "predicted probability of 1"
    other = ReliabilityDisplay.from_estimator(
        relu, X, y, pos_label=-1.0, n_bins=4, ax=Figure().subplots()
    )
    assert other.brier == pytest.approx(display.brier)
    assert other.ax_.get_xlabel() == "predicted probability of -1"
    assert_allclose(np.average(other.prob_true, weights=other.counts), np.mean(y < 0))


def test_of_several_classes_the_predicted_or_a_chosen_one_is_judged(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    proba = several.predict_proba(BLOBS)
    top = ReliabilityDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    hits = proba.argmax(axis=1) == COLORS
    assert top.brier == pytest.approx(np.mean((proba.max(axis=1) - hits) ** 2))
    assert f"top-label Brier score {top.brier:.3f}" in legend_texts(ax)
    assert ax.get_xlabel() == "predicted probability of the predicted class"
    one = ReliabilityDisplay.from_estimator(
        several, BLOBS, COLORS, pos_label=2, ax=Figure().subplots()
    )
    assert one.brier == pytest.approx(np.mean((proba[:, 2] - (COLORS == 2)) ** 2))


def test_many_equal_probabilities_make_fewer_bins(ax: Axes) -> None:
    prob = np.r_[np.zeros(50), np.ones(50), 0.4, 0.6]
    display = ReliabilityDisplay.from_predictions(prob > 0.5, prob, ax=ax)
    assert display.counts.sum() == 102
    assert len(display.counts) < 10
    single = ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5], ax=Figure().subplots())
    assert_array_equal(single.counts, [2])


@pytest.mark.parametrize(
    ("labels", "prob", "options", "message"),
    [
        ([0, 1], [0.1, 1.2], {}, "between 0 and 1"),
        ([0, 1], [0.1, np.nan], {}, "between 0 and 1"),
        ([0, 1], [0.1], {}, "y has 2 rows, but the probability has shape"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "Pass pos_label"),
        ([0, 1], [[0.1, 0.2, 0.7]] * 2, {}, "probability has 3 columns for 2 classes"),
        ([0, 1], [0.1, 0.2], {"strategy": "equal"}, "'strategy' parameter"),
        ([0, 1], [0.1, 0.2], {"n_bins": 0}, "'n_bins' parameter"),
        ([0, 1], [0.1, 0.2], {"pos_label": 5}, r"no class 5 to draw, only \[0, 1\]"),
    ],
)
def test_impossible_probabilities_are_errors(
    labels: Any, prob: Any, options: Any, message: str, ax: Axes
) -> None:
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(labels, prob, ax=ax, **options)


def test_a_loss_without_probabilities_says_so() -> None:
    model = FCGBoostClassifier("gauss", loss="hinge", max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        ReliabilityDisplay.from_estimator(model, X, y)
