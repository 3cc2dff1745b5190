"""Bytes of a text file, packed or not, and where in it something is."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NoReturn, cast

from fcgboost.readers.sources import Source

_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK = 2**20


@contextmanager
def open_bytes(source: Source) -> Iterator[IO[bytes]]:
    """Open a file, unpacked if it is gzip by its first bytes; a damaged one is a ValueError."""
    try:
        with source.open() as raw:
            is_packed = raw.read(2) == _GZIP
            raw.seek(0)
            if not is_packed:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield cast(IO[bytes], unpacked)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{source} is damaged: {error}") from error


def refuse_encoding(source: Source) -> NoReturn:
    """Raise a ValueError that says where a file is not UTF-8, and what helps."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    with open_bytes(source) as file:
        while chunk := file.read(_CHUNK):
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                byte, place = error.object[error.start], offset - pending + error.start
                is_wide = offset == 0 and chunk.startswith(_UTF16)
                name = "UTF-16" if is_wide else "LATIN1"
                raise ValueError(
                    f"{source} is not UTF-8: byte 0x{byte:02X} at offset {place}. Convert it "
                    f"first, for example by: iconv -f {name} -t UTF-8 {source.path.name} > new.csv"
                ) from None
            offset += len(chunk)
    raise ValueError(f"{source} is not UTF-8: it ends within a character.")


@contextmanager
def _records(source: Source, separator: str, is_strict: bool) -> Iterator[Any]:
    """Give Python's own, slow reader of records, which knows the number of the line it is at."""
    with open_bytes(source) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        yield csv.reader(text, delimiter=separator, strict=is_strict)


def line_of(source: Source, separator: str, record: int) -> int | None:
    """Give the line on which a record begins, the header being record 0."""
    with _records(source, separator, is_strict=False) as reader:
        line = 1
        try:
            for row in reader:
                if not (line == 1 and _is_hint(row)):
                    if row and record == 0:
                        return line
                    record -= bool(row)
                line = reader.line_num + 1
        except csv.Error:
            return None
    return None


def find_fault(source: Source, separator: str, width: int) -> str | None:
    """Say which record has not as many fields as the header, or a quote that stays open."""
    with _records(source, separator, is_strict=True) as reader:
        line = 1
        try:
            for row in reader:
                if row and len(row) != width and not (line == 1 and _is_hint(row)):
                    return f"line {line} has {len(row)} fields, but the header has {width}"
                line = reader.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error):
                return f"a quote that is opened on line {line} is never closed"
    return None


def _is_hint(row: list[str]) -> bool:
    """Whether a record is a line such as sep=; that only names the separator."""
    return len(row) == 2 and row[0].lower() == "sep=" and not row[1]
