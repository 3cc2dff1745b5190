"""Parts and parameters in a document: names and plain values, no code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from msgspec import structs

from fcgboost.dictionaries import PolynomialDictionary, UnionDictionary
from fcgboost.documents.checking import DocumentError, convert, refuse, shown, special
from fcgboost.documents.schema import PARAMETERS, PartRecord, Special, Value
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.parts import Part
from fcgboost.training.checks import FAMILIES

Known = Mapping[str, type[Part]]

_NAMED = [part for _, named in FAMILIES.values() for part in named.values()]
#: The package's own parts by name.
_BUILT_IN: Known = {
    part.__name__: part for part in (UnionDictionary, *_NAMED) if isinstance(part, type)
}
# The parameters of these parts that hold parts.
_HOLDERS = {"solver", "families"}
# The number of multiplications in a prediction.
_LARGEST_DEGREE = 1000


def known_parts(parts: Iterable[type]) -> Known:
    """Return the parts that a document may name: the package's and the user's."""
    known = dict(_BUILT_IN)
    for part in parts:
        if not (isinstance(part, type) and issubclass(part, Part)):
            raise TypeError(f"parts must be classes derived from those of fcgboost, got {part!r}.")
        if known.setdefault(part.__name__, part) is not part:
            name = part.__name__
            raise ValueError(
                f"There are two parts named {name}, but files refer to names: rename yours."
            )
    return known


def parts_within(value: Any) -> Iterable[type[Part]]:
    """Yield the classes of all parts within a value."""
    if isinstance(value, Part):
        yield type(value)
        value = value.get_params(deep=False)
    if isinstance(value, Mapping | list | tuple):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from parts_within(inside)


def plain(value: Any, name: str) -> Any:
    """Return a parameter's value for JSON; `name` is for the error."""
    if isinstance(value, Part):
        owner, parameters = type(value).__name__, value.get_params(deep=False).items()
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
    raise TypeError(
        f"{name}={value!r} cannot be saved: a model file holds None, booleans, numbers, strings, "
        "parts, and lists of these."
    )


def parameters_document(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a classifier for a document.

    What belongs to a process or machine is left out: scoring functions, random states, checkpoints.
    """
    given = {name: parameters[name] for name in PARAMETERS}
    if not isinstance(given["scoring"], str):
        given["scoring"] = None
    if not isinstance(given["random_state"], Integral):
        given["random_state"] = None
    if isinstance(given["class_weight"], Mapping):
        given["class_weight"] = list(given["class_weight"].items())
    return {name: plain(value, name) for name, value in given.items()}


def read_parameters(record: Any, known: Known) -> dict[str, Any]:
    """Return the parameters of a classifier."""
    given, place = structs.asdict(record), "$.parameters"
    for family, (contract, _) in FAMILIES.items():
        if isinstance(given[family], PartRecord):
            given[family] = read_part(given[family], known, f"{place}.{family}", contract)
    if given["n_jobs"] == 0:
        refuse(f"{place}.n_jobs", "must not be 0")
    if isinstance(pairs := given["class_weight"], list):
        given["class_weight"] = dict(pairs)
        if len(given["class_weight"]) < len(pairs):
            refuse(f"{place}.class_weight", "names a class twice")
    return given


def read_part(record: PartRecord, known: Known, place: str, contract: type[Part] = Part) -> Any:
    """Return a part that is an instance of the contract."""
    inside, part = f"{place}.parameters", known.get(record.part)
    if part is None:
        refuse(
            f"{place}.part",
            f"is {shown(record.part)}, which is not a part of fcgboost: if it is your own class, "
            "pass it to load_model(..., parts=[...])",
        )
    given, accepted = {}, inspect.signature(part).parameters
    for key, value in record.parameters.items():
        if key not in accepted:
            refuse(inside, f"has {shown(key)}, which is not a parameter of {part.__name__}")
        given[key] = _read_value(value, known, f"{inside}.{key}")
        if record.part in _BUILT_IN and key not in _HOLDERS and any(parts_within(given[key])):
            refuse(inside, f"has a part as {key!r}")
    try:
        made = part(**given)
        _check_part(made)
    except Exception as error:  # a user's class may raise anything
        raise DocumentError(f"{inside} is refused: {str(error)[:200].rstrip('.')}") from error
    if not isinstance(made, contract):
        refuse(place, f"must be a {contract.__name__}, got {part.__name__}")
    return made


def _read_value(value: Any, known: Known, place: str) -> Any:
    """Return the value of a part's parameter; lists become tuples."""
    if isinstance(value, list):
        return tuple(_read_value(one, known, f"{place}[{i}]") for i, one in enumerate(value))
    if isinstance(value, dict) and value.keys() == {"number"}:
        return float(convert(value["number"], Special, f"{place}.number"))
    if isinstance(value, dict):
        return read_part(convert(value, PartRecord, place), known, place)
    return convert(value, Value, place)


def _check_part(part: Part) -> None:
    part.check_parameters()
    if isinstance(part, PolynomialDictionary) and part.degree > _LARGEST_DEGREE:
        raise ValueError(f"degree must be at most {_LARGEST_DEGREE}")
    if isinstance(part, FullyCorrective) and part.solver is not None:
        contract, presets = FAMILIES["solver"]
        is_name = isinstance(part.solver, str) and part.solver in ("auto", *presets)
        if not (is_name or isinstance(part.solver, contract)):
            raise ValueError("solver must be a solver or the name of one")
