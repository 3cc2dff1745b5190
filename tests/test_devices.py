"""Columns on a torch device: the same suite, the same paths, and hardly ever a wait."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from suites.designs import CHECKS, Backend
from suites.reference import full_matrix, reference_best

from fcgboost import FCGBoostClassifier
from fcgboost.backends import candidates as candidates_module
from fcgboost.backends import columns as columns_module
from fcgboost.backends import memory as memory_module
from fcgboost.backends import values as values_module
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.places import Place, TorchPlace, place_for
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.solvers import GradientDescentSolver, newton
from fcgboost.trace import Trace
from fcgboost.training import fit as fit_module

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras


class SinglePlace(TorchPlace):
    """A device without float64, as Apple's are; asking for it there is an error."""

    has_float64 = False

    def put(self, values: Any, dtype: str = "float64") -> Any:
        assert dtype != "float64"
        return super().put(values, dtype)

    def empty(self, n_rows: int, n_columns: int, dtype: str = "float64") -> Any:
        assert dtype != "float64"
        return super().empty(n_rows, n_columns, dtype)


def make_backend(place: type[TorchPlace]) -> Backend:
    return Backend(
        lambda *args, **options: MemoryDesign(*args, place=place("cpu"), **options),
        lambda vector: torch.tensor(vector),
        lambda tensor: tensor.numpy(),
        takes_sparse=False,
    )


BACKENDS = {"torch": make_backend(TorchPlace), "single": make_backend(SinglePlace)}


def shrink_everything(patch: pytest.MonkeyPatch) -> None:
    """Leave hardly any room: what was not foreseen must be done again."""
    patch.setattr("fcgboost.backends.blocks.BLOCK", 16)
    patch.setattr(values_module, "_AT_ONCE_AHEAD", 7)
    patch.setattr(candidates_module, "_SHORTLIST", 2)
    patch.setattr(candidates_module, "_ROWS", 13)
    patch.setattr(columns_module, "_LEAST_ROOM", 2)
    patch.setattr(columns_module, "_COLUMNS_AT_FIRST", 3)
    patch.setattr(memory_module, "_SPARE_ROWS", 0)


