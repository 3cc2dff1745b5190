"""Margins and probabilities, by the numbers they hold and the Axes they draw."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_allclose

from fcgboost import FCGBoostClassifier
from fcgboost.plotting import MarginDisplay
from tests.suites.pictures import X, legend_texts, y


def test_margins_are_labels_times_decision_values(model: FCGBoostClassifier, ax: Axes) -> None:
    display = MarginDisplay.from_estimator(model, X, y, ax=ax)
    margins = y * model.decision_function(X)
    assert_allclose(display.margins, margins)
    assert display.error_share == pytest.approx(1.0 - model.score(X, y))
    assert display.active_share == np.mean(margins < 1.0)
    assert legend_texts(ax) == [
        f"correct (margin ≥ 0): {np.mean(margins >= 0.0):.1%}",
        f"error (margin < 0): {np.mean(margins < 0.0):.1%}",
        f"uncertain or wrong (margin < 1): {np.mean(margins < 1.0):.1%}",
    ]


def test_the_histogram_of_margins_counts_every_row_and_has_edges_at_0_and_1(ax: Axes) -> None:
    margins = np.array([-0.5, -0.1, 0.0, 0.3, 1.0, 1.0, 2.2])
    MarginDisplay(margins).plot(ax)
    right, wrong = ax.containers
    assert sum(bar.get_height() for bar in wrong) == 2
    assert sum(bar.get_height() for bar in right) == 5
    assert sum(bar.get_height() for bar in wrong if bar.get_x() > -1e-9) == 0
    # The two rows at just 1 are no part of the active set.
    assert sum(bar.get_height() for bar in right if bar.get_x() > 1.0 - 1e-9) == 3
    (shade,) = [patch for patch in ax.patches if "uncertain" in str(patch.get_label())]
    assert shade.get_x() + shade.get_width() == pytest.approx(1.0)
    assert shade.get_x() <= -0.5


def test_one_broken_row_neither_squashes_nor_bursts_the_histogram(ax: Axes) -> None:
    margins = np.r_[np.linspace(-1.0, 3.0, 200), 1e12]
    display = MarginDisplay(margins).plot(ax)
    right, wrong = ax.containers
    assert len(right) <= 122
    assert sum(bar.get_height() for bar in (*right, *wrong)) == 200
    assert ax.get_xlim()[1] < 4.0
    assert display.n_outside == 1
    assert ax.get_xlabel().endswith("rows farther out: 1")
    assert display.active_share == np.mean(margins < 1.0)


@pytest.mark.parametrize(
    "spread", [3.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (50.0, 1e4)), 1e9]
)
def test_margins_of_any_size_have_a_bounded_number_of_bins(spread: float, ax: Axes) -> None:
    margins = np.linspace(-0.3 * spread, spread, 500)
    display = MarginDisplay(margins).plot(ax)
    assert 20 <= len(ax.containers[0]) <= 122
    assert display.n_outside == 0
    assert sum(bar.get_height() for container in ax.containers for bar in container) == 500
    assert min(abs(bar.get_x()) for bar in ax.containers[0]) < 1e-9


def test_counts_of_rows_have_whole_ticks(ax: Axes) -> None:
    MarginDisplay(np.r_[np.full(35, 0.5), 1.5, -0.5]).plot(ax)
    assert all(float(tick).is_integer() for tick in ax.get_yticks())


def test_margins_of_several_classes_are_leads_over_the_best_other_class(ax: Axes) -> None:
    decision = [[0.9, -0.2, 0.1], [0.3, 0.5, -1.0], [-0.7, -0.9, -0.8]]
    display = MarginDisplay.from_predictions(
        ["a", "a", "c"], decision, classes=["a", "b", "c"], ax=ax
    )
    assert_allclose(display.margins, [0.8, -0.2, -0.1])
    assert "true class" in ax.get_xlabel()


@pytest.mark.parametrize(
    ("labels", "decision", "options", "message"),
    [
        ([0, 1], [0.1], {}, "y has 2 rows, but the decision has shape"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "one column is for 2 classes, not"),
        ([0, 3], [0.1, 0.2], {"classes": [0, 1]}, r"y holds \[3\]"),
    ],
)
def test_impossible_margins_are_errors(
    labels: Any, decision: Any, options: Any, message: str, ax: Axes
) -> None:
    with pytest.raises(ValueError, match=message):
        MarginDisplay.from_predictions(labels, decision, ax=ax, **options)
