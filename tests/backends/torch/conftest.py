"""A device with Triton's kernels, which the processor interprets where there is no GPU."""

import pytest

from fcgboost.backends.torch.device import TorchDevice


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> TorchDevice:
    """Return a device with kernels: a GPU, or the processor, which interprets them."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        return TorchDevice("cuda")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    from fcgboost.backends.torch import triton_forest, triton_trees

    device = TorchDevice("cpu")
    device.kernels = triton_forest
    # The interpreter runs one program after the other.
    monkeypatch.setattr(triton_trees, "_PROGRAMS", 3)
    monkeypatch.setattr(triton_trees, "_ROUNDS", 6)
    return device
