"""Files of rows: every format is read whole and in batches, or it is said why it is not."""

import gzip
import io
import os
import threading
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal
from pyarrow import feather, ipc
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from fcgboost import FCGBoostClassifier
from fcgboost.rows.batches import model_batches
from tests.suites.rows import (
    TABLES,
    encoded,
    kept,
    mixed_frame,
    open_rows,
    put,
    read,
    write,
)
from tests.suites.tables import Encoder


@pytest.mark.parametrize("format", TABLES)
def test_what_was_written_is_read_whole_and_in_batches(tmp_path, format) -> None:
    frame = mixed_frame()
    path = write(tmp_path / f"rows.{format}", frame)
    X, y = read(path)
    assert_frame_equal(X, frame.drop(columns="y"))
    assert y.tolist() == frame["y"].tolist()
    assert list(read(path, drop=["town", "day"])[0]) == ["whole", "number", "gappy"]
    encoder = Encoder().fit(X)
    assert np.array_equal(encoded(path, encoder), encoder.transform(X))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_columns_that_are_not_there_are_named(tmp_path, format) -> None:
    path = write(tmp_path / f"rows.{format}", mixed_frame())
    with pytest.raises(ValueError, match=r"no column 'Towm'; did you mean 'town'\? The columns"):
        read(path, "Towm")
    with pytest.raises(ValueError, match=r"no column 'price'. The columns are whole, number"):
        read(path, drop=["price"])
    with pytest.raises(ValueError, match=r"no column 'Day'; did you mean 'day'\?"):
        encoded(path, Encoder().fit(pd.DataFrame({"Day": [1, 2]})))
    with pytest.raises(ValueError, match="no column 'id'"):
        kept(path, ["id"])


def test_columns_without_names_are_found_by_their_places(tmp_path) -> None:
    frame = mixed_frame()
    path = write(tmp_path / "rows.csv", frame)
    X, y = frame.drop(columns="y"), frame["y"]
    fitted = FCGBoostClassifier("gauss", max_iter=2).fit(X.to_numpy(dtype=object), y)
    with open_rows(path) as rows:
        [batch] = model_batches(fitted, rows, target="y")
    assert np.array_equal(batch.decision, fitted.decision_function(X.to_numpy(dtype=object)))
    assert np.array_equal(fitted.decision_function(batch.X), batch.decision)
    with (
        pytest.raises(ValueError, match="has 6 columns, but the model was fitted to 5 colu"),
        open_rows(path) as rows,
    ):
        next(model_batches(fitted, rows))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_classifier_of_a_table_finds_its_columns_by_name(tmp_path, format, capsys) -> None:
    frame = mixed_frame().assign(id=[f"p{i}" for i in range(50)])
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(frame.drop(columns="y"), frame["y"])
    expected = clf.decision_function(frame.drop(columns="y"))
    # The names of rows tell nothing: a later file need not have them.
    later = frame[["y", "day", "town", "gappy", "number", "whole"]].assign(more=1)
    with open_rows(write(tmp_path / f"a.{format}", later)) as rows:
        found = [batch.decision for batch in model_batches(clf, rows, n_rows=7)]
    assert np.array_equal(np.concatenate(found), expected)
    assert capsys.readouterr().err == ""
    path = write(tmp_path / f"b.{format}", frame.rename(columns={"town": "Town"}))
    with (
        pytest.raises(ValueError, match=r"no column 'town'; did you mean 'Town'\?"),
        open_rows(path) as rows,
    ):
        next(model_batches(clf, rows))


# Parquet and Arrow


def test_typed_columns_keep_their_kinds(tmp_path) -> None:
    frame = pd.DataFrame(
        {
            "code": pd.Categorical([1, 2, None, 1] * 3),
            "flag": pd.Series([True, None, False, True] * 3, dtype="boolean"),
            "zoned": pd.date_range("2020-01-01", periods=12, tz="Europe/Berlin"),
            "small": pd.Series([1, None, 3, 4] * 3, dtype="Int8"),
        }
    )
    encoder = Encoder().fit(frame)
    frame.assign(y=1).to_parquet(tmp_path / "a.parquet", row_group_size=5)
    feather.write_feather(frame.assign(y=1), tmp_path / "a.feather", chunksize=5)
    for name in ("a.parquet", "a.feather"):
        assert Encoder().fit(read(tmp_path / name)[0]).columns_ == encoder.columns_
        assert np.array_equal(encoded(tmp_path / name, encoder, 4), encoder.transform(frame))


