"""JSON as it should be: no NaN, no key twice, no number without measure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from fcgboost.documents.spots import DocumentError, shown

# JSON has no limits for the digits of a number.
_LONGEST_WHOLE = 20
_LONGEST_REAL = 400


def parse(text: str) -> Any:
    """Give the value of a JSON text, or raise a `DocumentError`."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=_real,
            parse_int=_whole,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(f"the text is no JSON, or is cut off ({error.msg}, {where})") from error
    except RecursionError:
        raise DocumentError("there are too many lists inside one another") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DocumentError(f"the key {shown(key)} is there twice in one object")
        found[key] = value
    return found


def _real(text: str) -> float:
    number = float(text) if len(text) <= _LONGEST_REAL else float("inf")
    if number - number != 0.0:
        raise DocumentError(f"the number {shown(text)} is larger or longer than a float can be")
    return number


def _whole(text: str) -> int:
    if len(text) > _LONGEST_WHOLE:
        raise DocumentError(f"the whole number {shown(text)} is too large")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise DocumentError(f"there is {text}, which is no JSON")
