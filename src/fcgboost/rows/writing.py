"""Tables that are written as they come, and in full or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import compute, parquet

from fcgboost.files import writing
from fcgboost.rows.texts import as_texts

_FORMATS = (".csv", ".parquet")
_MICROSECONDS_PER_DAY = 86_400_000_000.0
# What spreadsheets run or calculate when it begins a cell, and what is only a number.
_FORMULA = "^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"
_NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"


def format_of(path: Path) -> str:
    """Return the suffix of a file's name; raise a ValueError if it names no format."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(f"{path} must end in {' or '.join(_FORMATS)}.")
    return suffix


def write_rows(path: Path, tables: Iterable[pa.Table]) -> int:
    """Write Arrow tables into one file as they come; return the number of rows.

    The suffix tells the format. The file appears when it is complete; after an error an older file
    stays.
    """
    write = write_csv if format_of(path) == ".csv" else _write_parquet
    with writing(path) as file:
        return write(file, tables)


def write_csv(file: IO[bytes], tables: Iterable[pa.Table]) -> int:
    """Write Arrow tables as text with a header line; return the number of rows.

    Numbers have all their digits; lengths of time are days.
    """
    n_rows = 0
    for i, table in enumerate(tables):
        plain = pa.table({name: _as_text(name, table[name]) for name in table.column_names})
        # Whole numbers stay whole where others are missing.
        frame = plain.to_pandas(integer_object_nulls=True)
        text = frame.to_csv(index=False, header=i == 0, lineterminator="\n")
        file.write(text.encode())
        n_rows += table.num_rows
    return n_rows


def _as_text(name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column that text can hold; lengths of time become days."""
    if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
        raise ValueError(
            f"Column {name!r} cannot be written as text: leave it out, or write .parquet."
        )
    if not pa.types.is_duration(values.type):
        return values
    lengths = values.cast(pa.duration("us"), safe=False)
    microseconds = lengths.cast(pa.int64()).cast(pa.float64())
    return compute.divide(microseconds, _MICROSECONDS_PER_DAY)


def without_formulas(table: pa.Table) -> pa.Table:
    """Put an apostrophe before the texts of an Arrow table that a spreadsheet would run."""
    columns = [pa.array(table.column_names, pa.string()), *table.columns]
    for i, values in enumerate(columns):
        texts = as_texts(values)
        if texts is not None:
            is_number = compute.match_substring_regex(texts, _NUMBER)
            is_run = compute.and_not(compute.match_substring_regex(texts, _FORMULA), is_number)
            quoted = compute.binary_join_element_wise("'", texts, "")
            columns[i] = compute.if_else(is_run, quoted, texts)
    return pa.table(columns[1:], names=columns[0].to_pylist())


def _write_parquet(file: IO[bytes], tables: Iterable[pa.Table]) -> int:
    n_rows = 0
    with ExitStack() as stack:
        for i, table in enumerate(tables):
            if i == 0:
                # Not dictionaries, which differ from batch to batch.
                types = [
                    dtype.value_type if pa.types.is_dictionary(dtype) else dtype
                    for dtype in table.schema.types
                ]
                schema = pa.schema(zip(table.column_names, types, strict=True))
                writer = stack.enter_context(parquet.ParquetWriter(file, schema))
            writer.write_table(table.cast(schema))
            n_rows += table.num_rows
    return n_rows
