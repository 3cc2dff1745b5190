"""Parts and parameters in a document: names and plain values, never code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from fcgboost.dictionaries import PolynomialDictionary, UnionDictionary
from fcgboost.documents.spots import SPECIAL, Spot, special
from fcgboost.parts import Part
from fcgboost.schemes import FullyCorrective
from fcgboost.validation import FAMILIES

#: A document's names of the package's own parts.
BUILT_IN: Mapping[str, type[Part]] = {
    UnionDictionary.__name__: UnionDictionary,
    **{
        part.__name__: part
        for _, named in FAMILIES.values()
        for part in named.values()
        if isinstance(part, type)
    },
}

Known = Mapping[str, type[Part]]

# The parameters of parts that hold parts.
_HOLDERS: Mapping[type[Part], set[str]] = {
    FullyCorrective: {"solver"},
    UnionDictionary: {"families"},
}

# A prediction multiplies as often as this.
_LARGEST_DEGREE = 1000


def known_parts(parts: Iterable[type]) -> Known:
    """Give the parts that a document may name: the package's, and some of the user's."""
    known = dict(BUILT_IN)
    for part in parts:
        if not (isinstance(part, type) and issubclass(part, Part)):
            raise TypeError(f"parts must be classes that derive from fcgboost's, got {part!r}.")
        if known.setdefault(part.__name__, part) is not part:
            raise ValueError(
                f"There are two parts named {part.__name__}, and a model file knows them by "
                "their names only: rename yours."
            )
    return known


def parts_within(value: Any) -> Iterable[type[Part]]:
    """Give the classes of a part, or of what parameters hold, and of all parts inside."""
    if isinstance(value, Part):
        yield type(value)
        yield from parts_within(value.get_params(deep=False))
    elif isinstance(value, Mapping):
        yield from (part for inside in value.values() for part in parts_within(inside))
    elif isinstance(value, list | tuple):
        yield from (part for inside in value for part in parts_within(inside))


def plain(value: Any, name: str) -> Any:
    """Give a parameter's value as JSON has it; `name` is for the error."""
    if isinstance(value, Part):
        parameters = value.get_params(deep=False).items()
        owner = type(value).__name__
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
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(inside, name) for inside in value]
    raise TypeError(
        f"{name}={value!r} cannot be saved: a model file holds None, true and false, numbers, "
        "strings, parts, and lists of these."
    )


def read_part(spot: Spot, family: str, known: Known) -> Any:
    """Give a part of some family."""
    part = _read_part(spot, known)
    contract, _ = FAMILIES[family]
    if not isinstance(part, contract):
        spot.refuse(f"must be a {family}, and {type(part).__name__} is none")
    return part


def _read_part(spot: Spot, known: Known) -> Part:
    name, parameters = spot.fields("part", "parameters")
    part = known.get(name.text())
    if part is None:
        name.refuse(
            f"is {name.text()[:60]!a}, which is no part of fcgboost: if it is a class of yours, "
            "pass it to load_model(..., parts=[...])"
        )
    given = {key: _read_value(value, known) for key, value in parameters.entries().items()}
    accepted = _accepted(part)
    for key, value in given.items():
        if key not in accepted:
            parameters.refuse(f"has {key[:60]!a}, which {part.__name__} does not take")
        has_part = next(iter(parts_within(value)), None) is not None
        if has_part and name.value in BUILT_IN and key not in _HOLDERS.get(part, ()):
            parameters.refuse(f"has a part as {key!a}")
    try:
        made = part(**given)
        _check_part(made)
    except Exception as error:  # a user's own class may raise anything
        raise parameters.fault(f"is refused: {str(error)[:200]}") from error
    return made


def _accepted(part: type[Part]) -> set[str]:
    """Give the names of a part's parameters."""
    return set(inspect.signature(part.__init__).parameters) - {"self"}


def _check_part(part: Part) -> None:
    part.check_parameters()
    if isinstance(part, PolynomialDictionary) and part.degree > _LARGEST_DEGREE:
        raise ValueError(f"a degree of more than {_LARGEST_DEGREE}")
    if isinstance(part, FullyCorrective) and part.solver is not None:
        contract, presets = FAMILIES["solver"]
        is_name = isinstance(part.solver, str) and part.solver in ("auto", *presets)
        if not (is_name or isinstance(part.solver, contract)):
            raise ValueError("its solver must be a solver, or the name of one")


def _read_value(spot: Spot, known: Known) -> Any:
    """Give the value of a part's parameter; lists become tuples."""
    value = spot.value
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, list):
        return tuple(_read_value(inside, known) for inside in spot.items())
    if isinstance(value, dict):
        if set(value) == {"number"}:
            (number,) = spot.fields("number")
            return SPECIAL[number.word(*SPECIAL)]
        return _read_part(spot, known)
    return _read_number(spot)


