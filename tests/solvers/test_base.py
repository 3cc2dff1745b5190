"""Every solver against cvxpy, on ordinary, degenerate and separable designs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.losses import CubedHinge, Hinge, Loss, Square, SquaredHinge
from fcgboost.solvers import (
    AdmmSolver,
    GradientDescentSolver,
    InteriorPointSolver,
    NewtonSolver,
)
from fcgboost.stopping import Status
from fcgboost.training.settings import make_solver
from tests.suites.solvers import (
    cvxpy_coef,
    empty_problem,
    instance,
    make_problem,
    naive_objective,
    solve,
    with_and_without_constant,
)
from tests.suites.strategies import load_example

HuberisedSquaredHinge = load_example("plot_custom_loss").HuberisedSquaredHinge

# Loss and a solver that must reach its minimiser. With threshold 0.5 the last loss is straight
# at f = 0 on every row: Newton starts without any curvature.
EXACT = [
    (SquaredHinge(), NewtonSolver()),
    (Square(), NewtonSolver()),
    (CubedHinge(), NewtonSolver()),
    (Hinge(), InteriorPointSolver()),
    (HuberisedSquaredHinge(), NewtonSolver()),
    (HuberisedSquaredHinge(threshold=0.5), NewtonSolver()),
]
GRADIENT = [
    (SquaredHinge(), GradientDescentSolver()),
    (Square(), GradientDescentSolver()),
    (HuberisedSquaredHinge(threshold=0.5), GradientDescentSolver()),
]
ADMM = [(loss, AdmmSolver()) for loss, _ in EXACT]

each_exact_pair = pytest.mark.parametrize(("loss", "solver"), EXACT, ids=repr)
each_pair = pytest.mark.parametrize(("loss", "solver"), EXACT + GRADIENT, ids=repr)


def excess(loss, A, y, l2, weights, has_constant, coef):
    """Give how much worse than cvxpy's the naive objective of coefficients is."""
    task = (loss, A, y, l2, weights, has_constant)
    return naive_objective(*task, coef) - naive_objective(*task, cvxpy_coef(*task))


@pytest.mark.parametrize("loss", [loss for loss, _ in EXACT], ids=repr)
def test_problems_state_the_weighted_objective_and_its_gradient(loss):
    A, y, s = instance(seed=13)
    problem = make_problem(loss, A, y, 0.3, s, has_constant=True)
    coef, h = np.random.default_rng(14).standard_normal(8), 1e-7
    assert problem.penalty.tolist() == [0.0] + [0.3] * 7
    value = naive_objective(loss, A, y, 0.3, s, True, coef)
    assert problem.objective(coef) == pytest.approx(value, rel=1e-13)
    quotients = [
        (problem.objective(coef + h * e) - problem.objective(coef - h * e)) / (2.0 * h)
        for e in np.eye(8)
    ]
    point = problem.expand(coef)
    assert point.objective == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(point.gradient, quotients, rtol=1e-5, atol=1e-6)


@pytest.mark.covering
@each_pair
@with_and_without_constant
@pytest.mark.parametrize("l2", [0.0, "1/m", 0.01, 0.1])
def test_minimisers_are_those_of_cvxpy(loss, solver, has_constant, l2):
    A, y, s = instance(seed=0)
    l2 = 1.0 / s.sum() if l2 == "1/m" else l2
    problem = make_problem(loss, A, y, l2, s, has_constant)
    solution = solve(solver, problem)
    assert solution.status is Status.CONVERGED
    assert solution.residual <= 1e-9
    task = (loss, A, y, l2, s, has_constant)
    reference = cvxpy_coef(*task)
    value = naive_objective(*task, solution.coef)
    assert value <= naive_objective(*task, reference) + 1e-8
    assert solution.objective == pytest.approx(value, abs=1e-13)
    if l2 >= 0.01:
        np.testing.assert_allclose(solution.coef, reference, rtol=0, atol=1e-5)


@pytest.mark.covering
@each_exact_pair
@pytest.mark.parametrize("seed", range(1, 6))
def test_random_shapes_are_solved_as_well_as_by_cvxpy(loss, solver, seed):
    rng = np.random.default_rng(seed)
    A, y, s = instance(seed, m=int(rng.integers(5, 150)), k=int(rng.integers(1, 30)))
    for l2 in (0.0, 1.0 / s.sum()):
        solution = solve(solver, make_problem(loss, A, y, l2, s))
        assert solution.residual <= 1e-9
        assert excess(loss, A, y, l2, s, False, solution.coef) <= 1e-8


def repeated(A, rng):
    return np.column_stack([A, A[:, 0], A[:, 1]])


def repeated_with_rounding(A, rng):
    return np.column_stack([A, A[:, :2] + 1e-12 * rng.standard_normal((len(A), 2))])


def constant(A, rng):
    return np.column_stack([A, np.ones(len(A)), np.zeros(len(A))])


def combined(A, rng):
    return np.column_stack([A, A @ rng.standard_normal((A.shape[1], 5))])


