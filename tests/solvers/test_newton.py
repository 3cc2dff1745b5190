"""Compiled sums and Newton's method against formulas written out."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost._kernels import HingeSums
from fcgboost.designs import columns as columns_module
from fcgboost.losses import ModifiedHuber, Square, SquaredHinge
from fcgboost.solvers import NewtonSolver, Problem, newton
from fcgboost.stopping import Status
from fcgboost.threads import shared
from tests.suites.designs import OwnSquaredHinge
from tests.suites.reference import ridge_squared_hinge
from tests.suites.solvers import empty_problem, make_problem, solve
from tests.suites.strategies import seeds

Array = np.ndarray


def naive_sums(
    A: Array, y: Array, shares: Array, coef: Array, bend: float = np.inf
) -> tuple[float, Array, Array]:
    """Return the risk, its gradient and its Hessian."""
    gap = 1.0 - y * (A @ coef)
    bent = np.minimum(np.maximum(0.0, gap), bend) if bend else gap
    active = A * ((bent != 0.0) & (gap <= (bend or np.inf)))[:, None]
    return (
        float(shares @ (bent * (2.0 * np.where(bent == 0.0, 0.0, gap) - bent))),
        A.T @ (-2.0 * shares * y * bent),
        2.0 * active.T @ (shares[:, None] * active),
    )


def assert_are_sums(
    found: Any, A: Array, y: Array, shares: Array, coef: Array, bend: float = np.inf
) -> None:
    """Compare sums in units of what is added up: kept ones must not have lost more."""
    risk, gradient, gram = naive_sums(A, y, shares, coef, bend)
    # Margins lose digits where large terms cancel.
    lost = 1e-13 * (1.0 + float((np.abs(A) @ np.abs(coef)).max(initial=0.0)))
    sizes = np.sqrt(shares @ A**2)
    assert abs(found[0] - risk) <= lost * (1.0 + risk)
    assert (np.abs(found[1] - gradient) <= 10.0 * lost * sizes).all()
    norms = np.sqrt(np.diag(gram))
    assert found[2].shape == gram.shape
    assert (np.abs(found[2] - gram) <= 1e-10 * np.outer(norms, norms)).all()


def make_rows(rng: np.random.Generator, m: int, k: int) -> tuple[Array, Array, Array]:
    """Return columns of unlike sizes, labels and weights."""
    A = rng.standard_normal((m, k)) * 10.0 ** rng.uniform(-2.0, 2.0, k)
    A[:, ::3] = np.maximum(A[:, ::3], 0.0)
    return A, rng.choice([-1.0, 1.0], m), rng.uniform(0.1, 3.0, m)


class Walk:
    """Columns that come and go, and a point that moves."""

    def __init__(self, seed: int, m: int, has_constant: bool, bend: float = np.inf) -> None:
        self.rng = np.random.default_rng(seed)
        self.bend = bend
        self.A, self.y, weights = make_rows(self.rng, m, 40)
        loss = {np.inf: SquaredHinge(), 0.0: Square()}.get(bend) or ModifiedHuber(bend)
        self.problem = empty_problem(loss, self.A, self.y, 0.01, weights, has_constant)
        self.shares = weights / weights.sum()
        self.here: list[int] = []
        self.constant = int(has_constant)
        self.coef = np.zeros(self.constant)

    @property
    def matrix(self) -> Array:
        return np.column_stack([np.ones((len(self.y), self.constant)), self.A[:, self.here]])

    def append(self) -> None:
        some = [j for j in range(40) if j not in self.here][: int(self.rng.integers(1, 4))]
        self.problem.columns.append(np.eye(40)[some])
        self.here += some
        self.coef = np.append(self.coef, np.zeros(len(some)))

    def drop(self) -> None:
        if self.here:
            place = int(self.rng.integers(len(self.here)))
            self.problem.columns.drop(place + self.constant)
            del self.here[place]
            self.coef = np.delete(self.coef, place + self.constant)

    def leap(self) -> None:
        self.move(1.0)

    def step(self) -> None:
        self.move(0.01)

    def move(self, size: float) -> None:
        sizes = np.abs(self.matrix).max(axis=0, initial=1e-3)
        self.coef = self.coef + size * self.rng.standard_normal(len(self.coef)) / sizes

    def solve(self) -> None:
        n_iter = int(self.rng.integers(1, 4))
        problem = self.problem
        found = problem.columns.newton(0, self.coef, problem.penalty, 1e-10, n_iter)
        assert found is not None
        assert found[3] <= n_iter
        risk, gradient, _ = naive_sums(self.matrix, self.y, self.shares, found[0], self.bend)
        ridge = float(problem.penalty @ found[0] ** 2)
        assert found[1] == pytest.approx(risk + ridge, rel=1e-10, abs=1e-12)
        gradient = gradient + 2.0 * problem.penalty * found[0]
        residual = np.abs(gradient).max(initial=0.0) / problem.gradient_scale
        assert found[2] == pytest.approx(residual, rel=1e-6, abs=1e-11)
        self.coef = found[0]

    def check(self) -> None:
        found = self.problem.columns.expand(self.problem.point(self.coef))
        assert_are_sums(found, self.matrix, self.y, self.shares, self.coef, self.bend)


MOVES = ("append", "append", "append", "drop", "leap", "step", "step", "step", "solve", "check")


@given(
    seed=seeds,
    m=st.sampled_from([1, 2, 3, 5, 8, 40, 130]),
    has_constant=st.booleans(),
    bend=st.sampled_from([np.inf, 0.0, 0.5, 2.0]),
    moves=st.lists(st.sampled_from(MOVES), min_size=10, max_size=60),
)
def test_sums_are_right_wherever_the_point_and_the_columns_go(
    seed: int, m: int, has_constant: bool, bend: float, moves: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_module, "_ROOM", 2)  # so that it has to grow
        walk = Walk(seed, m, has_constant, bend)
        for move in moves:
            if len(walk.here) < 35 or move != "append":
                getattr(walk, move)()
            if move in ("step", "leap"):
                walk.check()
        walk.check()


def test_hundreds_of_small_moves_leave_no_trace() -> None:
    """Far more than the 64 after which sums are added up anew."""
    walk = Walk(seed=1, m=400, has_constant=True)
    (sums,), n_updates = walk.problem.columns._sums, []
    for step in range(500):
        if step % 25 == 0 and len(walk.here) < 35:
            walk.append()
        if step == 50:
            walk.move(0.5)  # to where margins are on both sides
        walk.move(0.003)
        walk.check()
        n_updates.append(sums._held.n_updates)
    assert 50 < max(n_updates) < 64


def test_margins_that_follow_many_steps_are_computed_anew() -> None:
    rng = np.random.default_rng(2)
    A, y, weights = make_rows(rng, 200, 6)
    A /= np.abs(A).max(axis=0)
    problem = make_problem(SquaredHinge(), A, y, 0.0, weights)
    (sums,), coef, n_moves = problem.columns._sums, np.zeros(6), []
    for _ in range(200):
        penalty = 10.0 ** rng.uniform(-4.0, 0.0, 6)  # so that every call has a way to go
        coef = problem.columns.newton(0, coef, penalty, 1e-12, 1)[0]
        np.testing.assert_allclose(sums._rows[0], A @ coef, atol=1e-13)
        n_moves.append(sums._held.n_moves)
    assert 50 < max(n_moves) <= 65


def test_a_column_that_loses_its_rows_keeps_its_digits() -> None:
    rng = np.random.default_rng(3)
    A, y = rng.standard_normal((200, 3)), np.ones(200)
    A[10:, 2] *= 1e-6  # nearly all of it is in the first rows
    A[:, 0] = np.where(np.arange(200) < 10, 1.0, 0.0)
    shares = np.full(200, 1.0 / 200)
    sums = HingeSums(np.ascontiguousarray(A.T), y, shares)
    sums.expand(np.zeros(3))
    coef = np.array([5.0, 0.0, 0.0])  # the first rows are far beyond the margin
    assert_are_sums(sums.expand(coef), A, y, shares, coef)
    expected = naive_sums(A, y, shares, coef)[2]
    np.testing.assert_allclose(sums.expand(coef)[2][2, 2], expected[2, 2], rtol=1e-12)


def test_a_look_returns_the_rows_at_its_point() -> None:
    rng = np.random.default_rng(4)
    A, y, weights = make_rows(rng, 30, 4)
    storage, shares = np.ascontiguousarray(A.T), weights / weights.sum()
    sums = HingeSums(storage, y, shares)
    coef = 0.1 * rng.standard_normal(3)
    state = sums.expand(coef)[3]
    sums.expand(2.0 * coef)  # which must not change it
    np.testing.assert_allclose(state.f, A[:, :3] @ coef, atol=1e-15)
    gap = np.maximum(0.0, 1.0 - y * (A[:, :3] @ coef))
    np.testing.assert_allclose(state.slopes, -2.0 * shares * y * gap, atol=1e-15)


def test_sums_follow_columns_that_were_dropped() -> None:
    rng = np.random.default_rng(4)
    A, y, weights = make_rows(rng, 30, 4)
    storage, shares = np.ascontiguousarray(A.T), weights / weights.sum()
    sums = HingeSums(storage, y, shares)
    coef = 0.1 * rng.standard_normal(3)
    sums.expand(coef)
    storage[1:3] = storage[2:4].copy()
    sums.drop(1)
    left = np.delete(A, 1, axis=1)
    assert_are_sums(sums.expand(coef), left, y, shares, coef)


def test_a_step_does_not_change_the_rows_it_starts_from() -> None:
    rng = np.random.default_rng(6)
    A, y, weights = make_rows(rng, 30, 4)
    sums = HingeSums(np.ascontiguousarray(A.T), y, weights / weights.sum())
    coef = np.append(0.1 * rng.standard_normal(3), 0.0)
    state = sums.expand(coef)[3]
    f, slopes = state.f.copy(), state.slopes.copy()
    end, risk, after = sums.step(coef, 3, False, 0.1, state)
    np.testing.assert_array_equal(state.f, f)
    np.testing.assert_array_equal(state.slopes, slopes)
    np.testing.assert_allclose(after.f, A @ end, atol=1e-13)
    expected = sums.step(coef, 3, False, 0.1, None)
    np.testing.assert_allclose(end, expected[0])
    assert risk == pytest.approx(expected[1])


# Minima


@given(seed=seeds, m=st.integers(1, 80), k=st.integers(1, 12), l2=st.sampled_from([1e-1, 1e-3]))
def test_the_minimiser_is_that_of_another_solver(seed: int, m: int, k: int, l2: float) -> None:
    rng = np.random.default_rng(seed)
    A, y, weights = make_rows(rng, m, k)
    A /= np.maximum(np.abs(A).max(axis=0, initial=0.0), 1e-300)
    y[: min(2, m)] = [-1.0, 1.0][: min(2, m)]
    problem = make_problem(SquaredHinge(), A, y, l2, weights, has_constant=True)
    found = problem.columns.newton(0, np.zeros(k + 1), problem.penalty, 1e-12, 100)
    assert found is not None
    expected = ridge_squared_hinge(np.column_stack([np.ones(m), A]), y, weights, l2)
    reached, least = problem.objective(found[0]), problem.objective(expected)
    assert reached == pytest.approx(least, rel=1e-8, abs=1e-15)
    if found[2] <= 1e-12 and m > 2:
        np.testing.assert_allclose(found[0], expected, atol=1e-8)


def grown(
    loss: Any, solver: NewtonSolver, A: Array, y: Array, l2: float
) -> tuple[Problem, list[Any]]:
    """Solve after every new column, each time from the last solution."""
    problem = empty_problem(loss, A, y, l2, has_constant=True)
    coef, solutions = np.zeros(1), []
    for atom in np.eye(A.shape[1]):
        problem.columns.append(atom[None])
        solutions.append(solver.solve(problem, np.append(coef, 0.0)))
        coef = solutions[-1].coef
    return problem, solutions


@pytest.mark.parametrize("m", [3, 60, 700])
@pytest.mark.parametrize("l2", [1e-2, 1e-4])
def test_compiled_corrections_are_those_of_the_generic_way(m: int, l2: float) -> None:
    rng = np.random.default_rng(m)
    A, y, _ = make_rows(rng, m, 25)
    A /= np.abs(A).max(axis=0) + 1e-300
    compiled = grown(SquaredHinge(), NewtonSolver(), A, y, l2)[1]
    for loss, solver in (
        (SquaredHinge(), NewtonSolver(keep_history=True)),
        (OwnSquaredHinge(), NewtonSolver()),
    ):
        for one, other in zip(compiled, grown(loss, solver, A, y, l2)[1], strict=True):
            assert one.status is other.status is Status.CONVERGED
            assert one.objective == pytest.approx(other.objective, rel=1e-9, abs=1e-15)
            np.testing.assert_allclose(one.coef, other.coef, rtol=1e-9, atol=1e-8)


def test_what_is_ill_conditioned_is_left_to_the_generic_way() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((80, 5))
    y = np.where(A[:, 0] + rng.standard_normal(80) > 0.0, 1.0, -1.0)
    twice = np.column_stack([A, A, A @ rng.standard_normal((5, 3))])
    for off in (1e-6, 0.0):
        problem = make_problem(SquaredHinge(), twice + off * rng.random(twice.shape), y, 0.0)
        stopped = problem.columns.newton(0, np.zeros(13), problem.penalty, 1e-10, 100)
        assert stopped is not None
        assert stopped[3] == 0
        assert stopped[2] > 1e-10
    solution, plain = (
        solve(NewtonSolver(), some) for some in (problem, make_problem(SquaredHinge(), A, y, 0.0))
    )
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(plain.objective, rel=1e-10)
    # The way of least norm: equal columns share what one of them would have.
    np.testing.assert_allclose(solution.coef[:5], solution.coef[5:10], atol=1e-7)


def test_the_limit_of_iterations_is_kept_and_said() -> None:
    A = np.random.default_rng(6).standard_normal((300, 20))
    problem = make_problem(SquaredHinge(), A, np.sign(A.sum(axis=1)), 1e-3)
    solution = solve(NewtonSolver(max_iter=1), problem)
    assert (solution.n_iter, solution.status) == (1, Status.NOT_CONVERGED)
    assert solution.residual > 1e-10


def test_damping_grows_until_a_step_succeeds_and_falls_again(monkeypatch: Any) -> None:
    A, y, _ = make_rows(np.random.default_rng(0), 20, 3)
    problem, dampings = make_problem(SquaredHinge(), A, y, 0.01), []

    def direction(problem: Any, point: Any, damping: float) -> Array:
        dampings.append(damping)
        return -point.gradient

    def search(problem: Any, point: Any, *_: Any) -> Any:
        return None if len(dampings) < 5 else point

    monkeypatch.setattr(newton, "_direction", direction)
    monkeypatch.setattr(newton, "_line_search", search)
    solve(NewtonSolver(max_iter=5, keep_history=True), problem)
    expected = [0.0, 1e-8, 1e-6, 1e-4, 1e-2, 1e-4, 1e-6, 1e-8, 0.0]
    np.testing.assert_allclose(dampings, expected, rtol=1e-9)


def test_least_norm_directions_minimise_what_is_quadratic() -> None:
    rng = np.random.default_rng(0)
    A, y, start = rng.normal(size=(30, 4)), np.sign(rng.normal(size=30)), rng.normal(size=4)
    problem = make_problem(Square(), A, y, 0.1)
    direction, _ = newton._least_norm_direction(problem, problem.expand(start), 0.0, False)
    expected = np.linalg.solve(A.T @ A / 30.0 + 0.1 * np.eye(4), A.T @ y / 30.0)
    np.testing.assert_allclose(start + direction, expected, rtol=1e-9)


def test_damping_shortens_a_direction() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3))
    problem = make_problem(SquaredHinge(), A, rng.choice([-1.0, 1.0], 40), 0.01)
    point = problem.expand(np.zeros(3))
    lengths = []
    for damping in (0.0, 1e-4, 0.5, 2.0):
        direction, _ = newton._least_norm_direction(problem, point, damping, False)
        assert point.gradient @ direction < 0.0
        lengths.append(np.linalg.norm(direction))
    np.testing.assert_allclose(lengths[1], lengths[0], rtol=0.01)
    assert lengths[0] > 1.4 * lengths[2] > 2.0 * lengths[3]


def test_threads_share_rows_and_columns_and_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    # More than one part of the rows, and more than one tile of the columns.
    m, k = 9_000, 70
    A, y, weights = make_rows(rng, m, k)
    shares = weights / weights.sum()
    A /= np.sqrt(shares @ A**2)
    start = 0.1 * rng.standard_normal(k)
    # First new columns, then few rows that change, then many.
    points = [start[:60], start, 1.001 * start, -3.0 * start]
    runs = []
    for n_threads in (1, 2, 3, 7):
        sums = HingeSums(np.ascontiguousarray(A.T), y, shares)
        bits = []
        with shared.ours(n_threads):
            for coef in points:
                *found, state = sums.expand(coef)
                assert_are_sums(found, A[:, : len(coef)], y, shares, coef)
                bits += [*found, *state]
            end = sums.newton(start, np.full(k, 1e-4), np.ones(k), 1.0, 1e-10, 50)
            step = sums.step(np.append(start[:-1], 0.0), k - 1, False, 1e-4, None)
        assert end[2] <= 1e-10
        bits += [*end[:4], *end[4], step[0], step[1], *step[2]]
        runs.append([np.asarray(value).tobytes() for value in bits])
    assert runs[1:] == runs[:1] * 3
