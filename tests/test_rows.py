"""Compiled passes over the rows: the bits of NumPy."""

import numpy as np
import pytest

from fcgboost.losses import CubedHinge, SquaredHinge
from fcgboost.solvers import rows


def vectors(n_rows):
    """Labels, shares and values, some of them right at the kink."""
    generator = np.random.default_rng(n_rows)
    y = np.where(generator.random(n_rows) < 0.5, -1.0, 1.0)
    f = np.where(generator.random(n_rows) < 0.2, y, 2.0 * generator.normal(size=n_rows))
    return y, generator.random(n_rows), f


@pytest.mark.parametrize("n_rows", [0, 1, 7, 1000])
def test_terms_have_the_bits_of_numpy(n_rows):
    y, shares, f = vectors(n_rows)
    values, slopes, curvatures = SquaredHinge().terms(y, f)
    found = rows.weighted_terms(SquaredHinge(), y, shares, f)
    for compiled, plain in zip(found, (values, shares * slopes, shares * curvatures), strict=True):
        np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("length", [1, 0.5])
def test_what_was_not_foreseen_has_the_bits_of_numpy(length):
    g, along, new_g = np.random.default_rng(0).normal(size=(3, 1000))
    h, new_h = np.random.default_rng(1).integers(0, 2, size=(2, 1000)) / 500.0
    compiled = rows.unforeseen(length, g, h, along, new_g, new_h)
    plain = np.where(new_h != h, new_g - g - length * (h * along), 0.0)
    assert np.count_nonzero(compiled) == np.count_nonzero(h != new_h) > 0
    np.testing.assert_array_equal(compiled, plain)


def test_other_losses_and_vectors_are_left_to_numpy():
    class Steeper(SquaredHinge):
        def terms(self, y, f):
            return tuple(2.0 * part for part in super().terms(y, f))

    y, shares, f = vectors(100)
    for loss in (CubedHinge(), Steeper()):
        values, slopes, curvatures = rows.weighted_terms(loss, y, shares, f)
        expected = loss.terms(y, f)
        np.testing.assert_array_equal(values, expected[0])
        np.testing.assert_array_equal(slopes, shares * expected[1])
        np.testing.assert_array_equal(curvatures, shares * expected[2])
    twice = np.repeat(f, 2)[::2]
    for given in (f.astype(np.float32), twice):
        found = rows.weighted_terms(SquaredHinge(), y, shares, given)
        np.testing.assert_array_equal(found[0], SquaredHinge().terms(y, given)[0])
