"""Full correction when the model has grown: what happens between two corrections, and where."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.designs.base import Point
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import ReluDictionary
from fcgboost.greedy.loop import fit_path
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.losses import CubedHinge, Hinge, SquaredHinge
from fcgboost.selection.fixed import SampledCandidates
from fcgboost.solvers import AdmmSolver, NewtonSolver
from fcgboost.stopping import Status, Step
from fcgboost.training.validation import make_validator
from tests.suites.designs import OwnSquaredHinge
from tests.suites.paths import fit_one, make_recipe
from tests.suites.reference import ridge_squared_hinge
from tests.suites.solvers import make_problem
from tests.suites.strategies import seeds, simulation

DATA = simulation(120, 0.2, seed=0)
THREE = np.digitize(DATA.X[:, 0], np.quantile(DATA.X[:, 0], [0.3, 0.7]))
RIDGES = (1e-1, 1e-2, 1e-4)


def lazy(growth: float) -> FullyCorrective:
    return FullyCorrective(NewtonSolver(), growth)


def design_of(data: Any = DATA) -> MemoryDesign:
    return MemoryDesign(ReluDictionary(), data.X, np.ones(len(data.y)), standardize=True)


def recipe(**changes: Any) -> Any:
    given = {"max_iter": 40, "l2": 1e-2, "fit_intercept": True, "selection": SampledCandidates(32)}
    return make_recipe(**{**given, **changes})


def run(**changes: Any) -> Trace:
    return fit_one(design_of(), [DATA.y], recipe(**changes))[0]


def corrected(trace: Trace) -> list[int]:
    return [step.k for step in trace if step.is_corrected]


def objective_of(trace: Trace, k: int, l2: float) -> tuple[float, float]:
    """Return the objective after k steps, and the least one with the same atoms."""
    step, X = trace[k - 1], DATA.X
    values = ReluDictionary().evaluate(X, trace.atoms[: step.n_entered], design_of().scale)
    A = np.column_stack([np.ones(len(X)), values])
    coefs = (
        np.concatenate([step.intercept, step.coef[0]]),
        ridge_squared_hinge(A, DATA.y, np.ones(len(X)), l2),
    )
    reached, least = (
        np.mean(np.maximum(0.0, 1.0 - DATA.y * (A @ coef)) ** 2) + l2 * coef[1:] @ coef[1:]
        for coef in coefs
    )
    return float(reached), float(least)


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        (1.0, list(range(1, 41))),
        (1.2, [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40]),
        (2.0, [1, 2, 4, 8, 16, 32, 40]),
        (1000.0, [1, 40]),
    ],
)
def test_all_coefficients_are_corrected_once_there_are_so_many_more_and_at_the_end(
    growth: float, expected: list[int]
) -> None:
    assert corrected(run(scheme=lazy(growth))) == expected


def test_growth_1_is_the_paper() -> None:
    for lazily, usual in zip(run(scheme=lazy(1.0)), run(), strict=True):
        np.testing.assert_array_equal(lazily.coef, usual.coef)


@pytest.mark.parametrize("l2", [1e-1, 1e-3])
def test_corrected_steps_are_at_the_minimum_and_others_never_rise(l2: float) -> None:
    trace = run(scheme=lazy(1.5), l2=l2)
    for k in corrected(trace):
        assert np.subtract(*objective_of(trace, k, l2)) <= 1e-9
    objectives = trace.column("objectives")[:, 0]
    assert (np.diff(objectives) <= 1e-12).all()
    for step in trace:
        assert objective_of(trace, step.k, l2)[0] == pytest.approx(step.objectives[0], rel=1e-9)


@given(
    seed=seeds,
    m=st.integers(2, 70),
    has_constant=st.booleans(),
    l2=st.sampled_from([1e-1, 1e-3, 0.0]),
)
def test_a_step_minimises_over_the_new_coefficient_and_the_constant(
    seed: int, m: int, has_constant: bool, l2: float
) -> None:
    rng = np.random.default_rng(seed)
    A, y, weights = rng.standard_normal((m, 4)), rng.choice([-1.0, 1.0], m), rng.uniform(1, 3, m)
    coef = np.append(0.3 * rng.standard_normal(3 + has_constant), 0.0)
    places = [0, len(coef) - 1] if has_constant else [len(coef) - 1]
    found = []
    for loss in (SquaredHinge(), OwnSquaredHinge()):
        columns = make_problem(loss, A, y, l2, weights, has_constant=has_constant).columns
        answer = columns.step(Point(columns, 0, coef), len(coef) - 1, l2)
        assert answer is not None
        found.append(answer)
    matrix = np.column_stack([np.ones((m, int(has_constant))), A])

    def objective(block: np.ndarray) -> float:
        point = coef.copy()
        point[places] = block
        gaps = np.maximum(0.0, 1.0 - y * (matrix @ point))
        return float(weights @ gaps**2) / float(weights.sum()) + l2 * float(block[-1]) ** 2

    for end, risk, _ in found:
        np.testing.assert_array_equal(np.delete(end, places), np.delete(coef, places))
        assert objective(end[places]) == pytest.approx(risk + l2 * end[-1] ** 2, abs=1e-12)
    start, reached = objective(coef[places]), objective(found[0][0][places])
    least = minimize(objective, coef[places], method="BFGS", tol=1e-10).fun
    assert reached - least <= 1e-6 * (start - least) + 1e-9
    assert objective(found[1][0][places]) == pytest.approx(reached, abs=1e-9)


@pytest.mark.parametrize("loss", [OwnSquaredHinge(), CubedHinge()])
def test_any_curved_loss_takes_the_generic_way(loss: Any) -> None:
    trace = run(scheme=lazy(1.5), loss=loss)
    assert len(corrected(trace)) < 15
    assert (np.diff(trace.column("objectives")[:, 0]) <= 1e-12).all()


def test_a_loss_without_curvature_is_corrected_in_every_step() -> None:
    scheme = FullyCorrective(AdmmSolver(max_iter=3), growth=2.0)
    trace = run(scheme=scheme, loss=Hinge(), max_iter=6)
    assert (trace.column("solver_iterations") > 0).all()


def test_a_path_that_anything_ends_is_corrected_where_it_ends() -> None:
    def end(step: Step) -> Status | None:
        return Status.CALLBACK if step.k == 13 else None

    trace, status = fit_one(design_of(), [DATA.y], recipe(scheme=lazy(2.0)), [end])
    assert (status, corrected(trace)) == (Status.CALLBACK, [1, 2, 4, 8, 13])
    assert np.subtract(*objective_of(trace, 13, 1e-2)) <= 1e-9
    assert trace[-1].chosen[0] == 12


def test_validation_judges_corrected_steps_alone() -> None:
    design = design_of()
    validator = make_validator(
        DATA.X,
        dictionary=design.dictionary,
        scale=design.scale,
        score=lambda decision: float(decision.mean()),
        device=design.device,
    )
    trace, _ = fit_one(design, [DATA.y], recipe(scheme=lazy(1.5)), [], validator)
    judged = [step.k for step in trace if step.validation_score is not None]
    assert judged == corrected(trace)
    assert (np.flatnonzero(~np.isnan(trace.scores)) + 1).tolist() == judged


@pytest.mark.parametrize("growth", [1.0, 1.5])
def test_every_ridge_of_one_path_is_at_its_own_minimum(growth: float) -> None:
    first, *others = RIDGES
    shared = recipe(scheme=lazy(growth), l2=first, other_l2=tuple(others))
    traces, _ = fit_path(design_of(), [DATA.y], shared)
    alone = run(scheme=lazy(growth), l2=first)
    for l2, trace in zip(RIDGES, traces, strict=True):
        assert trace.column("k").tolist() == corrected(alone)
        for place, step in enumerate(trace, start=1):
            assert step.n_entered == step.k
            assert np.subtract(*objective_of(trace, place, l2)) <= 1e-9
    for step in traces[0]:
        np.testing.assert_array_equal(step.coef, alone[step.k - 1].coef)


def test_rules_hear_the_ridge_with_the_best_score() -> None:
    heard, design = [], design_of()

    def score(decision: np.ndarray) -> float:
        return float(np.abs(decision).sum())

    def rule(step: Step) -> None:
        heard.append(step.validation_score)

    shared = recipe(l2=RIDGES[0], other_l2=RIDGES[1:], max_iter=8)
    validator = make_validator(
        DATA.X,
        dictionary=design.dictionary,
        scale=design.scale,
        score=score,
        device=design.device,
    )
    traces, _ = fit_path(design, [DATA.y], shared, [rule], validator)
    scores = np.array([trace.scores for trace in traces])
    assert len(set(scores[:, -1])) == 3
    np.testing.assert_array_equal(heard, scores.max(axis=0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_path_that_is_interrupted_goes_on_with_its_schedule(n_classes: int) -> None:
    kept: list[Trace] = []

    def watch(step: Step, trace: Any) -> None:
        if step.k <= 21 and not step.is_corrected:
            kept[:] = [trace()]

    # Of three classes one ends before the others, and is corrected with them all the same.
    targets = [DATA.y] if n_classes == 2 else [np.where(c == THREE, 1.0, -1.0) for c in range(3)]
    design, shared = design_of(), recipe(scheme=lazy(1.4), tol=0.0 if n_classes == 2 else 0.05)
    whole, _ = fit_one(design, targets, shared, [], None, watch)
    resumed, _ = fit_one(design, targets, shared, resume=kept[0])
    assert 8 < len(kept[0]) < len(whole)
    assert corrected(resumed) == corrected(whole)
    for one, other in zip(resumed, whole, strict=True):
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)


def test_growth_below_1_is_refused() -> None:
    model = FCGBoostClassifier(scheme=FullyCorrective(growth=0.9))
    with pytest.raises(ValueError, match="growth must be a number of at least 1"):
        model.fit(DATA.X, DATA.y)


def test_a_path_from_which_atoms_leave_is_corrected_in_every_step(tmp_path: Any) -> None:
    scheme = FullyCorrective(growth=1.5)
    model = FCGBoostClassifier("relu", scheme=scheme, removal=0.9, max_iter=30, random_state=0)
    model.set_callbacks(lambda step: step.k >= 11).fit(DATA.X, THREE)
    assert all(model.trace_.column("is_corrected"))
    save_model(model.set_callbacks(), tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(DATA.X), model.decision_function(DATA.X))


def test_outputs_of_a_path_are_corrected_together() -> None:
    model = FCGBoostClassifier(
        "gauss",
        scheme=FullyCorrective(growth=1.5),
        tol=0.06,
        validation_fraction=0.25,
        random_state=0,
    ).fit(DATA.X, THREE)
    trace = model.trace_
    judged = (np.flatnonzero(~np.isnan(trace.scores)) + 1).tolist()
    assert judged == corrected(trace)
    assert len(judged) > 4


def test_an_atom_that_may_come_again_does_not_end_a_path_that_is_behind() -> None:
    lazily, usual = (
        FCGBoostClassifier(
            "relu", scheme=lazy(growth), reselect=True, max_iter=20, random_state=0
        ).fit(DATA.X, DATA.y)
        for growth in (1.5, 1.0)
    )
    assert lazily.status_ is usual.status_
    assert len(lazily.trace_) == len(usual.trace_)


def test_a_class_derived_from_full_correction_need_not_know_of_growth() -> None:
    class Own(FullyCorrective):
        def __init__(self, solver: Any = None) -> None:
            self.solver = solver

    model = FCGBoostClassifier("relu", scheme=Own(), max_iter=5, random_state=0)
    assert all(model.fit(DATA.X, DATA.y).trace_.column("is_corrected"))


def test_the_picture_of_a_path_has_its_judged_steps() -> None:
    pytest.importorskip("matplotlib")
    from fcgboost.plotting import PathDisplay

    model = FCGBoostClassifier(
        "relu", scheme=FullyCorrective(growth=1.5), validation_fraction=0.25, random_state=0
    ).fit(DATA.X, DATA.y)
    display = PathDisplay.from_estimator(model)
    (line,) = display.lines_.values()
    assert len(line.get_xdata()) == len(corrected(model.trace_))
