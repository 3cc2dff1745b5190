"""ADMM: its iteration, and what 100 of them do at the paper's settings."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.losses import CubedHinge, Hinge, Square, SquaredHinge
from fcgboost.solvers import AdmmSolver, InteriorPointSolver, NewtonSolver
from fcgboost.stopping import Status
from tests.suites.solvers import make_problem, solve
from tests.suites.strategies import load_example

HuberisedSquaredHinge = load_example("plot_custom_loss").HuberisedSquaredHinge
LOSSES = [SquaredHinge(), Square(), HuberisedSquaredHinge(), Hinge(), CubedHinge()]

each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
each_noise = pytest.mark.parametrize("noise", ["uniform", "outlier", None])


class Fit(NamedTuple):
    """Simulated labels, columns over the inputs, and the ridge least-squares fit A u."""

    y: np.ndarray
    A: np.ndarray
    ridge: np.ndarray

    def problem(self, loss, l2=0.0):
        return make_problem(loss, self.A, self.y, l2)

    def distance(self, loss):
        """Give the relative distance of ADMM's A u from the ridge fit."""
        f = self.A @ solve(AdmmSolver(), self.problem(loss)).coef
        return np.linalg.norm(f - self.ridge) / np.linalg.norm(self.ridge)


@cache
def simulated(m, noise, atoms, n_atoms, seed=0):
    """Lay ReLU atoms, or Gauss atoms of a width, over the paper's simulation."""
    X, y = make_simulation(m, noise=noise, random_state=seed)
    family = ReluDictionary() if atoms == "relu" else GaussDictionary(width=atoms)
    design = MemoryDesign(family, X, np.ones(m), standardize=False)
    A = design.evaluate(family.candidates(design.sample(n_atoms, seed), n_atoms, seed))
    ridge = A @ np.linalg.solve(A.T @ A + np.eye(n_atoms), A.T @ y)
    return Fit(y, A, ridge)


@each_loss
def test_iterations_are_those_of_algorithm_2(loss):
    fit = simulated(1000, "uniform", "relu", 5)
    y, A, m = fit.y, fit.A, 1000
    gamma, alpha, l2 = 0.01, 0.5, 0.003
    u, v, w = np.zeros(5), y, np.zeros(m)
    inverse = np.linalg.inv(gamma * A.T @ A + (alpha + 2.0 * l2) * np.eye(5))
    for _ in range(7):
        u = inverse @ (A.T @ (gamma * v + w) + alpha * u)
        v = loss.prox(y, A @ u - w / gamma, gamma * m)
        w = w + gamma * (v - A @ u)
    solution = solve(AdmmSolver(alpha, gamma, max_iter=7), fit.problem(loss, l2))
    np.testing.assert_allclose(solution.coef, u, rtol=1e-10)
    assert solution.n_iter == 7


def test_first_iterate_is_the_ridge_least_squares_fit():
    fit = simulated(1000, "uniform", 0.35, 65)
    for loss in LOSSES:
        solution = solve(AdmmSolver(max_iter=1), fit.problem(loss))
        np.testing.assert_allclose(fit.A @ solution.coef, fit.ridge, rtol=0, atol=1e-9)


@pytest.mark.covering
@pytest.mark.parametrize(("atoms", "n_atoms"), [(0.35, 5), (0.35, 65), ("relu", 65)])
@each_noise
@pytest.mark.parametrize(("m", "bound"), [(1000, 0.05), (4000, 0.015)])
def test_at_the_papers_settings_admm_stays_near_ridge_least_squares(
    atoms, n_atoms, noise, m, bound
):
    fit = simulated(m, noise, atoms, n_atoms)
    for loss in (SquaredHinge(), Square(), HuberisedSquaredHinge()):
        assert fit.distance(loss) < bound


@pytest.mark.parametrize(("atoms", "n_atoms"), [(0.35, 65), ("relu", 65)])
@each_noise
@pytest.mark.parametrize(
    ("loss", "at_1000", "at_4000"), [(Hinge(), 0.101, 0.026), (CubedHinge(), 0.2, 0.06)]
)
def test_other_losses_leave_ridge_least_squares_at_a_rate_of_one_over_m(
    atoms, n_atoms, noise, loss, at_1000, at_4000
):
    """The slopes of these losses are not orthogonal to the atoms at the least-squares fit."""
    assert simulated(1000, noise, atoms, n_atoms).distance(loss) < at_1000
    assert simulated(4000, noise, atoms, n_atoms).distance(loss) < at_4000


@pytest.mark.parametrize("m", [1000, 4000])
def test_admm_for_the_hinge_multiplies_the_ridge_fit_by_its_iterations_over_m(m):
    """While no margin reaches one the multiplier is y / m, so u grows by u_1 / m a time."""
    fit = simulated(m, "uniform", 0.35, 65)
    f = fit.A @ solve(AdmmSolver(), fit.problem(Hinge())).coef
    assert (fit.y * f).max() < 1.0 - 1.0 / m
    np.testing.assert_allclose(f, (1.0 + 100.0 / m) * fit.ridge, rtol=1e-7, atol=1e-9)


@each_loss
@each_noise
def test_at_the_papers_settings_admm_says_it_has_not_converged(loss, noise):
    solution = solve(AdmmSolver(), simulated(1000, noise, 0.35, 65).problem(loss))
    assert solution.status is Status.NOT_CONVERGED
    assert solution.residual > 1e-4


