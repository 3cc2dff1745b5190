"""From a path to an opened file of rows, whatever its format."""

from __future__ import annotations

import gzip
import re
import shutil
import struct
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from fcgboost.cli.delimited import open_delimited
from fcgboost.cli.guards import Limit, explained
from fcgboost.cli.row_file import RowFile, size_of

#: The formats by the ends of names.
_SUFFIXES = {
    **{".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".parquet": "parquet", ".npz": "npz"},
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), "svmlight"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}
#: The formats by the first bytes.
_MARKS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
#: After comments a number, where text with separators has a header.
_LABEL = re.compile(rb"(\s|#.*\n)*[-+]?[.\d][-+.\deE,]*\s")
_STANDARD_INPUT = "-"
_N_ROWS = 65_536
#: The bytes of long texts that are written out at a time.
_PIECE = 2**26
#: The bytes that a row, or an entry, of a sparse matrix takes while it is read.
_PER_ENTRY = 32


@contextmanager
def open_rows(
    path: Path,
    *,
    format: str | None = None,
    first_index: int | None = None,
    max_bytes: int | None = None,
) -> Iterator[RowFile]:
    """Open a file or a pipe of rows, to be read once; "-" is the standard input.

    A format of None is what the end of the name says, else what the first bytes do. The indices of
    sparse rows count from `first_index`; None is 1 unless index 0 occurs in the file. Rows that are
    held at once may fill `max_bytes`; None is 1 GiB, or 20 times the file's size if that is more.
    """
    name = "standard input" if str(path) == _STANDARD_INPUT else str(path)
    with _seekable(path) as file:
        limit = Limit.of(name, file.seek(0, 2), max_bytes)
        file.seek(0)
        with explained(name):
            rows = _open(path, file, limit, format, first_index)
        yield rows


def _open(
    path: Path, file: IO[bytes], limit: Limit, format: str | None, first_index: int | None
) -> RowFile:
    is_packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    text: Any = gzip.GzipFile(fileobj=file) if is_packed else file
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    format = format or _SUFFIXES.get(suffix) or _sniff(limit.name, text)
    text.seek(0)
    if format == "svmlight":
        return _open_svmlight(text, limit, first_index)
    if format == "npz":
        return _open_npz(file, limit)
    if format == "parquet":
        return _open_parquet(file, limit)
    if format == "arrow":
        return _open_arrow(file, limit)
    return open_delimited(limit, text, "\t" if format == "tsv" else None)


@contextmanager
def _seekable(path: Path) -> Iterator[IO[bytes]]:
    """Open a file; of what comes through a pipe a temporary copy is made."""
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
    if head.startswith(b"PK\x03\x04") and b".npy" in head:
        found = ["npz"]
    if not found and b"\0" in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(
            f"{name}: neither the name nor the first bytes tell the format. Known are "
            f"{', '.join(_SUFFIXES)}; text may be packed as .gz. Save a workbook as CSV first."
        )
    is_sparse = _LABEL.match(head) and re.search(rb"[ \t]\d+:\S", head)
    return found[0] if found else "svmlight" if is_sparse else "csv"


def _open_parquet(file: IO[bytes], limit: Limit) -> RowFile:
    about = parquet.ParquetFile(file)
    schema, groups = about.schema_arrow, about.metadata
    # A long text that many rows share is in the file, and is read, once.
    texts = [
        one.name for one in schema if one.type in (pa.string(), pa.large_string(), pa.binary())
    ]
    source = parquet.ParquetFile(file, metadata=groups, read_dictionary=texts)
    roots = [groups.schema.column(j).path.partition(".")[0] for j in range(groups.num_columns)]

    def blocks(wanted: list[str]) -> Iterator[Any]:
        leaves = [j for j, root in enumerate(roots) if root in wanted]
        for group in map(groups.row_group, range(groups.num_row_groups)):
            limit.check(sum(group.column(j).total_uncompressed_size for j in leaves))
        n_rows = limit.n_bytes // (8 * sum(_width(schema.field(one).type) for one in wanted) + 1)
        for batch in source.iter_batches(min(_N_ROWS, n_rows + 1), columns=wanted):
            yield from _written_out(_checked(batch, wanted), schema)

    return _typed(limit, schema, blocks)


def _width(kind: Any) -> int:
    return max(kind.byte_width if pa.types.is_fixed_size_binary(kind) else 0, 8)


