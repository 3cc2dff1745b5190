"""What `fit` and `evaluate` say of a model: baseline, confusion matrix, influences."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from suites.commands import read_exactly, run, run_json
from suites.rows import write

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.cli.quality import Quality

pytestmark = pytest.mark.xdist_group("cli")


def quality(names: list[str], counts: list[list[int]]) -> Quality:
    return Quality({}, names, np.array(counts))


def printed(capsys: pytest.CaptureFixture[str], found: Quality) -> list[str]:
    capsys.readouterr()
    found.print()
    return capsys.readouterr().out.splitlines()


def test_evaluate_has_the_matrix_of_scikit_learn(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_json(capsys, "evaluate", folder / "m.json", folder / "test.csv")
    table = read_exactly(folder / "test.csv")
    y, classes = table["churned"], ["no", "yes"]
    labels = load_model(folder / "m.json").predict(table.drop(columns="churned"))
    counts = confusion_matrix(y, labels, labels=classes)
    assert told["confusion"] == {"classes": classes, "counts": counts.tolist()}
    for name, score in (("precision", precision_score), ("recall", recall_score)):
        expected = score(y, labels, average=None, labels=classes)
        np.testing.assert_allclose(list(told[name].values()), expected)
    most = y.value_counts()
    assert told["baseline"] == {"class": most.index[0], "accuracy": most.iloc[0] / len(y)}


def test_fit_tells_the_same_of_its_held_out_rows_and_the_file_keeps_the_baseline(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, rows = tmp_path / "m.json", tmp_path / "test.csv"
    command = ["fit", folder / "train.csv", "--target", "churned", "--dictionary", "gauss"]
    told = run_json(capsys, *command, "--out", out, "--test-out", rows)
    again = run_json(capsys, "evaluate", out, rows)
    for key in ("baseline", "confusion", "precision", "recall"):
        assert told["test"][key] == again[key]
    assert load_model(out).about_["test"]["baseline"] == again["baseline"]


def test_fit_prints_influences_of_columns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    command = ["fit", folder / "train.csv", "--target", "churned", "--dictionary", "gauss"]
    assert run(*command, "--out", out) == 0
    text = capsys.readouterr().out
    lines = text[text.index("The columns that matter most") :].splitlines()[3:6]
    model = load_model(out)
    found = zip(model.feature_names_in_, model.feature_importances_, strict=True)
    expected = {name: influence for name, influence in found if influence}
    assert [line.split()[0] for line in lines] == sorted(expected, key=lambda c: -expected[c])
    for line in lines:
        assert float(line.split()[1]) == pytest.approx(100 * expected[line.split()[0]], abs=0.05)


def test_a_matrix_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, quality(["no", "yes"], [[1200, 20], [35, 65]]))
    assert lines[0] == "Baseline (always no): accuracy 0.9242"
    assert lines[-4:] == [
        "              no    yes  recall",
        "no         1,200     20   0.984",
        "yes           35     65   0.650",
        "precision  0.972  0.765",
    ]


def test_long_names_are_numbered_and_cut(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a very long name of a class " * 3, "a very long name of another class", "c"]
    lines = printed(capsys, quality(names, np.diag([3, 4, 5]).tolist()))
    assert lines[-5].split() == ["1", "2", "3", "recall"]
    assert lines[-4].startswith("1 a very long name of a class a very lo...")
    assert lines[-3].startswith("2 a very long name of another class ")
    assert max(map(len, lines)) < 80


def test_a_class_that_is_never_predicted_has_no_precision(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = quality(["a", "b", "c"], [[2, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert found.by_class() == ([2 / 3, None, None], [1.0, 0.0, None])
    assert printed(capsys, found)[-1].split() == ["precision", "0.667", "-", "-"]


def test_of_many_classes_the_largest_confusions_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = np.diag(np.full(30, 50))
    counts[3, 7], counts[9, 2] = 12, 25
    lines = printed(capsys, quality([f"class {i}" for i in range(30)], counts.tolist()))
    assert [line.split() for line in lines[-3:]] == [
        ["true", "class", "predicted", "class", "rows", "recall"],
        ["class", "9", "class", "2", "25", "0.667"],
        ["class", "3", "class", "7", "12", "0.806"],
    ]


@pytest.mark.parametrize("labels", [["a", "b", "z"], [0, 1, 9], [True, False, "z"]])
def test_labels_that_are_no_class_have_a_row_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], labels: list[object]
) -> None:
    x = np.linspace(0.0, 1.0, 40)
    clf = FCGBoostClassifier("gauss", max_iter=3, random_state=0)
    clf.fit(x[:, None], np.where(x < 0.5, labels[0], labels[1]))
    save_model(clf, tmp_path / "m.json")
    table = pd.DataFrame({"x0": x, "y": [labels[0]] * 20 + [labels[1]] * 10 + [labels[2]] * 10})
    table.to_csv(tmp_path / "t.csv", index=False)
    command = ["evaluate", tmp_path / "m.json", tmp_path / "t.csv", "--target", "y"]
    told = run_json(capsys, *command)
    names = [str(value) for value in clf.classes_]
    assert told["confusion"]["classes"] == [*names, "(other)"]
    assert np.sum(told["confusion"]["counts"][2]) == 10
    assert list(told["recall"]) == names
    assert run(*command) == 0
    assert "\n(other)" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_report_gets_the_columns_that_the_model_leaves_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    table = read_exactly(folder / "test.csv")[:50]
    data = write(tmp_path / f"t.{suffix}", table)
    found = {}

    def keep(out: Path, model: object, X: pd.DataFrame, y: object, **rest: object) -> Path:
        found["X"] = X
        return data

    monkeypatch.setattr("fcgboost.web.write_model_report", keep)
    assert run("report", folder / "m.json", data, "--out", tmp_path / "r.html") == 0
    assert found["X"]["id"].tolist() == table["id"].tolist()
