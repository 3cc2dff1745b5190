"""From a path to an opened file of rows, in any of the known formats."""

from __future__ import annotations

import gzip
import re
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc, parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from fcgboost.cli import console
from fcgboost.cli.delimited import open_delimited
from fcgboost.cli.guards import Limit, explained
from fcgboost.cli.row_file import RowFile, size_of
from fcgboost.cli.texts import Dialect, Strays

#: The formats by the ends of names.
_SUFFIXES = {
    **{".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".parquet": "parquet", ".npz": "npz"},
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), "svmlight"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".xlsx", ".xlsm"), "xlsx"),
}
#: The formats by the first bytes.
_MARKS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
#: After comments a number, where text with separators has a header.
_LABEL = re.compile(rb"(\s|#.*\n)*[-+]?[.\d][-+.\deE,]*\s")
_STANDARD_INPUT = "-"
_N_ROWS = 65_536
_PLAIN = Dialect()
#: What rows may fill at once, if that is more than so many times the size of their file.
_MUCH = 2**30
_MANY_TIMES = 40
#: The bytes of a row, or an entry, of a sparse matrix while it is read.
_PER_ENTRY = 32


@contextmanager
def open_rows(
    path: Path,
    *,
    format: str | None = None,
    first_index: int | None = None,
    max_bytes: int | None = None,
    dialect: Dialect = _PLAIN,
    is_strict: bool = False,
) -> Iterator[RowFile]:
    """Open a file or a pipe of rows, to be read once; "-" is standard input.

    Without a format the suffix tells it, or else the first bytes. The indices of sparse rows count
    from `first_index`; None is 1 unless index 0 occurs in the file. Rows that are held at once may
    fill `max_bytes`; None is 1 GiB, or 40 times the file's size if that is more. Stray texts among
    numbers count as missing; if strict, they are an error.
    """
    name = "standard input" if str(path) == _STANDARD_INPUT else str(path)
    with _seekable(path) as file:
        limit = Limit(name, max_bytes or max(_MUCH, _MANY_TIMES * file.seek(0, 2)))
        with explained(name):
            file.seek(0)
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            text: Any = gzip.GzipFile(fileobj=file) if is_packed else file
            suffix = Path(path.name.lower().removesuffix(".gz")).suffix
            format = format or _SUFFIXES.get(suffix) or _sniff(name, text)
            text.seek(0)
            _check_dialect(name, format, dialect)
            strays = Strays(name, is_strict)
            if format == "svmlight":
                rows = _open_svmlight(limit, text, first_index)
            elif format == "npz":
                rows = _open_npz(limit, file)
            elif format in ("parquet", "arrow"):
                rows = _open_typed(limit, file, format == "parquet", strays)
            elif format == "xlsx":
                rows = _open_excel(limit, file, replace(dialect, decimal="."), strays)
            else:
                separator = "\t" if format == "tsv" else None
                rows = open_delimited(limit, text, separator, dialect, strays)
        yield rows


