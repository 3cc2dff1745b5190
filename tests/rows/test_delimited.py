"""Files of text: columns are what all of their fields are, and what is no table is refused."""

import datetime
import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from pyarrow import ipc, parquet

from fcgboost import FCGBoostClassifier
from fcgboost.rows.batches import model_batches
from fcgboost.rows.writing import write_rows
from fcgboost.tables import NumberColumn, NumberOutput
from tests.suites.rows import encoded, kept, open_rows, put, read, write
from tests.suites.tables import Encoder


@pytest.mark.parametrize("separator", list(",;\t|"))
@pytest.mark.parametrize("name", ["rows.csv", "rows.txt"])
def test_the_separator_is_found(tmp_path, separator, name) -> None:
    lines = ["a,b,y", '1,"x, y; z|\t",2.5', "2,w,3.5"]
    text = "\n".join(lines).replace('"x, y; z|\t"', "@").replace(",", separator)
    X, y = read(put(tmp_path, name, text.replace("@", '"x, y; z|\t"')))
    assert_frame_equal(X, pd.DataFrame({"a": [1, 2], "b": ["x, y; z|", "w"]}))
    assert y.tolist() == [2.5, 3.5]


def test_strays_among_numbers_with_decimal_commas_are_the_only_gaps(tmp_path) -> None:
    outputs = (NumberOutput(fill=2.0), NumberOutput("missing"))
    encoder = Encoder()
    encoder.columns_ = [NumberColumn("n", outputs)]
    path = put(tmp_path, "a.csv", "n;t\n1,5;x\nunknown;x\n-,25e1;x\n")
    assert encoded(path, encoder).tolist() == [[1.5, 0.0], [2.0, 1.0], [-2.5, 0.0]]


def test_truth_values_are_numbers_as_in_typed_files(tmp_path) -> None:
    truths = pd.DataFrame(
        {"a": [True, False, True], "b": [True, None, False], "n": [0.5, 1.5, 2.5]}
    )
    truths.assign(y=1).to_parquet(tmp_path / "a.parquet")
    typed = Encoder().fit(read(tmp_path / "a.parquet")[0])
    marked = (NumberOutput(fill=0.5), NumberOutput("missing"))
    assert typed.columns_[0] == NumberColumn("a", (NumberOutput(fill=1.0),))
    assert typed.columns_[1] == NumberColumn("b", marked)
    for yes, no in (("True", "False"), ("true", "false"), ("TRUE", "False")):
        text = f"a,b,n,y\n{yes},{yes},0.5,1\n{no},NA,1.5,1\n{yes.upper()},{no},2.5,1\n"
        path = put(tmp_path, "a.csv", text)
        X, _ = read(path)
        assert [X[name].dtype.kind for name in "ab"] == ["b", "f"]
        assert Encoder().fit(X).columns_ == typed.columns_
        assert np.array_equal(encoded(path, typed, 1), typed.transform(truths))
    assert read(put(tmp_path, "a.csv", "a,y\ntrue,1\n1,2\n"))[0]["a"].tolist() == [1.0, 1.0]


def test_texts_of_levels_are_compared_exactly(tmp_path) -> None:
    encoder = Encoder().fit(pd.DataFrame({"c": ["1", "A", "1.5"] * 2}))
    path = put(tmp_path, "a.csv", "c,n\n1,0\n01,0\n1.0,0\n1.50,0\n+1,0\nA,0\n")
    assert encoded(path, encoder).tolist() == [
        *([1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]),
    ]


def test_a_level_has_its_text_however_numbers_were_written(tmp_path) -> None:
    grades = pd.DataFrame({"grade": pd.Categorical([1, 2, None, 1, 2]), "n": range(5)})
    encoder = Encoder().fit(grades)
    assert encoder.columns_[0].levels == ("1", "2")
    assert encoder.columns_[0].output_names()[-1] == "grade is missing"
    for text in ("1,0\n2,1\n,2\n1,3\n2,4\n", "1.0,0\n2.0,1\nNaN,2\n1.0,3\n2.0,4\n"):
        path = put(tmp_path, "a.csv", "grade,n\n" + text)
        assert np.array_equal(encoded(path, encoder, 2), encoder.transform(grades))
    texts = Encoder().fit(pd.DataFrame({"grade": ["1.0", "x", "1.0", "x"], "n": range(4)}))
    path = put(tmp_path, "a.csv", "grade,n\n1.0,0\n1.0,1\n")
    assert encoded(path, texts)[:, 0].tolist() == [1.0, 1.0]


def test_fields_between_semicolons_may_have_decimal_commas(tmp_path) -> None:
    path = put(tmp_path, "a.csv", "a;b;c;y\n1,5;1;x,y;1\n-2,25e1;2,5;z;1\n3,5;;x;2\n")
    X, _ = read(path)
    assert X["a"].tolist() == [1.5, -22.5, 3.5]
    assert X["c"].tolist() == ["x,y", "z", "x"]
    encoder = Encoder().fit(X)
    assert np.array_equal(encoded(path, encoder, 1), encoder.transform(X))


