"""Tables are read in Python as the commands read them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.rows import read_table
from tests.suites.commands import make_table, run
from tests.suites.rows import put


def test_read_table_warns_of_stray_text(tmp_path: Path) -> None:
    lines = [f"{i},{i % 2}\n" for i in range(40)]
    path = put(tmp_path, "rows.csv", "n,y\n" + "".join(lines) + "unknown,1\n")
    with pytest.warns(UserWarning, match='Column n: stray text in 1 cell .*row 41: "unknown"'):
        X, y = read_table(path, "y")
    assert X["n"].isna().sum() == 1
    assert y is not None
    with pytest.raises(ValueError, match=r"column 'n', row 41: \"unknown\" does not belong"):
        read_table(path, "y", strict=True)


def test_without_a_target_there_are_no_labels(tmp_path: Path) -> None:
    X, y = read_table(put(tmp_path, "rows.csv", "a,b\n1,x\n2,y\n"))
    assert list(X.columns) == ["a", "b"]
    assert y is None


def test_what_is_read_is_what_the_command_fits(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    make_table(150, 0).to_csv(path, index=False)
    command = ["fit", path, "--target", "churned", "--dictionary", "gauss"]
    assert run(*command, "--out", tmp_path / "m.json", "--test-out", tmp_path / "test.csv") == 0
    X, y = read_table(path, "churned")
    held_out = read_table(tmp_path / "test.csv", "churned")[0]
    is_training = ~X["id"].isin(held_out["id"])
    by_hand = FCGBoostClassifier("gauss", random_state=0).fit(X[is_training], y[is_training])
    by_command = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(by_command.decision_function(X), by_hand.decision_function(X))


def test_options_say_how_text_is_written(tmp_path: Path) -> None:
    text = "größe;am;y\n1.234,5;3/4/2020;ja\n2,25;5/4/2020;nein\n"
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="cp1252")
    X, y = read_table(path, "y", encoding="cp1252", thousands=".", dayfirst=True)
    assert X["größe"].tolist() == [1234.5, 2.25]
    assert pd.to_datetime(X["am"]).dt.month.tolist() == [4, 4]
    assert y.tolist() == ["ja", "nein"]


def test_columns_may_be_left_out_or_stay_text(tmp_path: Path) -> None:
    path = put(tmp_path, "rows.csv", "id,code,y\n1,01,a\n2,02,b\n")
    X, _ = read_table(path, "y", drop=["id"], categorical_features=["code"])
    assert X.to_dict("list") == {"code": ["01", "02"]}


def test_memory_is_limited_before_it_is_taken(tmp_path: Path) -> None:
    path = put(tmp_path, "rows.csv", "x,y\n" + "1,a\n2,b\n" * 5000)
    with pytest.raises(ValueError, match=r"rows\.csv"):
        read_table(path, "y", max_bytes=1000)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_the_extra_the_error_names_it(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from fcgboost.rows import read_table"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("python -m pip install 'fcgboost[tables]'")