def _check_dialect(name: str, format: str, dialect: Dialect) -> None:
    """Refuse options about text for a file of another format."""
    if format in ("csv", "tsv"):
        return
    for option, value in vars(dialect).items():
        if value is not None and (option, format) != ("dayfirst", "xlsx"):
            raise ValueError(
                f"--{option} does not apply to {name}, which is read as {format}: leave it out."
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


def _sniff(name: str, file: Any) -> str:
    """Return the format that the first bytes of a file show."""
    head: bytes = file.read(2**16)
    found = [format for mark, format in _MARKS.items() if head.startswith(mark)]
    if head.startswith(b"PK\x03\x04"):
        is_excel = re.search(rb"\[Content_Types\]|docProps/|xl/", head)
        found = ["npz"] * (b".npy" in head) or ["xlsx"] * bool(is_excel)
    if not found and b"\0" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(
            f"{name}: neither the name nor the first bytes tell the format. Known are "
            f"{', '.join(_SUFFIXES)}; text may be gzipped. Save an .xls workbook as .xlsx."
        )
    is_sparse = _LABEL.match(head) and re.search(rb"[ \t]\d+:\S", head)
    return found[0] if found else "svmlight" if is_sparse else "csv"


def _open_typed(limit: Limit, file: IO[bytes], is_parquet: bool, strays: Strays) -> RowFile:
    """Open a file that knows the types of its columns: Parquet, or Arrow's file or stream."""
    schema, batches = (_parquet if is_parquet else _arrow)(limit, file)

    def blocks(wanted: list[str]) -> Iterator[Any]:
        plain = pa.schema([schema.field(name) for name in wanted])
        for batch in batches(wanted):
            batch.validate(full=True)  # a damaged one may point outside its memory
            limit.check(size_of(batch.select(wanted)))
            yield from pa.Table.from_batches([batch]).select(wanted).cast(plain).to_batches()

    about = schema.pandas_metadata or {}
    # In columns of the index pandas keeps the names of rows, which are no features.
    index, known = about.get("index_columns", []), about.get("columns", [])
    columns = tuple(column for column in schema.names if column not in index)
    categories = [one.get("name") for one in known if one.get("pandas_type") == "categorical"]
    return RowFile(limit, columns, blocks, categories=tuple(categories), strays=strays)


def _parquet(limit: Limit, file: IO[bytes]) -> tuple[Any, Callable[[list[str]], Any]]:
    source = parquet.ParquetFile(file)
    schema, about = source.schema_arrow, source.metadata
    # A long text that many rows share is there once, and is to be read once.
    texts = [one.name for one in schema if one.type in (pa.string(), pa.large_string())]
    source = parquet.ParquetFile(file, metadata=about, read_dictionary=texts)
    roots = [about.schema.column(j).path.partition(".")[0] for j in range(about.num_columns)]

    def batches(wanted: list[str]) -> Any:
        leaves = [j for j, root in enumerate(roots) if root in wanted]
        for group in map(about.row_group, range(about.num_row_groups)):
            limit.check(sum(group.column(j).total_uncompressed_size for j in leaves))
        kinds = [schema.field(name).type for name in wanted]
        widths = [kind.byte_width if pa.types.is_fixed_size_binary(kind) else 8 for kind in kinds]
        n_rows = limit.n_bytes // (8 * sum(widths) + 64) + 1
        return source.iter_batches(min(_N_ROWS, n_rows), columns=wanted)

    return schema, batches


def _arrow(limit: Limit, file: IO[bytes]) -> tuple[Any, Callable[[list[str]], Any]]:
    # Arrow's file is a stream between two marks.
    mark = file.read(6)
    if start := 8 * (mark == b"ARROW1"):
        file.seek(-6, 2)
        if file.read() != mark:
            raise EOFError("its end is missing")
    file.seek(start)
    for message in ipc.MessageReader.open_stream(file):
        limit.check(_unpacked(message))
    file.seek(start)
    source = ipc.open_stream(file)
    return source.schema, lambda wanted: source


def _unpacked(message: Any) -> int:
    """Return the bytes that a message of Arrow says its packed buffers have, which comes first.

    A field is found in a list of places, to which the first bytes of its table point.
    """
    about, body = bytes(message.metadata), message.body

    def at(kind: str, place: int, data: Any = about) -> int:
        return int(struct.unpack_from(kind, data, place)[0])

    def field(table: int, number: int) -> int:
        places, place = table - at("<i", table), 4 + 2 * number
        return table + at("<H", places + place) if place < at("<H", places) else table

    def below(table: int, number: int) -> int:
        place = field(table, number)
        return place + at("<I", place)

    if message.type not in ("record batch", "dictionary"):
        return 0
    batch = below(at("<I", 0), 2)
    batch = below(batch, 1) if message.type == "dictionary" else batch
    if field(batch, 3) == batch:  # not packed
        return int(body.size)
    buffers = below(batch, 2)
    filled = [
        buffers + 4 + 16 * i for i in range(at("<I", buffers)) if at("<q", buffers + 12 + 16 * i)
    ]
    return sum(max(0, at("<q", at("<q", place), body)) for place in filled)


def _open_excel(limit: Limit, file: IO[bytes], dialect: Dialect, strays: Strays) -> RowFile:
    """Open the first sheet of a workbook; its cells are read as those of a text file."""
    with zipfile.ZipFile(file) as archive:
        limit.check(sum(member.file_size for member in archive.infolist()))
    try:
        with warnings.catch_warnings(action="ignore"):  # about styles and the like
            book = pd.ExcelFile(file, engine="openpyxl")
            cells = book.parse(header=None, dtype=object, na_filter=False)
    except ImportError as error:
        problem = "Excel files need openpyxl: python -m pip install 'fcgboost[excel]'"
        raise ImportError(problem, name="openpyxl") from error
    if len(book.sheet_names) > 1:
        sheet = book.sheet_names[0]
        console.note(f"{limit.name} has {len(book.sheet_names)} sheets; {sheet!r} is read.")
    texts = cells.map(lambda cell: str(cell).removesuffix(" 00:00:00"))
    texts = texts.loc[(texts != "").any(axis=1), (texts != "").any()]
    if texts.empty:
        raise ValueError(f"{limit.name}: the first sheet is empty.")
    header = enumerate(texts.iloc[0].str.strip())
    columns = tuple(name or f"Unnamed: {i}" for i, name in header)
    batch = pa.record_batch([pa.array(texts[j][1:], pa.string()) for j in texts], names=columns)
    return RowFile(limit, columns, lambda wanted: [batch.select(wanted)], dialect, strays=strays)


def _open_npz(limit: Limit, file: IO[bytes]) -> RowFile:
    """Open arrays of NumPy's, or the parts of one sparse matrix."""
    with zipfile.ZipFile(file) as archive:
        limit.check(sum(member.file_size for member in archive.infolist()))
    file.seek(0)
    arrays = np.load(file)
    if not {"format", "shape", "data"} <= set(arrays):
        return _open_arrays(limit, arrays)
    file.seek(0)
    matrix = sparse.load_npz(file)
    if matrix.format in ("csr", "csc", "bsr"):  # a damaged one may point outside its memory
        matrix.check_format(full_check=True)
    limit.check(_PER_ENTRY * (matrix.nnz + sum(matrix.shape)))
    return _open_sparse(limit, matrix.tocsr())


def _open_arrays(limit: Limit, arrays: Mapping[str, Any]) -> RowFile:
    X = arrays.get("X", np.empty(0))
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError("the rows must be a two-dimensional array X, the labels an array y")
    limit.check(0, X.shape[1])
    columns = [*map(str, arrays.get("feature_names", [f"x{i}" for i in range(X.shape[1])]))]
    values, target = list(X.T), None
    if "y" in arrays:
        target = "y"
        columns.append(target)
        values.append(arrays[target])
    batch = pa.record_batch(list(map(pa.array, values)), names=columns)
    return RowFile(
        limit, tuple(columns), lambda wanted: [batch.select(wanted)], default_target=target
    )


def _open_svmlight(limit: Limit, file: Any, first_index: int | None) -> RowFile:
    name, n_bytes, longest = limit.name, 0, limit.n_bytes // _PER_ENTRY
    while line := file.readline(longest + 1):
        n_bytes += _PER_ENTRY * (1 + line.count(b":"))
        limit.check(max(n_bytes, _PER_ENTRY * len(line)))
    file.seek(0)
    try:
        X, y = load_svmlight_file(file, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be read as svmlight: {error}") from error
    if not np.isfinite(y).all():
        raise ValueError(f"{name} has a label that is not a finite number.")
    least = int(X.indices.min(initial=1))
    first = least if first_index is None else first_index
    if least < first:
        raise ValueError(f"{name} has the index 0, but the model's indices count from 1.")
    shape = (len(y), max(X.shape[1] - first, 1))
    limit.check(_PER_ENTRY * shape[1])
    matrix = sparse.csr_matrix((X.data, X.indices - first, X.indptr), shape=shape)
    labels = y.astype(np.int64) if (y == np.floor(y)).all() else y
    return _open_sparse(limit, matrix, labels=labels, first_index=first)


def _open_sparse(limit: Limit, matrix: Any, **known: Any) -> RowFile:
    if matrix.shape[0] == 0:
        raise ValueError(f"{limit.name} has no rows.")
    if matrix.dtype.kind not in "biuf" or not np.isfinite(matrix.data).all():
        raise ValueError(f"{limit.name} holds something other than finite numbers.")
    return RowFile(limit, matrix=matrix, **known)