@pytest.mark.parametrize(("atoms", "n_atoms"), [(0.35, 5), (0.35, 65), ("relu", 65)])
def test_under_heavy_noise_admm_is_near_the_squared_hinge_minimiser_at_one_over_m(atoms, n_atoms):
    fit = simulated(4000, "uniform", atoms, n_atoms)
    f = fit.A @ solve(AdmmSolver(), fit.problem(SquaredHinge())).coef
    exact = fit.A @ solve(NewtonSolver(), fit.problem(SquaredHinge(), l2=1.0 / 4000)).coef
    assert np.linalg.norm(f - exact) < 0.01 * np.linalg.norm(exact)


def test_on_clean_labels_admm_is_far_from_the_squared_hinge_minimiser():
    fit = simulated(4000, None, 0.35, 65)
    f = fit.A @ solve(AdmmSolver(), fit.problem(SquaredHinge())).coef
    exact = fit.A @ solve(NewtonSolver(), fit.problem(SquaredHinge(), l2=1.0 / 4000)).coef
    assert np.linalg.norm(f - exact) > 0.2 * np.linalg.norm(exact)


@pytest.mark.parametrize("loss", [SquaredHinge(), Square(), CubedHinge()], ids=repr)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_small_parameters_admm_reaches_the_unpenalised_minimiser_of_narrow_atoms(loss, seed):
    fit = simulated(1000, "uniform", 0.1, 15, seed)
    admm = solve(AdmmSolver(alpha=1e-3, gamma=1e-3, max_iter=1000), fit.problem(loss))
    exact = solve(NewtonSolver(), fit.problem(loss))
    assert admm.status is Status.CONVERGED
    np.testing.assert_allclose(fit.A @ admm.coef, fit.A @ exact.coef, rtol=0, atol=1e-8)


@each_loss
def test_with_small_parameters_admm_does_not_reach_that_of_wide_atoms_and_says_so(loss):
    problem = simulated(1000, "uniform", 1.0, 15).problem(loss)
    admm = solve(AdmmSolver(alpha=1e-3, gamma=1e-3, max_iter=1000), problem)
    exact = solve(InteriorPointSolver() if isinstance(loss, Hinge) else NewtonSolver(), problem)
    assert admm.status is Status.NOT_CONVERGED
    assert admm.objective > exact.objective + 1e-3


def test_residuals_are_those_of_the_split():
    """Primal: |v - A u| / |v|; dual: A^T S w - 2 lambda u against the gradient at zero."""
    fit = simulated(1000, "outlier", "relu", 5)
    problem = fit.problem(SquaredHinge(), l2=0.01)
    last = solve(AdmmSolver(max_iter=5, keep_history=True), problem)
    y, A = fit.y, fit.A
    u, v, w = np.zeros(5), y, np.zeros(1000)
    for _ in range(5):
        u = np.linalg.solve(A.T @ A + 1.02 * np.eye(5), A.T @ (v + w) + u)
        v = SquaredHinge().prox(y, A @ u - w, 1000.0)
        w = w + v - A @ u
    primal = np.linalg.norm(v - A @ u) / np.linalg.norm(v)
    dual = np.abs(A.T @ w - 0.02 * u).max() / problem.gradient_scale
    assert last.residual == pytest.approx(max(primal, dual), rel=1e-8)
    assert last.history[-1].residual == last.residual


def test_the_residual_is_the_larger_of_primal_and_dual() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((50, 4)), rng.choice([-1.0, 1.0], 50)
    problem = make_problem(SquaredHinge(), A, y, 0.0, None, False)
    solution = AdmmSolver().solve(problem, np.zeros(4))
    assert set(solution.parts) == {"primal", "dual"}
    assert solution.residual == max(solution.parts.values())


def test_the_primal_residual_is_relative_to_the_split_by_weights() -> None:
    """|v - A u| / |v|, both in the norm that the weights give."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((50, 4)), rng.choice([-1.0, 1.0], 50)
    s = rng.choice([1.0, 2.0, 40.0], 50)
    found = solve(AdmmSolver(max_iter=3), make_problem(Square(), 3.0 * A, y, 0.01, s))
    u, v, w, A = np.zeros(4), y, np.zeros(50), 3.0 * A
    for _ in range(3):
        system = (A.T * s) @ A + 1.02 * np.eye(4)
        u = np.linalg.solve(system, A.T @ (s * (v + w)) + u)
        v = Square().prox(y, A @ u - w, s.sum())
        w = w + v - A @ u
    primal = np.sqrt((s * (v - A @ u) ** 2).sum() / (s * v**2).sum())
    assert found.parts["primal"] == pytest.approx(primal, rel=1e-8)


class Silent(SquaredHinge):
    """A loss whose proximal map forgets where it is."""

    def prox(self, y, z, tau):
        return 0.0 * z


def test_a_split_of_zero_has_a_residual() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((50, 4)), rng.choice([-1.0, 1.0], 50)
    found = solve(AdmmSolver(max_iter=1), make_problem(Silent(), A, y, 0.0))
    assert found.parts["primal"] == pytest.approx(np.linalg.norm(A @ found.coef))
