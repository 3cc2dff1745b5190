"""A stand-in changes the time of a path and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds
from suites.designs import naive_best, naive_scores
from suites.marks import also
from suites.solvers import MatrixDictionary

from fcgboost import FCGBoostClassifier
from fcgboost.backends import candidates as candidates_module
from fcgboost.backends.base import Array, Divisor
from fcgboost.backends.candidates import MemoryCandidates, contenders
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.screening import StandIn, _find_basis
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.trace import Trace

SCHEMES = ["fully_corrective", "original", "shrinkage", "truncation", "epsilon", "rescaled"]
DICTIONARIES = [
    GaussDictionary(width=0.1, centers="box"),
    GaussDictionary(width=0.35, centers="box"),
    GaussDictionary(width=1.5),
    PolynomialDictionary(),
    ReluDictionary(),
    SigmoidDictionary(),
]
DIVISORS: tuple[Divisor, ...] = ("none", "max", "norm")
each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES, ids=repr)
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


@contextmanager
def stand_ins(is_on: bool) -> Iterator[list[bool]]:
    """Make one from the third pass on, or none; tell which of the passes after it it decided."""
    decided: list[bool] = []
    note = StandIn.note

    def recorded(self: StandIn, is_decided: bool) -> None:
        decided.append(is_decided)
        note(self, is_decided)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StandIn, "note", recorded)
        patch.setattr(candidates_module, "MANY", 8)
        patch.setattr(candidates_module, "_PASSES_BEFORE_STAND_IN", 3 if is_on else -1)
        patch.setattr(candidates_module, "_STAND_IN_ENTRIES", 0)
        yield decided


def fit_both(n_classes: int = 2, **parameters: object) -> tuple[Trace, Trace, list[bool]]:
    """Give the path without and with a stand-in, and which passes it decided."""
    X, y = make_simulation(90, random_state=0)
    if n_classes == 3:
        y = np.digitize(X[:, 0] + 0.1 * y, [0.3, 0.7])
    settings = {
        "dictionary": "gauss",
        "max_iter": 300,
        "n_candidates": 320,
        "selection": "all",
        "tol": 0.0,
    }
    traces = []
    for is_on in (False, True):
        with stand_ins(is_on) as decided:
            model = FCGBoostClassifier(random_state=0, **{**settings, **parameters})
            traces.append(model.fit(X, y).trace_)
        assert is_on or not decided
    return traces[0], traces[1], decided


def assert_equal_paths(plain: Trace, screened: Trace) -> None:
    """Bit for bit."""
    assert len(plain) == len(screened) > 0
    assert plain.endings == screened.endings
    np.testing.assert_array_equal(plain.atoms, screened.atoms)
    for one, other in zip(plain, screened, strict=True):
        for name in ("chosen", "scores", "objectives", "coef", "intercept"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.covering
@each_scheme
@each_dictionary
def test_a_path_with_a_stand_in_is_the_path(scheme: str, dictionary: Dictionary) -> None:
    plain, screened, _ = fit_both(scheme=scheme, dictionary=dictionary)
    assert_equal_paths(plain, screened)


@pytest.mark.slow
@each_scheme
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dictionary", [DICTIONARIES[1], ReluDictionary()], ids=repr)
def test_a_path_of_normalised_atoms_is_the_path(
    scheme: str, n_classes: int, dictionary: Dictionary
) -> None:
    parameters = {"dictionary": dictionary, "normalize": True, "max_iter": 120}
    plain, screened, _ = fit_both(n_classes, scheme=scheme, **parameters)
    assert_equal_paths(plain, screened)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "square", "cubed_hinge"])
def test_a_path_of_another_loss_is_the_path(loss: str) -> None:
    plain, screened, _ = fit_both(loss=loss, scheme="original", max_iter=150)
    assert_equal_paths(plain, screened)


@pytest.mark.parametrize("scheme", ["original", *also("shrinkage", "epsilon", "rescaled")])
def test_the_stand_in_decides_most_passes(scheme: str) -> None:
    _, _, decided = fit_both(scheme=scheme, dictionary=GaussDictionary(width=1.5, centers="box"))
    # It is made at the third pass, which is its first anchor.
    assert len(decided) == 297
    assert np.mean(decided) > 0.5


def make_candidates(dictionary: Dictionary, m: int = 70, n: int = 120) -> MemoryCandidates:
    X, _ = make_simulation(m, random_state=1)
    design = MemoryDesign(dictionary, X, np.ones(m), standardize=True)
    atoms = dictionary.candidates(design.sample(n, 0), n, 0)
    return design.candidates(atoms, reuse=True, store=True)


def exact_values(candidates: MemoryCandidates) -> Array:
    """Give the m x n matrix in float64, one atom at a time."""
    design, n = candidates._design, candidates.atoms.shape[0]
    atoms = [candidates.atoms[j : j + 1] for j in range(n)]
    return np.hstack([design.dictionary.evaluate(design.X, a, design.scale) for a in atoms])


@pytest.mark.covering
@given(seed=seeds, exponent=st.integers(-12, 2), size=st.integers(-20, 20))
@pytest.mark.parametrize("divisor", DIVISORS)
@each_dictionary
def test_bounds_hold(
    dictionary: Dictionary, divisor: Divisor, seed: int, exponent: int, size: int
) -> None:
    candidates = make_candidates(dictionary)
    rng = np.random.default_rng(seed)
    R0, step = 10.0**size * rng.standard_normal((2, 70, 2))
    R = R0 + 10.0**exponent * step
    stand_in = StandIn(candidates._values)
    stand_in.anchor(R0, candidates._values.estimate(R0, divisor, None))
    estimate = stand_in.estimate(R, divisor)
    values = exact_values(candidates)
    assert (np.abs(estimate.dots - values.T @ R) <= estimate.bounds).all()
    low, high = estimate.interval(candidates._design.place)
    scores = naive_scores(values, np.ones(70), R, divisor)
    assert (low <= scores * (1.0 + 1e-12)).all()
    assert (scores <= high * (1.0 + 1e-12)).all()


@pytest.mark.covering
@given(seed=seeds, share=st.floats(0.0, 1.0), exponent=st.integers(-6, 0))
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("dictionary", DICTIONARIES[1:5], ids=repr)
def test_the_best_candidate_and_its_score_are_exact(
    dictionary: Dictionary, divisor: Divisor, seed: int, share: float, exponent: int
) -> None:
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((70, 3))
    plain, values = make_candidates(dictionary), exact_values(make_candidates(dictionary))
    with stand_ins(is_on=True) as decided:
        candidates = make_candidates(dictionary)
        allowed = rng.random((candidates.atoms.shape[0], 3)) < share
        for _ in range(8):
            found = candidates.best(R, divisor, allowed)
            scores = naive_scores(values, np.ones(70), R, divisor)
            expected = naive_best(scores, allowed)
            assert [None if best is None else best.index for best in found] == expected
            with stand_ins(is_on=False):
                assert found == plain.best(R, divisor, allowed)
            R = R + 10.0**exponent * rng.standard_normal(R.shape)
    assert len(decided) == 5


def test_a_small_change_of_the_residuals_is_decided_without_a_pass() -> None:
    rng = np.random.default_rng(0)
    R = rng.standard_normal((70, 1))
    everything = np.ones((70, 1), dtype=bool)
    with stand_ins(is_on=True) as decided:
        candidates = make_candidates(DICTIONARIES[2])
        for _ in range(3):
            candidates.best(R, "none", everything)
        passes = []
        estimate = candidates._values.estimate
        candidates._values.estimate = lambda *args: passes.append(args) or estimate(*args)
        for _ in range(7):
            R = R + 1e-6 * rng.standard_normal(R.shape)
            found = candidates.best(R, "none", everything)
            assert found == make_candidates(DICTIONARIES[2]).best(R, "none", everything)
    assert decided == [True] * 7
    assert not passes


def test_smooth_atoms_have_a_basis_and_a_full_rank_has_none() -> None:
    rng = np.random.default_rng(0)
    assert StandIn(SimpleNamespace(G=rng.standard_normal((90, 200)))).rank is None
    low_rank = rng.standard_normal((90, 7)) @ rng.standard_normal((7, 200))
    assert StandIn(SimpleNamespace(G=low_rank)).rank == 7


@pytest.mark.parametrize("spoil", [lambda G: G * 1e60, lambda G: G * np.nan], ids=["huge", "nan"])
def test_a_stand_in_without_bounds_is_not_used(spoil: Callable[[Array], Array]) -> None:
    values = spoil(np.random.default_rng(0).standard_normal((40, 64)))
    assert not StandIn(SimpleNamespace(G=values)).is_worth_it


def test_a_stand_in_that_can_not_decide_is_given_up() -> None:
    rng = np.random.default_rng(0)
    with stand_ins(is_on=True) as decided:
        X = np.tile(rng.standard_normal((40, 1)), (1, 64))  # all tie, for ever
        design = MemoryDesign(MatrixDictionary(), X, np.ones(40), standardize=False)
        candidates = design.candidates(np.eye(64), reuse=True, store=True)
        everything = np.ones((64, 1), dtype=bool)
        for k in range(1, 40):
            (found,) = candidates.best(rng.standard_normal((40, 1)), "none", everything)
            assert found.index == 0
            assert (candidates._stand_in is not None) == (3 <= k <= 35)
    assert decided == [False] * 32


@pytest.mark.parametrize("n_passes", [255, 256])
def test_short_paths_and_small_dictionaries_have_no_stand_in(n_passes: int) -> None:
    large = make_candidates(GaussDictionary(centers="box"), m=700, n=3000)
    small = make_candidates(GaussDictionary(centers="box"), m=100, n=100)
    for candidates in (large, small):
        for _ in range(n_passes):
            candidates._look_for_stand_in()
    assert (large._stand_in is not None) == (n_passes == 256)
    assert small._stand_in is None


def test_a_stand_in_fits_the_memory_beside_the_values() -> None:
    X, _ = make_simulation(100, random_state=1)
    for budget, is_made in ((2 * 4 * 100 * 100 - 1, False), (2 * 4 * 100 * 100, True)):
        design = MemoryDesign(GaussDictionary(), X, np.ones(100), True, memory_budget=budget)
        atoms = design.dictionary.candidates(design.sample(100, 0), 100, 0)
        with stand_ins(is_on=True):
            candidates = design.candidates(atoms, reuse=True, store=True)
            for _ in range(3):
                candidates._look_for_stand_in()
        assert (candidates._stand_in is not None) == is_made


@given(seed=seeds)
def test_contenders_are_all_that_can_be_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0.0, 1.0, 30)
    high = low + rng.exponential(0.2, 30)
    high[rng.random(30) < 0.1] = np.inf
    allowed = rng.random(30) < 0.7
    found = contenders(low, high, allowed)
    can_win = [j for j in range(30) if allowed[j] and (high[j] >= low[allowed]).all()]
    assert set(can_win) <= set(found.tolist()) <= set(np.flatnonzero(allowed).tolist())
    assert set(np.flatnonzero(allowed & np.isinf(high)).tolist()) <= set(found.tolist())


def test_the_search_for_a_basis_is_short_whatever_the_number_of_rows() -> None:
    sketched = []

    class Watched(np.ndarray):
        def __matmul__(self, other: np.ndarray) -> np.ndarray:
            sketched.append(other.shape[1])
            return np.asarray(self) @ other

    values = np.random.default_rng(0).standard_normal((1500, 600))
    norms = np.linalg.norm(values, axis=0)
    assert _find_basis(values.view(Watched), norms) is None
    assert sum(sketched) == 384
