"""A table encoder in a document: what it learned about every column."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import Any

from msgspec import structs

from fcgboost.documents.checking import refuse
from fcgboost.documents.schema import CategoryRecord, EncoderRecord
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn, TableEncoder

_COLUMNS: dict[Any, type[Column]]
_COLUMNS = {"number": NumberColumn, "category": CategoryColumn, "skipped": SkippedColumn}
_NAMES = {column: name for name, column in _COLUMNS.items()}
_PLACE = "$.encoder.columns"
# The names of all outputs together, each of which repeats the name of its column.
_MOST_CHARACTERS = 2**24


def encoder_document(encoder: TableEncoder | None) -> dict[str, Any] | None:
    """Return a fitted encoder as a document has it."""
    if encoder is None:
        return None
    columns = encoder.columns_
    return {
        "max_levels": int(encoder.max_levels),
        "min_count": int(encoder.min_count),
        "has_names": "feature_names_in_" in vars(encoder),
        "columns": [{"kind": _NAMES[type(column)], **asdict(column)} for column in columns],
    }


def read_encoder(record: EncoderRecord | None, n_features: int) -> TableEncoder | None:
    """Return an encoder whose outputs are the features of a model."""
    if record is None:
        return None
    for i, one in enumerate(record.columns):
        levels = one.levels if isinstance(one, CategoryRecord) else ()
        if any(first >= second for first, second in pairwise(levels)):
            refuse(f"{_PLACE}[{i}].levels", "must grow from one level to the next")
    columns = [_COLUMNS[one.__struct_config__.tag](**structs.asdict(one)) for one in record.columns]
    _check_outputs(columns, n_features)
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        refuse(_PLACE, "has two columns of one name")
    encoder = TableEncoder.from_columns(columns, names if record.has_names else None)
    encoder.set_params(max_levels=record.max_levels, min_count=record.min_count)
    return encoder


def _check_outputs(columns: list[Column], n_features: int) -> None:
    """Check the number of outputs, and before they are made, the length of their names."""
    length = sum(len(c.name) * (len(getattr(c, "levels", ())) + 2) for c in columns)
    if length > _MOST_CHARACTERS:
        refuse(_PLACE, "has names and levels that are too long for a model file")
    n_outputs = sum(column.n_outputs for column in columns)
    if n_outputs != n_features:
        refuse(_PLACE, f"makes {n_outputs} numbers of a row, and n_features is {n_features}")
