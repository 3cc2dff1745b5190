"""What a step asks of a device: few operations, and the next draw while the device is busy."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, GaussDictionary, SampledCandidates
from fcgboost.backends import memory, values
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.places import Place, TorchPlace
from fcgboost.datasets import make_simulation
from fcgboost.losses import SquaredHinge
from fcgboost.solvers import newton

torch = pytest.importorskip("torch")
python_dispatch = pytest.importorskip("torch.utils._python_dispatch")
pytestmark = pytest.mark.extras

# These give another view of a tensor, or a tensor without values.
VIEWS = {"_unsafe_view", "alias", "detach", "empty", "empty_like", "empty_strided", "expand"}
VIEWS |= {"lift_fresh", "permute", "select", "slice", "squeeze", "squeeze_", "t", "transpose"}
VIEWS |= {"unbind", "unsqueeze", "view"}


def slow_gauss_sums(Z: Any, centers: Any, steepness: Any, R: Any) -> tuple[Any, Any]:
    """Do what the fused kernel does, with operations that do not count."""
    with python_dispatch._disable_current_modes():
        squares = ((Z[:, None].double() - centers.double()) ** 2).sum(2)
        G = torch.exp(-squares * steepness.double()).T
        return G @ R.double(), G @ R.double().abs()


@pytest.fixture
def _fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go the way of a GPU on the processor."""

    def find(dictionary: Any, place: Place, n_values: int, n_features: int) -> Any:
        return slow_gauss_sums if place.is_ahead else None

    for module in (values, memory):
        monkeypatch.setattr(module, "gauss_sums", find)


@contextmanager
def counted(names: list[str]) -> Iterator[None]:
    class Mode(python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), options=None):
            name = operation._schema.name.split("::")[1]
            if name not in VIEWS:
                names.append(name)
            return operation(*args, **(options or {}))

    with Mode():
        yield


def fit(device: str = "torch", n_steps: int = 20, **parameters: Any) -> FCGBoostClassifier:
    X, y = make_simulation(1500, noise="uniform", level=0.2, random_state=0)
    settings = {
        "dictionary": "gauss",
        "selection": SampledCandidates(64),
        "random_state": 0,
        **parameters,
    }
    return FCGBoostClassifier(max_iter=n_steps, device=device, **settings).fit(X, y)


@pytest.mark.usefixtures("_fused")
def test_a_step_is_few_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    per_trial: list[int] = []
    look = newton._look

    def watched_look(*args: Any, **line: Any) -> Any:
        before = len(names)
        found = look(*args, **line)
        per_trial.append(len(names) - before)
        return found

    monkeypatch.setattr(newton, "_look", watched_look)
    with counted(names):
        model = fit()
    assert model.n_iter_ == 20
    # One that makes the Gram matrix anew takes fewer or twice as many.
    assert np.median(per_trial) <= 33
    assert (len(names) - sum(per_trial)) / 20 <= 130
    np.testing.assert_array_equal(model.atoms_, fit("cpu").atoms_)


@pytest.mark.parametrize("size", [16, 64, 1000])
def test_the_next_draw_is_made_before_the_choice_is_waited_for(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fetch, draw = TorchPlace.fetch, MemoryDesign.draw

    def watched_fetch(self: TorchPlace, *arrays: Any) -> Any:
        events.append("fetch")
        return fetch(self, *arrays)

    def watched_draw(self: MemoryDesign, n: int, key: int, turn: int) -> Any:
        events.append(f"draw {n}")
        return draw(self, n, key, turn)

    expected = fit("cpu", 10, selection=SampledCandidates(size))
    with monkeypatch.context() as patch:
        patch.setattr(TorchPlace, "fetch", watched_fetch)
        patch.setattr(MemoryDesign, "draw", watched_draw)
        found = fit("torch", 10, selection=SampledCandidates(size))
    np.testing.assert_array_equal(found.atoms_, expected.atoms_)
    # That of the first step, and one in the wait of every step; and larger ones, where atoms came
    # that were there already.
    draws = [i for i, event in enumerate(events) if event == f"draw {size}"]
    assert len(draws) == 1 + 10
    assert all(events[i + 1] == "fetch" for i in draws[1:])


def test_nothing_is_drawn_ahead_where_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    draws: Counter[int] = Counter()
    draw = MemoryDesign.draw

    def watched_draw(self: MemoryDesign, n: int, key: int, turn: int) -> Any:
        draws[n] += 1
        return draw(self, n, key, turn)

    monkeypatch.setattr(MemoryDesign, "draw", watched_draw)
    fit("cpu", 10)
    assert draws[64] == 10


def test_a_draw_made_ahead_is_given_once_and_only_to_who_asks_for_it() -> None:
    X = np.random.default_rng(0).standard_normal((300, 3))
    here, there = (
        MemoryDesign(GaussDictionary(), X, np.ones(300), True, place=place)
        for place in (None, TorchPlace("cpu"))
    )
    for design in (here, there):
        design.expect(20, 3, 7)
        design.use_the_wait()
        design.use_the_wait()
    made = list(there._expected.values())
    assert not here._expected
    assert there.sample(20, 3, 8) is not made[0]
    assert there.with_dictionary(GaussDictionary()).sample(20, 3, 7) is not made[0]
    assert there.sample(20, 3, 7) is made[0]
    assert there.sample(20, 3, 7) is not made[0]
    for draw in ((20, 3, 7), (20, 3, 8), (21, 3, 7)):
        np.testing.assert_array_equal(there.sample(*draw).rows, here.sample(*draw).rows)


def test_single_precision_inputs_are_those_of_the_host() -> None:
    X = np.random.default_rng(0).standard_normal((700, 5)) * [1.0, 20.0, 1e-3, 1.0, 3.0] + 7.0
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 700)
    here, there = (
        MemoryDesign(GaussDictionary(), X, weights, True, place=place).screen_inputs
        for place in (None, TorchPlace("cpu"))
    )
    assert there[0].dtype == torch.float32
    assert there[0].is_contiguous()
    np.testing.assert_array_equal(there[0].numpy(), here[0])
    np.testing.assert_allclose(there[1].numpy(), here[1], rtol=1e-14)


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_slopes_of_the_last_point_are_not_computed_again(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    gradient = SquaredHinge.gradient

    def watched(self: SquaredHinge, y: Any, f: Any) -> Any:
        calls.append(len(y))
        return gradient(self, y, f)

    monkeypatch.setattr(SquaredHinge, "gradient", watched)
    fit(device, 10)
    # At zero, the unit of residuals, and at the constant that every path starts from.
    assert len(calls) == 2
