"""The loop against theory, and against itself under changes that must not matter."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import orthogonal_mp

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
)
from fcgboost.greedy.loop import fit_path, recorrect
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import (
    FullyCorrective,
    Original,
    Rescaled,
    Scheme,
)
from fcgboost.losses import CubedHinge, Hinge, Loss, ModifiedHuber, Square, SquaredHinge
from fcgboost.selection.base import Selection
from fcgboost.selection.fixed import AllCandidates, SampledCandidates
from fcgboost.solvers import InteriorPointSolver, NewtonSolver
from fcgboost.stopping import Status
from tests.suites.paths import (
    CLASSICAL,
    DICTIONARIES,
    FULL,
    SELECTIONS,
    column_coef,
    columns_chosen,
    fit_one,
    make_recipe,
    run_on_data,
    run_on_matrix,
)
from tests.suites.solvers import MatrixDictionary, make_problem
from tests.suites.strategies import Data, seeds, simulation, training_sets

CURVED = [SquaredHinge(), Square(), CubedHinge()]
each_loss = pytest.mark.parametrize("loss", CURVED, ids=repr)
each_scheme = pytest.mark.parametrize("scheme", [FULL, *CLASSICAL], ids=repr)
each_selection = pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)


def unit_columns(rng: np.random.Generator, m: int, n: int, offset: float = 0.0) -> np.ndarray:
    """Give random columns of norm one; with an offset they are correlated."""
    Phi = rng.standard_normal((m, n)) + offset
    return Phi / np.linalg.norm(Phi, axis=0)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["labels", "regression"])
def test_the_square_loss_is_orthogonal_matching_pursuit(kind: str, offset: float) -> None:
    rng = np.random.default_rng(0)
    Phi = unit_columns(rng, 60, 100, offset)
    t = np.sign(rng.standard_normal(60)) if kind == "labels" else rng.standard_normal(60)
    trace, _ = run_on_matrix(Phi, t, loss=Square(), max_iter=25)
    path = orthogonal_mp(Phi, t, n_nonzero_coefs=25, return_path=True)
    for k in range(1, 26):
        assert set(columns_chosen(trace)[:k]) == set(np.flatnonzero(path[:, k - 1]))
        np.testing.assert_allclose(column_coef(trace, k), path[:, k - 1], atol=1e-9)


def test_normalised_scores_are_those_of_orthogonal_matching_pursuit() -> None:
    rng = np.random.default_rng(1)
    Phi, sizes = unit_columns(rng, 60, 100), np.logspace(-2, 2, 100)
    y, weights = rng.standard_normal(60), rng.uniform(0.5, 2.0, 60)
    A = Phi * sizes / np.sqrt(weights)[:, None]
    trace, _ = run_on_matrix(A, y, weights, loss=Square(), normalize=True, max_iter=20)
    path = orthogonal_mp(Phi, y * np.sqrt(weights), n_nonzero_coefs=20, return_path=True)
    np.testing.assert_allclose(column_coef(trace, 20) * sizes, path[:, 19], atol=1e-9)


def test_orthonormal_atoms_come_in_order_of_their_inner_products() -> None:
    rng = np.random.default_rng(2)
    Phi, _ = np.linalg.qr(rng.standard_normal((40, 40)))
    y = np.sign(rng.standard_normal(40))
    products = Phi.T @ y
    order = np.argsort(-np.abs(products))
    trace, status = run_on_matrix(Phi, y, loss=Square(), max_iter=50)
    assert columns_chosen(trace) == order.tolist()
    assert status is Status.EXHAUSTED
    for k in range(1, 41):
        expected = np.zeros(40)
        expected[order[:k]] = products[order[:k]]
        np.testing.assert_allclose(column_coef(trace, k), expected, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.01])
@each_loss
def test_correction_leaves_no_gradient_on_the_active_atoms(
    loss: Loss, l2: float, fit_intercept: bool
) -> None:
    rng = np.random.default_rng(3)
    A, weights = rng.standard_normal((80, 30)), rng.uniform(0.5, 2.0, 80)
    y = np.sign(A[:, :2].sum(axis=1) + rng.standard_normal(80))
    changes = {"loss": loss, "l2": l2, "fit_intercept": fit_intercept, "max_iter": 12}
    trace, _ = run_on_matrix(A, y, weights, **changes)
    for k in range(1, 13):
        u, constant = column_coef(trace, k), trace[k - 1].intercept[0]
        slopes = weights * loss.gradient(y, constant + A @ u) / weights.sum()
        gradient = A.T @ slopes + 2.0 * l2 * u
        active = columns_chosen(trace)[:k]
        assert len(set(active)) == k
        assert np.abs(gradient[active]).max() <= 1e-9
        assert not fit_intercept or abs(slopes.sum()) <= 1e-9


@each_loss
@pytest.mark.parametrize("scheme", CLASSICAL, ids=repr)
def test_at_equal_atoms_full_correction_is_no_worse(scheme: Scheme, loss: Loss) -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((80, 30))
    y = np.sign(A[:, :2].sum(axis=1) + rng.standard_normal(80))
    trace, _ = run_on_matrix(A, y, loss=loss, scheme=scheme, max_iter=40)
    for k in (1, 3, 10, 40):
        chosen = list(dict.fromkeys(columns_chosen(trace)[:k]))
        problem = make_problem(loss, A[:, chosen], y, 0.0)
        solution = NewtonSolver().solve(problem, np.zeros(len(chosen)))
        assert solution.objective <= trace[k - 1].objectives[0] + 1e-12


@given(seed=seeds, n=st.integers(2, 40), n_terms=st.integers(1, 40), offset=st.floats(0.0, 2.0))
def test_residuals_stay_below_barrons_bound(seed: int, n: int, n_terms: int, offset: float) -> None:
    # Barron, Cohen, Dahmen and DeVore, Ann. Statist. 36 (2008), Theorem 2.1.
    rng = np.random.default_rng(seed)
    Phi = unit_columns(rng, 20, n, offset)
    w = rng.standard_normal(n) * (rng.permutation(n) < n_terms)
    t = Phi @ w
    trace, _ = run_on_matrix(Phi, t, loss=Square(), max_iter=15, tol=1e-8)
    norms = np.sqrt(trace.column("objectives")[:, 0] * len(t))
    k = np.arange(1, len(trace) + 1)
    assert (norms <= np.abs(w).sum() / np.sqrt(k + 1)).all()
    for step in trace:
        u = column_coef(trace, step.k)
        residual = np.linalg.norm(t - Phi @ u)
        assert residual == pytest.approx(norms[step.k - 1], abs=1e-7 * np.linalg.norm(t))


@pytest.mark.parametrize("loss", [SquaredHinge(), Square()], ids=repr)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_excess_over_any_function_is_bounded_by_proposition_1(loss: Loss, noise: float) -> None:
    rng = np.random.default_rng(5)
    data = simulation(200, noise, seed=5)
    centers = rng.random((100, 2))
    A = np.exp(-((data.X[:, None] - centers) ** 2).sum(axis=2) / (2 * 0.2**2))
    assert np.abs(A).max() <= 1.0
    trace, _ = run_on_matrix(A, data.y, loss=loss, max_iter=60)
    h = rng.standard_normal((100, 1000)) * 10.0 ** rng.uniform(-3, 1, 1000)
    h *= rng.random((100, 1000)) < rng.uniform(0.01, 1.0, 1000)
    h = np.column_stack([h, *(column_coef(trace, step.k) for step in trace), np.zeros(100)])
    risks = loss.value(data.y[:, None], A @ h).mean(axis=0)
    norms = np.abs(h).sum(axis=0)
    for step in trace:
        assert (step.objectives[0] - risks <= 4.0 * norms**2 / step.k + 1e-12).all()


@pytest.mark.parametrize("loss", [SquaredHinge(), Square(), CubedHinge()], ids=repr)
def test_all_atoms_of_a_strictly_positive_definite_kernel_interpolate(loss: Loss) -> None:
    data = simulation(30, 0.3, seed=6)
    dictionary = GaussDictionary(width=0.1)
    changes = {"loss": loss, "l2": 0.0, "fit_intercept": False, "max_iter": 40}
    trace, status = run_on_data(data, dictionary, standardize=False, **changes)
    model = trace.model(len(trace), dictionary, np.ones(2))
    margins = data.y * model.decision(data.X)[:, 0]
    if isinstance(loss, Square):
        np.testing.assert_allclose(margins, 1.0, atol=1e-9)
        assert (status, len(trace)) == (Status.EXHAUSTED, 30)
    else:
        # The cubed hinge is so flat at its end that its gradient vanishes before its loss; without
        # a ridge coefficients may be huge, and cancel.
        lost = 1e-16 * np.abs(trace[-1].coef).sum()
        assert (margins >= 1.0 - lost - (1e-4 if isinstance(loss, CubedHinge) else 1e-9)).all()
        assert status is Status.ZERO_SCORE


@given(
    data=training_sets(),
    loss=st.sampled_from(CURVED),
    l2=st.sampled_from([0.0, 1e-3, 0.1]),
    fit_intercept=st.booleans(),
)
def test_the_regularised_objective_never_increases_under_full_correction(
    data: Data, loss: Loss, l2: float, fit_intercept: bool
) -> None:
    for dictionary in (GaussDictionary(width=1.0), ReluDictionary()):
        changes = {"loss": loss, "l2": l2, "fit_intercept": fit_intercept, "max_iter": 15}
        trace, _ = run_on_data(data, dictionary, **changes)
        start = np.average(loss.value(data.y, trace.start[0]), weights=data.weights)
        objectives = np.append(start, trace.column("objectives"))
        assert (np.diff(objectives) <= 1e-12).all()


def decisions(trace: Trace, data: Data, dictionary: Dictionary, twin: Data) -> np.ndarray:
    """Give the values at the rows of `data` of a model fitted on `twin`."""
    scale = MemoryDesign(dictionary, twin.X, twin.weights, standardize=True).scale
    return trace.model(len(trace), dictionary, scale).decision(data.X)


@pytest.mark.parametrize("scheme", [FULL, Original(), Rescaled()], ids=repr)
@given(
    data=training_sets(),
    dictionary=st.sampled_from(DICTIONARIES),
    selection=st.sampled_from([AllCandidates(), SampledCandidates(size=5)]),
    seed=st.integers(0, 100),
)
def test_neither_order_nor_repetition_of_rows_changes_the_model(
    scheme: Scheme, data: Data, dictionary: Dictionary, selection: Selection, seed: int
) -> None:
    changes = {"scheme": scheme, "selection": selection, "key": seed, "tol": 1e-8}
    trace, status = run_on_data(data, dictionary, **changes)
    expected = decisions(trace, data, dictionary, data)
    for twin in (data.permuted(seed), data.repeated(), data.repeated().permuted(seed)):
        again, status_again = run_on_data(twin, dictionary, **changes)
        assert (len(again), status_again) == (len(trace), status)
        np.testing.assert_allclose(
            decisions(again, data, dictionary, twin), expected, rtol=1e-6, atol=1e-7
        )


@each_dictionary
def test_sparse_rows_give_the_path_of_dense_rows(dictionary: Dictionary) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 4)) * (rng.random((60, 4)) < 0.5) * [1, 5, 20, 0.1]
    data = Data(X, np.sign(X[:, 0] + 0.1 * rng.standard_normal(60)), np.ones(60))
    dense, _ = run_on_data(data, dictionary, max_iter=15)
    for make in (sparse.csr_array, sparse.csr_matrix):
        trace, _ = run_on_data(data._replace(X=make(X)), dictionary, max_iter=15)
        atoms = trace.atoms.toarray() if sparse.issparse(trace.atoms) else trace.atoms
        np.testing.assert_allclose(atoms, dense.atoms, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(trace[-1].coef, dense[-1].coef, rtol=1e-6, atol=1e-8)


def test_neither_storage_nor_threads_change_the_path() -> None:
    data = simulation(400, 0.2, seed=8)
    paths = []
    recipe = make_recipe(selection=AllCandidates(), max_iter=30, l2=1 / 400)
    for budget, n_threads in ((2**30, 1), (0, 1), (0, 3)):
        design = MemoryDesign(ReluDictionary(), data.X, data.weights, True, budget, n_threads)
        paths.append(fit_one(design, [data.y], recipe)[0])
    for path in paths[1:]:
        np.testing.assert_array_equal(path.atoms, paths[0].atoms)
        np.testing.assert_allclose(path[-1].coef, paths[0][-1].coef, rtol=1e-9, atol=1e-12)


def outputs_of(data: Data, n_outputs: int, seed: int = 0) -> list[np.ndarray]:
    """Give the labels and some other labels of the same rows."""
    rng = np.random.default_rng(seed)
    heights = [data.X @ rng.standard_normal(data.X.shape[1]) for _ in range(n_outputs - 1)]
    return [data.y, *(np.where(height > np.median(height), 1.0, -1.0) for height in heights)]


@pytest.mark.covering
@each_selection
@each_scheme
def test_a_resumed_path_equals_one_made_at_once(scheme: Scheme, selection: Selection) -> None:
    data = simulation(80, 0.2, seed=9)
    targets = outputs_of(data, 2)
    dictionary = GaussDictionary(width=0.5)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=True)
    changes = {"scheme": scheme, "selection": selection, "l2": 1 / 80, "fit_intercept": True}
    short, long = (make_recipe(max_iter=k, n_candidates=80, **changes) for k in (20, 40))
    whole, status = fit_one(design, targets, long)
    half, _ = fit_one(design, targets, short)
    resumed, status_resumed = fit_one(design, targets, long, resume=half)
    assert len(half) == 20
    assert len(resumed) == len(whole) == 40
    assert status_resumed is status
    assert resumed.steps[:20] == half.steps
    np.testing.assert_array_equal(resumed.entered, whole.entered)
    np.testing.assert_array_equal(resumed.atoms, whole.atoms)
    for first, second in zip(whole, resumed, strict=True):
        assert first.k == second.k
        np.testing.assert_array_equal(second.chosen, first.chosen)
        np.testing.assert_allclose(second.coef, first.coef, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(second.objectives, first.objectives, rtol=1e-10)
    assert resumed[20].seconds >= half[-1].seconds


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_last_coefficients_can_minimise_another_loss(n_outputs: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((90, 2))
    targets = rng.choice([-1.0, 1.0], (n_outputs, 90))
    design = MemoryDesign(ReluDictionary(), X, np.ones(90), standardize=True)
    scheme = FullyCorrective(NewtonSolver(), growth=1.5)
    recipe = make_recipe(max_iter=12, scheme=scheme, l2=0.1, other_l2=(0.01,))
    (_, trace), _ = fit_path(design, targets, recipe)
    shorter = trace.truncated(trace[-2].k)
    loss = ModifiedHuber(threshold=0.5)
    bent = recorrect(design, targets, replace(recipe, loss=loss, l2=0.01, other_l2=()), shorter)
    assert bent.steps[:-1] == trace.steps[:-2]
    assert bent.n_steps == trace[-2].k
    model = bent.model(bent.n_steps, design.dictionary, design.scale)
    np.testing.assert_array_equal(model.atoms, trace.atoms[: trace[-2].n_entered])
    slopes = loss.gradient(targets, model.decision(X).T)
    columns = model.columns(X)
    has = model.coef != 0.0
    assert (has.sum(axis=1) == shorter[-1].k).all()
    gradient = slopes @ columns / 90 + 2.0 * 0.01 * model.coef
    np.testing.assert_allclose(gradient[has], 0.0, atol=1e-9)


def test_a_path_of_no_steps_can_be_resumed() -> None:
    data = simulation(40, 0.2, seed=10)
    empty, status = run_on_data(data, GaussDictionary(), max_iter=0)
    assert (len(empty), empty.atoms.shape, status) == (0, (0, 3), Status.STEP_LIMIT)
    design = MemoryDesign(GaussDictionary(), data.X, data.weights, standardize=True)
    recipe = make_recipe(max_iter=5, n_candidates=40)
    resumed, _ = fit_one(design, [data.y], recipe, resume=empty)
    whole, _ = fit_one(design, [data.y], recipe)
    np.testing.assert_array_equal(resumed[-1].coef, whole[-1].coef)


@pytest.mark.covering
@each_selection
@each_scheme
@each_dictionary
def test_several_outputs_in_one_loop_equal_separate_loops(
    dictionary: Dictionary, scheme: Scheme, selection: Selection
) -> None:
    data = simulation(60, 0.1, seed=11)
    targets = outputs_of(data, 3)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=True)
    recipe = make_recipe(
        scheme=scheme, selection=selection, n_candidates=60, l2=1 / 60, fit_intercept=True
    )
    together, _ = fit_one(design, targets, recipe)
    for c, y in enumerate(targets):
        alone, _ = fit_one(design, [y], recipe)
        for first, second in zip(together, alone, strict=True):
            own = together.atoms[first.chosen[c]]
            np.testing.assert_allclose(own, alone.atoms[second.chosen[0]], rtol=1e-12)
            assert first.objectives[c] == pytest.approx(second.objectives[0], rel=1e-10)
            assert first.scores[c] == pytest.approx(second.scores[0], rel=1e-7)
            used = first.coef[c][first.coef[c] != 0.0]
            own_coef = second.coef[0][second.coef[0] != 0.0]
            np.testing.assert_allclose(np.sort(used), np.sort(own_coef), rtol=1e-6, atol=1e-9)


def test_an_output_that_ends_leaves_the_others_running() -> None:
    y = np.where(np.arange(12) < 5, 1.0, -1.0)
    X = np.column_stack([y, np.eye(12)])
    design = MemoryDesign(MatrixDictionary(), X, np.ones(12), standardize=False)
    trace, status = fit_one(design, [y, np.ones(12)], make_recipe(max_iter=20))
    assert status is Status.ZERO_SCORE
    assert len(trace) > 5
    np.testing.assert_array_equal(trace.column("chosen")[:, 0], [0] + [-1] * (len(trace) - 1))
    assert (trace.column("chosen")[:, 1] >= 0).all()
    assert (trace.column("scores")[1:, 0] == 0.0).all()
    objectives = trace.column("objectives")[:, 0]
    assert (objectives == objectives[0]).all()
    assert objectives[0] <= 1e-30
    assert trace[-1].objectives[1] == pytest.approx(0.0, abs=1e-20)
    half, _ = fit_one(design, [y, np.ones(12)], make_recipe(max_iter=3))
    assert half.endings == (Status.ZERO_SCORE, None)
    resumed, _ = fit_one(design, [y, np.ones(12)], make_recipe(max_iter=20), resume=half)
    assert resumed.endings == trace.endings
    np.testing.assert_array_equal(resumed.column("chosen"), trace.column("chosen"))


def test_an_output_that_has_ended_does_not_wake_up_in_a_resumed_path() -> None:
    # A fresh sample may hold an atom with a score above the tolerance that ended the output.
    data = simulation(60, 0.0, seed=3)
    design = MemoryDesign(GaussDictionary(width=1.0), data.X, data.weights, standardize=True)
    targets = [data.y, np.where(data.X[:, 0] > 0.5, 1.0, -1.0)]
    for seed in range(20):
        changes = {"selection": SampledCandidates(size=2), "tol": 0.5, "key": seed}
        whole, status = fit_one(design, targets, make_recipe(max_iter=24, **changes))
        half, _ = fit_one(design, targets, make_recipe(max_iter=4, **changes))
        resumed, resumed_status = fit_one(
            design, targets, make_recipe(max_iter=24, **changes), resume=half
        )
        assert resumed_status is status
        np.testing.assert_array_equal(resumed.column("chosen"), whole.column("chosen"))


@pytest.mark.covering
@each_scheme
@each_selection
@each_dictionary
def test_the_trace_reproduces_its_objectives(
    dictionary: Dictionary, selection: Selection, scheme: Scheme
) -> None:
    data = simulation(70, 0.2, seed=18)._replace(
        weights=np.random.default_rng(18).uniform(0.5, 2.0, 70)
    )
    loss, l2 = SquaredHinge(), 0.02
    changes = {"loss": loss, "l2": l2, "selection": selection, "scheme": scheme, "max_iter": 12}
    trace, _ = run_on_data(data, dictionary, **changes)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=True)
    assert len(trace.column("n_atoms")) == len(trace) == 12
    for k, step in enumerate(trace, start=1):
        model = trace.model(k, dictionary, design.scale)
        f = model.decision(data.X)[:, 0]
        risk = np.average(loss.value(data.y, f), weights=data.weights)
        ridge = l2 * np.sum(step.coef[0] ** 2)
        assert step.objectives[0] == pytest.approx(risk + ridge, rel=1e-9)
        assert step.k == k
        assert step.n_atoms == model.n_atoms == np.sum(trace.entered <= k)
        assert 0 <= step.chosen[0] < step.n_atoms
        assert step.scores[0] > 0.0
        assert step.is_corrected
    assert (np.diff(trace.column("seconds")) >= 0.0).all()
    assert isinstance(trace[1:3], Sequence)


def test_the_hinge_goes_through_the_same_loop() -> None:
    data = simulation(80, 0.1, seed=19)
    changes = {"loss": Hinge(), "scheme": FullyCorrective(InteriorPointSolver()), "max_iter": 15}
    trace, status = run_on_data(data, GaussDictionary(), **changes)
    assert (status, len(trace)) == (Status.STEP_LIMIT, 15)
    assert (np.diff(trace.column("objectives")[:, 0]) <= 1e-8).all()


@each_scheme
@each_dictionary
def test_parts_and_data_are_unchanged_after_a_fit(dictionary: Dictionary, scheme: Scheme) -> None:
    data = simulation(40, 0.2, seed=20)
    for array in data:
        array.flags.writeable = False
    loss, selection = SquaredHinge(), SampledCandidates(size=10)
    parts = [clone(part, safe=False) for part in (dictionary, scheme, loss, selection)]
    before = [dict(vars(part)) for part in parts]
    twin, scheme, loss, selection = parts
    run_on_data(data, twin, loss=loss, scheme=scheme, selection=selection)
    assert [vars(part) for part in parts] == before
