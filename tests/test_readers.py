"""Files of rows: every form gives back what was written, in batches as at once, or says why not."""

import datetime
import gzip
import io
import os
import subprocess
import sys
import threading
import zipfile
from decimal import Decimal
from pathlib import Path

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

from fcgboost.readers import open_rows, read_table, write_rows
from fcgboost.tables import CategoryColumn, NumberColumn, TableEncoder

FRAME_FORMS = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather", "ipc"]


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


def joined(rows, **options) -> pd.DataFrame:
    batches = list(rows.batches(**options))
    assert all(len(batch) <= rows.batch_rows for batch in batches)
    return pd.concat(batches)


@pytest.mark.parametrize("form", FRAME_FORMS)
def test_what_was_written_is_read(tmp_path, form) -> None:
    frame, path = mixed_frame(), tmp_path / f"rows.{form}"
    assert write_rows(path, [frame[:20], frame[20:]]) == 50
    rows = open_rows(path, batch_rows=7)
    assert rows.names == tuple(frame)
    assert not rows.is_sparse
    assert_frame_equal(rows.read(), frame)
    assert_frame_equal(joined(rows), frame)
    assert_frame_equal(joined(rows, columns=["y", "whole"]), frame[["y", "whole"]])
    assert [path.name for path in tmp_path.iterdir()] == [f"rows.{form}"]


@pytest.mark.parametrize("form", FRAME_FORMS)
def test_the_target_is_parted_from_the_rows(tmp_path, form) -> None:
    frame, path = mixed_frame(), tmp_path / f"rows.{form}"
    write_rows(path, [frame])
    X, y = read_table(path, "y")
    assert_frame_equal(X, frame.drop(columns="y"))
    assert y.tolist() == frame["y"].tolist()
    with pytest.raises(ValueError, match=r"no column 'Towm': is 'town' meant\? The columns are"):
        read_table(path, "Towm")
    with pytest.raises(ValueError, match="no column 'price'; the columns are 'whole', 'number'"):
        read_table(path, "price")
    with pytest.raises(ValueError, match=r"Name the target of .*: the columns are 'whole'"):
        read_table(path, None)


@pytest.mark.parametrize("form", FRAME_FORMS)
def test_rows_for_an_encoder_are_encoded_as_the_whole_is(tmp_path, form) -> None:
    frame, path = mixed_frame(), tmp_path / f"rows.{form}"
    write_rows(path, [frame])
    encoder = TableEncoder().fit(frame.drop(columns="y"))
    rows = open_rows(path, batch_rows=7)
    numbers = encoder.transform(frame)
    for options in ({}, {"target": "y"}):
        batches = list(rows.batches(encoder=encoder, **options))
        assert np.array_equal(np.vstack([encoder.transform(batch) for batch in batches]), numbers)
    assert np.array_equal(encoder.transform(rows.read(encoder=encoder)), numbers)
    nameless = TableEncoder().fit(frame.drop(columns="y").to_numpy(dtype=object))
    X, _ = rows.split_target(rows.read(encoder=nameless, target="y"), "y")
    assert np.array_equal(nameless.transform(X), numbers)


def test_columns_an_encoder_does_not_know_keep_their_text(tmp_path) -> None:
    path = put(tmp_path, "rows.csv", "id,n,y\n007,1,0\n1.50,2,1\n")
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1, 2]}))
    frame = open_rows(path).read(encoder=encoder, target="y")
    assert frame["id"].tolist() == ["007", "1.50"]
    assert frame["n"].tolist() == [1.0, 2.0]
    assert frame["y"].tolist() == [0, 1]
    assert frame["y"].dtype == np.int64


def test_a_file_that_lacks_a_column_of_the_encoder(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1, 2], "fixed": [1, 1]}))
    path = put(tmp_path, "rows.csv", "Age,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no column 'age': is 'Age' meant\?"):
        next(open_rows(path).batches(encoder=encoder))
    nameless = TableEncoder().fit(np.eye(3))
    with pytest.raises(ValueError, match="has 2 columns, but the model was fitted on 3"):
        next(open_rows(path).batches(encoder=nameless))


# Text


@pytest.mark.parametrize("separator", list(",;\t|"))
@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_the_separator_is_found(tmp_path, separator, name) -> None:
    lines = ["a,b,c", '1,"x, y; z|\t",2.5', "2,w,3.5"]
    text = "\n".join(lines).replace('"x, y; z|\t"', "@").replace(",", separator)
    path = put(tmp_path, name, text.replace("@", '"x, y; z|\t"'))
    expected = pd.DataFrame({"a": [1, 2], "b": ["x, y; z|", "w"], "c": [2.5, 3.5]})
    assert_frame_equal(open_rows(path).read(), expected)


@pytest.mark.parametrize(("name", "end"), [("a.csv", "\n"), ("a.csv", "\r\n"), ("a.tsv", "\n")])
def test_a_first_line_may_name_the_separator(tmp_path, name, end) -> None:
    lines = ["\ufeffsep=;", "n;t", "1,5;a,b", "2,5;c", ""]
    path = put(tmp_path, name, end.join(lines))
    assert open_rows(path).read().to_dict("list") == {"n": [1.5, 2.5], "t": ["a,b", "c"]}
    assert open_rows(path).names == ("n", "t")
    path = put(tmp_path, name, end.join([*lines[:-1], "3;d;e", ""]))
    with pytest.raises(ValueError, match="line 5 has 3 fields"):
        open_rows(path).read()
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1, 2]}))
    path = put(tmp_path, name, end.join([*lines[:-1], "x;d", ""]))
    with pytest.raises(ValueError, match="line 5, column 'n': 'x' is not a number"):
        open_rows(path).read(encoder=encoder)


