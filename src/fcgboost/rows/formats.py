"""From a path to an opened file of rows, in any of the known formats."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from fcgboost.rows import pages
from fcgboost.rows.delimited import SEPARATORS, UTF_16_MARKS, header_at, named, open_delimited
from fcgboost.rows.limits import Source, explained
from fcgboost.rows.memory import memory_of
from fcgboost.rows.packing import unpacked_size
from fcgboost.rows.row_file import TEXTS, Blocks, RowFile, size_of
from fcgboost.rows.texts import Dialect

#: The formats by file extension.
_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
    ".svmlight": "svmlight",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
_ARROW_FILE = b"ARROW1"
#: The formats by their first bytes.
_MARKS = {b"PAR1": "parquet", _ARROW_FILE: "arrow", b"\xff\xff\xff\xff": "arrow"}
#: How svmlight begins, after comments: with a number, where other text has a header.
_LABEL = re.compile(rb"(\s|#.*\n)*[-+]?[.\d][-+.\deE,]*\s")
_STANDARD_INPUT = "-"
#: Rows of a batch at most; few, because a file may lie about the size of its rows.
_N_ROWS = 16_384
#: Rows may fill this much memory, or this many times the size of their file, whichever is more.
_DEFAULT_BYTES = 2**30
_TIMES_FILE = 40
#: The bytes of a row or an entry of a sparse matrix, or a cell of a workbook, while it is read.
_PER_ENTRY = 32


def warn(text: str) -> None:
    """Tell the user by a warning."""
    warnings.warn(text, UserWarning, stacklevel=2)


@contextmanager
def open_rows(
    path: str | Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dayfirst: bool | None = None,
    sheet: str | None = None,
    merge_spellings: bool = False,
    strict: bool = False,
    max_bytes: int | None = None,
    like: Mapping[str, object] | None = None,
    tell: Callable[[str], None] = warn,
) -> Iterator[RowFile]:
    """Open a file or a pipe of rows, to be read whole or in batches.

    Parameters
    ----------
    path, format, encoding, decimal, thousands, dayfirst, sheet, merge_spellings, strict, \
