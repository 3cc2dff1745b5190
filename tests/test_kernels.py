"""The compiled loops that screen against sums in extended precision."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from fcgboost import _kernels

# Rows that the loops add up in float32, and float32's unit roundoff.
BLOCK, UNIT = 64, 2.0**-24

BORDERS = [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]


def as_exact(values):
    return np.asarray(values, dtype=np.longdouble)


def naive_exponents(Z, centers, steepness):
    differences = as_exact(Z)[:, None, :] - as_exact(centers)
    return as_exact(steepness) * (differences**2).sum(axis=2)


def naive_dots(Z, centers, steepness, R):
    return np.exp(-naive_exponents(Z, centers, steepness)).T @ as_exact(R)


def make_case(m=200, n=70, d=10, c=1, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, d)).astype(np.float32)
    centers = rng.standard_normal((n, d)).astype(np.float32)
    steepness = (rng.uniform(0.1, 2.0, n) / d).astype(np.float32)
    R = rng.standard_normal((m, c)).astype(np.float32)
    return Z, centers, steepness, R


def gauss_dots(Z, centers, steepness, R):
    factors = (-np.log2(np.e) * steepness.astype(np.float64)).astype(np.float32)
    return _kernels.gauss_dots(Z, centers, factors, R)


def check_gauss(Z, centers, steepness, R):
    dots = gauss_dots(Z, centers, steepness, R)
    assert dots.dtype == np.float64
    assert dots.shape == (len(centers), R.shape[1])
    exponents = naive_exponents(Z, centers, steepness)
    atoms = np.exp(-exponents)
    off = (Z.shape[1] + 8) * exponents * atoms + (BLOCK + 8) * atoms
    bounds = UNIT * off.T @ np.abs(as_exact(R)) + 2.0**-125 * np.abs(as_exact(R)).sum(axis=0)
    assert (np.abs(dots - atoms.T @ as_exact(R)) <= bounds).all()
    return dots


def check_atoms(row, centers, steepness):
    """One row with the residual 1 gives the atoms themselves."""
    row = np.atleast_2d(np.asarray(row, np.float32))
    atoms = gauss_dots(row, centers, steepness, np.ones((1, 1), np.float32))[:, 0]
    exponents = naive_exponents(row, centers, steepness)[0]
    exact = np.exp(-exponents)
    off = ((row.shape[1] + 8) * exponents + 3.0) * UNIT
    assert (np.abs(atoms - exact) <= off * exact + 2.0**-125).all()
    smallest = np.finfo(np.float32).tiny
    assert ((atoms == 0.0) | ((atoms >= smallest) & (atoms <= 1.0 + 3.0 * UNIT))).all()
    return atoms


@pytest.mark.parametrize("d", [1, 2, 3, 10, 33])
@pytest.mark.parametrize("c", [1, 3])
def test_gauss_dots_lose_no_more_than_float32_must(d, c):
    check_gauss(*make_case(d=d, c=c, seed=d))


@pytest.mark.parametrize("m", BORDERS)
def test_gauss_dots_are_right_at_the_borders_of_blocks(m):
    check_gauss(*make_case(m=m, d=3, seed=m))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 255, 257, 600])
def test_gauss_dots_are_right_at_the_borders_of_tiles(n):
    check_gauss(*make_case(m=30, n=n, d=3, seed=n))


def test_narrow_atoms_that_few_rows_see_lose_no_more_than_float32_must():
    Z, centers, _, R = make_case(m=500, n=100, d=3)
    for steepness in [10.0, 100.0, 1000.0]:
        check_gauss(Z, Z[:100].copy(), np.full(100, steepness, np.float32), R)
        check_gauss(Z, centers, np.full(100, steepness, np.float32), R)


def test_equal_rows_whose_roundings_add_up_lose_no_more_than_float32_must():
    Z, centers, steepness, _ = make_case(m=1, n=300, d=3)
    Z = np.repeat(Z, 10 * BLOCK, axis=0)
    for residual in [1.0, 0.1, -1.0 / 3.0]:
        check_gauss(Z, centers, steepness, np.full((len(Z), 1), residual, np.float32))


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_residuals_may_be_tiny_or_huge(scale):
    Z, centers, steepness, R = make_case()
    check_gauss(Z, centers, steepness, (scale * R).astype(np.float32))


@pytest.mark.parametrize("d", [1, 3, 10, 33])
def test_atoms_of_all_sizes_lose_no_more_than_float32_must(d):
    rng = np.random.default_rng(d)
    centers = rng.standard_normal((5000, d)).astype(np.float32)
    steepness = (10.0 ** rng.uniform(-4, 2, 5000)).astype(np.float32)
    check_atoms(rng.standard_normal(d), centers, steepness)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e8])
def test_atoms_far_from_the_origin_are_as_good(offset):
    rng = np.random.default_rng(0)
    centers = (offset + rng.standard_normal((2000, 5)) * offset**0.5).astype(np.float32)
    check_atoms(centers[0], centers, np.full(2000, 0.1 / offset, np.float32))


def test_an_atom_is_exactly_one_at_its_centre():
    centers = np.random.default_rng(0).standard_normal((100, 7)).astype(np.float32)
    steepness = np.logspace(0, 30, 100, dtype=np.float32)
    atoms = [check_atoms(centers[j], centers, steepness)[j] for j in range(100)]
    assert atoms == [1.0] * 100


def test_atoms_of_steepness_zero_are_one():
    centers = np.random.default_rng(0).standard_normal((100, 7)).astype(np.float32)
    assert (check_atoms(centers[0], centers, np.zeros(100, np.float32)) == 1.0).all()


def test_the_polynomial_is_good_on_both_sides_of_every_power_of_two():
    near = np.arange(1, 130)[:, None] * (1.0 + 2.0**-22 * np.arange(-40, 41))
    exponents = np.concatenate([near.ravel(), np.linspace(0.0, 4.0, 20001)])
    steepness = (exponents * np.log(2.0)).astype(np.float32)
    check_atoms([1.0], np.zeros((len(steepness), 1), np.float32), steepness)


def test_atoms_vanish_where_their_exponents_pass_the_smallest_float32():
    steepness = np.linspace(80.0, 95.0, 10_001, dtype=np.float32)
    atoms = check_atoms([1.0], np.zeros((len(steepness), 1), np.float32), steepness)
    assert (atoms[steepness < 87.3] > 0.0).all()
    assert (atoms[steepness > 87.4] == 0.0).all()


def test_the_largest_inputs_allowed_give_zero():
    row, centers = [2.0**59, -(2.0**59)], np.full((3, 2), -(2.0**59), np.float32)
    steepness = np.array([1e-30, 1.0, 2.0**100], np.float32)
    assert (check_atoms(row, centers, steepness) == 0.0).all()


def test_steep_atoms_are_right_where_squares_underflow():
    rng = np.random.default_rng(0)
    centers = (rng.uniform(-1.0, 1.0, (5000, 4)) * 10.0 ** rng.uniform(-25, -14, (5000, 1))).astype(
        np.float32
    )
    check_atoms(np.zeros(4), centers, np.full(5000, 2.0**100, np.float32))


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("d", [1, 10])
def test_gauss_dots_do_not_depend_on_the_slice(c, d):
    Z, centers, steepness, R = make_case(m=3 * BLOCK + 7, n=600, d=d, c=c)
    whole = gauss_dots(Z, centers, steepness, R)
    for cuts in [[0, 1, 64, 300, 600], [0, 17, 273, 599, 600], [0, 256, 512, 600]]:
        pieces = [slice(*pair) for pair in pairwise(cuts)]
        parts = [gauss_dots(Z, centers[p], steepness[p], R) for p in pieces]
        np.testing.assert_array_equal(np.vstack(parts), whole)
    order = np.random.default_rng(0).permutation(600)
    mixed = gauss_dots(Z, centers[order], steepness[order], R)
    np.testing.assert_array_equal(mixed, whole[order])


def test_threads_over_slices_change_nothing():
    Z, centers, steepness, R = make_case(m=500, n=512)
    whole = gauss_dots(Z, centers, steepness, R)
    pieces = [slice(start, start + 64) for start in range(0, 512, 64)]
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda p: gauss_dots(Z, centers[p], steepness[p], R), pieces))
    np.testing.assert_array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize("c", [1, 3])
def test_rows_without_residuals_change_nothing(c):
    Z, centers, steepness, R = make_case(m=3 * BLOCK, c=c)
    R[np.random.default_rng(1).random(len(R)) < 0.6] = 0.0
    has_residual = (R != 0.0).any(axis=1)
    sparse = gauss_dots(Z, centers, steepness, R)
    dense = gauss_dots(Z[has_residual], centers, steepness, R[has_residual])
    np.testing.assert_array_equal(sparse, dense)
    check_gauss(Z, centers, steepness, R)


@pytest.mark.parametrize(("m", "n"), [(0, 5), (5, 0), (0, 0)])
def test_gauss_dots_of_nothing_are_zero(m, n):
    np.testing.assert_array_equal(gauss_dots(*make_case(m=m, n=n, c=2)), np.zeros((n, 2)))


def test_residuals_of_zero_give_zero():
    Z, centers, steepness, R = make_case(c=2)
    assert not gauss_dots(Z, centers, steepness, 0.0 * R).any()


def test_inputs_may_be_read_only():
    case = make_case()
    expected = gauss_dots(*case)
    for array in case:
        array.setflags(write=False)
    np.testing.assert_array_equal(gauss_dots(*case), expected)


def stored_case(m=300, n=100, share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((m, n)).astype(np.float32)
    rows = np.flatnonzero(rng.random(m) < share)
    rows = np.concatenate([rows, np.zeros(-len(rows) % 8, np.intp)])
    return G, rows, rng.standard_normal(len(rows)).astype(np.float32)


def check_stored(G, rows, r, start=0, stop=None):
    stop = G.shape[1] if stop is None else stop
    dots = _kernels.stored_dots(G, rows, r, start, stop - start)
    chosen = as_exact(G[rows, start:stop])
    assert dots.shape == (chosen.shape[1],)
    assert dots.dtype == np.float64
    bounds = (BLOCK // 8 + 8) * UNIT * (np.abs(as_exact(r)) @ np.abs(chosen))
    assert (np.abs(dots - as_exact(r) @ chosen) <= bounds + len(rows) * 2.0**-148).all()
    return dots


@pytest.mark.parametrize("m", BORDERS)
def test_stored_dots_are_sums_over_rows(m):
    check_stored(*stored_case(m=m, share=1.0, seed=m))
    check_stored(*stored_case(m=m, seed=m))


def test_stored_dots_may_take_rows_in_any_order():
    G, rows, r = stored_case()
    order = np.random.default_rng(0).permutation(len(rows))
    check_stored(G, rows[order], r[order])


def test_stored_dots_do_not_depend_on_the_slice():
    G, rows, r = stored_case(n=333)
    whole = check_stored(G, rows, r)
    for start, stop in [(0, 1), (1, 20), (5, 333), (160, 177), (332, 333), (40, None), (3, 3)]:
        np.testing.assert_array_equal(check_stored(G, rows, r, start, stop), whole[start:stop])


def test_stored_dots_of_nothing_are_zero():
    G, rows, r = stored_case(n=7)
    np.testing.assert_array_equal(_kernels.stored_dots(G, rows[:0], r[:0], 0, 7), np.zeros(7))


def test_tiny_products_lose_no_more():
    G, rows, r = stored_case()
    check_stored((1e-22 * G).astype(np.float32), rows, (1e-22 * r).astype(np.float32))