def test_strays_among_numbers_with_decimal_commas_are_the_only_gaps(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.5, None, 2.5]}))
    rows = open_rows(put(tmp_path, "a.csv", "n;t\n1,5;x\nunknown;x\n-,25e1;x\n"))
    numbers = encoder.transform(rows.read(encoder=encoder))
    assert numbers.tolist() == [[1.5, 0.0], [2.0, 1.0], [-2.5, 0.0]]


def test_truth_values_are_numbers_as_in_typed_files(tmp_path) -> None:
    truths = pd.DataFrame(
        {"a": [True, False, True], "b": [True, None, False], "n": [0.5, 1.5, 2.5]}
    )
    truths.to_parquet(tmp_path / "a.parquet")
    typed = TableEncoder().fit(open_rows(tmp_path / "a.parquet").read())
    assert typed.columns_[:2] == (NumberColumn("a", 1.0, False), NumberColumn("b", 0.5, True))
    for yes, no in (("True", "False"), ("true", "false"), ("TRUE", "False")):
        text = f"a,b,n\n{yes},{yes},0.5\n{no},NA,1.5\n{yes.upper()},{no},2.5\n"
        rows = open_rows(put(tmp_path, "a.csv", text), batch_rows=1)
        whole = rows.read()
        assert [whole[name].dtype.kind for name in "ab"] == ["b", "f"]
        assert TableEncoder().fit(whole).columns_ == typed.columns_
        assert_frame_equal(joined(rows), whole)
        assert np.array_equal(typed.transform(rows.read(encoder=typed)), typed.transform(truths))
    mixed = open_rows(put(tmp_path, "a.csv", "a,b\ntrue,1\n1,2\n")).read()
    assert mixed["a"].tolist() == ["true", "1"]


def test_texts_of_levels_are_compared_exactly(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"c": ["1", "A", "1.5"] * 2}))
    rows = open_rows(put(tmp_path, "a.csv", "c,n\n1,0\n01,0\n1.0,0\n1.50,0\n+1,0\nA,0\n"))
    assert encoder.transform(rows.read(encoder=encoder)).tolist() == [
        *([1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]),
    ]


def test_one_stray_text_does_not_ruin_a_column_of_numbers(tmp_path) -> None:
    text = "n,t\n" + "".join(f"{i / 7},x\n" for i in range(99)) + "unknown,y\nsoon,y\n"
    rows = open_rows(put(tmp_path, "a.csv", text), batch_rows=10)
    encoder = TableEncoder().fit(rows.read())
    assert encoder.columns_[0] == NumberColumn("n", 7.0, True)
    assert "99 of 101 values are numbers; 'unknown', 'soon' count" in encoder.notes_[0]
    batches = [encoder.transform(batch) for batch in rows.batches(encoder=encoder)]
    assert np.array_equal(np.vstack(batches), encoder.transform(rows.read()))


def test_a_table_of_one_column(tmp_path) -> None:
    assert open_rows(put(tmp_path, "a.csv", "a\n1\n2\n")).read()["a"].tolist() == [1, 2]


def test_fields_between_semicolons_may_have_decimal_commas(tmp_path) -> None:
    text = "a;b;c\n1,5;1;x,y\n-2,25e1;2,5;z\n3.5;;x\n"
    rows = open_rows(put(tmp_path, "a.csv", text), batch_rows=1)
    frame = rows.read()
    assert frame["a"].tolist() == [1.5, -22.5, 3.5]
    assert frame["c"].tolist() == ["x,y", "z", "x"]
    assert_frame_equal(joined(rows), frame)
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(
        np.vstack([encoder.transform(batch) for batch in rows.batches(encoder=encoder)]),
        encoder.transform(frame),
    )


@pytest.mark.parametrize("mark", ["", "NA", "N/A", "NaN", "null", "None", "?", " ? ", '"NA"'])
def test_marks_of_missing_values(tmp_path, mark) -> None:
    rows = open_rows(put(tmp_path, "a.csv", f"n,t,k\n1,x,0\n{mark},{mark},0\n3,z,0\n"))
    frame = rows.read()
    assert frame["n"].dtype == np.float64
    assert frame.isna().to_numpy().tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 0]]


def test_spaces_around_fields_do_not_count(tmp_path) -> None:
    frame = open_rows(put(tmp_path, "a.csv", "a, b \n 1, x\n2 ,x \n")).read()
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "x"]}


def test_line_ends_marks_and_blank_lines(tmp_path) -> None:
    for text in ("\ufeffa,b\n1,x\n2,y", "a,b\r\n1,x\r\n\r\n2,y\r\n", "\n\na,b\n1,x\n\n2,y\n\n"):
        frame = open_rows(put(tmp_path, "a.csv", text)).read()
        assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_packed_text_is_known_by_its_bytes(tmp_path) -> None:
    packed = gzip.compress(b"a,b\n1,x\n", mtime=0)
    assert open_rows(put(tmp_path, "packed.csv", packed)).read().to_dict("list") == {
        "a": [1],
        "b": ["x"],
    }
    assert open_rows(put(tmp_path, "plain.csv.gz", "a,b\n1,x\n")).read().shape == (1, 2)