def test_names_of_rows_are_no_column(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]}, index=pd.Index(["p", "q"], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert_frame_equal(read(tmp_path / "a.parquet")[0], pd.DataFrame({"a": [1, 2]}))


def test_arrow_may_be_a_stream(tmp_path) -> None:
    table = pa.table({"a": [1, 2, 3], "y": ["x", None, "y"]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path / "a.arrow")[0]["a"].tolist() == [1, 3]  # a row has no label
    assert kept(tmp_path / "a.arrow", ["a"], 2)["a"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_damaged_typed_files_are_refused(tmp_path, name) -> None:
    frame = pd.DataFrame({"y": np.arange(5000.0), "b": [f"text {i}" for i in range(5000)]})
    path = write(tmp_path / name, frame)
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[: len(whole) // 2], whole[100:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.\w+ is damaged, or not of its format"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / f"no{path.suffix}")


def test_typed_files_without_rows_or_with_a_name_twice(tmp_path) -> None:
    table = pa.table([[1], [2]], names=["y", "y"])
    with ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="two columns are named 'y'"):
        read(tmp_path / "a.arrow")
    pd.DataFrame({"y": [1]})[:0].to_parquet(tmp_path / "a.parquet")
    for how in (read, lambda path: kept(path, ["y"])):
        with pytest.raises(ValueError, match="has no rows"):
            how(tmp_path / "a.parquet")


# Sparse rows


@pytest.mark.parametrize("format", ["svm", "libsvm", "svmlight", "svm.gz"])
@pytest.mark.parametrize("is_zero_based", [True, False])
def test_sparse_rows(tmp_path, format, is_zero_based) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.4)
    X[0, 0] = X[7, 5] = 1.0
    y = np.where(np.arange(20) % 3, 1, -1)
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=is_zero_based)
    is_packed = format == "svm.gz"
    content = gzip.compress(text.getvalue(), mtime=0) if is_packed else text.getvalue()
    with open_rows(put(tmp_path, f"a.{format}", content)) as rows:
        assert rows.matrix is not None
        assert rows.first_index == (0 if is_zero_based else 1)
        assert np.allclose(rows.matrix.toarray(), X, rtol=1e-15)
        assert rows.labels.tolist() == y.tolist()
        assert rows.labels.dtype == np.int64


def test_sparse_rows_have_the_width_of_the_model_and_no_named_columns(tmp_path) -> None:
    with open_rows(put(tmp_path, "a.svm", "1 2:1\n-1 4:1 # four\n\n0.5\n")) as rows:
        assert rows.matrix.shape == (3, 4)
        assert rows.labels.tolist() == [1.0, -1.0, 0.5]
        narrow, wide = (FCGBoostClassifier("linear", max_iter=1) for _ in range(2))
        narrow.fit(sparse.eye(3, format="csr"), [0, 1, 0])
        with pytest.raises(ValueError, match="has 4 features, but the model knows 3"):
            next(model_batches(narrow, rows))
        wide.fit(sparse.eye(9, format="csr"), [0, 1, 0] * 3)
        assert next(model_batches(wide, rows)).X.shape == (3, 9)
        with pytest.raises(ValueError, match="sparse rows have no column names"):
            rows.check_columns(["y"])


def test_later_sparse_rows_count_from_where_the_first_did(tmp_path) -> None:
    first = put(tmp_path, "first.svm", "1 0:1 2:1\n-1 1:1\n")
    later = put(tmp_path, "later.svm", "1 2:1\n-1 1:1\n")
    for first_index, expected in ((0, [[0, 0, 1], [0, 1, 0]]), (None, [[0, 1], [1, 0]])):
        with open_rows(later, like={"first_index": first_index}) as rows:
            assert rows.matrix.toarray().tolist() == expected
    with (
        pytest.raises(ValueError, match="has the index 0, but the model's indices count from 1"),
        open_rows(first, like={"first_index": 1}),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no rows"),
        (b"# nothing\n", "has no rows"),
        (b"1 1:1\n1 2:x\n", r"a\.svm cannot be used: .*'x'"),
        (b"1 1:1\n\n1 3:1 2:1\n", "sorted"),
        (b"a b c\n", r"a\.svm cannot be used"),
        (b"1 1:nan\n", "a label or a value that is not a finite number"),
        (b"inf 1:1\n", "a label or a value that is not a finite number"),
        (gzip.compress(b"1 1:1\n" * 99, mtime=0)[:-9], "is damaged"),
    ],
)
def test_damaged_sparse_rows_are_refused(tmp_path, content, message) -> None:
    with pytest.raises(ValueError, match=message), open_rows(put(tmp_path, "a.svm", content)):
        pass


# Names, bytes and pipes


