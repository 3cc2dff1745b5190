"""A table encoder in a document: what it learned about every column."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import Any

from fcgboost.documents.checking import refuse
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn, TableEncoder

_COLUMNS = {"number": NumberColumn, "category": CategoryColumn, "skipped": SkippedColumn}
_NAMES = {column: name for name, column in _COLUMNS.items()}
_PLACE = "$.encoder.columns"
# The names of all outputs together, each of which repeats the name of its column.
_MOST_CHARACTERS = 2**24


def encoder_document(encoder: TableEncoder | None) -> dict[str, Any] | None:
    """Return a fitted encoder as a document has it."""
    if encoder is None:
        return None
    columns = [{"kind": _NAMES[type(column)], **asdict(column)} for column in encoder.columns_]
    for column in columns:
        column.update({"levels": list(column["levels"])} if "levels" in column else {})
    return {
        "max_levels": int(encoder.max_levels),
        "min_count": int(encoder.min_count),
        "has_names": "feature_names_in_" in vars(encoder),
        "columns": columns,
    }


def read_encoder(document: dict[str, Any] | None, n_features: int) -> TableEncoder | None:
    """Return an encoder whose outputs are the features of a model."""
    if document is None:
        return None
    columns = [_read_column(column, i) for i, column in enumerate(document["columns"])]
    _check_outputs(columns, n_features)
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        refuse(_PLACE, "has two columns of one name")
    encoder = TableEncoder.from_columns(columns, names if document["has_names"] else None)
    return encoder.set_params(max_levels=document["max_levels"], min_count=document["min_count"])


def _read_column(document: dict[str, Any], i: int) -> Column:
    own = {name: value for name, value in document.items() if name != "kind"}
    if "levels" in own:
        own["levels"] = tuple(own["levels"])
        if any(first >= second for first, second in pairwise(own["levels"])):
            refuse(f"{_PLACE}[{i}].levels", "must grow from one level to the next")
    if "fill" in own:
        own["fill"] = float(own["fill"])
    return _COLUMNS[document["kind"]](**own)


def _check_outputs(columns: list[Column], n_features: int) -> None:
    """Check the number of outputs, and before they are made, the length of their names."""
    counts = [len(getattr(column, "levels", ())) + 2 for column in columns]
    length = sum(len(c.name) * count for c, count in zip(columns, counts, strict=True))
    if length > _MOST_CHARACTERS:
        refuse(_PLACE, "has names and levels that are too long for a model file")
    n_outputs = sum(column.n_outputs for column in columns)
    if n_outputs != n_features:
        refuse(_PLACE, f"makes {n_outputs} numbers of a row, and n_features is {n_features}")