def test_types_are_those_of_the_whole_file(tmp_path) -> None:
    text = "late,gap,real,day,hex\n" + "1,1,1,2020-01-01,0x10\n" * 5 + "x,,1.5,2020-01-02 10:00,1\n"
    rows = open_rows(put(tmp_path, "a.csv", text), batch_rows=2)
    first = next(rows.batches())
    assert first["late"].tolist() == ["1", "1"]
    assert [first[name].dtype.kind for name in ("gap", "real", "day")] == ["f", "f", "M"]
    assert first["hex"].tolist() == ["0x10", "0x10"]
    assert_frame_equal(joined(rows), rows.read())


def test_times_with_and_without_zones(tmp_path) -> None:
    text = "a,b\n2020-01-01T01:00:00+01:00,2020-01-01\n2020-01-01 12:00:00Z,\n"
    encoder = TableEncoder().fit(open_rows(put(tmp_path, "a.csv", text)).read())
    assert encoder.columns_[0] == NumberColumn("a", 18262.25, False, "days")
    rows = open_rows(tmp_path / "a.csv").read(encoder=encoder)
    assert encoder.transform(rows)[:, 0].tolist() == [18262.0, 18262.5]


def test_a_level_has_its_text_however_numbers_were_written(tmp_path) -> None:
    grades = pd.DataFrame({"grade": pd.Categorical([1, 2, None, 1, 2]), "n": range(5)})
    encoder = TableEncoder().fit(grades)
    assert encoder.columns_[0] == CategoryColumn("grade", ("1", "2"), False, True)
    numbers = encoder.transform(grades)
    for text in ("1,0\n2,1\n,2\n1,3\n2,4\n", "1.0,0\n2.0,1\nNaN,2\n1.0,3\n2.0,4\n"):
        rows = open_rows(put(tmp_path, "a.csv", "grade,n\n" + text), batch_rows=2)
        batches = [encoder.transform(batch) for batch in rows.batches(encoder=encoder)]
        assert np.array_equal(np.vstack(batches), numbers)
        assert np.array_equal(encoder.transform(rows.read()), numbers)
    texts = TableEncoder().fit(pd.DataFrame({"grade": ["1.0", "x", "1.0", "x"], "n": range(4)}))
    rows = open_rows(put(tmp_path, "a.csv", "grade,n\n1.0,0\n1.0,1\n"))
    assert texts.transform(rows.read(encoder=texts))[:, 0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("four,x", "line 6, column 'n': 'four' is not a number"),
        ("inf,x", "line 6, column 'n': .*inf.* is infinite"),
        ("1e999,x", "line 6, column 'n': .* is infinite"),
    ],
)
def test_what_is_no_number_is_named_with_its_line(tmp_path, row, message) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1, 2], "t": ["x", "y"]}))
    path = put(tmp_path, "a.csv", f'n,t\n1,x\n\n2,"x\ny"\n{row}\n3,x\n')
    with pytest.raises(ValueError, match=message):
        list(open_rows(path, batch_rows=1).batches(encoder=encoder))
    with pytest.raises(ValueError, match=message):
        open_rows(path).read(encoder=encoder)


def test_what_is_no_number_is_named_with_its_row(tmp_path) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1, 2]}))
    write_rows(tmp_path / "a.parquet", [pd.DataFrame({"n": ["1", "2", "3", "x"]})])
    with pytest.raises(ValueError, match="row 4, column 'n': 'x' is not a number"):
        list(open_rows(tmp_path / "a.parquet", batch_rows=3).batches(encoder=encoder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b", "has no rows"),
        (b"a,b\n", "has no rows"),
        (b"a,b,a\n1,2,3\n", "two columns named 'a'"),
        (b"1.5,2\n3,4\n", "holds numbers, not names of columns: add a header line"),
        (b"1,1\n3,4\n", "holds numbers, not names of columns"),
        (b'a,b\n1,2\n"x\ny",2\n3\n4,5\n', "line 5 has 1 fields, but the header has 2"),
        (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields, but the header has 2"),
        (b'a,b\n1,2\n1,"open\n2,3\n4,5\n', "quote that is opened on line 3 is never closed"),
        ("a,b\n1,é\n".encode("latin1"), "byte 0xE9 at offset 6.*iconv -f LATIN1 -t UTF-8"),
        ("é,b\n1,2\n".encode("latin1"), "byte 0xE9 at offset 0"),
        (b"a,b\n" + b"1,2\n" * 400_000 + b"\xff,3\n", "byte 0xFF at offset 1600004"),
        ("a,b\n1,2\n".encode("utf-16"), "iconv -f UTF-16"),
        ("a,b\n1,é".encode()[:-1], "not UTF-8"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9, mtime=0)[:-9], "is damaged"),
        (gzip.compress(bytes(range(256)) * 12, mtime=0)[:40], "is damaged"),
        (b"x" * (2**24 + 1), "does not end"),
        (b'a,b\n1,"' + b"x\n" * 2_000_000, "never closed"),
    ],
)  # fmt: skip
def test_text_that_is_no_table_is_refused(tmp_path, content, message) -> None:
    path = put(tmp_path, "rows.csv", content)
    with pytest.raises(ValueError, match=message) as caught:
        open_rows(path).read()
    assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=message):
        list(open_rows(path).batches())


def test_columns_may_be_numbered_and_one_may_have_no_name(tmp_path) -> None:
    assert open_rows(put(tmp_path, "a.csv", "0,1\n3,4\n")).names == ("0", "1")
    assert open_rows(put(tmp_path, "b.csv", ",a\n0,4\n")).names == ("Unnamed: 0", "a")


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
    table = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(d=range(len(rows)))
    table.to_csv(tmp_path / "a.csv", index=False)
    file = open_rows(tmp_path / "a.csv", batch_rows=n)
    whole = file.read()
    assert len(whole) == len(rows)
    assert_frame_equal(joined(file), whole)
    encoder = TableEncoder(min_count=1).fit(whole)
    batches = [encoder.transform(batch) for batch in file.batches(encoder=encoder)]
    assert np.array_equal(np.vstack(batches), encoder.transform(whole))


