"""What scores may be off by is true, and whoever can be the best stays in the contest."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds
from suites.reference import full_matrix, given_residuals, reference_best, reference_scores

from fcgboost.designs import views
from fcgboost.designs.base import Best
from fcgboost.designs.blocks import BLOCK, block_sums
from fcgboost.designs.devices import Host
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.designs.scoring import Contest, MemoryCandidates, Scores
from fcgboost.dictionaries import (
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    ScreenedDictionary,
    SigmoidDictionary,
)

SCREENED: list[ScreenedDictionary] = [
    *(GaussDictionary(), ReluDictionary(), SigmoidDictionary(), LinearDictionary()),
]
each_screened = pytest.mark.parametrize("dictionary", SCREENED, ids=repr)
DIVISORS = ("none", "norm", "max")


def exact_values(dictionary: Any, Z: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Return the formula in extended precision, with a scale of ones."""
    Z, atoms = Z.astype(np.longdouble), atoms.astype(np.longdouble)
    vectors, last = atoms[:, :-1], atoms[:, -1]
    if isinstance(dictionary, GaussDictionary):
        squares = ((Z[:, None, :] - vectors) ** 2).sum(axis=2)
        return np.exp(-squares / (2.0 * last**2))
    z = (Z[:, None, :] * vectors).sum(axis=2) + last
    if isinstance(dictionary, ReluDictionary):
        return np.maximum(z, 0.0)
    if isinstance(dictionary, LinearDictionary):
        return z
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


def make_atoms(
    dictionary: Any, Z: np.ndarray, rng: np.random.Generator, exponents: tuple[float, float]
) -> np.ndarray:
    """Return atoms in the coordinates of Z, near and far, some at rows, some twice."""
    n, d = 14, Z.shape[1]
    sizes = 10.0 ** rng.uniform(*exponents, (n, 1))
    through = Z[rng.integers(0, len(Z), n)]
    if isinstance(dictionary, GaussDictionary):
        off = rng.standard_normal((n, d)) * rng.choice([0.0, 1e-3, 1.0, 100.0], (n, 1))
        atoms = np.hstack([through + off, sizes])
    else:
        w = sizes * rng.standard_normal((n, d))
        b = -np.einsum("ij,ij->i", w, through) + rng.choice([0.0, 1.0, 1e3], n)
        atoms = np.hstack([w, b[:, None]])
    return np.vstack([atoms, atoms[:3]])


@given(
    seed=seeds,
    d=st.sampled_from([1, 2, 5, 30]),
    ends=st.sampled_from([(-3.0, 3.0), (-1.0, 1.0), (-3.0, -2.0), (2.0, 3.0)]),
    spread=st.sampled_from([0.1, 1.0, 30.0]),
)
@each_screened
def test_values_are_no_larger_and_no_further_off_than_is_said(
    dictionary: ScreenedDictionary, seed: int, d: int, ends: tuple[float, float], spread: float
) -> None:
    rng = np.random.default_rng(seed)
    Z = spread * rng.standard_normal((40, d))
    atoms = make_atoms(dictionary, Z, rng, ends)
    largest, errors = dictionary.rounding(atoms, float(np.linalg.norm(Z, axis=1).max()))
    exact = exact_values(dictionary, Z, atoms)
    assert (np.abs(exact) <= largest * (1.0 + 1e-12)).all()
    for dtype, unit in (("float32", 2.0**-24), ("float64", 2.0**-53)):
        with np.errstate(under="ignore"):
            found = dictionary.evaluate(Z.astype(dtype), atoms.astype(dtype), np.ones(d, dtype))
        assert found.dtype == dtype
        assert (np.abs(found - exact) <= errors * unit).all()


@given(seed=seeds, shift=st.sampled_from([0.0, 10.0, 1e3]))
@each_screened
def test_moved_atoms_are_the_same_functions(
    dictionary: ScreenedDictionary, seed: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) * [1.0, 5.0, 0.1] + shift
    origin, unit = X.mean(axis=0), X.std(axis=0)
    atoms = rng.standard_normal((6, 4))
    if isinstance(dictionary, GaussDictionary):
        atoms = np.hstack([X[:6], rng.uniform(0.5, 2.0, (6, 1))])
    moved = dictionary.moved(atoms, origin, unit)
    expected = dictionary.evaluate(X, atoms, unit)
    found = dictionary.evaluate((X - origin) / unit, moved, np.ones(3))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


# Sums and scores

DICTIONARIES = {
    "gauss": GaussDictionary(),
    "narrow": GaussDictionary(width=0.02),
    "needles": GaussDictionary(width=1e-4),
    "wide": GaussDictionary(width=1e3, centers="box"),
    "relu": ReluDictionary(),
    "sigmoid": SigmoidDictionary(),
    "linear": LinearDictionary(),
    "polynomial": PolynomialDictionary(),
}


