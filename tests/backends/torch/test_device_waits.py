"""How often a step waits for a device, counted, and what it asks of it."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest

from fcgboost.backends.torch.device import TorchDevice
from fcgboost.datasets import make_simulation
from fcgboost.designs.base import Point
from fcgboost.designs.columns import MemoryColumns
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.greedy.path import Trace
from fcgboost.losses import SquaredHinge
from fcgboost.selection.base import Selection
from fcgboost.selection.fixed import AllCandidates, SampledCandidates
from tests.suites.paths import fit_one, make_recipe

torch = pytest.importorskip("torch")
python_dispatch = pytest.importorskip("torch.utils._python_dispatch")
pytestmark = pytest.mark.extras

X, LABELS = make_simulation(700, noise="uniform", level=0.2, random_state=0)
Y = [LABELS.astype(float), np.where(X[:, 0] > 0.4, 1.0, -1.0), np.where(X[:, 1] > 0.6, 1.0, -1.0)]

#: What makes Python wait for a device, beside a fetch.
WAITING = ["item", "cpu", "numpy", "tolist", "nonzero", "__array__"]
WAITING += ["__bool__", "__float__", "__int__", "__index__"]
# These give another view of a tensor, or a tensor without values.
VIEWS = {"_unsafe_view", "alias", "detach", "empty", "empty_like", "empty_strided", "expand"}
VIEWS |= {"lift_fresh", "permute", "select", "slice", "squeeze", "squeeze_", "t", "transpose"}
VIEWS |= {"unbind", "unsqueeze", "view"}


def make_design(dictionary: Dictionary) -> MemoryDesign:
    return MemoryDesign(dictionary, X, np.ones(len(X)), True, device=TorchDevice("cpu"))


@contextmanager
def counted_waits() -> Iterator[Counter[str]]:
    """Count fetches, looks, Gram matrices, and all other waits by their names."""
    waits: Counter[str] = Counter()
    is_inside = [False]
    fetch, getitem = TorchDevice.fetch, torch.Tensor.__getitem__

    def watched_fetch(self: TorchDevice, *arrays: Any) -> Any:
        is_inside[0] = True
        try:
            return fetch(self, *arrays)
        finally:
            is_inside[0] = False
            waits["fetch"] += 1

    def watch(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            if not is_inside[0]:
                waits[name] += 1
            return original(*args, **options)

        return watched

    def watched_getitem(self: Any, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, torch.Tensor) and part.dtype == torch.bool for part in parts):
            waits["mask"] += 1  # how many rows a mask leaves is only known to the device
        return getitem(self, index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TorchDevice, "fetch", watched_fetch)
        for name in ("expand", "gram"):
            patch.setattr(MemoryColumns, name, watch(name, getattr(MemoryColumns, name)))
        for name in WAITING:
            patch.setattr(torch.Tensor, name, watch(name, getattr(torch.Tensor, name)))
        patch.setattr(torch.Tensor, "__getitem__", watched_getitem)
        yield waits


@contextmanager
def counted_operations() -> Iterator[list[str]]:
    names: list[str] = []

    class Mode(python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), options=None):
            name = operation._schema.name.split("::")[1]
            if name not in VIEWS:
                names.append(name)
            return operation(*args, **(options or {}))

    with Mode():
        yield names


def fit(design: MemoryDesign, n_outputs: int = 1, **changes: Any) -> Trace:
    recipe = make_recipe(**{"l2": 1e-2, "fit_intercept": True, "n_candidates": 400, **changes})
    return fit_one(design, Y[:n_outputs], recipe)[0]


def test_the_best_of_many_candidates_takes_two_waits() -> None:
    for dictionary in (GaussDictionary(), ReluDictionary(), PolynomialDictionary()):
        design = make_design(dictionary)
        atoms = dictionary.candidates(design.sample(300, 0), 300, 0)
        columns = design.columns(Y[0], SquaredHinge(), 4, has_constant=True, n_outputs=3)
        points = [Point(columns, c, np.full(1, 0.1)) for c in range(3)]
        allowed = np.ones((300, 3), dtype=bool)
        for is_stored, normalize in product((True, False), (True, False)):
            candidates = design.candidates(atoms, reuse=is_stored)
            with counted_waits() as waits:
                assert all(candidates.best(design.residuals(points), normalize, allowed))
            # One more where rows without a residual are counted.
            is_counted = not is_stored and not normalize
            assert waits == {"fetch": 2 + is_counted}


def test_appending_takes_no_wait_and_a_look_one() -> None:
    design = make_design(ReluDictionary())
    atoms = design.dictionary.candidates(design.sample(9, 0), 9, 0)
    columns = design.columns(Y[0], SquaredHinge(), 9, has_constant=True, n_outputs=3)
    for first in (0, 3, 6):
        with counted_waits() as waits:
            columns.append(atoms[first : first + 2])
            columns.append(atoms[first + 2 : first + 3])
        assert not waits
        coef = np.full(columns.n_columns, 0.01)
        with counted_waits() as waits:
            columns.expand(Point(columns, first % 2, coef))
            assert len(columns.norms) == columns.n_columns
            assert columns.first_gradient.shape == (columns.n_columns,)
        assert waits == {"fetch": 1, "expand": 1}
    with counted_waits() as waits:
        columns.qr_factor(Point(columns, 1, coef), majorize=False)
        points = [Point(columns, c, coef) for c in range(3)]
        design.sums(atoms, design.residuals(points))
    assert waits == {"fetch": 2}


@pytest.mark.covering
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("selection", [AllCandidates(), SampledCandidates(64)], ids=repr)
@pytest.mark.parametrize(
    "dictionary",
    [GaussDictionary(), ReluDictionary(), SigmoidDictionary(), PolynomialDictionary()],
    ids=repr,
)
def test_a_step_takes_two_waits_and_one_for_every_look_and_direction(
    dictionary: Dictionary, selection: Selection, n_outputs: int, normalize: bool
) -> None:
    changes = {"selection": selection, "normalize": normalize}
    with counted_waits() as waits:
        trace = fit(make_design(dictionary), n_outputs, **changes)
    assert len(trace) == 10
    # The weights of the labels of every output.
    n_expected = n_outputs + 2 * 10 + waits["expand"] + waits["gram"]
    # One more where rows without a residual are counted.
    n_counted = 10 * (not normalize and not isinstance(selection, AllCandidates))
    assert waits["fetch"] == n_expected + n_counted
    # A correction looks where it starts and once for every iteration; hardly any looks twice.
    n_solves = sum(len(step.objectives) for step in trace)
    n_iter = sum(step.solver_iterations for step in trace)
    assert n_solves + n_iter <= waits["expand"] <= n_solves + 1.2 * n_iter
    # Where a correction ends nobody asks for a Gram matrix, nor where a line search goes on.
    assert waits["gram"] == n_iter
    assert set(waits) == {"fetch", "expand", "gram"}


def test_slopes_of_the_last_point_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    terms = SquaredHinge.terms
    monkeypatch.setattr(
        SquaredHinge, "terms", lambda self, y, f: calls.append(len(y)) or terms(self, y, f)
    )
    with counted_waits() as waits:
        fit(make_design(GaussDictionary()))
    # At zero, and at the constant where every path starts; a correction starts where the last one
    # ended, with one more column.
    assert len(calls) <= waits["expand"] + 2


def test_a_look_is_few_operations() -> None:
    design = make_design(ReluDictionary())
    columns = design.columns(Y[0], SquaredHinge(), 9, has_constant=True)
    columns.append(design.dictionary.candidates(design.sample(9, 0), 9, 0))
    columns.expand(Point(columns, 0, np.zeros(10)))
    with counted_operations() as names:
        columns.expand(Point(columns, 0, np.full(10, 0.01)))
    assert 5 <= len(names) <= 30


def test_every_fetch_is_counted() -> None:
    device = TorchDevice("cpu")
    one, two = device.fetch(torch.arange(4).reshape(2, 2), torch.tensor(2.5))
    assert device.n_waits == 1
    np.testing.assert_array_equal(one, [[0.0, 1.0], [2.0, 3.0]])
    assert one.dtype == np.float64
    assert (float(two), two.shape) == (2.5, ())
