"""Every choice along a path is the one that the full matrix in float64 makes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context

from fcgboost import AllCandidates, FCGBoostClassifier, SampledCandidates
from fcgboost.datasets import make_simulation
from fcgboost.designs import scoring
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.greedy.path import Trace
from fcgboost.selection.base import Selection
from tests.suites.reference import (
    full_matrix,
    given_residuals,
    reference_best,
    reference_selection,
    ridge_squared_hinge,
)
from tests.suites.strategies import seeds

DICTIONARIES: dict[str, Dictionary] = {
    "gauss": GaussDictionary(),
    "narrow": GaussDictionary(width=0.02),
    "box": GaussDictionary(width=0.3, centers="box"),
    "wide": GaussDictionary(width=300.0),
    "polynomial": PolynomialDictionary(),
    "sigmoid": SigmoidDictionary(),
    "relu": ReluDictionary(),
}


class Variant(NamedTuple):
    """One way to compute the same."""

    is_stored: bool
    n_jobs: int = 1
    is_small: bool = False


VARIANTS = [
    Variant(is_stored=True),
    Variant(is_stored=False),
    Variant(is_stored=True, n_jobs=3, is_small=True),
    Variant(is_stored=False, n_jobs=3, is_small=True),
]


def make_data(kind: str, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Give 150 rows: noisy, near-separable (few residuals are left), or each several times."""
    rng = np.random.default_rng(5)
    X, y = make_simulation(
        150, noise="uniform", level=0.3 if kind == "noisy" else 0.01, random_state=3
    )
    if n_classes == 3:
        y = np.digitize(X[:, 1] + 0.05 * y, [0.4, 0.8])
    if kind == "repeated":
        rows = rng.integers(0, 40, 150)
        X, y = X[rows], y[rows]
    return X * [1.0, 1e3] + [50.0, -2e3], y


@contextmanager
def computed(variant: Variant) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if variant.is_small:
            patch.setattr(HostDevice, "block_entries", 200)
            patch.setattr(scoring, "_AT_ONCE", 7)
        # In MiB: everything that is scored again is stored, or nothing.
        with config_context(working_memory=1024 if variant.is_stored else 1e-6):
            yield


class Case(NamedTuple):
    """What is fitted."""

    dictionary: str
    kind: str
    n_classes: int
    normalize: bool
    is_sampled: bool = False

    def fit(self, selection: Selection, n_jobs: int = 1) -> Trace:
        X, y = make_data(self.kind, self.n_classes)
        model = FCGBoostClassifier(
            DICTIONARIES[self.dictionary],
            normalize=self.normalize,
            selection=selection,
            n_candidates=110,
            max_iter=14,
            random_state=0,
            n_jobs=n_jobs,
        )
        return model.fit(X, y).trace_


@cache
def reference_trace(case: Case) -> Trace:
    with reference_selection():
        return case.fit(SampledCandidates(40) if case.is_sampled else AllCandidates())


def assert_same_choices(found: Trace, expected: Trace) -> None:
    """The same atoms at every step; coefficients up to the order of sums."""
    assert len(found) == len(expected) >= 10
    assert found.endings == expected.endings
    np.testing.assert_array_equal(found.atoms, expected.atoms)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.chosen, other.chosen)
        # The solver ends at 1e-10 of the gradient: 1e-8 of a coefficient that only the ridge holds.
        np.testing.assert_allclose(one.coef, other.coef, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-10)


@pytest.mark.covering
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("kind", "n_classes"), [("noisy", 2), ("separable", 2), ("repeated", 3)])
@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_the_path_is_that_of_the_full_matrix(
    dictionary: str, kind: str, n_classes: int, normalize: bool, variant: Variant
) -> None:
    case = Case(dictionary, kind, n_classes, normalize)
    expected = reference_trace(case)
    with computed(variant):
        found = case.fit(AllCandidates(), variant.n_jobs)
    assert_same_choices(found, expected)


@pytest.mark.covering
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("kind", "n_classes"), [("noisy", 3), ("separable", 2)])
@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_the_sampled_path_is_that_of_the_full_matrices(
    dictionary: str, kind: str, n_classes: int, normalize: bool
) -> None:
    case = Case(dictionary, kind, n_classes, normalize, is_sampled=True)
    expected = reference_trace(case)
    for variant in (VARIANTS[1], VARIANTS[3]):
        with computed(variant):
            assert_same_choices(case.fit(SampledCandidates(40), variant.n_jobs), expected)