MEASURE = """
import sys
import numpy as np, pyarrow as pa, pyarrow.compute, pyarrow.csv, pandas
from fcgboost.readers import open_rows
def peak():
    # Not ru_maxrss, which begins with the size of the process that started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
rows = open_rows(sys.argv[1], batch_rows=4096)
before = peak()
n = sum(len(batch) for batch in rows.batches()) if sys.argv[2] == "batches" else len(rows.read())
grown = peak() - before
print(n, pa.default_memory_pool().max_memory(), grown * 1024)
"""


def memory_of(tmp_path: Path, n: int, how: str) -> tuple[float, float]:
    """Give the memory that Arrow and the process take for n rows, in sizes of their file."""
    line = ",".join(f"{i}.123456789" for i in range(8)) + f",{'some text ' * 15}\n"
    header = ",".join(f"c{i}" for i in range(8)) + ",t\n"
    path = put(tmp_path, "large.csv", header + line * n)
    command = [sys.executable, "-c", MEASURE, str(path), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    n_rows, arrow, grown = map(int, done.stdout.split())
    assert n_rows == n
    return arrow / path.stat().st_size, grown / path.stat().st_size


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_batches_of_a_large_file_take_a_part_of_its_size(tmp_path) -> None:
    assert memory_of(tmp_path, 150_000, "batches")[0] < 0.25


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_a_large_file_is_never_in_memory(tmp_path) -> None:
    arrow, grown = memory_of(tmp_path, 600_000, "batches")
    assert arrow < 0.25
    whole, grown_at_once = memory_of(tmp_path, 600_000, "read")
    assert whole > 0.5
    # Tens of megabytes are taken for a file of any size.
    assert grown < grown_at_once / 2


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
        (["True", "false"], ["True", "false"]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
    ],
)
def test_labels_are_numbers_or_the_texts_they_are(tmp_path, texts, labels) -> None:
    path = put(tmp_path, "a.csv", "n,y\n" + "".join(f"{i},{t}\n" for i, t in enumerate(texts)))
    rows = open_rows(path, batch_rows=1)
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1, 2]}))
    parts = [rows.split_target(b, "y")[1] for b in rows.batches(encoder=encoder, target="y")]
    for y in (read_table(path, "y")[1], np.concatenate(parts)):
        assert [None if value != value else value for value in y.tolist()] == labels


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "it is a date: classes are text or numbers"),
        ([datetime.date(2020, 1, 1), None], "it is a date"),
        (pd.date_range("2020-01-01", periods=2, tz="Europe/Berlin"), "it is a date"),
        (pd.to_timedelta([1, 2], unit="D"), "it is a length of time"),
        ([b"a", b"b"], "it is bytes"),
        ([Decimal("1.5"), Decimal(2)], "it is a Decimal"),
        ([[1], [2]], "it is ndarray: classes"),
        ([1.0, np.inf], "row 2, target 'y': inf is infinite, which is no class"),
    ],
)
def test_what_can_not_be_a_class_is_named(tmp_path, values, message) -> None:
    pd.DataFrame({"n": [1, 2], "y": values}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message) as caught:
        read_table(tmp_path / "a.parquet", "y")
    assert "a.parquet" in str(caught.value)


def test_an_infinite_label_is_named_with_its_line(tmp_path) -> None:
    path = put(tmp_path, "a.csv", "n,y\n1,1\n\n2,1e400\n")
    with pytest.raises(ValueError, match=r"a\.csv, line 4, target 'y': inf is infinite"):
        read_table(path, "y")


def test_an_empty_text_is_no_label(tmp_path) -> None:
    pd.DataFrame({"n": [1, 2], "y": ["a", ""]}).to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet", "y")[1].tolist() == ["a", None]


@pytest.mark.parametrize("number", ["inf", "-1e999"])
def test_an_infinite_number_is_named_with_its_line_before_rows_are_parted(tmp_path, number) -> None:
    path = put(tmp_path, "a.csv", f'n,t,y\n1,"x\ny",1\n{number},x,0\n')
    with pytest.raises(ValueError, match=r"line 4, column 'n': -?inf is infinite"):
        read_table(path, "y")
    X, _ = read_table(path, "y", drop=["n"])
    assert list(X) == ["t"]
    with pytest.raises(ValueError, match="no column 'm'; the columns are"):
        read_table(path, "y", drop=["m"])
    with pytest.raises(ValueError, match="target 'y' can not be dropped"):
        read_table(path, "y", drop=["y"])


# Columns that are kept


