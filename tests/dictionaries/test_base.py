"""Every dictionary goes through one suite; its formula is written once more, entry by entry."""

import math
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    SmoothDictionary,
    StepDictionary,
)
from tests.suites.dictionaries import make_data, make_sample
from tests.suites.strategies import load_example

CosineDictionary = load_example("plot_custom_dictionary").CosineDictionary


class Case(NamedTuple):
    """A dictionary and the value of one of its atoms at one point, as the formula says."""

    dictionary: Dictionary
    formula: Callable[..., float]


def gauss(x, row):
    *c, sigma = row
    return math.exp(-sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) / (2 * sigma**2))


def inner(x, row):
    *w, b = row
    return sum(p * q for p, q in zip(x, w, strict=True)) + b


def polynomial(degree):
    return lambda x, row: (1 + inner(x, row)) ** degree


def sigmoid(x, row):
    return 1 / (1 + math.exp(-inner(x, row)))


def relu(x, row):
    return max(0.0, inner(x, row))


def step(x, row):
    return 1.0 if inner(x, row) > 0.0 else 0.0


def cosine(x, row):
    return math.cos(inner(x, row))


CASES = {
    "gauss": Case(GaussDictionary(width=0.7), gauss),
    "gauss-scale": Case(GaussDictionary(), gauss),
    "gauss-range": Case(GaussDictionary(width=(0.3, 3.0)), gauss),
    "gauss-box": Case(GaussDictionary(width=2, centers="box"), gauss),
    "polynomial": Case(PolynomialDictionary(degree=3, q=2.0), polynomial(3)),
    "polynomial-scale": Case(PolynomialDictionary(degree=4), polynomial(4)),
    "polynomial-box": Case(PolynomialDictionary(degree=2, q=4.0, centers="box"), polynomial(2)),
    "sigmoid": Case(SigmoidDictionary(), sigmoid),
    "sigmoid-box": Case(SigmoidDictionary(slope_range=5.0, weights="box"), sigmoid),
    "relu": Case(ReluDictionary(), relu),
    "sigmoid-few": Case(SigmoidDictionary(max_features=1), sigmoid),
    "relu-box": Case(ReluDictionary(weights="box"), relu),
    "relu-few": Case(ReluDictionary(max_features=2), relu),
    "relu-box-few": Case(ReluDictionary(weights="box", max_features=2), relu),
    "linear": Case(LinearDictionary(), inner),
    "linear-few": Case(LinearDictionary(max_features=1), inner),
    "step": Case(StepDictionary(), step),
    "stump": Case(StepDictionary(max_features=1), step),
    "user-defined": Case(CosineDictionary(width=1.5), cosine),
}


def dense(atoms):
    return atoms.toarray() if sparse.issparse(atoms) else atoms


def naive_values(case: Case, Z: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    return np.array([[case.formula(z, row) for row in atoms] for z in Z])


def check_values_follow_the_formula(case: Case) -> None:
    Z = make_data() / 10.0
    ones, zeros = np.ones(Z.shape[1]), np.zeros(Z.shape[1])
    atoms = case.dictionary.candidates(make_sample(Z, zeros, ones), 12, key=5)
    values = case.dictionary.evaluate(Z, atoms, ones)
    assert values.shape == (40, len(atoms))
    np.testing.assert_allclose(values, naive_values(case, Z, atoms), rtol=1e-10, atol=1e-14)


def check_folded_atoms_equal_atoms_on_standardised_inputs(case: Case) -> None:
    X = make_data()
    shift, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - shift) / scale
    ones, zeros = np.ones(Z.shape[1]), np.zeros(Z.shape[1])
    folded = case.dictionary.candidates(make_sample(X, shift, scale), 12, key=5)
    plain = case.dictionary.candidates(make_sample(Z, zeros, ones), 12, key=5)
    values = case.dictionary.evaluate(X, folded, scale)
    np.testing.assert_allclose(values, naive_values(case, Z, plain), rtol=1e-9, atol=1e-12)


