"""The schema of model files: what they are checked against, and what users are given."""

from __future__ import annotations

from typing import Any

from fcgboost.documents.checking import Schema
from fcgboost.stopping import Status
from fcgboost.validation import FAMILIES

FORMAT, VERSION = "fcgboost model", 2


def _whole(low: int, high: int = 2**53) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _list(items: Schema, least: int = 0) -> Schema:
    return {"type": "array", "items": items, "minItems": least}


def _pair(*items: Schema) -> Schema:
    return {"type": "array", "prefixItems": list(items), "minItems": 2, "maxItems": 2}


def _object(**properties: Schema) -> Schema:
    keys = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **keys}


def _one_of(*values: Any) -> Schema:
    return {"enum": list(values)}


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _part_or(*names: str | None) -> Schema:
    return _either(_one_of(*names), _PART)


_NULL, _FLAG, _TEXT, _NUMBER = ({"type": t} for t in ("null", "boolean", "string", "number"))
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE = {"type": "number", "minimum": 0}
_FRACTION = {**_POSITIVE, "exclusiveMaximum": 1}
# Numbers that JSON does not have are written by their names.
_SPECIAL = _one_of("NaN", "Infinity", "-Infinity")
_ANY_NUMBER = _either(_NUMBER, _SPECIAL)
_NUMBERS, _ANY_NUMBERS = _list(_NUMBER), _list(_ANY_NUMBER)
_PER_OUTPUT = _list(_NUMBER, 1)
_COUNT, _PLACE = _whole(1, 2**31 - 1), _whole(0, 2**31 - 2)
_LABEL = _either(_TEXT, _NUMBER, _FLAG)
_STATUS = _one_of(*Status.__members__)
_PART, _VALUE = {"$ref": "#/$defs/part"}, {"$ref": "#/$defs/value"}

_LABELS = {
    "title": "a type of labels such as 'int64'",
    "type": "string",
    "pattern": "^(bool|u?int(8|16|32|64)|float(16|32|64)|U[1-9][0-9]{0,6}|object)$",
}

#: Of the classifier's parameters, those that do not belong to one machine.
PARAMETERS = {
    "dictionary": _part_or(*FAMILIES["dictionary"][1]),
    "loss": _part_or(*FAMILIES["loss"][1]),
    "scheme": _part_or(*FAMILIES["scheme"][1]),
    "solver": _part_or("auto", *FAMILIES["solver"][1]),
    "selection": _part_or("auto", *FAMILIES["selection"][1]),
    "removal": _either(_one_of(None, *FAMILIES["removal"][1]), _FRACTION, _PART),
    "n_candidates": _either(_NULL, _whole(1)),
    "max_iter": _either(_one_of("auto", "theory"), _whole(1)),
    "l2": _either(_one_of("auto"), _NOT_NEGATIVE),
    "fit_intercept": _FLAG,
    "standardize": _FLAG,
    "clip": _either(_one_of(None, "auto"), _POSITIVE),
    "normalize": _FLAG,
    "reselect": _FLAG,
    "multiclass": _one_of("one_vs_rest", "shared"),
    "link": _one_of("auto", "theory", "power"),
    "validation_fraction": _either(_NULL, _FRACTION),
    "n_iter_no_change": _either(_NULL, _whole(1)),
    "scoring": _either(_NULL, _TEXT),
    "tol": _NOT_NEGATIVE,
    # JSON's objects have no keys but strings.
    "class_weight": _either(_one_of(None, "balanced"), _list(_pair(_LABEL, _POSITIVE))),
    "warm_start": _FLAG,
    "device": _TEXT,
    "n_jobs": _either(_NULL, _whole(-(2**31), -1), _whole(1, 2**31)),
    "random_state": _either(_NULL, _whole(0, 2**32 - 1)),
    "verbose": _either(_FLAG, _whole(0)),
}


def _atoms(**others: Schema) -> Schema:
    dense = _object(step=_COUNT, **others, row=_NUMBERS)
    return _list(
        _either(dense, _object(step=_COUNT, **others, places=_list(_PLACE), values=_NUMBERS))
    )


_MODEL = _object(
    dictionary=_PART,
    loss=_PART,
    scale=_list(_POSITIVE, 1),
    limits=_either(_NULL, _object(low=_NUMBERS, high=_NUMBERS)),
    intercept=_PER_OUTPUT,
    storage=_object(
        kind=_one_of("dense", "csr_matrix", "csr_array"),
        dtype=_one_of("float64", "float32", "int64", "int32"),
        n_parameters=_whole(1, 2**31 - 2),
    ),
    atoms=_atoms(coef=_PER_OUTPUT),
)

_STEP = _object(
    chosen=_list(_whole(-1, 2**31 - 1), 1),
    removed=_list(_pair(_PLACE, _PLACE)),
    scores=_ANY_NUMBERS,
    objectives=_ANY_NUMBERS,
    intercept=_PER_OUTPUT,
    coef=_list(_NUMBERS, 1),
    solver_iterations=_whole(0),
    residual=_ANY_NUMBER,
    is_corrected=_FLAG,
    seconds=_NOT_NEGATIVE,
    validation_score=_either(_NULL, _NUMBER, _SPECIAL),
)

_PATH = _object(
    start=_PER_OUTPUT,
    endings=_list(_either(_NULL, _STATUS), 1),
    is_shared=_FLAG,
    gone=_list(_PLACE),
    atoms=_atoms(),
    steps=_list(_STEP),
)

_COLUMN = _either(
    _object(
        kind=_one_of("number"),
        name=_TEXT,
        fill=_NUMBER,
        is_marked=_FLAG,
        unit=_one_of("number", "days"),
    ),
    _object(
        kind=_one_of("category"),
        name=_TEXT,
        levels=_list(_TEXT),
        has_other=_FLAG,
        is_marked=_FLAG,
    ),
    _object(kind=_one_of("skipped"), name=_TEXT, reason=_TEXT),
)

_ENCODER = _object(
    max_levels=_whole(1), min_count=_whole(1), has_names=_FLAG, columns=_list(_COLUMN, 1)
)

#: JSON Schema, draft 2020-12.
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"urn:fcgboost:model:{VERSION}",
    "title": f"fcgboost model, version {VERSION}",
    **_object(
        format=_one_of(FORMAT),
        version=_one_of(VERSION),
        written_by=_TEXT,
        about={"type": "object"},
        encoder=_either(_NULL, _ENCODER),
        n_features=_COUNT,
        feature_names=_either(_NULL, _list(_TEXT)),
        classes=_object(dtype=_LABELS, values=_list(_LABEL, 2)),
        parameters=_object(**PARAMETERS),
        n_iter=_whole(0, 2**31 - 1),
        k0=_COUNT,
        l2=_NOT_NEGATIVE,
        status=_STATUS,
        feature_importances=_either(_NULL, _ANY_NUMBERS),
        link=_either(
            _NULL,
            _object(slope={**_POSITIVE, "maximum": 1000}, power={**_POSITIVE, "maximum": 4}),
        ),
        model=_MODEL,
        path=_either(_NULL, _PATH),
    ),
    "$defs": {
        "part": _object(part=_TEXT, parameters={"type": "object", "additionalProperties": _VALUE}),
        "value": _either(
            *(_NULL, _FLAG, _TEXT, _NUMBER, _list(_VALUE), _object(number=_SPECIAL), _PART)
        ),
    },
}