@pytest.mark.parametrize("mark", ["", "NA", "N/A", "NaN", "null", "None", "?", " ? ", '"NA"'])
def test_marks_of_missing_values(tmp_path, mark) -> None:
    path = put(tmp_path, "a.csv", f"n,t,y\n1,x,0\n{mark},{mark},0\n3,z,0\n")
    X, _ = read(path)
    assert X["n"].dtype == np.float64
    assert X.isna().to_numpy().tolist() == [[0, 0], [1, 1], [0, 0]]
    encoder = Encoder().fit(X)
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
    text = "late,gap,real,day,hex,code,y\n" + "1,1,0.5,2020-01-01,0x10,007,0\n" * 5
    X, _ = read(put(tmp_path, "a.csv", text + "x,,1.5,2020-01-02 10:00,1,11,0\n"))
    assert X["late"].tolist() == ["1"] * 5 + ["x"]
    assert [X[name].dtype.kind for name in ("gap", "real", "day")] == ["f", "f", "M"]
    assert X["hex"].tolist() == ["0x10"] * 5 + ["1"]
    assert X["code"].tolist() == ["007"] * 5 + ["11"]
    assert read(put(tmp_path, "a.csv", "hex,y\n0x1F,1\n0x2,2\n"))[0]["hex"][0] == "0x1F"


def test_times_with_and_without_zones(tmp_path) -> None:
    text = "a,b,y\n2020-01-01T01:00:00+01:00,2020-01-01,1\n2020-01-01 12:00:00Z,,1\n"
    path = put(tmp_path, "a.csv", text)
    encoder = Encoder().fit(read(path)[0])
    outputs = (NumberOutput(fill=18262.25), NumberOutput("hour", 6.0))
    assert encoder.columns_[0] == NumberColumn("a", outputs, "days")
    assert encoded(path, encoder)[:, 0].tolist() == [18262.0, 18262.5]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("inf", ", row 4, column 'n': .*inf.* is infinite"),
        ("1e999", ", row 4, column 'n': .*(inf|1e999).* is infinite"),
    ],
)
def test_what_is_infinite_is_named_with_its_row(tmp_path, format, cell, message) -> None:
    X = pd.DataFrame({"n": [1, 2, 3, 4], "t": ["x", "y"] * 2})
    clf = FCGBoostClassifier("gauss", max_iter=2)
    rows = pd.DataFrame({"n": ["1", "2", "3", cell], "t": ["x\ny"] * 4})
    path = write(tmp_path / f"a.{format}", rows)
    clf.fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=message), open_rows(path) as file:
        list(model_batches(clf, file, n_rows=2))


@pytest.mark.parametrize(
    ("fields", "later", "numbers"),
    [
        (["1,234.5", "7", "2,000"], ["9", "1,000"], [9.0, 1000.0]),
        (["1.234,5", "7", "2,5"], ["1.234", "2,25"], [1234.0, 2.25]),
        (["007", "008", "010"], ["008", "8"], [1.0, np.nan]),
    ],
)
def test_texts_are_read_as_they_were_written_in_the_fit(tmp_path, fields, later, numbers) -> None:
    X = pd.DataFrame({"n": fields * 4, "z": np.arange(12) % 5})
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(X, ["a", "b", "b"] * 4)
    lines = [f'"{text}",1\n' for text in later]
    with open_rows(put(tmp_path, "a.csv", "n,z\n" + "".join(lines))) as rows:
        [batch] = model_batches(clf, rows)
    np.testing.assert_array_equal(clf.columns_[0].read(batch.X["n"]), numbers)
    expected = clf.decision_function(pd.DataFrame({"n": later, "z": 1}))
    np.testing.assert_array_equal(batch.decision, expected)


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
        (b'a,y\n1,2\n"x\ny",2\n3\n4,5\n', "row 3: expected 2 fields as in the header, found 1"),
        (b"\na,y\n1,2\n\n3,4,5\n", "row 2: expected 2 fields as in the header, found 3"),
        (b'a,y\n1,2\n1,"open\n2,3\n4,5\n', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,2\n"open,1\n2,3\n', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,2\n"open,1\n' + b"2,3\n" * 99, "row 2: expected 2 .* found 1; is a quote open"),
        (b'a,y\n1,2\n1,"open', "row 2: a quote is opened and never closed"),
        (b'a,y\n1,"' + b"x\n" * 2_000_000, "a quote is opened and never closed"),
        ("a,y\n1,2\n1,é\n".encode("latin1"), "row 2: the text is not UTF-8; .* --encoding"),
        ("é,y\n1,2\n".encode("latin1"), "the text is not UTF-8"),
        (b"a,y\n" + b"1,2\n" * 400_000 + b"\xff,3\n", "row 400001: the text is not UTF-8"),
        ("a,y\n1,é".encode()[:-1], "not UTF-8"),
        (gzip.compress(b"a,y\n" + b"1,2\n" * 9, mtime=0)[:-9], "is damaged"),
        (gzip.compress(bytes(range(256)) * 12, mtime=0)[:40], "is damaged"),
        (b"x" * (2**24 + 2**20 + 1), "does not end"),
    ],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else value,
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
    encoder = Encoder().fit(X)
    assert np.array_equal(encoded(tmp_path / "a.csv", encoder, n), encoder.transform(X))


MEASURE = """
import sys
from pathlib import Path
import pyarrow as pa
from fcgboost.rows.formats import open_rows
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
        columns = {f"c{i}": NumberColumn(f"c{i}") for i in range(8)}
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


def test_a_byte_order_mark_alone_is_an_empty_file(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(ValueError, match=r"a\.csv is empty"), open_rows(path):
        pass


def test_lines_of_rows_are_counted_below_a_title(tmp_path, capsys) -> None:
    path = put(tmp_path, "a.csv", 'Sales\n\na,b,y\n1,2,x\n\n3,"4\n5",z\n6,7,x\n')
    with open_rows(path) as rows:
        assert list(rows.lines()) == [4, 6, 8]
    assert capsys.readouterr().err == ("The names of the columns are below the title 'Sales'.\n")
