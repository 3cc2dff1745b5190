"""Data frames into a file, one after the other; the file is there in full or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from fcgboost.files import writing
from fcgboost.readers.base import need_tables
from fcgboost.readers.fields import header_of, lines_of
from fcgboost.readers.forms import suffix_of

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_ARROW = (".arrow", ".feather", ".ipc")
_KNOWN = (*_SEPARATORS, ".parquet", *_ARROW)


def write_rows(path: str | os.PathLike[str], frames: Iterable[Any]) -> int:
    """Write data frames into one file, each as soon as it is there.

    The end of the name tells the form: .csv, .tsv, both also packed as .gz; .parquet; .arrow,
    .feather, .ipc. The file appears when all is written; after an error what was there stays.
    Numbers are written with all their digits. Text has durations as days, and no bytes.

    Parameters
    ----------
    path : str or path-like
    frames : iterable of DataFrame
        All with the columns of the first.

    Returns
    -------
    int
        The number of rows.
    """
    need_tables()
    path = Path(path)
    suffix, is_packed = check_name(path)
    with writing(path) as file:
        if suffix in _SEPARATORS:
            return _write_text(file, frames, _SEPARATORS[suffix], is_packed)
        return _write_arrow(file, frames, suffix == ".parquet")


def check_name(path: Path) -> tuple[str, bool]:
    """Return the end of a file's name and whether it is to be packed; refuse an unknown form."""
    suffix, is_packed = suffix_of(path), path.name.lower().endswith(".gz")
    if suffix not in _KNOWN or (is_packed and suffix not in _SEPARATORS):
        raise ValueError(f"{path} must end in {', '.join(_KNOWN)}; text may be packed as .gz.")
    return suffix, is_packed


def _write_text(file: IO[bytes], frames: Iterable[Any], separator: str, is_packed: bool) -> int:
    # No time and no name in the packed file: equal rows give equal bytes.
    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_packed else None
    out = cast(IO[bytes], packed or file)
    n_rows = 0
    for frame in _alike(frames):
        if n_rows == 0:
            out.write(header_of(frame, separator))
        for lines in lines_of(frame, separator):
            out.write(lines)
        n_rows += len(frame)
    if packed is not None:
        packed.close()
    return n_rows


def _write_arrow(file: IO[bytes], frames: Iterable[Any], is_parquet: bool) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    alike = _alike(frames)
    first = next(alike)
    schema = _plain_schema(first)
    open_file = parquet.ParquetWriter if is_parquet else pa.ipc.new_file
    n_rows = 0
    with open_file(file, schema) as writer:
        for frame in chain([first], alike):
            try:
                table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise ValueError(
                    f"A column has another type than in the rows before: {error}"
                ) from error
            writer.write_table(table)
            n_rows += len(frame)
    return n_rows


def _plain_schema(frame: Any) -> Any:
    """Give types that hold for later frames too: texts where all is missing or in categories."""
    import pyarrow as pa

    found = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    return pa.schema([field.with_type(_plain_type(field.type)) for field in found])


def _plain_type(found: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(found):
        return found.value_type
    return pa.string() if pa.types.is_null(found) else found


def _alike(frames: Iterable[Any]) -> Iterator[Any]:
    """Pass frames on that have the columns of the first, and refuse none or others."""
    names: list[Any] | None = None
    for frame in frames:
        if names is None:
            names = list(frame.columns)
        if list(frame.columns) != names:
            raise ValueError(f"All frames must have the columns {names}, got {list(frame)}.")
        yield frame
    if names is None:
        raise ValueError("There are no rows to write.")
