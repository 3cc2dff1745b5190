"""Checks a JSON document against a schema, and says where what is wrong."""

from __future__ import annotations

import math
import operator
import re
import sys
from itertools import repeat
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

#: A JSON Schema as plain values, or a part of one.
Schema = dict[str, Any]

_SHOWN = 60
#: The types that values have in Python, and what they are called.
_TYPES: dict[str | None, tuple[set[type], str]] = {
    "null": ({type(None)}, "null"),
    "boolean": ({bool}, "true or false"),
    "string": ({str}, "a string"),
    "integer": ({int}, "a whole number"),
    "number": ({int, float}, "a finite number"),
    "array": ({list}, "a list"),
    "object": ({dict}, "an object"),
    None: (set(), "a part"),
}
_BOUNDS = {
    "minimum": ("at least", operator.ge),
    "exclusiveMinimum": ("greater than", operator.gt),
    "maximum": ("at most", operator.le),
    "exclusiveMaximum": ("less than", operator.lt),
}


class DocumentError(ValueError):
    """What is wrong with a document, and where."""


def refuse(place: str, problem: str) -> NoReturn:
    """Raise the error that says what is wrong at a place, such as "$.model.atoms[3]"."""
    raise DocumentError(f"{place if len(place) < 200 else place[:200] + '...'} {problem}")


def check(value: Any, schema: Schema, root: Schema, place: str = "$") -> None:
    """Refuse a value that a schema does not accept; `root` has the definitions.

    Of JSON Schema's keywords it knows those that the schema of model files uses. Stricter than
    there, a whole number has no decimal point.
    """
    if "type" not in schema and "enum" not in schema:
        schema = _alternative(value, schema, root)
    if not _accepts(value, schema):
        refuse(place, f"must be {_described(schema)}, got {shown(value)}")
    if type(value) is dict:
        _check_object(value, schema, root, place)
    elif type(value) is list:
        _check_list(value, schema, root, place)


def _alternative(value: Any, schema: Schema, root: Schema) -> Schema:
    """Return the alternative that a value is meant to be; all of them where there is none."""
    schema = _resolved(schema, root)
    options = [_resolved(option, root) for option in schema.get("anyOf", ())]
    fitting = [option for option in options if _accepts(value, option)]
    if len(fitting) < 2:
        return fitting[0] if fitting else schema

    def n_accepted(option: Schema) -> int:
        properties = option.get("properties", {}).items()
        return sum(name in value and _accepts(value[name], own) for name, own in properties)

    return max(fitting, key=n_accepted)


def _resolved(schema: Schema, root: Schema) -> Schema:
    return root["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _accepts(value: Any, schema: Schema) -> bool:
    """Whether a schema accepts a value, whatever is inside it."""
    if "enum" in schema:
        return any(type(value) is type(one) and value == one for one in schema["enum"])
    if type(value) not in _TYPES[schema.get("type")][0]:
        return False
    if type(value) is str:
        return "pattern" not in schema or re.fullmatch(schema["pattern"], value) is not None
    if type(value) not in (int, float):
        return True
    # A larger whole number has more digits than are read.
    is_finite = abs(value) <= (sys.float_info.max if type(value) is float else 2**64 - 1)
    return is_finite and all(f(value, schema[k]) for k, (_, f) in _BOUNDS.items() if k in schema)


def _check_object(value: dict[str, Any], schema: Schema, root: Schema, place: str) -> None:
    for name in schema.get("required", ()):
        if name not in value:
            refuse(place, f"lacks the key {name!r}")
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, inside in value.items():
        own = properties.get(name, others)
        if own is False:
            refuse(place, f"has the unknown key {shown(name)}")
        if own is not None:
            check(inside, own, root, place_of(place, name))


def _check_list(values: list[Any], schema: Schema, root: Schema, place: str) -> None:
    least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if not least <= len(values) <= most:
        more = "" if least == most else " or more"
        refuse(place, f"must have {least}{more} entries, got {len(values)}")
    if not _are_numbers(values, schema.get("items", {})):
        own = schema.get("prefixItems") or repeat(schema["items"])
        for i, (value, one) in enumerate(zip(values, own, strict=False)):
            check(value, one, root, f"{place}[{i}]")


def _are_numbers(values: list[Any], schema: Schema) -> bool:
    """Whether numbers are seen to be accepted without a look at each of them."""
    if schema.get("type") not in ("integer", "number") or not values:
        return False
    are_of_type = set(map(type, values)) <= _TYPES[schema["type"]][0]
    # The least and the largest say nothing where one is NaN, as the sum then is.
    is_finite = are_of_type and math.isfinite(sum(values))
    ends = () if len(schema) == 1 else (min, max)
    return is_finite and all(_accepts(end(values), schema) for end in ends)


def _described(schema: Schema) -> str:
    """Return what a value must be, in words."""
    if "anyOf" in schema:
        return " or ".join(map(_described, schema["anyOf"]))
    if "enum" in schema:
        return f"one of {schema['enum']}"
    bounds = [f"{words} {schema[key]}" for key, (words, _) in _BOUNDS.items() if key in schema]
    named = schema.get("title") or _TYPES[schema.get("type")][1]
    return f"{named} {' and '.join(bounds)}".rstrip()


def place_of(place: str, key: str) -> str:
    """Return the place of what an object has at a key, which may be any text."""
    is_plain = key.isidentifier() and key.isascii()
    return f"{place}.{key[:_SHOWN]}" if is_plain else f"{place}[{shown(key)}]"


def shown(value: Any) -> str:
    """Return a value in few ASCII characters, however large it is."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)} entries"
    if isinstance(value, str):
        return ascii(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else "")
    return ascii(value)[:_SHOWN]


def numbers(values: list[Any], length: int, place: str) -> NDArray[np.float64]:
    """Return a list of so many numbers, or names of such as JSON does not have, as an array."""
    if len(values) != length:
        refuse(place, f"must have {length} entries, got {len(values)}")
    return np.array(values, dtype=np.float64)


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