@pytest.mark.parametrize("is_small", [False, True], ids=["usual", "small"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", BACKENDS)
def test_every_design_passes(
    name: str, check: Callable[[Backend], None], is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_small:
        shrink_everything(monkeypatch)
    check(BACKENDS[name])


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
    "relu-norm": ReluDictionary(scaling="norm"),
    "gauss-max": GaussDictionary(scaling="max"),
}
SETTINGS: dict[str, dict[str, Any]] = {
    **{f"dictionary {name}": {"dictionary": value} for name, value in DICTIONARIES.items()},
    **{
        f"normalised {name}": {"dictionary": value, "normalize": True}
        for name, value in DICTIONARIES.items()
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


def assert_same_path(found: Trace, expected: Trace) -> None:
    assert len(found) == len(expected) > 0
    assert found.endings == expected.endings
    np.testing.assert_array_equal(found.atoms, expected.atoms)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.chosen, other.chosen)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(one.objectives, other.objectives, rtol=1e-9)
        size = max(1.0, np.abs(other.coef).max(initial=0.0))
        np.testing.assert_allclose(one.coef, other.coef, rtol=0.0, atol=1e-8 * size)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_path_is_that_of_numpy(name: str, n_classes: int) -> None:
    expected = fit(n_classes, **SETTINGS[name]).trace_
    assert_same_path(fit(n_classes, device="torch", **SETTINGS[name]).trace_, expected)


@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("normalize", [False, True])
def test_the_path_is_the_same_if_nothing_fits_its_room(
    name: str, normalize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"dictionary": DICTIONARIES[name], "normalize": normalize}
    expected = fit(3, **parameters).trace_
    shrink_everything(monkeypatch)
    assert_same_path(fit(3, device="torch", **parameters).trace_, expected)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("selection", ["all", "sampled"])
@pytest.mark.parametrize("name", DICTIONARIES)
def test_a_device_without_float64_gives_the_same_path(
    name: str, selection: str, normalize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {
        "dictionary": DICTIONARIES[name],
        "normalize": normalize,
        "selection": selection,
    }
    expected = fit(**parameters).trace_
    made: list[Place] = []

    def place(device: str) -> Place:
        made.append(SinglePlace("cpu"))
        return made[-1]

    monkeypatch.setattr(fit_module, "place_for", place)
    assert_same_path(fit(device="mps", **parameters).trace_, expected)
    assert made


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("place", [TorchPlace, SinglePlace])
@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_best_candidate_is_that_of_the_full_matrix(
    name: str, place: type[TorchPlace], store: bool, share: float
) -> None:
    rng = np.random.default_rng(0)
    X, dictionary = rng.standard_normal((1100, 3)), DICTIONARIES[name]
    design = MemoryDesign(dictionary, X, np.ones(1100), True, place=place("cpu"))
    atoms = dictionary.candidates(design.sample(200, 0), 200, 0)
    candidates = design.candidates(atoms, reuse=True, store=store)
    host = MemoryDesign(dictionary, X, np.ones(1100), True)
    values = full_matrix(host, atoms)
    for divisor in ("none", "norm", "max"):
        for _ in range(3):  # room is made for the rows of the last time
            R = rng.standard_normal((1100, 2)) * (rng.random((1100, 1)) < share)
            allowed = rng.random((len(atoms), 2)) < 0.7
            found = candidates.best(torch.tensor(R), divisor, allowed)
            expected = reference_best(values, np.ones(1100), R, divisor, allowed)
            assert [b.index for b in found] == [b.index for b in expected]
            for one, other in zip(found, expected, strict=True):
                assert one.score == pytest.approx(other.score, rel=1e-9)


# Waiting

#: What makes Python wait for a device, beside a transfer.
WAITING = ["item", "cpu", "numpy", "tolist", "nonzero", "__array__"]
WAITING += ["__bool__", "__float__", "__int__", "__index__"]


@contextmanager
def watched() -> Iterator[tuple[list[list[int]], Counter[str]]]:
    """Collect the sizes of what every fetch brings, and all other waits."""
    fetched: list[list[int]] = []
    waits: Counter[str] = Counter()
    is_inside = [False]
    fetch, getitem = TorchPlace.fetch, torch.Tensor.__getitem__

    def watched_fetch(self: TorchPlace, *arrays: Any) -> Any:
        is_inside[0] = True
        try:
            found = fetch(self, *arrays)
        finally:
            is_inside[0] = False
        fetched.append([array.size for array in found])
        return found

    def watch(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            if not is_inside[0]:
                waits[name] += 1
            return original(*args, **options)

        return counted

    def watched_getitem(self: Any, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, torch.Tensor) and part.dtype == torch.bool for part in parts):
            waits["mask"] += 1  # how many rows a mask leaves is only known to the device
        return getitem(self, index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TorchPlace, "fetch", watched_fetch)
        for name in WAITING:
            patch.setattr(torch.Tensor, name, watch(name, getattr(torch.Tensor, name)))
        patch.setattr(torch, "nonzero", watch("torch.nonzero", torch.nonzero))
        patch.setattr(torch.Tensor, "__getitem__", watched_getitem)
        yield fetched, waits


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("selection", ["all", "sampled"])
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "sigmoid", "polynomial"])
def test_a_step_waits_once_for_its_choice_and_once_for_every_point_of_the_solver(
    dictionary: str, selection: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"selection": selection, "n_candidates": 400, "max_iter": 10}
    X, y = make_data(n_classes, m=700)
    model = FCGBoostClassifier(dictionary, device="torch", random_state=0, **parameters)
    looks: list[int] = []
    look = newton._look
    monkeypatch.setattr(
        newton, "_look", lambda *args, **line: looks.append(len(args)) or look(*args, **line)
    )
    with watched() as (fetched, waits):
        model.fit(X, y)
    trace, n_outputs = model.trace_, 1 if n_classes == 2 else n_classes
    n_solves = sum(int((step.chosen >= 0).sum()) for step in trace)
    n_trials = looks.count(3)  # the first look of a solve asks for more
    assert n_trials <= 1.2 * sum(step.solver_iterations for step in trace)
    n_points = n_solves + n_trials
    # Each output starts with the sums of its weights, its labels' weights, its objective, and the
    # size of its first residual.
    assert len(fetched) <= 4 * n_outputs + len(trace) + n_points
    assert len(fetched) >= len(trace) + n_points
    assert not waits
    k = len(trace) + 1
    assert max(sum(sizes) for sizes in fetched) <= k * k + 6 * k + 10
    assert k * k + 6 * k + 10 < 400


def test_normalised_atoms_are_measured_without_another_wait() -> None:
    X, y = make_data(m=700)
    counts = []
    for normalize in (False, True):
        model = FCGBoostClassifier(
            "relu", device="torch", normalize=normalize, max_iter=10, random_state=0
        )
        with watched() as (fetched, waits):
            model.fit(X, y)
        n_points = sum(step.solver_iterations for step in model.trace_) + len(model.trace_)
        counts.append(len(fetched) - len(model.trace_) - n_points)
        assert not waits
    assert counts[1] <= counts[0] + 1  # the mean and the largest norm of the rows


def test_every_fetch_is_counted() -> None:
    place = TorchPlace("cpu")
    one, two, three = place.fetch(torch.arange(4).reshape(2, 2), torch.tensor(2.5), 7.0)
    assert place.n_fetches == 1
    np.testing.assert_array_equal(one, [[0.0, 1.0], [2.0, 3.0]])
    assert one.dtype == np.float64
    assert (float(two), float(three)) == (2.5, 7.0)
    assert two.shape == three.shape == ()


@pytest.mark.parametrize("room", [None, 1, 3, 4, 9])
def test_positions_are_found_in_order_and_counted(room: int | None) -> None:
    mask = np.array([False, True, True, False, True, False, False, True, False])
    positions, count = TorchPlace("cpu").find(torch.tensor(mask), room)
    expected = np.flatnonzero(mask)
    assert int(count) == 4
    if room is not None:
        padded = np.zeros(room, dtype=int)
        padded[: min(room, 4)] = expected[:room]
        expected = padded
    np.testing.assert_array_equal(positions.numpy(), expected)


# The border


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "nothing:1"])
def test_an_unknown_device_is_refused_by_its_name(device: str) -> None:
    model = FCGBoostClassifier("gauss", device=device)
    with pytest.raises(ValueError, match=rf"device='{device}' is not there.*'cpu'.*'torch'"):
        model.fit(*make_data())
    assert not [name for name in vars(model) if name.endswith("_")]


def test_torch_on_the_processor_has_two_names() -> None:
    for name in ("torch", "cpu:0"):
        place = place_for(name)
        assert isinstance(place, TorchPlace)
        assert place.device.type == "cpu"


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
    assert_same_path(model.trace_, straight.trace_)
