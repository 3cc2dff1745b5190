"""Fingerprints depend on values alone, and draws on fingerprints and keys alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from fcgboost.hashing import Circle, Digest, derive, fingerprint, keyed, least, mix, order_of
from fcgboost.threads import shared

entries = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0]),
    st.floats(allow_nan=False, allow_infinity=False),
)
matrices = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=entries,
)
keys = st.integers(0, 2**64 - 1)
GRID = np.array(list(itertools.product(range(-5, 5), repeat=4)), dtype=np.float64)


def test_fingerprints_and_keys_are_those_that_stored_rows_were_drawn_with():
    X = np.array([[1.0, -2.5, 0.0], [0.0, 0.0, 3.0]])
    assert fingerprint(X).tolist() == [10419394281344342710, 7969539847788702337]
    assert derive(7, 3) == 16292704262132694875


@given(X=matrices)
def test_sparse_rows_have_the_fingerprints_of_dense_rows(X):
    for form in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_array_equal(fingerprint(form(X)), fingerprint(X))


@given(key=keys, word=keys)
def test_a_derived_key_is_mixed_as_arrays_of_words_are(key, word):
    golden = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)
    first, second = (np.array([value], dtype=np.uint64) for value in (key, word))
    assert derive(key, word) == mix(mix(first) + (second + np.uint64(1)) * golden)[0]


@given(X=matrices)
def test_stored_zeros_and_unsorted_indices_change_nothing(X):
    m, d = X.shape
    backwards = np.tile(np.arange(d)[::-1], m)
    full = sparse.csr_matrix((X[:, ::-1].ravel(), backwards, np.arange(m + 1) * d), shape=X.shape)
    assert full.nnz == X.size
    np.testing.assert_array_equal(fingerprint(full), fingerprint(X))


@given(X=matrices)
def test_minus_zero_is_zero(X):
    np.testing.assert_array_equal(fingerprint(X), fingerprint(np.where(X == 0.0, 0.0, X)))
    np.testing.assert_array_equal(fingerprint(X), fingerprint(np.where(X == 0.0, -0.0, X)))


def test_fingerprints_of_many_rows_are_those_of_each():
    np.testing.assert_array_equal(
        fingerprint(GRID[:, ::-1]), np.concatenate([fingerprint(x[None, ::-1]) for x in GRID])
    )


@given(st.lists(st.one_of(keys, st.integers(0, 3), st.sampled_from([2**63, 2**56])), max_size=99))
def test_words_are_put_in_growing_order_and_equal_ones_stay_in_theirs(words):
    words = np.array(words, np.uint64)
    np.testing.assert_array_equal(order_of(words), np.argsort(words, kind="stable"))


@pytest.mark.parametrize("n", [2**16 - 1, 2**16, 100_000])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_many_rows_are_hashed_and_sorted_alike_by_any_threads(n, n_threads):
    X = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
    X[::3] = X[0]
    expected = fingerprint(X[::50].astype(np.float64))
    with shared.ours(n_threads):
        hashes = fingerprint(X)
        np.testing.assert_array_equal(hashes[::50], expected)
        np.testing.assert_array_equal(order_of(hashes), np.argsort(hashes, kind="stable"))


@given(X=matrices, seed=st.integers(0, 2**32 - 1))
def test_rows_keep_their_fingerprints_in_any_order_and_company(X, seed):
    words = fingerprint(X)
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_array_equal(fingerprint(X[order]), words[order])
    np.testing.assert_array_equal(fingerprint(np.vstack([X, X])), np.tile(words, 2))
    np.testing.assert_array_equal(fingerprint(X[:1]), words[:1])


def test_other_types_and_layouts_have_the_fingerprints_of_equal_float64():
    X = np.random.default_rng(0).standard_normal((30, 7)).astype(np.float32)
    words = fingerprint(X.astype(np.float64))
    for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], sparse.csr_matrix(X)):
        np.testing.assert_array_equal(fingerprint(same), words)
    np.testing.assert_array_equal(fingerprint(GRID.astype(np.int8)), fingerprint(GRID))


def test_different_rows_have_different_fingerprints():
    assert len(np.unique(fingerprint(GRID))) == len(GRID)
    X = np.random.default_rng(1).random((20_000, 3))
    assert len(np.unique(fingerprint(X))) == len(X)


def test_a_fingerprint_knows_columns_signs_and_the_last_bit():
    X = np.array(
        [[1.0, 2.0], [2.0, 1.0], [-1.0, 2.0], [1.0 + 2.0**-52, 2.0], [1.0, 0.0], [0.0, 1.0]]
    )
    assert len(set(fingerprint(X).tolist())) == len(X)


def test_trailing_columns_of_zeros_change_nothing():
    padded = np.hstack([GRID, np.zeros((len(GRID), 2))])
    np.testing.assert_array_equal(fingerprint(padded), fingerprint(GRID))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_no_rows_and_no_columns_are_fine(form):
    assert fingerprint(form(np.zeros((0, 3)))).shape == (0,)
    assert fingerprint(form(np.zeros((2, 0)))).tolist() == [0, 0]


@given(key=keys, place=keys, n=st.integers(0, 600))
def test_fewer_draws_are_the_first_of_more(key, place, n):
    circle = Circle(fingerprint(GRID[:500]), key)
    np.testing.assert_array_equal(circle.after(place, n), circle.after(place, 500)[:n])


@given(key=keys, place=keys, n=st.integers(0, 60))
def test_draws_are_the_next_rows_on_the_circle_of_keyed_hashes(key, place, n):
    words = fingerprint(GRID[:50])
    hashes = keyed(words, key).tolist()
    # Distances go on past the largest word, where the circle closes.
    nearest = sorted(range(50), key=lambda i: (hashes[i] - place) % 2**64)
    assert Circle(words, key).after(place, n).tolist() == nearest[:n]


@given(key=keys, i=st.integers(0, 49))
def test_a_row_is_the_first_from_its_own_place_on_and_the_last_from_the_next(key, i):
    words = fingerprint(GRID[:50])
    circle, place = Circle(words, key), int(keyed(words, key)[i])
    assert circle.after(place, 1).tolist() == [i]
    assert circle.after((place + 1) % 2**64, 50).tolist()[-1] == i


def test_a_circle_without_rows_gives_none():
    assert Circle(np.zeros(0, np.uint64), 3).after(5, 4).tolist() == []


@given(key=keys, place=keys, seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20))
def test_drawn_rows_do_not_depend_on_the_order_of_the_rows(key, place, seed, n):
    X = GRID[::100]
    Y = X[np.random.default_rng(seed).permutation(len(X))]
    drawn = X[Circle(fingerprint(X), key).after(place, n)]
    np.testing.assert_array_equal(Y[Circle(fingerprint(Y), key).after(place, n)], drawn)


def test_every_row_is_drawn_about_equally_often():
    words = fingerprint(GRID[:100])
    counts = np.zeros(100)
    for key in range(2000):
        counts[Circle(words, key).after(0, 10)] += 1
    # Each count is binomial with mean 200 and standard deviation 13.4.
    assert np.abs(counts - 200.0).max() < 5.0 * 13.4


def test_orders_under_two_keys_are_unrelated():
    words = fingerprint(GRID)
    ranks = [np.argsort(Circle(words, key).after(0, len(words))) for key in (0, 1)]
    assert abs(np.corrcoef(*ranks)[0, 1]) < 0.05


def test_derived_keys_differ():
    derived = {derive(key, word) for key in range(100) for word in range(100)}
    assert len(derived) == 10_000
    assert derive(0, 1) != derive(1, 0)
    assert 0 <= derive(2**64 - 1, 2**64 - 1) < 2**64


def test_keys_of_steps_are_the_sequence_of_splitmix64():
    """The numbers that the reference implementation of splitmix64 prints for the seed 0."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [derive(0, step) for step in range(3)] == expected


