"""Tables that commands write: exact, in full or not at all, as text that others read too."""

import datetime
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal
from pyarrow import parquet

from fcgboost.rows.writing import write_csv, write_rows
from tests.suites.rows import open_rows
from tests.suites.tables import Encoder


def numbers_in(path: Path) -> bytes:
    with open_rows(path) as rows:
        return rows.read("y", ())[0]["a"].to_numpy().tobytes()


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_is_written_in_full_or_not_at_all(tmp_path, name) -> None:
    path = tmp_path / name
    path.write_text("before")

    def failing() -> Iterator[pa.Table]:
        yield pa.table({"a": [1, 2]})
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_rows(path, failing())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.tsv"])
def test_unknown_formats_are_not_written(tmp_path, name) -> None:
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        write_rows(tmp_path / name, [pa.table({"a": [1]})])


def test_text_is_as_pandas_writes_it() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a,b": rng.normal(size=12),
            'say "hi"': ['"', "a,b", "l\n2", "\r", "", None, "ü", " x ", "a;b", "NA", "1", "\t"],
            "whole": [2**63 - 1, -(2**63), *range(10)],
            "truth": [True, False] * 6,
            "gappy": pd.Series([True, None, False] * 4, dtype=object),
            "code": pd.Categorical(["u", None, 'v"'] * 4),
            "small": pd.Series(rng.normal(size=12), dtype=np.float32),
        }
    )
    table = pa.Table.from_pandas(frame)
    out = io.BytesIO()
    assert write_csv(out, [table[:5], table[5:]]) == 12
    how = {"dtype": str, "keep_default_na": False, "lineterminator": "\n"}
    expected = pd.read_csv(io.StringIO(frame.to_csv(index=False)), **how)
    assert_frame_equal(pd.read_csv(io.BytesIO(out.getvalue()), **how), expected)


def test_numbers_that_are_read_back_are_equal_in_every_bit(tmp_path) -> None:
    bits = np.random.default_rng(0).integers(0, 2**64, 2000, dtype=np.uint64)
    numbers = bits.view(np.float64)
    odd = [0.5, 1.0, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1e22]
    numbers = np.concatenate([numbers[np.isfinite(numbers)], odd])
    write_rows(tmp_path / "a.csv", [pa.table({"a": numbers, "y": [1] * len(numbers)})])
    assert numbers_in(tmp_path / "a.csv") == numbers.tobytes()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_times_and_lengths_of_time_come_back(tmp_path, format) -> None:
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
    encoder = Encoder().fit(frame)
    path = tmp_path / f"a.{format}"
    write_rows(path, [pa.Table.from_pandas(frame.assign(y=1))])
    with open_rows(path) as rows:
        again, _ = rows.read("y", ())
    assert np.array_equal(encoder.transform(again), encoder.transform(frame))
    with open_rows(path) as rows:
        [(batch, _)] = rows.batches({one.name: one for one in encoder.columns_}, [], 10)
    assert np.array_equal(encoder.transform(batch), encoder.transform(frame))
    if format == "csv":
        first = path.read_text().splitlines()[1]
        assert first.startswith("2020-01-31,2020-01-31 10:00:00.000000,2020-03-28 12:00:00")


def test_what_is_no_text_is_not_written_as_text(tmp_path) -> None:
    for values in ([b"\xff", b"y"], [[1], [2]]):
        table = pa.table({"a": [1, 2], "b": values})
        with pytest.raises(ValueError, match="Column 'b' cannot be written as text"):
            write_rows(tmp_path / "a.csv", [table])
        assert write_rows(tmp_path / "a.parquet", [table]) == 2


def test_dictionaries_may_differ_from_batch_to_batch(tmp_path) -> None:
    days = pa.array([datetime.date(2020, 1, 31)])
    tables = [
        pa.table({"a": pa.array([text]).dictionary_encode(), "day": days}) for text in ("u", "v")
    ]
    for name in ("a.parquet", "a.csv"):
        assert write_rows(tmp_path / name, tables) == 2
    assert parquet.read_table(tmp_path / "a.parquet")["a"].to_pylist() == ["u", "v"]
    assert (tmp_path / "a.csv").read_text() == "a,day\nu,2020-01-31\nv,2020-01-31\n"


def test_days_and_times_of_a_column_look_alike(tmp_path) -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    times = pd.to_datetime(["2024-01-01", "2024-01-02 12:30"], format="ISO8601")
    long = pd.to_timedelta([1, 86_400_000_000_000], unit="ns")
    frame = pd.DataFrame({"day": days, "time": times, "long": long})
    write_rows(tmp_path / "a.csv", [pa.Table.from_pandas(frame)])
    _, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["2024-01-01,2024-01-01 00:00:00,0.0", "2024-01-02,2024-01-02 12:30:00,1.0"]
