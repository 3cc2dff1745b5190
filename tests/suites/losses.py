"""What every loss must satisfy; a check runs for each loss that has the contract it is about."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from fcgboost.losses import (
    CurvedLoss,
    Loss,
    MarginLoss,
    Poisson,
    ProbabilityLoss,
    ProximalLoss,
    SmoothLoss,
    Square,
)

# Kinks of the losses lie at multiples of 0.1, so these margins keep away from all of them.
SMOOTH_MARGINS = np.arange(-3.03, 3.1, 0.1)
LABELS = np.where(np.arange(len(SMOOTH_MARGINS)) % 3 == 0, -1.0, 1.0)
MARGINS = st.floats(-20.0, 20.0)
# No residual is near a kink.
NUMBERS = 3.3 * np.random.default_rng(0).random(len(SMOOTH_MARGINS))
STEP = 1e-6


def _phi(loss, t):
    return loss.value(np.ones_like(t), t)


def _rows(loss):
    """Give targets and values."""
    if isinstance(loss, MarginLoss):
        return LABELS, LABELS * SMOOTH_MARGINS
    return NUMBERS, SMOOTH_MARGINS


def check_value_depends_on_the_margin_alone(loss):
    f = np.linspace(-3.0, 3.0, 25)
    for y in (np.ones(25), -np.ones(25)):
        np.testing.assert_array_equal(loss.value(y, f), _phi(loss, y * f))
        np.testing.assert_array_equal(loss.gradient(y, f), y * loss.gradient(np.ones(25), y * f))


def check_gradient_is_the_derivative_of_the_value(loss):
    y, f = _rows(loss)
    quotient = (loss.value(y, f + STEP) - loss.value(y, f - STEP)) / (2.0 * STEP)
    np.testing.assert_allclose(loss.gradient(y, f), quotient, rtol=1e-7, atol=1e-7)


def check_tangents_lie_below_the_loss(loss):
    @given(MARGINS, MARGINS)
    def at(a, b):
        y, a, b = np.ones(1), np.array([a]), np.array([b])
        tangent = loss.value(y, a) + loss.gradient(y, a) * (b - a)
        assert (loss.value(y, b) >= tangent - 1e-9 * (1.0 + abs(tangent))).all()

    at()


def check_initial_is_the_best_constant(loss):
    rng = np.random.default_rng(0)
    for n_positive in (0, 1, 5, 9, 10, 11, 19, 20):
        y = np.where(np.arange(20) < n_positive, 1.0, -1.0)
        s = rng.integers(1, 5, size=20).astype(float)
        constants = np.append(np.linspace(-2.0, 2.0, 4001), loss.initial(y, s))
        risks = [(s * loss.value(y, np.full(20, c))).sum() / s.sum() for c in constants]
        assert risks[-1] <= min(risks) + 1e-15


def check_initial_is_the_best_constant_of_numbers(loss):
    rng = np.random.default_rng(1)
    for n, size in ((1, 1.0), (20, 1.0), (41, 30.0), (7, 1e-3)):
        y = np.round(size * rng.exponential(size=n), 4)
        s = rng.uniform(0.1, 5.0, n)

        def risk(f, y=y, s=s):
            return (s * loss.value(y, np.full(len(y), f))).sum() / s.sum()

        best = loss.initial(y, s)
        least = minimize_scalar(risk, bracket=(best - size, best + 0.7 * size), tol=1e-12)
        assert risk(best) <= least.fun + 1e-13 * (1.0 + least.fun)
        again = loss.initial(np.repeat(y, 3), np.repeat(s / 3.0, 3))
        assert risk(again) <= least.fun + 1e-13 * (1.0 + least.fun)
        if not isinstance(loss, Poisson):
            moved = loss.initial(y - 5.0, s) + 5.0
            assert risk(moved) <= least.fun + 1e-13 * (1.0 + least.fun)


def check_stiffness_bends_no_less_than_the_loss(loss):
    """The parabola with this curvature touches the loss at f, and rises above it nearby."""
    y, f = _rows(loss)
    unit = loss.curvature_bound / 2.0 if isinstance(loss, SmoothLoss) else 1.0
    half = unit * loss.stiffness(y, f, loss.gradient(y, f))
    for way in (-0.01, 0.01):
        above = loss.value(y, f) + way * loss.gradient(y, f) + 1.02 * half * way**2
        assert (loss.value(y, f + way) <= above + 1e-12).all()


def check_initial_takes_weights_as_repetitions(loss):
    y, s = np.array([1.0, -1.0, 1.0, -1.0]), np.array([3.0, 1.0, 2.0, 4.0])
    repeated = np.repeat(y, s.astype(int))
    assert loss.initial(y, s) == loss.initial(repeated, np.ones(10))


def check_matrices_are_taken_entry_by_entry(loss):
    y, f = np.ones((6, 2)), np.arange(12.0).reshape(6, 2) / 5.0 - 1.0
    np.testing.assert_array_equal(loss.value(y, f)[:, 1], loss.value(y[:, 1], f[:, 1]))
    np.testing.assert_array_equal(loss.gradient(y, f)[:, 1], loss.gradient(y[:, 1], f[:, 1]))


def check_copies_are_the_same_loss(loss):
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        assert type(copy) is type(loss)
        assert copy.get_params() == loss.get_params()
        np.testing.assert_array_equal(_phi(copy, SMOOTH_MARGINS), _phi(loss, SMOOTH_MARGINS))


def check_curvature_is_the_derivative_of_the_gradient(loss):
    y, f = _rows(loss)
    quotient = (loss.gradient(y, f + STEP) - loss.gradient(y, f - STEP)) / (2.0 * STEP)
    np.testing.assert_allclose(loss.curvature(y, f), quotient, rtol=1e-7, atol=1e-7)
    for term, alone in zip(
        loss.terms(y, f), (loss.value, loss.gradient, loss.curvature), strict=True
    ):
        np.testing.assert_allclose(term, alone(y, f), rtol=1e-14)


def check_curvature_keeps_its_bounds(loss):
    t = np.linspace(-3.0, 3.0, 601)
    curvature = loss.curvature(np.ones_like(t), t)
    assert (curvature >= 0.0).all()
    if isinstance(loss, SmoothLoss):
        assert curvature.max() <= loss.curvature_bound


def check_prox_minimises_its_definition(loss):
    offsets = np.concatenate([-np.logspace(-6, 2, 81), np.logspace(-6, 2, 81)])

    @given(st.one_of(MARGINS, st.sampled_from([0.0, 1.0])), st.floats(1e-3, 1e4))
    def at(z, tau):
        def objective(r):
            return _phi(loss, r) + tau / 2.0 * (r - z) ** 2

        best = loss.prox(np.ones(1), np.array([z]), tau)
        smallest = objective(best)[0]
        assert smallest <= objective(best + offsets).min() + 1e-13 * (1.0 + smallest)

    at()


def check_prox_is_optimal_to_rounding(loss):
    """-tau (r - z) lies between the slopes on both sides of r."""

    @given(MARGINS, st.floats(1e-3, 1e4))
    def at(z, tau):
        r = loss.prox(np.ones(1), np.array([z]), tau)
        slack = 1e-9 * (1.0 + np.abs(r))
        pull = tau * (z - r)
        rounding = 1e-12 * tau * (1.0 + np.abs(z)) + 1e-6
        assert loss.gradient(np.ones(1), r - slack) - rounding <= pull
        assert pull <= loss.gradient(np.ones(1), r + slack) + rounding

    at()


def check_probability_is_a_monotone_share(loss):
    f = np.concatenate([[-1e6], np.linspace(-2.0, 2.0, 401), [1e6]])
    p = loss.probability(f)
    assert (p >= 0.0).all()
    assert (p <= 1.0).all()
    assert (np.diff(p) >= 0.0).all()
    assert (p[0], p[-1]) == (0.0, 1.0)


def check_probability_agrees_with_the_class(loss):
    f = np.linspace(-2.0, 2.0, 401)
    p = loss.probability(f)
    assert ((p - 0.5) * f >= 0.0).all()
    assert loss.probability(np.zeros(1))[0] == 0.5
    np.testing.assert_allclose(p + loss.probability(-f), 1.0, rtol=0, atol=1e-15)


def check_probability_inverts_the_population_minimiser(loss):
    f = np.linspace(-1.0, 1.0, 200_001)
    for eta in (0.02, 0.2, 0.35, 0.6, 0.9, 0.97):
        risk = eta * _phi(loss, f) + (1.0 - eta) * _phi(loss, -f)
        assert abs(loss.probability(f[[risk.argmin()]])[0] - eta) < 1e-4


OF_LABELS = [
    check_value_depends_on_the_margin_alone,
    check_initial_is_the_best_constant,
    check_initial_takes_weights_as_repetitions,
]
OF_NUMBERS = [
    check_initial_is_the_best_constant_of_numbers,
    check_stiffness_bends_no_less_than_the_loss,
]
CHECKS = {
    Loss: [
        check_gradient_is_the_derivative_of_the_value,
        check_tangents_lie_below_the_loss,
        check_matrices_are_taken_entry_by_entry,
        check_copies_are_the_same_loss,
    ],
    MarginLoss: OF_LABELS,
    CurvedLoss: [
        check_curvature_is_the_derivative_of_the_gradient,
        check_curvature_keeps_its_bounds,
    ],
    ProximalLoss: [check_prox_minimises_its_definition, check_prox_is_optimal_to_rounding],
    ProbabilityLoss: [
        check_probability_is_a_monotone_share,
        check_probability_agrees_with_the_class,
        check_probability_inverts_the_population_minimiser,
    ],
}


def checks_for(loss):
    """Give the checks of all the contracts a loss has; the square is for labels and numbers."""
    checks = [
        check for contract in CHECKS if isinstance(loss, contract) for check in CHECKS[contract]
    ]
    if not isinstance(loss, MarginLoss):
        checks += OF_NUMBERS
    if isinstance(loss, Square):
        checks += OF_LABELS
    return checks
