"""Reads columns of any library, and decides what a cell is: a number, a date, a text, or missing.

All code that looks at single Python objects is here; it sees each *distinct* cell once.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A column of any library: a NumPy array, a series of pandas or polars, an array of Arrow.
ColumnLike: TypeAlias = Any

_DATES = (datetime.date, np.datetime64)
_DURATIONS = (datetime.timedelta, np.timedelta64)
_NUMBERS = (Real, Decimal, np.bool_, *_DURATIONS)
#: None and pandas' marks, by name: pandas need not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}
_TEXTS_OF_ARROW = ("string[", "large_string[", "dictionary<")
_CONTAINERS = (list, tuple, dict, set, frozenset, np.ndarray)
#: What the numbers of a column count; dates are days since 1970-01-01. Signs are written before or
#: after the numbers.
Unit = Literal["number", "days", "%", "$", "€", "£", "¥", "EUR", "USD", "GBP", "CHF"]
SIGNS = get_args(Unit)[2:]
#: How numbers and dates are written as text: "" means 1,234.5 and ISO dates, 2020-12-31.
Style = Literal["", "decimal comma", "day first", "month first"]
#: How numbers, dates and truth values begin: most other texts need no closer look.
BEGINNING = re.compile(r"[-+.,\s$€£¥EURUSDGBPCHF]{0,6}\d|\s*(?i:true|false)")
#: A number with leading zeros is a code, such as a postcode.
_CODE = re.compile(r"[+-]?0\d")
#: What separates thousands, besides the comma or the point.
_SPACES = " '\u00a0\u202f\u2019"


def _number_form(decimal: str, mark: str) -> str:
    """Return what numbers match: one separator of thousands, after a leading digit other than 0."""
    groups = "|".join(rf"(?:{re.escape(sign)}\d{{3}})+" for sign in mark + _SPACES)
    whole = rf"(?:\d*|[1-9]\d{{0,2}}(?:{groups}))"
    return rf"[+-]?{whole}(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?"


#: How numbers are written, for the regular expressions of Python and Arrow, and what groups digits.
NUMBER_FORMS: dict[Style, str] = {
    "": _number_form(".", ","),
    "decimal comma": _number_form(",", "."),
}
GROUP_MARKS = ",." + _SPACES
GROUPS: dict[Style, str] = {"": f"[,{_SPACES}]", "decimal comma": f"[.{_SPACES}]"}
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T](.*))?")
_YEAR_FIRST = re.compile(r"(\d{4})([./-])(\d{1,2})\2(\d{1,2})(?:[ T](.*))?")
_NAMED_MONTH = re.compile(r"(\d{1,2})[ -]([A-Za-z]{3})[a-z]*\.?[ -](\d{4})(?:[ T](.*))?")
_MONTHS = " jan feb mar apr may jun jul aug sep oct nov dec"


class Cells(NamedTuple):
    """The distinct cells of a column, and the position of each row's cell among them."""

    codes: NDArray[np.intp]
    distinct: list[object]

    def present(self) -> list[tuple[object, int]]:
        """Return the distinct cells that are not missing, and the number of rows of each."""
        counts = np.bincount(self.codes, minlength=len(self.distinct)).tolist()
        pairs = zip(self.distinct, counts, strict=True)
        return [(cell, n) for cell, n in pairs if not is_missing(cell)]


def read_column(column: ColumnLike) -> NDArray[np.generic] | Cells:
    """Return an array of numbers, dates or durations, or the distinct cells of anything else."""
    if isinstance(column, Cells):
        return column
    dtype = getattr(column, "dtype", None)
    is_of_arrow = hasattr(dtype, "pyarrow_dtype")  # pandas knows few of Arrow's types
    if is_of_arrow and not str(dtype).startswith(_TEXTS_OF_ARROW):
        column = column.array.__arrow_array__()
        dtype = None
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
    kind = values.dtype.kind if values.ndim == 1 else None
    if kind in ("m", "M"):
        return _in_microseconds(values)
    return values if kind in set("biuf") else _find_distinct(values.tolist())


