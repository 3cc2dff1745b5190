"""`fcgboost fit`: from a file to a model, and what it says about it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.datasets import make_simulation
from fcgboost.rows import read_table
from tests.suites.commands import GAUSS, read_exactly, run, run_json, spoil

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_fit_prints_scores_on_rows_it_has_not_seen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.json"
    told = run_json(
        capsys, "fit", folder / "train.csv", "--target", "churned", *GAUSS, "--out", out
    )
    assert told["n_atoms"] == load_model(out).n_atoms_
    assert told["bytes"] == out.stat().st_size
    assert told["data"]["n_samples"] == 960
    assert told["test"]["n_samples"] == 240
    assert set(told["test"]["scores"]) == {"accuracy", "auc", "brier", "log_loss"}
    accuracy = told["test"]["scores"]["accuracy"]
    assert 0.8 < accuracy["value"] < 0.97  # 5 % of the labels are wrong
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]


def test_fit_tells_people_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.json"
    command = ["fit", folder / "train.csv", "--target", "churned", *GAUSS, "--out", out]
    assert run(*command) == 0
    text = capsys.readouterr().out
    for word in ("atoms", "960 rows", "accuracy", "AUC", "Brier score", "log-loss", str(out)):
        assert word in text


def test_fit_is_the_fit_of_python(folder: Path) -> None:
    from sklearn.model_selection import train_test_split

    table = read_exactly(folder / "train.csv")
    X, y = table.drop(columns="churned"), table["churned"].to_numpy(dtype=str)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    model = FCGBoostClassifier("gauss", random_state=0).fit(X_train, y_train)
    loaded = load_model(folder / "m.json")
    np.testing.assert_array_equal(model.decision_function(X_test), loaded.decision_function(X_test))


def test_the_rows_held_out_can_be_kept(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, test = tmp_path / "m.json", tmp_path / "test.csv"
    command = ["fit", folder / "train.csv", "--target", "churned", *GAUSS, "--out", out]
    told = run_json(capsys, *command, "--test-out", test)
    again = run_json(capsys, "evaluate", out, test)
    assert again["n_rows"] == told["test"]["n_samples"]
    assert again["scores"] == told["test"]["scores"]
    kept = read_exactly(test)
    assert set(kept["id"]) < set(read_exactly(folder / "train.csv")["id"])


def test_the_default_is_that_of_the_classifier_and_says_what_it_chose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "s.csv", tmp_path / "m.json"
    assert run("datasets", "simulation", "--rows", 200, "--out", data) == 0
    capsys.readouterr()
    assert run("fit", data, "--target", "target", "--out", out, "--json") == 0
    shown = capsys.readouterr()
    told, fitted = json.loads(shown.out), load_model(out)
    assert type(fitted) is FCGBoostClassifier
    assert fitted.dictionary == told["parameters"]["dictionary"] == "auto"
    # The file has the ridge that was chosen, and programs get numbers with all their digits.
    assert max(member["steps"] for member in told["members"]) == fitted.n_iter_
    assert "chosen by held-out rows" in told["ended"]["reason"]
    assert [member["l2"] for member in told["members"]] == [m.l2 for m in fitted.members_]
    # Two kinds of members in eight folds.
    assert "path 2 of 16" in shown.err
    again = run_json(capsys, "fit", data, "--target", "target", "--out", out, "--set", "l2=0.5")
    assert {member["l2"] for member in again["members"]} == {0.5}


def test_settings_reach_every_parameter(tmp_path: Path) -> None:
    data, out = tmp_path / "s.csv", tmp_path / "m.json"
    assert run("datasets", "simulation", "--rows", 200, "--out", data) == 0
    settings = ("--set", "dictionary__width=0.25", "--set", "max_iter=theory", "--set", "l2=0.5")
    settings = ("--dictionary", "gauss", *settings)
    assert run("fit", data, "--target", "target", "--out", out, *settings, "--no-path") == 0
    classifier = load_model(out)
    assert classifier.dictionary.width == 0.25
    assert classifier.max_iter == "theory"
    assert classifier.l2 == 0.5
    assert len(classifier.trace_) == 0 or len(out.read_bytes()) < 20_000


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        ((0, 1), '{"0": 1, "1": 5}', {0: 1, 1: 5}),
        ((1.0, 2.0), '{"1": 2, "2": 5}', {1: 2, 2: 5}),
        ((False, True), '{"True": 5, "False": 2}', {True: 5, False: 2}),
        (("no", "yes"), '{"yes": 5}', {"yes": 5}),
    ],
)
def test_class_weights_name_classes_by_their_text(
    labels: tuple[Any, Any], given: str, expected: dict[Any, float], tmp_path: Path
) -> None:
    data, out = tmp_path / "s.parquet", tmp_path / "m.json"
    x = np.random.default_rng(0).normal(size=40)
    pd.DataFrame({"x": x, "y": [labels[int(value > 0.3)] for value in x]}).to_parquet(data)
    command = ["fit", data, "--target", "y", *GAUSS, "--out", out, "--set", "max_iter=3"]
    assert run(*command, "--set", f"class_weight={given}") == 0
    assert load_model(out).class_weight == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"2": 5}', "names classes that are not in y: ['2']. The classes are [0, 1]."),
        ('{"1.0": 5}', "names classes that are not in y: ['1.0']"),
        ('{"1": -5}', "class_weight of 1 must be a number greater than 0"),
        ("5", "class_weight must be 'balanced', a dict or None"),
    ],
)
def test_wrong_class_weights_are_refused(
    given: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "s.csv"
    data.write_text("x,y\n" + "".join(f"{i},{int(i > 20)}\n" for i in range(40)))
    command = ["fit", data, "--target", "y", "--out", tmp_path / "m.json"]
    assert run(*command, "--set", f"class_weight={given}") == 3
    assert message in capsys.readouterr().err


def test_removal_reaches_the_classifier(tmp_path: Path) -> None:
    data, out = tmp_path / "s.csv", tmp_path / "m.json"
    assert run("datasets", "simulation", "--rows", 200, "--out", data) == 0
    command = ["fit", data, "--target", "target", *GAUSS, "--out", out, "--set", "max_iter=12"]
    assert run(*command) == 0
    assert load_model(out).removal is None
    assert run(*command, "--set", "removal=backward") == 0
    assert load_model(out).removal == "backward"
    assert run(*command, "--set", "removal=0.25") == 0
    assert load_model(out).removal == 0.25


def test_rows_without_a_target_are_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = make_simulation(200, random_state=0)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    table.loc[:19, "y"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run("fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json") == 0
    )
    assert "no target: 20. Among them are rows 1, 2 and 3." in capsys.readouterr().err
    assert load_model(tmp_path / "m.json").classes_.tolist() == [-1, 1]
    assert run("evaluate", tmp_path / "m.json", tmp_path / "t.csv") == 0
    printed = capsys.readouterr()
    assert "180 rows" in printed.out
    assert "no target: 20. Among them are rows 1, 2 and 3." in printed.err


def test_a_refused_fit_leaves_an_older_model_alone(folder: Path, tmp_path: Path) -> None:
    out = spoil(tmp_path, "model.json", "precious")
    command = ("fit", folder / "train.csv", "--target", "job", "--task", "regression")
    assert run(*command, "--out", out) == 3
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]


def test_refit_learns_from_the_rows_held_out_too(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", folder / "train.csv", "--target", "churned", "--dictionary", "gauss"]
    command += ["--set", "max_iter=5"]
    first = run_json(capsys, *command, "--out", tmp_path / "a.json")
    second = run_json(capsys, *command, "--out", tmp_path / "b.json", "--refit")
    assert second["test"] == first["test"]
    assert (first["data"]["n_samples"], second["data"]["n_samples"]) == (960, 1200)
    table = read_exactly(folder / "train.csv")
    clf = FCGBoostClassifier("gauss", max_iter=5, random_state=0)
    clf.fit(table.drop(columns="churned"), table["churned"].to_numpy(str))
    np.testing.assert_array_equal(load_model(tmp_path / "b.json").atoms_, clf.atoms_)


def test_what_became_of_odd_columns_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = make_simulation(200, random_state=0)
    table = pd.DataFrame({"a": X[:, 0].astype(str), "b": X[:, 1], "y": y})
    table.loc[7, "a"] = "unknown"
    table["town"] = np.where(np.arange(200) % 2, "Bonn", "Köln")
    table["id"], table["n"] = [f"p{i}" for i in range(200)], range(200)
    table.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run("fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json") == 0
    )
    said = capsys.readouterr().err
    assert 'Column a: stray text in 1 cell counts as missing (row 8: "unknown")' in said
    assert "'id' is left out: no value occurs twice." in said
    assert "'n' is left out: it counts the rows." in said
    table["town"] = "Mars"
    table.loc[3, "a"] = "not known"
    table.to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv") == 0
    told = capsys.readouterr()
    assert "town: none of its first 200 values occurred in training" in told.err
    table.loc[3, "a"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv") == 0
    assert capsys.readouterr().out == told.out


def test_a_stray_may_be_among_the_rows_held_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.model_selection import train_test_split

    X, y = make_simulation(200, random_state=0)
    table = pd.DataFrame({"a": X[:, 0].astype(str), "b": X[:, 1], "y": y.astype(int)})
    _, held_out = train_test_split(range(200), test_size=0.2, random_state=0, stratify=table["y"])
    table.loc[held_out[0], "a"] = "unknown"
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "m.json"
    assert run("fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", out) == 0
    assert run("evaluate", out, tmp_path / "t.csv") == 0
    table["b"] = table["b"].astype(object)
    table.loc[held_out[0], "b"] = "soon"  # here there were none
    table.to_csv(tmp_path / "t.csv", index=False)
    capsys.readouterr()
    assert run("evaluate", out, tmp_path / "t.csv") == 0
    assert f'Column b: stray text in 1 cell counts as missing (row {held_out[0] + 1}: "soon")' in (
        capsys.readouterr().err
    )


def test_row_numbers_are_found_among_numbers_alone(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_exactly(small)
    table.assign(n=range(len(table))).to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json"]
    assert run(*command, "--set", "max_iter=3") == 0
    assert "'n' is left out: it counts the rows." in capsys.readouterr().err
    facts = run_json(capsys, *command, "--keep-column", "n", "--refit")
    assert facts["findings"] == []
    assert load_model(tmp_path / "m.json").keep_columns == ("n",)


def test_rows_that_contradict_each_other_are_those_of_the_file(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = read_exactly(small)
    copies = table.iloc[20:60].assign(y=lambda rows: -rows["y"].astype(float))
    pd.concat([table, copies]).to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json"]
    assert run(*command, "--set", "max_iter=3") == 0
    said = re.findall(r"equal others but for the label.*", capsys.readouterr().err)
    assert len(said) == 1
    rows = list(map(int, re.findall(r"\d+", said[0])))
    assert len(rows) == 3
    [finding] = load_model(tmp_path / "m.json").findings_
    assert [row + 1 for row in finding.rows[:3]] == rows
    assert set(finding.rows) <= {*range(20, 60), *range(len(table), len(table) + 40)}


def test_what_columns_are_can_be_set(tmp_path: Path) -> None:
    X, y = make_simulation(120, random_state=0)
    days = [f"{1 + i % 28}.{1 + i % 12}.2020" for i in range(120)]
    table = pd.DataFrame({"code": (9 * X[:, 0]).astype(int), "day": days, "b": X[:, 1], "y": y})
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--set", "max_iter=3"]
    command += ["--out", tmp_path / "m.json", "--set", "dayfirst=true"]
    assert run(*command, "--set", 'categorical_features=["code"]') == 0
    code, day, b = load_model(tmp_path / "m.json").columns_
    assert (code.kind, day.kind, day.unit, b.kind) == ("category", "number", "days", "number")
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "p.csv") == 0
    found = read_exactly(tmp_path / "p.csv")["label"]
    X = read_table(tmp_path / "t.csv", "y", tell=str)[0]
    assert list(found) == list(load_model(tmp_path / "m.json").predict(X))


def test_a_model_without_probabilities_is_ranked_by_its_decision_values(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.metrics import roc_auc_score

    out = tmp_path / "h.json"
    command = ["fit", folder / "train.csv", "--target", "churned", "--loss", "hinge", *GAUSS]
    told = run_json(capsys, *command, "--set", "max_iter=8", "--out", out)
    assert set(told["test"]["scores"]) == {"accuracy", "auc"}
    again = run_json(capsys, "evaluate", out, folder / "test.csv")
    table = read_exactly(folder / "test.csv")
    decision = load_model(out).decision_function(table.drop(columns="churned"))
    area = roc_auc_score(table["churned"] == "yes", decision)
    assert again["scores"]["auc"]["value"] == pytest.approx(area, abs=1e-12)


def refuse(*rest: Any) -> Any:
    raise AssertionError("there was work before a name was refused")


@pytest.mark.parametrize("name", ["test.xlsx", "test", "test.parquet.gz", "test.npz"])
def test_a_table_that_could_not_be_written_is_refused_before_the_fit(
    small: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr("fcgboost.cli.inputs.open_rows", refuse)
    command = ["fit", small, "--target", "y", "--out", tmp_path / "m.json"]
    assert run(*command, "--test-out", tmp_path / name) == 3
    assert f"{name} must end in .csv" in capsys.readouterr().err


def test_a_table_of_sparse_rows_is_refused_before_the_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcgboost.cli.training.train", refuse)
    data = spoil(tmp_path, "d.svm", "0 1:1 3:2\n1 2:1\n" * 20)
    command = ["fit", data, "--out", tmp_path / "m.json", "--test-out", tmp_path / "test.csv"]
    assert run(*command) == 3
    assert "test.csv cannot be written: the rows of" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [data]


def test_a_folder_that_may_not_be_written_on_is_refused_before_the_fit(
    small: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    monkeypatch.setattr("fcgboost.cli.inputs.open_rows", refuse)
    assert run("fit", small, "--target", "y", "--out", tmp_path / "m.json") == 3
    assert "m.json cannot be written: permission denied" in capsys.readouterr().err


def test_the_model_is_saved_whatever_becomes_of_the_other_files(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*rest: Any) -> Any:
        raise OSError(28, "No space left on device", "test.csv")

    monkeypatch.setattr("fcgboost.rows.write_rows", fail)
    out = tmp_path / "m.json"
    command = ["fit", small, "--target", "y", *GAUSS, "--out", out]
    assert run(*command, "--test-out", tmp_path / "test.csv") == 1
    assert load_model(out).classes_.tolist() == [-1, 1]


def test_without_a_target_all_columns_are_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"c{i}" for i in range(40)]
    data = spoil(tmp_path, "churn.csv", "\n".join([",".join(names), ",".join(["1"] * 40)]) + "\n")
    assert run("fit", data) == 3
    offered = (
        f"churn.csv: name the target column with --target; the columns are {', '.join(names)}."
    )
    assert offered in capsys.readouterr().err


def test_names_are_taken_in_any_case(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", small, "--target", "y", "--dictionary", "Gauss", "--loss", "Square"]
    command += ["--format", "CSV"]
    told = run_json(capsys, *command, "--set", "max_iter=3", "--out", tmp_path / "m.json")
    assert told["parameters"]["dictionary"] == "gauss"
    assert told["parameters"]["loss"].startswith("square")


@pytest.mark.parametrize("place", [3, 11])
def test_a_stray_code_among_numbers_is_refused_with_the_name_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(60).round(5).astype(str), "y": rng.integers(0, 2, 60)})
    table.loc[[place, place + 20], "a"] = "0825311656"
    table.to_csv(tmp_path / "rows.csv", index=False)
    assert run("fit", tmp_path / "rows.csv", "--target", "y", "--out", tmp_path / "m.json") == 3
    error = capsys.readouterr().err
    assert "rows.csv: Column 'a': " in error
    assert "'0825311656'" in error


def test_what_to_do_next_is_a_command_that_works(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, rows = tmp_path / "m.json", tmp_path / "held.csv"
    command = ["fit", small, "--target", "y", *GAUSS, "--set", "max_iter=2", "--out", model]
    for more, following in (
        ([], f"inspect {model}"),
        (["--test-out", rows], f"report {model} {rows}"),
    ):
        assert run(*command, *more) == 0
        assert capsys.readouterr().out.endswith(f"Next: fcgboost {following}\n")
        assert run(*following.split()) == 0
        capsys.readouterr()


def test_two_outputs_of_one_name_are_refused(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "both.csv"
    assert run("fit", small, "--target", "y", "--out", out, "--test-out", out) == 3
    assert "the same name" in capsys.readouterr().err
