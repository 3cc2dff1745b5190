"""A value of a JSON document and its place there: nothing is believed before it was looked at."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Whole numbers beyond this are not the same in all readers of JSON.
LARGEST_WHOLE = 2**53
#: How numbers are written that JSON does not have.
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

_SHOWN = 60


class DocumentError(ValueError):
    """What is wrong with a document, and where."""


class Spot:
    """A value of a JSON document, and its place.

    Every method gives the value as what its name says, or raises a `DocumentError`.

    Parameters
    ----------
    value : dict, list, str, int, float, bool or None
    above : Spot or None
        The object or the list that the value is in; None for the whole document.
    key : str or int
        The key of the value there.
    """

    __slots__ = ("above", "key", "value")

    def __init__(self, value: Any, above: Spot | None = None, key: str | int = "$") -> None:
        self.value = value
        self.above = above
        self.key = key

    @property
    def place(self) -> str:
        """The place of the value, such as "$.model.atoms[3]"; "$" is the whole document."""
        if self.above is None:
            return str(self.key)
        if isinstance(self.key, str) and self.key.isidentifier() and self.key.isascii():
            return f"{self.above.place}.{self.key[:_SHOWN]}"
        return f"{self.above.place}[{shown(self.key)}]"

    def refuse(self, problem: str) -> NoReturn:
        """Say what is wrong here."""
        raise self.fault(problem)

    def fault(self, problem: str) -> DocumentError:
        """Give the error that says what is wrong here."""
        return DocumentError(f"{self.place} {problem}")

    def _must_be(self, wanted: str) -> NoReturn:
        self.refuse(f"must be {wanted}, and is {shown(self.value)}")

    @property
    def is_null(self) -> bool:
        """Whether there is nothing here."""
        return self.value is None

    def fields(self, *names: str) -> tuple[Spot, ...]:
        """Give the values of an object that has these keys and no others."""
        given = self._object()
        if given.keys() != set(names):
            for name in names:
                if name not in given:
                    self.refuse(f"lacks the key {name!r}")
            unknown = next(name for name in given if name not in names)
            self.refuse(f"has the unknown key {shown(unknown)}")
        return tuple(Spot(given[name], self, name) for name in names)

    def entries(self) -> dict[str, Spot]:
        """Give the values of an object of any keys."""
        return {key: Spot(value, self, key) for key, value in self._object().items()}

    def _object(self) -> dict[str, Any]:
        if type(self.value) is not dict:
            self._must_be("an object")
        return self.value

    def items(self, length: int | None = None) -> Iterator[Spot]:
        """Give the values of a list."""
        values = self.values(length)
        return (Spot(value, self, i) for i, value in enumerate(values))

    def values(self, length: int | None = None) -> list[Any]:
        """Give a list as it is."""
        if type(self.value) is not list:
            self._must_be("a list")
        if length is not None and len(self.value) != length:
            self.refuse(f"must have {length} entries, and has {len(self.value)}")
        return self.value

    def whole(self, low: int = 0, high: int = LARGEST_WHOLE) -> int:
        """Give a whole number."""
        if type(self.value) is not int or not low <= self.value <= high:
            self._must_be(f"a whole number from {low} to {high}")
        return self.value

    def wholes(self, low: int, high: int, length: int | None = None) -> list[int]:
        """Give a list of whole numbers."""
        return [spot.whole(low, high) for spot in self.items(length)]

    def number(self, low: float = -math.inf, *, strict: bool = False) -> float | int:
        """Give a finite number as it is: whole or not."""
        value = self.value
        if not (is_number(value) and (value > low if strict else value >= low)):
            bound = f" {'greater than' if strict else 'at least'} {low:g}"
            self._must_be(f"a finite number{bound if low > -math.inf else ''}")
        return value  # type: ignore[no-any-return]

    def any_real(self) -> float:
        """Give a number, which may be the name of one that JSON does not have."""
        if type(self.value) is str and self.value in SPECIAL:
            return SPECIAL[self.value]
        if not is_number(self.value):
            self._must_be(f"a number or one of {list(SPECIAL)}")
        return float(self.value)

    def reals(self, length: int | None = None) -> Array:
        """Give a list of finite numbers as an array."""
        values = self.values(length)
        if set(map(type, values)) <= {float, int}:  # as a rule; and then this is much faster
            array = np.array(values, dtype=np.float64)
            if np.isfinite(array).all():
                return array
        return np.array([spot.number() for spot in self.items()], dtype=np.float64)

    def any_reals(self, length: int) -> Array:
        """Give a list of numbers, some of which JSON may not have, as an array."""
        return np.array([spot.any_real() for spot in self.items(length)], dtype=np.float64)

    def flag(self) -> bool:
        """Give true or false."""
        if type(self.value) is not bool:
            self._must_be("true or false")
        return self.value

    def text(self) -> str:
        """Give a string."""
        if type(self.value) is not str:
            self._must_be("a string")
        return self.value

    def texts(self, length: int | None = None) -> list[str]:
        """Give a list of strings."""
        return [spot.text() for spot in self.items(length)]

    def word(self, *choices: str) -> str:
        """Give one of some strings."""
        if type(self.value) is not str or self.value not in choices:
            self._must_be(f"one of {list(choices)}")
        return self.value


def is_number(value: Any) -> bool:
    """Whether a value is a number within the range of floats; NaN and infinities are not."""
    return type(value) in (int, float) and bool(abs(value) <= sys.float_info.max)


def is_deeper(value: Any, most: int) -> bool:
    """Whether more than so many lists and objects lie inside one another."""
    if not isinstance(value, dict | list | tuple):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return most == 0 or any(is_deeper(one, most - 1) for one in inside)


def shown(value: Any) -> str:
    """Give a value in few ASCII characters, however large it is."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)} entries"
    if isinstance(value, str):
        text = ascii(value[:_SHOWN])
        return text if len(value) <= _SHOWN else f"{text}..."
    return ascii(value)[:_SHOWN]


def special(number: float) -> float | str:
    """Give a number, by its name where JSON does not have it."""
    number = float(number)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def specials(numbers: Array) -> list[float | str]:
    """Give numbers, by their names where JSON does not have them."""
    return [special(number) for number in numbers.tolist()]
