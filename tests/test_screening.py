"""A screen changes the time of a path and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from fcgboost import FCGBoostClassifier
from fcgboost.backends import memory
from fcgboost.backends.base import Array, Divisor
from fcgboost.backends.memory import MemoryCandidates, MemoryDesign
from fcgboost.backends.screening import Screen, _find_basis
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.greedy import Trace

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
def screens(is_on: bool) -> Iterator[list[bool]]:
    """Screen small dictionaries from the third pass on, or none; tell which passes it decided."""
    decided: list[bool] = []
    score = Screen.score

    def recorded(self: Screen, *args: object) -> Array | None:
        scores = score(self, *args)  # type: ignore[arg-type]
        decided.append(scores is not None)
        return scores

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Screen, "score", recorded)
        patch.setattr(memory, "_CANDIDATES_AT_ONCE", 8)
        patch.setattr(memory, "_PASSES_BEFORE_SCREEN", 3 if is_on else -1)
        patch.setattr(memory, "_SCREEN_ENTRIES", 0)
        yield decided


def fit_both(n_classes: int = 2, **parameters: object) -> tuple[Trace, Trace, list[bool]]:
    """Give the path without and with a screen, and which passes the screen decided."""
    X, y = make_simulation(90, random_state=0)
    if n_classes == 3:
        y = np.digitize(X[:, 0] + 0.1 * y, [0.3, 0.7])
    settings = {"max_iter": 300, "n_candidates": 320, "selection": "all", "tol": 0.0}
    traces = []
    for is_on in (False, True):
        with screens(is_on) as decided:
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


@each_scheme
@each_dictionary
def test_a_screened_path_is_the_path(scheme: str, dictionary: Dictionary) -> None:
    plain, screened, _ = fit_both(scheme=scheme, dictionary=dictionary)
    assert_equal_paths(plain, screened)


@each_scheme
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_screened_path_of_normalised_atoms_is_the_path(scheme: str, n_classes: int) -> None:
    for dictionary in (GaussDictionary(width=0.35, centers="box"), ReluDictionary()):
        parameters = {"dictionary": dictionary, "normalize": True, "max_iter": 120}
        plain, screened, _ = fit_both(n_classes, scheme=scheme, **parameters)
        assert_equal_paths(plain, screened)


@pytest.mark.parametrize("loss", ["hinge", "square", "cubed_hinge"])
def test_a_screened_path_of_another_loss_is_the_path(loss: str) -> None:
    plain, screened, _ = fit_both(loss=loss, scheme="original", max_iter=150)
    assert_equal_paths(plain, screened)


@pytest.mark.parametrize("scheme", ["original", "shrinkage", "epsilon", "rescaled"])
def test_the_screen_decides_most_passes(scheme: str) -> None:
    _, _, decided = fit_both(scheme=scheme, dictionary=GaussDictionary(width=1.5, centers="box"))
    assert len(decided) == 298
    assert np.mean(decided) > 0.5


def make_candidates(dictionary: Dictionary, m: int = 70, n: int = 120) -> MemoryCandidates:
    X, _ = make_simulation(m, random_state=1)
    design = MemoryDesign(dictionary, X, np.ones(m), standardize=True)
    atoms = dictionary.candidates(design.sample(n, 0), n, 0)
    return design.candidates(atoms, reuse=True, store=True)


@given(seed=seeds, exponent=st.integers(-12, 2), size=st.integers(-20, 20))
@each_dictionary
def test_bounds_hold(dictionary: Dictionary, seed: int, exponent: int, size: int) -> None:
    candidates = make_candidates(dictionary)
    rng = np.random.default_rng(seed)
    R0, step = 10.0**size * rng.standard_normal((2, 70, 2))
    R = R0 + 10.0**exponent * step
    screen = Screen(candidates._values)
    screen.anchor(R0, candidates.correlate(R0, "none"))
    scores, bounds = screen.estimate(R)
    assert (np.abs(scores - candidates.correlate(R, "none")) <= bounds).all()


@given(seed=seeds, share=st.floats(0.0, 1.0), exponent=st.integers(-6, 0))
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("dictionary", DICTIONARIES[1:5], ids=repr)
def test_scores_that_matter_are_exact(
    dictionary: Dictionary, divisor: Divisor, seed: int, share: float, exponent: int
) -> None:
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((70, 3))
    with screens(is_on=True) as decided:
        candidates = make_candidates(dictionary)
        allowed = rng.random((candidates.atoms.shape[0], 3)) < share
        for _ in range(8):
            exact = candidates.correlate(R, divisor)
            scores = candidates.correlate(R, divisor, allowed)
            for c in range(3):
                assert_the_best_are_exact(scores[allowed[:, c], c], exact[allowed[:, c], c])
            R = R + 10.0**exponent * rng.standard_normal(R.shape)
    assert len(decided) == 6


def assert_the_best_are_exact(scores: Array, exact: Array) -> None:
    threshold = (1.0 - 1e-9) * np.abs(exact).max(initial=0.0)
    matters = np.abs(exact) >= threshold
    np.testing.assert_array_equal(scores[matters], exact[matters])
    assert (np.abs(scores[~matters]) < threshold).all()


def test_without_a_mask_all_scores_are_exact() -> None:
    rng = np.random.default_rng(0)
    R = rng.standard_normal((70, 1))
    with screens(is_on=True) as decided:
        candidates = make_candidates(DICTIONARIES[1])
        everything = np.ones((candidates.atoms.shape[0], 1), dtype=bool)
        for _ in range(10):
            R = R + 1e-6 * rng.standard_normal(R.shape)
            candidates.correlate(R, "none", everything)
            expected = make_candidates(DICTIONARIES[1]).correlate(R, "none")
            np.testing.assert_array_equal(candidates.correlate(R, "none"), expected)
    assert any(decided)


def test_smooth_atoms_have_a_basis_and_a_full_rank_has_none() -> None:
    rng = np.random.default_rng(0)
    assert Screen(rng.standard_normal((90, 200))).rank is None
    low_rank = rng.standard_normal((90, 7)) @ rng.standard_normal((7, 200))
    assert Screen(low_rank).rank == 7


@pytest.mark.parametrize(
    "spoil", [lambda G: G * 1e60, lambda G: G * np.nan, lambda G: G * 0.0], ids=["huge", "nan", "0"]
)
def test_a_screen_that_can_not_decide_is_given_up(spoil: Callable[[Array], Array]) -> None:
    rng = np.random.default_rng(0)
    values = spoil(rng.standard_normal((40, 64)))
    blocks = [slice(start, start + 8) for start in range(0, 64, 8)]
    screen = Screen(values)
    for _ in range(40):
        if not screen.is_worth_it:
            break
        R = rng.standard_normal((40, 1))
        screen.anchor(R, values.T @ R)
        found = screen.score(
            2.0 * R, np.ones(64), np.ones((64, 1), dtype=bool), blocks, lambda b, R: R[:0]
        )
        assert found is None
    assert not screen.is_worth_it


@pytest.mark.parametrize("n_passes", [255, 256])
def test_short_paths_and_small_dictionaries_have_no_screen(n_passes: int) -> None:
    large = make_candidates(GaussDictionary(centers="box"), m=700, n=3000)
    small = make_candidates(GaussDictionary(centers="box"), m=100, n=100)
    for candidates in (large, small):
        for _ in range(n_passes):
            candidates._screen()
    assert (large._made_screen is not None) == (n_passes == 256)
    assert small._made_screen is None


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