each_degeneracy = pytest.mark.parametrize(
    "degenerate", [repeated, repeated_with_rounding, constant, combined]
)


@pytest.mark.covering
@each_pair
@each_degeneracy
@with_and_without_constant
def test_degenerate_designs_are_solved_as_well_as_by_cvxpy(loss, solver, degenerate, has_constant):
    A, y, s = instance(seed=1)
    A = degenerate(A, np.random.default_rng(2))
    for l2 in (0.0, 1.0 / s.sum()):
        solution = solve(solver, make_problem(loss, A, y, l2, s, has_constant))
        assert np.isfinite(solution.coef).all()
        assert excess(loss, A, y, l2, s, has_constant, solution.coef) <= 1e-8


@pytest.mark.parametrize("loss", [loss for loss, _ in EXACT], ids=repr)
@each_degeneracy
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_admm_on_degenerate_designs_is_finite_and_says_it_has_not_converged(loss, degenerate, l2):
    A, y, s = instance(seed=1)
    A = degenerate(A, np.random.default_rng(2))
    solution = solve(AdmmSolver(), make_problem(loss, A, y, l2, s, has_constant=True))
    assert np.isfinite(solution.coef).all()
    assert solution.status is Status.NOT_CONVERGED
    assert solution.n_iter == 100


@each_pair
def test_zero_loss_is_reached_on_separable_data(loss, solver):
    A, y, s = instance(seed=3)
    # A margin of one for the square loss, margins from one to three for the others.
    own = y if isinstance(loss, Square) else y * np.linspace(1.0, 3.0, len(y))
    solution = solve(solver, make_problem(loss, np.column_stack([own, A]), y, 0.0, s))
    assert np.isfinite(solution.coef).all()
    assert 0.0 <= solution.objective < 1e-8


@each_exact_pair
def test_zero_loss_is_reached_with_more_columns_than_rows(loss, solver):
    rng = np.random.default_rng(4)
    A, y = rng.standard_normal((30, 50)), rng.choice([-1.0, 1.0], size=30)
    solution = solve(solver, make_problem(loss, A, y, 0.0))
    assert np.isfinite(solution.coef).all()
    assert 0.0 <= solution.objective < 1e-8


@pytest.mark.parametrize(("loss", "solver"), EXACT + GRADIENT + ADMM, ids=repr)
@with_and_without_constant
def test_weights_are_repetitions(loss, solver, has_constant):
    A, y, s = instance(seed=5)
    rows = np.repeat(np.arange(len(y)), s.astype(int))
    weighted = solve(solver, make_problem(loss, A, y, 0.01, s, has_constant))
    repeats = solve(solver, make_problem(loss, A[rows], y[rows], 0.01, None, has_constant))
    assert weighted.n_iter == repeats.n_iter
    np.testing.assert_allclose(weighted.coef, repeats.coef, rtol=0, atol=1e-9)


@pytest.mark.covering
@pytest.mark.parametrize("loss", [SquaredHinge(), CubedHinge()], ids=repr)
@pytest.mark.parametrize("l2", [0.0, "1/m"])
@with_and_without_constant
def test_newton_along_growing_columns_equals_fresh_solves(loss, l2, has_constant):
    A, y, s = instance(seed=6, m=200, k=20)
    rng = np.random.default_rng(7)
    # Every second column is a sum of earlier ones, some to rounding only.
    sums = A @ np.triu(rng.standard_normal((20, 20))) + rng.choice([0.0, 1e-13], 20)
    A = np.stack([A, sums], axis=2).reshape(200, 40)
    l2 = 1.0 / s.sum() if l2 == "1/m" else l2
    problem = empty_problem(loss, A, y, l2, s, has_constant)
    coef = np.zeros(int(has_constant))
    for k in range(1, 41):
        problem.columns.append(np.eye(40)[k - 1 : k])
        grown = NewtonSolver().solve(problem, np.append(coef, 0.0))
        coef = grown.coef
        fresh = solve(NewtonSolver(), make_problem(loss, A[:, :k], y, l2, s, has_constant))
        assert grown.residual <= 1e-9
        assert grown.objective == pytest.approx(fresh.objective, abs=1e-13)
        if l2 > 0.0:
            np.testing.assert_allclose(coef, fresh.coef, rtol=0, atol=1e-7)


def test_newton_ends_finitely_for_the_squared_hinge():
    A, y, s = instance(seed=8, m=500, k=20)
    problem = make_problem(SquaredHinge(), A, y, 1e-3, s)
    solution = solve(NewtonSolver(), problem)
    assert solution.n_iter <= 10
    assert np.abs(problem.expand(solution.coef).gradient).max() < 1e-15


def test_newton_starts_where_it_is_told():
    A, y, s = instance(seed=8)
    problem = make_problem(SquaredHinge(), A, y, 0.01, s)
    coef = solve(NewtonSolver(), problem).coef
    again = NewtonSolver().solve(problem, coef)
    assert again.n_iter == 0
    assert again.status is Status.CONVERGED
    np.testing.assert_array_equal(again.coef, coef)