def _written_out(batch: Any, schema: Any) -> Iterator[Any]:
    """Yield a batch in the types of a schema, a few rows at a time where texts are long."""
    half = batch.num_rows // 2
    if half and size_of(batch) > _PIECE:
        yield from _written_out(batch.slice(0, half), schema)
        yield from _written_out(batch.slice(half), schema)
        return
    types = [schema.field(name).type for name in batch.schema.names]
    columns = [
        column if column.type == kind else column.dictionary_decode().cast(kind)
        for column, kind in zip(batch.columns, types, strict=True)
    ]
    yield pa.record_batch(columns, names=batch.schema.names)


def _open_arrow(file: IO[bytes], limit: Limit) -> RowFile:
    """Open Arrow's stream, or its file, which is a stream between two marks."""
    mark = b"ARROW1"
    start = 8 if file.read(len(mark)) == mark else 0
    if start:
        file.seek(-len(mark), 2)
        if file.read() != mark:
            raise EOFError("its end is missing")
    file.seek(start)
    for message in ipc.MessageReader.open_stream(file):
        limit.check(_unpacked(message))
    file.seek(start)
    source = ipc.open_stream(file)
    return _typed(
        limit, source.schema, lambda wanted: (_checked(batch, wanted) for batch in source)
    )


def _unpacked(message: Any) -> int:
    """Return how many bytes the buffers of a message are, unpacked, by the words of the file.

    In Arrow's format a field of a table is found through a list of places that begins the table;
    packed buffers begin with their length.
    """
    about, body = bytes(message.metadata), message.body

    def field(table: int, number: int) -> int:
        places = table - struct.unpack_from("<i", about, table)[0]
        end, place = struct.unpack_from("<H", about, places)[0], 4 + 2 * number
        there = place < end and struct.unpack_from("<H", about, places + place)[0]
        return table + there if there else 0

    def follow(place: int) -> int:
        return place + int(struct.unpack_from("<I", about, place)[0])

    if message.type not in ("record batch", "dictionary"):
        return 0
    batch = follow(field(follow(0), 2))
    batch = follow(field(batch, 1)) if message.type == "dictionary" else batch
    buffers = follow(field(batch, 2))
    total = body.size
    if field(batch, 3):
        for i in range(struct.unpack_from("<I", about, buffers)[0]):
            start, size = struct.unpack_from("<qq", about, buffers + 4 + 16 * i)
            total += max(0, struct.unpack_from("<q", body, start)[0]) if size else 0
    return int(total)


def _checked(batch: Any, wanted: list[str]) -> Any:
    batch.validate(full=True)  # a damaged one may point outside its memory
    return batch.select(wanted)


def _typed(limit: Limit, schema: Any, blocks: Any) -> RowFile:
    """Return a file that knows the types of its columns."""
    about = schema.pandas_metadata or {}
    # In columns of the index pandas keeps the names of rows, which are no features.
    index, known = about.get("index_columns", []), about.get("columns", [])
    columns = tuple(column for column in schema.names if column not in index)
    categories = [one.get("name") for one in known if one.get("pandas_type") == "categorical"]
    return RowFile(limit, columns, blocks, categories=tuple(categories))


def _open_npz(file: IO[bytes], limit: Limit) -> RowFile:
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
        raise ValueError("the rows must be an array X of two dimensions, their labels an array y")
    limit.check(X.nbytes, X.shape[1])
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


class _Lines:
    """The lines of a file of sparse rows, as long as their numbers are not too many."""

    def __init__(self, file: Any, limit: Limit) -> None:
        self._file, self._limit = file, limit
        self.read = file.read  # for scikit-learn a sign that this is a file

    def __iter__(self) -> Iterator[bytes]:
        n_bytes, longest = 0, self._limit.n_bytes // _PER_ENTRY
        while line := self._file.readline(longest + 1):
            n_bytes += _PER_ENTRY * (1 + line.count(b":"))
            self._limit.check(max(n_bytes, _PER_ENTRY * len(line)))
            yield line


def _open_svmlight(file: Any, limit: Limit, first_index: int | None) -> RowFile:
    name = limit.name
    try:
        X, y = load_svmlight_file(_Lines(file, limit), zero_based=True)
    except (ValueError, OverflowError) as error:
        if name in str(error):
            raise
        raise ValueError(f"{name} cannot be read as svmlight: {error}") from error
    if not np.isfinite(y).all():
        raise ValueError(f"{name} has a label that is not a finite number.")
    least = int(X.indices.min(initial=1))
    first = least if first_index is None else first_index
    if least < first:
        raise ValueError(f"{name} has the index 0, but its indices should count from 1.")
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
