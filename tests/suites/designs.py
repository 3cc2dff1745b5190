"""What every design must do, checked against matrices written out in full.

A backend's tests import these functions and hand them its `Backend`.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from fcgboost.backends.base import Best, Candidates, Columns, Design, Divisor
from fcgboost.dictionaries import GaussDictionary, PolynomialDictionary, ReluDictionary


class Backend(NamedTuple):
    """How to make a design, and how its m-vectors travel."""

    design: Callable[..., Design]
    vector: Callable[[np.ndarray], Any]
    array: Callable[[Any], np.ndarray]
    takes_sparse: bool = True

    def forms(self, X: np.ndarray) -> list[Any]:
        """Give X as it may be handed in."""
        return [X, sparse.csr_array(X)] if self.takes_sparse else [X]


M, D = 60, 3


def make_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with zeros in them, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, D)) * [0.5, 2.0, 30.0] + [1.0, -3.0, 10.0]
    X[rng.random((M, D)) < 0.3] = 0.0
    return X, rng.uniform(0.2, 3.0, M)


def make_atoms(n: int, seed: int = 1) -> np.ndarray:
    """Give ReLU atoms; every fifth vanishes on any data."""
    atoms = np.random.default_rng(seed).standard_normal((n, D + 1))
    atoms[::5] = [0.0] * D + [-1.0]
    return atoms


def naive_matrix(X: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, X @ atoms[:, :-1].T + atoms[:, -1])


def naive_sizes(values: np.ndarray, weights: np.ndarray, scaling: str) -> np.ndarray:
    if scaling == "max":
        return np.abs(values).max(axis=0)
    if scaling == "norm":
        return np.sqrt((weights[:, None] * values**2).sum(axis=0) / weights.sum())
    return np.ones(values.shape[1])


class Scene(NamedTuple):
    """Columns of a backend, and the same matrix in full."""

    columns: Columns
    A: np.ndarray
    factors: np.ndarray


def make_scene(
    backend: Backend, scaling: str = "none", has_constant: bool = False, n: int = 8
) -> Scene:
    X, weights = make_data()
    atoms = make_atoms(n)
    design = backend.design(ReluDictionary(scaling=scaling), X, weights, standardize=False)
    columns = design.columns(n, has_constant)
    for j in range(0, n, 3):
        columns.append(atoms[j : j + 3])
    values = naive_matrix(X, atoms)
    sizes = naive_sizes(values, weights, scaling)
    sizes[sizes == 0.0] = 1.0
    A = values / sizes
    factors = 1.0 / sizes
    if has_constant:
        A, factors = np.column_stack([np.ones(M), A]), np.append(1.0, factors)
    return Scene(columns, A, factors)


SCENES = list(product(("none", "max", "norm"), (False, True)))


def assert_close(actual: Any, expected: np.ndarray) -> None:
    size = np.abs(expected).max(initial=1e-300)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-13 * size)


def scores_of(candidates: Candidates, backend: Backend, R: np.ndarray, divisor: Divisor) -> Any:
    """Give all scores: the best one where a single candidate is allowed is its own."""
    n, n_outputs = candidates.atoms.shape[0], R.shape[1]
    scores = np.empty((n, n_outputs))
    for j in range(n):
        allowed = np.zeros((n, n_outputs), dtype=bool)
        allowed[j] = True
        for c, best in enumerate(candidates.best(backend.vector(R), divisor, allowed)):
            assert isinstance(best, Best)
            assert best.index == j
            assert type(best.score) is float
            scores[j, c] = best.score
    return scores


def naive_scores(values: np.ndarray, weights: np.ndarray, R: np.ndarray, divisor: str) -> Any:
    """Give the absolute inner products with divided columns; those that vanish score 0."""
    sizes = naive_sizes(values, weights, divisor)
    scores = np.zeros((values.shape[1], R.shape[1]))
    scores[sizes > 0.0] = np.abs(values.T @ R)[sizes > 0.0] / sizes[sizes > 0.0, None]
    return scores


def naive_best(scores: np.ndarray, allowed: np.ndarray) -> list[int | None]:
    """Give the first of the allowed candidates that are as good as the best one."""
    found: list[int | None] = []
    for c in range(scores.shape[1]):
        places = np.flatnonzero(allowed[:, c])
        best = [j for j in places if scores[j, c] >= (1.0 - 1e-10) * scores[places, c].max()]
        found.append(int(best[0]) if best else None)
    return found


def check_scores_are_inner_products(backend: Backend) -> None:
    X, weights = make_data()
    atoms = make_atoms(25)
    R = np.random.default_rng(2).standard_normal((M, 3))
    R[5:15] = 0.0
    R[:40, 1] = 0.0
    values = naive_matrix(X, atoms)
    for inputs, n_threads, store in product(backend.forms(X), (1, 3), (True, False)):
        design = backend.design(ReluDictionary(), inputs, weights, False, n_threads=n_threads)
        candidates = design.candidates(atoms, reuse=True, store=store)
        np.testing.assert_array_equal(candidates.atoms, atoms)
        for divisor in ("norm", "none", "max", "norm", "max"):  # again, once they are known
            expected = naive_scores(values, weights, R, divisor)
            assert_close(scores_of(candidates, backend, R, divisor), expected)


def check_the_first_of_the_best_allowed_candidates_wins(backend: Backend) -> None:
    X, weights = make_data()
    rng = np.random.default_rng(3)
    atoms = make_atoms(50)
    atoms[30:45] = atoms[rng.permutation(30)[:15]]  # exact ties
    values = naive_matrix(X, atoms)
    for inputs, store, divisor in product(backend.forms(X), (True, False), ("none", "max", "norm")):
        design = backend.design(ReluDictionary(), inputs, weights, standardize=False)
        candidates = design.candidates(atoms, reuse=True, store=store)
        for share in (1.0, 0.5, 0.1, 0.02, 0.0):
            R = rng.standard_normal((M, 3)) * (rng.random((M, 1)) < 0.5)
            allowed = rng.random((50, 3)) < share
            allowed[:, 0] &= share > 0.1
            found = candidates.best(backend.vector(R), divisor, allowed)
            scores = naive_scores(values, weights, R, divisor)
            expected = naive_best(scores, allowed)
            assert [None if best is None else best.index for best in found] == expected
            for c, best in enumerate(found):
                if best is not None:
                    assert best.score == pytest.approx(scores[best.index, c], rel=1e-12, abs=1e-12)


def check_one_candidate_is_the_best_for_all_together(backend: Backend) -> None:
    X, weights = make_data()
    rng = np.random.default_rng(13)
    atoms = make_atoms(50)
    atoms[30:45] = atoms[rng.permutation(30)[:15]]  # exact ties
    values = naive_matrix(X, atoms)
    for inputs, store, divisor in product(backend.forms(X), (True, False), ("none", "max", "norm")):
        design = backend.design(ReluDictionary(), inputs, weights, standardize=False)
        candidates = design.candidates(atoms, reuse=True, store=store)
        for share in (1.0, 0.5, 0.05):
            R = rng.standard_normal((M, 3)) * (rng.random((M, 3)) < 0.7)
            allowed = rng.random(50) < share
            allowed[7] = True
            scores = np.sqrt((naive_scores(values, weights, R, divisor) ** 2).sum(axis=1))
            (expected,) = naive_best(scores[:, None], allowed[:, None])
            best = candidates.best_joint(backend.vector(R), divisor, allowed)
            assert isinstance(best, Best)
            assert best.index == expected
            assert best.score == pytest.approx(scores[best.index], rel=1e-12)
        nobody = np.zeros(50, dtype=bool)
        assert candidates.best_joint(backend.vector(R), divisor, nobody) is None


def check_threads_do_not_change_a_bit(backend: Backend) -> None:
    X, weights = make_data()
    atoms, R = make_atoms(50), np.random.default_rng(2).standard_normal((M, 2))
    for store in (False, True):
        scores = [
            scores_of(
                backend.design(ReluDictionary(), X, weights, False, n_threads=n_threads).candidates(
                    atoms, reuse=True, store=store
                ),
                backend,
                R,
                "norm",
            )
            for n_threads in (1, 3)
        ]
        np.testing.assert_array_equal(*scores)


def check_an_atom_that_vanishes_scores_zero(backend: Backend) -> None:
    X, weights = make_data()
    design = backend.design(ReluDictionary(), X, weights, standardize=False)
    candidates = design.candidates(make_atoms(50), reuse=False, store="auto")
    for divisor in ("none", "max", "norm"):
        scores = scores_of(candidates, backend, np.ones((M, 1)), divisor)
        np.testing.assert_array_equal(scores[::5], 0.0)
        assert (scores[1:5] > 0.0).any()


def check_standardised_inputs_are_seen_through_folded_atoms(backend: Backend) -> None:
    X, weights = make_data()
    mean = np.average(X, axis=0, weights=weights)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    R = np.random.default_rng(2).standard_normal((M, 1))
    for inputs in backend.forms(X):
        design = backend.design(GaussDictionary(width=1.5), inputs, weights, standardize=True)
        sample = design.sample(20, 5)
        atoms = design.dictionary.candidates(sample, 20, 5)
        rows = sample.dense_rows()
        centers = [Z[(row == X).all(axis=1)][0] for row in rows]
        values = [[np.exp(-np.sum((z - c) ** 2) / (2 * 1.5**2)) for c in centers] for z in Z]
        candidates = design.candidates(atoms, reuse=False, store=False)
        assert_close(scores_of(candidates, backend, R, "none"), np.abs(np.array(values).T @ R))


def check_columns_are_the_matrix(backend: Backend) -> None:
    rng = np.random.default_rng(3)
    for scaling, has_constant in SCENES:
        columns, A, factors = make_scene(backend, scaling, has_constant)
        assert columns.n_columns == A.shape[1]
        assert columns.has_constant == has_constant
        assert_close(columns.factors, factors)
        coef, vector = rng.standard_normal(A.shape[1]), rng.standard_normal(M)
        assert_close(backend.array(columns.matvec(coef)), A @ coef)
        back, last, nothing = columns.fetch(
            columns.rmatvec(backend.vector(vector)),
            columns.rmatvec(backend.vector(vector), first=2),
            columns.rmatvec(backend.vector(vector), first=A.shape[1]),
        )
        assert_close(back, A.T @ vector)
        assert_close(last, A.T[2:] @ vector)
        assert nothing.shape == (0,)
        weights = make_data()[1]
        assert_close(columns.norms, np.sqrt(weights @ A**2 / weights.sum()))
        for j in range(A.shape[1]):
            assert_close(backend.array(columns.column(j)), A[:, j])


def check_columns_may_be_empty(backend: Backend) -> None:
    X, weights = make_data()
    design = backend.design(ReluDictionary(), X, weights, standardize=False)
    for has_constant in (False, True):
        columns = design.columns(4, has_constant)
        A = np.ones((M, int(has_constant)))
        assert columns.n_columns == A.shape[1]
        np.testing.assert_array_equal(backend.array(columns.matvec(A.sum(axis=0))), A @ A[0] * M)
        back, gram = columns.fetch(
            columns.rmatvec(backend.vector(weights)), columns.gram(backend.vector(weights))
        )
        assert_close(back, A.T @ weights)
        assert_close(gram, A.T @ (weights[:, None] * A))
        R = columns.triangle(backend.vector(weights), backend.vector(X[:, 0]))
        B = np.column_stack([A, X[:, 0]])
        assert_close(R.T @ R, B.T @ (weights[:, None] * B))


def check_functions_act_where_the_rows_live(backend: Backend) -> None:
    columns, _, _ = make_scene(backend)
    u, v = np.random.default_rng(3).standard_normal((2, M))
    rows = columns.rows(lambda a, b: a * b - 2.0 * b, backend.vector(u), backend.vector(v))
    assert_close(backend.array(rows), u * v - 2.0 * v)
    total, least = columns.fetch(
        columns.total(lambda a, b: a * b**2, backend.vector(u), backend.vector(v)),
        columns.least(backend.vector(u)),
    )
    assert isinstance(total, float)
    assert total == pytest.approx(sum(u * v**2), abs=1e-13 * M)
    assert isinstance(least, float)
    assert least == min(u)


def check_small_values_are_fetched_in_the_order_they_are_named(backend: Backend) -> None:
    columns, A, factors = make_scene(backend, "norm", has_constant=True)
    u, v = np.random.default_rng(11).standard_normal((2, M))
    # The columns' own sizes travel with the first fetch, and must not get between.
    least, gram, back, total = columns.fetch(
        columns.least(backend.vector(u)),
        columns.gram(backend.vector(v**2)),
        columns.rmatvec(backend.vector(u)),
        columns.total(lambda a: a, backend.vector(v)),
    )
    assert least == min(u)
    assert_close(gram, A.T @ ((v**2)[:, None] * A))
    assert_close(back, A.T @ u)
    assert total == pytest.approx(sum(v), abs=1e-12)
    assert_close(columns.factors, factors)


def check_gram_matrices_follow_weights_and_columns(backend: Backend) -> None:
    rng = np.random.default_rng(4)
    X, sample_weights = make_data()
    atoms = make_atoms(40)
    for scaling, has_constant in SCENES:
        dictionary = ReluDictionary(scaling=scaling)
        design = backend.design(dictionary, X, sample_weights, standardize=False)
        columns = design.columns(40, has_constant)
        weights = sample_weights * (rng.random(M) < 0.7)
        for step in range(400):
            if step % 10 == 0:
                columns.append(atoms[columns.n_columns - has_constant][None])
                A = matrix_of(columns, backend)
            n_changed = M if step % 97 == 0 else int(rng.integers(0, 6))
            flipped = rng.choice(M, n_changed, replace=False)
            weights = weights.copy()
            weights[flipped] = np.where(weights[flipped] > 0.0, 0.0, sample_weights[flipped])
            assert_is_gram(columns, backend, weights, A)


def matrix_of(columns: Columns, backend: Backend) -> np.ndarray:
    return np.column_stack([backend.array(columns.column(j)) for j in range(columns.n_columns)])


def assert_is_gram(
    columns: Columns, backend: Backend, weights: np.ndarray, A: np.ndarray | None = None
) -> None:
    """Compare every entry with the matrix written out, in units of its columns' norms."""
    A = matrix_of(columns, backend) if A is None else A
    expected = A.T @ (weights[:, None] * A)
    norms = np.sqrt(np.diag(expected))
    (gram,) = columns.fetch(columns.gram(backend.vector(weights)))
    assert gram.shape == expected.shape
    assert (np.abs(gram - expected) <= 1e-11 * np.outer(norms, norms)).all()


