"""Reads plain values of JSON as types, and says where what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

_SHOWN = 60
# The most of a user's own JSON: lists and objects inside one another, and characters.
_DEEPEST_ABOUT, _LONGEST_ABOUT = 32, 2**20


class DocumentError(Exception):
    """What is wrong with a document, and where."""


def refuse(place: str, problem: str) -> NoReturn:
    """Raise the error that says what is wrong at a place, such as "$.model.atoms[3]"."""
    raise DocumentError(f"{place if len(place) < 200 else place[:200] + '...'} {problem}")


def convert(value: Any, wanted: Any, place: str = "$") -> Any:
    """Return a value of JSON as a type; what has another shape is refused."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        plain = problem.encode("ascii", "backslashreplace").decode()
        short = plain if len(plain) < 300 else f"{plain[:300]}..."
        refuse(f"{place}{where.rstrip('`')}:", short[0].lower() + short[1:])
    except UnicodeEncodeError:  # half of a pair of surrogates
        refuse(place, "has a key or a name that is not Unicode")


def containers(value: Any, depth: int = 1) -> Iterator[tuple[Any, int]]:
    """Yield a value's lists and objects, and how many each is inside, itself included."""
    if isinstance(value, dict | list | tuple):
        yield value, depth
        for inside in value.values() if isinstance(value, dict) else value:
            yield from containers(inside, depth + 1)


def check_about(about: dict[str, Any], place: str) -> dict[str, Any]:
    """Return JSON of the user's, which is of limited depth and size."""
    if any(depth > _DEEPEST_ABOUT for _, depth in containers(about)):
        refuse(place, f"has more than {_DEEPEST_ABOUT} lists and objects inside one another")
    try:
        length = len(json.dumps(about, allow_nan=False))
    except ValueError:
        refuse(place, "has a number that is larger than a float can be")
    if length > _LONGEST_ABOUT:
        refuse(place, f"has more than {_LONGEST_ABOUT} characters of JSON")
    return about


def shown(value: Any) -> str:
    """Return a value in few ASCII characters, however large it is."""
    text = ascii(value[:_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN + 2 else f"{text[:_SHOWN]}..."


def sized(values: list[Any], length: int, place: str) -> list[Any]:
    """Return a list of so many entries as it is."""
    if len(values) != length:
        refuse(place, f"must have {length} entries, got {len(values)}")
    return values


def numbers(values: list[Any], length: int, place: str) -> NDArray[np.float64]:
    """Return a list of so many numbers, or names of such as JSON does not have, as an array."""
    return np.array(sized(values, length, place), dtype=np.float64)


def special(number: float) -> float | str:
    """Return a number, by its name where JSON does not have it."""
    if math.isfinite(number):
        return float(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def exact(values: list[Any], dtype: str, place: str) -> NDArray[Any]:
    """Return values as an array of a type that holds them as they are."""
    with np.errstate(over="ignore"):
        try:
            array = np.array(values, dtype=dtype)
        except OverflowError:
            array = np.empty(0)
    if array.tolist() != values:
        refuse(place, f"has a value that is not of the type {dtype}")
    return array
