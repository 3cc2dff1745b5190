"""The command `fcgboost`: files in, files out, exit statuses that scripts can use."""

import argparse
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fcgboost
from fcgboost import FCGBoostClassifier, load_model
from fcgboost.cli import console, main, make_parser
from fcgboost.datasets import make_simulation
from fcgboost.presets import PRESETS
from fcgboost.scores import Score, evaluate

# The module's fixture fits once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def make_table(m: int, seed: int) -> pd.DataFrame:
    """Give rows with text, missing values, a useless column, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45.0, 12.0, m)
    town = rng.choice(["Aachen", "Bonn, North", 'Köln "am Rhein"'], m)
    income = np.exp(rng.normal(10.0, 0.5, m))
    wants = (age > 45.0) ^ (town == "Bonn, North")
    flipped = rng.random(m) < 0.05
    table = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(m)],
            "age": np.where(rng.random(m) < 0.1, np.nan, age),
            "town": np.where(rng.random(m) < 0.1, None, town),
            "income": income,
            "churned": np.where(wants ^ flipped, "yes", "no"),
        }
    )
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a table for training, one for testing, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    make_table(1200, 0).to_csv(folder / "train.csv", index=False)
    make_table(400, 1).to_csv(folder / "test.csv", index=False)
    command = ["fit", folder / "train.csv", "--target", "churned", "--dictionary", "gauss"]
    assert run(*command, "--out", folder / "m.json") == 0
    return folder


#: Quick where it does not matter what is fitted.
GAUSS = ("--dictionary", "gauss")


def run(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def run_json(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def read_exactly(source: Any) -> pd.DataFrame:
    """Read a CSV file; pandas 2 rounds numbers' last bits unless told not to."""
    return pd.read_csv(source, float_precision="round_trip")


def test_fit_prints_scores_on_rows_it_has_not_seen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.json"
    told = run_json(
        capsys, "fit", folder / "train.csv", "--target", "churned", *GAUSS, "--out", out
    )
    assert told["n_atoms"] == load_model(out)[-1].n_atoms_
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


def test_fit_is_the_pipeline_that_python_fits(folder: Path) -> None:
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline

    table = read_exactly(folder / "train.csv")
    X, y = table.drop(columns="churned"), table["churned"].to_numpy(dtype=str)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    model = make_pipeline(fcgboost.TableEncoder(), FCGBoostClassifier("gauss", random_state=0))
    model.fit(X_train, y_train)
    loaded = load_model(folder / "m.json")
    np.testing.assert_array_equal(model.decision_function(X_test), loaded.decision_function(X_test))


def test_evaluate_gives_the_scores_of_python(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_json(capsys, "evaluate", folder / "m.json", folder / "test.csv")
    table = pd.read_csv(folder / "test.csv")
    expected = evaluate(load_model(folder / "m.json"), table, table["churned"].to_numpy())
    assert told["n_rows"] == 400
    for name, score in expected.items():
        assert told["scores"][name]["value"] == pytest.approx(score.value, abs=1e-12)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".csv.gz"])
def test_predict_keeps_the_order_in_every_format_and_batch(
    folder: Path, tmp_path: Path, suffix: str
) -> None:
    from fcgboost.readers import open_rows

    out = tmp_path / f"labels{suffix}"
    data, keep = folder / "test.csv", ("--keep", "id")
    assert run("predict", folder / "m.json", data, "--out", out, "--batch", 7, *keep) == 0
    table = pd.read_csv(data)
    found = open_rows(out).read()
    model = load_model(folder / "m.json")
    assert list(found["id"]) == list(table["id"])
    assert list(found["label"]) == list(model.predict(table))
    np.testing.assert_allclose(found["p(yes)"], model.predict_proba(table)[:, 1], rtol=1e-12)


