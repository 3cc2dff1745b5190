"""How a column comes in, and what one cell means: a number, a date, a text, or nothing.

All that looks at single Python objects is here. It looks at each *distinct* cell of a column once.
"""

from __future__ import annotations

import datetime
import re
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_DATES = (datetime.date, np.datetime64)
_DURATIONS = (datetime.timedelta, np.timedelta64)
_NUMBERS = (Real, Decimal, np.bool_, *_DURATIONS)
#: None and pandas' marks, by name: pandas need not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}
#: How texts are written that are numbers or dates: "" is 1,234.5 and 2020-12-31, as ISO has it.
Style = Literal["", "decimal comma", "day first", "month first"]
# How numbers, dates and truth values begin: most texts are none, and need no closer look.
_FIRST = set("0123456789+-.tTfF")
#: A number with leading zeros is a code, as that of a place or a person.
_CODE = re.compile(r"[+-]?0\d")
# Thousands are apart in one way only, and behind a digit that is not 0.
_THOUSANDS = {
    "": re.compile(r"[+-]?[1-9]\d{0,2}([, '\u00a0\u202f\u2019])\d{3}(?:\1\d{3})*(?:\.\d*)?"),
    "decimal comma": re.compile(
        r"[+-]?(?:\d+|[1-9]\d{0,2}([. '\u00a0\u202f\u2019])\d{3}(?:\1\d{3})*)(?:,\d*)?"
    ),
}
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T](.*))?")


class Cells(NamedTuple):
    """The distinct cells of a column, and the place of each row's cell among them."""

    codes: NDArray[np.intp]
    distinct: list[Any]

    def present(self) -> list[tuple[Any, int]]:
        """Return the distinct cells that are not missing, and the number of rows of each."""
        counts = np.bincount(self.codes, minlength=len(self.distinct)).tolist()
        pairs = zip(self.distinct, counts, strict=True)
        return [(cell, n) for cell, n in pairs if not is_missing(cell)]


def read_column(column: Any) -> NDArray[Any] | Cells:
    """Return an array of numbers, dates or durations, or the distinct cells of anything else."""
    if isinstance(column, Cells):
        return column
    dtype = getattr(column, "dtype", None)
    # pandas' dtypes that are not NumPy's have a kind; other libraries' have none.
    kind = None if isinstance(dtype, np.dtype) else getattr(dtype, "kind", None)
    if kind in ("i", "u", "f"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind not in (None, "M"):
        codes, distinct = column.factorize()
        return Cells(np.where(codes < 0, len(distinct), codes), [*np.asarray(distinct), None])
    if hasattr(column, "combine_chunks"):  # Arrow's: of chunks NumPy misreads gaps of dictionaries
        column = column.combine_chunks()
    has_zone = getattr(dtype, "tz", None) is not None
    values = np.asarray(column, dtype="datetime64[us]" if has_zone else None)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported.")
    if values.ndim != 1 or values.dtype.names:
        raise ValueError(
            f"A column of X holds arrays or records, such as {values[:1].tolist()}: give each "
            "element a column of its own."
        )
    if values.dtype.kind in "mM":
        return values.astype(f"{values.dtype.kind}8[us]")
    return values if values.dtype.kind in "biuf" else _find_distinct(values.tolist())


def _find_distinct(cells: list[Any]) -> NDArray[Any] | Cells:
    types = set(map(type, cells))
    if types <= {float, type(None)}:
        return np.array(cells, dtype=np.float64)
    if types == {int} and (values := np.array(cells)).dtype.kind in "iu":
        return values
    # True is equal to 1 but has a text of its own; a list cannot be a key.
    is_plain = all(dtype_of_type(one) and one not in (bool, np.bool_) for one in types)
    keys = cells if is_plain else [(type(cell), str(cell)) for cell in cells]
    place_of = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter(map(place_of.__getitem__, keys), np.intp, len(keys))
    distinct = place_of if is_plain else dict(zip(keys, cells, strict=True)).values()
    return Cells(codes, list(distinct))


def factorize(column: Any) -> Cells:
    """Return the distinct cells of a column."""
    column = read_column(column)
    if isinstance(column, Cells):
        return column
    distinct, codes = np.unique(column, return_inverse=True)
    return Cells(codes, list(distinct))


def dtype_of_type(cell_type: type) -> str | None:
    """Return "missing", "text", "days" (a date), "number", or None for anything else."""
    if cell_type.__name__ in _MISSING:
        return "missing"
    if issubclass(cell_type, str | bytes):
        return "text"
    if issubclass(cell_type, _DATES):
        return "days"
    return "number" if issubclass(cell_type, _NUMBERS) else None


def is_missing(cell: Any) -> bool:
    """Whether a cell is missing: None, NaN, NA, NaT, or an empty text."""
    if isinstance(cell, str | bytes):
        return not cell
    dtype = dtype_of_type(type(cell))
    return dtype == "missing" or (dtype is not None and bool(cell != cell))


def text_of(cell: Any) -> str:
    """Return the text of a cell, which for a whole number is the same in all types.

    A column of whole numbers becomes one of floats as soon as one of its rows is missing.
    """
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode(errors="backslashreplace")
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return str(cell.astype(f"{cell.dtype.kind}8[us]").item())
    is_number = isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool)
    if not is_number:
        return str(cell)
    if -np.inf < cell < np.inf and cell == int(cell):
        return str(int(cell))
    # A float32 has a shorter text than the float64 of the same value.
    return str(cell) if isinstance(cell, float | np.floating) else str(float(cell))