def check_sparse_equals_dense(case: Case) -> None:
    X = make_data()
    shift, scale = X.mean(axis=0), X.std(axis=0)
    atoms = dense(case.dictionary.candidates(make_sample(X, shift, scale), 12, key=5))
    expected = case.dictionary.evaluate(X, atoms, scale)
    for make in (sparse.csr_array, sparse.csr_matrix):
        for inputs, rows in ((make(X), atoms), (X, make(atoms)), (make(X), make(atoms))):
            values = case.dictionary.evaluate(inputs, rows, scale)
            assert type(values) is np.ndarray
            np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


def check_prepared_values_are_the_same(case: Case) -> None:
    X = make_data()
    shift, scale = X.mean(axis=0), X.std(axis=0)
    for n in (1, 5, 12):
        sample = make_sample(X, shift, scale, n)
        atoms = dense(case.dictionary.candidates(sample, n, key=5))
        expected = case.dictionary.evaluate(X, atoms, scale)
        values = case.dictionary.prepared(atoms, scale)
        for rows in (X, X[:1], sparse.csr_array(X)):
            again = values(rows)
            assert type(again) is np.ndarray
            there = expected[: rows.shape[0]]
            np.testing.assert_allclose(again, there, rtol=1e-9, atol=1e-12)


def check_candidates_of_sparse_rows_are_the_same(case: Case) -> None:
    X = make_data()
    for make in (sparse.csr_array, sparse.csr_matrix):
        for standardize in (False, True):
            designs = [
                MemoryDesign(case.dictionary, data, np.ones(40), standardize)
                for data in (X, make(X))
            ]
            atoms, from_sparse = (
                dense(case.dictionary.candidates(design.sample(12, 3), 12, 3)) for design in designs
            )
            np.testing.assert_allclose(from_sparse, atoms, rtol=1e-12)


def check_float32_inputs_are_computed_in_float64(case: Case) -> None:
    X = make_data().astype(np.float32)
    scale = X.std(axis=0).astype(np.float64)
    sample = make_sample(X.astype(np.float64), np.zeros(3), scale)
    atoms = case.dictionary.candidates(sample, 12, key=5)
    expected = case.dictionary.evaluate(X.astype(np.float64), atoms, scale)
    for inputs in (X, sparse.csr_array(X)):
        values = case.dictionary.evaluate(inputs, atoms, scale)
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


def check_large_offsets_keep_the_values(case: Case) -> None:
    rng = np.random.default_rng(2)
    Z = np.round(rng.standard_normal((40, 3)) * 2**10) / 2**10  # so that 1e6 + Z is exact
    ones, zeros = np.ones(3), np.zeros(3)
    far = case.dictionary.candidates(make_sample(1e6 + Z, 1e6 * ones, ones), 12, key=5)
    near = case.dictionary.candidates(make_sample(Z, zeros, ones), 12, key=5)
    values = case.dictionary.evaluate(1e6 + Z, far, ones)
    np.testing.assert_allclose(values, naive_values(case, Z, near), rtol=1e-6, atol=1e-6)


def check_input_gradient_is_the_slope(case: Case) -> None:
    X, rng = make_data(), np.random.default_rng(3)
    shift, scale = X.mean(axis=0), X.std(axis=0)
    atoms = case.dictionary.candidates(make_sample(X, shift, scale), 12, key=5)
    coef, points = rng.standard_normal(len(atoms)), shift + scale * rng.standard_normal((20, 3))
    gradient = case.dictionary.input_gradient(points, atoms, coef, scale)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6 * scale[j]
        up = case.dictionary.evaluate(points + step, atoms, scale) @ coef
        down = case.dictionary.evaluate(points - step, atoms, scale) @ coef
        size = np.abs(gradient[:, j]).max()
        np.testing.assert_allclose(gradient[:, j], (up - down) / (2 * step[j]), atol=1e-7 * size)
    for inputs, rows in ((sparse.csr_array(points), atoms), (points, sparse.csr_array(atoms))):
        again = case.dictionary.input_gradient(inputs, rows, coef, scale)
        assert type(again) is np.ndarray
        np.testing.assert_allclose(again, gradient, rtol=1e-9, atol=1e-12)


