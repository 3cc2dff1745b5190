"""Converts JSON values to types, with errors that say where."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

#: A value of a JSON document, and an object in it.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
_Entry = TypeVar("_Entry")
_Ordered = TypeVar("_Ordered", str, float)

_SHOWN = 60
# Limits of the user's metadata: nesting depth and characters.
_DEEPEST_ABOUT = 32
_LONGEST_ABOUT = 2**20


class DocumentError(Exception):
    """A problem in a document, and its place."""


class Memory:
    """How many bytes the arrays of a document may still take."""

    def __init__(self, n_bytes: float = math.inf) -> None:
        self._left = n_bytes

    def take(self, n_bytes: int, place: str) -> None:
        """Refuse a place whose arrays are too large."""
        self._left -= n_bytes
        if self._left < 0:
            refuse(place, "takes too much memory: pass a larger max_bytes")


def refuse(place: str, problem: str) -> NoReturn:
    """Raise an error about a place, such as "$.model.atoms[3]"."""
    raise DocumentError(f"{place if len(place) < 200 else place[:200] + '...'} {problem}")


def convert(value: object, wanted: object, place: str = "$") -> Any:
    """Convert a JSON value to a type, or refuse it."""
    try:
        return msgspec.convert(value, type=wanted)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        plain = problem.encode("ascii", "backslashreplace").decode()
        short = plain if len(plain) < 300 else f"{plain[:300]}..."
        refuse(f"{place}{where.rstrip('`')}:", short[0].lower() + short[1:])
    except UnicodeEncodeError:  # a lone surrogate
        refuse(place, "has a key or a name that is not valid Unicode")


def containers(value: object, depth: int = 1) -> Iterator[tuple[object, int]]:
    """Yield the lists and objects in a value, with their nesting depths."""
    if isinstance(value, dict | list | tuple):
        yield value, depth
        for inside in value.values() if isinstance(value, dict) else value:
            yield from containers(inside, depth + 1)


def check_about(about: JsonObject, place: str) -> JsonObject:
    """Return the user's metadata if its depth and size are within limits."""
    if any(depth > _DEEPEST_ABOUT for _, depth in containers(about)):
        refuse(place, f"has lists and objects nested more than {_DEEPEST_ABOUT} deep")
    try:
        length = len(json.dumps(about, allow_nan=False))
    except ValueError:
        refuse(place, "has a number that is too large for a float")
    if length > _LONGEST_ABOUT:
        refuse(place, f"has more than {_LONGEST_ABOUT} characters of JSON")
    return about


def shown(value: object) -> str:
    """Return a short ASCII text for a value."""
    text = ascii(value[:_SHOWN] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN + 2 else f"{text[:_SHOWN]}..."


def sized(values: list[_Entry], length: int, place: str) -> list[_Entry]:
    """Return a list if it has that length."""
    if len(values) != length:
        refuse(place, f"must have {length} entries, got {len(values)}")
    return values


def increases(values: Sequence[_Ordered]) -> bool:
    """Return whether every value is larger than the one before it."""
    return all(first < second for first, second in pairwise(values))


def numbers(values: list[_Entry], length: int, place: str) -> NDArray[np.float64]:
    """Return a list of that length as an array; NaN and infinities are names in JSON."""
    return np.array(sized(values, length, place), dtype=np.float64)


def special(number: float) -> float | str:
    """Return a number, or its name if JSON does not have it."""
    if math.isfinite(number):
        return float(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
