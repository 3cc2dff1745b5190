"""The compiled passes over rows against formulas written out."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import _kernels, hashing

MASK = 2**64 - 1


def mixed(word: int) -> int:
    """Scramble a word as splitmix64's finaliser does, in Python's whole numbers."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


def naive_fingerprint(row: np.ndarray) -> int:
    total = 0
    for j, value in enumerate(row):
        if value != 0.0:
            bits = int(np.float64(value).view(np.uint64))
            total += mixed(bits ^ mixed((j + 1) * 0x9E3779B97F4A7C15 & MASK))
    return mixed(total & MASK)


def test_a_fingerprint_is_the_mixed_sum_of_mixed_entries() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) * rng.integers(0, 2, (50, 7))
    X[0], X[1, 3] = 0.0, -0.0
    words = hashing.fingerprint(X)
    assert words.tolist() == [naive_fingerprint(row) for row in X]
    np.testing.assert_array_equal(words, hashing.fingerprint(sparse.csr_matrix(X)))
    np.testing.assert_array_equal(words, hashing.fingerprint(np.asfortranarray(X)))


@pytest.mark.parametrize("d", [1, 2, 5, 30])
@pytest.mark.parametrize("n_atoms", [1, 3])
def test_gauss_values_are_exponentials_of_squares(d: int, n_atoms: int) -> None:
    rng = np.random.default_rng(d)
    X, centers = rng.normal(size=(200, d)), rng.normal(size=(n_atoms, d))
    units = rng.uniform(0.05, 3.0, size=(n_atoms, d))
    gaps = (X[:, None, :] - centers).astype(np.longdouble) * units
    expected = np.exp(-(gaps**2).sum(axis=2))
    values = _kernels.gauss_values(X, centers, units)
    exponents = -np.log(expected)
    error = 4e-16 * (2.0 + (d + 4) * exponents) * expected + 1e-300
    assert (np.abs(values - expected) <= error).all()
    np.testing.assert_array_equal(_kernels.gauss_values(centers, centers, units).diagonal(), 1.0)


def test_gauss_values_far_away_are_zero() -> None:
    far = np.array([[1e200, 0.0], [1e9, 1e9]])
    np.testing.assert_array_equal(_kernels.gauss_values(far, np.zeros((1, 2)), np.ones((1, 2))), 0)
