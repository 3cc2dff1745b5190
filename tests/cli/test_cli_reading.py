"""Files of rows: every format is read whole and in batches, or it is said why it is not."""

import argparse
import datetime
import gzip
import io
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from pyarrow import feather, ipc, parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

from fcgboost import FCGBoostClassifier
from fcgboost.cli.reading import open_rows
from fcgboost.cli.rows import model_batches, read_rows
from fcgboost.cli.writing import write_rows
from fcgboost.tables import CategoryColumn, NumberColumn, TableEncoder

TABLES = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather", "ipc"]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mixed_frame(n_rows: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    town = rng.choice(np.array(["Ulm", "Köln", 'the "big", one', "two\nlines"]), n_rows)
    return pd.DataFrame(
        {
            "whole": rng.integers(-5, 5, n_rows),
            "number": rng.normal(size=n_rows),
            "gappy": np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            "town": pd.Series(town).where(rng.random(n_rows) < 0.8, None),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n_rows), "D"),
            "y": rng.choice(["yes", "no"], n_rows),
        }
    ).astype({"day": "datetime64[us]"})


def write(path: Path, frame: pd.DataFrame) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    assert write_rows(path, [table[:20], table[20:]]) == len(frame)
    return path


def read(path: Path, target: str = "y", drop: Sequence[str] = (), **options: Any) -> Any:
    with open_rows(path, **options) as rows:
        return rows.read(target, drop)


def encoded(path: Path, encoder: TableEncoder, n_rows: int = 7) -> np.ndarray:
    """Encode the batches of a file; only the last may have fewer rows."""
    with open_rows(path) as rows:
        columns = {one.name: one for one in encoder.columns_ if one.n_outputs}
        frames = [frame for frame, _ in rows.batches(columns, [], n_rows)]
    assert {len(frame) for frame in frames[:-1]} <= {n_rows}
    return np.vstack([encoder.transform(frame) for frame in frames])


def kept(path: Path, names: list[str], n_rows: int = 4) -> pa.Table:
    with open_rows(path) as rows:
        return pa.concat_tables([table for _, table in rows.batches({}, names, n_rows)])


@pytest.mark.parametrize("format", TABLES)
def test_what_was_written_is_read_whole_and_in_batches(tmp_path, format) -> None:
    frame = mixed_frame()
    path = write(tmp_path / f"rows.{format}", frame)
    X, y = read(path)
    assert_frame_equal(X, frame.drop(columns="y"))
    assert y.tolist() == frame["y"].tolist()
    assert list(read(path, drop=["town", "day"])[0]) == ["whole", "number", "gappy"]
    encoder = TableEncoder().fit(X)
    assert np.array_equal(encoded(path, encoder), encoder.transform(X))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_columns_that_are_not_there_are_named(tmp_path, format) -> None:
    path = write(tmp_path / f"rows.{format}", mixed_frame())
    with pytest.raises(ValueError, match=r"no column 'Towm'; did you mean 'town'\? The columns"):
        read(path, "Towm")
    with pytest.raises(ValueError, match=r"no column 'price'. The columns are whole, number"):
        read(path, drop=["price"])
    with pytest.raises(ValueError, match="target 'y' cannot be dropped"):
        read(path, drop=["y"])
    with pytest.raises(ValueError, match=r"no column 'Day'; did you mean 'day'\?"):
        encoded(path, TableEncoder().fit(pd.DataFrame({"Day": [1, 2]})))
    with pytest.raises(ValueError, match="no column 'id'"):
        kept(path, ["id"])


def test_columns_without_names_are_found_by_their_places(tmp_path) -> None:
    frame = mixed_frame()
    path = write(tmp_path / "rows.csv", frame)
    X, y = frame.drop(columns="y"), frame["y"]
    model = make_pipeline(TableEncoder(), FCGBoostClassifier("gauss", max_iter=2))
    model.fit(X.to_numpy(dtype=object), y)
    with open_rows(path) as rows:
        [(numbers, batch, _)] = model_batches(model, rows, target="y")
    assert np.array_equal(numbers, TableEncoder().fit_transform(X))
    assert list(batch) == list(X)
    with (
        pytest.raises(ValueError, match="has 6 columns, but the model was fitted to 5 columns wi"),
        open_rows(path) as rows,
    ):
        next(model_batches(model, rows))


