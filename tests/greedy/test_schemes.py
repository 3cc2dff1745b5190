"""Every update rule against its formula, written as a loop with a general-purpose minimiser."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import (
    Epsilon,
    FullyCorrective,
    Original,
    Rescaled,
    Scheme,
    Shrinkage,
    Truncation,
    line_search,
)
from fcgboost.losses import CubedHinge, Hinge, Loss, Square, SquaredHinge
from fcgboost.solvers import NewtonSolver
from fcgboost.solvers.base import Problem, Solution
from tests.suites.marks import also
from tests.suites.paths import fit_one, make_recipe
from tests.suites.solvers import MatrixDictionary, make_problem
from tests.suites.strategies import seeds, simulation

LOSSES = [SquaredHinge(), Square(), CubedHinge(), Hinge()]
CURVED = LOSSES[:3]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


class Scene(NamedTuple):
    """A matrix whose columns are the candidates, labels and weights."""

    A: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def risk(self, loss: Loss, f: np.ndarray) -> float:
        """Give the weighted mean loss."""
        return float(np.sum(self.weights * loss.value(self.y, f)) / np.sum(self.weights))

    def slopes(self, loss: Loss, f: np.ndarray) -> np.ndarray:
        """Give the inner products of the gradient with all columns."""
        return self.A.T @ (self.weights * loss.gradient(self.y, f)) / np.sum(self.weights)


def make_scene(seed: int, m: int = 40, n: int = 12, size: float = 1.0) -> Scene:
    rng = np.random.default_rng(seed)
    A = size * rng.standard_normal((m, n))
    y = np.where(A[:, :3].sum(axis=1) + size * rng.standard_normal(m) > 0.3 * size, 1.0, -1.0)
    return Scene(A, y, rng.uniform(0.5, 2.0, m))


def naive_line_search(scene: Scene, loss: Loss, f: np.ndarray, g: np.ndarray) -> float:
    found = minimize_scalar(lambda b: scene.risk(loss, f + b * g), method="brent", tol=1e-12)
    return float(found.x)


class Rule(NamedTuple):
    """A scheme, and how it turns f into (1 - a) f + b g; search(f) is the exact line search."""

    scheme: Scheme
    contraction: Callable[[int], float]
    length: Callable[[int, float], float]


def keep(k: int) -> float:
    return 0.0


def two_over_k_plus_two(k: int) -> float:
    return 2.0 / (k + 2.0)


RULES = {
    "original": Rule(Original(), keep, lambda k, b: b),
    "shrinkage": Rule(Shrinkage(), keep, lambda k, b: 0.1 * b),
    "shrinkage-half": Rule(Shrinkage(nu=0.5), keep, lambda k, b: 0.5 * b),
    "truncation": Rule(
        Truncation(), keep, lambda k, b: float(np.sign(b)) * min(abs(b), k ** (-2 / 3))
    ),
    "truncation-early": Rule(
        Truncation(c=0.05), keep, lambda k, b: float(np.sign(b)) * min(abs(b), 0.05 * k ** (-2 / 3))
    ),
    "epsilon": Rule(Epsilon(), keep, lambda k, b: 0.01 * float(np.sign(b))),
    "rescaled": Rule(Rescaled(), two_over_k_plus_two, lambda k, b: b),
}
SCHEMES: list[Scheme] = [
    FullyCorrective(NewtonSolver()),
    *(rule.scheme for rule in RULES.values()),
]
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
each_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=repr)


def run(scene: Scene, scheme: Scheme, loss: Loss, n_steps: int = 10, **changes: Any) -> Trace:
    """Let the package choose among the columns of the scene."""
    design = MemoryDesign(MatrixDictionary(), scene.A, scene.weights, standardize=False)
    recipe = make_recipe(loss=loss, scheme=scheme, max_iter=n_steps, **changes)
    trace, _ = fit_one(design, [scene.y], recipe)
    return trace


def coefficients(trace: Trace, k: int, n: int) -> np.ndarray:
    """Give the coefficients after step k, of all candidates."""
    return trace[k - 1].coef[0] @ trace.atoms[: trace[k - 1].n_atoms, :n]


@pytest.mark.covering
@pytest.mark.parametrize("fit_intercept", [False, True])
@each_loss
@each_rule
def test_ten_steps_follow_the_rule(rule: Rule, loss: Loss, fit_intercept: bool) -> None:
    scene = make_scene(seed=1)
    trace = run(scene, rule.scheme, loss, fit_intercept=fit_intercept)
    constant = loss.initial(scene.y, scene.weights) if fit_intercept else 0.0
    u = np.zeros(12)
    for k, step in enumerate(trace, start=1):
        rescaled = (1.0 - rule.contraction(k)) * u
        slopes = np.abs(scene.slopes(loss, constant + scene.A @ u))
        j = int(trace.atoms[step.chosen[0]].argmax())
        # A line search leaves the hinge at a kink, where either slope is right.
        if not isinstance(loss, Hinge):
            assert j == slopes.argmax()
            assert step.scores[0] == pytest.approx(slopes.max(), abs=1e-5)
        f, g = constant + scene.A @ rescaled, scene.A[:, j]
        u = rescaled
        u[j] += rule.length(k, naive_line_search(scene, loss, f, g))
        np.testing.assert_allclose(coefficients(trace, k, 12), u, atol=2e-6)
        assert step.objectives[0] == pytest.approx(scene.risk(loss, constant + scene.A @ u))
        assert step.intercept[0] == constant


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", CURVED, ids=repr)
def test_ten_steps_follow_full_correction(loss: Loss, fit_intercept: bool) -> None:
    scene, l2 = make_scene(seed=2), 0.01
    trace = run(scene, SCHEMES[0], loss, fit_intercept=fit_intercept, l2=l2)
    constant, u, active = loss.initial(scene.y, scene.weights) * fit_intercept, np.zeros(12), []
    for k in range(1, 11):
        slopes = np.abs(scene.slopes(loss, constant + scene.A @ u))
        slopes[active] = 0.0
        active.append(int(np.argmax(slopes)))
        B = scene.A[:, active]

        def objective(v: np.ndarray, B: np.ndarray = B) -> float:
            return scene.risk(loss, v[0] * fit_intercept + B @ v[1:]) + l2 * np.sum(v[1:] ** 2)

        found = minimize(objective, np.zeros(k + 1), method="BFGS", options={"gtol": 1e-7})
        constant, u[active] = found.x[0] * fit_intercept, found.x[1:]
        np.testing.assert_allclose(coefficients(trace, k, 12), u, atol=1e-5)
        assert trace[k - 1].objectives[0] == pytest.approx(found.fun, abs=1e-9)
        assert trace[k - 1].intercept[0] == pytest.approx(constant, abs=1e-5)


@given(seed=seeds, loss=st.sampled_from(LOSSES), has_constant=st.booleans())
def test_the_line_search_finds_the_minimum(seed: int, loss: Loss, has_constant: bool) -> None:
    rng = np.random.default_rng(seed)
    scene = make_scene(seed, m=int(rng.integers(1, 30)), n=3, size=10.0 ** rng.integers(-3, 4))
    problem = make_problem(loss, scene.A, scene.y, 0.3, scene.weights, has_constant)
    coef = rng.standard_normal(problem.columns.n_columns)
    newest = problem.columns.n_columns - 1
    f, g = problem.columns.A @ coef, scene.A[:, -1]
    b = line_search(problem, coef, newest)
    assert isinstance(b, float)
    least = scene.risk(loss, f + naive_line_search(scene, loss, f, g) * g)
    assert scene.risk(loss, f + b * g) <= least * (1.0 + 1e-12) + 1e-14 * scene.risk(loss, f)


@given(seed=seeds, loss=st.sampled_from(CURVED))
def test_the_line_search_ends_where_the_slope_vanishes(seed: int, loss: Loss) -> None:
    scene = make_scene(seed, n=2)
    problem = make_problem(loss, scene.A, scene.y, 0.0, scene.weights)
    coef = np.array([0.5, 0.0])
    start = scene.slopes(loss, problem.columns.A @ coef)[1]
    coef[1] = line_search(problem, coef, 1)
    end = scene.slopes(loss, problem.columns.A @ coef)[1]
    assert abs(end) <= 1e-12 * abs(start)
    assert coef[1] * start <= 0.0


@each_loss
def test_the_line_search_agrees_with_brute_force(loss: Loss) -> None:
    scene = make_scene(seed=5, m=15, n=1)
    problem = make_problem(loss, scene.A, scene.y, 0.0, scene.weights)
    b = line_search(problem, np.zeros(1), 0)
    grid = np.linspace(-3.0, 3.0, 60_001)
    risks = scene.weights @ loss.value(scene.y[:, None], scene.A * grid)
    assert b == pytest.approx(grid[np.argmin(risks)], abs=1.01e-4)


@each_loss
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_flat_end_is_a_minimum(loss: Loss, sign: float) -> None:
    rng = np.random.default_rng(6)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    sizes = np.ones(30) if isinstance(loss, Square) else rng.uniform(1e-3, 1.0, 30)
    problem = make_problem(loss, (sign * y * sizes)[:, None], y, 0.0)
    b = line_search(problem, np.zeros(1), 0)
    assert sign * b == pytest.approx(1.0 / sizes.min(), rel=1e-4)
    assert problem.objective(np.array([b])) <= 1e-12


@each_loss
def test_no_slope_means_no_move(loss: Loss) -> None:
    A, y = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    assert line_search(make_problem(loss, A, y, 0.0), np.zeros(1), 0) == 0.0
    assert line_search(make_problem(loss, 0.0 * A, y, 0.0), np.zeros(1), 0) == 0.0


@given(seed=seeds, loss=st.sampled_from(LOSSES), fit_intercept=st.booleans())
def test_exact_line_searches_never_increase_the_objective(
    seed: int, loss: Loss, fit_intercept: bool
) -> None:
    scene = make_scene(seed, m=20, n=6)
    for scheme in (Original(), Truncation(), Truncation(c=0.01), Shrinkage()):
        trace = run(scene, scheme, loss, n_steps=15, fit_intercept=fit_intercept)
        start = scene.risk(loss, np.full(20, trace.start[0]))
        objectives = np.append(start, trace.column("objectives"))
        assert (np.diff(objectives) <= 1e-13).all()


def test_truncation_binds_for_small_atoms_and_not_with_a_large_bound() -> None:
    scene, loss = make_scene(seed=7, size=0.05), SquaredHinge()
    bound = run(scene, Truncation(), loss, n_steps=30)
    lengths = np.arange(1, 31) ** (-2.0 / 3.0)
    jumps = np.diff([coefficients(bound, k, 12) for k in range(1, 31)], axis=0)
    np.testing.assert_allclose(np.abs(jumps).sum(axis=1)[:8], lengths[1:9], rtol=1e-12)
    free = run(scene, Original(), loss, n_steps=30)
    assert np.abs(coefficients(free, 1, 12)).max() > 1.0
    loose = run(scene, Truncation(c=1e6), loss, n_steps=30)
    for k in range(30):
        np.testing.assert_array_equal(loose[k].coef, free[k].coef)


@pytest.mark.parametrize(
    ("width", "binds"), [(0.1, True), (0.35, False), *also((0.2, True), (1.0, False))]
)
def test_truncation_binds_on_the_simulation_for_narrow_atoms_only(
    width: float, binds: bool
) -> None:
    data = simulation(1000, 0.3, seed=0)
    dictionary = GaussDictionary(width=width, centers="box")
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=False)
    paths = [
        fit_one(design, [data.y], make_recipe(scheme=scheme, max_iter=300))[0]
        for scheme in (Original(), Truncation())
    ]
    free, bound = (path.column("objectives") for path in paths)
    assert np.array_equal(free, bound) != binds


def test_epsilon_moves_in_steps_of_one_size() -> None:
    scene = make_scene(seed=8)
    trace = run(scene, Epsilon(epsilon=0.02), SquaredHinge(), n_steps=50)
    before = np.zeros(12)
    for k in range(1, 51):
        after = coefficients(trace, k, 12)
        np.testing.assert_allclose(np.sort(np.abs(after - before))[:-1], 0.0, atol=1e-15)
        assert np.abs(after - before).max() == pytest.approx(0.02)
        before = after


@each_scheme
def test_the_constant_moves_under_full_correction_only(scheme: Scheme) -> None:
    scene, loss = make_scene(seed=10), SquaredHinge()
    trace = run(scene, scheme, loss, n_steps=10, fit_intercept=True, l2=0.1)
    start = loss.initial(scene.y, scene.weights)
    assert start != 0.0
    assert trace.start[0] == pytest.approx(start, rel=1e-14)
    moved = np.abs(trace.column("intercept") - trace.start[0])
    assert (moved > 1e-6).all() if isinstance(scheme, FullyCorrective) else not moved.any()


@each_scheme
def test_a_column_chosen_again_is_not_stored_twice(scheme: Scheme) -> None:
    scene = make_scene(seed=11, n=4)
    trace = run(scene, scheme, SquaredHinge(), n_steps=20)
    assert len(trace.atoms) <= 4
    assert len(np.unique(trace.atoms, axis=0)) == len(trace.atoms)
    assert len(trace) == (4 if isinstance(scheme, FullyCorrective) else 20)


@each_scheme
def test_schemes_are_parameter_objects(scheme: Scheme) -> None:
    before = dict(vars(scheme))
    trace = run(make_scene(seed=13), scheme, SquaredHinge())
    assert vars(scheme) == before
    for twin in (clone(scheme), pickle.loads(pickle.dumps(scheme))):
        assert repr(twin) == repr(scheme)
        again = run(make_scene(seed=13), twin, SquaredHinge())
        np.testing.assert_array_equal(again[-1].coef, trace[-1].coef)


def test_weights_count_as_repetitions_in_every_scheme() -> None:
    rng = np.random.default_rng(14)
    scene = make_scene(seed=14)._replace(weights=rng.integers(1, 4, 40).astype(float))
    rows = np.repeat(np.arange(40), scene.weights.astype(int))
    repeated = Scene(scene.A[rows], scene.y[rows], np.ones(len(rows)))
    for scheme, loss in product(SCHEMES, CURVED):
        first, second = (run(some, scheme, loss, l2=0.01) for some in (scene, repeated))
        np.testing.assert_allclose(second[-1].coef, first[-1].coef, rtol=1e-9, atol=1e-12)


class Halved(FullyCorrective):
    """Full correction that goes only half of the way."""

    def update(self, problem: Problem, coef: np.ndarray, newest: int, k: int) -> Solution:
        """Return the middle of where it was and the solution."""
        solution = super().update(problem, coef, newest, k)
        half = (coef + solution.coef) / 2.0
        return replace(solution, coef=half, objective=problem.objective(half))


def test_a_scheme_derived_from_full_correction_is_used() -> None:
    X, y = make_simulation(200, random_state=0)
    plain, halved = (
        FCGBoostClassifier("relu", scheme=scheme, max_iter=5, random_state=0).fit(X, y)
        for scheme in (FullyCorrective(), Halved())
    )
    first = [model.trace_[0].coef[0, 0] for model in (plain, halved)]
    assert first[1] == pytest.approx(first[0] / 2.0)


def test_solutions_are_not_to_be_changed_in_place() -> None:
    X, y = make_simulation(50, random_state=0)
    design = MemoryDesign(ReluDictionary(), X, np.ones(50), standardize=True)
    columns = design.columns(y, SquaredHinge(), 2, has_constant=True)
    columns.append(design.dictionary.candidates(design.sample(1, 0), 1, 0))
    solution = NewtonSolver().solve(Problem(columns, 0, 0.1), np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        solution.coef[0] = 1.0