def test_predict_writes_csv_to_standard_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", folder / "m.json", folder / "test.csv", "--decision", "--no-proba") == 0
    found = read_exactly(io.StringIO(capsys.readouterr().out))
    model, table = load_model(folder / "m.json"), read_exactly(folder / "test.csv")
    assert list(found.columns) == ["label", "decision"]
    np.testing.assert_array_equal(found["decision"], model.decision_function(table))


def test_inspect_names_columns_levels_and_features(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = run_json(capsys, "inspect", folder / "m.json")
    assert facts["classes"] == ["no", "yes"]
    columns = {column["name"]: column for column in facts["columns"]}
    assert columns["town"]["levels"] == ["Aachen", "Bonn, North", 'Köln "am Rhein"']
    assert columns["id"]["kind"] == "skipped"
    assert sum(facts["influence"].values()) == pytest.approx(1.0)
    assert max(facts["influence"], key=facts["influence"].get) in ("age", "town=Bonn, North")
    assert run("inspect", folder / "m.json") == 0
    text = capsys.readouterr().out
    assert "town=Bonn, North" in text
    assert "left out" in text


def test_the_rows_held_out_can_be_kept(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, test = tmp_path / "m.json", tmp_path / "test.csv"
    command = ["fit", folder / "train.csv", "--target", "churned", *GAUSS, "--out", out]
    told = run_json(capsys, *command, "--test-out", test)
    again = run_json(capsys, "evaluate", out, test)
    assert again["n_rows"] == told["test"]["n_samples"]
    assert again["scores"] == told["test"]["scores"]
    kept = pd.read_csv(test)
    assert set(kept["id"]) < set(pd.read_csv(folder / "train.csv")["id"])


def test_the_default_is_that_of_the_classifier_and_says_what_it_chose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "s.csv", tmp_path / "m.json"
    assert run("datasets", "simulation", "--rows", 200, "--out", data) == 0
    capsys.readouterr()
    assert run("fit", data, "--target", "target", "--out", out, "--json") == 0
    shown = capsys.readouterr()
    told, fitted = json.loads(shown.out), load_model(out)[-1]
    assert type(fitted) is FCGBoostClassifier
    assert fitted.dictionary == told["parameters"]["dictionary"] == "auto"
    # The file has the ridge that was chosen.
    assert told["parameters"]["steps"] == str(fitted.n_iter_)
    strengths = [f"{one / np.sqrt(160):.3g}" for one in PRESETS["auto"].strengths]
    assert told["parameters"]["l2"] in strengths
    assert told["parameters"]["l2"] == f"{fitted.l2_:.3g}"
    # A line per path: few rows are set aside four times, and the last path is fitted to all.
    n_paths = 4 * len(strengths) + 1
    lines = [line for line in shown.err.splitlines() if line.startswith("Fitting: path")]
    assert lines == [f"Fitting: path {i}" for i in range(1, n_paths + 1)]
    again = run_json(capsys, "fit", data, "--target", "target", "--out", out, "--set", "l2=0.5")
    assert again["parameters"]["l2"] == "0.5"


def test_settings_reach_every_parameter(tmp_path: Path) -> None:
    data, out = tmp_path / "s.csv", tmp_path / "m.json"
    assert run("datasets", "simulation", "--rows", 200, "--out", data) == 0
    settings = ("--set", "dictionary__width=0.25", "--set", "max_iter=theory", "--set", "l2=0.5")
    settings = ("--dictionary", "gauss", *settings)
    assert run("fit", data, "--target", "target", "--out", out, *settings, "--no-path") == 0
    classifier = load_model(out)[-1]
    assert classifier.dictionary.width == 0.25
    assert classifier.max_iter == "theory"
    assert classifier.l2 == 0.5
    assert len(classifier.trace_) == 0 or len(out.read_bytes()) < 20_000


def three_classes(folder: Path, m: int = 240) -> Path:
    """Write rows of three classes, with missing values and text."""
    table = make_table(m, 3).drop(columns="id")
    third = table["income"] > table["income"].quantile(0.6)
    table["churned"] = np.where(third, "maybe", table["churned"])
    table.loc[::9, "income"] = np.nan
    table.to_csv(folder / "three.csv", index=False)
    return folder / "three.csv"


def test_removal_and_shared_atoms_reach_the_classifier(tmp_path: Path) -> None:
    data, out = three_classes(tmp_path), tmp_path / "m.json"
    command = ["fit", data, "--target", "churned", *GAUSS, "--out", out, "--set", "max_iter=12"]
    assert run(*command) == 0
    apart = load_model(out)[-1]
    assert (apart.removal, apart.multiclass) == (None, "one_vs_rest")
    assert run(*command, "--removal", "backward", "--multiclass", "shared") == 0
    together = load_model(out)[-1]
    assert (together.removal, together.multiclass) == ("backward", "shared")
    # An atom of a class of its own has one coefficient, a shared one has three.
    assert ((apart.coef_ != 0.0).sum(axis=0) == 1).any()
    assert ((together.coef_ != 0.0).sum(axis=0) == 3).all()
    assert run(*command, "--removal", "0.25") == 0
    assert load_model(out)[-1].removal == 0.25


@pytest.mark.parametrize("wrong", ["forward", "0", "1", "-0.5", "nan"])
def test_what_is_no_share_is_no_removal(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("fit", "x.csv", "--target", "y", f"--removal={wrong}")
    assert f"got '{wrong}'" in capsys.readouterr().err


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
    assert "20 rows without a target" in capsys.readouterr().err
    assert load_model(tmp_path / "m.json").classes_.tolist() == [-1, 1]
    assert run("evaluate", tmp_path / "m.json", tmp_path / "t.csv") == 0
    printed = capsys.readouterr()
    assert "180 rows" in printed.out
    assert "20 rows without a target" in printed.err


@pytest.mark.parametrize("multiclass", [False, True])
def test_svmlight_files_have_their_own_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], multiclass: bool
) -> None:
    from scipy import sparse
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = sparse.random(300, 12, 0.3, format="csr", random_state=rng)
    y = np.asarray(X[:, 0].todense()).ravel() > 0.1
    labels = y.astype(int) + multiclass * (np.asarray(X[:, 1].todense()).ravel() > 0.3)
    dump_svmlight_file(X, labels, str(tmp_path / "d.svm"), zero_based=False)
    assert run("fit", tmp_path / "d.svm", "--out", tmp_path / "m.json") == 0
    capsys.readouterr()
    told = run_json(capsys, "evaluate", tmp_path / "m.json", tmp_path / "d.svm")
    assert told["scores"]["accuracy"]["value"] > 0.8
    assert run("predict", tmp_path / "m.json", tmp_path / "d.svm", "--batch", 64) == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(found["label"]) == list(load_model(tmp_path / "m.json").predict(X))


@pytest.mark.parametrize("written", ["0/1", "0.0/1.0", '"0"/"1"'])
def test_labels_of_another_type_are_the_same_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    X, y = make_simulation(100, random_state=0)
    labels = np.array(written.split("/"))[(y > 0).astype(int)]
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), labels, strict=True)]
    spoil(tmp_path, "t.csv", "\n".join(["a,b,y", *lines]))
    clf = FCGBoostClassifier("gauss", random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b"]), y > 0
    )
    clf.classes_ = np.array([0, 1])
    clf.save_model(tmp_path / "m.json")
    told = run_json(capsys, "evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--target", "y")
    assert told["scores"]["accuracy"]["value"] == clf.score(
        pd.DataFrame(X, columns=["a", "b"]), (y > 0).astype(int)
    )


