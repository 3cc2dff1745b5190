"""Subsamples: the rows that are looked at closely, wherever they lie and however often."""

from typing import Any

import numpy as np
import pytest
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.subsamples import Members, residuals_at
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import seeds
from suites.crews import lay_out, make_crew

from fcgboost import hashing
from fcgboost.dictionaries import ReluDictionary


def make_rows(n: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with zeros and repetitions, and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (n, 2)) * [1.0, 30.0]
    return X, rng.uniform(0.5, 2.0, n)


def design_of(X: Any, weights: np.ndarray) -> MemoryDesign:
    return MemoryDesign(ReluDictionary(), X, weights, standardize=True)


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def naive_residuals(rows: Any, X: Any, R: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """Add up residuals and active weights of equal rows, one by one."""
    residuals, active = np.zeros((2, rows.shape[0], R.shape[1]))
    for i, row in enumerate(dense(rows)):
        for place in np.flatnonzero((dense(X) == row).all(axis=1)):
            residuals[i] += R[place]
            active[i] += weights[place] * (R[place] != 0.0)
    return residuals, active


def residuals_of(n: int, n_outputs: int = 2) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, n_outputs)) * (rng.random((n, n_outputs)) < 0.7)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_residuals_of_a_subsample_add_up_equal_rows(make: Any, n: int) -> None:
    X, weights = make_rows()
    R = residuals_of(len(X))
    subsample = design_of(make(X), weights).subsample(n, 5)
    assert subsample.rows.shape[0] == min(n, len(np.unique(X, axis=0)))
    assert sparse.issparse(subsample.rows) == (make is sparse.csr_array)
    assert len(np.unique(dense(subsample.rows), axis=0)) == subsample.rows.shape[0]
    for found, expected in zip(
        subsample.residuals(R), naive_residuals(subsample.rows, X, R, weights), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_rows_that_are_all_different_are_only_picked() -> None:
    X = np.random.default_rng(0).random((40, 3))
    weights, R = np.random.default_rng(1).random(40) + 0.1, residuals_of(40)
    subsample = design_of(X, weights).subsample(25, 5)
    residuals, active = subsample.residuals(R)
    places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in subsample.rows]
    np.testing.assert_array_equal(residuals, R[places])
    np.testing.assert_array_equal(active, (R[places] != 0.0) * weights[places, None])


@given(seeds, st.integers(1, 30))
def test_the_order_of_the_rows_does_not_matter(seed: int, n: int) -> None:
    X, weights = make_rows()
    R, order = residuals_of(len(X)), np.random.default_rng(seed).permutation(len(X))
    one = design_of(X, weights).subsample(n, 5)
    other = design_of(X[order], weights[order]).subsample(n, 5)
    np.testing.assert_array_equal(one.rows, other.rows)
    for a, b in zip(one.residuals(R), other.residuals(R[order]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_repetition_is_a_weight() -> None:
    X, _ = make_rows(30)
    counts = np.random.default_rng(2).integers(1, 4, len(X))
    R = residuals_of(len(X))
    weighted = design_of(X, counts.astype(float)).subsample(9, 5)
    repeated = design_of(np.repeat(X, counts, axis=0), np.ones(counts.sum())).subsample(9, 5)
    np.testing.assert_array_equal(weighted.rows, repeated.rows)
    shared = np.repeat(R / counts[:, None], counts, axis=0)
    for a, b in zip(weighted.residuals(R), repeated.residuals(shared), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("key", [1, 2])
def test_other_keys_give_other_rows(key: int) -> None:
    design = design_of(np.random.default_rng(0).random((200, 2)), np.ones(200))
    rows = [{row.tobytes() for row in design.subsample(20, k).rows} for k in (key, key + 1)]
    assert len(rows[0] & rows[1]) < 10


CUTS = {"one": [], "some": [5, 20, 20, 44], "many": list(range(1, 50))}


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_rows_of_other_machines_are_the_same_rows(make: Any, cuts: list[int]) -> None:
    X, weights = make_rows()
    codes = np.arange(len(X)) % 2
    design = lay_out(make_crew(make(X), codes, weights, cuts, 3), ReluDictionary(), True)
    here = design_of(make(X), weights)
    for n in (1, 7, 1000):
        np.testing.assert_array_equal(
            dense(design.subsample(n, 5).rows), dense(here.subsample(n, 5).rows)
        )
        # Labels of one class against the other are a residual that is known everywhere.
        target = design.target(1)
        found = design.subsample(n, 5).residuals(design.stack([target, target]))
        y = np.where(codes == 1, 1.0, -1.0)
        expected = naive_residuals(here.subsample(n, 5).rows, X, np.column_stack([y, y]), weights)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_part_with_a_repetition_and_as_many_rows_as_the_subsample_is_not_plain() -> None:
    # Of the subsample (a, b) this part has a twice, and b lies elsewhere.
    rows = np.array([[1.0], [2.0]])
    wanted = hashing.fingerprint(rows)
    members = Members.of(wanted, hashing.fingerprint(rows[[0, 0]]))
    residuals, active = residuals_at(members, np.array([[1.0], [10.0]]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(residuals, [[11.0], [0.0]])
    np.testing.assert_array_equal(active, [[5.0], [0.0]])


def test_a_part_may_have_no_rows_of_a_subsample() -> None:
    words = hashing.fingerprint(np.array([[1.0], [2.0], [3.0]]))
    members = Members.of(words[:1], words[1:])
    residuals, active = residuals_at(members, np.ones((2, 1)), np.ones(2))
    np.testing.assert_array_equal(residuals, [[0.0]])
    np.testing.assert_array_equal(active, [[0.0]])
    assert residuals_at(Members.of(words[:0], words), np.ones((3, 1)), np.ones(3))[0].shape == (
        0,
        1,
    )