# Text


@pytest.mark.parametrize("separator", list(",;\t|"))
@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_the_separator_is_found(tmp_path, separator, name) -> None:
    lines = ["a,b,y", '1,"x, y; z|\t",2.5', "2,w,3.5"]
    text = "\n".join(lines).replace('"x, y; z|\t"', "@").replace(",", separator)
    X, y = read(put(tmp_path, name, text.replace("@", '"x, y; z|\t"')))
    assert_frame_equal(X, pd.DataFrame({"a": [1, 2], "b": ["x, y; z|", "w"]}))
    assert y.tolist() == [2.5, 3.5]


def test_strays_among_numbers_with_decimal_commas_are_the_only_gaps(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.5, None, 2.5]}))
    path = put(tmp_path, "a.csv", "n;t\n1,5;x\nunknown;x\n-,25e1;x\n")
    assert encoded(path, encoder).tolist() == [[1.5, 0.0], [2.0, 1.0], [-2.5, 0.0]]


def test_truth_values_are_numbers_as_in_typed_files(tmp_path) -> None:
    truths = pd.DataFrame(
        {"a": [True, False, True], "b": [True, None, False], "n": [0.5, 1.5, 2.5]}
    )
    truths.assign(y=1).to_parquet(tmp_path / "a.parquet")
    typed = TableEncoder().fit(read(tmp_path / "a.parquet")[0])
    assert typed.columns_[:2] == (NumberColumn("a", 1.0, False), NumberColumn("b", 0.5, True))
    for yes, no in (("True", "False"), ("true", "false"), ("TRUE", "False")):
        text = f"a,b,n,y\n{yes},{yes},0.5,1\n{no},NA,1.5,1\n{yes.upper()},{no},2.5,1\n"
        path = put(tmp_path, "a.csv", text)
        X, _ = read(path)
        assert [X[name].dtype.kind for name in "ab"] == ["b", "f"]
        assert TableEncoder().fit(X).columns_ == typed.columns_
        assert np.array_equal(encoded(path, typed, 1), typed.transform(truths))
    assert read(put(tmp_path, "a.csv", "a,y\ntrue,1\n1,2\n"))[0]["a"].tolist() == ["true", "1"]


def test_texts_of_levels_are_compared_exactly(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["1", "A", "1.5"] * 2}))
    path = put(tmp_path, "a.csv", "c,n\n1,0\n01,0\n1.0,0\n1.50,0\n+1,0\nA,0\n")
    assert encoded(path, encoder).tolist() == [
        *([1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]),
    ]


def test_a_level_has_its_text_however_numbers_were_written(tmp_path) -> None:
    grades = pd.DataFrame({"grade": pd.Categorical([1, 2, None, 1, 2]), "n": range(5)})
    encoder = TableEncoder().fit(grades)
    assert encoder.columns_[0] == CategoryColumn("grade", ("1", "2"), False, True)
    for text in ("1,0\n2,1\n,2\n1,3\n2,4\n", "1.0,0\n2.0,1\nNaN,2\n1.0,3\n2.0,4\n"):
        path = put(tmp_path, "a.csv", "grade,n\n" + text)
        assert np.array_equal(encoded(path, encoder, 2), encoder.transform(grades))
    texts = TableEncoder().fit(pd.DataFrame({"grade": ["1.0", "x", "1.0", "x"], "n": range(4)}))
    path = put(tmp_path, "a.csv", "grade,n\n1.0,0\n1.0,1\n")
    assert encoded(path, texts)[:, 0].tolist() == [1.0, 1.0]


