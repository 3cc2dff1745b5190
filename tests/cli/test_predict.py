"""Commands that use a model: `predict`, `evaluate`, `inspect`, `report`, `export`."""

import io
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.datasets import make_simulation
from fcgboost.evaluation import evaluate
from tests.suites.commands import GAUSS, read_exactly, run, run_json, spoil

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


def test_evaluate_gives_the_scores_of_python(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_json(capsys, "evaluate", folder / "m.json", folder / "test.csv")
    table = read_exactly(folder / "test.csv")
    rows, y = table.drop(columns="churned"), table["churned"].to_numpy()
    expected = evaluate(load_model(folder / "m.json"), rows, y).scores
    assert told["n_rows"] == 400
    for name, score in expected.items():
        assert told["scores"][name]["value"] == pytest.approx(score.value, abs=1e-12)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predict_keeps_the_order_in_every_format_and_batch(
    folder: Path, tmp_path: Path, suffix: str
) -> None:
    from fcgboost.rows.formats import open_rows

    out = tmp_path / f"labels{suffix}"
    data, keep = folder / "test.csv", ("--keep", "id")
    assert run("predict", folder / "m.json", data, "--out", out, "--batch", 7, *keep) == 0
    table = read_exactly(data).drop(columns="churned")
    with open_rows(out) as rows:
        found, labels = rows.read("label", ())
    model = load_model(folder / "m.json")
    assert list(found["id"]) == list(table["id"])
    assert list(labels) == list(model.predict(table))
    np.testing.assert_allclose(found["p(yes)"], model.predict_proba(table)[:, 1], rtol=1e-12)


def test_predict_writes_the_same_csv_to_standard_output_and_to_a_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["predict", folder / "m.json", folder / "test.csv", "--decision"]
    assert run(*command) == 0
    text = capsys.readouterr().out
    assert run(*command, "--out", tmp_path / "labels.csv") == 0
    assert (tmp_path / "labels.csv").read_text() == text
    found = read_exactly(io.StringIO(text))
    model = load_model(folder / "m.json")
    table = read_exactly(folder / "test.csv").drop(columns="churned")
    assert list(found.columns) == ["label", "p(no)", "p(yes)", "decision"]
    np.testing.assert_array_equal(found["decision"], model.decision_function(table))


def test_inspect_names_columns_levels_and_features(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = run_json(capsys, "inspect", folder / "m.json")
    assert facts["classes"] == ["no", "yes"]
    columns = {column["name"]: column for column in facts["columns"]}
    assert columns["town"]["levels"] == ["Aachen", "Bonn, North", 'Köln "am Rhein"']
    assert columns["id"]["treatment"] == "left out: no value occurs twice"
    assert columns["age"]["treatment"].endswith(" if missing) and age is missing")
    assert sum(facts["influence"].values()) == pytest.approx(1.0)
    assert max(facts["influence"], key=facts["influence"].get) in ("age", "town")
    assert run("inspect", folder / "m.json") == 0
    text = capsys.readouterr().out
    assert "town=Bonn, North = 1" in text
    assert "town=Bonn, North = 0" not in text
    assert "left out: no value occurs twice" in text


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
    assert run("fit", tmp_path / "d.svm", *GAUSS, "--out", tmp_path / "m.json") == 0
    capsys.readouterr()
    told = run_json(capsys, "evaluate", tmp_path / "m.json", tmp_path / "d.svm")
    assert told["scores"]["accuracy"]["value"] > 0.8
    assert run("predict", tmp_path / "m.json", tmp_path / "d.svm", "--batch", 64, "--decision") == 0
    found = read_exactly(io.StringIO(capsys.readouterr().out))
    model = load_model(tmp_path / "m.json")
    assert list(found["label"]) == list(model.predict(X))
    names = [f"decision({i})" for i in range(3)] if multiclass else "decision"
    np.testing.assert_allclose(found[names], model.decision_function(X), rtol=1e-9)


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
    table = read_exactly(folder / "test.csv")
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


def test_rows_come_through_a_pipe(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (folder / "test.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("predict", folder / "m.json", "-") == 0
    found = read_exactly(io.StringIO(capsys.readouterr().out))
    table = read_exactly(folder / "test.csv").drop(columns="churned")
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
    found = read_exactly(io.StringIO(capsys.readouterr().out))
    model = load_model(tmp_path / "m.json")
    rows = [[0.0, 0.3, 1.0], [0.0, 0.9, 1.0]]
    np.testing.assert_allclose(found["p(1)"], model.predict_proba(rows)[:, 1], atol=1e-12)


@cache
def fitted(as_frame: bool) -> FCGBoostClassifier:
    """Give a classifier of two columns, with names or without."""
    X, y = make_simulation(150, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    return FCGBoostClassifier("gauss", random_state=0).fit(frame if as_frame else X, y)


def save_foreign(folder: Path, about: Any, as_frame: bool) -> tuple[Path, Path]:
    """Save a model of two columns from Python, and rows with more columns in another order."""
    X, y = make_simulation(150, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted(as_frame).save_model(folder / "m.json", about=about)
    if as_frame:
        frame.assign(extra="text", y=y)[["y", "b", "extra", "a"]].to_csv(
            folder / "rows.csv", index=False
        )
        return folder / "m.json", folder / "rows.csv"
    frame.assign(y=y).to_parquet(folder / "rows.parquet")
    return folder / "m.json", folder / "rows.parquet"


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
    clf = fitted(as_frame=False)
    assert told["scores"]["accuracy"]["value"] == clf.score(X, y)
    alone = rows
    if not as_frame:  # without names all columns are features
        alone = tmp_path / "alone.parquet"
        pd.read_parquet(rows).drop(columns="y").to_parquet(alone)
    assert run("predict", model, alone) == 0
    printed = capsys.readouterr()
    found = read_exactly(io.StringIO(printed.out))
    assert list(found["label"]) == list(clf.predict(X))
    assert printed.err == ""
    # Pictures take long, and are the same whatever the file says about the model.
    if about and "data" in about:
        assert run("report", model, rows, *target, "--out", tmp_path / "p.html") == 0
    assert run("export", model, "--to", "c") == 0
