"""The compiled passes over rows against formulas written out."""

import ctypes

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import cython_blas

from fcgboost import _kernels, hashing
from fcgboost.threads import shared

MASK = 2**64 - 1
DGEMV = "void (char *, int *, int *, {0} *, {0} *, int *, {0} *, int *, {0} *, {0} *, int *)"


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (1, 1), (9000, 5)], ids=str)
def test_rows_are_taken_in_any_order(shape, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape).astype(dtype)
    rows = rng.integers(0, shape[0], 3 * shape[0]) if shape[0] else np.zeros(0, np.int64)
    for n_threads in (1, 3):
        with shared.ours(n_threads):
            for form in (X, np.asfortranarray(X)):
                taken = _kernels.take_rows(form, rows)
                assert taken.dtype == dtype
                np.testing.assert_array_equal(taken, X[rows])


def naive_values(X, centers, units):
    X, centers, units = (part.astype(np.longdouble) for part in (X, centers, units))
    return np.exp(-(((X[:, None] - centers) * units) ** 2).sum(axis=2))


@pytest.mark.parametrize("d", [1, 2, 3, 10, 33])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_values_are_those_of_the_formula(d, offset):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((50, d)) + offset
    centers = np.vstack([X[:10], rng.standard_normal((20, d)) + offset])
    units = 10.0 ** rng.uniform(-3.0, 2.0, (30, d))
    found, exact = _kernels.gauss_values(X, centers, units), naive_values(X, centers, units)
    # An exponent is good to some units of its last digit.
    exponents = -np.log(np.maximum(exact, 1e-320))
    assert (np.abs(found - exact) <= (d + 8) * 2.0**-53 * (1.0 + exponents) * exact + 1e-300).all()


def test_an_atom_is_exactly_one_at_its_centre_and_zero_far_away():
    centers = np.random.default_rng(0).standard_normal((40, 7))
    units = np.logspace(-10, 150, 40)[:, None] * np.ones(7)
    values = _kernels.gauss_values(centers, centers, units)
    np.testing.assert_array_equal(np.diag(values), 1.0)
    assert values[0, -1] == 0.0
    assert ((values >= 0.0) & (values <= 1.0)).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_has_no_values(shape):
    m, n = shape
    assert _kernels.gauss_values(np.zeros((m, 2)), np.zeros((n, 2)), np.ones((n, 2))).shape == shape
    assert hashing.fingerprint(np.zeros((m, 2))).shape == (m,)


@pytest.fixture
def forge(monkeypatch):
    """Let SciPy export another dgemv, of some signature, for a while."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    names = []

    def export(signature: str) -> None:
        names.append(signature.encode())  # a capsule does not copy its name
        capsule = new(1234, names[-1], None)
        monkeypatch.setitem(cython_blas.__pyx_capi__, "dgemv", capsule)
        _kernels._blas.cache_clear()

    yield export
    _kernels._blas.cache_clear()


# From SciPy 1.11 to 1.17 the name of doubles is the first one.
@pytest.mark.parametrize("double", ["__pyx_t_5scipy_6linalg_11cython_blas_d", "double"])
def test_routines_are_taken_under_any_name_of_double(forge, double) -> None:
    forge(DGEMV.format(double))
    assert _kernels._blas().gemv == 1234


@pytest.mark.parametrize(
    "signature",
    [
        DGEMV.format("float"),
        DGEMV.format("__pyx_t_5scipy_6linalg_11cython_blas_s"),
        DGEMV.format("double").replace("int *", "int64_t *"),
        DGEMV.format("double").replace("int *)", "long *)"),
        DGEMV.format("double").replace("char *, int *", "char *"),
        DGEMV.format("double").replace("void (", "int ("),
    ],
)
def test_a_routine_of_another_signature_is_refused(forge, signature) -> None:
    forge(signature)
    with pytest.raises(ImportError, match=r"cannot call the routine dgemv of this SciPy"):
        _kernels._blas()


def test_a_routine_that_scipy_lacks_is_named(monkeypatch) -> None:
    monkeypatch.delitem(cython_blas.__pyx_capi__, "dsyrk")
    _kernels._blas.cache_clear()
    with pytest.raises(ImportError, match="needs the routine dsyrk"):
        _kernels._blas()
    _kernels._blas.cache_clear()
