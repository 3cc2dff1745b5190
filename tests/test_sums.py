"""Sums of atoms of several families, beside the values of these atoms."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fcgboost import (
    FCGBoostClassifier,
    GaussDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
)
from fcgboost._kernels import walks
from fcgboost.clipping import Limits
from fcgboost.dictionaries.union import FamilyAtoms
from fcgboost.sums import Summand, sum_of

Array = NDArray[np.float64]
#: The features of trees.
N_FEATURES = 5


def summand_of(
    family: TreeDictionary | ReluDictionary | GaussDictionary, rows: Array, coef: Array
) -> Summand:
    n_features = N_FEATURES if isinstance(family, TreeDictionary) else rows.shape[1] - 1
    return Summand(
        [FamilyAtoms(family, np.arange(len(rows)), rows, slice(0, n_features))],
        coef=coef,
        intercept=np.zeros(len(coef)),
        scale=np.ones(n_features),
        limits=None,
    )


@pytest.mark.parametrize("n_atoms", [1, 8, 21])
@pytest.mark.parametrize(
    "family",
    [ReluDictionary(), StepDictionary(), SigmoidDictionary(), GaussDictionary()],
    ids=lambda family: type(family).__name__,
)
def test_sums_are_those_of_values_within_limits(family: ReluDictionary, n_atoms: int) -> None:
    generator = np.random.default_rng(n_atoms)
    d, n_outputs = 6, 2
    rows = generator.normal(size=(n_atoms, d + 1))
    rows[:, -1] = np.abs(rows[:, -1]) + 0.5
    scale = generator.uniform(0.5, 2.0, d - 2)
    coef = generator.normal(size=(n_outputs, 3 * n_atoms))
    places = np.arange(n_atoms) * 3
    seen = slice(1, d - 1)
    limits = Limits(np.full(d, -1.0), np.linspace(0.5, 1.5, d))
    fills = generator.normal(size=d)
    rows = np.delete(rows, [0, 1], axis=1)
    summand = Summand(
        [FamilyAtoms(family, places, rows, seen)],
        coef=coef,
        intercept=np.array([0.5, -0.5]),
        scale=np.concatenate([[1.0], scale, [1.0]]),
        limits=limits,
        fills=fills,
    )
    X = generator.normal(size=(131, d))
    X[::9, 2] = np.nan
    X[5] = 1e300, -1e300, np.inf, -np.inf, 1e300, 0.0
    within = limits.apply(np.where(np.isnan(X), fills, X))[:, seen]
    expected = family.evaluate(within, rows, scale) @ coef[:, places].T + summand.intercept
    laid_out = sum_of([summand, summand])
    assert laid_out is not None
    found = walks.add_up(laid_out, X)
    np.testing.assert_allclose(found, 2.0 * expected, rtol=1e-11, atol=1e-12)
    for i in range(0, len(X), 13):
        np.testing.assert_array_equal(walks.add_up(laid_out, X[i : i + 1]), found[i : i + 1])


@pytest.mark.parametrize("preset", ["fast", "auto"])
def test_threads_change_no_bit_of_a_prediction(preset: str) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 4))
    y = X[:300, 0] * X[:300, 1] + generator.normal(size=300) > 0.0
    model = FCGBoostClassifier(preset, max_iter=8, random_state=0, n_jobs=1).fit(X[:300], y)
    X[::50, 2] = np.nan
    expected = model.decision_function(X)
    for n_jobs in (2, 3, 7):
        np.testing.assert_array_equal(
            model.set_params(n_jobs=n_jobs).decision_function(X), expected
        )
    rows = slice(8_191, 8_200)
    np.testing.assert_array_equal(model.decision_function(X[rows]), expected[rows])
