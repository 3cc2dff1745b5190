"""Learned atoms, trees, unions and presets: the same model on devices.

Atoms agree up to rounding: residuals and sums are made in another order there, and the improvement
of an atom goes on from them.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.dictionaries import (
    LinearDictionary,
    SigmoidDictionary,
)
from fcgboost.training.presets import PRESETS
from tests.suites.places import LEARNED, noisy

SETTINGS: dict[str, dict[str, Any]] = {
    **LEARNED,
    "sigmoid": {"dictionary": SigmoidDictionary(), "selection": "learned"},
    # Two features have two linear atoms; what comes after them is rounding.
    "linear": {"dictionary": LinearDictionary(), "selection": "learned", "max_iter": 2},
    "no constant": {"dictionary": "relu", "selection": "learned", "fit_intercept": False},
    "set aside": {"dictionary": "tree", "validation_fraction": 0.2},
    "balanced": {"dictionary": "relu", "selection": "learned", "class_weight": "balanced"},
}


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


@pytest.mark.extras
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_a_device_gives_the_model_of_numpy(setting: dict[str, Any], n_classes: int) -> None:
    pytest.importorskip("torch")
    X, y = noisy(200, n_classes)
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = parameters_of(setting)
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    assert_close(FCGBoostClassifier(**parameters, device="torch").fit(X, y, weights), here)


@pytest.mark.extras
@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error", "poisson"])
@pytest.mark.parametrize("dictionary", ["auto", "compact", "tree"])
def test_a_device_gives_the_regressor_of_numpy(loss: str, dictionary: str) -> None:
    torch = pytest.importorskip("torch")
    X, y = make_friedman1(200, random_state=0)
    y = np.round(y) if loss == "poisson" else 1e3 + y
    parameters = {"loss": loss, "max_iter": 6, "cv": 2, "random_state": 0}
    here = FCGBoostRegressor(dictionary, **parameters).fit(X, y)
    there = FCGBoostRegressor(dictionary, **parameters, device="torch")
    there.fit(torch.tensor(X), torch.tensor(y))
    assert [member.l2 for member in there.members_] == [member.l2 for member in here.members_]
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=0, atol=1e-9 * np.std(y))
    predicted = there.predict(torch.tensor(X, dtype=torch.float32))
    assert predicted.dtype is torch.float32
    np.testing.assert_allclose(predicted.numpy(), here.predict(X), rtol=1e-5)


@pytest.mark.extras
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_chooses_the_same_on_a_device(name: str) -> None:
    pytest.importorskip("torch")
    X, y = noisy(200, n_classes=3)
    X = np.round(X / [0.05, 1.0]) * [0.05, 1.0]
    for max_iter in (30, "auto"):
        parameters = {"max_iter": max_iter, "random_state": 1}
        here = FCGBoostClassifier(name, **parameters).fit(X, y)
        there = FCGBoostClassifier(name, **parameters, device="torch").fit(X, y)
        choices = [
            [(member.l2, member.weight, member.status) for member in model.members_]
            for model in (there, here)
        ]
        if max_iter == 30 or name != "auto":
            assert choices[0] == choices[1]
        if max_iter == 30 and name != "auto":
            assert_close(there, here)
        # On a longer path rounding tips a search at last.
        assert np.mean(there.predict(X) == here.predict(X)) >= 0.98
