"""Bounds on single precision are true: of values, of sums, of sizes, and of scores."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds
from suites.reference import PlaneDictionary, full_matrix, reference_scores

from fcgboost.backends import fused
from fcgboost.backends import values as values_module
from fcgboost.backends.blocks import BLOCK, block_sums
from fcgboost.backends.candidates import contenders
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.places import NumpyPlace
from fcgboost.backends.values import FreshValues, StoredValues
from fcgboost.dictionaries import (
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    ScreenedDictionary,
    SigmoidDictionary,
)

SCREENED: list[ScreenedDictionary] = [
    *(GaussDictionary(), ReluDictionary(), SigmoidDictionary(), LinearDictionary()),
]
each_screened = pytest.mark.parametrize("dictionary", SCREENED, ids=repr)


def exact_values(dictionary: Any, Z: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Give the formula in extended precision, with a scale of ones."""
    Z, atoms = Z.astype(np.longdouble), atoms.astype(np.longdouble)
    vectors, last = atoms[:, :-1], atoms[:, -1]
    if isinstance(dictionary, GaussDictionary):
        squares = ((Z[:, None, :] - vectors) ** 2).sum(axis=2)
        return np.exp(-squares / (2.0 * last**2))
    z = (Z[:, None, :] * vectors).sum(axis=2) + last
    if isinstance(dictionary, ReluDictionary):
        return np.maximum(z, 0.0)
    if isinstance(dictionary, LinearDictionary):
        return z
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


def make_atoms(
    dictionary: Any, Z: np.ndarray, rng: np.random.Generator, exponents: tuple[float, float]
) -> np.ndarray:
    """Give atoms in the coordinates of Z: at rows, near and far, and some twice."""
    n, d = 14, Z.shape[1]
    sizes = 10.0 ** rng.uniform(*exponents, (n, 1))
    if isinstance(dictionary, GaussDictionary):
        centers = Z[rng.integers(0, len(Z), n)] + rng.standard_normal((n, d)) * rng.choice(
            [0.0, 1e-3, 1.0, 100.0], (n, 1)
        )
        atoms = np.hstack([centers, sizes])
    else:
        w = sizes * rng.standard_normal((n, d))
        through = Z[rng.integers(0, len(Z), n)]
        b = -np.einsum("ij,ij->i", w, through) + rng.choice([0.0, 1.0, 1e3], n)
        atoms = np.hstack([w, b[:, None]])
    return np.vstack([atoms, atoms[:3]])


@given(
    seed=seeds,
    d=st.sampled_from([1, 2, 5, 30]),
    ends=st.sampled_from([(-3.0, 3.0), (-1.0, 1.0), (-3.0, -2.0), (2.0, 3.0)]),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
)
@each_screened
def test_values_are_as_far_off_as_is_said_and_no_further(
    dictionary: ScreenedDictionary, seed: int, d: int, ends: tuple[float, float], spread: float
) -> None:
    rng = np.random.default_rng(seed)
    Z = spread * rng.standard_normal((40, d))
    atoms = make_atoms(dictionary, Z, rng, ends)
    rounding = dictionary.rounding(atoms)
    ones = np.ones(d, dtype=np.float32)
    with np.errstate(under="ignore"):
        single = dictionary.evaluate(Z.astype(np.float32), atoms.astype(np.float32), ones)
        exact = exact_values(dictionary, Z, atoms)
    assert single.dtype == np.float32
    radii = np.linalg.norm(Z, axis=1)[:, None]
    # An infinite share of nothing is no bound either.
    relative = np.where(np.isfinite(rounding.relative), rounding.relative, 1e300)
    off = relative * exact + rounding.constant + rounding.slope * radii
    assert (np.abs(single - exact) <= off).all()


def test_bounds_of_ordinary_atoms_are_worth_something() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 5))
    centers = np.hstack([Z[:50], rng.uniform(0.5, 3.0, (50, 1))])
    assert GaussDictionary().rounding(centers).relative.max() < 1e-3
    planes = rng.standard_normal((50, 6))
    for dictionary in (ReluDictionary(), SigmoidDictionary()):
        rounding = dictionary.rounding(planes)
        assert rounding.constant.max() < 1e-5
        assert rounding.slope.max() < 1e-5