def check_candidates_depend_on_the_key_alone(case: Case) -> None:
    X = make_data()
    design = MemoryDesign(case.dictionary, X, np.ones(40), standardize=False)
    order = np.random.default_rng(1).permutation(40)
    shuffled = MemoryDesign(case.dictionary, X[order], np.ones(40), standardize=False)
    first = case.dictionary.candidates(design.sample(15, 7), 15, 7)
    assert first.shape == (15, case.dictionary.n_parameters(3))
    np.testing.assert_array_equal(case.dictionary.candidates(design.sample(15, 7), 15, 7), first)
    again = case.dictionary.candidates(shuffled.sample(15, 7), 15, 7)
    np.testing.assert_allclose(again, first, rtol=1e-13)
    other = case.dictionary.candidates(design.sample(15, 8), 15, 8)
    assert not np.array_equal(other, first)


def check_fewer_candidates_are_the_first_ones(case: Case) -> None:
    X = np.vstack([make_data(), make_data()])  # 40 distinct rows
    design = MemoryDesign(case.dictionary, X, np.ones(80), standardize=True)
    many = case.dictionary.candidates(design.sample(60, 7), 60, 7)
    assert many.shape[0] <= 60
    for n in (1, 10, 39, 40):
        few = case.dictionary.candidates(design.sample(n, 7), n, 7)
        assert few.shape[0] == n
        np.testing.assert_allclose(few, many[:n], rtol=1e-13)


def check_one_row_and_one_column_are_enough(case: Case) -> None:
    design = MemoryDesign(case.dictionary, np.array([[3.0]]), np.ones(1), standardize=True)
    atoms = case.dictionary.candidates(design.sample(5, 0), 5, 0)
    assert 1 <= atoms.shape[0] <= 5
    assert np.isfinite(case.dictionary.evaluate(np.array([[3.0]]), atoms, design.scale)).all()


def check_nothing_is_written_on(case: Case) -> None:
    dictionary = clone(case.dictionary)
    before = dict(vars(dictionary))
    X, scale = make_data(), np.ones(3)
    sample = make_sample(X, np.zeros(3), scale)
    atoms = dictionary.candidates(sample, 12, key=5)
    for array in (X, scale, atoms, sample.rows):
        array.flags.writeable = False
    dictionary.check_parameters()
    dictionary.candidates(sample, 12, key=6)
    dictionary.evaluate(X, atoms, scale)
    dictionary.prepared(atoms, scale)(X)
    if isinstance(dictionary, SmoothDictionary):
        dictionary.input_gradient(X, atoms, np.ones(len(atoms)), scale)
    assert vars(dictionary) == before


def check_copies_and_pickles_are_equal(case: Case) -> None:
    X = make_data()
    sample = make_sample(X, np.zeros(3), np.ones(3))
    expected = case.dictionary.candidates(sample, 12, key=5)
    for twin in (clone(case.dictionary), pickle.loads(pickle.dumps(case.dictionary))):
        assert twin.get_params() == case.dictionary.get_params()
        np.testing.assert_array_equal(twin.candidates(sample, 12, key=5), expected)


CHECKS = {name: value for name, value in globals().items() if name.startswith("check_")}


def passes(name: str, check: str) -> bool:
    """Whether a check is for a dictionary."""
    is_smooth = isinstance(CASES[name].dictionary, SmoothDictionary)
    return is_smooth or check != "check_input_gradient_is_the_slope"


PAIRS = [(name, check) for name in CASES for check in CHECKS if passes(name, check)]