def test_one_stray_text_does_not_ruin_a_column_of_numbers(tmp_path) -> None:
    text = "n,y\n" + "".join(f"{i / 7},x\n" for i in range(99)) + "unknown,y\nsoon,y\n"
    path = put(tmp_path, "a.csv", text)
    X, _ = read(path)
    encoder = TableEncoder().fit(X)
    assert encoder.columns_[0] == NumberColumn("n", 7.0, True)
    assert "99 of 101 values are numbers; 'unknown', 'soon' count" in encoder.notes_[0]
    assert np.array_equal(encoded(path, encoder, 10), encoder.transform(X))


def test_fields_between_semicolons_may_have_decimal_commas(tmp_path) -> None:
    path = put(tmp_path, "a.csv", "a;b;c;y\n1,5;1;x,y;1\n-2,25e1;2,5;z;1\n3.5;;x;2\n")
    X, _ = read(path)
    assert X["a"].tolist() == [1.5, -22.5, 3.5]
    assert X["c"].tolist() == ["x,y", "z", "x"]
    encoder = TableEncoder(min_count=1).fit(X)
    assert np.array_equal(encoded(path, encoder, 1), encoder.transform(X))


@pytest.mark.parametrize("mark", ["", "NA", "N/A", "NaN", "null", "None", "?", " ? ", '"NA"'])
def test_marks_of_missing_values(tmp_path, mark) -> None:
    path = put(tmp_path, "a.csv", f"n,t,y\n1,x,0\n{mark},{mark},0\n3,z,0\n")
    X, _ = read(path)
    assert X["n"].dtype == np.float64
    assert X.isna().to_numpy().tolist() == [[0, 0], [1, 1], [0, 0]]
    encoder = TableEncoder(min_count=1).fit(X)
    assert np.array_equal(encoded(path, encoder), encoder.transform(X))


@pytest.mark.parametrize(
    "text",
    [
        *("a, y \n 1, x\n2 ,x \n", "\ufeffa,y\n1,x\n2,x", "a,y\r\n1,x\r\n\r\n2,x\r\n"),
        *("\n\na,y\n1,x\n\n2,x\n\n", "a,y\r1,x\r2,x\r", '"a","y"\n"1","x"\n2,x\n'),
    ],
)
def test_spaces_line_ends_marks_quotes_and_blank_lines_do_not_count(tmp_path, text) -> None:
    for content in (text.encode(), gzip.compress(text.encode(), mtime=0)):
        X, y = read(put(tmp_path, "a.csv", content))
        assert X.to_dict("list") == {"a": [1, 2]}
        assert y.tolist() == ["x", "x"]


def test_packed_text_is_known_by_its_bytes(tmp_path) -> None:
    assert read(put(tmp_path, "plain.csv.gz", "a,y\n1,x\n"))[0].shape == (1, 1)


def test_types_are_those_of_the_whole_file(tmp_path) -> None:
    text = "late,gap,real,day,hex,code,y\n" + "1,1,1,2020-01-01,0x10,007,0\n" * 5
    X, _ = read(put(tmp_path, "a.csv", text + "x,,1.5,2020-01-02 10:00,1,x1,0\n"))
    assert X["late"].tolist() == ["1"] * 5 + ["x"]
    assert [X[name].dtype.kind for name in ("gap", "real", "day")] == ["f", "f", "M"]
    assert X["hex"].tolist() == ["0x10"] * 5 + ["1"]
    assert X["code"].tolist() == ["007"] * 5 + ["x1"]
    assert read(put(tmp_path, "a.csv", "hex,y\n0x1F,1\n0x2,2\n"))[0]["hex"][0] == "0x1F"


