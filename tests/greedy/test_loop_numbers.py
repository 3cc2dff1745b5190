"""Paths that fit numbers: where corrections end, bandwidths, threads, and workers."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from fcgboost import hashing
from fcgboost.backends.cluster import shard
from fcgboost.designs.base import Design, Point
from fcgboost.designs.columns import start_of
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary, ReluDictionary, TreeDictionary
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.losses import Huber, Loss, Poisson, Quantile, Square
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers import AdmmSolver, GradientDescentSolver, NewtonSolver
from fcgboost.threads import shared
from fcgboost.training.tasks import Classification
from tests.suites.naive_trees import Naive
from tests.suites.paths import columns_chosen, fit_one, make_recipe, run_on_matrix
from tests.suites.solvers import make_problem
from tests.suites.workers import lay, make_workers

LOSSES = [Square(), Huber(0.3), Quantile(0.5), Quantile(0.9, 0.2), Poisson()]
TREES = TreeDictionary(6, min_leaf=2, smoothing=1.0, max_leaf_nodes=9, corrects_leaves=True)
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def make_rows(n: int, n_numbers: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and counts, or positive numbers of which few are distinct."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    rate = np.exp(0.7 * X[:, 0] - 0.5 * np.abs(X[:, 1]))
    return X, rng.poisson(rate) + (0.0 if n_numbers else 0.3 * rng.random(n))


def learned(design: Design, target: Any, loss: Loss, **changes: Any) -> Trace:
    given = {"l2": 1e-3, "fit_intercept": True, "max_iter": 8, "selection": LearnedCandidates(40)}
    return fit_one(design, [target], make_recipe(**{**given, "loss": loss, **changes}))[0]


def losses_of(loss: Loss, trace: Trace, start: float) -> list[Loss]:
    """Give the loss of every step."""
    narrowed = []
    for objective in (start, *trace.column("objectives")[:-1, 0]):
        loss = loss.narrowed(objective)
        narrowed.append(loss)
    return narrowed


@each_loss
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_correction_ends_where_another_solver_does(loss: Loss, fit_intercept: bool) -> None:
    rng = np.random.default_rng(3)
    A, s = rng.standard_normal((80, 30)), rng.uniform(0.5, 2.0, 80)
    y = rng.poisson(np.exp(0.5 * A[:, 0] - 0.3 * A[:, 3])) + rng.random(80)
    l2, shares = 0.01, s / s.sum()
    changes = {"loss": loss, "l2": l2, "fit_intercept": fit_intercept, "max_iter": 8}
    trace, _ = run_on_matrix(A, y, s, **changes)
    at_last = losses_of(loss, trace, start_of(loss, y, s, fit_intercept).risk)[-1]
    B = np.column_stack([np.full(80, float(fit_intercept)), A[:, columns_chosen(trace)]])
    penalty = np.append(0.0, np.full(8, l2))

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        f = B @ u
        gradient = B.T @ (shares * at_last.gradient(y, f)) + 2.0 * penalty * u
        return shares @ at_last.value(y, f) + penalty @ u**2, gradient

    coef = np.append(trace[-1].intercept, trace[-1].coef[0])
    reached, slope = objective(coef)
    assert reached == pytest.approx(trace[-1].objectives[0], rel=1e-12)
    assert np.abs(slope).max() <= 1e-9
    other = minimize(objective, 0.0 * coef, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert reached <= other.fun + 1e-12
    assert (np.diff(trace.column("objectives")[:, 0]) <= 1e-12).all()


@each_loss
def test_leaves_of_numbers_are_corrected_to_the_minimum(loss: Loss) -> None:
    X, y = make_rows(300)
    design = MemoryDesign(TREES, X, np.ones(300), standardize=True)
    trace = learned(design, y, loss, scheme=FullyCorrective(NewtonSolver(1e-9)), max_iter=4)
    at_last = losses_of(loss, trace, start_of(loss, y, np.ones(300), True).risk)
    leaves = [TREES.leaves(X, trace.atoms[j : j + 1]) for j in range(4)]
    coef = np.concatenate([trace[-1].intercept, *trace[-1].leaves])
    B = np.column_stack([np.ones(300), *(np.eye(9)[codes] for codes in leaves)])
    slopes = B.T @ at_last[-1].gradient(y, B @ coef) / 300.0
    assert abs(slopes[0]) <= 1e-8
    if not isinstance(loss, Quantile):
        np.testing.assert_allclose(slopes[1:] + 2e-3 * coef[1:], 0.0, atol=1e-8)


def test_the_bandwidth_shrinks_along_a_path_and_a_resumed_path_has_it() -> None:
    X, y = make_rows(400)
    design = MemoryDesign(ReluDictionary(), X, np.ones(400), standardize=True)
    recipe = make_recipe(loss=Quantile(0.7), l2=1e-4, fit_intercept=True, max_iter=20)
    whole, _ = fit_one(design, [y], recipe)
    risk = start_of(Quantile(0.7), y, np.ones(400), True).risk
    widths = [loss.get_params()["bandwidth"] for loss in losses_of(Quantile(0.7), whole, risk)]
    assert widths[-1] < 0.7 * widths[0]
    assert (np.diff(whole.column("objectives")[:, 0]) <= 1e-12).all()
    half, _ = fit_one(design, [y], make_recipe(**{**vars(recipe), "max_iter": 10}))
    resumed, _ = fit_one(design, [y], recipe, resume=half)
    np.testing.assert_array_equal(resumed.atoms, whole.atoms)
    np.testing.assert_allclose(resumed[-1].coef, whole[-1].coef, atol=1e-7)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_fitted_quantiles_have_their_share_below(q: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (4000, 2))
    noise = (1.5 + X[:, 0]) * rng.standard_normal(4000)
    y = np.sin(2.0 * X[:, 1]) + noise
    design = MemoryDesign(ReluDictionary(), X[:2000], np.ones(2000), standardize=True)
    trace = learned(design, y[:2000], Quantile(q), max_iter=12, l2=1e-2)
    f = (
        trace[-1].intercept[0]
        + design.dictionary.evaluate(X, trace.atoms, design.scale) @ trace[-1].coef[0]
    )
    exact = np.sin(2.0 * X[:, 1]) + (1.5 + X[:, 0]) * np.quantile(rng.standard_normal(10**6), q)
    held_out = slice(2000, None)
    assert np.mean(y[:2000] <= f[:2000]) == pytest.approx(q, abs=0.01)
    assert np.mean(y[held_out] <= f[held_out]) == pytest.approx(q, abs=0.03)
    pinball = Quantile(q, 1e-9)
    risks = [pinball.value(y[held_out], at[held_out]).mean() for at in (f, exact)]
    assert risks[0] <= 1.03 * risks[1]


@each_loss
def test_sums_and_trees_weigh_rows_by_the_curvature(loss: Loss) -> None:
    X, y = make_rows(200)
    weights = np.random.default_rng(2).integers(1, 4, 200).astype(float)
    design = MemoryDesign(TREES, X, weights, standardize=False)
    columns = design.columns(y, loss, 5, has_constant=True)
    f = np.full(200, 0.4)
    residuals = design.residuals([Point(columns, 0, np.array([0.4]))])
    r = -loss.gradient(y, f) * weights / weights.sum()
    h = weights * loss.stiffness(y, f, loss.gradient(y, f))
    np.testing.assert_allclose(residuals.matrix[:, 0], r, rtol=1e-12)
    np.testing.assert_allclose(residuals.weights[:, 0], h, rtol=1e-14)
    if isinstance(loss, Poisson):
        np.testing.assert_allclose(h, weights * np.exp(0.4) / 2.0, rtol=1e-14)
    trees, sums = design.grow(residuals)
    values = design.evaluate(trees)[:, 0]
    found = [sums.dots[0, 0], sums.firsts[0, 0], sums.squares[0, 0], sums.active[0]]
    expected = [r @ values, h @ values, h @ values**2, h.sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_trees_of_a_poisson_loss_are_those_of_the_naive_grower() -> None:
    X, y = make_rows(200)
    trees = TreeDictionary(3, min_leaf=4, smoothing=2.0, corrects_leaves=True)
    design = MemoryDesign(trees, X, np.ones(200), standardize=False)
    columns = design.columns(y, Poisson(), 5, has_constant=True)
    columns.append(
        trees.trimmed(design.grow(design.residuals([Point(columns, 0, np.zeros(1))]))[0])
    )
    point = Point(columns, 0, np.random.default_rng(0).standard_normal(columns.n_columns))
    residuals = design.residuals([point])
    h = residuals.weights[:, 0]
    assert np.ptp(h) > 1.0
    naive = Naive(X, residuals.matrix[:, 0], h, trees.get_params(), [False] * 4).grow(3)
    atom = design.grow(residuals)[0]
    splits = np.asarray(naive).reshape(-1, 4)
    np.testing.assert_allclose(atom.reshape(-1, 4)[: len(splits), 0], splits[:, 0])
    is_split = splits[:, 0] >= 0
    np.testing.assert_allclose(
        atom.reshape(-1, 4)[: len(splits)][is_split], splits[is_split], rtol=1e-12
    )


@pytest.mark.parametrize("loss", [Quantile(0.5), Poisson()], ids=repr)
@pytest.mark.parametrize("dictionary", [TREES, ReluDictionary()], ids=["leaves", "relu"])
def test_threads_change_no_bit_of_a_path_of_numbers(dictionary: Dictionary, loss: Loss) -> None:
    X, y = make_rows(20_000)
    paths = []
    for n_threads in (1, 2, 3, 7):
        with shared.ours(n_threads):
            design = MemoryDesign(dictionary, X, np.ones(20_000), True, n_threads=n_threads)
            trace = learned(design, y, loss, max_iter=3)
        paths.append((trace.atoms, trace[-1].coef, trace[-1].intercept, *trace[-1].leaves))
    for other in paths[1:]:
        for first, second in zip(paths[0], other, strict=True):
            np.testing.assert_array_equal(first, second)


@each_loss
@pytest.mark.parametrize("dictionary", [TREES, ReluDictionary()], ids=["leaves", "relu"])
def test_workers_fit_numbers_as_memory_does(
    dictionary: Dictionary, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_rows(300, n_numbers=9)
    in_order = hashing.order_of(hashing.fingerprint(X))
    X, y = X[in_order], y[in_order]
    numbers, codes = np.unique(y, return_inverse=True)
    monkeypatch.setattr(Classification, "targets", lambda _, target: [0.5 * numbers[target]])
    workers = make_workers(X, codes, np.ones(300), [40, 170], 2)
    there = lay(workers, dictionary, True, len(numbers))
    here = MemoryDesign(dictionary, X, np.ones(300), standardize=True)
    changes = {"max_iter": 4, "selection": LearnedCandidates(40, max_rows=300)}
    found, expected = (
        learned(design, target, loss, **changes) for design, target in ((there, 0), (here, 0.5 * y))
    )
    np.testing.assert_allclose(found.start, expected.start, atol=1e-9)
    objectives = [trace.column("objectives") for trace in (found, expected)]
    np.testing.assert_allclose(objectives[0], objectives[1], rtol=1e-6)


def test_other_solvers_fit_numbers_too() -> None:
    rng = np.random.default_rng(6)
    A, y = rng.standard_normal((60, 4)), 3.0 + rng.standard_normal(60)
    for loss, solver in (
        (Square(), AdmmSolver(alpha=1e-9, gamma=1.0 / 60.0, max_iter=5000)),
        (Square(), GradientDescentSolver()),
        (Huber(0.5), GradientDescentSolver()),
        (Quantile(0.3), GradientDescentSolver()),
    ):
        problem = make_problem(loss, A, y, 0.05)
        expected = NewtonSolver().solve(problem, np.zeros(4)).coef
        found = solver.solve(problem, np.zeros(4))
        np.testing.assert_allclose(found.coef, expected, atol=1e-6)


def test_many_targets_on_workers_are_means_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "_MOST_TARGETS", 32)
    X, y = make_rows(300)
    numbers, codes = np.unique(y, return_inverse=True)
    monkeypatch.setattr(Classification, "targets", lambda _, target: [numbers[target]])
    there = lay(make_workers(X, codes, np.ones(300), [40, 170]), TREES, True, len(numbers))
    for loss in LOSSES:
        found = there.columns(0, loss, 1, has_constant=True).start()
        expected = start_of(loss, y, np.ones(300), True)
        np.testing.assert_allclose(found, expected, rtol=0.1)
        if isinstance(loss, Square | Poisson):
            assert found.constant == pytest.approx(expected.constant, rel=1e-12)


class PlainSquare(Square):
    """A square that the compiled library does not know."""


@pytest.mark.parametrize("dictionary", [TREES, ReluDictionary()], ids=["leaves", "relu"])
def test_the_compiled_square_is_the_generic_one(dictionary: Dictionary) -> None:
    X, y = make_rows(300)
    weights = np.random.default_rng(4).uniform(0.5, 2.0, 300)
    design = MemoryDesign(dictionary, X, weights, standardize=True)
    compiled, generic = (learned(design, y, loss) for loss in (Square(), PlainSquare()))
    np.testing.assert_allclose(
        compiled.column("objectives"), generic.column("objectives"), rtol=1e-6
    )
    np.testing.assert_allclose(compiled.start, generic.start, rtol=1e-14)