@pytest.mark.covering
@pytest.mark.parametrize("kind", ["noisy", "separable"])
@pytest.mark.parametrize("name", ["gauss", "sigmoid", "relu", "polynomial"])
def test_the_path_is_that_of_a_loop_written_out(name: str, kind: str) -> None:
    X, y = make_data(kind, 2)
    dictionary, l2, n_steps = DICTIONARIES[name], 1.0 / 150, 12
    model = FCGBoostClassifier(
        dictionary, l2=l2, selection="all", max_iter=n_steps, random_state=0
    ).fit(X, y)
    s, labels = np.ones(150), np.where(y == model.classes_[1], 1.0, -1.0)
    design = MemoryDesign(dictionary, X, s, standardize=True)
    n, key = design.n_distinct, model._state_.key
    atoms = dictionary.candidates(design.sample(n, key), n, key)
    values, allowed = full_matrix(design, atoms), np.ones((len(atoms), 1), dtype=bool)
    chosen: list[int] = []
    coef = np.array([model.trace_.start[0]])
    for k in range(n_steps):
        A = np.column_stack([np.ones(150), values[:, chosen]])
        residual = 2.0 * labels * np.maximum(0.0, 1.0 - labels * (A @ coef)) / 150
        (best,) = reference_best(values, s, residual[:, None], False, allowed)
        # The order of the rows moves the last digits of their scale.
        np.testing.assert_allclose(model.trace_.atoms[k], atoms[best.index], rtol=1e-10)
        assert model.trace_[k].scores[0] == pytest.approx(best.score, rel=1e-8)
        chosen.append(best.index)
        allowed[best.index] = False
        A = np.column_stack([np.ones(150), values[:, chosen]])
        coef = ridge_squared_hinge(A, labels, s, l2)
        step = model.trace_[k]
        np.testing.assert_allclose([*step.intercept, *step.coef[0]], coef, rtol=1e-6, atol=1e-9)


# One pass, with ties


def perturbed(atoms: np.ndarray, dictionary: Dictionary, rng: np.random.Generator) -> np.ndarray:
    """Give candidates most of which nearly tie: copies, and copies moved by about 1e-12."""
    n = len(atoms)
    near = atoms[rng.integers(0, n, n)] * (1.0 + 1e-12 * rng.choice([-1.0, 0.0, 1.0], (n, 1)))
    same = atoms[rng.integers(0, n, n)]
    both = [atoms, near, same]
    if isinstance(dictionary, LinearDictionary):
        both.append(-same)
    return rng.permutation(np.vstack(both))


# Linear atoms have values of either sign.
PASSES = {**DICTIONARIES, "linear": LinearDictionary(), "step": StepDictionary()}


@pytest.mark.covering
@given(
    seed=seeds,
    m=st.sampled_from([2, 15, 16, 17, 63, 129]),
    share=st.sampled_from([0.02, 0.3, 1.0]),
    spread=st.integers(0, 20),
)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", PASSES)
def test_near_ties_go_where_float64_sends_them(
    name: str, normalize: bool, seed: int, m: int, share: float, spread: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 3)) * [1.0, 20.0, 1e-3] + [3.0, 0.0, 5.0]
    weights = rng.integers(1, 4, m).astype(float)
    dictionary = PASSES[name]
    R = rng.standard_normal((m, 2)) * 10.0 ** -rng.uniform(0, spread, (m, 2))
    R[rng.random(m) > share] = 0.0
    allowed = rng.random((0, 2)) < 1.0
    for variant in VARIANTS:
        design = MemoryDesign(dictionary, X, weights, True, n_threads=variant.n_jobs)
        atoms = dictionary.candidates(design.sample(12, seed), 12, seed)
        atoms = perturbed(atoms, dictionary, np.random.default_rng(seed))
        if len(allowed) != len(atoms):
            allowed = rng.random((len(atoms), 2)) < 0.8
            values = full_matrix(design, atoms)
            # Atoms that no row sees vanish beside one that is seen, and may be chosen.
            sizes = abs(values).max(axis=0)
            assume(sizes[allowed.all(axis=1)].max(initial=0.0) > max(1e-8 * sizes.max(), 1e-15))
        with computed(variant), given_residuals(design, R) as points:
            candidates = design.candidates(atoms, reuse=variant.is_stored)
            expected = reference_best(values, weights, R, normalize, allowed)
            # The second time with what is known from the first.
            for _ in range(2):
                found = candidates.best(points, normalize, allowed)
                assert [b and b.index for b in found] == [b and b.index for b in expected]


