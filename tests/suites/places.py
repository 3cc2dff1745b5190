"""What is fitted in several places: in memory, on devices, on workers."""

from typing import Any

import numpy as np
import pytest

from fcgboost import (
    LearnedCandidates,
)
from fcgboost.backends.torch.device import find_device
from fcgboost.datasets import make_simulation
from fcgboost.designs.devices import HostDevice
from fcgboost.dictionaries import (
    GaussDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)

LEARNED: dict[str, dict[str, Any]] = {
    "learned": {"dictionary": "relu", "selection": "learned"},
    "step": {"dictionary": StepDictionary(), "selection": "learned"},
    "few rows": {"dictionary": "relu", "selection": LearnedCandidates(n_rows=20, max_rows=60)},
    "tree": {"dictionary": "tree"},
    "tree, few rows": {"dictionary": "tree", "selection": LearnedCandidates(max_rows=50)},
    "turns": {
        "dictionary": UnionDictionary([ReluDictionary(), TreeDictionary(), GaussDictionary()])
    },
}


def noisy(n: int = 300, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with units of their own, and noisy labels."""
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=0)
    if n_classes > 2:
        y = np.where(X[:, 0] > 0.7, 2, (y > 0) * 1)
    return X * [3.0, 100.0] - [7.0, 0.0], y


def make_device(name: str) -> HostDevice:
    if name == "torch":
        pytest.importorskip("torch")
    return find_device(name)


DEVICES = ["cpu", pytest.param("torch", marks=pytest.mark.extras)]