@pytest.mark.parametrize(("loss", "solver"), EXACT + GRADIENT + ADMM, ids=repr)
def test_history_is_kept_only_when_asked_for(loss, solver):
    A, y, s = instance(seed=9)
    silent = solve(solver, make_problem(loss, A, y, 0.01, s))
    told = solve(type(solver)(keep_history=True), make_problem(loss, A, y, 0.01, s))
    np.testing.assert_allclose(told.coef, silent.coef, rtol=1e-9, atol=1e-12)
    assert silent.history == ()
    assert told.n_iter == silent.n_iter
    # ADMM tells of its iterates, the others also of their start.
    assert len(told.history) == told.n_iter + (not isinstance(solver, AdmmSolver))
    assert told.history[-1].objective == pytest.approx(told.objective, abs=1e-15)
    seconds = [line.seconds for line in told.history]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [(loss, solver) for loss, solver in EXACT + GRADIENT if not isinstance(loss, Hinge)],
    ids=repr,
)
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_objective_never_rises_under_newton_and_gradient_descent(loss, solver, l2):
    A, y, s = instance(seed=10)
    solution = solve(type(solver)(keep_history=True), make_problem(loss, A, y, l2, s))
    objectives = [line.objective for line in solution.history]
    assert len(objectives) > 1
    assert (np.diff(objectives) <= 1e-15).all()


@each_pair
def test_too_few_iterations_are_reported(loss, solver):
    A, y, s = instance(seed=11)
    solution = solve(type(solver)(max_iter=0), make_problem(loss, A, y, 0.01, s))
    assert solution.status is Status.NOT_CONVERGED
    assert solution.n_iter == 0
    assert np.isfinite(solution.coef).all()


@each_pair
def test_solving_changes_neither_the_start_nor_the_solver(loss, solver):
    A, y, s = instance(seed=12)
    problem, parameters = make_problem(loss, A, y, 0.01, s), solver.get_params()
    start = np.full(A.shape[1], 0.1)
    solver.solve(problem, start)
    assert (start == 0.1).all()
    assert vars(solver) == parameters


class Plain(Loss):
    """A loss with no more than the least contract."""

    def value(self, y, f):
        return np.exp(-y * f)

    def gradient(self, y, f):
        return -y * np.exp(-y * f)

    def initial(self, y, weights):
        return 0.0


@pytest.mark.parametrize(
    ("solver", "accepted"),
    [
        (NewtonSolver(), {SquaredHinge, Square, CubedHinge, HuberisedSquaredHinge}),
        (GradientDescentSolver(), {SquaredHinge, Square, HuberisedSquaredHinge}),
        (InteriorPointSolver(), {Hinge}),
        (AdmmSolver(), {SquaredHinge, Square, CubedHinge, Hinge, HuberisedSquaredHinge}),
    ],
    ids=["newton", "gradient_descent", "interior_point", "admm"],
)
def test_solvers_accept_the_losses_that_offer_what_they_need(solver, accepted):
    kinds = (SquaredHinge, Square, CubedHinge, Hinge, HuberisedSquaredHinge, Plain)
    assert {kind for kind in kinds if solver.accepts(kind())} == accepted


@pytest.mark.parametrize(
    ("solver", "loss", "message"),
    [
        ("newton", Hinge(), r"NewtonSolver cannot .* Hinge: .*second derivative.*interior_point"),
        ("interior_point", SquaredHinge(), r"needs the hinge.*newton.*admm.*gradient_descent"),
        ("gradient_descent", CubedHinge(), r"Lipschitz constant.*newton.*admm"),
        (AdmmSolver(), Plain(), r"AdmmSolver cannot minimise Plain: it needs a proximal map"),
    ],
)
def test_a_pair_that_cannot_work_is_refused_with_the_alternatives(solver, loss, message):
    with pytest.raises(ValueError, match=message):
        make_solver(solver, loss)


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        (SquaredHinge(), NewtonSolver),
        (Hinge(), InteriorPointSolver),
        (HuberisedSquaredHinge(), NewtonSolver),
    ],
)
def test_the_automatic_solver_is_an_exact_one(loss, kind):
    assert type(make_solver("auto", loss)) is kind


def test_the_hinge_without_ridge_is_followed_down_to_its_minimum():
    X, y = make_simulation(200, noise=None, random_state=2)
    classifier = FCGBoostClassifier("sigmoid", loss="hinge", l2=0, max_iter=1, random_state=2)
    classifier.fit(X, y)
    columns = np.column_stack([np.ones(200), classifier.model_.columns(X)])
    # The linear program: slacks of at least 0 and at least 1 - margin.
    margins = sparse.hstack([sparse.csr_array(-y[:, None] * columns), -sparse.eye_array(200)])
    costs = np.concatenate([np.zeros(2), np.full(200, 1.0 / 200)])
    bounds = [(None, None)] * 2 + [(0.0, None)] * 200
    program = linprog(costs, margins, -np.ones(200), bounds=bounds)
    assert classifier.trace_[-1].objectives[0] <= program.fun + 1e-8
