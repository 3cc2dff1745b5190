"""NOAA's felt reports of U.S. earthquakes, from a file the user has obtained."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from paper.data.home import data_homes, find_file, read_gzip

Array = NDArray[np.float64]

#: Where the file is kept: NOAA withdrew its own page in May 2025.
PLACES = (
    "PANGAEA (doi 10.1594/PANGAEA.981234, XLSX and TXT) and the Stanford Digital Repository "
    "(purl.stanford.edu/nr891xx1476, XLSX)"
)
STEM = "eqint_tsqp"
WORKBOOK = f"{STEM}.xlsx"
FILE_NAMES = (
    *(f"{STEM}{end}{gz}" for gz in ("", ".gz") for end in ("", ".txt", ".csv", ".tsv")),
    WORKBOOK,
)
#: What `git hash-object` says of the CSV that circulates.
KNOWN_HASH = "d2076989755dd9e1cfe7ee8825b93100da26d29a"
PAPER_ROWS = 8173

COLUMNS = (
    *("year", "month", "day", "hour", "minute", "second", "utc_offset", "unpublished_or_grouped"),
    *("epicentre_latitude", "epicentre_longitude", "magnitude", "depth", "epicentral_distance"),
    *("city_latitude", "city_longitude", "mmi", "state", "city", "source"),
)


Counts = dict[str, int | dict[str, int]]


class Range(NamedTuple):
    """The values a field may take, ends included."""

    low: float
    high: float


# In the order of the columns of X; what lies outside is a slip of the pen, not an earthquake.
FEATURES: Mapping[str, Range] = {
    "epicentre_latitude": Range(-90.0, 90.0),
    "epicentre_longitude": Range(-180.0, 180.0),
    "city_latitude": Range(-90.0, 90.0),
    "city_longitude": Range(-180.0, 180.0),
    "magnitude": Range(-2.0, 10.0),
    "depth": Range(0.0, 800.0),
}
INTENSITY = Range(1.0, 12.0)
STRONGEST_WEAK = 4.0


def fetch_earthquake(
    data_home: str | os.PathLike[str] | None = None, return_X_y: bool = True
) -> tuple[Array, Array] | Bunch:
    """Load the U.S. Earthquake Intensity Database, 1638-1985.

    y = +1 for a felt report of modified Mercalli intensity (MMI) 1 to 4, -1 for 5 to 12. Records
    are removed where a feature or the MMI is missing, no number, or out of range.

    The file is not downloaded: it is kept at places that serve it to people, not to programs
    (`PLACES`). Put it into a data home under the name eqint_tsqp, with or without .txt, .csv or
    .tsv, with or without .gz, or as eqint_tsqp.xlsx. Fields are separated by commas or tabs, in
    the order of `COLUMNS`; a line of names may come first. Of a workbook the first sheet is read.
    We have seen none of these files: the order of the columns is NOAA's description of its own,
    and that the workbooks follow it is an assumption.

    Parameters
    ----------
    data_home : path or None, default=None
        A folder to look in first. The next ones are that of the environment variable
        FCGBOOST_DATA and the user's cache.
    return_X_y : bool, default=True

    Returns
    -------
    (X, y) : ndarray of shape (n_samples, 6), ndarray of shape (n_samples,)
        The columns of X are latitude and longitude of the epicentre, those of the city,
        magnitude and depth in km. If `return_X_y`.
    bunch : Bunch
        With `data`, `target`, `feature_names`, `target_names` (of -1 and of +1), `counts`
        (records "read" and "kept", and "dropped" by reason), `is_known` (whether it is the CSV
        that circulates, to the byte) and `DESCR`. If not `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the file is in no folder.
    ValueError
        If it has another form, or no complete record.
    """
    path = _find(data_homes(data_home))
    kept, dropped = _sift(_read_records(path))
    n_read = len(kept) + dropped.total()
    if not kept:
        raise ValueError(f"{path} holds no complete record; {n_read} were read.")
    values = np.array(kept)
    X, y = values[:, :-1].copy(), np.where(values[:, -1] <= STRONGEST_WEAK, 1.0, -1.0)
    if return_X_y:
        return X, y
    counts: Counts = {"read": n_read, "kept": len(kept), "dropped": dict(dropped)}
    return _to_bunch(X, y, counts, git_hash(_content(path)) == KNOWN_HASH)


def git_hash(content: bytes) -> str:
    """Return the hash that git gives to a file's content."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _find(homes: tuple[Path, ...]) -> Path:
    """Give the file's place, or say where to put it."""
    path = find_file(FILE_NAMES, homes)
    if path is None:
        folders = ", ".join(str(home) for home in homes)
        raise FileNotFoundError(
            f"There is no {STEM} in the folders {folders}. The U.S. Earthquake Intensity Database "
            f"cannot be downloaded automatically: obtain it from {PLACES}, and put it into one of "
            f"them under one of the names {', '.join(FILE_NAMES)}."
        )
    return path


def _read_records(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records as named fields without surrounding blanks."""
    lines = _workbook_lines(path) if path.suffix == ".xlsx" else _text_lines(path)
    filled = (line for line in lines if any(field.strip() for field in line.fields))
    for place, line in enumerate(filled):
        is_header = place == 0 and line.fields[0][:1].isalpha()
        if not is_header:
            _check_width(line, path)
            yield dict(zip(COLUMNS, (field.strip() for field in line.fields), strict=True))


class Line(NamedTuple):
    """The fields of one line or row, its number from 1, and what separates the fields."""

    number: int
    fields: list[str]
    separators: str


def _content(path: Path) -> bytes:
    return read_gzip(path) if path.suffix == ".gz" else path.read_bytes()


def _text_lines(path: Path) -> Iterator[Line]:
    # Only numbers are used, so a byte that is no UTF-8 in a city's name does no harm.
    text = _content(path).decode("utf-8-sig", errors="replace")
    has_tabs = "\t" in text.lstrip("\r\n").partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if has_tabs else ",")
    try:
        for fields in reader:
            yield Line(reader.line_num, fields, "tabs" if has_tabs else "commas")
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}.") from error


def _workbook_lines(path: Path) -> Iterator[Line]:
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(f"{path} needs openpyxl: python -m pip install openpyxl.") from error
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, OSError) as error:
        raise ValueError(f"{path} is not a whole workbook ({error}).") from error
    with closing(book):
        rows = book.worksheets[0].iter_rows(values_only=True)
        for number, cells in enumerate(rows, start=1):
            fields = ["" if cell is None else str(cell) for cell in cells]
            # A sheet may be wider than its table.
            while len(fields) > len(COLUMNS) and not fields[-1].strip():
                fields.pop()
            yield Line(number, fields, "cells")


def _check_width(line: Line, path: Path) -> None:
    if len(line.fields) != len(COLUMNS):
        raise ValueError(
            f"{path}, line {line.number}: expected {len(COLUMNS)} columns separated by "
            f"{line.separators}, found {len(line.fields)}. The columns are {', '.join(COLUMNS)}."
        )


def _sift(records: Iterator[dict[str, str]]) -> tuple[list[list[float]], Counter[str]]:
    """Give the features and the MMI of complete records, and how many others there are and why."""
    kept, dropped = [], Counter[str]()
    for record in records:
        fault = _find_fault(record)
        if fault is None:
            kept.append([float(record[name]) for name in (*FEATURES, "mmi")])
        else:
            dropped[fault] += 1
    return kept, dropped


def _find_fault(row: Mapping[str, str]) -> str | None:
    """Give the first reason to remove a record."""
    for name, allowed in {**FEATURES, "mmi": INTENSITY}.items():
        if not row[name]:
            return f"{name} missing"
        value = _to_number(row[name])
        if value is None:
            return f"{name} no number"
        if not allowed.low <= value <= allowed.high or (name == "mmi" and value % 1.0):
            return f"{name} out of range"
    return None


def _to_number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _to_bunch(
    X: Array,
    y: Array,
    counts: Counts,
    is_known: bool,
) -> Bunch:
    """Add to the arrays what describes them."""
    copy = "the CSV that circulates" if is_known else "a file of another hash"
    description = "\n".join(
        (
            f"U.S. Earthquake Intensity Database, 1638-1985, NOAA; kept at {PLACES}.",
            f"Read from {copy} (git hash-object: {KNOWN_HASH}).",
            f"Records: {counts['read']} read, {counts['kept']} complete and kept, "
            f"dropped: {counts['dropped'] or 'none'}.",
            f"Features: {', '.join(FEATURES)} (km).",
            f"y = -1: MMI 5 to 12, {np.sum(y < 0)} records. y = +1: MMI 1 to 4, {np.sum(y > 0)}.",
            f"The paper keeps {PAPER_ROWS} records; it removed 'incomplete records with missing "
            "labels', and does not say which fields had to be there, nor whether values out of "
            "range or repeated reports went.",
        )
    )
    return Bunch(
        data=X,
        target=y,
        feature_names=list(FEATURES),
        target_names=np.array(["MMI 5 to 12", "MMI 1 to 4"]),
        counts=counts,
        is_known=is_known,
        DESCR=description,
    )
