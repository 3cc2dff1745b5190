"""What `fit` and `evaluate` say of a model: baseline, confusion matrix, influences."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from fcgboost import FCGBoostClassifier, load_model, save_model
from tests.suites.commands import read_exactly, run, run_json

pytestmark = pytest.mark.xdist_group("cli")


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