def test_kept_columns_are_exactly_the_text_of_the_file(tmp_path) -> None:
    ids = ["12345678901234567", "162", " 007 ", "NA", "1.50", ""]
    text = "id,n,when\n" + "".join(f"{one},{i},2020-01-0{i + 1}\n" for i, one in enumerate(ids))
    rows = open_rows(put(tmp_path, "a.csv", text), batch_rows=4)
    encoder = TableEncoder().fit(pd.DataFrame({"id": [1.0, 2.0], "n": [1, 2]}))
    for options in ({}, {"encoder": TableEncoder().fit(pd.DataFrame({"n": [1, 2]}))}):
        pairs = list(rows.batches_with(["when", "id"], **options))
        assert [len(batch) for batch, _ in pairs] == [4, 2]
        assert [kept.index.tolist() for _, kept in pairs] == [[0, 1, 2, 3], [4, 5]]
        kept = pd.concat([kept for _, kept in pairs])
        assert list(kept) == ["when", "id"]
        assert kept["id"].fillna("").tolist() == ids
        assert_frame_equal(pd.concat([batch for batch, _ in pairs]), joined(rows, **options))
    assert [kept.shape for _, kept in rows.batches_with([])] == [(4, 0), (2, 0)]
    with pytest.raises(ValueError, match="no column 'Id'"):
        next(rows.batches_with(["Id"], encoder=encoder))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_kept_columns_keep_their_types(tmp_path, form) -> None:
    table = pa.table(
        {
            "id": pa.array([12345678901234567, None, 3]),
            "code": pa.array(["a", "b", "a"]).dictionary_encode(),
            "day": pa.array([datetime.date(2020, 1, 31)] * 3),
            "n": [1.5, 2.5, 3.5],
        }
    )
    path = tmp_path / f"a.{form}"
    if form == "parquet":
        parquet.write_table(table, path)
    else:
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    pairs = list(open_rows(path, batch_rows=2).batches_with(["id", "code", "day"]))
    write_rows(tmp_path / "b.csv", [kept for _, kept in pairs])
    assert (tmp_path / "b.csv").read_text() == (
        "id,code,day\n12345678901234567,a,2020-01-31\n,b,2020-01-31\n3,a,2020-01-31\n"
    )
    write_rows(tmp_path / "b.parquet", [kept for _, kept in pairs])
    again = parquet.read_table(tmp_path / "b.parquet")
    assert again["id"].to_pylist() == [12345678901234567, None, 3]


def test_arrays_and_sparse_rows_have_kept_columns_or_none(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", X=np.arange(6).reshape(3, 2))
    _, kept = next(open_rows(tmp_path / "a.npz").batches_with(["x1"]))
    assert kept.to_dict("list") == {"x1": [1, 3, 5]}
    rows = open_rows(put(tmp_path, "a.svm", "1 2:1\n-1 4:1\n"))
    X, kept = next(rows.batches_with([]))
    assert X.shape == (2, 4)
    assert kept.shape == (2, 0)
    with pytest.raises(ValueError, match="Name no columns"):
        next(rows.batches_with(["id"]))


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
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=5)
    feather.write_feather(frame, tmp_path / "a.feather", chunksize=5)
    for name in ("a.parquet", "a.feather"):
        rows = open_rows(tmp_path / name, batch_rows=4)
        assert TableEncoder().fit(rows.read()).columns_ == encoder.columns_
        batches = [encoder.transform(batch) for batch in rows.batches(encoder=encoder)]
        assert np.array_equal(np.vstack(batches), encoder.transform(frame))


def test_names_of_rows_are_no_column(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["p", "q"], name="id"))
    frame.to_parquet(tmp_path / "a.parquet")
    rows = open_rows(tmp_path / "a.parquet")
    assert rows.names == ("a",)
    assert_frame_equal(rows.read(), pd.DataFrame({"a": [1, 2]}))


def test_arrow_may_be_a_stream(tmp_path) -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "y"]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    rows = open_rows(tmp_path / "a.arrow", batch_rows=2)
    assert rows.read()["a"].tolist() == [1, 2, 3]
    assert_frame_equal(joined(rows), rows.read())


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_damaged_typed_files_are_refused(tmp_path, name) -> None:
    frame = pd.DataFrame({"a": np.arange(5000.0), "b": [f"text {i}" for i in range(5000)]})
    path = tmp_path / name
    write_rows(path, [frame])
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[: len(whole) // 2], whole[100:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.\w+ is damaged, or not a file in"):
            open_rows(path).read()
    with pytest.raises(FileNotFoundError):
        open_rows(tmp_path / f"no{path.suffix}")


def test_typed_files_without_rows_or_with_a_name_twice(tmp_path) -> None:
    table = pa.table([[1], [2]], names=["a", "a"])
    with ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="two columns named 'a'"):
        open_rows(tmp_path / "a.arrow")
    pd.DataFrame({"a": [1]})[:0].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        open_rows(tmp_path / "a.parquet").read()
    with pytest.raises(ValueError, match="has no rows"):
        list(open_rows(tmp_path / "a.parquet").batches())


# NumPy's archives


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_with_names(tmp_path, save, order) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(10, 3)), order=order)
    y = np.array(list("abcabcabca"))
    save(tmp_path / "a.npz", X=X, y=y, feature_names=np.array(["p", "q", "r"]))
    rows = open_rows(tmp_path / "a.npz", batch_rows=4)
    assert rows.names == ("p", "q", "r", "y")
    frame = rows.read()
    assert np.array_equal(frame[["p", "q", "r"]], X)
    assert_frame_equal(joined(rows), frame)
    for target in (None, "y"):
        X_read, y_read = read_table(tmp_path / "a.npz", target)
        assert np.array_equal(X_read, X)
        assert y_read.tolist() == y.tolist()