def _read_number(spot: Spot) -> float | int:
    return spot.whole(-(2**53)) if type(spot.value) is int else spot.number()


def _a_word_or(*words: str, otherwise: Callable[[Spot], Any]) -> Callable[[Spot], Any]:
    def read(spot: Spot) -> Any:
        return spot.word(*words) if type(spot.value) is str else otherwise(spot)

    return read


def _nothing_or(read: Callable[[Spot], Any]) -> Callable[[Spot], Any]:
    return lambda spot: None if spot.is_null else read(spot)


def _count(spot: Spot) -> int:
    return spot.whole(1)


def _not_negative(spot: Spot) -> float | int:
    return spot.number(0)


def _positive(spot: Spot) -> float | int:
    return spot.number(0, strict=True)


def _fraction(spot: Spot) -> float | int:
    value = spot.number(0, strict=True)
    if value >= 1:
        spot.refuse("must be less than 1")
    return value


def _jobs(spot: Spot) -> int:
    value = spot.whole(-(2**31), 2**31)
    if value == 0:
        spot.refuse("must not be 0")
    return value


def _verbosity(spot: Spot) -> int | bool:
    return spot.flag() if type(spot.value) is bool else spot.whole()


def _class_weight(spot: Spot) -> Any:
    """Give "balanced", or a dict from labels, which JSON's objects cannot have, to weights."""
    if type(spot.value) is str:
        return spot.word("balanced")
    pairs = [tuple(pair.items(2)) for pair in spot.items()]
    weights = {read_label(label): weight.number(0, strict=True) for label, weight in pairs}
    if len(weights) < len(pairs):
        spot.refuse("names a class twice")
    return weights


def read_label(spot: Spot) -> Any:
    """Give a class label: a string, a number, true or false."""
    if type(spot.value) in (str, bool):
        return spot.value
    if type(spot.value) is int:
        return spot.whole(-(2**63), 2**64 - 1)
    return spot.number()


# How each parameter of the classifier is read, parts left out.
_READERS: Mapping[str, Callable[[Spot], Any]] = {
    "n_candidates": _nothing_or(_count),
    "max_iter": _a_word_or("auto", "theory", otherwise=_count),
    "l2": _a_word_or("auto", otherwise=_not_negative),
    "fit_intercept": Spot.flag,
    "standardize": Spot.flag,
    "clip": _nothing_or(_a_word_or("auto", otherwise=_positive)),
    "normalize": Spot.flag,
    "reselect": Spot.flag,
    "multiclass": lambda spot: spot.word("one_vs_rest", "shared"),
    "link": lambda spot: spot.word("auto", "theory", "power"),
    "validation_fraction": _nothing_or(_fraction),
    "n_iter_no_change": _nothing_or(_count),
    "scoring": _nothing_or(Spot.text),
    "tol": _not_negative,
    "class_weight": _nothing_or(_class_weight),
    "warm_start": Spot.flag,
    "device": Spot.text,
    "n_jobs": _nothing_or(_jobs),
    "random_state": _nothing_or(lambda spot: spot.whole(0, 2**32 - 1)),
    "verbose": _verbosity,
}

#: The parameters of the classifier that a document holds.
PARAMETERS = (*FAMILIES, *_READERS)


def parameters_document(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters of a classifier as a document has them.

    What belongs to a process or a machine stays behind: functions that score, states of random
    numbers, the path of a checkpoint.
    """
    given = {name: parameters[name] for name in PARAMETERS}
    if not isinstance(given["scoring"], str):
        given["scoring"] = None
    is_seed = isinstance(given["random_state"], Integral)
    given["random_state"] = int(given["random_state"]) if is_seed else None
    if isinstance(given["class_weight"], Mapping):
        given["class_weight"] = list(given["class_weight"].items())
    return {name: plain(value, name) for name, value in given.items()}


def read_parameters(spot: Spot, known: Known) -> dict[str, Any]:
    """Give the parameters of a classifier."""
    spots = dict(zip(PARAMETERS, spot.fields(*PARAMETERS), strict=True))
    parts = {name: _part_or_name(spots[name], name, known) for name in FAMILIES}
    return {**parts, **{name: read(spots[name]) for name, read in _READERS.items()}}


def _part_or_name(spot: Spot, family: str, known: Known) -> Any:
    if family == "removal" and type(spot.value) not in (str, dict):
        return _nothing_or(_fraction)(spot)
    if type(spot.value) is not str:
        return read_part(spot, family, known)
    has_auto = family in ("solver", "selection")
    return spot.word(*FAMILIES[family][1], *(["auto"] if has_auto else []))