def check_gram_matrices_forget_rows_that_went(backend: Backend) -> None:
    columns = make_scene(backend, has_constant=True).columns
    A = matrix_of(columns, backend)
    heavy = np.where(np.arange(M) < 5, 1e12, 1.0)
    for order in (np.arange(M), np.arange(M)[::-1]):
        weights = heavy.copy()
        assert_is_gram(columns, backend, weights, A)
        for row in order:
            weights = weights.copy()
            weights[row] = 0.0
            assert_is_gram(columns, backend, weights, A)
    assert not weights.any()
    (gram,) = columns.fetch(columns.gram(backend.vector(weights)))
    np.testing.assert_array_equal(gram, np.zeros((9, 9)))


def check_columns_that_were_dropped_are_as_if_they_had_never_been(backend: Backend) -> None:
    rng = np.random.default_rng(12)
    X, sample_weights = make_data()
    atoms = make_atoms(30)
    for scaling, has_constant in SCENES:
        first = int(has_constant)
        dictionary = ReluDictionary(scaling=scaling)
        design = backend.design(dictionary, X, sample_weights, standardize=False)
        columns, here = design.columns(30, has_constant), list(range(6))
        columns.append(atoms[:6])
        weights = sample_weights * (rng.random(M) < 0.7)
        for step in range(12):
            if step != 5:  # once two columns come between two Gram matrices
                assert_is_gram(columns, backend, weights)
            gone = [0, len(here) - 1, int(rng.integers(len(here)))][step % 3]
            columns.drop(gone + first)
            del here[gone]
            columns.append(atoms[6 + step : 7 + step])
            here.append(6 + step)
            if step % 4 == 3:
                columns.drop(len(here) - 1 + first)
                del here[-1]
            weights = weights.copy()
            weights[step : 2 * step] = sample_weights[step : 2 * step]
        twin = design.columns(30, has_constant)
        twin.append(atoms[here])
        assert columns.n_columns == twin.n_columns == len(here) + first
        assert_close(columns.factors, twin.factors)
        assert_close(columns.norms, twin.norms)
        coef = rng.standard_normal(columns.n_columns)
        assert_close(backend.array(columns.matvec(coef)), backend.array(twin.matvec(coef)))
        vector = backend.vector(rng.standard_normal(M))
        assert_close(*(c.fetch(c.rmatvec(vector))[0] for c in (columns, twin)))
        assert_is_gram(columns, backend, weights)
        triangles = [c.triangle(backend.vector(weights), vector) for c in (columns, twin)]
        assert_close(*(R.T @ R for R in triangles))