def float64_noise(dictionary: Any, X: np.ndarray, atoms: np.ndarray) -> float:
    """Bound what values lose in float64, which is all there is where <w, x> + b cancels."""
    if isinstance(dictionary, GaussDictionary):
        return 1e-13
    return 1e-14 * float((np.abs(X) @ np.abs(atoms[:, :-1]).T + np.abs(atoms[:, -1])).max()) ** 3


def check_estimates(name: str, is_stored: bool, m: int, share: float, seed: int) -> None:
    """Compare dots and intervals of scores with exact ones, for every divisor and precision."""
    rng = np.random.default_rng(seed)
    dictionary = DICTIONARIES[name]
    X = rng.standard_normal((m, 3)) * [1.0, 30.0, 0.01] + [5.0, 0.0, 1.0]
    weights = rng.uniform(0.1, 3.0, m)
    design = MemoryDesign(dictionary, X, weights, standardize=True)
    atoms = dictionary.candidates(design.sample(20, seed), 20, seed)
    atoms = np.vstack([atoms, atoms[:4]])
    R = rng.standard_normal((m, 3)) * 10.0 ** rng.uniform(-6, 0, (m, 3))
    R[rng.random(m) > share] = 0.0
    values, left = full_matrix(design, atoms), np.sort(rng.permutation(len(atoms))[:15])
    candidates = MemoryCandidates(design, atoms, is_stored)
    dtypes = ("float32", "float64") if design.is_screened else ("float64",)
    for divisor in (*DIVISORS, "norm"):
        exact = reference_scores(values, weights, R, divisor)
        noise = float64_noise(dictionary, X, atoms) * np.abs(R).sum(axis=0)
        for dtype, some in [(dtype, some) for dtype in dtypes for some in (np.arange(24), left)]:
            with np.errstate(all="ignore"), given_residuals(design, R) as points:
                scores = candidates.estimates(points, divisor, some[: len(atoms)], dtype)
                low, high, _ = scores.interval()
            some = some[: len(atoms)]
            dots = values[:, some].astype(np.longdouble).T @ R
            assert (np.abs(scores.dots - dots) <= scores.slack + noise).all()
            assert not np.isnan(low).any()
            assert not np.isnan(high).any()
            if divisor == "none":
                assert (low <= exact[some] + noise).all()
                assert (exact[some] <= high + noise).all()
            elif np.abs(values).max() > 1e-6:
                assert (low <= exact[some] * (1.0 + 1e-6) + 1e-12).all()
                assert (exact[some] <= high * (1.0 + 1e-6) + 1e-12).all()


each_kind = pytest.mark.parametrize("is_stored", [False, True], ids=["fresh", "stored"])


@pytest.mark.covering
@given(
    seed=seeds,
    m=st.sampled_from([1, 3, 15, 16, 17, 31, 32, 33, 100]),
    share=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
)
@each_kind
@pytest.mark.parametrize("name", DICTIONARIES)
def test_estimates_contain_the_exact_scores(
    name: str, is_stored: bool, seed: int, m: int, share: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in ("blocks", "scoring", "memory"):
            patch.setattr(f"fcgboost.designs.{module}.BLOCK", 16)
        patch.setattr(views, "_AT_ONCE", 9)
        patch.setattr(Host, "block_entries", 300)
        check_estimates(name, is_stored, m, share, seed)


@pytest.mark.covering
@pytest.mark.parametrize("m", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7])
@each_kind
@pytest.mark.parametrize("name", ["gauss", "relu", "sigmoid", "linear", "polynomial"])
def test_estimates_over_blocks_of_the_size_in_use_contain_the_exact_scores(
    name: str, is_stored: bool, m: int
) -> None:
    for share in (0.3, 1.0):
        check_estimates(name, is_stored, m, share, seed=m)


@each_kind
@pytest.mark.parametrize("name", ["gauss", "relu", "sigmoid", "linear"])
def test_single_precision_leaves_few_candidates(name: str, is_stored: bool) -> None:
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((2000, 4)), rng.standard_normal((2000, 1))
    R += np.sign(X[:, :1])
    design = MemoryDesign(DICTIONARIES[name], X, np.ones(2000), standardize=True)
    atoms = design.dictionary.candidates(design.sample(500, 0), 500, 0)
    contest = Contest(np.ones((500, 1), dtype=bool), is_divided=False)
    candidates = MemoryCandidates(design, atoms, is_stored)
    with given_residuals(design, R) as points:
        contest.narrow(candidates.estimates(points, "none", contest.left, "float32"))
    assert 1 <= len(contest.left) <= 25


