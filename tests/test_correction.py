"""What the correction keeps from step to step changes its time, and not its results."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from strategies import Data, seeds, simulation
from suites.paths import make_recipe, run_on_matrix
from suites.solvers import empty_columns, make_problem, solve

from fcgboost.backends import columns as columns_module
from fcgboost.backends.columns import KeptGram
from fcgboost.backends.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary, GaussDictionary, ReluDictionary, SigmoidDictionary
from fcgboost.greedy import fit_path
from fcgboost.losses import CubedHinge, Loss, Square, SquaredHinge
from fcgboost.schemes import Rescaled
from fcgboost.solvers import NewtonSolver, Problem
from fcgboost.solvers.base import KeptFactor
from fcgboost.stopping import Status
from fcgboost.trace import Trace

M = 240
DATA = simulation(M, 0.2, seed=4)
LOSSES: list[Loss] = [SquaredHinge(), Square(), CubedHinge()]
DICTIONARIES: list[Dictionary] = [
    GaussDictionary(width=0.4),
    ReluDictionary(),
    SigmoidDictionary(scaling="norm"),
]


def run(data: Data, dictionary: Dictionary, **changes: Any) -> tuple[Trace, MemoryDesign]:
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=True)
    usual = {"n_candidates": len(data.y), "fit_intercept": True, "max_iter": 25}
    trace, _ = fit_path(design, [data.y], make_recipe(**{**usual, **changes}))
    return trace, design


def fresh_problem(data: Data, design: MemoryDesign, atoms: Any, loss: Loss, l2: float) -> Problem:
    """Give the problem of a step over a design and columns that know of no step before."""
    new = MemoryDesign(design.dictionary, data.X, data.weights, standardize=True)
    columns = new.columns(len(atoms), has_constant=True)
    if len(atoms):
        columns.append(atoms)
    return Problem(loss, data.y, data.weights, columns, l2)


@pytest.mark.covering
@pytest.mark.parametrize("l2", [1.0 / M, 1e-8 / M, 0.0], ids=["ridge", "little ridge", "no ridge"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
def test_every_step_is_a_fresh_solve(dictionary: Dictionary, loss: Loss, l2: float) -> None:
    trace, design = run(DATA, dictionary, loss=loss, l2=l2)
    assert len(trace) == 25
    for step in trace:
        problem = fresh_problem(DATA, design, trace.atoms[: step.n_atoms], loss, l2)
        fresh = solve(NewtonSolver(), problem)
        kept = np.append(step.intercept, step.coef[0]) / problem.columns.factors
        assert step.objectives[0] == pytest.approx(problem.objective(kept), rel=1e-12)
        assert step.is_corrected
        assert fresh.status is Status.CONVERGED
        # The cube is flat where it ends: its objective, 1e-10 of the gradient away, is less sharp.
        precision = 1e-9 if isinstance(loss, CubedHinge) else 1e-12
        assert step.objectives[0] == pytest.approx(fresh.objective, rel=precision)
        if l2 == 1.0 / M:
            np.testing.assert_allclose(kept, fresh.coef, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("l2", [1.0 / M, 1e-8 / M])
@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
def test_every_step_of_the_square_loss_is_ridge_regression(
    dictionary: Dictionary, l2: float
) -> None:
    data = Data(DATA.X, DATA.y, np.random.default_rng(0).integers(1, 4, M).astype(float))
    trace, design = run(data, dictionary, loss=Square(), l2=l2)
    for step in trace:
        problem = fresh_problem(data, design, trace.atoms[: step.n_atoms], Square(), l2)
        A = np.column_stack([problem.columns.column(j) for j in range(step.n_atoms + 1)])
        shares = np.sqrt(data.weights / data.weights.sum())
        ridge = np.sqrt(l2) * np.eye(A.shape[1])[1:]
        stacked = np.vstack([shares[:, None] * A, ridge])
        right = np.concatenate([shares * data.y, np.zeros(len(ridge))])
        coef, *_ = np.linalg.lstsq(stacked, right, rcond=None)
        objective = float(np.sum((stacked @ coef - right) ** 2))
        assert step.objectives[0] == pytest.approx(objective, rel=1e-12)
        if l2 == 1.0 / M:
            kept = np.append(step.intercept, step.coef[0]) / problem.columns.factors
            np.testing.assert_allclose(kept, coef, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("l2", [1.0 / 90, 1e-8 / 90, 0.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_columns_that_repeat_others_are_corrected_as_in_a_fresh_solve(
    loss: Loss, l2: float
) -> None:
    rng = np.random.default_rng(2)
    base = rng.standard_normal((90, 6))
    y = np.where(base[:, 0] + base[:, 1] + rng.standard_normal(90) > 0.0, 1.0, -1.0)
    mixed = base @ rng.standard_normal((6, 4))
    A = np.column_stack([base, base[:, ::-1], -base[:, :3], mixed, base + 1e-9 * mixed[:, :1]])
    columns = empty_columns(A, np.ones(90))
    problem = Problem(loss, y, np.ones(90), columns, l2)
    coef = np.zeros(0)
    for k in range(A.shape[1]):
        columns.append(np.eye(A.shape[1])[[k]])
        kept = NewtonSolver().solve(problem, np.append(coef, 0.0))
        fresh = solve(NewtonSolver(), make_problem(loss, A[:, : k + 1], y, l2))
        # A gradient g leaves |g|^2 / (4 l2) of the objective at most.
        is_sharp = l2 != 1e-8 / 90 and not isinstance(loss, CubedHinge)
        precision = 1e-12 if is_sharp else 1e-9
        assert kept.objective == pytest.approx(fresh.objective, rel=precision)
        assert kept.objective == pytest.approx(problem.objective(kept.coef), rel=1e-13)
        assert kept.status is Status.CONVERGED
        coef = kept.coef


def test_an_atom_chosen_again_is_corrected_as_the_first_time() -> None:
    trace, design = run(DATA, GaussDictionary(width=0.4), reselect=True, scheme=Rescaled())
    chosen = [int(step.chosen[0]) for step in trace]
    assert len(set(chosen)) < len(chosen)
    for step in trace:
        problem = fresh_problem(DATA, design, trace.atoms[: step.n_atoms], SquaredHinge(), 0.0)
        kept = np.append(step.intercept, step.coef[0]) / problem.columns.factors
        assert step.objectives[0] == pytest.approx(problem.objective(kept), rel=1e-12)


# The Gram matrix


class Watch:
    """Compare every matrix that is kept with a fresh one, and count how it was made."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self.worst = 0.0
        renewed, keep = KeptGram._renewed, KeptGram._keep

        def counted(gram: KeptGram, weights: Any) -> Any:
            self.counts["renewed"] += 1
            return renewed(gram, weights)

        def compared(gram: KeptGram, weights: Any, values: Any) -> Any:
            self.counts["kept"] += 1
            found = keep(gram, weights, values)
            A = gram._columns.A
            sizes = np.sqrt(np.maximum(gram._peak, np.finfo(float).tiny))
            off = np.abs(found - A.T @ (weights[:, None] * A)) / np.outer(sizes, sizes)
            self.worst = max(self.worst, float(off.max(initial=0.0)))
            return found

        patch.setattr(KeptGram, "_renewed", counted)
        patch.setattr(KeptGram, "_keep", compared)

    @property
    def n_updates(self) -> int:
        return self.counts["kept"] - self.counts["renewed"]


