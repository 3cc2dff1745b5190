"""Learning atoms: what one gains, which way it gains more, and that nothing learned is worse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from fcgboost import FCGBoostClassifier
from fcgboost.designs.base import TIE, Point, Residuals
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LearnableDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.selection.base import Request
from fcgboost.selection.gain import Gain, Task, refine
from fcgboost.selection.learned import LearnedCandidates
from tests.dictionaries.test_base_learnable import LEARNABLE, difference_quotients, each_learnable
from tests.suites.strategies import Data, seeds, training_sets

FAMILIES: dict[str, Dictionary] = {
    **LEARNABLE,
    "step": StepDictionary(),
    "tree": TreeDictionary(depth=2, min_leaf=1),
    "turns": UnionDictionary([ReluDictionary(), TreeDictionary(depth=2), GaussDictionary()]),
}


def make_rows(seed: int = 0, m: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give rows, labels and weights."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, d))
    y = np.where(Z[:, 0] + 0.5 * rng.standard_normal(m) > 0.0, 1.0, -1.0)
    return Z, y, rng.uniform(0.5, 2.0, m)


def decrease(
    g: np.ndarray, y: np.ndarray, weights: np.ndarray, f: np.ndarray, l2: float, has_constant: bool
) -> float:
    """Give how much an atom and a constant lower the regularised squared hinge at most."""
    m = weights.sum()

    def objective(both: np.ndarray) -> float:
        alpha, constant = both[0], both[1] * has_constant
        margins = y * (f + alpha * g + constant)
        return float(weights @ np.maximum(0.0, 1.0 - margins) ** 2 / m + l2 * alpha**2)

    found = minimize(objective, np.zeros(2), method="Nelder-Mead", tol=1e-14)
    return objective(np.zeros(2)) - float(found.fun)


@pytest.mark.parametrize("has_constant", [True, False])
@pytest.mark.parametrize("l2", [0.3, 30.0])
def test_the_gain_is_four_times_the_decrease_of_the_objective(
    l2: float, has_constant: bool
) -> None:
    Z, y, weights = make_rows()
    m = weights.sum()
    # At the best constant, no row leaves the region where the loss is a parabola.
    f = np.full(len(y), weights @ y / m if has_constant else 0.0)
    residual = 2.0 * weights * y * np.maximum(0.0, 1.0 - y * f) / m
    gain = Gain(l2, has_constant, m)
    for w in np.random.default_rng(1).standard_normal((5, 3)):
        g = 0.1 * np.maximum(0.0, Z @ w)
        (score,) = gain.scores(
            *(np.array([value]) for value in (residual @ g, weights @ g, weights @ g**2, m))
        )
        expected = decrease(g, y, weights, f, l2, has_constant)
        assert score**2 / 4.0 == pytest.approx(expected, rel=1e-5)


def test_rows_that_are_not_active_do_not_count() -> None:
    Z, y, weights = make_rows()
    m = weights.sum()
    f = 3.0 * Z[:, 0]
    active = y * f < 1.0
    assert 0.2 < active.mean() < 0.8
    # The best coefficient and constant for what has been fitted so far.
    found = minimize(
        lambda c: weights @ np.maximum(0.0, 1.0 - y * (c[0] * f + c[1])) ** 2,
        np.zeros(2),
        tol=1e-12,
    )
    f = found.x[0] * f + found.x[1]
    residual = 2.0 * weights * y * np.maximum(0.0, 1.0 - y * f) / m
    bends = np.where(residual != 0.0, weights, 0.0)
    g = np.tanh(Z[:, 1] + Z[:, 2])
    sums = (residual @ g, bends @ g, bends @ g**2, bends.sum())
    errors = []
    # Stronger ridges make shorter steps: what the second order leaves out vanishes faster.
    for l2 in (1.0, 10.0, 100.0):
        (score,) = Gain(l2, True, m).scores(*(np.array([value]) for value in sums))
        true = decrease(g, y, weights, f, l2, True)
        errors.append(abs(score**2 / 4.0 / true - 1.0))
    assert errors[2] < 1e-3
    assert errors[2] <= errors[0]


def test_the_score_of_a_first_step_is_what_the_loop_gains() -> None:
    Z, y, weights = make_rows()
    model = FCGBoostClassifier("relu", selection="learned", l2=5.0, max_iter=1, random_state=0)
    model.fit(Z, y, weights)
    step, m = model.trace_[0], weights.sum()
    start = weights @ np.maximum(0.0, 1.0 - y * model.trace_.start[0]) ** 2 / m
    assert step.scores[0] ** 2 / 4.0 == pytest.approx(start - step.objectives[0], rel=1e-8)


def make_task(dictionary: Any, is_centered: bool, seed: int = 2) -> tuple[Task, np.ndarray]:
    """Give a task with rows of all kinds, and atoms of which no one is nothing there."""
    Z, y, weights = make_rows(seed)
    weights[::7] = 0.0
    residual = weights * y * np.random.default_rng(seed).random(len(y)) / weights.sum()
    task = Task(Z, residual, weights, Gain(0.05, is_centered, weights.sum()))
    design = MemoryDesign(dictionary, Z, np.ones(len(Z)), standardize=False)
    theta = dictionary.free(np.asarray(dictionary.candidates(design.sample(12, 1), 12, 1)))
    # No row lies right at a hinge any more, where there is no slope.
    theta = theta * (1.0 + 1e-3 * np.random.default_rng(seed).standard_normal(theta.shape))
    heights = np.array([task.look(dictionary, one)[0] for one in theta])
    return task, theta[heights > heights.max() - 9.0]


@pytest.mark.parametrize("is_centered", [True, False])
@each_learnable
def test_the_slope_is_that_of_the_logarithm_of_the_gain(
    dictionary: LearnableDictionary, is_centered: bool
) -> None:
    task, theta = make_task(dictionary, is_centered)
    slope = np.array([task.look(dictionary, one)[1] for one in theta])
    expected = difference_quotients(
        lambda moved: np.array([task.look(dictionary, one)[0] for one in moved]), theta
    )
    size = np.abs(expected).max(axis=1, keepdims=True)
    assert len(theta) > 1
    np.testing.assert_allclose(slope / size, expected / size, atol=2e-5)


@pytest.mark.parametrize("proximity", [0.0, 0.3])
@each_learnable
def test_refining_goes_up_and_the_proximity_penalty_holds(
    dictionary: LearnableDictionary, proximity: float
) -> None:
    task, theta = make_task(dictionary, True)
    gains = []
    for start in theta:
        before = start.copy()
        end = refine(dictionary, task, start, 8, proximity)
        away = ((end - start)[:-1] ** 2).sum() / (start[:-1] ** 2).sum()
        gains.append(task.look(dictionary, end)[0] - task.look(dictionary, start)[0])
        assert gains[-1] >= proximity * away - 1e-9
        np.testing.assert_array_equal(refine(dictionary, task, start, 0, proximity), start)
        np.testing.assert_array_equal(start, before)
    assert max(gains) > 0.01


def test_a_strong_proximity_penalty_keeps_atoms_nearer() -> None:
    dictionary = LEARNABLE["relu"]
    task, theta = make_task(dictionary, True)

    def distance(proximity: float) -> float:
        ends = np.array([refine(dictionary, task, start, 8, proximity) for start in theta])
        return float(np.sqrt(((ends - theta)[:, :-1] ** 2).sum()))

    assert distance(100.0) < 0.5 * distance(0.3) < 0.5 * distance(0.0) + 1e-9


@each_learnable
def test_an_atom_that_is_nothing_stays(dictionary: LearnableDictionary) -> None:
    task, theta = make_task(dictionary, True)
    task = replace(task, residual=np.zeros_like(task.residual))
    assert task.look(dictionary, theta[0])[0] == -np.inf
    np.testing.assert_array_equal(refine(dictionary, task, theta[0], 8, 0.3), theta[0])


# What enters


def naive_score(
    values: np.ndarray, r: np.ndarray, weights: np.ndarray, l2: float, is_centered: bool
) -> float:
    bends = np.where(r != 0.0, weights, 0.0)
    mean = bends @ values / bends.sum() if is_centered else 0.0
    spread = bends @ (values - mean) ** 2 / weights.sum()
    return abs(r @ values) / np.sqrt(spread + l2)


def requested(design: MemoryDesign, R: np.ndarray, l2: float, is_centered: bool, k: int) -> Request:
    """Ask for an atom for any residuals, which no loss could leave."""
    gain, n = Gain(l2, is_centered, design.total_weight), R.shape[1]
    points = [Point(None, c, np.zeros(0)) for c in range(n)]
    active = (R != 0.0) * design.weights[:, None]
    return Request(k, Residuals(points, R, active), [()] * n, "none", [gain] * n)


@pytest.mark.parametrize("name", sorted(FAMILIES))
@given(
    training_sets(min_samples=6),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    seeds,
)
def test_what_was_improved_is_never_worse_on_all_rows(
    name: str, data: Data, is_sparse: bool, is_centered: bool, n_outputs: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = data.X * [[1.0, 30.0, 0.1][j] for j in range(data.X.shape[1])]
    R = rng.standard_normal((len(X), n_outputs)) * (rng.random((len(X), n_outputs)) < 0.7)
    dictionary, l2 = FAMILIES[name], float(rng.choice([1e-3, 1.0]))
    given_X = sparse.csr_array(X) if is_sparse else X
    design = MemoryDesign(dictionary, given_X, data.weights, standardize=True)
    k = int(rng.integers(1, 4))
    found = []
    # Few rows are looked at: what is learned on them has to be judged on all.
    for max_steps in (0, 8):
        selection = LearnedCandidates(size=4, max_steps=max_steps, n_rows=5, max_rows=8)
        found.append(selection.chooser(design, 0, seed)(requested(design, R, l2, is_centered, k)))
    for plain, learned, r in zip(*found, R.T, strict=True):
        assert plain is not None
        assert learned is not None
        assert learned.score >= (1.0 - 2.0 * TIE) * plain.score
        values = design.evaluate(learned.atom)[:, 0]
        # Sums of values that are nearly constant lose digits.
        size = np.sqrt(data.weights.sum()) * np.abs(r).max() * np.abs(values).max()
        expected = naive_score(values, r, data.weights, l2, is_centered) if r.any() else 0.0
        assert learned.score == pytest.approx(expected, rel=1e-6, abs=1e-6 * size)


@pytest.mark.parametrize("name", ["relu", "gauss", "sigmoid", "linear"])
def test_learned_atoms_gain_more_than_drawn_ones(name: str) -> None:
    Z, y, weights = make_rows(m=200, d=10)
    design = MemoryDesign(FAMILIES[name], Z, weights, standardize=True)
    # With a constant in the model, the residual adds up to zero.
    R = (weights * (y - weights @ y / weights.sum()))[:, None] / weights.sum()
    scores = []
    for selection in (LearnedCandidates(max_steps=0), LearnedCandidates()):
        choose = selection.chooser(design, 0, 3)
        scores.append([choose(requested(design, R, 0.01, True, k))[0].score for k in range(1, 8)])
    plain, learned = np.array(scores)
    assert (learned >= (1.0 - TIE) * plain).all()
    assert (learned > plain).sum() >= 4


def test_the_automatic_proximity_is_at_most_forty_over_the_weight_of_the_rows() -> None:
    automatic, fixed = LearnedCandidates(), LearnedCandidates(proximity=0.2)
    assert automatic.proximities() == (0.3, 40.0)
    assert fixed.proximities() == (0.2, np.inf)


def test_the_automatic_proximity_counts_active_rows_by_their_weight() -> None:
    Z, y, _ = make_rows(m=200, d=5)
    weights = np.ones(200)
    design = MemoryDesign(FAMILIES["relu"], Z, weights, standardize=True)
    # Of the 200 rows 160 are active, so a proximity of 40 / 160 is the same thing.
    R = (y * (np.arange(200) < 160))[:, None] / 200
    request = requested(design, R, 0.01, False, 1)
    chosen = [
        selection.chooser(design, 0, 3)(request)[0]
        for selection in (
            LearnedCandidates(),
            LearnedCandidates(proximity=0.25),
            LearnedCandidates(proximity=0.2),
        )
    ]
    same, fixed, other = (choice.atom for choice in chosen if choice is not None)
    np.testing.assert_array_equal(same, fixed)
    assert not np.array_equal(same, other)


def test_atoms_of_a_family_with_multiples_have_a_largest_value_of_one() -> None:
    Z, y, weights = make_rows(m=60)
    for name in ("relu", "linear"):
        model = FCGBoostClassifier(FAMILIES[name], selection="learned", max_iter=4, random_state=0)
        columns = model.fit(Z, y, weights).model_.columns(Z)
        np.testing.assert_allclose(np.abs(columns).max(axis=0), 1.0, rtol=1e-9)


def test_an_atom_that_is_excluded_is_not_chosen_again() -> None:
    Z, y, weights = make_rows()
    design = MemoryDesign(FAMILIES["tree"], Z, weights, standardize=True)
    R = (weights * y)[:, None] / weights.sum()
    choose = LearnedCandidates().chooser(design, 0, 3)
    request = requested(design, R, 0.01, True, 1)
    first = choose(request)[0]
    assert first is not None
    # A tree is grown on the residual alone: the same one comes again, and no other.
    assert choose(replace(request, excluded=[{first.id}])) == [None]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 0}, "size must be"),
        ({"max_steps": -1}, "max_steps must be a number of at least 0"),
        ({"proximity": -0.1}, "proximity must be a number of at least 0"),
        ({"proximity": "much"}, "proximity must be a number of at least 0"),
        ({"max_steps": "auto"}, "max_steps must be a number of at least 0"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"max_rows": 0}, "max_rows must be"),
    ],
)
def test_impossible_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    Z, y, _ = make_rows()
    with pytest.raises(ValueError, match=message):
        FCGBoostClassifier("relu", selection=LearnedCandidates(**parameters)).fit(Z, y)
