"""Compiled climbs of atoms against those of the generic path."""

import numpy as np
import pytest

from fcgboost.dictionaries import GaussDictionary, ReluDictionary, SigmoidDictionary
from fcgboost.learning import Task, Yardstick, improve, improve_any

FAMILIES = {"relu": ReluDictionary(), "gauss": GaussDictionary()}


def make_task(family, n=60, d=3, seed=0, is_centered=True, ridge=0.1):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    residual = (np.tanh(2.0 * Z[:, 0]) + 0.5 * rng.standard_normal(n)) / n
    weights = rng.integers(1, 4, n).astype(float)
    return Task(family, Z, residual, weights, Yardstick(ridge, is_centered, float(weights.sum())))


def make_start(family, task, seed=0):
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((1, task.Z.shape[1] + 1))
    if isinstance(family, GaussDictionary):
        start[0, :-1], start[0, -1] = task.Z[0], 0.2
    return start


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("is_centered", [True, False])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (60, 3), (400, 20)])
def test_compiled_and_plain_climbs_end_at_the_same_place(family, is_centered, n, d):
    n_moved = 0
    for seed in range(10):
        task = make_task(family, n, d, seed, is_centered)
        start = make_start(family, task, seed)
        plain = improve_any(task, start, 8, 0.3)
        compiled = improve(task, start, 8, 0.3)
        assert compiled.shape == start.shape
        np.testing.assert_allclose(compiled, plain, rtol=1e-7, atol=1e-9)
        n_moved += not np.array_equal(plain, start)
    assert n_moved >= 5


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_number_of_steps_agrees(family):
    task = make_task(family, ridge=0.001)
    start = make_start(family, task)
    for max_steps in range(13):
        plain = improve_any(task, start, max_steps, 0.01)
        compiled = improve(task, start, max_steps, 0.01)
        np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_an_atom_that_is_nothing_stays(family):
    task = make_task(family)
    # Far from all rows: values, sums and slopes are zero.
    start = np.array([[1.0, 1.0, 1.0, -100.0]])
    if isinstance(family, GaussDictionary):
        start = np.array([[1e3, 1e3, 1e3, 0.0]])
    np.testing.assert_array_equal(improve(task, start, 8, 0.3), start)
    np.testing.assert_array_equal(improve_any(task, start, 8, 0.3), start)


def test_the_start_is_not_written_on():
    task = make_task(FAMILIES["relu"])
    start = make_start(FAMILIES["relu"], task)
    before = start.copy()
    assert (improve(task, start, 8, 0.3) != before).any()
    np.testing.assert_array_equal(start, before)


def test_only_what_is_known_exactly_is_compiled():
    class Steeper(ReluDictionary):
        def profile(self, z):
            return 2.0 * super().profile(z)

    for family in (Steeper(), SigmoidDictionary()):
        task = make_task(family)
        start = make_start(family, task)
        expected = improve_any(task, start, 8, 0.3)
        np.testing.assert_array_equal(improve(task, start, 8, 0.3), expected)


def test_several_atoms_are_improved_one_by_one():
    task = make_task(FAMILIES["relu"])
    starts = np.vstack([make_start(FAMILIES["relu"], task, seed) for seed in range(3)])
    expected = [improve(task, start[None], 8, 0.3)[0] for start in starts]
    np.testing.assert_array_equal(improve(task, starts, 8, 0.3), expected)