def test_times_with_and_without_zones(tmp_path) -> None:
    text = "a,b,y\n2020-01-01T01:00:00+01:00,2020-01-01,1\n2020-01-01 12:00:00Z,,1\n"
    path = put(tmp_path, "a.csv", text)
    encoder = TableEncoder().fit(read(path)[0])
    assert encoder.columns_[0] == NumberColumn("a", 18262.25, False, "days")
    assert encoded(path, encoder)[:, 0].tolist() == [18262.0, 18262.5]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("four", r"after 2 rows: Column 'n', row 1 \(the first is 0\): 'four' is not a number"),
        ("inf", "after 2 rows: Column 'n', row 1 .*inf.* is infinite"),
        ("1e999", "after 2 rows: Column 'n', row 1 .*(inf|1e999).* is infinite"),
    ],
)
def test_what_is_no_number_is_named_with_its_row(tmp_path, format, cell, message) -> None:
    X = pd.DataFrame({"n": [1, 2, 3, 4], "t": ["x", "y"] * 2})
    model = make_pipeline(TableEncoder(), FCGBoostClassifier("gauss", max_iter=2))
    model.fit(X, [0, 1, 0, 1])
    rows = pd.DataFrame({"n": ["1", "2", "3", cell], "t": ["x\ny"] * 4})
    with (
        pytest.raises(ValueError, match=message),
        open_rows(write(tmp_path / f"a.{format}", rows)) as file,
    ):
        list(model_batches(model, file, n_rows=2))


@pytest.mark.parametrize("number", ["inf", "-1e999"])
def test_an_infinite_number_is_named_with_its_row(tmp_path, number) -> None:
    path = put(tmp_path, "a.csv", f'n,t,y\n1,"x\ny",1\n{number},x,0\n')
    with pytest.raises(ValueError, match=r"a\.csv, row 2, column 'n': the number is infinite"):
        read(path)
    assert list(read(path, drop=["n"])[0]) == ["t"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,y", "has no rows"),
        (b"a,y\n", "has no rows"),
        (b"a,y,a\n1,2,3\n", "two columns are named 'a'"),
        (b"1.5,2\n3,4\n", "holds numbers, not names; add a header line"),
        (b"1,1\n3,4\n", "holds numbers, not names"),
        (b'a,y\n1,2\n"x\ny",2\n3\n4,5\n', "row 3: 1 fields, but the header has 2"),
        (b"\na,y\n1,2\n\n3,4,5\n", "row 2: 3 fields, but the header has 2"),
        (b'a,y\n1,2\n1,"open\n2,3\n4,5\n', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,2\n"open,1\n2,3\n', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,2\n1,"open', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,"' + b"x\n" * 2_000_000, "a quote is opened and never closed"),
        ("a,y\n1,2\n1,é\n".encode("latin1"), "row 2: the text is not UTF-8; .* iconv -f LATIN1"),
        ("é,y\n1,2\n".encode("latin1"), "the text is not UTF-8"),
        (b"a,y\n" + b"1,2\n" * 400_000 + b"\xff,3\n", "row 400001: the text is not UTF-8"),
        ("a,y\n1,2\n".encode("utf-16"), "iconv -f UTF-16"),
        ("a,y\n1,é".encode()[:-1], "not UTF-8"),
        (gzip.compress(b"a,y\n" + b"1,2\n" * 9, mtime=0)[:-9], "is damaged"),
        (gzip.compress(bytes(range(256)) * 12, mtime=0)[:40], "is damaged"),
        (b"x" * (2**24 + 2**20 + 1), "does not end"),
    ],
)  # fmt: skip
def test_text_that_is_no_table_is_refused(tmp_path, content, message) -> None:
    path = put(tmp_path, "rows.csv", content)
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=message):
        kept(path, ["a", "y"])


def test_quotes_within_fields_are_no_quotes(tmp_path) -> None:
    X, _ = read(put(tmp_path, "a.csv", 'a,y\n5" pipe,0\n"6"" pipe\n",1\n'))
    assert X["a"].tolist() == ['5" pipe', '6" pipe']


def test_columns_may_be_numbered_and_one_may_have_no_name(tmp_path) -> None:
    for name, text, columns in (
        *(("a.csv", "0,1\n3,4\n", ("0", "1")), ("b.csv", ",a\n0,4\n", ("Unnamed: 0", "a"))),
        ("c.csv", "a\n1\n2\n", ("a",)),
    ):
        with open_rows(put(tmp_path, name, text)) as rows:
            assert rows.columns == columns
    assert kept(tmp_path / "c.csv", ["a"])["a"].to_pylist() == ["1", "2"]


