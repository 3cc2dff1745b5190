"""What a preset chooses by: how much worse is as good, and which rows can be set aside."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fcgboost.cluster.layout import ClusterLayout
from fcgboost.training import tuning
from fcgboost.training.dataset import LEAST_ROWS, can_be_split
from fcgboost.training.fit import Fit
from fcgboost.training.presets import AUTO, COMPACT, PLAIN, Preset


def fit_with(preset: Preset, n_rows: float) -> Any:
    """Give what the slack of a fit depends on."""
    fit = SimpleNamespace(
        settings=SimpleNamespace(preset=preset), layout=SimpleNamespace(validation_weight=n_rows)
    )
    fit.error = lambda score: Fit.error(fit, score)
    fit.slack = lambda score: Fit.slack(fit, score)
    return fit


@pytest.mark.parametrize(("preset", "share"), [(AUTO, 0.25), (COMPACT, 0.5), (PLAIN, 0.0)])
def test_a_share_of_a_standard_error_below_the_best_is_as_good(
    preset: Preset, share: float
) -> None:
    fit = fit_with(preset, 100.0)
    assert fit.slack(0.8) == pytest.approx(share * 0.04)
    # Of what is no relative frequency, the largest error.
    assert fit.slack(-3.0) == fit.slack(0.5) == pytest.approx(share * 0.05)
    assert fit_with(preset, 0.0).slack(0.8) == 0.0


def test_the_strongest_ridge_within_the_slack_is_chosen() -> None:
    fit = fit_with(AUTO, 100.0)  # 0.01 below 0.8
    for first, best in ((0.7895, 1), (0.7905, 0)):
        traces = [SimpleNamespace(scores=np.array([s])) for s in (first, 0.795, 0.8)]
        assert tuning._best(fit, traces) == best


def test_of_small_models_the_fewest_steps_within_the_slack_are_chosen() -> None:
    fit = fit_with(COMPACT, 100.0)  # 0.02 below 0.8
    scores = np.array([[0.7795, 0.781, 0.8], [0.779, 0.785, 0.79]])
    assert tuning._winner(fit, scores) == (1, 1)
    assert tuning._winner(fit, scores + np.array([0.001, 0.0, 0.0])) == (0, 0)
    assert tuning._winner(fit_with(AUTO, 100.0), scores) == (0, 2)


@pytest.mark.parametrize(
    ("sizes", "two", "every"),
    [
        ([4, 4], True, True),
        ([4, 3], False, False),
        ([9, 3], False, False),
        ([4, 4, 3], True, False),
        ([4, 3, 3], False, False),
        ([4, 0, 4], True, True),
    ],
)
def test_rows_can_be_set_aside_of_classes_that_have_four(
    sizes: list[int], two: bool, every: bool
) -> None:
    assert LEAST_ROWS == 4
    assert can_be_split(np.array(sizes), needs_all=False) == two
    assert can_be_split(np.array(sizes), needs_all=True) == every


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_score_of_the_users_needs_every_class(scoring: str | None) -> None:
    asked = list[bool]()

    def can_be_split(needs_all: bool) -> bool:
        asked.append(needs_all)
        return False

    fit = SimpleNamespace(
        state=SimpleNamespace(path=None, l2=None),
        layout=SimpleNamespace(validator=None, can_be_split=can_be_split),
        settings=SimpleNamespace(scoring=scoring),
        recipe=SimpleNamespace(l2=0.125),
        k0=7,
        with_ridge=lambda *given: given,
    )
    assert tuning.tune(fit, []) == (0.125, 35)
    assert asked == [scoring is not None]


def test_rows_on_several_workers_are_counted_once() -> None:
    parts = [
        [np.array([1, 2]), np.array([2, 3, 4])],
        [np.array([5, 6, 7]), np.array([8])],
        [np.array([9, 9]), np.array([9, 1, 1])],
    ]
    layout = SimpleNamespace(classes=[0, 1, 2], train=SimpleNamespace(ask=lambda *_: parts))
    assert ClusterLayout.can_be_split(layout, needs_all=False)
    assert not ClusterLayout.can_be_split(layout, needs_all=True)
    parts[0].pop()
    assert not ClusterLayout.can_be_split(layout, needs_all=False)
