"""Atoms that can be improved: gradients in their parameters, changes of coordinates, multiples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LearnableDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    Sample,
    SigmoidDictionary,
)
from tests.suites.strategies import load_example

CosineDictionary = load_example("plot_custom_dictionary").CosineDictionary

LEARNABLE: dict[str, LearnableDictionary] = {
    "gauss": GaussDictionary(width=(0.3, 3.0)),
    "polynomial": PolynomialDictionary(degree=3),
    "polynomial-1": PolynomialDictionary(degree=1),
    "sigmoid": SigmoidDictionary(),
    "relu": ReluDictionary(),
    "linear": LinearDictionary(),
    "user-defined": CosineDictionary(width=1.5),
}
#: Families in which a multiple of an atom is an atom.
SCALED: dict[str, Dictionary] = {
    "relu": ReluDictionary(),
    "linear": LinearDictionary(),
}
each_learnable = pytest.mark.parametrize("dictionary", LEARNABLE.values(), ids=LEARNABLE.keys())


def make_sample(rng: np.random.Generator, d: int, n: int) -> Sample:
    """Give n standardised rows."""
    Z = rng.standard_normal((n, d))
    low, high = Z.min(axis=0), Z.max(axis=0)
    return Sample(Z, np.zeros(d), np.ones(d), low, high, 1.0, float(d))


def make_problem(dictionary: Dictionary, d: int, n: int) -> tuple[np.ndarray, Any, np.ndarray]:
    """Give inputs, atoms that are no draws of the inputs, and a residual per atom."""
    rng = np.random.default_rng(d + 10 * n)
    atoms = dictionary.candidates(make_sample(rng, d, n), n, key=3)
    return rng.standard_normal((25, d)), atoms, rng.standard_normal((25, n))


def difference_quotients(total: Callable[[Any], Any], theta: np.ndarray) -> np.ndarray:
    """Give central differences of a function that adds atoms of their own."""
    quotients = np.zeros_like(theta)
    for place in range(theta.shape[1]):
        step = np.zeros_like(theta)
        step[:, place] = 1e-6
        quotients[:, place] = (total(theta + step) - total(theta - step)) / 2e-6
    return quotients


@pytest.mark.parametrize(("d", "n"), [(1, 1), (3, 5), (4, 40)])
@each_learnable
def test_the_gradient_is_the_slope_in_every_parameter(
    dictionary: LearnableDictionary, d: int, n: int
) -> None:
    Z, atoms, V = make_problem(dictionary, d, n)
    theta = dictionary.free(atoms)
    for array in (Z, theta, V):
        array.flags.writeable = False
    ones = np.ones(d)

    def total(moved: np.ndarray) -> np.ndarray:
        return (V * dictionary.evaluate(Z, dictionary.bound(moved), ones)).sum(axis=0)

    gradient = dictionary.free_gradient(Z, theta, V)
    assert type(gradient) is np.ndarray
    assert gradient.dtype == np.float64
    expected = difference_quotients(total, theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.extras
@pytest.mark.parametrize(("d", "n"), [(1, 1), (3, 5), (4, 40)])
@pytest.mark.parametrize(
    "name", sorted(LEARNABLE.keys() - {"user-defined"})
)  # it knows NumPy alone
def test_tensors_have_the_same_gradient(name: str, d: int, n: int) -> None:
    torch = pytest.importorskip("torch")
    dictionary = LEARNABLE[name]
    Z, atoms, V = make_problem(dictionary, d, n)
    theta = dictionary.free(atoms)
    expected = dictionary.free_gradient(Z, theta, V)
    tensors = [torch.tensor(array) for array in (Z, theta, V)]
    gradient = dictionary.free_gradient(*tensors)
    assert gradient.dtype == torch.float64
    size = np.abs(expected).max()
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-10, atol=1e-12 * size)
    for tensor, array in zip(tensors, (Z, theta, V), strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array)
    rows = dictionary.bound(dictionary.free(torch.tensor(atoms))).numpy()
    np.testing.assert_allclose(rows, atoms, rtol=1e-14)


@each_learnable
def test_bound_undoes_free(dictionary: LearnableDictionary) -> None:
    _, atoms, _ = make_problem(dictionary, 3, 12)
    before = atoms.copy()
    theta = dictionary.free(atoms)
    assert theta.shape == atoms.shape
    np.testing.assert_allclose(dictionary.bound(theta), atoms, rtol=1e-14)
    np.testing.assert_array_equal(atoms, before)
    # Every vector is some atom's.
    rng = np.random.default_rng(0)
    rows = dictionary.bound(3.0 * rng.standard_normal(theta.shape))
    assert np.isfinite(dictionary.evaluate(rng.standard_normal((9, 3)), rows, np.ones(3))).all()


@each_learnable
def test_moved_atoms_have_the_same_values_and_come_back(dictionary: LearnableDictionary) -> None:
    rng = np.random.default_rng(1)
    origin, unit = np.array([5.0, -2.0, 0.3]), np.array([0.1, 2.0, 30.0])
    X = origin + unit * rng.standard_normal((30, 3))
    low, high = X.min(axis=0), X.max(axis=0)
    sample = Sample(X[:12], origin, unit, low, high, 1.0, 3.0)
    atoms = dictionary.candidates(sample, 12, key=3)
    values = dictionary.evaluate(X, atoms, unit)
    moved = dictionary.moved(atoms, origin, unit)
    Z = (X - origin) / unit
    there = dictionary.evaluate(Z, moved, np.ones(3))
    np.testing.assert_allclose(there, values, rtol=1e-9, atol=1e-10)
    back = dictionary.moved(moved, -origin / unit, 1.0 / unit)
    np.testing.assert_allclose(back, atoms, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dictionary.evaluate(X, back, unit), values, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dictionary", SCALED.values(), ids=SCALED.keys())
def test_multiples_of_atoms_are_atoms(dictionary: Dictionary) -> None:
    Z, atoms, _ = make_problem(dictionary, 3, 12)
    before, ones = atoms.copy(), np.ones(3)
    factors = np.exp(np.random.default_rng(2).standard_normal(len(atoms)))
    scaled = dictionary.scaled(atoms, factors)
    expected = dictionary.evaluate(Z, atoms, ones) * factors
    np.testing.assert_allclose(dictionary.evaluate(Z, scaled, ones), expected, rtol=1e-12)
    np.testing.assert_array_equal(atoms, before)


def test_families_without_multiples_say_so() -> None:
    for name in LEARNABLE.keys() - SCALED.keys():
        _, atoms, _ = make_problem(LEARNABLE[name], 3, 5)
        assert LEARNABLE[name].scaled(atoms, np.full(len(atoms), 2.0)) is None


def test_the_gradient_at_a_narrow_atom_is_that_of_the_formula() -> None:
    """Sums of products cancel near a narrow atom; what is left is still right."""
    rng = np.random.default_rng(4)
    Z, width = 3.0 + 0.01 * rng.standard_normal((200, 2)), 0.01
    theta = np.array([[3.0, 3.0, np.log(width)]])
    V = rng.standard_normal((200, 1))
    gaps = Z - theta[0, :2]
    pulls = V[:, 0] * np.exp(-(gaps**2).sum(axis=1) / (2 * width**2))
    expected = [*(pulls @ gaps) / width**2, pulls @ (gaps**2).sum(axis=1) / width**2]
    gradient = GaussDictionary().free_gradient(Z, theta, V)
    np.testing.assert_allclose(gradient[0], expected, rtol=1e-7, atol=1e-7)