@pytest.mark.covering
@pytest.mark.parametrize("loss", [SquaredHinge(), CubedHinge()], ids=repr)
@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
def test_the_gram_matrix_of_a_long_path_is_kept_and_right(
    dictionary: Dictionary, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for n_updates in (64, 2):
        with monkeypatch.context() as patch:
            patch.setattr(columns_module, "_GRAM_UPDATES", n_updates)
            watch = Watch(patch)
            trace, _ = run(DATA, dictionary, loss=loss, l2=1.0 / M, max_iter=80)
        assert len(trace) == 80
        assert watch.n_updates >= 60
        assert watch.worst <= 1e-12
        counts.append(watch.counts["renewed"])
    assert counts[1] > counts[0] >= 1 or isinstance(loss, CubedHinge)


def test_hundreds_of_updates_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    rng = np.random.default_rng(1)
    m, k = 400, 30
    A = rng.standard_normal((m, k)) * 10.0 ** rng.uniform(-3, 3, k)
    columns = empty_columns(A, np.ones(m), has_constant=True)
    columns.append(np.eye(k)[:5])
    weights = rng.uniform(0.5, 2.0, m) * (rng.random(m) < 0.6)
    for step in range(600):
        if step % 20 == 0 and columns.n_columns <= k:
            columns.append(np.eye(k)[[columns.n_columns - 1]])
        flips = rng.choice(m, int(rng.integers(1, 8)), replace=False)
        weights = weights.copy()
        weights[flips] = np.where(weights[flips] > 0.0, 0.0, rng.uniform(0.5, 2.0, len(flips)))
        columns.fetch(columns.gram(weights))
    assert watch.counts["kept"] == 600
    assert 9 <= watch.counts["renewed"] <= 15  # after every 64 updates
    assert watch.worst <= 1e-12


def test_a_column_that_loses_its_rows_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    rng = np.random.default_rng(3)
    A = rng.standard_normal((200, 3))
    A[10:, 2] *= 1e-6  # nearly all of it is in the first rows
    columns = empty_columns(A, np.ones(200))
    columns.append(np.eye(3))
    weights = np.ones(200)
    columns.fetch(columns.gram(weights))
    weights = np.where(np.arange(200) < 10, 0.0, weights)
    (gram,) = columns.fetch(columns.gram(weights))
    assert watch.counts["renewed"] == 2
    np.testing.assert_allclose(gram, A[10:].T @ A[10:], rtol=1e-12, atol=1e-18)


def test_the_number_of_updates_between_two_renewals_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns_module, "_GRAM_UPDATES", 5)
    watch = Watch(monkeypatch)
    A = np.random.default_rng(4).standard_normal((100, 4))
    columns = empty_columns(A, np.ones(100))
    columns.append(np.eye(4))
    for step in range(60):
        columns.fetch(columns.gram(np.where(np.arange(100) == step, 0.0, 1.0)))
    assert watch.counts["renewed"] == 10
    assert watch.counts["kept"] == 60


