"""A Parquet file is believed about nothing that its pages do not say themselves."""

import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from fcgboost.rows import read_table
from fcgboost.rows.pages import unpacked_size

LIMIT = 2**20


def varint(value: int, n_bytes: int = 0) -> bytes:
    """Write a positive number as Thrift does, in as many bytes as asked for."""
    value *= 2
    groups = []
    while value or not groups:
        groups.append(value & 127)
        value >>= 7
    groups += [0] * (n_bytes - len(groups))
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def with_sizes(path: Path, size: int) -> Path:
    """Let the list at the end of a file state another size of each unpacked column."""
    content = path.read_bytes()
    (length,) = struct.unpack("<i", content[-8:-4])
    group = parquet.ParquetFile(path).metadata.row_group(0)
    sizes = {group.total_byte_size}
    sizes |= {group.column(i).total_uncompressed_size for i in range(group.num_columns)}
    footer = content[-8 - length : -8]
    for honest in sizes:
        written = b"\x16" + varint(honest)
        assert written in footer
        footer = footer.replace(written, b"\x16" + varint(size, len(written) - 1))
    path.write_bytes(content[: -8 - length] + footer + content[-8:])
    assert parquet.ParquetFile(path).metadata.row_group(0).total_byte_size == size
    return path


@contextmanager
def measured() -> Iterator[pa.MemoryPool]:
    """Count the memory that Arrow takes meanwhile."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(usual)


def one_page(folder: Path, values: Any, **options: Any) -> Path:
    path = folder / "a.parquet"
    parquet.write_table(pa.table({"x": values}), path, data_page_size=2**30, **options)
    return path


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "none"])
@pytest.mark.parametrize("has_dictionary", [False, True])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_are_counted_as_an_honest_file_does(
    tmp_path: Path, compression: str, has_dictionary: bool, version: str
) -> None:
    values = np.random.default_rng(0).integers(50, size=10_000).astype(str)
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"x": values}),
        path,
        compression=compression,
        use_dictionary=has_dictionary,
        data_page_version=version,
        data_page_size=1000,
    )
    column = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    with path.open("rb") as file:
        found = unpacked_size(file, start, column.total_compressed_size)
    in_headers = column.total_uncompressed_size - found
    assert 0 < in_headers < 0.2 * column.total_uncompressed_size


@pytest.mark.parametrize(
    ("values", "has_dictionary"),
    [
        (np.zeros(2**22), False),
        (["a" * 2**25], False),
        (["a" * 2**25], True),
    ],
    ids=["numbers", "text", "dictionary"],
)
def test_a_file_may_not_understate_its_pages(
    tmp_path: Path, values: Any, has_dictionary: bool
) -> None:
    path = one_page(tmp_path, values, compression="zstd", use_dictionary=has_dictionary)
    with_sizes(path, 10)
    with measured() as pool, pytest.raises(ValueError, match=r"asks for more than the 0\.000977"):
        read_table(path, max_bytes=LIMIT)
    assert pool.max_memory() < 2**20


@pytest.mark.parametrize(
    "dtype", [pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()], ids=str
)
def test_a_long_cell_that_rows_share_is_read_once(tmp_path: Path, dtype: pa.DataType) -> None:
    cell = "a" * 2**18 if dtype == pa.string_view() else b"a" * 2**18
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": pa.array([cell] * 1000, dtype)}), path, compression="zstd")
    with measured() as pool, pytest.raises(ValueError, match="asks for more than"):
        read_table(path, max_bytes=2**24)
    assert pool.max_memory() < 2**22
    few = pa.table({"x": pa.array([cell[:3], None, cell[:2]], dtype)})
    parquet.write_table(few, path)
    assert read_table(path)[0]["x"].tolist()[::2] == [cell[:3], cell[:2]]


def test_cells_of_several_values_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [[1, 2]], "y": [1.0]}), path)
    with pytest.raises(ValueError, match=r"a\.parquet: cells of column 'x' hold several values"):
        read_table(path)
    assert read_table(path, drop=["x"])[0].columns.tolist() == ["y"]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"\x15\x00\x15\x01\x15\x02\x00", "negative size"),
        (b"\x15\x00\x15\x02\x15\x01\x00", "negative size"),
        (b"\x19\x00", "unknown header"),
        (b"\x15" + b"\xff" * 11, "too long"),
    ],
)
def test_damaged_pages_are_refused(tmp_path: Path, header: bytes, problem: str) -> None:
    path = tmp_path / "page"
    path.write_bytes(header)
    with path.open("rb") as file, pytest.raises(ValueError, match=problem):
        unpacked_size(file, 0, len(header))


def test_a_message_of_arrow_is_not_read_before_its_size_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    table = pa.table({"x": np.zeros(2**21)})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="asks for more than"):
            read_table(path, max_bytes=LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
