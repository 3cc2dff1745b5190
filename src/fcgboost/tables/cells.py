"""What one cell of a table means: a number, a day, a text, or nothing.

All that looks at single Python objects is here. It looks at each *distinct* cell of a column once,
so that a million rows cost a million lookups in a hash table and few conversions.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NUMBERS = (Real, Decimal, np.bool_)
_DATES = (datetime.date, np.datetime64)
_SPANS = (datetime.timedelta, np.timedelta64)
_NOTHING = (type(None),)
#: pandas' marks of a missing value, by name: pandas need not be installed.
_MARKS = {"NAType", "NaTType"}
_MICROSECONDS_PER_DAY = 86_400_000_000
#: A number with zeros before it is a code, as that of a place or a person.
_CODE = re.compile(r"[+-]?0\d")


class CellError(ValueError):
    """A cell that is not what its column holds."""

    def __init__(self, row: int, cell: Any, problem: str) -> None:
        super().__init__(row, cell, problem)
        self.row, self.cell, self.problem = row, cell, problem

    def __str__(self) -> str:
        return f"row {self.row} (the first is 0): {self.cell!r} {self.problem}"


def column_array(column: Any) -> NDArray[Any]:
    """Give a column of a data frame, or of an array, as a NumPy array."""
    dtype = getattr(column, "dtype", None)
    if not isinstance(dtype, np.dtype):
        if getattr(dtype, "tz", None) is not None:
            return np.asarray(column, dtype="datetime64[us]")
        # pandas' own whole numbers with missing values: as objects they would be slow.
        if getattr(dtype, "kind", None) in ("i", "u", "f"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.asarray(column)
    return values.astype(object) if values.dtype.kind in "UST" else values


def unit_of(values: NDArray[Any]) -> str | None:
    """Say whether a column holds numbers ("number"), dates ("days"), or something else (None)."""
    kind = values.dtype.kind
    if kind in "biufm":
        return "number"
    if kind == "M":
        return "days"
    cells = values.tolist() if kind == "O" else []
    kinds = {_kind_of(cell_type) for cell_type in set(map(type, cells))}
    if "text" in kinds and not any(map(_is_filled, cells)):
        kinds.remove("text")
    kinds.discard("nothing")
    return kinds.pop() if kinds in ({"number"}, {"days"}) else None


def _kind_of(cell_type: type) -> str | None:
    if cell_type.__name__ in _MARKS or issubclass(cell_type, _NOTHING):
        return "nothing"
    if issubclass(cell_type, _DATES):
        return "days"
    if issubclass(cell_type, (*_NUMBERS, *_SPANS)):
        return "number"
    return "text" if issubclass(cell_type, str | bytes) else None


def _is_filled(cell: Any) -> bool:
    return isinstance(cell, str | bytes) and len(cell) > 0


def factorize(values: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Give the distinct cells, and for every row the place of its own among them."""
    if values.dtype.kind != "O":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes, list(distinct)
    quick = _factorize_texts(values)
    if quick is not None:
        return quick
    cells = values.tolist()
    try:
        return _factorize_hashable(cells)
    except TypeError:
        return _factorize_hashable([cell if _is_hashable(cell) else str(cell) for cell in cells])


def _factorize_texts(values: NDArray[Any]) -> tuple[NDArray[np.intp], list[Any]] | None:
    """Factorize texts, floats and what is missing by pandas, if the caller has it loaded."""
    # Not imported: a table that is no data frame of pandas does not need it.
    pandas = sys.modules.get("pandas")
    if pandas is None or not all(
        cell_type in (str, float, type(None)) or cell_type.__name__ in _MARKS
        for cell_type in set(map(type, values))
    ):
        return None
    codes, distinct = pandas.factorize(values)
    is_gap = codes < 0
    if is_gap.any():
        return np.where(is_gap, len(distinct), codes), [*distinct.tolist(), None]
    return codes, distinct.tolist()


