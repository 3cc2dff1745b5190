"""Every loss goes through one suite, the loss of the examples too; then what theory says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.metrics import mean_poisson_deviance

from fcgboost.losses import (
    CubedHinge,
    Hinge,
    Huber,
    MarginLoss,
    ModifiedHuber,
    Poisson,
    ProbabilityLoss,
    Quantile,
    Square,
    SquaredHinge,
    class_probabilities,
)
from tests.suites.losses import checks_for
from tests.suites.strategies import load_example

HuberisedSquaredHinge = load_example("plot_custom_loss").HuberisedSquaredHinge
LOSSES = [
    SquaredHinge(),
    Square(),
    CubedHinge(),
    Hinge(),
    ModifiedHuber(),
    ModifiedHuber(threshold=0.5),
    HuberisedSquaredHinge(),
    HuberisedSquaredHinge(threshold=0.5),
    Huber(),
    Huber(threshold=0.1),
    Quantile(),
    Quantile(0.9, bandwidth=0.3),
    Quantile(0.02, bandwidth=1e-3),
    Poisson(),
]
WITH_PROBABILITY = [loss for loss in LOSSES if isinstance(loss, ProbabilityLoss)]


@pytest.mark.parametrize(
    ("loss", "check"),
    [(loss, check) for loss in LOSSES for check in checks_for(loss)],
    ids=lambda part: getattr(part, "__name__", None) or repr(part),
)
def test_every_loss_satisfies_its_contracts(loss, check):
    check(loss)


def test_of_the_losses_of_labels_only_the_hinge_has_no_probability():
    of_labels = [loss for loss in LOSSES if isinstance(loss, MarginLoss)]
    assert [loss for loss in of_labels if not isinstance(loss, ProbabilityLoss)] == [LOSSES[3]]


@pytest.mark.parametrize(
    ("loss", "values"),
    [
        (Square(), [9.0, 0.25, 0.0, 1.0]),
        (Huber(), [5.0, 0.25, 0.0, 1.0]),
        (Quantile(0.9, 1e-9), [0.3, 0.05, 2.5e-10, 0.9]),
        (Quantile(0.5, 1.0), [1.5, 0.3125, 0.25, 0.5]),
    ],
    ids=repr,
)
def test_values_of_residuals_are_those_of_the_formulas(loss, values):
    found = loss.value(np.array([-1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.5, 3.0, 3.0]))
    np.testing.assert_allclose(found, values, rtol=1e-8)


def test_the_poisson_loss_is_half_the_deviance():
    y, f = np.array([0.0, 1.0, 7.0, 3.5]), np.array([-1.0, 0.0, 2.5, 1.0])
    loss = Poisson()
    deviances = [mean_poisson_deviance(y[[i]], loss.inverse_link(f[[i]])) for i in range(4)]
    np.testing.assert_allclose(2.0 * loss.value(y, f), deviances, atol=1e-14)
    np.testing.assert_allclose(loss.value(y, np.log(np.where(y > 0, y, 1e-300))), 0, atol=1e-14)


def test_the_poisson_loss_never_overflows():
    y, f = np.array([0.0, 3.0, 1e20]), np.array([1e4, 310.0, 700.0])
    loss = Poisson()
    terms = np.array(loss.terms(y, f))
    assert np.isfinite(terms).all()
    slope = loss.gradient(y, f)
    np.testing.assert_allclose(loss.value(y, f + 1.0) - loss.value(y, f), slope, rtol=1e-9)
    assert loss.initial(np.zeros(3), np.ones(3)) == -300.0


@given(q=st.floats(0.01, 0.99), r=st.floats(-3.0, 3.0), h=st.floats(1e-3, 2.0))
def test_a_quantile_is_the_mean_pinball_loss_over_a_bandwidth(q, r, h):
    at = r + h * (np.arange(4000) + 0.5) / 2000.0 - h
    mean = np.maximum(q * at, (q - 1.0) * at).mean()
    assert Quantile(q, h).value(np.array(r), np.array(0.0)) == pytest.approx(mean, abs=1e-6)


def test_the_bandwidth_follows_the_objective_down():
    loss = Quantile(0.3)
    assert loss.narrowed(0.8) is loss
    assert loss.narrowed(0.0) is loss
    assert loss.narrowed(0.5).get_params() == {"quantile": 0.3, "bandwidth": 0.5}


def test_parameters_of_a_loss_are_parameters():
    assert HuberisedSquaredHinge(0.5).get_params() == {"threshold": 0.5}
    assert HuberisedSquaredHinge().set_params(threshold=3.0).threshold == 3.0


@pytest.mark.parametrize(
    ("loss", "at_minus_one", "at_half", "at_two"),
    [
        (SquaredHinge(), 4.0, 0.25, 0.0),
        (Square(), 4.0, 0.25, 1.0),
        (CubedHinge(), 8.0, 0.125, 0.0),
        (Hinge(), 2.0, 0.5, 0.0),
        (HuberisedSquaredHinge(1.0), 3.0, 0.25, 0.0),
    ],
)
def test_values_are_those_of_the_formulas(loss, at_minus_one, at_half, at_two):
    values = loss.value(np.array([1.0, -1.0, 1.0]), np.array([-1.0, -0.5, 2.0]))
    assert values.tolist() == [at_minus_one, at_half, at_two]


def risk(loss, eta, f):
    """Give the population risk of the constant f where P(y = 1) = eta."""
    return eta * loss.value(1.0, f) + (1.0 - eta) * loss.value(-1.0, f)


@given(eta=st.floats(0.0, 1.0), f=st.floats(-1.0, 1.0))
def test_excess_squared_hinge_risk_is_the_squared_distance_on_the_unit_interval(eta, f):
    best = 2.0 * eta - 1.0
    excess = risk(SquaredHinge(), eta, f) - risk(SquaredHinge(), eta, best)
    assert excess == pytest.approx((f - best) ** 2, abs=1e-14)


@given(eta=st.floats(0.01, 0.99), size=st.floats(1.01, 10.0), sign=st.sampled_from([-1.0, 1.0]))
def test_excess_squared_hinge_risk_is_below_the_squared_distance_outside(eta, size, sign):
    best, f = 2.0 * eta - 1.0, sign * size
    excess = risk(SquaredHinge(), eta, f) - risk(SquaredHinge(), eta, best)
    assert excess < (f - best) ** 2 * (1.0 - 1e-9)


@given(eta=st.floats(0.001, 0.999))
def test_population_minimiser_of_the_squared_hinge_is_twice_eta_minus_one(eta):
    f = np.linspace(-3.0, 3.0, 60_001)
    assert f[risk(SquaredHinge(), eta, f).argmin()] == pytest.approx(2.0 * eta - 1.0, abs=1e-4)


decisions = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6),
    elements=st.one_of(st.floats(-3.0, 3.0), st.floats(-1e6, 1e6)),
)
any_probability_loss = st.sampled_from(WITH_PROBABILITY)


@given(loss=any_probability_loss, decision=decisions)
def test_class_probabilities_are_a_distribution(loss, decision):
    p = class_probabilities(loss, decision)
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@given(loss=any_probability_loss, decision=decisions)
def test_class_probabilities_keep_the_most_likely_class(loss, decision):
    p = class_probabilities(loss, decision)
    winners = decision.argmax(axis=1)
    assert (p[np.arange(len(p)), winners] == p.max(axis=1)).all()


@given(loss=any_probability_loss, decision=decisions)
def test_class_probabilities_are_the_nearest_point_of_the_simplex(loss, decision):
    clipped = np.clip(decision, -1.0, 1.0)
    points = loss.probability(clipped) + (decision - clipped) / 2.0
    p = class_probabilities(loss, decision)
    # No vertex lies on the far side of the plane through p that is orthogonal to points - p.
    to_point = points - p
    inner = to_point - (to_point * p).sum(axis=1, keepdims=True)
    assert (inner <= 1e-9 * (1.0 + np.abs(points).max())).all()


@given(loss=any_probability_loss, decision=decisions, seed=st.integers(0, 99))
def test_class_probabilities_are_no_farther_from_the_truth(loss, decision, seed):
    clipped = np.clip(decision, -1.0, 1.0)
    points = loss.probability(clipped) + (decision - clipped) / 2.0
    truth = np.random.default_rng(seed).dirichlet(np.ones(decision.shape[1]), len(decision))
    after, before = (
        np.sum((p - truth) ** 2, axis=1) for p in (class_probabilities(loss, decision), points)
    )
    assert (after <= before * (1.0 + 1e-9) + 1e-12).all()


@given(loss=any_probability_loss, f=arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)))
def test_two_opposite_decisions_give_the_probability_of_one(loss, f):
    both = class_probabilities(loss, np.column_stack([-f, f]))
    np.testing.assert_allclose(both, class_probabilities(loss, f), rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", WITH_PROBABILITY, ids=repr)
def test_huge_decisions_give_certain_classes(loss):
    p = class_probabilities(loss, np.array([[1e6, -1e6, 0.0], [-1e6, -2e6, -1e6 + 10.0]]))
    assert p.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_one_decision_gives_both_probabilities():
    p = class_probabilities(SquaredHinge(), np.array([-3.0, 0.0, 0.5]))
    assert p.tolist() == [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]
