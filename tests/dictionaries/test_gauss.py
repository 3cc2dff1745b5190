"""Gauss atoms: where their centres lie, and how wide they are."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    GaussDictionary,
)
from tests.suites.dictionaries import make_data, make_sample


def test_box_centres_lie_in_the_bounding_box() -> None:
    X, dictionary = make_data(), GaussDictionary(centers="box", width=1.0)
    for data in (X, sparse.csr_array(X)):
        design = MemoryDesign(dictionary, data, np.ones(40), standardize=True)
        centers = dictionary.candidates(design.sample(200, 4), 200, 4)[:, :-1]
        assert centers.shape == (200, 3)
        assert (centers >= X.min(axis=0)).all()
        assert (centers <= X.max(axis=0)).all()


def test_a_range_of_gauss_widths_is_in_units_of_scale() -> None:
    X = make_data()
    sample = make_sample(X, X.mean(axis=0), X.std(axis=0), 40)
    unit = GaussDictionary().candidates(sample, 40, 4)[0, -1]
    atoms = GaussDictionary(width=(0.3, 3.0)).candidates(sample, 40, 4)
    factors = atoms[:, -1] / unit
    assert 0.3 <= factors.min() < 0.5
    assert 2.0 < factors.max() <= 3.0
    assert 0.6 < np.exp(np.log(factors).mean()) < 1.4  # as many below "scale" as above
    np.testing.assert_array_equal(atoms[:, :-1], X)
    same = GaussDictionary(width=[1.0, 1.0]).candidates(sample, 40, 4)
    np.testing.assert_allclose(same[:, -1], unit, rtol=1e-15)


def test_the_default_width_is_that_of_svc() -> None:
    X = make_data()
    design = MemoryDesign(GaussDictionary(), X, np.ones(40), standardize=True)
    sigma = GaussDictionary().candidates(design.sample(1, 0), 1, 0)[0, -1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert 1 / (2 * sigma**2) == pytest.approx(1 / (3 * Z.var()))
