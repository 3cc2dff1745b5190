"""Inputs and parameters at the ends of what floating point holds."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context

from fcgboost import (
    AllCandidates,
    FCGBoostClassifier,
    GaussDictionary,
    ReluDictionary,
    SampledCandidates,
)
from fcgboost.designs import scoring
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary, Sample
from fcgboost.selection.base import Request
from fcgboost.stopping import Status
from tests.suites.paths import assert_same_until_a_tie
from tests.suites.reference import given_residuals


def curved(n_samples: int = 300, n_features: int = 2) -> tuple[Any, Any]:
    X = np.random.default_rng(1).standard_normal((n_samples, n_features))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(int)


def fit(dictionary: Any, X: Any, y: Any, **parameters: Any) -> FCGBoostClassifier:
    model = FCGBoostClassifier(dictionary, max_iter=8, random_state=0, **parameters)
    return model.fit(X, y)


def fit_within(memory: float, dictionary: Any, X: Any, y: Any, **parameters: Any) -> Any:
    """Fit with so many MiB for the values of all candidates."""
    with config_context(working_memory=memory):
        return fit(dictionary, X, y, selection=AllCandidates(), **parameters)


@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1e10, 1e20])
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "sigmoid", "polynomial"])
def test_storage_does_not_change_the_model_of_inputs_of_any_size(dictionary: str, scale: float):
    X, y = curved()
    stored, fresh = (
        fit_within(memory, dictionary, scale * X, y, standardize=False) for memory in (1024, 1e-6)
    )
    # Scores of ReLU atoms of tiny inputs are below what a residual of size one leaves to rounding.
    assert stored.n_atoms_ > 0 or scale < 1e-20
    np.testing.assert_array_equal(stored.atoms_, fresh.atoms_)


@pytest.mark.parametrize(
    ("width", "status"),
    # Atoms that are one everywhere leave nothing that the constant does not fit.
    [(1e-21, Status.STEP_LIMIT), (1e-12, Status.STEP_LIMIT), (1e12, Status.ZERO_SCORE)],
)
def test_widths_that_float32_does_not_hold_still_give_a_model(width: float, status: Status):
    X, y = curved()
    assert fit(GaussDictionary(width=width), X, y).status_ is status


@pytest.mark.parametrize("width", [1e-2, 0.1])
def test_narrow_atoms_are_chosen_alike_in_blocks_of_any_size(
    width: float, monkeypatch: pytest.MonkeyPatch
):
    X, y = curved(400, 3)
    atoms = []
    for at_once in (16, 256):
        monkeypatch.setattr(scoring, "_AT_ONCE", at_once)
        model = fit_within(1e-6, GaussDictionary(width=width), X, y)
        atoms.append(model.atoms_)
    np.testing.assert_array_equal(*atoms)


@pytest.mark.extras
@pytest.mark.parametrize("width", [1e-4, 1e-3, 1e-2, 1.0])
def test_a_device_chooses_atoms_of_any_width_as_the_processor_does_but_for_ties(width: float):
    pytest.importorskip("torch")
    X, y = curved(400, 3)
    # Atoms that see only their own centre have equal scores, which rounding tells apart.
    here, there = (
        fit(GaussDictionary(width=width), X, y, device=device) for device in ("cpu", "torch")
    )
    assert_same_until_a_tie(there.trace_, here.trace_)
    assert len(there.trace_) == len(here.trace_)


@pytest.mark.extras
def test_coarse_products_are_not_trusted():
    torch = pytest.importorskip("torch")
    X, y = curved()
    expected = fit("relu", X, y).atoms_
    torch.set_float32_matmul_precision("medium")
    try:
        model = fit("relu", X, y, device="torch")
    finally:
        torch.set_float32_matmul_precision("highest")
    np.testing.assert_array_equal(model.atoms_, expected)


@pytest.mark.parametrize("weight", [1e-39, 1e39])
def test_equal_weights_of_any_size_are_one_weight(weight: float):
    X, y = curved()
    settings = {"normalize": True, "l2": 1e-3, "selection": "all"}
    one = fit(ReluDictionary(), X, y, **settings)
    other = FCGBoostClassifier(ReluDictionary(), max_iter=8, random_state=0, **settings)
    with pytest.warns(UserWarning, match="sum to 3e-37") if weight < 1.0 else nullcontext():
        other.fit(X, y, sample_weight=np.full(len(y), weight))
    np.testing.assert_allclose(one.atoms_, other.atoms_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("is_stored", [True, False])
def test_scores_of_tiny_values_are_divided_by_their_own_size(is_stored: bool):
    X, _ = curved()
    X = 1e-23 * X
    dictionary, R = ReluDictionary(), np.random.default_rng(0).standard_normal((len(X), 1))
    design = MemoryDesign(dictionary, X, np.ones(len(X)), standardize=False)
    atoms = dictionary.candidates(design.sample(200, 3), 200, 3)
    values = dictionary.evaluate(X, atoms, np.ones(2))
    scores = np.abs(values.T @ R[:, 0]) / np.sqrt((values**2).mean(axis=0))
    candidates = design.candidates(atoms, reuse=is_stored)
    with given_residuals(design, R) as points:
        (best,) = candidates.best(points, True, np.ones((len(atoms), 1), dtype=bool))
    assert best is not None
    assert best.index == int(np.nanargmax(np.where(np.isfinite(scores), scores, np.nan)))


class Coordinates(Dictionary):
    """Atoms that are columns of X, given without a copy."""

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        return np.arange(sample.n_features, dtype=float)[:, None]

    def evaluate(self, X: Any, atoms: Any, scale: Any) -> Any:
        first = int(atoms[0, 0])
        return X[:, first : first + len(atoms)]


@pytest.mark.parametrize("normalize", [False, True])
def test_a_fit_does_not_write_on_the_inputs(normalize: bool):
    X, y = curved(200, 4)
    before = X.copy()
    fit(Coordinates(), X, y, normalize=normalize, selection=AllCandidates())
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("place", [1e3, 1e12])
def test_a_constant_column_far_away_changes_no_choice(place: float):
    X, y = curved(300, 3)
    far = np.column_stack([X, np.full(len(X), place)])
    plain, found = (fit(GaussDictionary(width=1.0), rows, y) for rows in (X, far))
    np.testing.assert_allclose(found.atoms_[:, [0, 1, 2, 4]], plain.atoms_, rtol=1e-12)


def test_small_samples_reach_every_row():
    X, _ = curved(50, 2)
    design = MemoryDesign(GaussDictionary(), X, np.ones(len(X)), standardize=True)
    choose = SampledCandidates(size=1).chooser(design, 50, key=5)
    with given_residuals(design, np.ones((len(X), 1))) as points:
        chosen = [choose(Request(k, points, [set()], "none", [])) for k in range(1, 1001)]
    centers = np.vstack([choice.atom[:, :2] for (choice,) in chosen])
    _, counts = np.unique(centers, axis=0, return_counts=True)
    assert len(counts) == len(X)
    assert counts.std() / counts.mean() < 0.35


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e12])
@pytest.mark.parametrize("dictionary", ["gauss", "polynomial", "relu", "sigmoid"])
def test_sparse_rows_far_from_zero_have_the_model_of_dense_ones(dictionary: str, offset: float):
    X, y = curved(300, 4)
    X[:, 2:] *= np.random.default_rng(0).random((300, 2)) < 0.2
    X[:, :2] += offset
    dense, other = fit(dictionary, X, y), fit(dictionary, sparse.csr_array(X), y)
    expected = dense.decision_function(X)
    is_clear = np.abs(expected) > 0.01  # sums of inner products are rounded in another order
    assert is_clear.mean() > 0.9
    for model in (dense, other):
        for rows in (X, sparse.csr_array(X)):
            np.testing.assert_allclose(model.decision_function(rows), expected, 2e-3, 5e-3)
            np.testing.assert_array_equal(model.predict(rows)[is_clear], dense.predict(X)[is_clear])
