"""An opened file of rows: its labels."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.suites.rows import classes, open_rows, put, read


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["None", "NA", "null", "nan", " ? "], ["None", "NA", "null", "nan", "?"]),
        (["1", "0", "NA"], ["1", "0", "NA"]),
        (["1", "", "0"], [1, 0]),
        (["a", "", "b"], ["a", "b"]),
        (["0", "1", "01"], [0, 1, 1]),
        (["1.5", "2"], [1.5, 2.0]),
        (["nan", "inf"], ["nan", "inf"]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
        (["True", "false", ""], ["True", "false"]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
    ],
)
def test_labels_are_numbers_or_the_texts_they_are(tmp_path, texts, labels) -> None:
    path = put(tmp_path, "a.csv", "n,y\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    assert read(path)[1].tolist() == labels
    with open_rows(path) as rows:
        parts = [rows.labels_in(table["y"]) for _, table in rows.batches({}, ["y"], 2)]
    found = np.concatenate(parts).tolist()
    assert [value if isinstance(value, str) else "" for value in found] == [
        text.strip() for text in texts
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "datetime64: it must hold texts"),
        ([datetime.date(2020, 1, 1), None], "the type date"),
        (pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin"), "the type Timestamp"),
        (pd.to_timedelta([1, 2], unit="D"), "the type timedelta64"),
        ([b"a", b"b"], "the type bytes"),
        ([Decimal("1.5"), Decimal(2)], "the type Decimal"),
        ([[1], [2]], "cells of column 'y' hold several values: leave the column out"),
        ([1.0, np.inf], "The target holds an infinite number, which cannot be predicted"),
    ],
)
def test_what_cannot_be_a_class_is_named(tmp_path, values, message) -> None:
    pd.DataFrame({"n": [1, 2], "y": values}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        classes(tmp_path / "a.parquet")


def test_an_empty_text_is_no_label(tmp_path) -> None:
    pd.DataFrame({"n": [1, 2, 3], "y": ["a", "", "b"]}).to_parquet(tmp_path / "a.parquet")
    assert classes(tmp_path / "a.parquet") == ["a", "b"]