def test_labels_the_model_does_not_know_count_as_mistakes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(folder / "test.csv")
    table.loc[:39, "churned"] = "perhaps"
    table.to_csv(tmp_path / "t.csv", index=False)
    told = run_json(capsys, "evaluate", folder / "m.json", tmp_path / "t.csv")
    assert told["scores"]["accuracy"]["value"] < 0.9
    assert told["unknown_labels"] == ["perhaps"]
    assert run("evaluate", folder / "m.json", tmp_path / "t.csv") == 0
    assert "perhaps" in capsys.readouterr().err
    table["churned"] = "perhaps"
    table.to_csv(tmp_path / "t.csv", index=False)
    assert run("evaluate", folder / "m.json", tmp_path / "t.csv") == 3
    assert "has a label that the model knows: found perhaps" in capsys.readouterr().err


def damaged(folder: Path) -> Path:
    path = folder / "damaged.json"
    path.write_bytes((folder / "m.json").read_bytes()[:-20])
    return path


def spoil(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


CASES = {
    "no such data": (3, "nowhere.csv", ["fit", "{}/nowhere.csv", "--target", "y"]),
    "no such column": (3, "churned", ["fit", "{}/train.csv", "--target", "churn"]),
    "no target": (3, "target", ["fit", "{}/train.csv"]),
    "a quantity": (3, "quantity", ["fit", "{}/train.csv", "--target", "income"]),
    "an unknown parameter": (
        3,
        "nonsense",
        ["fit", "{}/train.csv", "--target", "churned", "--set", "nonsense=1"],
    ),
    "an unknown column to drop": (
        3,
        "no column 'nothing'",
        ["fit", "{}/train.csv", "--target", "churned", "--drop", "nothing"],
    ),
    "a model that is not there": (4, "nowhere.json", ["inspect", "{}/nowhere.json"]),
    "a damaged model": (4, "damaged.json", ["inspect", "{}/damaged.json"]),
    "data without the model's columns": (3, "age", ["predict", "{}/m.json", "{}/other.csv"]),
    "an unknown method": (
        3,
        "Unknown method",
        ["compare", "{}/train.csv", "--target", "churned", "--method", "magic"],
    ),
    "a folder that is not there": (
        3,
        "there is no folder",
        ["fit", "{}/train.csv", "--target", "churned", "--out", "{}/nowhere/m.json"],
    ),
    "an input as output": (
        3,
        "is an input",
        ["predict", "{}/m.json", "{}/test.csv", "--out", "{}/test.csv"],
    ),
    "a model as output": (
        3,
        "is an input",
        ["export", "{}/m.json", "--to", "c", "--out", "{}/m.json"],
    ),
    "a report over its data": (
        3,
        "is an input",
        ["report", "{}/m.json", "{}/test.csv", "--out", "{}/test.csv"],
    ),
    "a folder as data": (3, "", ["fit", "{}", "--target", "churned"]),
    "a column kept under a name that is taken": (
        3,
        "already",
        ["predict", "{}/m.json", "{}/labelled.csv", "--keep", "label"],
    ),
    "json of what goes to standard output": (
        3,
        "--out",
        ["predict", "{}/m.json", "{}/test.csv", "--json"],
    ),
    "an infinite label": (3, "infinite", ["fit", "{}/infinite.csv", "--target", "y"]),
    "too few rows": (3, "too few", ["fit", "{}/few.csv", "--target", "y"]),
    "an unknown set": (3, "Did you mean 'heart'", ["datasets", "hearts"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_can_not_be_used_is_said_in_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    damaged(folder)
    spoil(folder, "other.csv", "a,b\n1,2\n")
    spoil(folder, "infinite.csv", "a,y\n1,0\n2,1e400\n3,0\n4,1e400\n")
    spoil(folder, "few.csv", "a,y\n1,0\n2,1\n3,0\n4,1\n")
    pd.read_csv(folder / "test.csv").assign(label=1).to_csv(folder / "labelled.csv", index=False)
    status, words, command = CASES[case]
    assert run(*(argument.format(folder) for argument in command)) == status
    error = capsys.readouterr().err
    assert error.startswith("fcgboost: ")
    assert words in error
    assert "Traceback" not in error


def test_a_refused_fit_leaves_an_older_model_alone(folder: Path, tmp_path: Path) -> None:
    out = spoil(tmp_path, "model.json", "precious")
    assert run("fit", folder / "train.csv", "--target", "income", "--out", out) == 3
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["fit"],
        ["fit", "x.csv", "--test-size", "2"],
        ["fit", "x.csv", "--set", "novalue"],
        ["export", "m.json"],
        ["predict", "m.json"],
        ["unknown"],
        ["fit", "x.csv", "--seed", "-1"],
        ["fit", "x.csv", "--time-limit", "-1"],
        ["predict", "m.json", "x.csv", "--batch", "0"],
    ],
)
def test_wrong_usage_ends_with_status_2(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 2
    assert "usage: fcgboost" in capsys.readouterr().err


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def test_every_command_is_explained_with_examples_that_parse() -> None:
    found = dict(commands())
    assert list(found) == [
        *("fit", "predict", "evaluate", "inspect", "report", "export", "compare"),
        *("playground", "demo", "reproduce", "datasets"),
    ]
    for name, parser in found.items():
        text = parser.format_help()
        assert "examples:" in text, name
        lines = [line.strip() for line in text.split("examples:")[1].splitlines()]
        examples = [line for line in lines if line.startswith("fcgboost ")]
        assert examples, name
        for line in examples:
            words = line.split(" | ")[0].split()[1:]
            assert words[0] == name
            make_parser().parse_args(words)


def test_every_option_has_a_help_text() -> None:
    for name, parser in commands():
        for action in parser._actions:
            is_plain = action.choices is not None and action.option_strings
            assert action.help or is_plain, (name, action.dest)


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    script = "import sys; from fcgboost.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", script, "predict", "m.json", "train.csv", "--batch", "1"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert errors == ""


def test_tables_are_plain_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "value"), [("a", "1.5"), ("long name", "10")])
    assert capsys.readouterr().out == "name       value\na            1.5\nlong name     10\n"


def test_a_terminal_shows_a_bar_and_a_pipe_ten_lines(folder: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="pseudo-terminals exist on Unix only")
    script = "from fcgboost.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", script, "fit", str(folder / "train.csv"), *GAUSS]
    command += ["--target", "churned", "--out", str(tmp_path / "m.json")]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 5 <= piped.stderr.count("Fitting: step") <= 20
    assert "\x1b" not in piped.stderr + piped.stdout
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert b"Fitting" in shown
    assert b"\x1b" in shown


