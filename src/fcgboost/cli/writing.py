"""What commands write: tables, after a check that they can be written."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from fcgboost.files import writing

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_KNOWN = (*_SEPARATORS, ".parquet", ".arrow", ".feather", ".ipc")
_N_ROWS = 16_384
_MICROSECONDS_PER_DAY = 86_400_000_000.0
# What spreadsheets run or calculate when it begins a cell, and what is only a number.
_FORMULA = "^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"
_NUMBER = r"^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"


def check_outputs(
    outputs: list[Path | None], inputs: list[Path | None], *, tables: Sequence[Path | None] = ()
) -> None:
    """Refuse, before any work, outputs that cannot be written or would replace an input.

    None is skipped. The names of `tables` must tell the format.
    """
    wanted = [out for out in outputs if out is not None]
    for out in wanted:
        _check_place(out)
        for one in filter(None, inputs):
            if out.exists() and one.exists() and out.samefile(one):
                raise ValueError(f"{out} is an input of this command: name another output.")
    if len({out.resolve() for out in wanted}) < len(wanted):
        raise ValueError("Two outputs of this command have the same name: give each its own.")
    for table in filter(None, tables):
        _format_of(table)


def _check_place(out: Path) -> None:
    folder = out.resolve().parent
    if not folder.is_dir():
        raise ValueError(
            f"{out} cannot be written: there is no folder {out.parent}. Create it, or name another "
            "file."
        )
    if out.is_dir():
        raise ValueError(f"{out} cannot be written: it is a folder. Name a file in it.")
    # A new file takes the place of an older one; what is no plain file is written on directly.
    is_new = out.is_file() or not out.exists()
    if not os.access(folder if is_new else out, os.W_OK):
        raise ValueError(f"{out} cannot be written: permission denied. Name another file.")


def _format_of(path: Path) -> tuple[str, bool]:
    """Return the suffix of a file's name, and whether it is to be gzipped."""
    name = path.name.lower()
    suffix, is_packed = Path(name.removesuffix(".gz")).suffix, name.endswith(".gz")
    if suffix not in _KNOWN or (is_packed and suffix not in _SEPARATORS):
        raise ValueError(f"{path} must end in {', '.join(_KNOWN)}; text may be gzipped (.gz).")
    return suffix, is_packed


def write_rows(path: Path, tables: Iterable[Any]) -> int:
    """Write Arrow tables into one file as they come; return the number of rows.

    The suffix tells the format. The file appears when it is complete; after an error an older file
    stays.
    """
    suffix, is_packed = _format_of(path)
    with writing(path) as file:
        if suffix not in _SEPARATORS:
            return _write_typed(file, tables, suffix == ".parquet")
        if not is_packed:
            return write_csv(file, tables, _SEPARATORS[suffix])
        # No time and no name in the packed file: equal rows give equal bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            return write_csv(packed, tables, _SEPARATORS[suffix])


def write_csv(file: IO[bytes] | gzip.GzipFile, tables: Iterable[Any], separator: str = ",") -> int:
    """Write Arrow tables as text with a header line; return the number of rows.

    Numbers have all their digits; lengths of time are days.
    """
    import pyarrow as pa

    n_rows = 0
    for i, table in enumerate(tables):
        if i == 0:
            names = [pa.array([name]) for name in table.column_names]
            file.write(_lines(pa.record_batch(names, names=table.column_names), separator))
        for batch in table.to_batches(_N_ROWS):
            file.write(_lines(batch, separator))
        n_rows += table.num_rows
    return n_rows


def _lines(batch: Any, separator: str) -> bytes:
    import pyarrow as pa
    from pyarrow import compute

    fields = [_fields(batch[name], name, separator) for name in batch.schema.names]
    rows = compute.binary_join_element_wise(*fields, separator, null_handling="replace")
    whole = compute.binary_join(pa.ListArray.from_arrays([0, len(rows)], rows), "\n")
    return bytes(whole[0].as_buffer()) + b"\n"


def _fields(values: Any, name: str, separator: str) -> Any:
    """Return a column as fields of text, in quotes where needed."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_boolean(values.type):
        return compute.if_else(values, "True", "False")
    if pa.types.is_duration(values.type):
        microseconds = (
            values.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64())
        )
        values = compute.divide(microseconds, _MICROSECONDS_PER_DAY)
    try:
        texts = values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(
            f"Column {name!r} cannot be written as text: leave it out, or write .parquet or .arrow."
        ) from None
    if pa.types.is_timestamp(values.type):
        texts = compute.replace_substring_regex(texts, r"\.0+$", "")
        midnight = " 00:00:00$"
        is_date = compute.all(compute.match_substring_regex(texts, midnight)).as_py()
        return compute.replace_substring_regex(texts, midnight, "") if is_date else texts
    special = f'[{separator}"\r\n]'
    if (
        pa.types.is_floating(values.type)
        or not compute.any(compute.match_substring_regex(texts, special)).as_py()
    ):
        return texts
    doubled = compute.replace_substring(texts, '"', '""')
    return compute.replace_substring_regex(doubled, f"(?s)^(.*{special}.*)$", r'"\1"')


def without_formulas(table: Any) -> Any:
    """Put an apostrophe before the texts of an Arrow table that a spreadsheet would run."""
    import pyarrow as pa
    from pyarrow import compute

    columns = [pa.array(table.column_names, pa.string()), *table.columns]
    for i, values in enumerate(columns):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if kind in (pa.string(), pa.large_string(), pa.string_view()):
            texts = values.cast(pa.string())
            is_number = compute.match_substring_regex(texts, _NUMBER)
            is_run = compute.and_not(compute.match_substring_regex(texts, _FORMULA), is_number)
            quoted = compute.binary_join_element_wise("'", texts, "")
            columns[i] = compute.if_else(is_run, quoted, texts)
    return pa.table(columns[1:], names=columns[0].to_pylist())


def _write_typed(file: IO[bytes], tables: Iterable[Any], is_parquet: bool) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    n_rows = 0
    with ExitStack() as stack:
        for i, table in enumerate(tables):
            if i == 0:
                # Not dictionaries, which differ from batch to batch.
                types = [
                    one.value_type if pa.types.is_dictionary(one) else one
                    for one in table.schema.types
                ]
                schema = pa.schema(zip(table.column_names, types, strict=True))
                open_ = parquet.ParquetWriter if is_parquet else pa.ipc.new_file
                writer = stack.enter_context(open_(file, schema))
            writer.write_table(table.cast(schema))
            n_rows += table.num_rows
    return n_rows
