"""Rows of a file as a model takes them, whole and in batches."""

from pathlib import Path

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.rows import model_batches, open_rows, read_table
from fcgboost.rows.batches import Lost, labelled_batches
from tests.suites.rows import mixed_frame, put, write


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_batches_predict_as_the_whole_table_does(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"rows.{suffix}", mixed_frame())
    X, y = read_table(path, "y")
    clf = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(X, y)
    with open_rows(path) as rows:
        batches = list(model_batches(clf, rows, keep=["whole"], n_rows=7))
    assert [len(batch.X) for batch in batches] == [7] * 7 + [1]
    decision = np.concatenate([batch.decision for batch in batches])
    np.testing.assert_array_equal(decision, clf.decision_function(X))
    whole = np.concatenate([batch.kept["whole"].to_numpy() for batch in batches])
    np.testing.assert_array_equal(whole.astype(int), X["whole"])  # kept as the file has it
    np.testing.assert_array_equal(clf.labels_of(decision), clf.predict(X))


def test_rows_without_a_known_label_are_counted(tmp_path: Path) -> None:
    X = np.arange(20.0)[:, None]
    clf = FCGBoostClassifier("linear", max_iter=1).fit(X, ["a"] * 10 + ["b"] * 10)
    path = put(tmp_path, "rows.csv", "x,y\n1,a\n2,\n3,c\n19,b\n")
    told: list[str] = []
    lost = Lost()
    with open_rows(path, tell=told.append) as rows:
        batches = list(labelled_batches(clf, rows, lost, target="y"))
    assert np.concatenate([batch.y for batch in batches]).tolist() == ["a", "c", "b"]
    assert (lost.rows_without_target, lost.unknown_labels) == (1, {"c"})
    assert told[0] == "Rows skipped because they have no target: 1. It is row 2."
    assert told[1] == "Labels that the model does not know count as errors: c."