def dtype_of_text(text: str, style: Style = "") -> str | None:
    """Return "number" or "days" if a text is one in the given style, else None."""
    text = text.strip()
    if text[:1] not in _FIRST:
        return None
    number = None if _CODE.match(text) else _parse(text, "number", style)
    if number is not None:
        return "number" if np.isfinite(number) else None
    return None if _date_in(text, style) is None else "days"


class CellError(ValueError):
    """A cell that does not fit its column."""

    def __init__(self, column: str, row: int, problem: str) -> None:
        super().__init__(column, row, problem)
        self.column, self.row, self.problem = column, row, problem

    def __str__(self) -> str:
        return f"Column {self.column!r}, row {self.row} (the first is 0): {self.problem}"


def numbers_in(name: str, values: Any, unit: str, style: Style, accepts_text: bool) -> Array:
    """Return a column as floats, NaN where it is missing.

    Dates are numbers only where the unit is "days". A text that is not a number, such as "unknown",
    counts as missing if text is accepted; else it is a ValueError, as infinity always is.
    """
    column = read_column(values)
    if isinstance(column, Cells) or (column.dtype.kind == "M" and unit != "days"):
        column = factorize(column)
        found = [number_of(cell, unit, style) for cell in column.distinct]
        accepted = ("text", None) if accepts_text else ()
        is_bad = [
            number is None and dtype_of_type(type(cell)) not in accepted
            for number, cell in zip(found, column.distinct, strict=True)
        ]
        problem = "is not a date" if unit == "days" else "is not a number"
        _refuse(np.array(is_bad, dtype=bool)[column.codes], name, column, problem)
        numbers = np.array(found, dtype=np.float64)[column.codes]
    else:
        numbers = _in_days(column) if column.dtype.kind in "mM" else column.astype(np.float64)
    _refuse(np.isinf(numbers), name, column, "is infinite")
    return numbers


def _refuse(is_bad: Any, name: str, column: NDArray[Any] | Cells, problem: str) -> None:
    """Raise an error that names the first bad cell, if there is one."""
    if is_bad.any():
        row = int(np.argmax(is_bad))
        cell = column.distinct[column.codes[row]] if isinstance(column, Cells) else column[row]
        cell = cell.item() if isinstance(cell, np.generic) else cell
        raise CellError(name, row, f"{cell!r} {problem}.")


def number_of(cell: Any, unit: str, style: Style = "") -> float | None:
    """Return a cell as a number, NaN if it is missing, or None if it is not a number."""
    if is_missing(cell):
        return np.nan
    if isinstance(cell, str | bytes):
        return _parse(text_of(cell).strip(), unit, style)
    if isinstance(cell, _DATES):
        return _day_of(cell) if unit == "days" else None
    if isinstance(cell, _DURATIONS):
        return float(_in_days(np.asarray(cell, dtype="timedelta64[us]")))
    try:
        return float(cell) if dtype_of_type(type(cell)) == "number" else None
    except OverflowError:
        return np.inf


def _parse(text: str, unit: str, style: Style) -> float | None:
    date = _date_in(text, style) if unit == "days" else None
    if date is not None:
        return _day_of(date)
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    form = _THOUSANDS.get(style)
    if form is not None and (found := form.fullmatch(text)):
        text = text.replace(found[1], "") if found[1] else text
        text = text.replace(",", ".")
    elif style == "decimal comma":
        return None
    # Python reads 1_000 as a thousand; in a table it is not a number.
    with suppress(ValueError):
        return None if "_" in text else float(text)
    return None


def _date_in(text: str, style: Style) -> datetime.datetime | None:
    with suppress(ValueError):
        found = _DATE.fullmatch(text) if style in ("day first", "month first") else None
        if found is None:
            return datetime.datetime.fromisoformat(text)
        first, _, second, year, time = found.groups()
        day, month = (first, second) if style == "day first" else (second, first)
        date = f"{year}-{int(month):02}-{int(day):02}"
        return datetime.datetime.fromisoformat(date if time is None else f"{date} {time}")
    return None


def _day_of(date: Any) -> float:
    """Return the days since 1970-01-01; a time with a zone counts in UTC, one without as it is."""
    if isinstance(date, datetime.datetime) and date.tzinfo is not None:
        date = date.astimezone(datetime.UTC).replace(tzinfo=None)
    return float(_in_days(np.asarray(date, dtype="datetime64[us]")))


def _in_days(times: NDArray[Any]) -> Array:
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 86_400_000_000)
