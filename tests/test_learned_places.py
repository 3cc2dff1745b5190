"""Learned atoms, trees, unions and presets: the same model on other machines and devices.

Atoms agree up to rounding: residuals and sums are made in another order there, and the improvement
of an atom goes on from them.
"""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from suites.crews import fit_on, make_crew

from fcgboost import FCGBoostClassifier, LearnedCandidates
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    EllipticDictionary,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.stopping import theory_steps
from fcgboost.training.presets import PRESETS

SETTINGS: dict[str, dict[str, Any]] = {
    "relu": {"dictionary": "relu", "selection": "learned"},
    "gauss": {"dictionary": "gauss", "selection": LearnedCandidates(n_improved=3)},
    "sigmoid": {"dictionary": SigmoidDictionary(), "selection": "learned"},
    "elliptic": {"dictionary": EllipticDictionary(), "selection": "learned"},
    # Two features have two linear atoms; what comes after them is rounding.
    "linear": {"dictionary": LinearDictionary(), "selection": "learned", "max_iter": 2},
    "step": {"dictionary": StepDictionary(), "selection": "learned"},
    "few rows": {"dictionary": "relu", "selection": LearnedCandidates(n_rows=20, max_rows=60)},
    "tree": {"dictionary": "tree"},
    "tree, few rows": {"dictionary": "tree", "selection": LearnedCandidates(max_rows=50)},
    "turns": {
        "dictionary": UnionDictionary([ReluDictionary(), TreeDictionary(), GaussDictionary()])
    },
    "compete": {
        "dictionary": UnionDictionary([StepDictionary(), GaussDictionary()], mode="compete")
    },
    "no constant": {"dictionary": "relu", "selection": "learned", "fit_intercept": False},
    "set aside": {"dictionary": "tree", "validation_fraction": 0.2},
    "balanced": {"dictionary": "relu", "selection": "learned", "class_weight": "balanced"},
}
CUTS = {"one": [], "empty and unequal": [1, 1, 2, 170], "many": list(range(20, 200, 20))}


def noisy(n: int = 200, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=0)
    if n_classes > 2:
        y = np.where(X[:, 0] > 0.7, 2, (y > 0) * 1)
    return X * [3.0, 100.0] - [7.0, 0.0], y


def assert_close(there: Any, here: FCGBoostClassifier) -> None:
    """The atoms and the coefficients up to rounding, all else alike."""
    np.testing.assert_array_equal(there.classes_, here.classes_)
    assert there.n_iter_ == here.n_iter_
    assert there.status_ is here.status_
    assert there.l2_ == pytest.approx(here.l2_, rel=1e-12)
    size = np.abs(here.atoms_).max()
    np.testing.assert_allclose(there.atoms_, here.atoms_, rtol=1e-5, atol=1e-7 * size)
    size = np.abs(here.atom_coef_).max(initial=1.0)
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=0, atol=1e-5 * size)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=0, atol=1e-5 * size)


def parameters_of(setting: dict[str, Any]) -> dict[str, Any]:
    return {"max_iter": 9, "random_state": 1, **setting}


@pytest.mark.covering
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_rows_on_other_machines_give_the_model_of_memory(
    setting: dict[str, Any], cuts: list[int]
) -> None:
    X, y = noisy()
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = parameters_of(setting)
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    assert_close(fit_on(make_crew(X, y, weights, cuts, 3), **parameters), here)


@pytest.mark.parametrize("setting", ["relu", "tree", "turns"])
def test_equal_rows_in_several_parts_are_one_row(setting: str) -> None:
    X, y = noisy(n_classes=3)
    X = np.round(X / [0.5, 15.0]) * [0.5, 15.0]
    assert len(np.unique(X, axis=0)) < 80
    parameters = parameters_of(SETTINGS[setting])
    here = FCGBoostClassifier(**parameters).fit(X, y)
    for cuts in CUTS.values():
        assert_close(fit_on(make_crew(X, y, np.ones(len(y)), cuts, 2), **parameters), here)


@pytest.mark.parametrize("setting", ["relu", "tree", "turns"])
def test_sparse_rows_give_the_model_of_memory(setting: str) -> None:
    X, y = noisy(n_classes=3)
    X[np.median(X, axis=0) > X] = 0.0
    X = sparse.csr_array(X)
    parameters = parameters_of(SETTINGS[setting])
    here = FCGBoostClassifier(**parameters).fit(X, y)
    there = fit_on(make_crew(X, y, np.ones(len(y)), [10, 120], 2), **parameters)
    assert_close(there, here)


@pytest.mark.parametrize("setting", ["relu", "turns"])
def test_rows_that_are_loaded_again_give_the_same_model(setting: str) -> None:
    X, y = noisy()
    parameters = parameters_of(SETTINGS[setting])
    here = FCGBoostClassifier(**parameters).fit(X, y)
    crew = make_crew(X, y, np.ones(len(y)), CUTS["empty and unequal"], 2, True, 0)
    assert_close(fit_on(crew, **parameters), here)


@pytest.mark.covering
@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_preset_on_other_machines_has_a_ridge_of_its_own(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    there = fit_on(make_crew(X, y, weights, [30, 90], 2), dictionary=name, random_state=1)
    preset = PRESETS[name]
    l2, m = preset.strength / np.sqrt(weights.sum()), float(weights.sum())
    n_steps = preset.limit * theory_steps(m)
    here = FCGBoostClassifier(name, l2=l2, max_iter=n_steps, random_state=1).fit(X, y, weights)
    assert_close(there, here)
    assert there.model_.limits is not None
    np.testing.assert_allclose(there.model_.limits.low, here.model_.limits.low, rtol=1e-12)


# Devices


@pytest.mark.extras
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_device_gives_the_model_of_numpy(setting: dict[str, Any], n_classes: int) -> None:
    pytest.importorskip("torch")
    X, y = noisy(n_classes=n_classes)
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = parameters_of(setting)
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    assert_close(FCGBoostClassifier(**parameters, device="torch").fit(X, y, weights), here)


@pytest.mark.extras
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_chooses_the_same_on_a_device(name: str) -> None:
    pytest.importorskip("torch")
    X, y = noisy(n_classes=3)
    X = np.round(X / [0.05, 1.0]) * [0.05, 1.0]
    here = FCGBoostClassifier(name, random_state=1).fit(X, y)
    there = FCGBoostClassifier(name, random_state=1, device="torch").fit(X, y)
    assert_close(there, here)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
