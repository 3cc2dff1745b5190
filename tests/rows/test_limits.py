"""What a small file may ask for: the limit of memory holds in every format, and can be raised."""

import argparse
import errno
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fcgboost import FCGBoostClassifier, save_model
from fcgboost.cli import main
from fcgboost.cli.arguments import size
from fcgboost.rows import RowFile
from fcgboost.rows.limits import Source, explained
from fcgboost.rows.texts import Strays
from fcgboost.tables import NumberColumn
from tests.suites.commands import run
from tests.suites.rows import open_rows, put, read, write_arrow

MIB = 2**20
TOO_MUCH = r"rows.* asks for more than the 0.000977 GiB of memory .* --max-bytes 16GiB"


def zeros(n_rows: int) -> Any:
    return pa.record_batch([pa.array(np.zeros(n_rows)), pa.nulls(n_rows)], names=["a", "y"])


def nulls(n_rows: int) -> Any:
    return pa.record_batch([pa.nulls(n_rows)] * 2, names=["a", "y"])


def repeated(text: str, n_rows: int) -> Any:
    codes = pa.array(np.zeros(n_rows, dtype=np.int32))
    texts = pa.DictionaryArray.from_arrays(codes, pa.array([text]))
    return pa.record_batch([texts, codes], names=["a", "y"])


def parquet_file(path: Path, batch: Any, **options: Any) -> Path:
    options = {"compression": "zstd", "store_schema": False, **options}
    parquet.write_table(pa.Table.from_batches([batch]), path, **options)
    return path


def gz(path: Path, text: bytes) -> Path:
    path.write_bytes(gzip.compress(text))
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "rows of text": lambda f: gz(f / "rows.csv.gz", b"a,y\n" + b"1,2\n" * MIB),
    "long cells": lambda f: gz(f / "rows.csv.gz", b"a,y\n" + (b"x" * 99_999 + b",2\n") * 50),
    "columns": lambda f: gz(
        f / "rows.csv.gz", b"y," + b",".join(b"%d" % i for i in range(999)) + b"\n1" + b",1" * 999
    ),
    "zstd": lambda f: write_arrow(f / "rows.arrow", zeros(MIB), "zstd", is_stream=False),
    "lz4": lambda f: write_arrow(f / "rows.ipc", zeros(MIB), "lz4", is_stream=True),
    "nulls": lambda f: write_arrow(f / "rows.ipc", nulls(MIB), None, is_stream=True),
    "a level": lambda f: write_arrow(
        f / "rows.arrow", repeated("v" * 9999, 9999), "zstd", is_stream=False
    ),
    "many rows": lambda f: parquet_file(f / "rows.parquet", zeros(MIB)),
    "a shared text": lambda f: parquet_file(f / "rows.parquet", repeated("v" * 9999, 9999)),
    "a page": lambda f: parquet_file(
        f / "rows.parquet",
        pa.record_batch([["v" * MIB, "w"], [0, 1]], names=["a", "y"]),
        use_dictionary=False,
    ),
    "sparse rows": lambda f: gz(f / "rows.svm.gz", b"1 1:1\n" * 50_000),
    "a sparse row": lambda f: gz(f / "rows.svm.gz", b"1 1:1\n1 1:1 #" + b"1" * MIB),
    "an index": lambda f: put(f, "rows.svm", "1 1:1\n0 2147483646:1\n"),
}


@pytest.mark.parametrize("case", FILES)
def test_no_format_unpacks_to_more_than_the_limit(tmp_path: Path, case: str) -> None:
    path = FILES[case](tmp_path)
    assert path.stat().st_size < 0.2 * MIB
    with pytest.raises(ValueError, match=TOO_MUCH):
        read(path, max_bytes=MIB)
    if case not in ("an index", "a level"):  # which nobody could hold
        with open_rows(path, max_bytes=2**32) as rows:
            assert (rows.matrix is not None) or len(rows.read()[0]) > 0


def test_a_level_that_rows_share_is_counted_where_it_is_written_out(tmp_path: Path) -> None:
    path = FILES["a level"](tmp_path)
    with open_rows(path, max_bytes=MIB) as rows, pytest.raises(ValueError, match=TOO_MUCH):
        list(rows.batches({}, ["a"], 9999))


def test_texts_of_parquet_keep_their_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", None], "b": pd.Categorical(["u", "v", "u"])})
    frame["y"] = [0, 1, 0]
    frame.to_parquet(tmp_path / "rows.parquet")
    X, _ = read(tmp_path / "rows.parquet")
    assert X["a"].dtype == frame["a"].dtype
    assert X["b"].dtype == frame["b"].dtype
    assert X["a"].tolist()[:2] == ["x", "y"]


