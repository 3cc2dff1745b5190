"""What the tests of the commands share."""

from pathlib import Path

import pandas as pd
import pytest

from fcgboost.datasets import make_simulation
from tests.suites.commands import GAUSS, make_table, run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a table for training, one for testing, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    make_table(1200, 0).to_csv(folder / "train.csv", index=False)
    make_table(400, 1).to_csv(folder / "test.csv", index=False)
    command = ["fit", folder / "train.csv", "--target", "churned", *GAUSS]
    assert run(*command, "--out", folder / "m.json") == 0
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a small file of numbers with labels "y", where it does not matter what is fitted."""
    X, y = make_simulation(120, random_state=0)
    path = tmp_path_factory.mktemp("small") / "small.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y.astype(int)).to_csv(path, index=False)
    return path