def test_scores_without_end_are_null_in_json() -> None:
    data = console.as_data({"log_loss": Score(0.5, 0.0, float("inf"))})
    assert data == {"log_loss": {"value": 0.5, "low": 0.0, "high": None}}


def test_a_time_limit_ends_a_fit_with_the_steps_it_has(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["fit", folder / "train.csv", "--target", "churned", "--out", tmp_path / "m.json"]
    assert run(*command, "--time-limit", "1e-9") == 0
    assert "time limit of 1e-09 s ended the fit after 1 of" in capsys.readouterr().err
    assert load_model(tmp_path / "m.json")[-1].n_iter_ == 1
    assert run(*command, "--time-limit", "0", "--set", "max_iter=3") == 0
    assert "time limit" not in capsys.readouterr().err


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
    encoder = fcgboost.TableEncoder()
    clf = FCGBoostClassifier("gauss", max_iter=5, random_state=0)
    clf.fit(encoder.fit_transform(table.drop(columns="churned")), table["churned"].to_numpy(str))
    np.testing.assert_array_equal(load_model(tmp_path / "b.json")[-1].atoms_, clf.atoms_)


def test_ids_that_are_kept_stay_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = make_simulation(60, random_state=0)
    ids = [f"{12345678901234567 + i:020d}" for i in range(60)]
    pd.DataFrame({"id": ids, "a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert (
        run("fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json") == 0
    )
    capsys.readouterr()
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--keep", "id") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ids


def test_rows_come_through_a_pipe(folder: Path, tmp_path: Path) -> None:
    script = "from fcgboost.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", script]
    data = (folder / "test.csv").read_bytes()
    piped = subprocess.run(
        [*command, "predict", str(folder / "m.json"), "-"],
        input=data,
        capture_output=True,
        check=True,
    )
    found = pd.read_csv(io.BytesIO(piped.stdout))
    table = pd.read_csv(folder / "test.csv")
    assert list(found["label"]) == list(load_model(folder / "m.json").predict(table))


def test_sparse_rows_count_from_where_the_training_rows_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(200):
        a, b = rng.random(2)
        lines.append(f"{int(a > 0.5)} 0:{a:.3f} 1:{b:.3f} 2:1")
    spoil(tmp_path, "train.svm", "\n".join(lines) + "\n")
    assert run("fit", tmp_path / "train.svm", *GAUSS, "--out", tmp_path / "m.json") == 0
    capsys.readouterr()
    # Here index 0 does not occur: alone, the file looks as if it counted from 1.
    spoil(tmp_path, "test.svm", "0 1:0.3 2:1\n0 1:0.9 2:1\n")
    assert run("predict", tmp_path / "m.json", tmp_path / "test.svm") == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    model = load_model(tmp_path / "m.json")
    rows = [[0.0, 0.3, 1.0], [0.0, 0.9, 1.0]]
    np.testing.assert_allclose(found["p(1)"], model.predict_proba(rows)[:, 1], atol=1e-12)


def test_what_became_of_odd_columns_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = make_simulation(200, random_state=0)
    table = pd.DataFrame({"a": X[:, 0].astype(str), "b": X[:, 1], "y": y})
    table.loc[7, "a"] = "unknown"
    table["town"] = np.where(np.arange(200) % 2, "Bonn", "Köln")
    table.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run("fit", tmp_path / "t.csv", "--target", "y", *GAUSS, "--out", tmp_path / "m.json") == 0
    )
    assert "unknown" in capsys.readouterr().err
    table["town"] = "Mars"
    table.to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", tmp_path / "m.json", tmp_path / "t.csv") == 0
    assert "town: none of the first 200 values was there in training" in capsys.readouterr().err


