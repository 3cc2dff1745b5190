"""Every design goes through one suite; what follows is about designs in memory."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from strategies import Data, training_sets
from suites.designs import CHECKS, Backend, make_data

from fcgboost.backends import columns, values
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.moments import moments_of
from fcgboost.backends.places import NumpyPlace
from fcgboost.dictionaries import GaussDictionary, PolynomialDictionary

BACKENDS = {"memory": Backend(MemoryDesign, np.asarray, np.asarray)}


@pytest.fixture(params=[*BACKENDS, "memory-small-blocks"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    if request.param == "memory-small-blocks":
        monkeypatch.setattr(NumpyPlace, "block_entries", 64)
        monkeypatch.setattr("fcgboost.backends.blocks.BLOCK", 16)
        monkeypatch.setattr(values, "_AT_ONCE", 7)
        monkeypatch.setattr(columns, "_COLUMNS_AT_FIRST", 3)
    return BACKENDS[request.param.partition("-")[0]]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_design_passes(backend: Backend, check: Callable[[Backend], None]) -> None:
    check(backend)


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


def test_a_sparse_design_stays_sparse_until_its_columns() -> None:
    X = sparse.random_array((30, 5000), density=0.01, random_state=np.random.default_rng(0)).tocsr()
    design = MemoryDesign(GaussDictionary(), X, np.ones(30), standardize=True)
    atoms = design.dictionary.candidates(design.sample(30, 0), 30, 0)
    assert sparse.issparse(atoms)
    twin = MemoryDesign(GaussDictionary(), X.toarray(), np.ones(30), standardize=True)
    dense_atoms = twin.dictionary.candidates(twin.sample(30, 0), 30, 0)
    np.testing.assert_allclose(atoms.toarray(), dense_atoms, rtol=1e-13)
    np.testing.assert_allclose(design.evaluate(atoms), twin.evaluate(dense_atoms), atol=1e-12)


def test_polynomial_atoms_of_sparse_rows_equal_those_of_dense_rows() -> None:
    X, weights = make_data()
    values = []
    for inputs in (X, sparse.csr_array(X)):
        design = MemoryDesign(PolynomialDictionary(degree=4), inputs, weights, standardize=True)
        atoms = design.dictionary.candidates(design.sample(20, 0), 20, 0)
        values.append(design.evaluate(atoms))
    np.testing.assert_allclose(values[1], values[0], rtol=1e-10, atol=1e-12)
