"""Columns in a document: how all members read them, and what each member makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from msgspec import structs

from fcgboost.arrays import Array
from fcgboost.documents.checking import (
    JsonObject,
    Memory,
    increases,
    numbers,
    refuse,
    sized,
)
from fcgboost.documents.schema import (
    CategoryRecord,
    Document,
    MarkRecord,
    MemberRecord,
    NumberOutputRecord,
    NumberRecord,
    OutputRecord,
    PairRecord,
    PlainInputsRecord,
    SkippedRecord,
    TableInputsRecord,
)
from fcgboost.tables import (
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    SkippedColumn,
)
from fcgboost.tables.inputs import Inputs, PlainInputs
from fcgboost.tables.pairs import Pair

_PLACE = "$.columns"
_COLUMNS: dict[type, type[Column]] = {
    NumberRecord: NumberColumn,
    CategoryRecord: CategoryColumn,
    SkippedRecord: SkippedColumn,
}
# The largest length of all output names, each of which repeats the name of its column.
_MOST_IN_NAMES = 2**24
# What a column of a member takes in memory.
_COLUMN_BYTES = 256


def column_document(column: Column) -> JsonObject:
    """Return how a column is read."""
    names = [field.name for field in fields(column) if field.name != "outputs"]
    return {"kind": column.kind, **{name: getattr(column, name) for name in names}}


def inputs_document(inputs: Inputs | None) -> JsonObject | None:
    """Return what a member makes of the columns; None if it takes them as they are."""
    if inputs is None:
        return None
    if isinstance(inputs, PlainInputs):
        fills = inputs.fills
        return {"kind": "plain", "fills": None if fills is None else fills.tolist()}
    columns = [list(map(_output_document, column.outputs)) for column in inputs.columns]
    pairs: list[JsonObject] = [
        {"columns": list(pair.columns), "outputs": list(map(_output_document, pair.outputs))}
        for pair in inputs.pairs
    ]
    return {"kind": "table", "outputs": columns, "pairs": pairs}


def _output_document(output: NumberOutput | LevelOutput) -> JsonObject:
    if isinstance(output, NumberOutput):
        return {"kind": "number", **output._asdict()}
    if output.level is not None:
        return {"kind": "mark", "level": output.level, "view": output.view}
    return {
        "kind": "numbers",
        "part": output.part,
        "numbers": list(output.numbers),
        "view": output.view,
    }


def n_inputs(member: MemberRecord, document: Document, place: str) -> int:
    """Return how many inputs a member makes of the columns."""
    inputs = member.inputs
    if isinstance(inputs, TableInputsRecord):
        columns = sized(inputs.outputs, document.n_features, f"{place}.inputs.outputs")
        n_of_pairs = sum(len(pair.outputs) for pair in inputs.pairs)
        return sum(map(len, columns)) + n_of_pairs
    if document.columns is not None:
        refuse(f"{place}.inputs", 'must be of kind "table" if there are columns')
    return document.n_features


def read_columns(document: Document) -> list[Column]:
    """Return how columns are read; nothing if no member makes anything of them."""
    n_features = document.n_features
    names = document.feature_names
    if names is not None:
        sized(names, n_features, "$.feature_names")
    # Sparse rows may have millions of columns.
    if all(member.inputs is None for member in document.members):
        return []
    if document.columns is None:
        return [NumberColumn(name) for name in names or [f"x{j}" for j in range(n_features)]]
    records = sized(document.columns, n_features, _PLACE)
    columns = [_COLUMNS[type(record)](**structs.asdict(record)) for record in records]
    for i, column in enumerate(columns):
        if isinstance(column, CategoryColumn) and not increases(column.levels):
            refuse(f"{_PLACE}[{i}].levels", "must be in increasing order")
    if len({column.name for column in columns}) < n_features:
        refuse(_PLACE, "has two columns with the same name")
    return columns


def read_background(document: Document, columns: Sequence[Column]) -> Array | None:
    """Return the background rows, one number for each column."""
    if document.background is None:
        return None
    place = "$.background"
    rows = enumerate(document.background)
    n_features = document.n_features
    background = np.array([numbers(row, n_features, f"{place}[{i}]") for i, row in rows])
    for j, column in enumerate(columns):
        if isinstance(column, CategoryColumn):
            values = background[:, j]
            is_level = np.isnan(values) | np.isin(values, np.arange(len(column.levels)))
            if not is_level.all():
                refuse(f"{place}[{is_level.argmin()}]", "has a level that does not exist")
    return background


def read_inputs(
    record: PlainInputsRecord | TableInputsRecord | None,
    columns: Sequence[Column],
    memory: Memory,
    place: str,
) -> Inputs | None:
    """Return what a member makes of the columns; None if it takes them as they are."""
    if record is None:
        return None
    memory.take(_COLUMN_BYTES * len(columns), place)
    if isinstance(record, PlainInputsRecord):
        fills = None
        if record.fills is not None:
            fills = numbers(record.fills, len(columns), f"{place}.fills")
        return PlainInputs([column.name for column in columns], fills)
    made = [
        _with_outputs(column, outputs, f"{place}.outputs[{i}]")
        for i, (column, outputs) in enumerate(zip(columns, record.outputs, strict=True))
    ]
    pairs = [
        _read_pair(pair, columns, f"{place}.pairs[{i}]") for i, pair in enumerate(record.pairs)
    ]
    # Check the length of the output names before making them.
    lengths = [len(column.name) * column.n_outputs for column in made]
    lengths += [len(pair.name) * len(pair.outputs) for pair in pairs]
    if sum(lengths) > _MOST_IN_NAMES:
        refuse(place, "has columns with names that are too long for a model file")
    return Inputs(made, pairs)


def _read_pair(record: PairRecord, columns: Sequence[Column], place: str) -> Pair:
    first, second = record.columns
    known = range(len(columns))
    are_columns = first in known and second in known and first < second
    if not are_columns or not all(isinstance(columns[j], CategoryColumn) for j in record.columns):
        refuse(f"{place}.columns", "must be two columns of categories in increasing order")
    pair = Pair.of(columns, first, second)
    outputs = tuple(
        _read_level(output, pair.n_combinations - 1, f"{place}.outputs[{i}]")
        for i, output in enumerate(record.outputs)
    )
    return replace(pair, outputs=outputs)


def _with_outputs(column: Column, records: Sequence[OutputRecord], place: str) -> Column:
    """Return a column with the outputs that a member makes of it."""
    places = [(record, f"{place}[{i}]") for i, record in enumerate(records)]
    if isinstance(column, NumberColumn):
        outputs = tuple(_read_number(record, where) for record, where in places)
        return replace(column, outputs=outputs)
    if isinstance(column, CategoryColumn):
        n_levels = len(column.levels)
        levels = tuple(_read_level(record, n_levels, where) for record, where in places)
        return replace(column, outputs=levels)
    if records:
        refuse(place, "must be empty, because the column is skipped")
    return column


def _read_number(record: OutputRecord, place: str) -> NumberOutput:
    if not isinstance(record, NumberOutputRecord):
        refuse(place, "is not an output of numbers")
    return NumberOutput(record.part, record.fill, record.view)


def _read_level(record: OutputRecord, n_levels: int, place: str) -> LevelOutput:
    if isinstance(record, NumberOutputRecord):
        refuse(place, "is not an output of a category")
    if isinstance(record, MarkRecord):
        if record.level >= n_levels:
            refuse(f"{place}.level", "is a level that does not exist")
        return LevelOutput(level=record.level, view=record.view)
    values = tuple(map(float, sized(record.numbers, n_levels + 1, f"{place}.numbers")))
    return LevelOutput(record.part, numbers=values, view=record.view)