def save_foreign(folder: Path, about: Any, as_frame: bool) -> tuple[Path, Path]:
    """Save a model of two columns from Python, and rows with more columns in another order."""
    X, y = make_simulation(150, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf = FCGBoostClassifier("gauss", random_state=0).fit(frame if as_frame else X, y)
    clf.save_model(folder / "m.json", about=about)
    if as_frame:
        frame.assign(extra="text", y=y)[["y", "b", "extra", "a"]].to_csv(
            folder / "rows.csv", index=False
        )
        return folder / "m.json", folder / "rows.csv"
    np.savez(folder / "rows.npz", X=X, y=y)
    return folder / "m.json", folder / "rows.npz"


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize(
    "about",
    [
        None,
        {"data": "text", "test": {"scores": {"accuracy": 0.9}}, "target": ["y"]},
        {"test": {"scores": "none"}},
    ],
)
def test_models_saved_from_python_go_through_all_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], about: Any, as_frame: bool
) -> None:
    model, rows = save_foreign(tmp_path, about, as_frame)
    assert run("inspect", model) == 0
    target = ("--target", "y")
    capsys.readouterr()
    told = run_json(capsys, "evaluate", model, rows, *target)
    X, y = make_simulation(150, random_state=0)
    clf = FCGBoostClassifier("gauss", random_state=0).fit(X, y)
    assert told["scores"]["accuracy"]["value"] == clf.score(X, y)
    assert run("predict", model, rows) == 0
    printed = capsys.readouterr()
    found = pd.read_csv(io.StringIO(printed.out))
    assert list(found["label"]) == list(clf.predict(X))
    assert printed.err == ""
    assert run("report", model, rows, *target, "--out", tmp_path / "p.html") == 0
    assert run("export", model, "--to", "c") == 0


