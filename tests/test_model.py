"""The frozen result: a sum of atoms, written out."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import sparse

from fcgboost import model as model_module
from fcgboost.dictionaries import GaussDictionary
from fcgboost.model import Model


def make_model() -> Model:
    rng = np.random.default_rng(0)
    atoms = np.column_stack([rng.standard_normal((6, 3)), rng.uniform(0.5, 2.0, 6)])
    coef, intercept = rng.standard_normal((2, 6)), np.array([0.3, -0.2])
    scale = np.array([1.0, 2.0, 0.5])
    return Model(GaussDictionary(), atoms, coef, intercept, scale, np.arange(6))


def naive_decision(model: Model, X: np.ndarray) -> np.ndarray:
    values = np.empty((len(X), 2))
    for i, x in enumerate(X):
        for c in range(2):
            values[i, c] = model.intercept[c] + sum(
                u * np.exp(-np.sum(((x - row[:3]) / model.scale) ** 2) / (2 * row[3] ** 2))
                for u, row in zip(model.coef[c], model.atoms, strict=True)
            )
    return values


@pytest.mark.parametrize("block_entries", [1, 17, 1 << 20])
def test_the_decision_is_the_sum_of_the_atoms(
    block_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_module, "_BLOCK_ENTRIES", block_entries)
    model, X = make_model(), np.random.default_rng(1).standard_normal((25, 3))
    expected = naive_decision(model, X)
    np.testing.assert_allclose(model.decision(X), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.decision(sparse.csr_array(X)), expected, atol=1e-12)
    np.testing.assert_allclose(model.decision(X.astype(np.float32)), expected, atol=1e-5)
    np.testing.assert_allclose(model.columns(X) @ model.coef.T + model.intercept, expected)


def test_no_rows_and_no_atoms_are_no_error() -> None:
    model = make_model()
    assert model.decision(np.empty((0, 3))).shape == (0, 2)
    empty = dataclasses.replace(model, atoms=model.atoms[:0], coef=model.coef[:, :0])
    assert empty.n_atoms == 0
    np.testing.assert_array_equal(empty.decision(np.ones((4, 3))), np.tile([0.3, -0.2], (4, 1)))


def test_a_model_is_frozen_and_can_be_pickled() -> None:
    model, X = make_model(), np.ones((2, 3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.intercept = np.zeros(2)  # type: ignore[misc]
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision(X), model.decision(X))