def test_narrow_atoms_are_looked_at_again_in_double_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    X, asked = rng.standard_normal((400, 5)), []
    design = MemoryDesign(GaussDictionary(width=0.02), X, np.ones(400), standardize=True)
    atoms = design.dictionary.candidates(design.sample(300, 0), 300, 0)
    candidates = design.candidates(atoms, reuse=False, store=False)
    R = rng.standard_normal((400, 1))
    estimates = candidates.estimates

    def watched(points: Any, divisor: Any, left: Any, dtype: str) -> Scores:
        asked.append(dtype)
        return estimates(points, divisor, left, dtype)

    monkeypatch.setattr(candidates, "estimates", watched)
    everyone = np.ones((300, 1), dtype=bool)
    with given_residuals(design, R) as points:
        (found,) = candidates.best(points, "none", everyone)
    (expected,) = reference_best(full_matrix(design, atoms), np.ones(400), R, "none", everyone)
    assert asked == ["float32", "float64"]
    assert found.index == expected.index


@given(m=st.integers(1, 70), n=st.integers(1, 5), seed=seeds)
def test_block_sums_are_products(m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    V, W = rng.standard_normal((m, n)), rng.standard_normal((m, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcgboost.designs.blocks.BLOCK", 16)
        found = block_sums(V, W, np.float64)
    np.testing.assert_allclose(found, V.T @ W, atol=1e-13)


# The contest


@given(seed=seeds, divisor=st.sampled_from(DIVISORS))
def test_scores_of_parts_of_the_rows_add_up(seed: int, divisor: Any) -> None:
    """Rows on several machines have one contest."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((60, 3)), rng.uniform(0.5, 2.0, 60)
    R, dictionary = rng.standard_normal((60, 2)), ReluDictionary()
    whole = MemoryDesign(dictionary, X, weights, standardize=False)
    moments = moments_of(X, weights)
    atoms = dictionary.candidates(whole.sample(30, 0), 30, 0)
    values, allowed = full_matrix(whole, atoms), np.tile(rng.random((30, 1)) < 0.8, 2)
    contest = Contest(allowed, is_divided=False)
    for kind in ("estimates", "exact"):
        parts = []
        for rows in (slice(0, 7), slice(7, 40), slice(40, 60)):
            design = MemoryDesign(dictionary, X[rows], weights[rows], False, moments=moments)
            candidates = MemoryCandidates(design, atoms, False)
            more = ("float32",) if kind == "estimates" else ()
            with given_residuals(design, R[rows]) as points:
                parts.append(getattr(candidates, kind)(points, divisor, contest.left, *more))
        total = parts[0] + parts[1] + parts[2]
        if kind == "estimates":
            contest.narrow(total)
    expected = reference_best(values, weights, R, divisor, allowed)
    found = contest.winners(total)
    assert [b and b.index for b in found] == [b and b.index for b in expected]
    for one, other in zip(found, expected, strict=True):
        assert one is None or one.score == pytest.approx(other.score, rel=1e-10)


def test_who_is_surely_worse_leaves_and_who_can_win_stays() -> None:
    exact = np.array([[3.0, 0.1], [2.95, 0.2], [1.0, 5.0], [0.0, 0.0], [2.0, 4.99]])
    contest = Contest(np.ones((5, 2), dtype=bool), is_divided=False)
    contest.narrow(Scores(exact, np.full((5, 2), 0.05)))
    assert contest.left.tolist() == [0, 1, 2, 4]
    left = Scores(exact[contest.left], np.zeros((4, 2)))
    assert contest.winners(left) == [Best(0, 3.0), Best(2, 5.0)]


def test_a_score_of_which_nothing_is_known_is_looked_at() -> None:
    for unknown in (np.nan, np.inf):
        dots = np.array([[5.0], [unknown], [1.0]])
        contest = Contest(np.ones((3, 1), dtype=bool), is_divided=False)
        contest.narrow(Scores(dots, np.full((3, 1), 0.1)))
        assert contest.left.tolist() == [0, 1]
    contest = Contest(np.ones((3, 1), dtype=bool), is_divided=False)
    contest.narrow(Scores(np.array([[5.0], [4.0], [1.0]]), np.array([[0.1], [np.inf], [0.1]])))
    assert contest.left.tolist() == [0, 1]


def test_an_atom_that_may_vanish_is_looked_at_and_scores_zero_if_it_does() -> None:
    dots, sizes = np.array([[1.0], [1e-9], [0.5]]), np.array([1.0, 1e-12, 1.0])
    contest = Contest(np.ones((3, 1), dtype=bool), is_divided=False)
    contest.narrow(Scores(dots, np.full((3, 1), 1e-9), "max", sizes, 1e-8))
    assert contest.left.tolist() == [0, 1]
    left = Scores(dots[:2], np.zeros((2, 1)), "max", sizes[:2])
    assert contest.winners(left) == [Best(0, 1.0)]


def test_nobody_allowed_is_nobody_chosen() -> None:
    contest = Contest(np.zeros((3, 2), dtype=bool), is_divided=False)
    assert len(contest.left) == 0
    allowed = np.array([[True, False], [True, False]])
    contest = Contest(allowed, is_divided=False)
    contest.narrow(Scores(np.ones((2, 2)), np.zeros((2, 2))))
    found = contest.winners(Scores(np.ones((2, 2)), np.zeros((2, 2))))
    assert found == [Best(0, 1.0), None]