def test_a_model_without_probabilities_is_ranked_by_its_decision_values(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.metrics import roc_auc_score

    out = tmp_path / "h.json"
    command = ["fit", folder / "train.csv", "--target", "churned", "--loss", "hinge", *GAUSS]
    told = run_json(capsys, *command, "--set", "max_iter=8", "--out", out)
    assert set(told["test"]["scores"]) == {"accuracy", "auc"}
    again = run_json(capsys, "evaluate", out, folder / "test.csv")
    table = pd.read_csv(folder / "test.csv")
    area = roc_auc_score(table["churned"] == "yes", load_model(out).decision_function(table))
    assert again["scores"]["auc"]["value"] == pytest.approx(area, abs=1e-12)


def test_a_request_to_end_leaves_no_half_file(folder: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, fcgboost.cli.predict as p\n"
        "plain = p._frame\n"
        "def frame(*rest):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return plain(*rest)\n"
        "p._frame = frame\n"
        "from fcgboost.cli import main\n"
        "sys.exit(main())\n"
    )
    command = [sys.executable, "-c", script, "predict", str(folder / "m.json")]
    command += [str(folder / "test.csv"), "--out", str(tmp_path / "out.csv"), "--batch", "10"]
    assert subprocess.run(command, check=False).returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_datasets_lists_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {one["name"] for one in run_json(capsys, "datasets")}
    assert {"heart", "musk2", "simulation"} <= names
    out = tmp_path / "s.csv"
    assert run("datasets", "simulation", "--rows", 50, "--noise", 0, "--out", out) == 0
    X, y = make_simulation(50, noise=None, random_state=0)
    table = read_exactly(out)
    np.testing.assert_array_equal(table[["x1", "x2"]].to_numpy(), X)
    np.testing.assert_array_equal(table["target"], y)


def test_compare_puts_ours_beside_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ("--method", "FCGBoost", "--method", "logistic regression", "--method", "svc (rbf)")
    page = tmp_path / "c.html"
    command = ["compare", folder / "train.csv", "--target", "churned", *methods]
    told = run_json(capsys, *command, "--report", page)
    accuracies = [row["scores"]["accuracy"]["value"] for row in told["rows"]]
    assert accuracies == sorted(accuracies, reverse=True)
    others = {"logistic regression", "SVC (RBF)", "most frequent class"}
    assert {row["method"] for row in told["rows"]} == {"fcgboost", *others}
    assert told["data"]["n_train"] == 900
    assert told["data"]["n_threads"] == 1
    assert "logistic regression" in page.read_text(encoding="utf-8")
    assert run(*command, "--out", tmp_path / "c.json", "--threads", 2) == 0
    printed = capsys.readouterr().out
    assert "interval" in printed
    n_features = told["data"]["n_features"]
    assert f"has 2 threads and is given the same {n_features} columns\nof numbers" in printed
    assert "made from the 4 columns of the data." in printed
    assert run("report", tmp_path / "c.json", "--out", tmp_path / "again.html") == 0
    assert "logistic regression" in (tmp_path / "again.html").read_text(encoding="utf-8")


def test_report_and_export_write_files(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    command = ["report", folder / "m.json", folder / "test.csv", "--out", page, "--title", "Churn"]
    assert run_json(capsys, *command)["bytes"] == page.stat().st_size
    assert "<title>Churn" in page.read_text(encoding="utf-8")
    header = tmp_path / "m.h"
    told = run_json(capsys, "export", folder / "m.json", "--to", "c", "--out", header)
    assert told["bytes"] == header.stat().st_size
    assert "churn_predict" not in header.read_text()
    command = ["export", folder / "m.json", "--to", "c", "--out", header, "--name", "churn"]
    assert run(*command) == 0
    assert "churn_predict" in header.read_text()
