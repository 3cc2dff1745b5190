"""Labels as a file has them: texts, numbers or truth values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What can not be a class, and what it is called.
_REFUSED: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((datetime.date, datetime.time, np.datetime64), "a date"),
    ((datetime.timedelta, np.timedelta64), "a length of time"),
    ((bytes, bytearray), "bytes"),
    (Decimal, "a Decimal"),
)


class LabelError(ValueError):
    """Labels that can not be classes; where one of them is at fault, with its row."""

    def __init__(self, problem: str, row: int | None = None) -> None:
        super().__init__(problem)
        self.row = row


def labels_in(values: NDArray[Any]) -> NDArray[Any]:
    """Give labels, None or NaN where they are missing, as an empty text is.

    Raises
    ------
    LabelError
        Where they are neither text nor numbers, or one is infinite.
    """
    if values.dtype.kind in "mM":
        raise LabelError(_describe(values.dtype.type))
    if values.dtype.kind == "f":
        is_infinite = np.isinf(values)
        if is_infinite.any():
            row = int(np.argmax(is_infinite))
            raise LabelError(f"{values[row]} is infinite, which is no class", row)
    if values.dtype.kind != "O":
        return values
    for cell_type in set(map(type, values)):
        if not _is_plain(cell_type):
            raise LabelError(_describe(cell_type))
    return np.array([None if cell == "" else cell for cell in values], dtype=object)


def _is_plain(cell_type: type) -> bool:
    # NAType is pandas' mark of a missing value.
    is_nothing = cell_type is type(None) or cell_type.__name__ == "NAType"
    return is_nothing or (
        issubclass(cell_type, str | Real | np.bool_) and not issubclass(cell_type, Decimal)
    )


def _describe(cell_type: type) -> str:
    names = [name for refused, name in _REFUSED if issubclass(cell_type, refused)]
    return f"it is {names[0] if names else cell_type.__name__}: classes are text or numbers"