def test_equal_weights_cost_no_pass_over_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The square loss has one Hessian: each step adds a row and a column to it."""
    crossed: list[int] = []
    cross = KeptGram._cross

    def counted(gram: KeptGram, weights: Any, first: int) -> Any:
        crossed.append(gram._columns.n_columns - first)
        return cross(gram, weights, first)

    monkeypatch.setattr(KeptGram, "_cross", counted)
    trace, _ = run(DATA, GaussDictionary(width=0.4), loss=Square(), l2=1.0 / M, max_iter=100)
    assert len(trace) == 100
    assert sum(crossed) <= 2 * 100 + 4


# The factor


def random_definite(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.standard_normal((2 * n + 3, n))
    return A.T @ A / len(A)


@given(seed=seeds, sizes=st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_factor_grows_with_its_matrix(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    whole = random_definite(rng, 1 + sum(sizes))
    kept, n = KeptFactor(), 1
    for more in [0, *sizes]:
        n += more
        if rng.random() < 0.2:  # other weights
            whole = random_definite(rng, len(whole))
        factor = np.triu(kept.of(whole[:n, :n].copy()))
        np.testing.assert_allclose(factor.T @ factor, whole[:n, :n], atol=1e-13)
        np.testing.assert_allclose(factor, linalg.cholesky(whole[:n, :n]), atol=1e-10)


def test_a_matrix_with_the_same_first_row_is_another_matrix() -> None:
    first = random_definite(np.random.default_rng(0), 4)
    second, kept = first.copy(), KeptFactor()
    second[3, 3] += 1.0
    kept.of(first)
    np.testing.assert_allclose(np.triu(kept.of(second)), linalg.cholesky(second), atol=1e-10)


def test_a_matrix_that_is_not_definite_has_no_factor_and_leaves_no_trace() -> None:
    rng = np.random.default_rng(0)
    good = random_definite(rng, 4)
    kept = KeptFactor()
    assert kept.of(good) is not None
    bad = np.block([[good, good[:, :1]], [good[:1], good[:1, :1] - 1e-3]])
    assert kept.of(bad) is None
    larger = random_definite(rng, 5)
    larger[:4, :4] = good
    larger[4, :4] = larger[:4, 4] = 0.0
    factor = np.triu(kept.of(larger))
    np.testing.assert_allclose(factor.T @ factor, larger, atol=1e-13)
    assert kept.of(-good) is None
    smaller = np.triu(kept.of(good[:2, :2].copy()))
    np.testing.assert_allclose(smaller.T @ smaller, good[:2, :2], atol=1e-13)


def test_a_factor_grows_hundreds_of_times_without_losing_digits() -> None:
    rng = np.random.default_rng(5)
    whole = random_definite(rng, 300)
    kept = KeptFactor()
    for n in range(1, 301):
        factor = kept.of(whole[:n, :n].copy())
    factor = np.triu(factor)
    np.testing.assert_allclose(factor.T @ factor, whole, atol=1e-13)


def test_the_factor_is_extended_along_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    extended: list[bool] = []
    original = KeptFactor._extended

    def counted(self: KeptFactor, matrix: np.ndarray) -> Any:
        factor = original(self, matrix)
        extended.append(factor is not None)
        return factor

    monkeypatch.setattr(KeptFactor, "_extended", counted)
    run(DATA, GaussDictionary(width=0.4), loss=Square(), l2=1.0 / M, max_iter=30)
    assert sum(extended) >= 29
    rng = np.random.default_rng(6)
    A = rng.standard_normal((60, 5))
    y = np.where(A[:, 0] + rng.standard_normal(60) > 0.0, 1.0, -1.0)
    trace, _ = run_on_matrix(np.column_stack([A, A]), y, l2=0.01, max_iter=10)
    assert trace[-1].is_corrected
