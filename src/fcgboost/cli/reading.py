"""From a path to an opened file of rows, whatever its format."""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
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
from fcgboost.cli.row_file import RowFile

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
#: What an archive may unpack to, if that is more than so many times its own size.
_MUCH = 2**30
_MANY_TIMES = 200


@contextmanager
def open_rows(
    path: Path, *, format: str | None = None, first_index: int | None = None
) -> Iterator[RowFile]:
    """Open a file or a pipe of rows, to be read once; "-" is the standard input.

    A format of None is what the end of the name says, else what the first bytes do. The indices of
    sparse rows count from `first_index`; None is 1 unless index 0 occurs in the file.
    """
    name = "standard input" if str(path) == _STANDARD_INPUT else str(path)
    with _seekable(path) as file, _explained(name):
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        text: Any = gzip.GzipFile(fileobj=file) if is_packed else file
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        format = format or _SUFFIXES.get(suffix) or _sniff(name, text)
        text.seek(0)
        if format == "svmlight":
            yield _open_svmlight(name, text, first_index)
        elif format == "npz":
            yield _open_npz(name, file)
        elif format in ("parquet", "arrow"):
            yield _open_typed(name, file, format == "parquet")
        else:
            yield open_delimited(name, text, "\t" if format == "tsv" else None)


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


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what libraries say about damaged files into a ValueError that names the file."""
    try:
        yield
    except (pa.ArrowException, EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{name} is damaged, or not of its format: {error}") from error


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


def _open_typed(name: str, file: IO[bytes], is_parquet: bool) -> RowFile:
    """Open a file that knows the types of its columns: Parquet, or Arrow's file or stream."""
    is_stream = not is_parquet and file.read(6) != b"ARROW1"
    file.seek(0)
    open_ = parquet.ParquetFile if is_parquet else ipc.open_stream if is_stream else ipc.open_file
    source: Any = open_(file)

    def blocks(wanted: list[str]) -> Iterator[Any]:
        if is_parquet:
            batches = source.iter_batches(_N_ROWS, columns=wanted)
        elif is_stream:
            batches = source
        else:
            batches = map(source.get_batch, range(source.num_record_batches))
        for batch in batches:
            batch.validate(full=True)  # a damaged one may point outside its memory
            yield batch.select(wanted)

    schema = source.schema_arrow if is_parquet else source.schema
    about = schema.pandas_metadata or {}
    # In columns of the index pandas keeps the names of rows, which are no features.
    index, known = about.get("index_columns", []), about.get("columns", [])
    columns = tuple(column for column in schema.names if column not in index)
    categories = [one.get("name") for one in known if one.get("pandas_type") == "categorical"]
    return RowFile(name, columns, blocks, categories=tuple(categories))


def _open_npz(name: str, file: IO[bytes]) -> RowFile:
    """Open arrays of NumPy's, or the parts of one sparse matrix."""
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_MUCH, _MANY_TIMES * file.seek(0, 2)):
        raise ValueError(f"{name} is refused: it would unpack to {unpacked / 2**30:.1f} GiB.")
    try:
        file.seek(0)
        arrays = np.load(file)
        if not {"format", "shape", "data"} <= set(arrays):
            return _open_arrays(name, arrays)
        file.seek(0)
        matrix = sparse.load_npz(file)
        if matrix.format in ("csr", "csc", "bsr"):  # a damaged one may point outside its memory
            matrix.check_format(full_check=True)
    except (ValueError, KeyError, TypeError, MemoryError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from error
    return _open_sparse(name, matrix.tocsr())


def _open_arrays(name: str, arrays: Mapping[str, Any]) -> RowFile:
    X = arrays.get("X", np.empty(0))
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError("the rows must be an array X of two dimensions, their labels an array y")
    columns = [*map(str, arrays.get("feature_names", [f"x{i}" for i in range(X.shape[1])]))]
    values, target = list(X.T), None
    if "y" in arrays:
        target = "y"
        columns.append(target)
        values.append(arrays[target])
    batch = pa.record_batch(list(map(pa.array, values)), names=columns)
    return RowFile(
        name, tuple(columns), lambda wanted: [batch.select(wanted)], default_target=target
    )


def _open_svmlight(name: str, file: Any, first_index: int | None) -> RowFile:
    try:
        X, y = load_svmlight_file(file, zero_based=True)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as svmlight: {error}") from error
    if not np.isfinite(y).all():
        raise ValueError(f"{name} has a label that is not a finite number.")
    least = int(X.indices.min(initial=1))
    first = least if first_index is None else first_index
    if least < first:
        raise ValueError(f"{name} has the index 0, but its indices should count from 1.")
    shape = (len(y), max(X.shape[1] - first, 1))
    matrix = sparse.csr_matrix((X.data, X.indices - first, X.indptr), shape=shape)
    labels = y.astype(np.int64) if (y == np.floor(y)).all() else y
    return _open_sparse(name, matrix, labels=labels, first_index=first)


def _open_sparse(name: str, matrix: Any, **known: Any) -> RowFile:
    if matrix.shape[0] == 0:
        raise ValueError(f"{name} has no rows.")
    if matrix.dtype.kind not in "biuf" or not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} holds something other than finite numbers.")
    return RowFile(name, matrix=matrix, **known)
