"""Text with a header line and separated fields: CSV, TSV and the like."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from fcgboost.rows.limits import Source
from fcgboost.rows.row_file import UNNAMED, RowFile
from fcgboost.rows.texts import Dialect

SEPARATORS = ",;\t|"
_BLOCK = 2**20
_LONGEST_HEADER = 2**24
_N_SNIFFED = 50
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|inf", re.IGNORECASE)
#: The fields of a line that is appended to the file.
_END = "\x1c"
#: Only UTF-16 begins so.
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_delimited(source: Source, file: IO[bytes], separators: str, dialect: Dialect) -> RowFile:
    """Open a text file that one of the separators divides."""
    name = source.name
    encoding = _encoding_of(file, dialect)

    def opened() -> Any:
        file.seek(0)
        if encoding is None:
            return file
        return pa.transcoding_input_stream(pa.PythonFile(file, mode="r"), encoding, "utf-8")

    head = _read_head(name, opened(), encoding)
    likely = dialect.memory.separator
    separator = max(separators, key=lambda mark: (*_fit(head, mark), mark == likely))
    records = list(_records(head, separator))
    n_skipped = header_at(source, records) + 1
    columns = named(records[n_skipped - 1]) if records else []
    are_numbered = len(set(columns)) == len(columns) and all(map(str.isdecimal, columns))
    if all(map(_NUMBER.fullmatch, columns)) and not are_numbered:
        raise ValueError(f"{name}: the first line holds numbers, not names; add a header line.")
    options = arrow_csv.ReadOptions(
        use_threads=False,
        # A row must fit into a block; few are many times as long as the header.
        block_size=max(_BLOCK, min(16 * len("".join(columns)), source.max_bytes // 16)),
        column_names=columns,
        skip_rows_after_names=n_skipped,
    )

    def blocks(wanted: list[str]) -> Iterator[pa.RecordBatch]:
        end = "\n" + separator.join([_END] * len(columns)) + "\n"
        joined = _Joined(opened(), end.encode())
        try:
            batches = _read_texts(
                joined,
                options,
                separator,
                wanted,
            )
            yield from _without_end(batches, n_skipped)
        except UnicodeDecodeError:
            raise ValueError(f"{name}: {_misread(encoding)}") from None
        except pa.ArrowInvalid as error:
            problem = _explain(str(error), n_skipped)
            raise ValueError(f"{name}, {problem}") from None
        finally:
            joined.end()

    return RowFile(
        source,
        tuple(columns),
        blocks,
        replace(dialect, separator=separator),
        lines=lambda: _find_lines(opened(), separator, n_skipped),
    )


def _encoding_of(file: IO[bytes], dialect: Dialect) -> str | None:
    """Return the encoding that an option, the first bytes or a model tells; None is UTF-8."""
    head = file.read(_BLOCK)
    if dialect.encoding is not None:
        return dialect.encoding
    if head.startswith(UTF_16_MARKS):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(head)  # which may end in a character
        if not text.isascii():
            return None
    return dialect.memory.encoding


def _find_lines(file: IO[bytes], separator: str, n_skipped: int) -> list[int]:
    """Return the lines at which rows begin; they end at a field too long for the csv module."""
    text = io.TextIOWrapper(
        file,
        "utf-8-sig",
        "replace",
        newline="",
    )
    reader = csv.reader(text, delimiter=separator)
    lines = []
    line = 1
    with suppress(csv.Error):
        for i, record in enumerate(reader):
            if record and i >= n_skipped:
                lines.append(line)
            line = reader.line_num + 1
    text.detach()  # which would close the file
    return lines


def named(header: Iterable[str]) -> list[str]:
    """Return the names of columns, also of those that have none."""
    return [name.strip() or f"{UNNAMED}{i}" for i, name in enumerate(header)]


def header_at(source: Source, records: Sequence[Sequence[str]]) -> int:
    """Return which of the first records has the names: a title fills at most half of a row."""
    widths = [sum(map(bool, record)) for record in records[:_N_SNIFFED]]
    usual = Counter(filter(None, widths)).most_common(1)
    title = ""
    for i, (width, record) in enumerate(zip(widths, records, strict=False)):
        if width and (not record[0] or 2 * width > usual[0][0]):
            if title:
                source.tell(f"The names of the columns are below the title {title!r:.60}.")
            return i
        title = title or " ".join(filter(None, record))
    return 0


def _read_texts(
    file: _Joined, options: arrow_csv.ReadOptions, separator: str, wanted: list[str]
) -> arrow_csv.CSVStreamingReader:
    """Open a reader of columns as the texts they are."""
    return arrow_csv.open_csv(
        pa.PythonFile(file, mode="r"),
        read_options=options,
        parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.string()),
            strings_can_be_null=False,
        ),
    )


def _without_end(batches: Iterable[pa.RecordBatch], n_skipped: int) -> Iterator[pa.RecordBatch]:
    """Yield batches without the end line, which an unclosed quote would swallow."""
    n_rows = 0
    held = None
    for batch in batches:
        if held is not None:
            yield held
        held = batch
        n_rows = n_rows + batch.num_rows
    if held is None or held.column(0)[-1].as_py() != _END:
        raise pa.ArrowInvalid(f"Row #{n_rows + n_skipped}")
    yield held.slice(0, held.num_rows - 1)


def _explain(problem: str, n_skipped: int) -> str:
    row_number = re.search(r"Row #(\d+)", problem)
    row = "" if row_number is None else f"row {int(row_number[1]) - n_skipped}: "
    if "UTF8" in problem:
        return row + _misread(None)
    ragged = re.search(r"Expected (\d+) columns, got (\d+): (.*)", problem, re.DOTALL)
    if "straddling" in problem:
        return "a row is too long, or a quote is opened and never closed."
    if ragged is None or _END in ragged[3]:
        return f"{row}a quote is opened and never closed."
    return f"{row}expected {ragged[1]} fields as in the header, found {ragged[2]}; is a quote open?"


class _Joined(io.RawIOBase):
    """A file, and bytes after it."""

    def __init__(self, file: IO[bytes], rest: bytes) -> None:
        self._file = file
        self._rest = io.BytesIO(rest)
        self._lock = threading.Lock()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with self._lock:
            data = self._file.read(size)
            return data + self._rest.read(size - len(data))

    def end(self) -> None:
        """Wait for Arrow's thread, which reads ahead: Python cannot end while it does."""
        with self._lock:
            self._file = self._rest = io.BytesIO()


