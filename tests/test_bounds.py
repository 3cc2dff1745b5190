"""Bounds of what single precision says: no score is outside, and none is taken for known."""

import numpy as np
import pytest
from suites.reference import full_matrix, given_residuals

from fcgboost.designs.base import TIE
from fcgboost.designs.blocks import BLOCK
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.scoring import Contest, MemoryCandidates, Scores
from fcgboost.dictionaries import GaussDictionary, ReluDictionary


def test_a_score_that_is_divided_lies_between_the_quotients_of_all_ends() -> None:
    scores = Scores(np.array([[4.0], [-4.0], [0.5]]), 1.0, "max", np.array([2.0, 4.0, 2.0]), 0.5)
    low, high, largest = scores.interval()
    assert largest == 4.0
    np.testing.assert_allclose(low[:, 0], [3.0 / 2.5, 3.0 / 4.5, 0.0])
    np.testing.assert_allclose(high[:, 0], [5.0 / 1.5, 5.0 / 3.5, 1.5 / 1.5])


@pytest.mark.parametrize("size", [1e-9, 1e-8, 1.0001e-8])
def test_an_atom_no_larger_than_its_roundoff_may_have_any_score(size: float) -> None:
    scores = Scores(np.ones((2, 1)), 0.1, "max", np.array([1.0, size]), 1e-8)
    low, high, _ = scores.interval()
    assert low[1, 0] == 0.0
    assert high[1, 0] == np.inf


@pytest.mark.parametrize(("dot", "slack"), [(np.nan, 0.1), (np.inf, 0.1), (1.0, np.inf)])
def test_a_quotient_of_what_is_no_number_may_be_any(dot: float, slack: float) -> None:
    scores = Scores(np.array([[1.0], [dot]]), np.array([[0.1], [slack]]), "norm", np.ones(2), 0.0)
    low, high, _ = scores.interval()
    assert low[1, 0] == 0.0
    assert high[1, 0] == np.inf


def test_who_ties_with_the_best_stays_in_the_contest() -> None:
    dots = np.array([[1.0 - 0.5 * TIE], [1.0], [1.0 - 1e-6]])
    contest = Contest(np.ones((3, 1), dtype=bool), is_divided=False)
    contest.narrow(Scores(dots))
    assert contest.left.tolist() == [0, 1]
    assert contest.winners(Scores(dots[:2]))[0].index == 0


@pytest.mark.parametrize("size", [1e-45, 1e-80, 1e-300])
def test_residuals_that_single_precision_loses_are_within_the_slack(size: float) -> None:
    rng = np.random.default_rng(0)
    X, R = rng.standard_normal((50, 3)), size * rng.uniform(0.5, 1.0, (50, 1))
    design = MemoryDesign(GaussDictionary(), X, np.ones(50), standardize=True)
    atoms = design.dictionary.candidates(design.sample(20, 0), 20, 0)
    with given_residuals(design, R) as points:
        scores = MemoryCandidates(design, atoms, False).estimates(
            points, "none", np.arange(20), "float32"
        )
    assert (np.abs(scores.dots - full_matrix(design, atoms).T @ R) <= scores.slack).all()


def test_the_error_of_a_centre_counts_from_the_mean_of_all() -> None:
    """Both sides of a product are shifted by it: what lies at zero is far away."""
    atoms = np.zeros((60, 3))
    atoms[1:, :2], atoms[:, 2] = 1000.0, 1.0
    Z = np.random.default_rng(0).standard_normal((40, 2))
    dictionary = GaussDictionary()
    _, errors = dictionary.rounding(atoms, float(np.linalg.norm(Z, axis=1).max()))
    narrow = (a.astype("float32") for a in (Z, atoms, np.ones(2)))
    exact = np.exp(-((Z[:, None, :] - atoms[:, :-1]) ** 2).sum(axis=2) / 2.0)
    gaps = np.abs(dictionary.evaluate(*narrow) - exact)
    assert gaps[:, 0].max() > 1e-3
    assert (gaps <= errors * 2.0**-24).all()


@pytest.mark.parametrize(
    ("offset", "spread", "expected"),
    [
        *[(0.0, 1.0, True), (2.0**15, 1.0, True), (2.0**17, 1.0, False), (-(2.0**17), 1.0, False)],
        *[(0.0, 2.0**29, True), (0.0, 2.0**31, False)],
        *[(0.0, 2.0**-19, True), (0.0, 2.0**-21, False)],
    ],
)
def test_rows_of_other_magnitudes_are_not_screened(
    offset: float, spread: float, expected: bool
) -> None:
    X = offset + spread * np.linspace(-1.0, 1.0, 21)[:, None]
    design = MemoryDesign(ReluDictionary(), X, np.ones(21), standardize=False)
    assert design.is_screenable is expected
    rounding = design.rounding(np.array([[1.0, 0.0]]), "float32")
    assert (rounding is not None) is expected


def test_a_bound_in_double_precision_knows_how_far_away_the_rows_are() -> None:
    X = 1000.0 + np.linspace(-1.0, 1.0, 21)[:, None]
    design = MemoryDesign(ReluDictionary(), X, np.ones(21), standardize=False)
    single, double = (
        float(design.rounding(np.array([[1.0, -1000.0]]), dtype)[0]) * 2.0**bits
        for dtype, bits in (("float32", 24), ("float64", 53))
    )
    assert single == pytest.approx(BLOCK + 17.0, rel=1e-6)
    assert double == pytest.approx(1001.0 * single, rel=1e-6)
