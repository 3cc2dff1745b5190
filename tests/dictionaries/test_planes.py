"""Atoms of inner products: directions, slopes and degrees."""

import numpy as np
import pytest

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from tests.suites.dictionaries import make_data, make_sample


@pytest.mark.parametrize(
    "dictionary", [SigmoidDictionary(), ReluDictionary(), LinearDictionary(), StepDictionary()]
)
def test_sparse_directions_pass_through_rows_with_one_to_d_inputs(dictionary: Dictionary) -> None:
    X = make_data(d=3)
    design = MemoryDesign(dictionary, X, np.ones(40), standardize=True)
    sample = design.sample(40, 4)
    atoms = dictionary.candidates(sample, 400, 4)
    counts = np.count_nonzero(atoms[:, :-1], axis=1)
    assert set(counts) == {1, 2, 3}
    through = np.tile(sample.rows, (10, 1))
    z = np.einsum("ij,ij->i", atoms[:, :-1], through) + atoms[:, -1]
    np.testing.assert_allclose(z, 0.0, atol=1e-12)


FEW = [
    *(SigmoidDictionary(max_features=2), SigmoidDictionary(weights="box", max_features=2)),
    *(ReluDictionary(max_features=2), ReluDictionary(weights="box", max_features=2)),
    *(LinearDictionary(max_features=2), StepDictionary(max_features=2)),
]


@pytest.mark.parametrize("dictionary", FEW, ids=repr)
def test_an_atom_looks_at_no_more_features_than_it_may(dictionary: Dictionary) -> None:
    sample = make_sample(np.random.default_rng(0).standard_normal((40, 6)), np.zeros(6), np.ones(6))
    for most, expected in ((2, {1, 2}), (1, {1}), (99, {1, 2, 3, 4, 5, 6})):
        atoms = dictionary.set_params(max_features=most).candidates(sample, 400, 4)
        used = atoms[:, :-1] != 0.0
        is_box = dictionary.get_params().get("weights") == "box"
        assert set(used.sum(axis=1)) == ({min(most, 6)} if is_box else expected)
        assert used.any(axis=0).all()  # no feature is left out for good


def test_a_row_that_a_step_goes_through_is_on_the_side_of_ones() -> None:
    """Whatever the units: its value there is no matter of rounding."""
    rng = np.random.default_rng(3)
    for place, size in ((0.0, 1.0), (1e6, 1e-3), (-5.0, 1e9)):
        X = np.round(place + size * rng.standard_normal((30, 4)), 3)
        X[:10, 0] = 0.0
        for shift, scale in ((X.mean(axis=0), X.std(axis=0)), (np.zeros(4), np.ones(4))):
            sample = make_sample(X, shift, scale, 30)
            for dictionary in (StepDictionary(), StepDictionary(max_features=1)):
                atoms = dictionary.candidates(sample, 90, 4)
                values = dictionary.evaluate(X, atoms, scale)
                np.testing.assert_array_equal(values[np.arange(90) % 30, np.arange(90)], 1.0)
                assert (values == 0.0).any(axis=0).sum() >= 80
                z = (X[:, ::-1] @ atoms[:, -2::-1].T) + atoms[:, -1]  # another order of sums
                np.testing.assert_array_equal(1.0 * (z > 0.0), values)


def test_steps_far_from_zero_have_rows_on_both_sides() -> None:
    X = 1e15 + np.random.default_rng(0).standard_normal((400, 5))
    sample = make_sample(X, X.mean(axis=0), X.std(axis=0), 400)
    atoms = StepDictionary().candidates(sample, 400, 0)
    shares = StepDictionary().evaluate(X, atoms, sample.scale).mean(axis=0)
    assert ((shares > 0.0) & (shares < 1.0)).mean() > 0.8
    assert np.median(shares) == pytest.approx(0.5, abs=0.15)


def test_stumps_split_one_feature_at_a_training_value() -> None:
    X = make_data()
    sample = make_sample(X, X.mean(axis=0), X.std(axis=0), 40)
    atoms = StepDictionary(max_features=1).candidates(sample, 40, 2)
    values = StepDictionary().evaluate(X, atoms, sample.scale)
    for i, (*w, _) in enumerate(atoms):
        (j,) = np.flatnonzero(w)
        expected = X[:, j] >= X[i, j] if w[j] > 0 else X[:, j] <= X[i, j]
        np.testing.assert_array_equal(values[:, i], expected)


def test_sigmoid_slopes_lie_in_their_range() -> None:
    X = make_data()
    design = MemoryDesign(SigmoidDictionary(), X, np.ones(40), standardize=True)
    for slope_range, low, high in (((1.0, 10.0), 1.0, 10.0), (5.0, 5.0, 5.0), ([2, 3], 2, 3)):
        dictionary = SigmoidDictionary(slope_range=slope_range)
        atoms = dictionary.candidates(design.sample(40, 4), 400, 4)
        lengths = np.linalg.norm(atoms[:, :-1] * design.scale, axis=1)
        assert low * (1 - 1e-12) <= lengths.min() <= lengths.max() <= high * (1 + 1e-12)


def test_the_sigmoid_does_not_overflow() -> None:
    atoms = np.array([[1.0, 0.0]])
    for size in (1e3, 1e300):
        X = np.array([[-size], [size]])
        values = SigmoidDictionary().evaluate(X, atoms, np.ones(1))
        np.testing.assert_array_equal(values, [[0.0], [1.0]])
        gradient = SigmoidDictionary().input_gradient(X, atoms, np.ones(1), np.ones(1))
        np.testing.assert_array_equal(gradient, [[0.0], [0.0]])


@pytest.mark.parametrize("value", [3, np.int64(3)])
def test_whole_degrees_of_any_type_are_the_same(value: float) -> None:
    dictionary = PolynomialDictionary(degree=value)
    dictionary.check_parameters()
    atoms = np.array([[2.0, 1.0]])
    values = dictionary.evaluate(np.array([[-3.0]]), atoms, np.ones(1))
    np.testing.assert_array_equal(values, [[-64.0]])
