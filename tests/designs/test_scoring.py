"""Scores of many candidates: sums over fixed blocks, of which the first of the best wins."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost.designs import scoring
from fcgboost.designs.base import Winner
from fcgboost.designs.blocks import block_sums
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.designs.scoring import MemoryCandidates, Scores
from fcgboost.dictionaries import (
    GaussDictionary,
    LearnableDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from tests.suites.reference import full_matrix, given_residuals, reference_best, reference_scores
from tests.suites.strategies import seeds

DICTIONARIES: dict[str, LearnableDictionary] = {
    "gauss": GaussDictionary(),
    "narrow": GaussDictionary(width=0.02),
    "needles": GaussDictionary(width=1e-4),
    "wide": GaussDictionary(width=1e3, centers="box"),
    "relu": ReluDictionary(),
    "sigmoid": SigmoidDictionary(),
    "linear": LinearDictionary(),
    "polynomial": PolynomialDictionary(),
}
each_dictionary = pytest.mark.parametrize("name", DICTIONARIES)


@given(seed=seeds, shift=st.sampled_from([0.0, 10.0, 1e3]))
@each_dictionary
def test_moved_atoms_are_the_same_functions(name: str, seed: int, shift: float) -> None:
    dictionary = DICTIONARIES[name]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) * [1.0, 5.0, 0.1] + shift
    origin, unit = X.mean(axis=0), X.std(axis=0)
    atoms = 0.1 * rng.standard_normal((6, 4)) / unit.max()
    atoms[:, -1] -= atoms[:, :-1] @ origin
    if isinstance(dictionary, GaussDictionary):
        atoms = np.hstack([X[:6], rng.uniform(0.5, 2.0, (6, 1))])
    moved = dictionary.moved(atoms, origin, unit)
    expected = dictionary.evaluate(X, atoms, unit)
    found = dictionary.evaluate((X - origin) / unit, moved, np.ones(3))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def lost_digits(dictionary: Any, X: np.ndarray, atoms: np.ndarray) -> float:
    """Bound what values lose in float64 where <w, x> + b cancels."""
    if isinstance(dictionary, GaussDictionary):
        # Of exponents, which are as large as squared distances in widths.
        return 1e-14 * (1.0 + 1e2 / float(atoms[:, -1].min()) ** 2)
    return 1e-14 * float((np.abs(X) @ np.abs(atoms[:, :-1]).T + np.abs(atoms[:, -1])).max()) ** 3


@pytest.mark.covering
@given(
    seed=seeds,
    m=st.sampled_from([1, 3, 15, 16, 17, 31, 32, 33, 100]),
    share=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
)
@pytest.mark.parametrize("is_stored", [False, True], ids=["fresh", "stored"])
@each_dictionary
def test_scores_are_those_of_the_full_matrix(
    name: str, is_stored: bool, seed: int, m: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    dictionary = DICTIONARIES[name]
    X = rng.standard_normal((m, 3)) * [1.0, 30.0, 0.01] + [5.0, 0.0, 1.0]
    weights = rng.uniform(0.1, 3.0, m)
    design = MemoryDesign(dictionary, X, weights, standardize=True)
    atoms = dictionary.candidates(design.sample(20, seed), 20, seed)
    atoms = np.vstack([atoms, atoms[:4]])
    R = rng.standard_normal((m, 3)) * 10.0 ** rng.uniform(-6, 0, (m, 3))
    R[rng.random(m) > share] = 0.0
    values = full_matrix(design, atoms)
    lost = lost_digits(dictionary, X, atoms) * np.abs(R).sum(axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "_AT_ONCE", 9)
        patch.setattr(HostDevice, "block_entries", 300)
        candidates = MemoryCandidates(design, atoms, is_stored)
        for normalize in (False, True, False, True):  # again, once the norms are known
            with given_residuals(design, R) as points:
                scores = candidates.scores(points, normalize)
            dots = values.astype(np.longdouble).T @ R
            # A product of n numbers in float64 loses n units in the last place of its terms.
            rounding = np.finfo(float).eps * m * (np.abs(values).T @ np.abs(R))
            assert (np.abs(scores.dots - dots) <= lost + rounding).all()
            if normalize and np.abs(values).max() > 1e-6:
                exact = reference_scores(values, weights, R, True)
                norms = np.sqrt(weights @ values**2 / weights.sum())
                is_safe = norms > 1e-6 * norms.max()
                np.testing.assert_allclose(
                    scores.values()[is_safe], exact[is_safe], rtol=1e-6, atol=1e-6
                )


@given(m=st.integers(1, 70), n=st.integers(1, 5), seed=seeds)
def test_block_sums_are_products(m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, W = rng.standard_normal((m, n)), rng.standard_normal((m, 2))
    found = block_sums(V, W, 16)
    np.testing.assert_allclose(found, V.T @ W, atol=1e-13)


@given(seed=seeds, normalize=st.booleans())
def test_scores_of_parts_of_the_rows_add_up(seed: int, normalize: bool) -> None:
    """Rows on several machines have one best."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((60, 3)), rng.uniform(0.5, 2.0, 60)
    R, dictionary = rng.standard_normal((60, 2)), ReluDictionary()
    whole = MemoryDesign(dictionary, X, weights, standardize=False)
    moments = moments_of(X, weights)
    atoms = dictionary.candidates(whole.sample(30, 0), 30, 0)
    values, allowed = full_matrix(whole, atoms), np.tile(rng.random((30, 1)) < 0.8, 2)
    parts = []
    for rows in (slice(0, 7), slice(7, 40), slice(40, 60)):
        design = MemoryDesign(dictionary, X[rows], weights[rows], False, moments=moments)
        with given_residuals(design, R[rows]) as points:
            parts.append(MemoryCandidates(design, atoms, False).scores(points, normalize))
    expected = reference_best(values, weights, R, normalize, allowed)
    found = (parts[0] + parts[1] + parts[2]).best(allowed)
    assert [b and b.index for b in found] == [b and b.index for b in expected]
    for best, reference in zip(found, expected, strict=True):
        assert best is None or best.score == pytest.approx(reference.score, rel=1e-10)


def test_a_score_that_overflows_does_not_win() -> None:
    for unknown in (np.nan, np.inf, -np.inf):
        scores = Scores(np.array([[1.0], [unknown], [5.0]]), None, "float64")
        assert scores.best(np.ones((3, 1), dtype=bool)) == [Winner(2, 5.0)]


@pytest.mark.parametrize(("precision", "size"), [("float64", 1e-11), ("float32", 1e-7)])
def test_an_atom_that_is_rounding_scores_zero(precision: Any, size: float) -> None:
    dots, squares = np.array([[size], [0.5], [0.4]]), np.array([size**2, 1.0, 1.0])
    scores = Scores(dots, squares, precision)
    np.testing.assert_array_equal(scores.values(), [[0.0], [0.5], [0.4]])
