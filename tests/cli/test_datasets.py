"""`fcgboost datasets`: data to begin with."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fcgboost.datasets import make_customers, make_simulation
from tests.suites.commands import read_exactly, run, run_json

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_datasets_lists_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [one["name"] for one in run_json(capsys, "datasets")] == ["customers", "simulation"]
    out = tmp_path / "s.csv"
    assert run("datasets", "simulation", "--rows", 50, "--noise", 0, "--out", out) == 0
    X, y = make_simulation(50, noise=None, random_state=0)
    table = read_exactly(out)
    np.testing.assert_array_equal(table[["x1", "x2"]].to_numpy(), X)
    np.testing.assert_array_equal(table["target"], y)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_customers_are_a_file_of_the_same_cells(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"c.{suffix}"
    assert run("datasets", "customers", "--rows", 80, "--seed", 3, "--out", out) == 0
    table = pd.read_csv(out, dtype=str) if suffix == "csv" else pd.read_parquet(out)
    expected = make_customers(80, random_state=3)
    assert table.columns.tolist() == expected.columns.tolist()
    assert table.isna().to_numpy().tolist() == expected.isna().to_numpy().tolist()
    cells, same = (one.astype(object).fillna("").astype(str) for one in (table, expected))
    assert cells.to_numpy().tolist() == same.to_numpy().tolist()


def test_what_a_set_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.csv"
    with pytest.raises(SystemExit, match="2"):
        run("datasets", "iris", "--out", out)
    assert "invalid choice: 'iris' (choose from" in capsys.readouterr().err


def test_noise_is_for_the_simulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.csv"
    assert run("datasets", "customers", "--noise", 0.1, "--out", out) == 3
    assert "--noise is an option of simulation" in capsys.readouterr().err
