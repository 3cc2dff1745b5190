"""Every design goes through one suite; what follows is about designs in memory."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from fcgboost.designs import columns, scoring
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.dictionaries import GaussDictionary, PolynomialDictionary, ReluDictionary
from tests.suites.designs import (
    CHECKS,
    MEMORY,
    Place,
    make_atoms,
    make_data,
    make_scene,
)
from tests.suites.strategies import Data, training_sets


@pytest.fixture(params=["usual", "small blocks"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "small blocks":
        monkeypatch.setattr(HostDevice, "block_entries", 64)
        monkeypatch.setattr(scoring, "_AT_ONCE", 7)
        monkeypatch.setattr(columns, "_ROOM", 3)
    return MEMORY


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_design_passes(place: Place, check: Callable[[Place], None]) -> None:
    check(place)


def test_all_threads_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostDevice, "block_entries", 64)
    monkeypatch.setattr(scoring, "_AT_ONCE", 7)
    X, weights = make_data()
    for is_stored in (False, True):
        scores = []
        for n_threads in (1, 3):
            design = MemoryDesign(ReluDictionary(), X, weights, False, n_threads=n_threads)
            candidates = design.candidates(make_atoms(50), reuse=is_stored)
            points = make_scene(MEMORY, design=design).points(seed=2)[0]
            found = candidates.scores(design.residuals(points), normalize=True)
            scores.append((found.dots, found.mean_squares[:, None]))
        np.testing.assert_array_equal(*map(np.hstack, scores))


def weighted_moments(X, weights) -> tuple[np.ndarray, np.ndarray]:
    moments = moments_of(X, weights)
    return moments.mean, moments.variance


@given(training_sets())
def test_moments_of_weighted_repeated_and_sparse_rows_agree(data: Data) -> None:
    mean, variance = weighted_moments(data.X, data.weights)
    twin = data.repeated()
    for X, weights in ((twin.X, twin.weights), (sparse.csr_array(data.X), data.weights)):
        again = weighted_moments(X, weights)
        np.testing.assert_allclose(again, (mean, variance), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(mean, twin.X.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(variance, twin.X.var(axis=0), rtol=1e-13, atol=1e-15)


def test_moments_survive_large_offsets() -> None:
    rng = np.random.default_rng(10)
    Z = np.round(rng.standard_normal((1000, 2)) * 2**10) / 2**10
    weights = rng.uniform(0.1, 1.0, 1000)
    for inputs in (1e6 + Z, sparse.csr_array(1e6 + Z)):
        mean, variance = weighted_moments(inputs, weights)
        np.testing.assert_allclose(mean - 1e6, np.average(Z, axis=0, weights=weights), atol=1e-8)
        deviations = Z - np.average(Z, axis=0, weights=weights)
        expected = np.average(deviations**2, axis=0, weights=weights)
        np.testing.assert_allclose(variance, expected, rtol=1e-8)


def test_wide_sparse_rows_are_evaluated_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their width costs nothing; blocks of two rows each would take minutes."""
    X = sparse.csr_array((np.ones(5000), (range(5000), range(5000))), shape=(5000, 100_000))
    dictionary, sizes = GaussDictionary(), []
    design = MemoryDesign(dictionary, X, np.ones(5000), standardize=False)
    atoms = dictionary.candidates(design.sample(3, 0), 3, 0)

    def evaluate(self: GaussDictionary, X: sparse.csr_array, *given: object) -> np.ndarray:
        sizes.append(X.shape[0])
        return np.zeros((X.shape[0], 3))

    monkeypatch.setattr(GaussDictionary, "evaluate", evaluate)
    assert design.evaluate(atoms).shape == (5000, 3)
    assert len(sizes) == 1


def test_polynomial_atoms_of_sparse_rows_equal_those_of_dense_rows() -> None:
    X, weights = make_data()
    values = []
    for inputs in (X, sparse.csr_array(X)):
        design = MemoryDesign(PolynomialDictionary(degree=4), inputs, weights, standardize=True)
        atoms = design.dictionary.candidates(design.sample(20, 0), 20, 0)
        values.append(design.evaluate(atoms))
    np.testing.assert_allclose(values[1], values[0], rtol=1e-10, atol=1e-12)


def test_more_rows_than_a_process_can_number_are_refused() -> None:
    X = np.broadcast_to(0.0, (2**31, 1))
    with pytest.raises(ValueError, match="2,147,483,648 rows, and a process can fit"):
        MemoryDesign(ReluDictionary(), X, np.ones(1), standardize=True)