def test_arrays_without_names(tmp_path) -> None:
    X = np.arange(12, dtype=np.int32).reshape(6, 2)
    np.savez(tmp_path / "a.npz", X=X)
    rows = open_rows(tmp_path / "a.npz", batch_rows=4)
    assert rows.names is None
    assert np.array_equal(joined(rows), X)
    with pytest.raises(ValueError, match="Name the target"):
        read_table(tmp_path / "a.npz", None)
    encoder = TableEncoder().fit(X)
    assert np.array_equal(encoder.transform(rows.read(encoder=encoder)), X)
    np.savez(tmp_path / "texts.npz", X=np.array([["a", "1"], ["b", ""]]))
    texts = open_rows(tmp_path / "texts.npz").read()
    assert TableEncoder(min_count=1).fit(texts).columns_ == (
        CategoryColumn("x0", ("a", "b"), False, False),
        CategoryColumn("x1", ("1",), False, True),
    )


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "no array named X, only Z"),
        ({"X": np.ones(3)}, r"X has shape \(3,\)"),
        ({"X": np.ones((0, 3))}, r"X has shape \(0, 3\)"),
        ({"X": np.eye(2), "y": np.ones(3)}, "3 labels y for 2 rows"),
        ({"X": np.eye(2), "y": np.eye(2)}, r"y has shape \(2, 2\)"),
        ({"X": np.eye(2), "feature_names": np.array(["a"])}, "1 feature_names for 2"),
        ({"X": np.eye(2), "feature_names": np.array(["a", "a"])}, "two columns named 'a'"),
        ({"X": np.array([[1, None]], dtype=object)}, "holds Python objects"),
    ],
)
def test_archives_that_are_no_table_are_refused(tmp_path, arrays, message) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        open_rows(tmp_path / "a.npz").read()


def test_damaged_archives_are_refused(tmp_path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(100, 5)))
    whole = path.read_bytes()
    broken = bytearray(whole)
    broken[1000] ^= 255
    for content in (b"", b"PK", whole[:500], bytes(broken)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npz is damaged"):
            open_rows(path).read()


def write_header(path: Path, shape: tuple[int, int], data: bytes) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + data)


def test_an_archive_that_promises_more_than_it_has(tmp_path) -> None:
    write_header(tmp_path / "a.npz", (10**9, 10), b"\0" * 800)
    with pytest.raises(ValueError, match="is damaged"):
        open_rows(tmp_path / "a.npz").read()


def test_an_archive_that_unpacks_to_too_much(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("fcgboost.readers.arrays._MUCH", 2**20)
    write_header(tmp_path / "a.npz", (2**18, 2), b"\0" * 2**22)
    with pytest.raises(ValueError, match=r"would unpack to .* refused"):
        open_rows(tmp_path / "a.npz")


# Sparse rows


@pytest.mark.parametrize("form", ["svm", "libsvm", "svmlight", "svm.gz"])
@pytest.mark.parametrize("is_zero_based", [True, False])
def test_sparse_rows(tmp_path, form, is_zero_based) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.4)
    X[0, 0] = X[7, 5] = 1.0
    y = np.where(np.arange(20) % 3, 1, -1)
    text = io.BytesIO()
    dump_svmlight_file(X, y, text, zero_based=is_zero_based)
    content = text.getvalue()
    path = put(
        tmp_path, f"a.{form}", gzip.compress(content, mtime=0) if form == "svm.gz" else content
    )
    rows = open_rows(path, batch_rows=3)
    assert rows.is_sparse
    assert rows.names is None
    X_read, y_read = read_table(path, None)
    assert np.allclose(X_read.toarray(), X, rtol=1e-15)
    assert y_read.tolist() == y.tolist()
    assert y_read.dtype == np.int64
    parts = [rows.split_target(batch, None) for batch in rows.batches()]
    assert {part.shape[0] for part, _ in parts} == {3, 2}
    assert (sparse.vstack([part for part, _ in parts]) != X_read).nnz == 0
    assert np.concatenate([labels for _, labels in parts]).tolist() == y.tolist()


def test_the_width_of_sparse_rows_may_be_given(tmp_path) -> None:
    path = put(tmp_path, "a.svm", "1 2:1\n-1 4:1 # four\n\n0.5\n")
    rows = open_rows(path)
    assert rows.read().shape == (3, 4)
    assert rows.read(n_features=9).shape == (3, 9)
    assert next(rows.batches(n_features=9)).shape == (3, 9)
    assert rows.read().labels.tolist() == [1.0, -1.0, 0.5]
    with pytest.raises(ValueError, match="up to index 4, but the model knows 3 features"):
        rows.read(n_features=3)
    with pytest.raises(ValueError, match="Name no columns and no target"):
        read_table(path, "y")
    with pytest.raises(ValueError, match="Name no columns and no target"):
        rows.read(["a"])
    with pytest.raises(ValueError, match="not of parts"):
        rows.split_target(rows.read()[:2])