def check_a_gram_matrix_belongs_to_the_caller(backend: Backend) -> None:
    columns, A, _ = make_scene(backend)
    weights = np.ones(M)
    (gram,) = columns.fetch(columns.gram(backend.vector(weights)))
    gram[:] = np.nan
    (gram,) = columns.fetch(columns.gram(backend.vector(weights)))
    assert_close(gram, A.T @ A)
    gram[:] = np.nan
    weights = np.where(np.arange(M) < 5, 0.0, weights)
    (gram,) = columns.fetch(columns.gram(backend.vector(weights)))
    assert_close(gram, A[5:].T @ A[5:])


def check_triangles_square_to_the_gram_matrix(backend: Backend) -> None:
    rng = np.random.default_rng(5)
    for scaling, has_constant in SCENES:
        columns, A, _ = make_scene(backend, scaling, has_constant)
        B = np.column_stack([A, rng.standard_normal(M)])
        for share in (1.0, 0.5, 0.05, 0.0):
            weights = rng.uniform(0.0, 3.0, M) * (rng.random(M) < share)
            R = columns.triangle(backend.vector(weights), backend.vector(B[:, -1]))
            assert R.shape == (B.shape[1], B.shape[1])
            np.testing.assert_array_equal(R, np.triu(R))
            assert_close(R.T @ R, B.T @ (weights[:, None] * B))


