"""Atoms that the compiled library draws and refines, compared with those of the generic path."""

import sys

import numpy as np
import pytest
from scipy import stats

from fcgboost import _kernels
from fcgboost.dictionaries import (
    GaussDictionary,
    ReluDictionary,
    Sample,
    SigmoidDictionary,
    TreeDictionary,
)
from fcgboost.selection.gain import CONSTANTS, Gain
from fcgboost.selection.learned import (
    LearnedCandidates,
    _Drawn,
    _LearningRows,
    _proposer,
    _search,
)
from fcgboost.threads import shared

FAMILIES = {
    "relu": ReluDictionary(),
    "relu of two features": ReluDictionary(max_features=2),
    "gauss": GaussDictionary(),
    "gauss of a width": GaussDictionary(width=0.8),
    "gauss of a range": GaussDictionary(width=(0.3, 3.0)),
}
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def make_data(n=60, d=3, seed=0):
    """Return rows, and a residual with weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.1, 30.0, d) + np.linspace(5.0, -40.0, d)
    shift, scale = X.mean(axis=0), X.std(axis=0) + 1e-3
    frame = Sample(X, shift, scale, X.min(axis=0), X.max(axis=0), 1.0, float(d))
    weights = rng.integers(0, 3, n).astype(float)
    residual = weights * (np.tanh(2.0 * X[:, 0]) + 0.5 * rng.standard_normal(n)) / n
    return _LearningRows(frame, np.ones(n)), residual, weights


def draw(search, points, key):
    """Draw atoms at points: unconstrained parameters of shape (n_points, n_features + 1)."""
    atoms = np.empty((len(points), points.shape[1] + 1))
    _kernels.library().fcg_draw(search, points.shape[1], points, key, atoms)
    return atoms


class DrawnByLibrary(_Drawn):
    """The generic path, with the draws of the compiled library."""

    def _draw(self, points, key):
        search = _search(self.family, self.selection, self.data.frame)
        theta = draw(search, np.ascontiguousarray(self.data.standardized[points]), key)
        return self.data.raw(self.family, self.family.bound(theta))


def search_of(family, size, most=4, low=0.0, high=0.0):
    return _kernels.Search(family, size, 100, 8, 0.3, np.inf, most, low, high, *CONSTANTS)


@each_family
@pytest.mark.parametrize("is_centered", [True, False])
@pytest.mark.parametrize("n_rows", [25, 4096])
def test_compiled_and_generic_proposals_are_the_same(family, is_centered, n_rows):
    gain, n_moved = Gain(0.1, is_centered, 1.0), 0
    for seed, (n, d) in enumerate([(20, 1), (60, 3), (64, 2), (400, 20), (129, 5)]):
        data, residual, weights = make_data(n, d, seed)
        proximity = "auto" if seed % 2 else 0.3
        selection = LearnedCandidates(32, 8, proximity, n_rows)
        compiled = _proposer(family, selection, data)(residual, weights, gain, seed)
        generic = DrawnByLibrary(family, selection, data)
        expected = generic.propose(residual, weights, gain, seed)
        assert compiled.shape == expected.shape == (2, d + 1)
        size = np.abs(expected).max(axis=1, keepdims=True)
        np.testing.assert_allclose(compiled / size, expected / size, rtol=0, atol=1e-8)
        n_moved += not np.allclose(compiled[0], compiled[1])
    assert n_moved >= 3


@each_family
def test_threads_share_the_rows_of_a_proposal_and_change_no_bit(family):
    data, residual, weights = make_data(5000, 4, 0)
    selection, gain = LearnedCandidates(32, 8, 0.3, 4500), Gain(0.1, True, 1.0)
    proposer = _proposer(family, selection, data)
    expected = DrawnByLibrary(family, selection, data).propose(residual, weights, gain, 1)
    atoms = []
    for n_threads in (1, 2, 3, 7):
        with shared.ours(n_threads):
            atoms.append(proposer(residual, weights, gain, 1))
    np.testing.assert_allclose(atoms[0], expected, rtol=1e-6, atol=1e-8)
    for found in atoms[1:]:
        np.testing.assert_array_equal(found, atoms[0])


@each_family
def test_every_number_of_steps_agrees(family):
    data, residual, weights = make_data()
    for max_steps in range(13):
        selection, gain = LearnedCandidates(32, max_steps, 0.01), Gain(0.001, True, 1.0)
        compiled = _proposer(family, selection, data)(residual, weights, gain, 5)
        expected = DrawnByLibrary(family, selection, data).propose(residual, weights, gain, 5)
        assert len(compiled) == (2 if max_steps else 1)
        np.testing.assert_allclose(compiled, expected, rtol=1e-6, atol=1e-8)


@each_family
def test_without_active_rows_there_are_proposals_all_the_same(family):
    data, residual, _ = make_data()
    selection, gain = LearnedCandidates(8), Gain(0.1, True, 1.0)
    nothing = np.zeros_like(residual)
    atoms = _proposer(family, selection, data)(nothing, nothing, gain, 1)
    assert np.isfinite(atoms).all()
    expected = DrawnByLibrary(family, selection, data).propose(nothing, nothing, gain, 1)
    np.testing.assert_allclose(atoms, expected, rtol=1e-9)


def test_only_what_is_known_exactly_is_compiled():
    class Steeper(ReluDictionary):
        def profile(self, z):
            return 2.0 * super().profile(z)

    data = make_data()[0]
    others = Steeper(), SigmoidDictionary(), ReluDictionary("box"), GaussDictionary(centers="box")
    for family in others:
        assert _search(family, LearnedCandidates(8), data.frame) is None
    for family in FAMILIES.values():
        assert _search(family, LearnedCandidates(8), data.frame) is not None


# What is drawn


def test_rows_are_sampled_among_those_with_a_weight():
    weights = (np.random.default_rng(0).random(200) < 0.4).astype(float)
    active = np.flatnonzero(weights)
    for key in range(50):
        rows, points, n_active = _kernels.sample(weights, 30, 8, key)
        assert n_active == len(active)
        assert len(rows) == len(set(rows)) == 30
        assert len(points) == len(set(points)) == 8
        assert set(points) <= set(rows) <= set(active)
    rows, points, _ = _kernels.sample(weights, 1000, 300, 1)
    np.testing.assert_array_equal(rows, active)
    assert set(points) <= set(active)


def test_every_row_is_sampled_as_often():
    counts, atoms = np.zeros(40), np.zeros(40)
    for key in range(4000):
        rows, points, _ = _kernels.sample(np.ones(40), 10, 3, key)
        counts[rows] += 1
        atoms[points] += 1
    assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.chisquare(atoms).pvalue > 1e-3


@pytest.mark.parametrize("most", [1, 3, 6])
def test_planes_are_unit_directions_of_any_number_of_features_through_their_points(most):
    points = np.random.default_rng(0).standard_normal((6000, 6))
    atoms = draw(search_of(_kernels.RELU, 6000, most=most), points, 7)
    np.testing.assert_allclose(np.linalg.norm(atoms[:, :-1], axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((atoms[:, :-1] * points).sum(axis=1), -atoms[:, -1], atol=1e-12)
    is_used = atoms[:, :-1] != 0.0
    n_used = np.bincount(is_used.sum(axis=1), minlength=most + 1)
    assert n_used[0] == 0
    assert len(n_used) == most + 1
    assert stats.chisquare(n_used[1:]).pvalue > 1e-3 or most == 1
    assert stats.chisquare(is_used.sum(axis=0)).pvalue > 1e-3
    weights = atoms[:, :-1][is_used]
    assert stats.binomtest(int((weights > 0.0).sum()), len(weights)).pvalue > 1e-3


def test_directions_of_two_features_have_a_uniform_angle():
    points = np.zeros((4000, 2))
    atoms = draw(search_of(_kernels.RELU, 4000, most=2), points, 7)
    both = atoms[(atoms[:, :-1] != 0.0).all(axis=1)]
    angles = np.arctan2(both[:, 0], both[:, 1])
    assert stats.kstest(angles, stats.uniform(-np.pi, 2.0 * np.pi).cdf).pvalue > 1e-3


def test_widths_are_log_uniform_and_centres_the_points():
    points = np.random.default_rng(0).standard_normal((3000, 2))
    low, high = np.log([0.3, 3.0])
    atoms = draw(search_of(_kernels.GAUSS, 3000, low=low, high=high), points, 7)
    np.testing.assert_array_equal(atoms[:, :-1], points)
    assert stats.kstest(atoms[:, -1], stats.uniform(low, high - low).cdf).pvalue > 1e-3


def test_keys_are_independent_and_equal_keys_give_equal_atoms():
    points = np.zeros((500, 3))
    search = search_of(_kernels.RELU, 500, most=3)
    one, same, other = (draw(search, points, key) for key in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not (one == other)[np.abs(one) % 1.0 > 0.0].any()
    for j in range(3):
        assert abs(np.corrcoef(one[:, j], other[:, j])[0, 1]) < 0.2
    # Fewer atoms of a key are the first ones of more.
    few = draw(search_of(_kernels.RELU, 5, most=3), points[:5], 1)
    np.testing.assert_array_equal(few, one[:5])


# What it costs


def count_calls(function, *arguments):
    """Return how many Python and C functions a call calls, itself included."""
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(event in ("call", "c_call")))
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return sum(seen) - 1  # without the last one, which ends this


@each_family
def test_a_proposal_is_a_few_calls(family):
    data, residual, weights = make_data(500, 10)
    compiled = _proposer(family, LearnedCandidates(32, 8, 0.3), data)
    arguments = residual, weights, Gain(0.1, True, 1.0), 1
    compiled(*arguments)
    assert count_calls(compiled, *arguments) <= 25


def test_a_tree_is_a_few_calls():
    data, residual, weights = make_data(500, 10)
    grower = TreeDictionary("shallow").grower(data.frame)
    grower.grow(residual, weights, 1)
    assert count_calls(grower.grow, residual, weights, 1) <= 35