def _find_distinct(cells: list[object]) -> NDArray[np.generic] | Cells:
    types = set(map(type, cells))
    if any(issubclass(kind, _CONTAINERS) for kind in types):
        row, cell = next(pair for pair in enumerate(cells) if isinstance(pair[1], _CONTAINERS))
        raise SeveralValuesError(f"row {row + 1} holds several values, {cell!r:.60}")
    if types <= {float, type(None)}:
        return np.array(cells, dtype=np.float64)
    if types == {int}:
        integers = np.array(cells)
        if integers.dtype.kind in "iu":
            return integers
    # True is equal to 1 but has a text of its own; a list cannot be a key.
    is_plain = all(dtype_of_type(kind) and kind not in (bool, np.bool_) for kind in types)
    keys: list[object] = cells if is_plain else [(type(cell), str(cell)) for cell in cells]
    code_of = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter(map(code_of.__getitem__, keys), np.intp, len(keys))
    distinct = code_of if is_plain else dict(zip(keys, cells, strict=True)).values()
    return Cells(codes, list(distinct))


def factorize(column: ColumnLike) -> Cells:
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


def is_missing(cell: object) -> bool:
    """Return whether a cell is missing: None, NaN, NA, NaT, or an empty text."""
    if isinstance(cell, str | bytes):
        return not cell
    dtype = dtype_of_type(type(cell))
    return dtype == "missing" or (dtype is not None and bool(cell != cell))


def text_of(cell: Any) -> str:
    """Return the text of a cell; whole numbers have the same text in all types.

    A missing row turns a column of integers into one of floats.
    """
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode(errors="backslashreplace")
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return str(_in_microseconds(np.asarray(cell)).item())
    is_number = isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool)
    if not is_number:
        return str(cell)
    number = _float_of(cell)
    if np.isfinite(number) and cell == int(cell):
        return str(int(cell))
    # A float32 has a shorter text than the float64 of the same value.
    return str(cell) if isinstance(cell, float | np.floating) else str(number)


def dtype_of_text(text: str, style: Style = "") -> Unit | None:
    """Return the unit of a number, or "days", if a text is written as one in this style."""
    text = text.strip()
    if not BEGINNING.match(text):
        return None
    unit, bare = _bare(text)
    number = None if _CODE.match(bare) else _parse(bare, style)
    if number is not None:
        return unit if np.isfinite(number) else None
    return None if _date_in(text, style) is None else "days"


def _bare(text: str) -> tuple[Unit, str]:
    """Return the unit of a number, and the number without its sign."""
    for sign in SIGNS:
        before, found, after = map(str.strip, text.partition(sign))
        if found and (before in ("", "+", "-") or not after):
            return sign, before + after
    return "number", text


class ColumnError(ValueError):
    """A column that cannot be read, or whose cells do not go together."""


class SeveralValuesError(ColumnError):
    """A column whose cells are lists, arrays or records."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Name the column in what a cell, or the library it is from, raises."""
    try:
        yield
    except (CellError, MemoryError):
        raise
    except Exception as error:
        kind = SeveralValuesError if isinstance(error, SeveralValuesError) else ColumnError
        raise kind(
            f"Column {name!r} cannot be read ({str(error) or type(error).__name__}): make it "
            "numbers, dates or text, or leave it out."
        ) from error


@dataclass(eq=False)
class CellError(ColumnError):
    """A cell that does not fit its column."""

    column: str
    row: int
    problem: str

    def __str__(self) -> str:
        return f"Column {self.column!r}, row {self.row + 1}: {self.problem}"