def test_later_sparse_rows_count_from_where_the_first_did(tmp_path) -> None:
    first = open_rows(put(tmp_path, "first.svm", "1 0:1 2:1\n-1 1:1\n"))
    assert first.first_index is None
    assert first.read().shape == (2, 3)
    assert first.first_index == 0
    path = put(tmp_path, "later.svm", "1 2:1\n-1 1:1\n")
    later = open_rows(path, first_index=first.first_index)
    assert later.read(n_features=3).toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
    assert next(later.batches(n_features=3)).toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
    assert later.first_index == 0
    X, _ = read_table(path, first_index=0)
    assert X.toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
    alone = open_rows(path)
    assert alone.read().toarray().tolist() == [[0, 1], [1, 0]]
    assert alone.first_index == 1
    with pytest.raises(ValueError, match="has the index 0, but its indices should count from 1"):
        open_rows(tmp_path / "first.svm", first_index=1).read()
    with pytest.raises(ValueError, match="first_index must be 0, 1 or None"):
        open_rows(path, first_index=2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no rows"),
        (b"# nothing\n", "has no rows"),
        (b"1 1:1\n1 2:x\n", "line 2: .*'x'"),
        (b"1 1:1\n\n1 3:1 2:1\n", "line 3: .*sorted"),
        (b"a b c\n", "line 1"),
        (b"1 1:nan\n", "line 1: a value is not finite"),
        (gzip.compress(b"1 1:1\n" * 99, mtime=0)[:-9], "is damaged"),
    ],
)
def test_damaged_sparse_rows_are_refused(tmp_path, content, message) -> None:
    path = put(tmp_path, "a.svm", content)
    with pytest.raises(ValueError, match=message):
        open_rows(path, batch_rows=1).read()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_of_scipy(tmp_path, form) -> None:
    X = sparse.random_array((10, 4), density=0.4, random_state=0)
    sparse.save_npz(tmp_path / "a.npz", X.asformat(form))
    rows = open_rows(tmp_path / "a.npz", batch_rows=4)
    assert rows.is_sparse
    assert np.array_equal(rows.read().toarray(), X.toarray())
    batches = list(rows.batches(n_features=6))
    assert [batch.shape for batch in batches] == [(4, 6), (4, 6), (2, 6)]
    assert np.array_equal(sparse.vstack(batches).toarray()[:, :4], X.toarray())
    assert [kept.shape for _, kept in rows.batches_with([])] == [(4, 0), (4, 0), (2, 0)]
    with pytest.raises(ValueError, match="has no labels: save both in one file"):
        read_table(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"has no labels\. Name no columns"):
        read_table(tmp_path / "a.npz", "y")
    with pytest.raises(ValueError, match="has 4 features, but the model knows 3"):
        rows.read(n_features=3)


def test_damaged_sparse_matrices_are_refused(tmp_path) -> None:
    parts = {"shape": [2, 2], "data": [1.0, 2.0], "indptr": [0, 1, 2], "format": b"csc"}
    for change in ({"indices": [0, 9]}, {"indices": [0, 1], "shape": [0, 2]}, {}, {"format": b"x"}):
        np.savez(tmp_path / "a.npz", **{**parts, **change})
        with pytest.raises(ValueError, match=r"is damaged, or no sparse matrix|has no rows"):
            open_rows(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", **{**parts, "data": [1.0, np.inf], "indices": [0, 1]})
    with pytest.raises(ValueError, match="no finite number"):
        open_rows(tmp_path / "a.npz")


# Names, and writing


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.npz.gz"])
def test_unknown_forms_are_not_written(tmp_path, name) -> None:
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        write_rows(tmp_path / "b" / name, [mixed_frame()])


@pytest.mark.parametrize("name", ["a.parquet.gz", "a.npz.gz"])
def test_only_text_may_be_packed(tmp_path, name) -> None:
    with pytest.raises(ValueError, match="only text may be"):
        open_rows(put(tmp_path, name, ""))


@pytest.mark.parametrize("form", [*FRAME_FORMS, "npz", "svm", "svm.gz"])
def test_a_form_is_known_by_its_bytes_where_the_name_tells_nothing(tmp_path, form) -> None:
    path = tmp_path / f"rows.{form}"
    if form == "npz":
        np.savez(path, X=np.eye(3), y=np.arange(3))
    elif form.startswith("svm"):
        content = b"# by hand\n+1 3:1 11:.5 # one\n-1\n\n-1 qid:3 4:1e-3\t19:-1\n"
        path.write_bytes(gzip.compress(content, mtime=0) if form == "svm.gz" else content)
    else:
        write_rows(path, [mixed_frame()])
    known = open_rows(path)
    for name in ("rows", "rows.t", "rows.data"):
        rows = open_rows(path.rename(tmp_path / name))
        path = rows.source.path
        assert type(rows) is type(known)
        assert rows.read().shape[0] > 2


def test_a_form_may_be_named(tmp_path) -> None:
    path = put(tmp_path, "a.data", "a\tb,c\n1\t2\n")
    assert open_rows(path, form="tsv").names == ("a", "b,c")
    path = put(tmp_path, "a.csv", "1 2:1\n-1 3:1\n")
    X, y = read_table(path, form="svmlight")
    assert X.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert y.tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"form must be one of csv, tsv, .*'xls'"):
        open_rows(path, form="xls")


def test_what_has_no_known_form_is_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    for path in (tmp_path / "a.xlsx", put(tmp_path, "a.h5", b"\x89HDF\r\n\x1a\n\0\0")):
        with pytest.raises(ValueError, match=r"is not known by its name.* saved as CSV first"):
            open_rows(path)
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        open_rows(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "arrow"])
def test_rows_come_through_a_pipe(tmp_path, form, monkeypatch) -> None:
    (tmp_path / "spool").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    frame, path, pipe = mixed_frame(), tmp_path / f"rows.{form}", tmp_path / "pipe"
    write_rows(path, [frame])
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    rows = open_rows(pipe, batch_rows=7)
    writer.join(60)
    assert_frame_equal(rows.read(), frame)
    assert_frame_equal(joined(rows), frame)
    assert len(list((tmp_path / "spool").iterdir())) == 1
    del rows
    assert not list((tmp_path / "spool").iterdir())