@given(seed=seeds, shift=st.sampled_from([0.0, 10.0, 1e3]))
@each_screened
def test_moved_atoms_are_the_same_functions(
    dictionary: ScreenedDictionary, seed: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) * [1.0, 5.0, 0.1] + shift
    origin, unit = X.mean(axis=0), X.std(axis=0)
    atoms = rng.standard_normal((6, 4))
    if isinstance(dictionary, GaussDictionary):
        atoms = np.hstack([X[:6], rng.uniform(0.5, 2.0, (6, 1))])
    moved = dictionary.moved(atoms, origin, unit)
    expected = dictionary.evaluate(X, atoms, unit)
    found = dictionary.evaluate((X - origin) / unit, moved, np.ones(3))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


# Sums and scores

DICTIONARIES = {
    "gauss": GaussDictionary(),
    "narrow": GaussDictionary(width=0.02),
    "wide": GaussDictionary(width=1e3, centers="box"),
    "relu": ReluDictionary(),
    "sigmoid": SigmoidDictionary(),
    "polynomial": PolynomialDictionary(),
    "planes": PlaneDictionary(),
}


def float64_noise(
    dictionary: Any, X: np.ndarray, atoms: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Bound what float64 itself loses, which is all there is where <w, x> + b cancels."""
    if isinstance(dictionary, GaussDictionary):
        return 1e-13 * values
    terms = np.abs(X) @ np.abs(atoms[:, :-1]).T + np.abs(atoms[:, -1])
    return 1e-14 * (terms + np.abs(values))


def check_estimate(
    kind: type, name: str, m: int, share: float, seed: int, single: bool = True
) -> None:
    """Compare dots, sizes and scores of an estimate with exact ones, for every divisor."""
    rng = np.random.default_rng(seed)
    dictionary = DICTIONARIES[name]
    X = rng.standard_normal((m, 3)) * [1.0, 30.0, 0.01] + [5.0, 0.0, 1.0]
    weights = rng.uniform(0.1, 3.0, m)
    design = MemoryDesign(dictionary, X, weights, standardize=True)
    atoms = dictionary.candidates(design.sample(20, seed), 20, seed)
    atoms = np.vstack([atoms, atoms[:4]])
    R = rng.standard_normal((m, 3)) * 10.0 ** rng.uniform(-6, 0, (m, 3))
    R[rng.random(m) > share] = 0.0
    exact = full_matrix(design, atoms)
    noise = float64_noise(dictionary, X, atoms, exact)
    values = kind(design, atoms, single and design.is_screened)
    for divisor in ("none", "norm", "max", "none", "norm"):
        estimate = values.estimate(R, divisor, None)
        dots = exact.astype(np.longdouble).T @ R
        slack = noise.T @ np.abs(R)
        assert (np.abs(estimate.dots - dots) <= estimate.bounds + slack).all()
        by_size = {
            "none": np.ones(len(atoms)),
            "max": np.abs(exact).max(axis=0),
            "norm": np.sqrt(weights @ exact**2 / weights.sum()),
        }[divisor]
        if divisor != "none":
            sizes, bounds = estimate.sizes
            assert (np.abs(sizes - by_size) <= bounds + noise.max(axis=0)).all()
        low, high = estimate.interval(design.place)
        scores = reference_scores(exact, weights, R, divisor)
        # Where float64 itself knows the size.
        known = by_size > 1e4 * noise.max(axis=0)
        slack = (
            2.0 * slack[known] / by_size[known, None]
            + 1e-3 * scores[known] * (noise.max(axis=0) > 1e-12 * by_size)[known, None]
        )
        assert (low[known] <= scores[known] * (1.0 + 1e-12) + slack).all()
        assert (scores[known] <= high[known] * (1.0 + 1e-12) + slack).all()
        assert not np.isnan(low).any()
        assert not np.isnan(high).any()
        for c in range(3):
            found = contenders(low[:, c], high[:, c], np.ones(len(atoms), dtype=bool))
            assert set(np.flatnonzero(np.isinf(high[:, c]))) <= set(found)


@pytest.mark.covering
@given(
    seed=seeds,
    m=st.sampled_from([1, 3, 15, 16, 17, 31, 32, 33, 100]),
    share=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
)
@pytest.mark.parametrize("kind", [FreshValues, StoredValues])
@pytest.mark.parametrize("name", DICTIONARIES)
def test_estimates_contain_the_exact_scores(
    name: str, kind: type, seed: int, m: int, share: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcgboost.backends.blocks.BLOCK", 16)
        patch.setattr(values_module, "_AT_ONCE", 9)
        patch.setattr(NumpyPlace, "block_entries", 300)
        check_estimate(kind, name, m, share, seed)


@pytest.mark.covering
@pytest.mark.parametrize("m", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7])
@pytest.mark.parametrize("kind", [FreshValues, StoredValues])
@pytest.mark.parametrize("name", ["gauss", "relu", "sigmoid", "polynomial"])
def test_estimates_over_blocks_of_the_size_in_use_contain_the_exact_scores(
    name: str, kind: type, m: int
) -> None:
    for share in (0.3, 1.0):
        check_estimate(kind, name, m, share, seed=m)


@pytest.mark.covering
@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("m", [60, 700])
@pytest.mark.parametrize("kind", [FreshValues, StoredValues])
@pytest.mark.parametrize("name", ["gauss", "narrow", "wide", "relu"])
def test_estimates_by_compiled_loops_contain_the_exact_scores(
    name: str, kind: type, m: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "_WORTH_FUSING", 0)
    check_estimate(kind, name, m, share, seed=m)


@pytest.mark.parametrize("name", DICTIONARIES)
def test_estimates_in_float64_contain_the_exact_scores(name: str) -> None:
    check_estimate(FreshValues, name, 90, 0.6, seed=0, single=False)


def test_estimates_of_ordinary_atoms_are_close() -> None:
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((2000, 4)), rng.standard_normal((2000, 1))
    for name in ("gauss", "relu", "sigmoid"):
        design = MemoryDesign(DICTIONARIES[name], X, np.ones(2000), standardize=True)
        atoms = design.dictionary.candidates(design.sample(100, 0), 100, 0)
        for kind in (FreshValues, StoredValues):
            estimate = kind(design, atoms, True).estimate(R, "none", None)
            masses = np.abs(full_matrix(design, atoms)).T @ np.abs(R)
            assert np.median(estimate.bounds / masses) < 1e-3


@given(m=st.integers(1, 70), n=st.integers(1, 5), seed=seeds)
def test_block_sums_are_products(m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, W = rng.standard_normal((m, n)), rng.standard_normal((m, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcgboost.backends.blocks.BLOCK", 16)
        found = block_sums(V, W, NumpyPlace())
    np.testing.assert_allclose(found, V.T @ W, atol=1e-13)


def test_an_atom_of_which_nothing_is_known_is_always_looked_at() -> None:
    rng = np.random.default_rng(0)
    X = 100.0 * rng.standard_normal((50, 2))
    design = MemoryDesign(GaussDictionary(), X, np.ones(50), standardize=False)
    atoms = np.hstack([X[:6], [[1e-3], [1e-3], [50.0], [50.0], [50.0], [50.0]]])
    assert np.isinf(design.dictionary.rounding(atoms).relative[:2]).all()
    for kind in (FreshValues, StoredValues):
        for divisor in ("none", "norm", "max"):
            estimate = kind(design, atoms, True).estimate(np.ones((50, 1)), divisor, None)
            low, high = estimate.interval(design.place)
            assert np.isinf(high[:2, 0]).all()
            assert set(contenders(low[:, 0], high[:, 0], np.ones(6, dtype=bool))) >= {0, 1}