def numbers_in(
    name: str,
    values: ColumnLike,
    unit: str,
    style: Style,
    *,
    takes_strays: bool = False,
) -> Array:
    """Return a column as floats, NaN where it is missing.

    Dates are numbers only where the unit is "days". A text that is not a number, such as "unknown",
    is a ValueError unless strays count as missing; infinity always is.
    """
    column = read_column(values)
    if isinstance(column, Cells) or (column.dtype.kind == "M" and unit != "days"):
        column = factorize(column)
        parsed = [number_of(cell, unit, style) for cell in column.distinct]
        stray = np.nan if takes_strays else np.inf
        known = [stray if number is None else number for number in parsed]
        numbers = np.array(known, dtype=np.float64)[column.codes]
    else:
        numbers = _in_days(column) if column.dtype.kind in "mM" else column.astype(np.float64)
    is_bad = np.isinf(numbers)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        cell = column.distinct[column.codes[row]] if isinstance(column, Cells) else column[row]
        cell = cell.item() if isinstance(cell, np.generic) else cell
        problem = "infinite"
        if number_of(cell, unit, style) is None:
            problem = "not a date" if unit == "days" else "not a number"
        raise CellError(name, row, f"{cell!r} is {problem}.")
    return numbers


def number_of(cell: Any, unit: str, style: Style = "") -> float | None:
    """Return a cell as a number, NaN if it is missing, or None if it is not a number."""
    if is_missing(cell):
        return np.nan
    if isinstance(cell, str | bytes):
        text = text_of(cell).strip()
        date = _date_in(text, style) if unit == "days" else None
        sign, bare = _bare(text)
        return _parse(bare if sign == unit else text, style) if date is None else _day_of(date)
    if isinstance(cell, _DATES):
        return _day_of(cell) if unit == "days" else None
    if isinstance(cell, _DURATIONS):
        return float(_in_days(np.asarray(cell, dtype="timedelta64")))
    return _float_of(cell) if dtype_of_type(type(cell)) == "number" else None


def _float_of(number: float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _parse(text: str, style: Style) -> float | None:
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    number_style: Style = "decimal comma" if style == "decimal comma" else ""
    if re.fullmatch(NUMBER_FORMS[number_style], text):
        text = re.sub(GROUPS[number_style], "", text).replace(",", ".")
    elif number_style:
        return None
    # Python reads 1_000 as a thousand; in a table it is not a number.
    with suppress(ValueError):
        return None if "_" in text else float(text)
    return None


def _date_in(text: str, style: Style) -> datetime.datetime | None:
    with suppress(ValueError):
        if match := _YEAR_FIRST.fullmatch(text):
            year, _, month, day, time = match.groups()
        elif match := _NAMED_MONTH.fullmatch(text):
            day, name, year, time = match.groups()
            month = str(1 + _MONTHS.index(f" {name.lower()}") // 4)
        elif style in ("day first", "month first") and (match := _DATE.fullmatch(text)):
            first, _, second, year, time = match.groups()
            day = second if style == "month first" else first
            month = first if style == "month first" else second
        else:
            return datetime.datetime.fromisoformat(text)
        date = f"{year}-{int(month):02}-{int(day):02}"
        return datetime.datetime.fromisoformat(date if time is None else f"{date} {time}")
    return None


def _day_of(date: datetime.date | np.datetime64) -> float:
    """Return the days since 1970-01-01; a time with a zone counts in UTC, one without as it is."""
    offset = None
    if isinstance(date, datetime.datetime):
        offset = date.utcoffset()
        date = date.replace(tzinfo=None)
    # In UTC it may be before the year 1, which only NumPy's dates know.
    moved = np.asarray(date, dtype="datetime64") - np.timedelta64(offset or 0, "us")
    return float(_in_days(np.asarray(moved)))


def _in_days(times: NDArray[np.generic]) -> Array:
    counts = _in_microseconds(times).astype(np.int64)
    return np.where(np.isnat(times), np.nan, counts / 86_400_000_000)


def _in_microseconds(times: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return dates or durations in one unit; those that it cannot count are a ValueError."""
    kind = times.dtype.kind
    counted = times.astype(f"{kind}8[us]")
    has_wrapped = counted.astype(f"{kind}8[D]") != times.astype(f"{kind}8[D]")
    if (has_wrapped & ~np.isnat(times)).any():
        raise ValueError("it has times more than 290,000 years away from 1970")
    return counted