def test_rows_come_from_the_standard_input(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,p\n2,q\n")))
    X, y = read_table("-", "y")
    assert X["a"].tolist() == [1, 2]
    assert y.tolist() == ["p", "q"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,p\n2\n")))
    with pytest.raises(ValueError, match=r"^standard input: line 3 has 1 fields"):
        open_rows("-").read()


@pytest.mark.parametrize("batch_rows", [0, 1.5, -3])
def test_a_batch_has_rows(tmp_path, batch_rows) -> None:
    with pytest.raises(ValueError, match="batch_rows must be a whole number"):
        open_rows(put(tmp_path, "a.csv", "a\n1\n"), batch_rows=batch_rows)


def test_files_need_their_extra(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"fcgboost\[tables\]"):
        open_rows(tmp_path / "a.csv")


@pytest.mark.parametrize("form", FRAME_FORMS)
def test_a_file_is_written_in_full_or_not_at_all(tmp_path, form) -> None:
    path = put(tmp_path, f"a.{form}", "before")

    def failing():
        yield mixed_frame()
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_rows(path, failing())
    with pytest.raises(ValueError, match="no rows to write"):
        write_rows(path, [])
    with pytest.raises(ValueError, match="must have the columns"):
        write_rows(path, [mixed_frame(), mixed_frame()[["y"]]])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_types_of_later_frames_must_fit(tmp_path, form) -> None:
    path = tmp_path / f"a.{form}"
    with pytest.raises(ValueError, match="another type"):
        write_rows(path, [pd.DataFrame({"a": [1.5]}), pd.DataFrame({"a": ["x"]})])
    late = [
        pd.DataFrame({"a": pd.Series([None], dtype=object), "b": pd.Categorical(["u"])}),
        pd.DataFrame({"a": ["x"], "b": pd.Categorical(["v"])}),
    ]
    write_rows(path, late)
    assert open_rows(path).read().iloc[1].tolist() == ["x", "v"]


def test_packed_files_of_equal_rows_are_equal(tmp_path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_rows(tmp_path / name, [mixed_frame()])
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_text_is_as_pandas_writes_it(tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a,b": [
                *rng.normal(size=6),
                1.0,
                0.1 + 0.2,
                5e-324,
                1.7976931348623157e308,
                np.nan,
                -0.0,
            ],
            'say "hi"': ['"', "a,b", "l\n2", "\r", "", None, "ü", " x ", "a;b", "NA", "1", "\t"],
            "whole": [2**63 - 1, -(2**63), *range(10)],
            "truth": [True, False] * 6,
            "gappy": pd.Series([True, None, False] * 4, dtype=object),
            "code": pd.Categorical(["u", None, "v"] * 4),
            "small": pd.Series(rng.normal(size=12), dtype=np.float32),
        }
    )
    for name, separator in (("a.csv", ","), ("a.tsv", "\t")):
        write_rows(tmp_path / name, [frame[:5], frame[5:]])
        again = pd.read_csv(
            tmp_path / name, sep=separator, dtype=str, keep_default_na=False, lineterminator="\n"
        )
        frame.to_csv(tmp_path / "b", sep=separator, index=False)
        expected = pd.read_csv(
            tmp_path / "b", sep=separator, dtype=str, keep_default_na=False, lineterminator="\n"
        )
        assert_frame_equal(again.drop(columns="a,b"), expected.drop(columns="a,b"))
        numbers = open_rows(tmp_path / name).read()["a,b"].to_numpy()
        assert numbers.tobytes() == frame["a,b"].to_numpy().tobytes()


def test_all_digits_of_numbers_are_written(tmp_path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**64, 2000, dtype=np.uint64)
    numbers = bits.view(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    write_rows(tmp_path / "a.csv", [pd.DataFrame({"a": numbers})])
    assert open_rows(tmp_path / "a.csv").read()["a"].to_numpy().tobytes() == numbers.tobytes()


def test_one_column_keeps_its_empty_rows(tmp_path) -> None:
    write_rows(tmp_path / "a.csv", [pd.DataFrame({"a": ["x", None, ""]})])
    assert open_rows(tmp_path / "a.csv").read()["a"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_times_and_lengths_of_time_come_back(tmp_path, form) -> None:
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-31", None, "2020-02-01"]),
            "time": pd.to_datetime(
                ["2020-01-31 10:00", None, "2020-02-01 10:00:00.000123"], format="ISO8601"
            ),
            "zoned": pd.date_range("2020-03-28 12:00", periods=3, tz="Europe/Berlin"),
            "long": pd.to_timedelta(["162 days", None, "1 days 06:00:00"]),
        }
    )
    encoder = TableEncoder().fit(frame)
    write_rows(tmp_path / f"a.{form}", [frame])
    rows = open_rows(tmp_path / f"a.{form}")
    for again in (rows.read(), rows.read(encoder=encoder)):
        assert np.array_equal(encoder.transform(again), encoder.transform(frame))
    if form == "csv":
        assert (
            (tmp_path / "a.csv")
            .read_text()
            .splitlines()[1]
            .startswith("2020-01-31,2020-01-31 10:00:00,2020-03-28 12:00:00+01")
        )


def test_bytes_are_not_written_as_text(tmp_path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [b"x", b"y"]})
    with pytest.raises(ValueError, match="Column 'b' holds bytes"):
        write_rows(tmp_path / "a.csv", [frame])
    assert write_rows(tmp_path / "a.parquet", [frame]) == 2


def test_mixed_objects_are_written_as_their_texts(tmp_path) -> None:
    frame = pd.DataFrame({"a": pd.Series([1, "x", None, Decimal("2.50"), (1, 2)], dtype=object)})
    write_rows(tmp_path / "a.csv", [frame])
    assert (tmp_path / "a.csv").read_text() == 'a\n1\nx\n""\n2.50\n"(1, 2)"\n'
