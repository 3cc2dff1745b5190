"""A GPU chooses what the processor chooses, up to ties. Skipped where there is none."""

from typing import Any

import numpy as np
import pytest

from fcgboost import (
    AllCandidates,
    FCGBoostClassifier,
    SampledCandidates,
)
from fcgboost.backends.torch.device import TorchDevice
from fcgboost.datasets import make_simulation
from tests.suites.paths import assert_same_until_a_tie

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]
SELECTIONS = [AllCandidates(), SampledCandidates(100)]
#: Of the objectives after a tie was decided otherwise.
MAX_GAP = 1e-4


def fit_on(device: str, X: Any, y: Any, **parameters: Any) -> FCGBoostClassifier:
    settings = {"dictionary": "gauss", "max_iter": 40, "random_state": 0, **parameters}
    model = FCGBoostClassifier(device=device, **settings)
    return model.fit(X, y)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "sigmoid", "polynomial"])
def test_a_gpu_gives_the_path_of_the_processor_up_to_a_tie(
    dictionary: str, selection: Any, normalize: bool
):
    X, y = make_simulation(1500, random_state=0)
    settings = {"dictionary": dictionary, "selection": selection, "normalize": normalize}
    here, there, again = (fit_on(device, X, y, **settings) for device in ("cpu", "cuda", "cuda"))
    assert_same_until_a_tie(there.trace_, here.trace_)
    # A tie changes what enters later, and hardly how well it fits.
    np.testing.assert_allclose(
        there.trace_[-1].objectives, here.trace_[-1].objectives, rtol=MAX_GAP
    )
    np.testing.assert_array_equal(again.atoms_, there.atoms_)
    np.testing.assert_array_equal(again.atom_coef_, there.atom_coef_)


@pytest.mark.parametrize("n_features", [1, 3, 8, 28])
@pytest.mark.parametrize("dictionary", ["gauss", "relu"])
def test_a_gpu_gives_the_same_model_twice(dictionary: str, n_features: int):
    X = np.random.default_rng(0).standard_normal((20_000, n_features))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * X[:, -1] > 0.0, 1, 0)
    settings = {"dictionary": dictionary, "selection": "all", "n_candidates": 10_000}
    first, second = (fit_on("cuda", X, y, **settings) for _ in range(2))
    np.testing.assert_array_equal(second.atoms_, first.atoms_)
    np.testing.assert_array_equal(second.atom_coef_, first.atom_coef_)


def test_tensors_on_a_gpu_are_answered_there():
    X, y = make_simulation(500, random_state=0)
    rows = torch.tensor(X, device="cuda")
    model = fit_on("cuda", rows, torch.tensor(y, device="cuda"))
    assert model.predict(rows).device == model.predict_proba(rows).device == rows.device
    np.testing.assert_array_equal(model.predict(rows).cpu().numpy(), model.predict(X))


# torch says so whenever the mode is switched on.
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_nothing_but_a_fetch_waits():
    X, y = make_simulation(3000, random_state=0)
    settings = {"dictionary": "relu", "selection": SampledCandidates(100)}
    fit_on("cuda", X, y, **settings)  # what is loaded at the first use may wait
    plain = TorchDevice.fetch

    def allowed(self: TorchDevice, *arrays: Any) -> Any:
        torch.cuda.set_sync_debug_mode("default")
        try:
            return plain(self, *arrays)
        finally:
            torch.cuda.set_sync_debug_mode("error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TorchDevice, "fetch", allowed)
        try:
            model = fit_on("cuda", X, y, **settings)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert model.n_iter_ == 40


@pytest.mark.parametrize("name", ["auto", "compact"])
def test_presets_learn_equally_good_models_on_a_gpu(name: str):
    X, y = make_simulation(1500, noise="uniform", level=0.1, random_state=0)
    settings = {"dictionary": name, "max_iter": "auto"}
    here, there = (fit_on(device, X, y, **settings) for device in ("cpu", "cuda"))
    # Rounding may tip a search, and then another ridge is chosen.
    X_test, y_test = make_simulation(2000, random_state=1)
    assert there.score(X_test, y_test) == pytest.approx(here.score(X_test, y_test), abs=0.02)