def test_predictions_of_any_number_of_rows_need_a_batch_of_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "m.json", tmp_path / "out.csv"
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=40)})
    save_model(FCGBoostClassifier("gauss", max_iter=2).fit(X, X["a"] > 0), model)
    rows = gz(tmp_path / "rows.csv.gz", b"a,y\n" + b"1,True\n" * 400_000)
    assert run("predict", model, rows, "--out", out, "--max-bytes", "2MiB", "--batch", 5000) == 0
    assert out.read_bytes().count(b"\n") == 400_001
    capsys.readouterr()
    for command in (
        ("predict", model, rows, "--out", out, "--batch", 400_000),
        ("evaluate", model, rows, "--target", "y"),
        ("report", model, rows, "--target", "y", "--out", tmp_path / "page.html"),
        ("fit", rows, "--target", "y", "--out", tmp_path / "new.json"),
        ("compare", rows, "--target", "y"),
    ):
        assert run(*command, "--max-bytes", "2MiB") == 3
        assert "allow more: max_bytes=2**34, or --max-bytes 16GiB" in capsys.readouterr().err


def test_a_large_file_may_fill_more_than_a_small_one(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("fcgboost.rows.formats._DEFAULT_BYTES", 2**16)
    plain = put(tmp_path, "rows.csv", b"a,y\n" + b"1,2\n" * 50_000)
    assert read(plain)[0].shape == (50_000, 1)
    with pytest.raises(ValueError, match="asks for more than"):
        read(gz(tmp_path / "rows.csv.gz", plain.read_bytes()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8GiB", 2**33), ("8g", 2**33), ("1.5 kB", 1500), ("500MB", 5 * 10**8), ("77", 77)],
)
def test_sizes_are_read_as_people_write_them(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "GiB", "0", "-1", "8 apples", "1e9", "1.2.3", "8XB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="a size such as 500MB or 8GiB"):
        size(text)
    with pytest.raises(SystemExit):
        main(["fit", "x.csv", f"--max-bytes={text}"])


def test_a_workbook_of_a_few_cells_may_not_span_the_largest_sheet(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.cell(1, 1, "a")
    book.active.cell(1_048_576, 16_384, 1)
    path = tmp_path / "rows.xlsx"
    book.save(path)
    assert path.stat().st_size < 10_000
    with pytest.raises(ValueError, match=r"rows\.xlsx asks for more than the 1 GiB"):
        read(path)


def test_of_stray_cells_a_count_and_three_are_kept() -> None:
    told: list[str] = []
    strays = Strays(Source("rows.csv", 2**30, told.append))
    numbers = [str(i) for i in range(1000)]
    for n_before in range(0, 50_000, 1000):
        texts = pa.array([*numbers[:600], *["odd"] * 400])
        strays.n_before = n_before
        strays.removed(texts, NumberColumn("a"))
    assert [len(cells.examples) for cells in strays._cells_of.values()] == [3]
    strays.tell()
    (text,) = told
    assert "stray text in 20,000 cells" in text
    assert 'row 601: "odd"; row 602: "odd"; row 603: "odd"; ...' in text


@pytest.mark.parametrize(("n_odd", "rest"), [(1, ""), (3, ""), (4, "; ...")])
def test_dots_stand_for_stray_cells_that_are_not_shown(n_odd: int, rest: str) -> None:
    told: list[str] = []
    strays = Strays(Source("rows.csv", 2**30, told.append))
    texts = pa.array([*["1"] * 50, *["odd"] * n_odd])
    strays.removed(texts, NumberColumn("a"))
    strays.tell()
    assert told[0].endswith(f'"odd"{rest}).')
    assert ("..." in told[0]) == bool(rest)


def test_a_limit_may_be_reached_and_columns_count() -> None:
    limit = Source("rows.csv", 2**14, print)
    limit.check(2**14)
    RowFile(limit, ("a", "b", "c", "d"))
    with pytest.raises(ValueError, match=r"rows\.csv asks for more than"):
        limit.check(2**14 + 1)
    with pytest.raises(ValueError, match=r"rows\.csv asks for more than"):
        RowFile(limit, ("a", "b", "c", "d", "e"))


@pytest.mark.parametrize("error", [OSError("cut off"), OSError(errno.EINVAL, "bad argument")])
def test_a_library_that_cannot_read_a_file_says_it_is_damaged(error: OSError) -> None:
    match = r"rows\.arrow is damaged, or not of its format: "
    with pytest.raises(ValueError, match=match), explained("rows.arrow"):
        raise error


def test_a_fault_of_the_machine_is_not_one_of_the_file() -> None:
    for filename in (None, "/tmp/other"):
        with pytest.raises(OSError, match="No space left") as told, explained("rows.arrow"):
            raise OSError(errno.ENOSPC, "No space left", filename)
        assert told.value.errno == errno.ENOSPC
        assert told.value.filename == (filename or "rows.arrow")
