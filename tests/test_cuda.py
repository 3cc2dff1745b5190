"""A GPU chooses what the processor chooses. Skipped where there is none."""

from typing import Any

import numpy as np
import pytest

from fcgboost import (
    AllCandidates,
    FCGBoostClassifier,
    GaussDictionary,
    ReluDictionary,
    SampledCandidates,
    TreeDictionary,
)
from fcgboost.datasets import make_simulation
from fcgboost.designs import views
from fcgboost.designs.devices import TorchDevice

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
]
SELECTIONS = [AllCandidates(True), AllCandidates(False), SampledCandidates(100)]


def fit_on(device: str, X: Any, y: Any, **parameters: Any) -> FCGBoostClassifier:
    settings = {"dictionary": "gauss", "max_iter": 40, "random_state": 0, **parameters}
    model = FCGBoostClassifier(device=device, **settings)
    return model.fit(X, y)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "sigmoid", "polynomial"])
def test_a_gpu_gives_the_model_of_the_processor(dictionary: str, selection: Any, normalize: bool):
    X, y = make_simulation(1500, random_state=0)
    settings = {"dictionary": dictionary, "selection": selection, "normalize": normalize}
    here, there = (fit_on(device, X, y, **settings) for device in ("cpu", "cuda"))
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 8, 9, 28, 63])
@pytest.mark.parametrize("dictionary", ["gauss", "relu"])
def test_fused_passes_choose_as_the_processor_does(
    dictionary: str, n_features: int, monkeypatch: pytest.MonkeyPatch
):
    calls = []
    fused_sums = views.View.fused_sums
    monkeypatch.setattr(views, "_WORTH_FUSING", 0)
    monkeypatch.setattr(
        views.View, "fused_sums", lambda *args: calls.append(len(args[2])) or fused_sums(*args)
    )
    X = np.random.default_rng(0).standard_normal((1500, n_features))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * X[:, -1] > 0.0, 1, 0)
    settings = {"dictionary": dictionary, "selection": AllCandidates(False)}
    here, there = (fit_on(device, X, y, **settings) for device in ("cpu", "cuda"))
    np.testing.assert_array_equal(there.atoms_, here.atoms_)
    # Rows without a residual are left out.
    assert len(calls) == 40
    assert (min(calls) < 1500) == (n_features <= (5 if dictionary == "gauss" else 28))


@pytest.mark.parametrize("n_rows", [1, 700, 20_000])
@pytest.mark.parametrize("n_features", [1, 3, 7, 8, 20, 63])
@pytest.mark.parametrize("dictionary", [GaussDictionary(), ReluDictionary()], ids=repr)
def test_fused_sums_are_those_of_the_values(dictionary: Any, n_features: int, n_rows: int):
    pytest.importorskip("triton")
    from fcgboost.designs import triton_scores

    generator = torch.Generator("cuda").manual_seed(0)
    Z, atoms, W = (
        torch.randn(shape, generator=generator, device="cuda")
        for shape in ((n_rows, n_features), (77, n_features + 1), (n_rows, 2))
    )
    atoms[:, -1] = 0.5 + atoms[:, -1].abs()
    is_gauss = isinstance(dictionary, GaussDictionary)
    found = (triton_scores.gauss_sums if is_gauss else triton_scores.ramp_sums)(Z, atoms, W)
    ones = torch.ones(n_features, device="cuda", dtype=torch.float64)
    expected = dictionary.evaluate(Z.double(), atoms.double(), ones).T @ W.double()
    assert found.dtype == torch.float64
    slack = 1e-5 * n_features * W.double().abs().sum(0)
    assert ((found - expected).abs() <= slack).all()


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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_default_grows_the_trees_of_the_processor(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((12_000, 4)), np.eye(4)[rng.integers(0, 4, 12_000)]])
    X[rng.random(12_000) < 0.1, 1] = np.nan
    side = np.sin(2.0 * X[:, 0]) + X[:, 2] * X[:, 4] + np.isnan(X[:, 1])
    y = (side + 0.5 * rng.standard_normal(12_000) > 0.3) + (n_classes == 3) * (X[:, 3] > 1.0)
    here, there, again = (
        FCGBoostClassifier(device=device, random_state=0).fit(X, y)
        for device in ("cpu", "cuda", "cuda")
    )
    assert here.model_.dictionary.corrects_leaves
    assert (there.l2_, there.n_iter_) == (here.l2_, here.n_iter_)
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(again.predict_proba(X), there.predict_proba(X))


@pytest.mark.parametrize("n_codes", [30, 60, 150, 255])
def test_categories_are_split_on_a_gpu_as_on_the_processor(n_codes: int) -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, n_codes, 3000), rng.standard_normal(3000)]).astype(float)
    X[rng.random(3000) < 0.1, 0] = np.nan
    y = (np.sin(7.0 * np.nan_to_num(X[:, 0])) + X[:, 1] > 0.0).astype(int)
    trees = TreeDictionary(
        30, min_leaf=2, max_leaf_nodes=40, corrects_leaves=True, categorical_features=[0]
    )
    here, there = (
        FCGBoostClassifier(trees, l2=1e-3, max_iter=6, device=device, random_state=0).fit(X, y)
        for device in ("cpu", "cuda")
    )
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
