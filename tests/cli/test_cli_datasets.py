"""`fcgboost datasets`: data to begin with."""

from pathlib import Path

import numpy as np
import pytest
from suites.commands import read_exactly, run, run_json

from fcgboost.datasets import make_simulation

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_datasets_lists_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [one["name"] for one in run_json(capsys, "datasets")] == ["simulation"]
    out = tmp_path / "s.csv"
    assert run("datasets", "simulation", "--rows", 50, "--noise", 0, "--out", out) == 0
    X, y = make_simulation(50, noise=None, random_state=0)
    table = read_exactly(out)
    np.testing.assert_array_equal(table[["x1", "x2"]].to_numpy(), X)
    np.testing.assert_array_equal(table["target"], y)