def _misread(encoding: str | None) -> str:
    return (
        f"the text is not {encoding or 'UTF-8'}; name its encoding, such as --encoding cp1252 or "
        "latin1."
    )


def _read_head(name: str, file: IO[bytes], encoding: str | None) -> str:
    """Return the text at the beginning of a file: the header at least."""
    try:
        head = file.read(_BLOCK)
        if not re.search(b"[\r\n]", head):
            head += file.read(_LONGEST_HEADER)
        if not head.removeprefix(codecs.BOM_UTF8).strip():
            raise ValueError(f"{name} is empty.")
        if file.read(1):  # there is more: to the end of a line
            head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
        if not head:
            raise ValueError(f"{name}: the first line does not end. Is it a table of text?")
        head.lstrip().splitlines()[0].decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name}: {_misread(encoding)}") from None
    return head.decode("utf-8-sig", errors="replace")  # later rows are reported by number


def _records(head: str, separator: str) -> Iterator[list[str]]:
    """Yield the fields of the first rows, none of blank ones."""
    with suppress(csv.Error):
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
        yield from islice(reader, _N_SNIFFED)


def _fit(head: str, separator: str) -> tuple[int, int]:
    """Score a separator: how many records have the same several fields, and how many fields."""
    widths = Counter(map(len, filter(None, _records(head, separator))))
    [(width, n_records)] = widths.most_common(1) or [(1, 0)]
    return n_records if width > 1 else 0, width
