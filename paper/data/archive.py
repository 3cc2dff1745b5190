"""From the UCI archive's zip files to canonical CSV text."""

from __future__ import annotations

import csv
import io
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.client import HTTPException
from pathlib import PurePosixPath

from paper.data.catalog import Archive, UciSet
from paper.data.home import digest
from paper.data.lzw import decompress

BASE = "https://archive.ics.uci.edu/static/public"
TIMEOUT_SECONDS = 60.0
# The largest zip that is read, and the most that a file in it may hold: no set is near it.
MOST_BYTES = 2**28
# What fetching and converting can end with when the network or the archive is at fault.
FAILURES = (OSError, HTTPException, ValueError, csv.Error)
# A damaged zip may look encrypted or packed in an unknown way: both are a RuntimeError.
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)

Members = Mapping[str, bytes]
Rows = Iterable[list[str]]


def address(facts: UciSet, base: str = BASE) -> str:
    """Give the address of a set's zip file."""
    return f"{base}/{facts.archive.path}.zip"


def fetch_text(facts: UciSet, base: str = BASE) -> bytes:
    """Download a set and give its canonical text, whose digest is that of the table."""
    content = canonical_text(facts, read_members(download(address(facts, base)), facts.archive))
    found = digest(content)
    if found != facts.sha256:
        raise ValueError(
            "the archive's file does not hold the expected data: the SHA-256 of its canonical "
            f"text is {found}, expected {facts.sha256}"
        )
    return content


def download(url: str) -> bytes:
    """Read an address to its end, with a progress bar on standard error."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError("Downloading needs tqdm: python -m pip install tqdm.") from error
    request = urllib.request.Request(url, headers={"User-Agent": "fcgboost"})
    content = io.BytesIO()
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            total = int(answer.headers.get("Content-Length", 0)) or None
            name = PurePosixPath(url).name
            with tqdm.wrapattr(answer, "read", total=total, desc=name, unit="B") as bar:
                while piece := bar.read(2**16):
                    content.write(piece)
                    _check_size(content.tell())
    except urllib.error.HTTPError as error:
        # It is a response as well, and keeps the connection open.
        error.close()
        raise
    return content.getvalue()


def _check_size(n_bytes: int) -> None:
    if n_bytes > MOST_BYTES:
        raise ValueError(f"the answer is larger than {MOST_BYTES:,} bytes")


def read_members(content: bytes, archive: Archive) -> Members:
    """Take the files that hold samples out of a zip, in whatever folder they lie there."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as container:
            places = {PurePosixPath(name).name: name for name in container.namelist()}
            absent = [name for name in archive.members if name not in places]
            if absent:
                raise ValueError(f"the zip has no {absent[0]}, only {', '.join(places)}")
            for name in archive.members:
                _check_size(container.getinfo(places[name]).file_size)
            return {name: container.read(places[name]) for name in archive.members}
    except DAMAGES as error:
        raise ValueError(f"the answer is not a whole zip file ({error})") from error


def canonical_text(facts: UciSet, members: Members) -> bytes:
    """Write samples as comma-separated lines under a header, missing values empty."""
    rows = READERS[facts.archive.layout](facts.archive, members)
    return "".join(",".join(row) + "\n" for row in (facts.header, *rows)).encode()


def _lines(content: bytes) -> list[str]:
    """Give the lines that are not blank; the sources end theirs with LF, CR LF or CR."""
    return [line for line in content.decode("utf-8-sig").splitlines() if line.strip()]


def _read_text(archive: Archive, members: Members) -> Iterator[list[str]]:
    """Read plain fields, which no source of this layout puts in quotes."""
    for content in members.values():
        lines = _lines(content)
        first = lines.index(archive.start) + 1 if archive.start else 0
        for line in lines[first:]:
            fields = (field.strip() for field in line.split(archive.separator))
            yield ["" if field == archive.missing else field for field in fields]


def _read_readings(archive: Archive, members: Members) -> Iterator[list[str]]:
    """Put the name of the file in the place of the row number, which has no header."""
    for name, content in members.items():
        _, *rows = csv.reader(_lines(content))
        for row in rows:
            yield [PurePosixPath(name).stem, *row[1:]]


def _read_molecules(archive: Archive, members: Members) -> Iterator[list[str]]:
    """Replace names of molecules by their order, drop the conformation, strip `1.` to `1`."""
    numbers: dict[str, int] = {}
    for content in members.values():
        for line in _lines(decompress(content)):
            molecule, _, *features, label = line.split(",")
            number = numbers.setdefault(molecule, len(numbers) + 1)
            yield [str(number), *features, label.rstrip(".")]


def _read_workbook(archive: Archive, members: Members) -> Iterator[list[str]]:
    """Read whole numbers below two rows of names, without the running number in front."""
    try:
        import xlrd
    except ImportError as error:
        raise ImportError("Reading an .xls file needs xlrd: python -m pip install xlrd.") from error
    for content in members.values():
        # xlrd reports oddities of the file on standard output unless it is given another place.
        try:
            book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
        except xlrd.XLRDError as error:
            raise ValueError(f"the Excel file cannot be read: {error}") from error
        sheet = book.sheet_by_index(0)
        for place in range(2, sheet.nrows):
            yield [str(int(value)) for value in sheet.row_values(place)[1:]]


READERS: Mapping[str, Callable[[Archive, Members], Rows]] = {
    "text": _read_text,
    "readings": _read_readings,
    "molecules": _read_molecules,
    "workbook": _read_workbook,
}
