"""Columns on a torch device: the same suite and the same paths as NumPy's."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost.backends.torch.device import TorchDevice, find_device
from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.selection.fixed import AllCandidates, SampledCandidates
from fcgboost.solvers import GradientDescentSolver
from tests.suites.designs import CHECKS, Place, make_codes
from tests.suites.paths import assert_same_until_a_tie, fit_one, make_recipe
from tests.suites.reference import full_matrix, given_residuals, reference_best

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


class SmallDevice(TorchDevice):
    """A device that works in small blocks."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.block_entries = 64


class SingleDevice(TorchDevice):
    """A device without float64, as Apple's are; asking for it there is an error."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.has_float64 = False

    def put(self, values: Any, dtype: str = "float64") -> Any:
        assert dtype != "float64"
        return super().put(values, dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        assert dtype != "float64"
        return super().empty(n_rows, n_columns, dtype)


DEVICES = [TorchDevice, SmallDevice, SingleDevice]


def make_place(device: type[TorchDevice]) -> Place:
    return Place(
        lambda *args, **options: MemoryDesign(*args, device=device("cpu"), **options),
        lambda positive: np.where(make_codes() == positive, 1.0, -1.0),
        takes_sparse=False,
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("device", DEVICES)
def test_every_design_passes(device: type[TorchDevice], check: Callable[[Place], None]) -> None:
    check(make_place(device))


# Whole paths

DICTIONARIES: dict[str, Dictionary] = {
    "gauss": GaussDictionary(),
    "widths": GaussDictionary(width=(0.1, 10.0)),
    "linear": LinearDictionary(),
    "step": StepDictionary(),
    "stump": StepDictionary(max_features=1),
    "narrow": GaussDictionary(width=0.05, centers="box"),
    "polynomial": PolynomialDictionary(),
    "sigmoid": SigmoidDictionary(),
    "relu": ReluDictionary(),
}
SETTINGS: dict[str, dict[str, Any]] = {
    **{f"dictionary {name}": {"dictionary": value} for name, value in DICTIONARIES.items()},
    **{
        f"normalised {name}": {"dictionary": value, "normalize": True}
        for name, value in DICTIONARIES.items()
        if name != "narrow"  # many vanish beside others in float32
    },
    **{f"loss {name}": {"loss": name} for name in ("hinge", "cubed_hinge", "square")},
    **{
        f"scheme {name}": {"scheme": name}
        for name in ("original", "shrinkage", "truncation", "epsilon", "rescaled")
    },
    "solver admm": {"solver": "admm"},
    "solver gradient descent": {"solver": GradientDescentSolver(max_iter=40)},
    "sampled": {"selection": "sampled"},
    "no ridge": {"l2": 0.0, "max_iter": 8},
    "no constant": {"fit_intercept": False},
    "raw": {"standardize": False},
    "again": {"reselect": True},
    "validation": {"validation_fraction": 0.3},
    "weights": {"class_weight": "balanced"},
}


def make_data(n_classes: int = 2, m: int = 180) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(m, noise="uniform", level=0.2, random_state=1)
    if n_classes == 3:
        y = np.digitize(X[:, 1] + 0.1 * y, [0.4, 0.8])
    return X * [1.0, 50.0] + [3.0, -70.0], y


def fit(n_classes: int = 2, **parameters: Any) -> FCGBoostClassifier:
    settings = {
        "dictionary": "gauss",
        "max_iter": 14,
        "n_candidates": 150,
        "random_state": 0,
        "tol": 0.0,
    }
    return FCGBoostClassifier(**{**settings, **parameters}).fit(*make_data(n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_path_is_that_of_numpy(name: str, n_classes: int) -> None:
    expected = fit(n_classes, **SETTINGS[name]).trace_
    assert_same_until_a_tie(fit(n_classes, device="torch", **SETTINGS[name]).trace_, expected)


@pytest.mark.covering
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("selection", [AllCandidates(), SampledCandidates(40)], ids=repr)
@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("device", [SmallDevice, SingleDevice])
def test_the_path_does_not_depend_on_what_the_device_can_do(
    device: type[TorchDevice], name: str, selection: Any, normalize: bool
) -> None:
    if name == "narrow" and normalize:
        pytest.skip("Narrow atoms vanish beside others in float32.")
    X, y = make_data()
    settings = {"selection": selection, "normalize": normalize, "max_iter": 14, "l2": 1e-2}
    recipe = make_recipe(n_candidates=150, fit_intercept=True, **settings)
    found, expected = (
        fit_one(
            MemoryDesign(DICTIONARIES[name], X, np.ones(len(y)), True, device=some), [y], recipe
        )
        for some in (device("cpu"), None)
    )
    assert_same_until_a_tie(found[0], expected[0])
    assert found[1] is expected[1]


@pytest.mark.covering
@pytest.mark.parametrize("share", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_best_candidate_is_that_of_the_full_matrix(
    name: str, device: type[TorchDevice], is_stored: bool, share: float
) -> None:
    rng = np.random.default_rng(0)
    X, dictionary = rng.standard_normal((1100, 3)), DICTIONARIES[name]
    design = MemoryDesign(dictionary, X, np.ones(1100), True, device=device("cpu"))
    atoms = dictionary.candidates(design.sample(200, 0), 200, 0)
    candidates = design.candidates(atoms, reuse=is_stored)
    values = full_matrix(MemoryDesign(dictionary, X, np.ones(1100), True), atoms)
    R = rng.standard_normal((1100, 2)) * (rng.random((1100, 1)) < share)
    allowed = rng.random((len(atoms), 2)) < 0.7
    for normalize in (False, True):
        with given_residuals(design, R) as points:
            found = candidates.best(points, normalize, allowed)
        expected = reference_best(values, np.ones(1100), R, normalize, allowed)
        assert [b.index for b in found] == [b.index for b in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-9)


@pytest.mark.parametrize("name", ["gauss", "relu", "sigmoid", "linear", "polynomial"])
def test_scores_are_float32_and_the_same_twice(name: str) -> None:
    X, y = make_data()
    design = MemoryDesign(DICTIONARIES[name], X, np.ones(len(y)), True, device=TorchDevice("cpu"))
    assert design.scored_rows.inputs.dtype == torch.float32
    for selection in ("all", "sampled"):
        first, second = (fit(dictionary=name, selection=selection, device="torch") for _ in "ab")
        np.testing.assert_array_equal(second.atoms_, first.atoms_)
        np.testing.assert_array_equal(second.atom_coef_, first.atom_coef_)
        assert [s.scores for s in second.trace_] == [s.scores for s in first.trace_]


@pytest.mark.parametrize("far", [2.0**11, 2.0**17])
def test_rows_that_float32_cannot_hold_are_scored_in_float64(far: float) -> None:
    X = np.random.default_rng(0).standard_normal((5000, 2))
    X[0, 0] = far
    for standardize in (False, True):
        design = MemoryDesign(
            GaussDictionary(), X, np.ones(5000), standardize, device=TorchDevice("cpu")
        )
        is_far = not standardize
        assert (design.scored_rows.inputs.dtype == torch.float64) == is_far


# The border


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "nothing:1"])
def test_an_unknown_device_is_refused_by_its_name(device: str) -> None:
    model = FCGBoostClassifier("gauss", device=device)
    with pytest.raises(ValueError, match=rf"device='{device}' is not available.*'cpu'.*'torch'"):
        model.fit(*make_data())
    assert not [name for name in vars(model) if name.endswith("_")]


def test_torch_on_the_processor_has_two_names() -> None:
    for name in ("torch", "cpu:0"):
        device = find_device(name)
        assert isinstance(device, TorchDevice)
        assert device.device.type == "cpu"


def test_sparse_inputs_on_a_device_are_refused_with_a_way_out() -> None:
    X, y = make_data()
    with pytest.raises(ValueError, match=r"(?i)sparse.*device='torch'.*device='cpu'"):
        FCGBoostClassifier("gauss", device="torch").fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_a_fit_takes_tensors(device: str, dtype: str) -> None:
    X, y = make_data(3)
    X = X.astype(dtype)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    parameters = {"dictionary": "gauss", "max_iter": 8, "random_state": 0, "device": device}
    expected = FCGBoostClassifier(**parameters).fit(X, y, sample_weight=weights)
    given = [torch.tensor(values) for values in (X, y, weights)]
    found = FCGBoostClassifier(**parameters).fit(given[0], given[1], sample_weight=given[2])
    np.testing.assert_array_equal(found.atoms_, expected.atoms_)
    np.testing.assert_array_equal(found.atom_coef_, expected.atom_coef_)
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(given[0].numpy(), X)
    held_out = FCGBoostClassifier(**parameters).fit(
        given[0][:120], given[1][:120], X_val=given[0][120:], y_val=given[1][120:]
    )
    assert held_out.trace_[0].validation_score is not None


def test_a_model_of_a_device_is_an_ordinary_model() -> None:
    X, _ = make_data()
    model = fit(device="torch")
    assert type(model.atom_coef_) is type(model.atoms_) is np.ndarray
    expected = fit().decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-7, atol=1e-7)
    assert type(partial(model.predict, X)()) is np.ndarray


def test_a_path_goes_on_where_it_ended() -> None:
    X, y = make_data()
    parameters = {"device": "torch", "random_state": 0, "warm_start": True}
    model = FCGBoostClassifier("gauss", max_iter=5, **parameters).fit(X, y)
    model.set_params(max_iter=10).fit(X, y)
    straight = FCGBoostClassifier("gauss", max_iter=10, **parameters).fit(X, y)
    assert_same_until_a_tie(model.trace_, straight.trace_)
