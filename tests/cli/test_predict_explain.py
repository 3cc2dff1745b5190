"""`fcgboost predict --explain`: what columns add is what Python says, and adds up."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.training import progress
from tests.suites.commands import GAUSS, read_exactly, run

pytestmark = pytest.mark.xdist_group("cli")
N_ROWS = 9


@pytest.fixture(scope="module")
def few(folder: Path) -> Path:
    """Give some rows of the test table."""
    path = folder / "few.csv"
    read_exactly(folder / "test.csv")[:N_ROWS].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def bare(folder: Path) -> Path:
    """Give the model without its background."""
    save_model(load_model(folder / "m.json"), folder / "bare.json", background=False)
    return folder / "bare.json"


def explained(capsys: pytest.CaptureFixture[str], *arguments: Any) -> pd.DataFrame:
    assert run("predict", *arguments, "--explain", "--decision") == 0
    return read_exactly(io.StringIO(capsys.readouterr().out))


def parts(found: pd.DataFrame) -> pd.DataFrame:
    return found[[name for name in found if name.startswith("contribution(")]]


def test_the_contributions_are_those_of_python_and_add_up(
    folder: Path, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained(capsys, folder / "m.json", few, "--batch", 4, "--keep", "id")
    names = ["contribution(age)", "contribution(town)", "contribution(income)"]
    # The model does not use the column "id".
    assert list(found) == ["id", "label", "p(no)", "p(yes)", "decision", "base", *names, "error"]
    expected = load_model(folder / "m.json").explain(read_exactly(few).drop(columns="churned"))
    assert expected.feature_names == ["id", "age", "town", "income"]
    np.testing.assert_allclose(found["base"], expected.base_values, rtol=1e-12)
    np.testing.assert_allclose(found["error"], expected.errors)
    np.testing.assert_allclose(found[names], expected.values[:, 1:], atol=1e-12)
    np.testing.assert_allclose(found["base"] + found[names].sum(axis=1), found["decision"])


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_of_every_kind_are_explained_alike(
    folder: Path, few: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read_exactly(few).to_parquet(tmp_path / "few.parquet")
    if suffix == ".arrow":
        read_exactly(few).to_feather(tmp_path / "few.arrow")
    out, data = tmp_path / "out.parquet", tmp_path / f"few{suffix}"
    assert run("predict", folder / "m.json", data, "--out", out, "--explain") == 0
    capsys.readouterr()
    expected = explained(capsys, folder / "m.json", few)
    np.testing.assert_allclose(parts(pd.read_parquet(out)), parts(expected), atol=1e-12)


def test_of_several_classes_the_predicted_one_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) * (rng.random((150, 4)) < 0.7)
    dump_svmlight_file(X, (X[:, 0] > 0.2).astype(int) + (X[:, 1] > 0.5), str(tmp_path / "d.svm"))
    assert run("fit", tmp_path / "d.svm", *GAUSS, "--out", tmp_path / "m.json") == 0
    capsys.readouterr()
    found = explained(capsys, tmp_path / "m.json", tmp_path / "d.svm")
    assert list(parts(found)) == [f"contribution(feature {j})" for j in range(1, 5)]
    assert set(found["label"]) == {0, 1, 2}
    total = found["base"] + parts(found).sum(axis=1)
    decision = found[[f"decision({i})" for i in range(3)]].to_numpy()
    np.testing.assert_allclose(total, decision[range(150), found["label"]], atol=1e-12)
    expected = load_model(tmp_path / "m.json").explain(X[:5])
    shown = [values[:, code] for values, code in zip(expected.values, found["label"], strict=False)]
    np.testing.assert_allclose(parts(found)[:5], shown, atol=1e-9)


def test_columns_without_names_have_those_of_the_file(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = read_exactly(few)[["age", "income"]].fillna(40.0)
    clf = FCGBoostClassifier("gauss", max_iter=3, random_state=0)
    clf.fit(rows.to_numpy(), np.arange(N_ROWS) % 2).save_model(tmp_path / "m.json")
    rows.to_csv(tmp_path / "d.csv", index=False)
    found = explained(capsys, tmp_path / "m.json", tmp_path / "d.csv")
    assert list(parts(found)) == ["contribution(age)", "contribution(income)"]
    np.testing.assert_allclose(parts(found), clf.explain(rows.to_numpy()).values, atol=1e-12)


def test_a_table_is_explained_column_by_column(
    folder: Path, few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_exactly(folder / "train.csv")[:200]
    X, y = table[["age", "town", "income"]], table["churned"]
    model = FCGBoostClassifier("relu", max_iter=8, random_state=0)
    save_model(model.fit(X, y), tmp_path / "m.json")
    found = explained(capsys, tmp_path / "m.json", few)
    expected = model.explain(read_exactly(few)[list(X)])
    assert list(parts(found)) == [f"contribution({name})" for name in X]
    np.testing.assert_allclose(parts(found), expected.values, atol=1e-12)


def test_explanations_beyond_a_second_show_their_progress(
    folder: Path,
    few: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ("predict", folder / "m.json", few, "--explain")
    assert run(*command) == 0
    silent = capsys.readouterr()
    assert silent.err == ""
    monkeypatch.setattr(progress, "_SILENCE", 0.0)
    assert run(*command, "--batch", 5) == 0
    shown = capsys.readouterr()
    assert shown.out == silent.out
    lines = [line.split("  ") for line in shown.err.splitlines()]
    assert [line[:2] for line in lines if line[0] == "100 %"] == [
        ["100 %", "5 of 5 rows"],
        ["100 %", "4 of 4 rows"],
    ]
    assert all(line[2].endswith("s left") for line in lines)


def test_without_a_background_the_command_says_how_to_give_one(
    folder: Path, few: Path, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", bare, few, "--explain") == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert "holds no background rows" in told.err
    assert "--background FILE" in told.err
    train = folder / "train.csv"
    found = explained(capsys, bare, few, "--background", train)
    rows = [read_exactly(path).drop(columns="churned") for path in (few, train)]
    expected = load_model(bare).explain(rows[0], background=rows[1])
    np.testing.assert_allclose(found["base"], expected.base_values, rtol=1e-12)
    np.testing.assert_allclose(parts(found), expected.values[:, 1:], atol=1e-12)
    np.testing.assert_allclose(found["base"] + parts(found).sum(axis=1), found["decision"])


def test_a_background_is_only_for_explanations_and_is_never_written_over(
    folder: Path, few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["predict", folder / "m.json", few, "--background"]
    assert run(*command, folder / "train.csv") == 3
    assert "--background needs --explain" in capsys.readouterr().err
    copy = tmp_path / "train.csv"
    copy.write_bytes((folder / "train.csv").read_bytes())
    assert run(*command, copy, "--explain", "--out", copy) == 3
    assert "is an input of this command" in capsys.readouterr().err