def check_room_grows_with_the_columns(backend: Backend) -> None:
    X, weights = make_data()
    design = backend.design(ReluDictionary(), X, weights, standardize=False)
    atoms = make_atoms(1100)
    for step in (50, 333, 1100):
        columns = design.columns(1100, has_constant=True)
        for j in range(0, 1100, step):
            columns.append(atoms[j : j + step])
        assert columns.n_columns == 1101
        A = np.column_stack([np.ones(M), naive_matrix(X, atoms)])
        coef = np.random.default_rng(6).standard_normal(1101)
        assert_close(backend.array(columns.matvec(coef)), A @ coef)
        assert_close(backend.array(columns.column(0)), A[:, 0])


def check_standardisation_counts_weights(backend: Backend) -> None:
    X, _ = make_data()
    weights = np.random.default_rng(7).integers(1, 5, M).astype(float)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    mean, deviation = repeated.mean(axis=0), repeated.std(axis=0)
    for inputs, s in (
        (X, weights),
        (repeated, np.ones(len(repeated))),
        *((inputs, weights) for inputs in backend.forms(X)[1:]),
        *((inputs, np.ones(len(repeated))) for inputs in backend.forms(repeated)[1:]),
    ):
        sample = backend.design(GaussDictionary(), inputs, s, standardize=True).sample(1, 0)
        np.testing.assert_allclose(sample.shift, mean, rtol=1e-13)
        np.testing.assert_allclose(sample.scale, deviation, rtol=1e-13)
        assert sample.variance == pytest.approx(1.0)
        assert sample.mean_square == pytest.approx(D)
        plain = backend.design(GaussDictionary(), inputs, s, standardize=False).sample(1, 0)
        np.testing.assert_array_equal(plain.shift, np.zeros(D))
        np.testing.assert_array_equal(plain.scale, np.ones(D))
        assert plain.variance == pytest.approx(np.mean(deviation**2))
        assert plain.mean_square == pytest.approx(np.mean((repeated**2).sum(axis=1)))
        for drawn in (sample, plain):
            np.testing.assert_array_equal(drawn.low, X.min(axis=0))
            np.testing.assert_array_equal(drawn.high, X.max(axis=0))