@pytest.mark.parametrize(("name", "check"), PAIRS)
def test_every_dictionary_passes(name: str, check: str) -> None:
    CHECKS[check](CASES[name])


@pytest.mark.extras
@pytest.mark.parametrize("name", [name for name in CASES if name != "user-defined"])
def test_tensors_have_the_same_values(name: str) -> None:
    torch = pytest.importorskip("torch")
    dictionary, X = CASES[name].dictionary, make_data()
    scale = X.std(axis=0)
    for n in (1, 5, 40):
        sample = make_sample(X, X.mean(axis=0), scale, n)
        atoms = dictionary.candidates(sample, n, key=5)
        expected = dictionary.evaluate(X, atoms, scale)
        rows, unit = torch.tensor(atoms), torch.tensor(scale)
        for values in (dictionary.evaluate, lambda Z, *parts: dictionary.prepared(*parts)(Z)):
            Z = torch.tensor(X)
            found = values(Z, rows, unit)
            assert found.dtype == torch.float64
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(Z.numpy(), X)


def test_kernels_sit_at_the_drawn_rows() -> None:
    X = make_data()
    for standardize in (False, True):
        design = MemoryDesign(GaussDictionary(), X, np.ones(40), standardize)
        sample = design.sample(10, 7)
        Z, C = ((rows - sample.shift) / design.scale for rows in (X, sample.rows))
        mean_square = np.mean([np.sum(z**2) for z in Z])
        for q, divisor in ((1.0, 1.0), (2.5, 2.5), ("scale", mean_square)):
            kernel = PolynomialDictionary(degree=3, q=q)
            values = kernel.evaluate(X, kernel.candidates(sample, 10, 7), design.scale)
            expected = [[(1 + float(np.dot(z, c)) / divisor) ** 3 for c in C] for z in Z]
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
        gauss_atoms = GaussDictionary(width=0.8).candidates(sample, 10, 7)
        values = GaussDictionary().evaluate(X, gauss_atoms, design.scale)
        distances = np.array([[np.linalg.norm(z - c) for c in C] for z in Z])
        np.testing.assert_allclose(values, np.exp(-(distances**2) / (2 * 0.8**2)), atol=1e-11)


@pytest.mark.parametrize(
    ("dictionary", "name"),
    [
        *((GaussDictionary(width=value), "width") for value in (0, -1.0, math.nan, math.inf)),
        *((GaussDictionary(width=value), "width") for value in (True, "wide", None, [1.0])),
        (GaussDictionary(centers="rows"), "centers"),
        *((PolynomialDictionary(degree=value), "degree") for value in (2.5, 0, True, "3")),
        *((PolynomialDictionary(q=value), "q") for value in (0.0, "unit", math.nan)),
        (PolynomialDictionary(centers=1), "centers"),
        *((SigmoidDictionary(slope_range=value), "slope_range") for value in (0, True, "ab", ())),
        *((SigmoidDictionary(slope_range=value), "slope_range") for value in ((3, 1), (1, 2, 3))),
        (SigmoidDictionary(slope_range=(1, math.inf)), "slope_range"),
        (SigmoidDictionary(slope_range=(math.nan, 2)), "slope_range"),
        (SigmoidDictionary(weights="dense"), "weights"),
        (ReluDictionary(weights=["sparse"]), "weights"),
        (CosineDictionary(width=-1), "width"),
        *(
            (GaussDictionary(width=value), "width")
            for value in ((2, 1), (1, 2, 3), (0, 1), ("a", 1))
        ),
        *((ReluDictionary(max_features=value), "max_features") for value in (0, "all", True)),
        (SigmoidDictionary(max_features=-1), "max_features"),
        (LinearDictionary(max_features=0), "max_features"),
        (StepDictionary(max_features=2.0), "max_features"),
    ],
    ids=repr,
)
def test_an_impossible_parameter_is_named(dictionary: Dictionary, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{type(dictionary).__name__}: {name} must be"):
        dictionary.check_parameters()
