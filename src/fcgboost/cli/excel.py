"""The first sheet of an Excel workbook, read as the text of its cells."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import IO, Any

import pyarrow as pa

from fcgboost.cli import console
from fcgboost.cli.guards import Limit
from fcgboost.cli.row_file import RowFile
from fcgboost.cli.texts import Dialect, Strays

_N_ROWS = 4096


def open_excel(limit: Limit, file: IO[bytes], dialect: Dialect, strays: Strays) -> RowFile:
    """Open a workbook: cells are read as those of a text file with a point in its numbers."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        problem = f"{limit.name}: Excel files need openpyxl: python -m pip install"
        raise ImportError(f"{problem} 'fcgboost[excel]'", name="openpyxl") from error

    with zipfile.ZipFile(file) as archive:
        limit.check(sum(member.file_size for member in archive.infolist()))
    with warnings.catch_warnings(action="ignore"):  # about styles and the like
        book = load_workbook(file, read_only=True, data_only=True)
    sheet = book.worksheets[0]
    if len(book.worksheets) > 1:
        console.note(f"{limit.name}: of {len(book.worksheets)} sheets {sheet.title!r} is read.")
    sheet.reset_dimensions()  # what a file says of its size may be wrong
    header = next(_records(sheet), [])
    while header and not header[-1]:
        header.pop()
    columns = [column.strip() or f"Unnamed: {i}" for i, column in enumerate(header)]
    if not columns:
        raise ValueError(f"{limit.name}: the sheet {sheet.title!r} is empty.")

    def blocks(wanted: list[str]) -> Iterator[Any]:
        places, n_rows = [columns.index(name) for name in wanted], 0
        records = islice(_records(sheet), 1, None)
        while batch := list(islice(records, _N_ROWS)):
            for i, record in enumerate(batch):
                if any(record[len(columns) :]):
                    raise ValueError(f"row {n_rows + i + 1} has more cells than the header")
                record += [""] * (len(columns) - len(record))
            n_rows += len(batch)
            cells = [pa.array([record[j] for record in batch], pa.string()) for j in places]
            yield pa.record_batch(cells, names=wanted)

    dialect = replace(dialect, decimal=dialect.decimal or ".")
    return RowFile(limit, tuple(columns), blocks, dialect=dialect, strays=strays)


def _records(sheet: Any) -> Iterator[list[str]]:
    """Yield the texts of all rows that are not empty."""
    rows = sheet.iter_rows(values_only=True)
    while True:
        with warnings.catch_warnings(action="ignore"):
            batch = list(islice(rows, _N_ROWS))
        if not batch:
            return
        yield from filter(any, (list(map(_text, row)) for row in batch))


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(cell, datetime.timedelta):
        return repr(cell / datetime.timedelta(days=1))
    return str(cell)