fields = st.one_of(
    st.integers(-9, 9).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(str),
    st.sampled_from(["", "NA", "x", "a b", "1.0", "ü", "2020-01-01", 'say "hi"', "l\n2", "a,b"]),
)


@given(
    rows=st.lists(st.tuples(fields, fields, fields), min_size=2, max_size=20), n=st.integers(1, 7)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batches_of_text_are_the_whole(tmp_path, rows, n) -> None:
    table = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(d=range(len(rows)), y=1)
    table.to_csv(tmp_path / "a.csv", index=False)
    X, _ = read(tmp_path / "a.csv")
    assert len(X) == len(rows)
    encoder = TableEncoder(min_count=1).fit(X)
    assert np.array_equal(encoded(tmp_path / "a.csv", encoder, n), encoder.transform(X))


MEASURE = """
import sys
from pathlib import Path
import pyarrow as pa
from fcgboost.cli.reading import open_rows
from fcgboost.tables import NumberColumn
def peak():
    # Not ru_maxrss, which begins with the size of the process that started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
with open_rows(Path(sys.argv[1])) as rows:
    before = peak()
    if sys.argv[2] == "read":
        n = len(rows.read("t", ())[0])
    else:
        columns = {f"c{i}": NumberColumn(f"c{i}", 0.0, False) for i in range(8)}
        n = sum(len(frame) for frame, _ in rows.batches(columns, ["t"], 4096))
print(n, pa.default_memory_pool().max_memory(), (peak() - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_a_large_file_is_never_in_memory(tmp_path) -> None:
    line = ",".join(f"{i}.123456789" for i in range(8)) + f",{'some text ' * 15}\n"
    header = ",".join(f"c{i}" for i in range(8)) + ",t\n"
    path = put(tmp_path, "large.csv", header + line * 600_000)
    found = {}
    for how in ("batches", "read"):
        command = [sys.executable, "-c", MEASURE, str(path), how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        n, *memory = map(int, done.stdout.split())
        assert n == 600_000
        found[how] = [one / path.stat().st_size for one in memory]
    assert found["batches"][0] < 0.25
    assert found["read"][0] > 0.5
    # Tens of megabytes are taken for a file of any size.
    assert found["batches"][1] < found["read"][1] / 2


# Labels


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["None", "NA", "null", "nan", " ? "], ["None", "NA", "null", "nan", "?"]),
        (["1", "0", "NA"], ["1", "0", "NA"]),
        (["1", "", "0"], [1.0, None, 0.0]),
        (["a", "", "b"], ["a", None, "b"]),
        (["0", "1", "01"], [0, 1, 1]),
        (["1.5", "2"], [1.5, 2.0]),
        (["nan", "inf"], ["nan", "inf"]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
        (["True", "false", ""], ["True", "false", None]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
    ],
)
def test_labels_are_numbers_or_the_texts_they_are(tmp_path, texts, labels) -> None:
    path = put(tmp_path, "a.csv", "n,y\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    found = read(path)[1].tolist()
    assert [None if value != value else value for value in found] == labels
    with open_rows(path) as rows:
        parts = [rows.labels_in(table["y"]) for _, table in rows.batches({}, ["y"], 2)]
    found = np.concatenate(parts).tolist()
    assert ["" if value != value else value for value in found] == [t.strip() for t in texts]


def classes(path: Path) -> list[Any]:
    options = argparse.Namespace(data=path, format=None, target="y", drop=[])
    return read_rows(options)[1].tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "datetime64: classes are texts, numbers"),
        ([datetime.date(2020, 1, 1), None], "the type date"),
        (pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin"), "the type Timestamp"),
        (pd.to_timedelta([1, 2], unit="D"), "the type timedelta64"),
        ([b"a", b"b"], "the type bytes"),
        ([Decimal("1.5"), Decimal(2)], "the type Decimal"),
        ([[1], [2]], "the type ndarray"),
        ([1.0, np.inf], "The target 'y' holds an infinite number, which is no class"),
    ],
)
def test_what_cannot_be_a_class_is_named(tmp_path, values, message) -> None:
    pd.DataFrame({"n": [1, 2], "y": values}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        classes(tmp_path / "a.parquet")


def test_an_empty_text_is_no_label(tmp_path) -> None:
    pd.DataFrame({"n": [1, 2, 3], "y": ["a", "", "b"]}).to_parquet(tmp_path / "a.parquet")
    assert classes(tmp_path / "a.parquet") == ["a", "b"]


# Columns that are kept


def test_kept_columns_are_exactly_the_text_of_the_file(tmp_path) -> None:
    ids = ["12345678901234567", "162", " 007 ", "NA", "1.50", ""]
    text = "id,n,when\n" + "".join(f"{one},{i},2020-01-0{i + 1}\n" for i, one in enumerate(ids))
    table = kept(put(tmp_path, "a.csv", text), ["when", "id"])
    assert table.column_names == ["when", "id"]
    assert table["id"].to_pylist() == ids


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_kept_columns_keep_their_types(tmp_path, format) -> None:
    table = pa.table(
        {
            "id": pa.array([12345678901234567, None, 3]),
            "code": pa.array(["a", "b", "a"]).dictionary_encode(),
            "day": pa.array([datetime.date(2020, 1, 31)] * 3),
            "n": [1.5, 2.5, 3.5],
        }
    )
    path = tmp_path / f"a.{format}"
    if format == "parquet":
        parquet.write_table(table, path)
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    found = kept(path, ["id", "code", "day"], 2)
    write_rows(tmp_path / "b.csv", [found[:2], found[2:]])
    assert (tmp_path / "b.csv").read_text() == (
        "id,code,day\n12345678901234567,a,2020-01-31\n,b,2020-01-31\n3,a,2020-01-31\n"
    )
    write_rows(tmp_path / "b.parquet", [found[:2], found[2:]])
    again = parquet.read_table(tmp_path / "b.parquet")
    assert again["id"].to_pylist() == [12345678901234567, None, 3]


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
    encoder = TableEncoder().fit(frame)
    frame.assign(y=1).to_parquet(tmp_path / "a.parquet", row_group_size=5)
    feather.write_feather(frame.assign(y=1), tmp_path / "a.feather", chunksize=5)
    for name in ("a.parquet", "a.feather"):
        assert TableEncoder().fit(read(tmp_path / name)[0]).columns_ == encoder.columns_
        assert np.array_equal(encoded(tmp_path / name, encoder, 4), encoder.transform(frame))


def test_names_of_rows_are_no_column(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]}, index=pd.Index(["p", "q"], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert_frame_equal(read(tmp_path / "a.parquet")[0], pd.DataFrame({"a": [1, 2]}))


def test_arrow_may_be_a_stream(tmp_path) -> None:
    table = pa.table({"a": [1, 2, 3], "y": ["x", None, "y"]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path / "a.arrow")[0]["a"].tolist() == [1, 2, 3]
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


# NumPy's archives


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_with_names(tmp_path, save, order) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(10, 3)), order=order)
    y = np.array(list("abcabcabca"))
    save(tmp_path / "a.npz", X=X, y=y, feature_names=np.array(["p", "q", "r"]))
    with open_rows(tmp_path / "a.npz") as rows:
        assert rows.columns == ("p", "q", "r", "y")
        assert rows.default_target == "y"
        X_read, y_read = rows.read("y", ())
    assert np.array_equal(X_read, X)
    assert y_read.tolist() == y.tolist()


def test_arrays_without_names(tmp_path) -> None:
    X = np.arange(12, dtype=np.int32).reshape(6, 2)
    np.savez(tmp_path / "a.npz", X=X)
    encoder = TableEncoder().fit(pd.DataFrame(X, columns=["x0", "x1"]))
    assert np.array_equal(encoded(tmp_path / "a.npz", encoder, 4), X)
    assert kept(tmp_path / "a.npz", ["x1"])["x1"].to_pylist() == [1, 3, 5, 7, 9, 11]
    np.savez(tmp_path / "texts.npz", X=np.array([["a", "1"], ["b", ""]]), y=[0, 1])
    assert TableEncoder(min_count=1).fit(read(tmp_path / "texts.npz")[0]).columns_ == (
        CategoryColumn("x0", ("a", "b"), False, False),
        CategoryColumn("x1", ("1",), False, True),
    )


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "must be an array X of two dimensions"),
        ({"X": np.ones(3)}, "must be an array X of two dimensions"),
        ({"X": np.ones((0, 3))}, "must be an array X of two dimensions"),
        ({"X": np.eye(2), "y": np.ones(3)}, "cannot be read"),
        ({"X": np.eye(2), "y": np.eye(2)}, "1-dimensional"),
        ({"X": np.eye(2), "feature_names": np.array(["a"])}, "cannot be read"),
        ({"X": np.eye(2), "feature_names": np.array(["a", "a"])}, "two columns are named 'a'"),
        ({"X": np.array([[1, None]], dtype=object)}, "Object arrays cannot be loaded"),
    ],
)
def test_archives_that_are_no_table_are_refused(tmp_path, arrays, message) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=rf"a\.npz.*{message}"):
        read(tmp_path / "a.npz")


def test_damaged_archives_are_refused(tmp_path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(100, 5)))
    whole = path.read_bytes()
    broken = bytearray(whole)
    broken[1000] ^= 255
    for content in (b"", b"PK", whole[:500], bytes(broken)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npz is damaged"):
            read(path)


def write_header(path: Path, shape: tuple[int, int], data: bytes) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + data)


def test_archives_that_promise_or_hold_too_much_are_refused(tmp_path, monkeypatch) -> None:
    write_header(tmp_path / "a.npz", (10**9, 10), b"\0" * 800)
    with pytest.raises(ValueError, match=r"a\.npz cannot be read"):
        read(tmp_path / "a.npz")
    monkeypatch.setattr("fcgboost.cli.reading._MUCH", 2**20)
    write_header(tmp_path / "a.npz", (2**18, 2), b"\0" * 2**22)
    with pytest.raises(ValueError, match="is refused: it would unpack to"):
        read(tmp_path / "a.npz")


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
        assert rows.is_sparse
        assert rows.first_index == (0 if is_zero_based else 1)
        assert np.allclose(rows.matrix.toarray(), X, rtol=1e-15)
        assert rows.labels.tolist() == y.tolist()
        assert rows.labels.dtype == np.int64


def test_sparse_rows_have_the_width_of_the_model_and_no_named_columns(tmp_path) -> None:
    with open_rows(put(tmp_path, "a.svm", "1 2:1\n-1 4:1 # four\n\n0.5\n")) as rows:
        assert rows.matrix.shape == (3, 4)
        assert rows.labels.tolist() == [1.0, -1.0, 0.5]
        with pytest.raises(ValueError, match="has 4 features, but the model knows 3"):
            rows.with_features(3)
        assert rows.with_features(9).shape == (3, 9)
        with pytest.raises(ValueError, match="sparse rows have no named columns"):
            rows.check_columns(["y"])


def test_later_sparse_rows_count_from_where_the_first_did(tmp_path) -> None:
    first = put(tmp_path, "first.svm", "1 0:1 2:1\n-1 1:1\n")
    later = put(tmp_path, "later.svm", "1 2:1\n-1 1:1\n")
    for first_index, expected in ((0, [[0, 0, 1], [0, 1, 0]]), (None, [[0, 1], [1, 0]])):
        with open_rows(later, first_index=first_index) as rows:
            assert rows.matrix.toarray().tolist() == expected
    with (
        pytest.raises(ValueError, match="has the index 0, but its indices should count from 1"),
        open_rows(first, first_index=1),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no rows"),
        (b"# nothing\n", "has no rows"),
        (b"1 1:1\n1 2:x\n", "cannot be read as svmlight: .*'x'"),
        (b"1 1:1\n\n1 3:1 2:1\n", "sorted"),
        (b"a b c\n", "cannot be read as svmlight"),
        (b"1 1:nan\n", "no finite number"),
        (gzip.compress(b"1 1:1\n" * 99, mtime=0)[:-9], "is damaged"),
    ],
)
def test_damaged_sparse_rows_are_refused(tmp_path, content, message) -> None:
    with pytest.raises(ValueError, match=message), open_rows(put(tmp_path, "a.svm", content)):
        pass


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_of_scipy(tmp_path, format) -> None:
    X = sparse.random_array((10, 4), density=0.4, random_state=0)
    sparse.save_npz(tmp_path / "a.npz", X.asformat(format))
    with open_rows(tmp_path / "a.npz") as rows:
        assert rows.is_sparse
        assert np.array_equal(rows.with_features(6).toarray()[:, :4], X.toarray())
    with pytest.raises(ValueError, match="has no labels: save both in one file"):
        classes(tmp_path / "a.npz")


def test_damaged_sparse_matrices_are_refused(tmp_path) -> None:
    parts = {"shape": [2, 2], "data": [1.0, 2.0], "indptr": [0, 1, 2], "format": b"csc"}
    for change in (
        *({"indices": [0, 9]}, {"indices": [0, 1], "shape": [0, 2]}, {}, {"format": b"x"}),
        {"data": [1.0, np.inf], "indices": [0, 1]},
    ):
        np.savez(tmp_path / "a.npz", **{**parts, **change})
        message = r"cannot be read|has no rows|no finite number"
        with pytest.raises(ValueError, match=message), open_rows(tmp_path / "a.npz"):
            pass


# Names, bytes and pipes


@pytest.mark.parametrize("format", [*TABLES, "npz", "svm", "svm.gz"])
def test_a_format_is_known_by_its_bytes_where_the_name_tells_nothing(tmp_path, format) -> None:
    path = tmp_path / f"rows.{format}"
    if format == "npz":
        np.savez(path, X=np.eye(3), y=np.arange(3))
    elif format.startswith("svm"):
        content = b"# by hand\n+1 3:1 11:.5 # one\n-1\n\n-1 qid:3 4:1e-3\t19:-1\n"
        path.write_bytes(gzip.compress(content, mtime=0) if format == "svm.gz" else content)
    else:
        write(path, mixed_frame())
    with open_rows(path) as known:
        pass
    for name in ("rows", "rows.t", "rows.data"):
        path = path.rename(tmp_path / name)
        with open_rows(path) as rows:
            assert (rows.columns, rows.is_sparse) == (known.columns, known.is_sparse)


def test_a_format_may_be_named(tmp_path) -> None:
    with open_rows(put(tmp_path, "a.data", "a\tb,c\n1\t2\n"), format="tsv") as rows:
        assert rows.columns == ("a", "b,c")
    with open_rows(put(tmp_path, "a.csv", "1 2:1\n-1 3:1\n"), format="svmlight") as rows:
        assert rows.matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
        assert rows.labels.tolist() == [1, -1]


def test_what_has_no_known_format_is_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    for path in (tmp_path / "a.xlsx", put(tmp_path, "a.h5", b"\x89HDF\r\n\x1a\n\0\0")):
        with pytest.raises(ValueError, match=r"tell the format.* Save a workbook as CSV first"):
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
    with pytest.raises(ValueError, match=r"^standard input, row 2: 1 fields"):
        read(Path("-"))


def test_files_need_their_extra() -> None:
    script = "import sys; sys.modules['pyarrow'] = None; import fcgboost.cli.rows"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "fcgboost[tables]" in done.stderr
