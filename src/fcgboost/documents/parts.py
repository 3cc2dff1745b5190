"""Parts and parameters in a document: names and plain values, no code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from msgspec import Struct, structs

from fcgboost.dictionaries import PolynomialDictionary, UnionDictionary
from fcgboost.dictionaries.union import TableUnion
from fcgboost.documents.checking import (
    DocumentError,
    Json,
    JsonObject,
    convert,
    refuse,
    shown,
    special,
)
from fcgboost.documents.schema import PARAMETERS, PartRecord, Special, Value
from fcgboost.names import NAMES, part_named
from fcgboost.parts import Part

PartsByName = Mapping[str, type[Part]]

_NAMED = [part_named(kind, name) for kind, names in NAMES.items() for name in names]
#: The package's own parts by name.
_BUILT_IN: PartsByName = {
    part.__name__: part for part in (UnionDictionary, TableUnion, *_NAMED) if isinstance(part, type)
}
# The number of multiplications in a prediction.
_LARGEST_DEGREE = 1000


def known_parts(parts: Iterable[type]) -> PartsByName:
    """Return the parts that a document may name: the package's and the user's."""
    classes = dict(_BUILT_IN)
    for part in parts:
        if not (isinstance(part, type) and issubclass(part, Part)):
            raise TypeError(f"parts must be classes derived from those of fcgboost, got {part!r}.")
        if classes.setdefault(part.__name__, part) is not part:
            name = part.__name__
            raise ValueError(
                f"There are two parts named {name}, but files refer to names: rename yours."
            )
    return classes


def parts_within(value: object) -> Iterable[type[Part]]:
    """Yield the classes of all parts within a value."""
    if isinstance(value, Part):
        yield type(value)
        value = value.get_params(deep=False)
    if isinstance(value, Mapping | list | tuple):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from parts_within(inside)


def plain(value: object, name: str) -> Json:
    """Return a parameter's value for JSON; `name` is for the error."""
    if isinstance(value, Part):
        owner = type(value).__name__
        parameters = value.get_params(deep=False).items()
        inside = {key: plain(parameter, f"{owner}: {key}") for key, parameter in parameters}
        return {"part": owner, "parameters": inside}
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = special(float(value))
        return {"number": number} if isinstance(number, str) else number
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(inside, name) for inside in value]
    if isinstance(value, Mapping):
        return {"pairs": plain(list(value.items()), name)}
    raise TypeError(
        f"{name}={value!r} cannot be saved: a model file holds None, booleans, numbers, strings, "
        "parts, and lists and dicts of these."
    )


def parameters_document(parameters: Mapping[str, object]) -> JsonObject:
    """Return the parameters of a model for a document.

    What belongs to a process or to data is left out: scoring functions, random states and folds.
    """
    values = {name: parameters[name] for name in PARAMETERS if name in parameters}
    if not isinstance(values["scoring"], str):
        values["scoring"] = None
    if not isinstance(values["random_state"], Integral):
        values["random_state"] = None
    if not isinstance(values["cv"], str | Integral | None):
        values["cv"] = "auto"
    return {name: plain(value, name) for name, value in values.items()}


def read_parameters(record: Struct, parts: PartsByName) -> dict[str, object]:
    """Return the parameters of a model."""
    return {
        name: _read_value(value, parts, f"$.parameters.{name}")
        for name, value in structs.asdict(record).items()
    }


def read_part(
    record: PartRecord, parts: PartsByName, place: str, contract: type[Part] = Part
) -> Any:
    """Return a part that is an instance of the contract."""
    inside = f"{place}.parameters"
    part = parts.get(record.part)
    if part is None:
        refuse(
            f"{place}.part",
            f"is {shown(record.part)}, which is not a part of fcgboost: if it is your own class, "
            "pass it to load_model(..., parts=[...])",
        )
    parameters: dict[str, object] = {}
    accepted = inspect.signature(part).parameters
    for key, value in record.parameters.items():
        if key not in accepted:
            refuse(inside, f"has {shown(key)}, which is not a parameter of {part.__name__}")
        parameters[key] = _read_value(value, parts, f"{inside}.{key}")
    try:
        instance = part(**parameters)
        instance.check_parameters()
        if isinstance(instance, PolynomialDictionary) and instance.degree > _LARGEST_DEGREE:
            raise ValueError(f"degree must be at most {_LARGEST_DEGREE}")
    except Exception as error:  # a user's class may raise anything
        raise DocumentError(f"{inside} is refused: {str(error)[:200].rstrip('.')}") from error
    if not isinstance(instance, contract):
        refuse(place, f"must be a {contract.__name__}, got {part.__name__}")
    return instance


def _read_value(value: Json, parts: PartsByName, place: str) -> object:
    """Return the value of a part's parameter; lists become tuples."""
    if isinstance(value, list):
        return tuple(_read_value(entry, parts, f"{place}[{i}]") for i, entry in enumerate(value))
    if isinstance(value, dict) and value.keys() == {"number"}:
        return float(convert(value["number"], Special, f"{place}.number"))
    if isinstance(value, dict) and value.keys() == {"pairs"}:
        pairs = convert(value["pairs"], list[tuple[Value, Value]], f"{place}.pairs")
        if len(dict(pairs)) < len(pairs):
            refuse(f"{place}.pairs", "has a key twice")
        return dict(pairs)
    if isinstance(value, dict):
        return read_part(convert(value, PartRecord, place), parts, place)
    return convert(value, Value, place)
