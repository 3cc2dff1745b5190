"""What the tests of the commands share."""

from pathlib import Path

import pytest
from suites.commands import GAUSS, make_table, run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a table for training, one for testing, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    make_table(1200, 0).to_csv(folder / "train.csv", index=False)
    make_table(400, 1).to_csv(folder / "test.csv", index=False)
    command = ["fit", folder / "train.csv", "--target", "churned", *GAUSS]
    assert run(*command, "--out", folder / "m.json") == 0
    return folder