@pytest.mark.parametrize("format", [*TABLES, "svm", "svm.gz"])
def test_a_format_is_known_by_its_bytes_where_the_name_tells_nothing(tmp_path, format) -> None:
    path = tmp_path / f"rows.{format}"
    if format.startswith("svm"):
        content = b"# by hand\n+1 3:1 11:.5 # one\n-1\n\n-1 qid:3 4:1e-3\t19:-1\n"
        path.write_bytes(gzip.compress(content, mtime=0) if format == "svm.gz" else content)
    else:
        write(path, mixed_frame())
    with open_rows(path) as known:
        pass
    for name in ("rows", "rows.t", "rows.data"):
        path = path.rename(tmp_path / name)
        with open_rows(path) as rows:
            assert rows.columns == known.columns
            assert (rows.matrix is None) == (known.matrix is None)


def test_a_format_may_be_named(tmp_path) -> None:
    with open_rows(put(tmp_path, "a.data", "a\tb,c\n1\t2\n"), format="tsv") as rows:
        assert rows.columns == ("a", "b,c")
    with open_rows(put(tmp_path, "a.csv", "1 2:1\n-1 3:1\n"), format="svmlight") as rows:
        assert rows.matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
        assert rows.labels.tolist() == [1, -1]


def test_what_has_no_known_format_is_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    for path in (tmp_path / "a.zip", put(tmp_path, "a.h5", b"\x89HDF\r\n\x1a\n\0\0")):
        with pytest.raises(ValueError, match=r"tell the format.* Save an .xls workbook as .xlsx"):
            read(path)
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read(tmp_path)
    with pytest.raises(ValueError, match="is damaged, or not of its format"):
        read(put(tmp_path, "a.parquet.gz", gzip.compress(b"PAR1")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("format", ["csv", "csv.gz", "parquet", "arrow"])
def test_rows_come_through_a_pipe(tmp_path, format) -> None:
    frame, pipe = mixed_frame(), tmp_path / "pipe"
    content = write(tmp_path / f"rows.{format}", frame).read_bytes()
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    X, _ = read(pipe)
    writer.join(60)
    assert_frame_equal(X, frame.drop(columns="y"))


def test_rows_come_from_the_standard_input(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,p\n2,q\n")))
    X, y = read(Path("-"))
    assert X["a"].tolist() == [1, 2]
    assert y.tolist() == ["p", "q"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,p\n2\n")))
    with pytest.raises(ValueError, match=r"^standard input, row 2: expected 2 fields"):
        read(Path("-"))


def lines(path: Path, **options: str) -> list[int]:
    with open_rows(path, **options) as rows:
        rows.read()
        return list(rows.lines())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n3,4\n", [2, 3]),
        ("a,b\r\n1,2\r\n3,4", [2, 3]),
        ("a,b\r1,2\r3,4\r", [2, 3]),
        ("\n\na,b\n\n1,2\n\n\n3,4\n\n", [5, 8]),
        ('a,b\n"x\ny\r\nz",2\n3,4\n', [2, 5]),
        ('a,"b\nc"\n1,"2 ""\n"""\n3,4\n', [3, 5]),
        ('a,b\n1,it"s\n3,4\n', [2, 3]),
        ("\ufeffa;b\n1;2\n3;4\n", [2, 3]),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "packed", "utf-16"])
def test_rows_of_text_have_the_lines_at_which_they_begin(tmp_path, text, expected, kind) -> None:
    content = text.encode("utf-8" if kind != "utf-16" else "utf-16")
    path = put(tmp_path, "t.csv", gzip.compress(content) if kind == "packed" else content)
    assert lines(path) == expected


def test_lines_that_cannot_be_told_are_fewer_than_rows(tmp_path) -> None:
    long = "x" * 200_000  # too long for the csv module
    assert lines(put(tmp_path, "t.csv", f"a,b\n1,2\n{long},4\n5,6\n")) == [2]


def test_rows_of_sheets_and_sparse_rows_have_lines(tmp_path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for line in [[], ["a", "b"], [1, 2], [], [3, 4]]:
        book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    assert lines(tmp_path / "t.xlsx") == [3, 5]
    text = "# made by hand\n1 1:2\n\n0 2:1 # a remark\n1\n"
    assert lines(put(tmp_path, "t.svm", text)) == [2, 4, 5]


@pytest.mark.parametrize("format", TABLES)
def test_an_opened_file_can_be_read_twice(tmp_path, format) -> None:
    path = write(tmp_path / f"rows.{format}", mixed_frame())
    with open_rows(path) as rows:
        first, _ = rows.read()
        assert_frame_equal(rows.read()[0], first)
        has_lines = "csv" in format or "tsv" in format
        assert len(rows.lines()) == (50 if has_lines else 0)