def _factorize_hashable(cells: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    # 1, 1.0 and True are one key of a dictionary, but True has a text of its own.
    types = {cell_type for cell_type in set(map(type, cells)) if issubclass(cell_type, _NUMBERS)}
    is_mixed = len(types) > 1 and not types.isdisjoint({bool, np.bool_})
    keys = list(zip(map(type, cells), cells, strict=True)) if is_mixed else cells
    places: dict[Any, int] = {}
    put = places.setdefault
    codes = np.fromiter((put(key, len(places)) for key in keys), np.intp, len(cells))
    return codes, [key[1] for key in places] if is_mixed else list(places)


def _is_hashable(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def is_missing(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NA, NaT, or an empty text."""
    if cell is None or type(cell).__name__ in _MARKS:
        return True
    if isinstance(cell, str | bytes):
        return len(cell) == 0
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, (Real, np.datetime64, np.timedelta64)) and bool(cell != cell)


def text_of(cell: Any) -> str:
    """Give the text by which a cell is compared with the levels of a category.

    A whole number has the same text in whatever type it comes, since a column of whole numbers
    becomes one of floats as soon as one of its rows is missing.
    """
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bytes):
        return cell.decode(errors="backslashreplace")
    if isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool):
        return _text_of_number(cell)
    if isinstance(cell, np.datetime64):
        return str(cell.astype("datetime64[us]").item())
    return str(cell)


def _text_of_number(number: Any) -> str:
    if -np.inf < number < np.inf and number == int(number):
        return str(int(number))
    # A float32 has a shorter text than the float64 of the same value.
    return str(number) if isinstance(number, float | np.floating) else str(float(number))


def numbers_in(values: NDArray[Any], unit: str, takes_strays: bool = False) -> Array:
    """Give a column as floats, NaN where it is missing.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    unit : {"number", "days"}
        What the column holds. Dates are numbers only in a column of days.
    takes_strays : bool
        Whether a text that is no number, such as "unknown", counts as missing.

    Raises
    ------
    CellError
        Names the first row whose cell is not a finite number.
    """
    numbers = _plain_numbers(values, unit)
    if numbers is None:
        numbers = _distinct_numbers(values, unit, takes_strays)
    is_infinite = np.isinf(numbers)
    if is_infinite.any():
        row = int(np.argmax(is_infinite))
        raise CellError(row, _item(values, row), "is infinite")
    return numbers


def _plain_numbers(values: NDArray[Any], unit: str) -> Array | None:
    """Convert a column at once, or give None where single cells must be looked at."""
    kind = values.dtype.kind
    if kind in "biuf":
        return values.astype(np.float64)
    if kind == "m":
        return _in_days(values.astype("timedelta64[us]"))
    if kind == "M" and unit == "days":
        return _in_days(values.astype("datetime64[us]"))
    if kind == "O" and all(
        issubclass(cell_type, (*_NUMBERS, *_NOTHING)) for cell_type in set(map(type, values))
    ):
        try:
            return values.astype(np.float64)
        except OverflowError:
            return None
    return None


def _distinct_numbers(values: NDArray[Any], unit: str, takes_strays: bool) -> Array:
    codes, cells = factorize(values)
    found = [np.nan if is_missing(cell) else number_of(cell, unit) for cell in cells]
    bad = [
        place
        for place, (cell, number) in enumerate(zip(cells, found, strict=True))
        if number is None and not (takes_strays and isinstance(cell, str | bytes))
    ]
    if bad:
        row = int(np.argmax(np.isin(codes, bad)))
        word = "date" if unit == "days" else "number"
        raise CellError(row, _item(values, row), f"is not a {word}")
    return np.array(found, dtype=np.float64)[codes]


def kind_of_cell(cell: Any) -> str | None:
    """Say what one cell is: "number", "days", or None for a text, a code, or anything else."""
    if not isinstance(cell, str | bytes):
        return _kind_of(type(cell))
    text = cell.decode(errors="replace") if isinstance(cell, bytes) else cell
    number = None if _CODE.match(text.strip()) else _parse(text.strip(), "number")
    if number is not None:
        return "number" if np.isfinite(number) else None
    return (
        None if _first_that_fits(text.strip(), datetime.datetime.fromisoformat) is None else "days"
    )


def number_of(cell: Any, unit: str) -> float | None:
    """Give a cell as the number it is in a column of a unit; None if it is none."""
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    if isinstance(cell, str):
        return _parse(cell.strip(), unit)
    if isinstance(cell, _DATES):
        return _day_of(cell) if unit == "days" else None
    if isinstance(cell, _SPANS):
        return float(_in_days(np.asarray(cell, dtype="timedelta64[us]")))
    if not isinstance(cell, _NUMBERS):
        return None
    try:
        return float(cell)
    except OverflowError:
        return np.inf


def _parse(text: str, unit: str) -> float | None:
    if unit == "days":
        day = _first_that_fits(text, datetime.datetime.fromisoformat)
        if day is not None:
            return _day_of(day)
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    # Python reads 1_000 as a thousand; in a table it is no number.
    number: float | None = None if "_" in text else _first_that_fits(text, float)
    return number


def _first_that_fits(text: str, *readers: Callable[[str], Any]) -> Any:
    for read in readers:
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _day_of(date: Any) -> float:
    """Give the days since 1970-01-01; a time with a zone counts in UTC, one without as it is."""
    if isinstance(date, datetime.datetime) and date.tzinfo is not None:
        date = date.astimezone(datetime.UTC).replace(tzinfo=None)
    return float(_in_days(np.asarray(date, dtype="datetime64[us]")))


def _in_days(moments: NDArray[Any]) -> Array:
    days = moments.astype(np.int64) / _MICROSECONDS_PER_DAY
    return np.where(np.isnat(moments), np.nan, days)


def _item(values: NDArray[Any], row: int) -> Any:
    cell = values[row]
    return cell.item() if isinstance(cell, np.generic) else cell