@pytest.mark.covering
@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("m", [511, 512, 513, 1024, 1500])
@pytest.mark.parametrize("name", PASSES)
def test_blocks_of_rows_of_the_size_in_use_choose_as_float64_does(
    name: str, m: int, is_stored: bool
) -> None:
    rng = np.random.default_rng(m)
    X, dictionary = rng.standard_normal((m, 4)), PASSES[name]
    design = MemoryDesign(dictionary, X, np.ones(m), standardize=True)
    atoms = dictionary.candidates(design.sample(300, 0), 300, 0)
    candidates = design.candidates(atoms, reuse=is_stored)
    values, allowed = full_matrix(design, atoms), np.ones((len(atoms), 2), dtype=bool)
    for share in (1.0, 0.5, 0.01):
        R = rng.standard_normal((m, 2)) * (rng.random((m, 1)) < share)
        R[:, 1] += 0.1 * values[:, 7]
        for normalize in (False, True):
            with given_residuals(design, R) as points:
                found = candidates.best(points, normalize, allowed)
            expected = reference_best(values, np.ones(m), R, normalize, allowed)
            assert [b.index for b in found] == [b.index for b in expected]


@pytest.mark.parametrize("offset", [1e4, 1e7, 1e10])
@pytest.mark.parametrize("name", PASSES)
def test_inputs_far_from_zero_are_chosen_among_as_float64_does(name: str, offset: float) -> None:
    rng = np.random.default_rng(1)
    # On a grid, so that inputs that far away are the same ones moved.
    X = np.round(rng.standard_normal((300, 2)) * 2**6) / 2**6 + offset
    dictionary = PASSES[name]
    design = MemoryDesign(dictionary, X, np.ones(300), standardize=True)
    atoms = dictionary.candidates(design.sample(80, 0), 80, 0)
    values, allowed = full_matrix(design, atoms), np.ones((len(atoms), 1), dtype=bool)
    R = rng.standard_normal((300, 1))
    for is_stored, normalize in product((True, False), (False, True)):
        candidates = design.candidates(atoms, reuse=is_stored)
        with given_residuals(design, R) as points:
            (found,) = candidates.best(points, normalize, allowed)
        (expected,) = reference_best(values, np.ones(300), R, normalize, allowed)
        assert found.index == expected.index
        assert found.score == pytest.approx(expected.score, rel=1e-12)


@pytest.mark.parametrize("name", ["gauss", "narrow", "polynomial", "relu", "sigmoid", "linear"])
def test_sparse_inputs_are_chosen_among_as_float64_does(name: str) -> None:
    rng = np.random.default_rng(2)
    X = sparse.random_array((200, 30), density=0.1, random_state=rng).tocsr()
    dictionary, R = PASSES[name], rng.standard_normal((200, 2)) * (rng.random((200, 1)) < 0.6)
    design = MemoryDesign(dictionary, X, np.ones(200), standardize=True)
    atoms = dictionary.candidates(design.sample(60, 0), 60, 0)
    values, allowed = full_matrix(design, atoms), rng.random((atoms.shape[0], 2)) < 0.8
    for is_stored, normalize in product((True, False), (False, True)):
        candidates = design.candidates(atoms, reuse=is_stored)
        with given_residuals(design, R) as points:
            found = candidates.best(points, normalize, allowed)
        expected = reference_best(values, np.ones(200), R, normalize, allowed)
        assert [b.index for b in found] == [b.index for b in expected]


@pytest.mark.parametrize("normalize", [False, True])
def test_residuals_of_zero_choose_the_first(normalize: bool) -> None:
    X = np.random.default_rng(3).standard_normal((40, 2))
    design = MemoryDesign(ReluDictionary(), X, np.ones(40), standardize=True)
    atoms = ReluDictionary().candidates(design.sample(20, 0), 20, 0)
    allowed = np.arange(20)[:, None] >= 3
    for is_stored in (True, False):
        candidates = design.candidates(atoms, reuse=is_stored)
        with given_residuals(design, np.zeros((40, 1))) as points:
            (best,) = candidates.best(points, normalize, allowed)
        assert (best.index, best.score) == (3, 0.0)
