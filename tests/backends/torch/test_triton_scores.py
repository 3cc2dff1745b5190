"""Fused sums are those of the values; without a GPU, Triton's interpreter runs the kernel."""

from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fcgboost.backends.torch.device import TorchDevice
from fcgboost.designs.devices import FusedSums
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from tests.suites.reference import full_matrix, given_residuals, reference_best

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.extras,
    # Not imported, because the import decides whether kernels are interpreted.
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed"),
]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
#: Of the sum of |value x factor|, for each column of a product: a few units of float32.
ROUNDING = 1e-6


@pytest.fixture(scope="module", autouse=True)
def kernels() -> Any:
    """The module; on a processor, its kernels are interpreted from the import of Triton on."""
    with pytest.MonkeyPatch.context() as patch:
        if DEVICE == "cpu":
            patch.setenv("TRITON_INTERPRET", "1")
        from fcgboost.backends.torch import triton_scores

        yield triton_scores


def make_tensors(n_rows: int, n_features: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n_rows, n_features))
    atoms = rng.standard_normal((77, n_features + 1))
    atoms[:, -1] = 0.5 + np.abs(atoms[:, -1])
    W = rng.standard_normal((n_rows, 2))
    Z, atoms, W = (torch.tensor(a, dtype=torch.float32, device=DEVICE) for a in (Z, atoms, W))
    return Z, atoms, W


def find_sums(kernels: ModuleType, dictionary: Dictionary, n_features: int) -> FusedSums:
    sums: FusedSums | None = kernels.find_sums(dictionary, n_features)
    assert sums is not None
    return sums


@pytest.mark.parametrize("is_squared", [False, True])
@pytest.mark.parametrize("n_rows", [1, 8700])
@pytest.mark.parametrize("n_features", [1, 3, 8, 20, 63])
@pytest.mark.parametrize(
    "dictionary", [GaussDictionary(), ReluDictionary(), SigmoidDictionary()], ids=repr
)
def test_fused_sums_are_those_of_the_values_and_the_same_twice(
    kernels: ModuleType, dictionary: Dictionary, n_features: int, n_rows: int, is_squared: bool
) -> None:
    Z, atoms, W = make_tensors(n_rows, n_features)
    sums = find_sums(kernels, dictionary, n_features)
    first, second = (sums(Z, atoms, W, is_squared) for _ in range(2))
    rows, factors = Z.double().cpu().numpy(), W.double().cpu().numpy()
    values = dictionary.evaluate(rows, atoms.double().cpu().numpy(), np.ones(n_features))
    if is_squared:
        values = values**2
    assert first.dtype == torch.float64
    # Products of standard normal columns cancel, so their errors are those of sums this large.
    size = (np.abs(values) + 1.0).T @ np.abs(factors)
    error = np.abs(first.cpu().numpy() - values.T @ factors)
    np.testing.assert_array_less(error, ROUNDING * (n_features + 4) * size)
    np.testing.assert_array_equal(second.cpu().numpy(), first.cpu().numpy())


def test_other_profiles_and_wide_rows_have_no_kernel(kernels: ModuleType) -> None:
    assert kernels.find_sums(LinearDictionary(), 3) is None
    assert kernels.find_sums(GaussDictionary(), 64) is None


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize(
    "dictionary", [GaussDictionary(), ReluDictionary(), SigmoidDictionary()], ids=repr
)
def test_the_best_candidate_is_that_of_the_full_matrix(
    kernels: ModuleType, dictionary: Dictionary, share: float, normalize: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 3))
    weights = np.ones(1100)
    device = TorchDevice(DEVICE)
    # A processor has the kernel only here, interpreted.
    device.kernels = kernels
    design = MemoryDesign(dictionary, X, weights, True, device=device)
    atoms = dictionary.candidates(design.sample(200, 0), 200, 0)
    candidates = design.candidates(atoms, reuse=False)
    R = rng.standard_normal((1100, 2)) * (rng.random((1100, 1)) < share)
    allowed = rng.random((len(atoms), 2)) < 0.7
    with given_residuals(design, R) as points:
        winners = candidates.best(points, normalize, allowed)
    values = full_matrix(MemoryDesign(dictionary, X, weights, True), atoms)
    expected = reference_best(values, weights, R, normalize, allowed)
    for winner, best in zip(winners, expected, strict=True):
        assert winner is not None
        assert winner.index == best.index
        assert winner.score == pytest.approx(best.score, rel=1e-9)
