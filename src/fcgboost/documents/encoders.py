"""A table encoder in a document: what it learned about every column."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

from fcgboost.documents.spots import Spot
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn, TableEncoder

_KINDS: dict[str, type[Column]] = {
    "number": NumberColumn,
    "category": CategoryColumn,
    "skipped": SkippedColumn,
}
# The names of all outputs together, each of which repeats the name of its column.
_MOST_CHARACTERS = 2**24


def encoder_document(encoder: TableEncoder | None) -> dict[str, Any] | None:
    """Give a fitted encoder as a document has it."""
    if encoder is None:
        return None
    return {
        "max_levels": int(encoder.max_levels),
        "min_count": int(encoder.min_count),
        "has_names": "feature_names_in_" in vars(encoder),
        "columns": [_column_document(column) for column in encoder.columns_],
    }


def _column_document(column: Column) -> dict[str, Any]:
    kind = next(kind for kind, known in _KINDS.items() if isinstance(column, known))
    values = {field.name: getattr(column, field.name) for field in fields(column)}
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
    return {"kind": kind, **plain}


def read_encoder(spot: Spot, n_features: int) -> TableEncoder | None:
    """Give an encoder whose outputs are the features of a model."""
    if spot.is_null:
        return None
    names = ("max_levels", "min_count", "has_names", "columns")
    max_levels, min_count, has_names, columns_spot = spot.fields(*names)
    columns = [_read_column(column) for column in columns_spot.items()]
    _check_outputs(columns_spot, columns, n_features)
    names_in = [column.name for column in columns]
    if len(set(names_in)) < len(names_in):
        columns_spot.refuse("has two columns of one name")
    encoder = TableEncoder.from_columns(columns, names_in if has_names.flag() else None)
    encoder.set_params(max_levels=max_levels.whole(1), min_count=min_count.whole(1))
    return encoder


def _read_column(spot: Spot) -> Column:
    entries = spot.entries()
    if "kind" not in entries:
        spot.refuse("lacks the key 'kind'")
    kind = entries["kind"].word(*_KINDS)
    if kind == "number":
        _, name, fill, is_marked, unit = spot.fields("kind", "name", "fill", "is_marked", "unit")
        value, word = float(fill.number()), unit.word("number", "days")
        return NumberColumn(name.text(), value, is_marked.flag(), word)
    if kind == "category":
        keys = ("kind", "name", "levels", "has_other", "is_marked")
        _, name, levels, has_other, is_marked = spot.fields(*keys)
        texts = tuple(levels.texts())
        if any(first >= second for first, second in pairwise(texts)):
            levels.refuse("must grow from one level to the next")
        return CategoryColumn(name.text(), texts, has_other.flag(), is_marked.flag())
    _, name, reason = spot.fields("kind", "name", "reason")
    return SkippedColumn(name.text(), reason.text())


def _check_outputs(spot: Spot, columns: list[Column], n_features: int) -> None:
    """Check the number of outputs, and before they are made, the length of their names."""
    counts = [len(getattr(column, "levels", ())) + 2 for column in columns]
    length = sum(len(c.name) * count for c, count in zip(columns, counts, strict=True))
    if length > _MOST_CHARACTERS:
        spot.refuse("has names and levels that are too long for a model file")
    n_outputs = sum(column.n_outputs for column in columns)
    if n_outputs != n_features:
        spot.refuse(f"gives {n_outputs} numbers per row, and n_features is {n_features}")