def test_mixing_loses_nothing():
    words = np.arange(100_000, dtype=np.uint64)
    assert len(np.unique(mix(words))) == len(words)


def test_draws_of_this_version_never_change():
    X = np.array([[0.0, 1.5, -2.0], [3.0, 0.0, 0.25], [0.0, 0.0, 0.0], [1e-300, -1e300, 7.0]])
    assert fingerprint(X).tolist() == [
        0x222B736EA3B20366,
        0x2F164D764173F311,
        0x0000000000000000,
        0xF6914E2A055E5792,
    ]
    assert keyed(fingerprint(X), 5).tolist() == [
        0xDF2649583B7A90C2,
        0xB9FDA295E9036B83,
        0xF6933E2674943A8A,
        0x93B199736E43379C,
    ]
    rows = np.arange(20.0).reshape(10, 2)
    circle = Circle(fingerprint(rows), key=1)
    assert circle.after(0, 5).tolist() == [0, 7, 5, 2, 6]
    assert circle.after(2**63, 5).tolist() == [9, 1, 4, 0, 7]


def test_a_digest_knows_labels_and_weights_but_no_order():
    words, weights = fingerprint(np.arange(8.0)[:, None]), np.arange(1.0, 9.0)
    codes = np.array([0, 1] * 4)
    digest, order = Digest.of(words, codes, weights), np.arange(8)[::-1]
    assert Digest.of(words[order], codes[order], weights[order]) == digest
    assert Digest.of(words, 1 - codes, weights) != digest
    assert Digest.of(words, codes, weights[order]) != digest
    parts = [Digest.of(words[i::2], codes[i::2], weights[i::2]) for i in range(2)]
    assert parts[0] + parts[1] == digest


@pytest.mark.parametrize("n", [0, 1, 70, 5_000])
@pytest.mark.parametrize("largest", [3, 1_000, 2**63])
def test_the_least_hashes_are_the_first_in_order(n: int, largest: int):
    hashes = np.random.default_rng(0).integers(0, largest, 5_000, dtype=np.uint64)
    for some in (hashes, mix(hashes)):
        np.testing.assert_array_equal(least(some, n), order_of(some)[:n])


def test_many_words_are_mixed_as_each_of_them():
    words = np.random.default_rng(0).integers(0, 2**64, 200_001, dtype=np.uint64)
    mixed = mix(words)
    assert len(mixed) == len(words)
    for i in (0, 65_535, 65_536, 131_072, 200_000):
        assert mixed[i] == mix(int(words[i]))
