"""The rows of a table in ONNX: its inputs, and what makes the inputs of the sum of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fcgboost.export.formula import Formula, utf8
from fcgboost.export.onnx_graph import ML, Graph, import_onnx
from fcgboost.export.sources import Source, Sources
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.dates import ROUNDING


def declare_inputs(formula: Formula, real: int, outputs: tuple[str, ...]) -> list[Any]:
    """Declare the inputs: one of all numbers, or one for every column of a table."""
    declare, types = import_onnx().helper.make_tensor_value_info, import_onnx().TensorProto
    if not formula.sources.is_table:
        note = "" if formula.names is None else f"Columns: {json.dumps(formula.names)}."
        return [declare("X", real, ["n", len(formula.sources.all)], doc_string=note)]
    inputs, taken = [], set(outputs)
    for column, _ in formula.sources.used:
        name = utf8(column.name, "ONNX").decode() or "column"
        while name in taken:
            name += "_"
        taken.add(name)
        kind, note = types.STRING, "Texts; an empty one is missing."
        if isinstance(column, NumberColumn):
            is_date = column.unit == "days"
            # A float has no room for the hours of a date.
            kind = types.DOUBLE if is_date else real
            note = f"{'Days since 1970-01-01' if is_date else 'Numbers'}; NaN is missing."
        inputs.append(declare(name, kind, ["n", 1], doc_string=note))
    return inputs


def rows_of(graph: Graph, formula: Formula, names: list[str]) -> str:
    """Return the inputs of the sum, of shape (n, n_features), in double precision."""
    sources = formula.sources
    if not sources.is_table:
        X = graph.cast(names[0], "DOUBLE")
        return X if sources.is_raw else _filled(graph, sources, X)
    pieces: dict[int, str] = {}
    for source, name in zip(sources.used, names, strict=True):
        write = _levels if isinstance(source.column, CategoryColumn) else _numbers
        pieces |= write(graph, source, name)
    ordered = [piece for _, piece in sorted(pieces.items())]
    return ordered[0] if len(ordered) == 1 else graph.add("Concat", *ordered, axis=1)


def _filled(graph: Graph, sources: Sources, X: str) -> str:
    """Return numbers without gaps, marks of gaps, and numbers with gaps, from rows of numbers."""
    columns, outputs = zip(*sources.in_order, strict=True)
    if columns != tuple(range(len(sources.all))):
        X = graph.add("Gather", X, graph.constant(columns, np.int64), axis=1)
    is_gap, is_mark = graph.add("IsNaN", X), [one.part == "missing" for one in outputs]
    fills = np.array([np.nan if one.fill is None else one.fill for one in outputs])
    filled = graph.add("Where", is_gap, graph.constant(fills[None, :]), X)
    if not any(is_mark):
        return filled
    marks = graph.cast(is_gap, "DOUBLE")
    return graph.add("Where", graph.constant([is_mark], np.bool_), marks, filled)


def _numbers(graph: Graph, source: Source, given: str) -> dict[int, str]:
    """Return the outputs of a number, or a date, by their places."""
    number = graph.cast(given, "DOUBLE")
    needs_gaps = any(one.part == "missing" or one.fill is not None for _, one in source.outputs)
    is_gap, found = graph.add("IsNaN", number) if needs_gaps else "", {}
    for place, (part, fill, _) in source.outputs:
        if part == "missing":
            found[place] = graph.cast(is_gap, "DOUBLE")
            continue
        found[place] = number if part == "value" else _part_of_date(graph, part, number)
        if fill is not None:
            found[place] = graph.add("Where", is_gap, graph.constant([[fill]]), found[place])
    return found


def _part_of_date(graph: Graph, part: str, days: str) -> str:
    """Return the month, the weekday or the hour by the arithmetic of fcgboost.tables.dates."""
    add = graph.add

    def quotient(number: str, by: float) -> str:
        return add("Floor", add("Div", number, by))

    def modulo(number: str, by: float) -> str:  # that of a negative number is not negative either
        return add("Mod", add("Add", add("Mod", number, by, fmod=1), by), by, fmod=1)

    day = add("Floor", days)
    if part == "hour":
        hour = add("Floor", add("Add", add("Mul", add("Sub", days, day), 24.0), ROUNDING))
        return add("Where", add("Greater", hour, 23.0), 23.0, hour)
    if part == "weekday":
        return modulo(add("Add", day, 3.0), 7.0)
    day = modulo(add("Add", day, 719468.0), 146097.0)
    leap_days = add("Sub", quotient(day, 1460.0), quotient(day, 36524.0))
    leap_days = add("Add", leap_days, quotient(day, 146096.0))
    year = quotient(add("Sub", day, leap_days), 365.0)
    before = add("Add", add("Mul", year, 365.0), quotient(year, 4.0))
    day = add("Sub", day, add("Sub", before, quotient(year, 100.0)))
    month = quotient(add("Add", add("Mul", day, 5.0), 2.0), 153.0)
    return add("Where", add("Less", month, 10.0), add("Add", month, 3.0), add("Sub", month, 9.0))


def _levels(graph: Graph, source: Source, given: str) -> dict[int, str]:
    """Return the outputs of a category by their places; several marks in a row are one piece."""
    column, found, n = source.column, {}, len(source.column.levels)
    levels = {utf8(level, "ONNX"): code for code, level in enumerate(column.levels)} | {b"": n + 1}
    codes = graph.add(
        "LabelEncoder",
        given,
        domain=ML,
        keys_strings=list(levels),
        values_int64s=list(levels.values()),
        default_int64=n + 1 if column.is_unknown_missing else n,
    )
    for run in source.runs():
        wanted = graph.constant([[level for _, level in run]], np.int64)
        found[run[0][0]] = graph.cast(graph.add("Equal", codes, wanted), "DOUBLE")
    for place, one in source.outputs:
        if one.level is None:
            # Other texts have the number of what is missing.
            numbers = graph.constant([*one.numbers, one.numbers[-1]])
            found[place] = graph.add("Gather", numbers, codes)
    return found