def check_constant_columns_have_unit_scale(backend: Backend) -> None:
    rng = np.random.default_rng(8)
    weights = rng.uniform(0.1, 1.0, 1000)
    constants = [0.1, -1e6 / 3.0, 0.0, 1e-30, 1.0 / 3.0]
    X = np.tile(constants, (1000, 1))
    X[::2, 4] = np.nextafter(X[0, 4], 1.0)  # a column of rounding errors
    X = np.column_stack([X, rng.standard_normal(1000)])
    for inputs in (*backend.forms(X), X.astype(np.float32)):
        with np.errstate(under="ignore"):
            sample = backend.design(GaussDictionary(), inputs, weights, True).sample(1, 0)
        np.testing.assert_array_equal(sample.scale[:5], np.ones(5))
        np.testing.assert_allclose(sample.shift[:5], X[0, :5], rtol=1e-7)
        assert sample.scale[5] == pytest.approx(1.0, abs=0.1)
        assert sample.variance == pytest.approx(1.0 / 6.0)


def check_samples_are_distinct_rows_in_an_order_of_their_own(backend: Backend) -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(-1, 2, (M, D)).astype(float)  # at most 27 distinct rows
    distinct = {tuple(row) for row in X}
    order = rng.permutation(M)
    negative_zeros = np.where(X == 0.0, -0.0, X)
    variants = [
        (X, np.ones(M)),
        (X[order], np.ones(M)),
        (X, rng.uniform(0.1, 9.0, M)),
        (np.repeat(X, 3, axis=0), np.ones(3 * M)),
        *((inputs, np.ones(M)) for inputs in backend.forms(X)[1:]),
        (X.astype(np.float32), np.ones(M)),
        (negative_zeros, np.ones(M)),
    ]
    draws = {}
    for key in (0, 1, 2**63):
        for inputs, weights in variants:
            design = backend.design(GaussDictionary(), inputs, weights, standardize=True)
            rows = design.sample(10, key).dense_rows()
            assert len({tuple(row) for row in rows}) == 10
            assert {tuple(row) for row in rows} <= distinct
            np.testing.assert_array_equal(rows, draws.setdefault(key, rows))
            everything = design.sample(100, key).dense_rows()
            assert len(everything) == len(distinct)
            assert {tuple(row) for row in everything} == distinct
            np.testing.assert_array_equal(everything[:10], rows)
    assert not np.array_equal(draws[0], draws[1])


def check_storing_too_much_names_bytes_and_the_option(backend: Backend) -> None:
    X, weights = make_data()
    atoms = make_atoms(50)
    # Screened atoms are stored in single precision.
    cases = [(ReluDictionary(), X, 4), (PolynomialDictionary(), X, 8)]
    if backend.takes_sparse:
        cases.append((ReluDictionary(), sparse.csr_array(X), 8))
    for dictionary, inputs, size in cases:
        n_bytes = size * M * 50
        design = backend.design(dictionary, inputs, weights, False, memory_budget=n_bytes - 1)
        with pytest.raises(MemoryError, match=rf"{n_bytes} bytes.*store=True.*{n_bytes - 1} bytes"):
            design.candidates(atoms, reuse=True, store=True)
        R = np.ones((M, 1))
        roomy = backend.design(dictionary, inputs, weights, False, memory_budget=n_bytes)
        stored = roomy.candidates(atoms, reuse=True, store=True)
        blocked = design.candidates(atoms, reuse=True, store="auto")
        scores = [scores_of(some, backend, R, "none") for some in (blocked, stored)]
        assert_close(*scores)


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]