max_bytes :
        As in `read_table`.
    like : mapping or None, default=None
        What `RowFile.about` said about the file that a model was fitted to: this one is read alike
        where the other parameters say nothing else. `fcgboost fit` stores it as
        ``about_["data"]["reading"]``.
    tell : callable, default=a function that warns
        Called with one sentence about each thing the user should know, such as stray texts.

    Yields
    ------
    RowFile

    Examples
    --------
    Predictions for a file that is larger than memory::

        with open_rows("new.csv") as rows:
            for batch in model_batches(clf, rows, n_rows=10_000):
                print(batch.X, batch.decision)
    """
    path = Path(path)
    name = "standard input" if str(path) == _STANDARD_INPUT else str(path)
    memory = memory_of(like or {})
    dialect = Dialect(
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        dayfirst=dayfirst,
        sheet=sheet,
        memory=memory,
    )
    with _seekable(path) as file:
        n_bytes = file.seek(0, 2)
        most = max_bytes or max(_DEFAULT_BYTES, _TIMES_FILE * n_bytes)
        merges_spellings = merge_spellings or memory.merges_spellings
        source = Source(
            name,
            most,
            tell,
            strict,
            merges_spellings,
        )
        with explained(name):
            file.seek(0)
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            text: Any = gzip.GzipFile(fileobj=file) if is_packed else file
            suffix = Path(path.name.lower().removesuffix(".gz")).suffix
            format = format or _SUFFIXES.get(suffix) or _sniff(name, text)
            text.seek(0)
            _check_dialect(name, format, dialect)
            if format == "svmlight":
                rows = _open_svmlight(source, text, memory.first_index)
            elif format == "parquet":
                rows = _open_typed(source, *_parquet(source, file))
            elif format == "arrow":
                rows = _open_typed(source, *_arrow(source, file))
            elif format == "xlsx":
                rows = _open_excel(source, file, dialect)
            else:
                separators = "\t" if format == "tsv" else SEPARATORS
                rows = open_delimited(
                    source,
                    text,
                    separators,
                    dialect,
                )
        yield rows


def _check_dialect(name: str, format: str, dialect: Dialect) -> None:
    """Refuse options about text for a file of another format."""
    if format in ("csv", "tsv") and dialect.sheet is None:
        return
    for option, value in vars(dialect).items():
        is_asked = value is not None and option != "memory"
        if is_asked and not (format == "xlsx" and option in ("dayfirst", "sheet")):
            raise ValueError(
                f"{option} does not apply to {name}, which is read as {format}: leave it out."
            )


@contextmanager
def _seekable(path: Path) -> Iterator[IO[bytes]]:
    """Open a file; copy a pipe into a temporary file."""
    is_standard = str(path) == _STANDARD_INPUT
    with nullcontext(sys.stdin.buffer) if is_standard else path.open("rb") as file:
        if not is_standard and file.seekable():
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            copy.seek(0)
            yield copy


def _sniff(name: str, file: IO[bytes]) -> str:
    """Return the format that the first bytes of a file show."""
    head = file.read(2**16)
    for mark, format in _MARKS.items():
        if head.startswith(mark):
            return format
    if head.startswith(b"PK\x03\x04") and re.search(rb"\[Content_Types\]|docProps/|xl/", head):
        return "xlsx"
    if b"\0" in head and not head.startswith(UTF_16_MARKS):
        raise ValueError(
            f"{name}: neither the name nor the first bytes tell the format. Known are "
            f"{', '.join(_SUFFIXES)}; text may be gzipped. Save an .xls workbook as .xlsx."
        )
    is_sparse = _LABEL.match(head) and re.search(rb"[ \t]\d+:\S", head)
    return "svmlight" if is_sparse else "csv"


def _open_typed(source: Source, schema: pa.Schema, blocks: Blocks) -> RowFile:
    """Open a file that knows the types of its columns."""

    def checked(wanted: list[str]) -> Iterator[pa.RecordBatch]:
        plain = pa.schema([schema.field(name) for name in wanted])
        for field in plain:
            if pa.types.is_nested(field.type):
                raise ValueError(
                    f"{source.name}: cells of column {field.name!r} hold several values: leave the "
                    "column out."
                )
        for batch in blocks(wanted):
            batch.validate(full=True)  # a damaged one may point outside its memory
            source.check(size_of(batch.select(wanted)))
            table = pa.Table.from_batches([batch])
            yield from table.select(wanted).cast(plain).to_batches()

    metadata = schema.pandas_metadata or {}
    # In index columns pandas keeps the names of rows, which are no features.
    index = metadata.get("index_columns", [])
    columns = tuple(column for column in schema.names if column not in index)
    categories = [
        column.get("name")
        for column in metadata.get("columns", [])
        if column.get("pandas_type") == "categorical"
    ]
    return RowFile(
        source,
        columns,
        checked,
        categories=tuple(categories),
    )


def _parquet(source: Source, file: IO[bytes]) -> tuple[pa.Schema, Blocks]:
    plain = parquet.ParquetFile(file)
    schema = plain.schema_arrow
    metadata = plain.metadata
    # A long text that many rows share is stored once, and read once.
    texts = []
    for i, field in enumerate(schema):
        kind = str(field.type).removesuffix("_view")
        if kind in TEXTS:
            texts.append(field.name)
            schema = schema.set(i, field.with_type(pa.type_for_alias(kind)))
    opened = parquet.ParquetFile(file, metadata=metadata, read_dictionary=texts)

    def batches(wanted: list[str]) -> Iterator[pa.RecordBatch]:
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            source.check(group.total_byte_size)
            columns = map(group.column, range(group.num_columns))
            source.check(sum(_column_size(file, column) for column in columns))
        n_bytes = 64
        for name in wanted:
            dtype = schema.field(name).type
            n_bytes += 8 * (dtype.byte_width if pa.types.is_fixed_size_binary(dtype) else 8)
        n_rows = min(_N_ROWS, source.max_bytes // n_bytes + 1)
        yield from opened.iter_batches(n_rows, columns=wanted)

    return schema, batches


def _column_size(file: IO[bytes], column: parquet.ColumnChunkMetaData) -> int:
    """Return the bytes that a column of a group of rows fills."""
    first = column.data_page_offset
    start = min(first, column.dictionary_page_offset or first)
    length = column.total_compressed_size if column.num_values else 0
    return pages.unpacked_size(file, start, length)


def _arrow(source: Source, file: IO[bytes]) -> tuple[pa.Schema, Blocks]:
    """Open Arrow's stream, or its file, which is a stream with a mark before and a list after it.

    The list may point elsewhere, so what is read is the stream, after its sizes were checked.
    """
    start = 0
    if file.read(len(_ARROW_FILE)) == _ARROW_FILE:
        start = 8
        ipc.open_file(file)  # refuses a file without its end
    size = file.seek(0, 2)
    file.seek(start)
    in_dictionaries = 0
    limited = _Limited(source, file, size)
    for message in ipc.MessageReader.open_stream(limited):
        n_bytes = unpacked_size(message)
        source.check(in_dictionaries + n_bytes)
        if message.type == "dictionary":
            in_dictionaries += n_bytes
    file.seek(start)
    schema = ipc.open_stream(file).schema

    def batches(wanted: list[str]) -> Iterator[pa.RecordBatch]:
        file.seek(start)
        yield from ipc.open_stream(file)

    return schema, batches


class _Limited(NamedTuple):
    """A file of which no more than the limit is read at once."""

    source: Source
    file: IO[bytes]
    size: int
    closed: bool = False

    def read(self, n_bytes: int) -> bytes:
        n_bytes = min(n_bytes, self.size)
        self.source.check(n_bytes)
        return self.file.read(n_bytes)


def _open_excel(source: Source, file: IO[bytes], dialect: Dialect) -> RowFile:
    """Open a sheet of a workbook; its cells are read as those of a text file."""
    with zipfile.ZipFile(file) as archive:
        source.check(sum(member.file_size for member in archive.infolist()))
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        problem = "Excel files need openpyxl: python -m pip install 'fcgboost[excel]'"
        raise ImportError(problem, name="openpyxl") from error
    with warnings.catch_warnings(action="ignore"):  # about styles and the like
        book = load_workbook(file, read_only=True, data_only=True)
        names = [sheet.title for sheet in book.worksheets]
        asked = dialect.sheet or dialect.memory.sheet
        name = asked or names[0]
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"{source.name} has no sheet {name!r}; its sheets are {listed}.")
        lines = _sheet_lines(source, book[name])
    if len(names) > 1 and asked is None:
        source.tell(f"{source.name} has {len(names)} sheets; {name!r} is read.")
    if not lines:
        raise ValueError(f"{source.name}: sheet {name!r} is empty.")
    rows = list(lines.values())
    first = header_at(source, [[row.pop(0, ""), *row.values()] for row in map(dict, rows)])
    table = pd.DataFrame(rows[first:]).sort_index(axis=1).fillna("")
    header = named(table.iloc[0])
    values = [pa.array(table[j][1:], pa.string()) for j in table]
    batch = pa.record_batch(values, names=header)
    return RowFile(
        source,
        tuple(header),
        lambda wanted: [batch.select(wanted)],
        replace(dialect, separator="", sheet=name),
        lines=lambda: list(lines)[first + 1 :],
    )


def _sheet_lines(source: Source, sheet: Any) -> dict[int, dict[int, str]]:
    """Return the texts of the filled cells of every row that has some, by row and column.

    A sheet of two filled cells may span 17 billion, so memory is checked before there is a grid.
    """
    # The stated size may be wrong, and openpyxl would fill every row up to it.
    sheet.reset_dimensions()
    lines = {}
    widest = 0
    for n_rows, row in enumerate(sheet.iter_rows(), 1):
        texts = {j: _cell_text(cell) for j, cell in enumerate(row)}
        texts = {j: text for j, text in texts.items() if text}
        if texts:
            widest = max(widest, *texts)
            source.check(_PER_ENTRY * n_rows * widest)
            lines[n_rows] = texts
    return lines


def _cell_text(cell: Any) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":  # nothing, or an error such as #DIV/0!
        return ""
    return str(value).removesuffix(" 00:00:00")


def _open_svmlight(source: Source, file: IO[bytes], first_index: int | None) -> RowFile:
    name = source.name
    n_bytes = 0
    longest = source.max_bytes // _PER_ENTRY
    n_lines = 0
    lines = []
    while line := file.readline(longest + 1):
        n_lines += 1
        if line.partition(b"#")[0].strip():
            lines.append(n_lines)
        n_bytes += _PER_ENTRY * (1 + line.count(b":"))
        source.check(max(n_bytes, _PER_ENTRY * len(line)))
    file.seek(0)
    X, y = load_svmlight_file(file, zero_based=True)
    if len(y) == 0:
        raise ValueError(f"{name} has no rows.")
    if not (np.isfinite(y).all() and np.isfinite(X.data).all()):
        raise ValueError(f"{name} has a label or a value that is not a finite number.")
    least = int(X.indices.min(initial=1))
    first = least if first_index is None else first_index
    if least < first:
        raise ValueError(f"{name} has the index 0, but the model's indices count from 1.")
    is_whole = (y == np.floor(y)).all()
    shape = (len(y), max(X.shape[1] - first, 1))
    source.check(_PER_ENTRY * shape[1])
    return RowFile(
        source,
        matrix=sparse.csr_matrix((X.data, X.indices - first, X.indptr), shape=shape),
        labels=y.astype(np.int64) if is_whole else y,
        first_index=first,
        lines=lambda: lines,
    )
