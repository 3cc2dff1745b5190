"""The rows of a graph: its inputs, the numbers they are read as, and what atoms see of these."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from fcgboost.export.formula import Formula, Summand, utf8
from fcgboost.export.onnx_graph import ML, Graph, import_onnx
from fcgboost.export.sources import Way, numbers_of_levels
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.dates import ROUNDING

if TYPE_CHECKING:
    from onnx import ValueInfoProto


def declare_inputs(formula: Formula, real: int, outputs: tuple[str, ...]) -> list[ValueInfoProto]:
    """Declare the inputs: one of all numbers, or one for every column of a table."""
    declare = import_onnx().helper.make_tensor_value_info
    types = import_onnx().TensorProto
    record = formula.record
    if not record.is_table:
        note = "" if formula.names is None else f"Columns: {json.dumps(formula.names)}."
        return [
            declare(
                "X",
                real,
                ["n", formula.n_cells],
                doc_string=note,
            )
        ]
    inputs = []
    taken = set(outputs)
    for j in record.used:
        column = record.columns[j]
        name = utf8(column.name, "ONNX").decode() or "column"
        while name in taken:
            name += "_"
        taken.add(name)
        kind = types.STRING
        note = "Texts; an empty one is missing."
        if isinstance(column, NumberColumn):
            is_date = column.unit == "days"
            # A float has no room for the hours of a date.
            kind = types.DOUBLE if is_date else real
            note = f"{'Days since 1970-01-01' if is_date else 'Numbers'}; NaN is missing."
        inputs.append(
            declare(
                name,
                kind,
                ["n", 1],
                doc_string=note,
            )
        )
    return inputs


def cells_of(graph: Graph, formula: Formula, names: list[str]) -> str:
    """Return the numbers that rows are read as, of shape (n, n_cells), in double precision."""
    record = formula.record
    if not record.is_table:
        return graph.cast(names[0], "DOUBLE")
    tensors = dict(zip(record.used, names, strict=True))
    columns = {}
    for j, tensor in tensors.items():
        column = record.columns[j]
        if isinstance(column, CategoryColumn):
            tensor = _codes(graph, column, tensor)
        columns[j] = graph.cast(tensor, "DOUBLE")
    cells = []
    for cell in record.cells:
        numbers = columns[cell.column]
        if cell.part == "pair":
            products = graph.add("Mul", numbers, float(record.n_codes(cell.second)))
            numbers = graph.add("Add", products, columns[cell.second])
        elif cell.part not in ("value", "level"):
            numbers = _part_of_date(graph, cell.part, numbers)
        cells.append(numbers)
    return cells[0] if len(cells) == 1 else graph.add("Concat", *cells, axis=1)


def inputs_of(graph: Graph, summand: Summand, cells: str, n_cells: int) -> str:
    """Return what the atoms of a summand see, of shape (n, n_inputs)."""
    x = cells
    positions = [entry.cell for entry in summand.inputs]
    if positions != list(range(n_cells)):
        x = graph.add(
            "Gather",
            cells,
            graph.constant(positions, np.int64),
            axis=1,
        )
    ways = np.array([entry.way for entry in summand.inputs])
    inputs = x
    for way in sorted(set(ways.tolist()) - {Way.KEEP}):
        is_made = ways == way
        values = _made(graph, summand, Way(way), x)
        if is_made.all():
            inputs = values
        else:
            inputs = graph.add(
                "Where",
                graph.constant([is_made], np.bool_),
                values,
                inputs,
            )
    return _clipped(graph, summand, inputs)


def _made(graph: Graph, summand: Summand, way: Way, x: str) -> str:
    """Return what inputs are that are made of cells in some way."""
    constants, table = numbers_of_levels(summand.inputs)
    if way == Way.IS_LEVEL:
        return graph.cast(graph.add("Equal", x, graph.constant(constants[None, :])), "DOUBLE")
    if way == Way.LOOK_UP:
        is_made = np.array([entry.way == way for entry in summand.inputs])
        codes = graph.add(
            "Where",
            graph.constant([is_made], np.bool_),
            x,
            0.0,
        )
        starts = np.where(is_made, constants, 0.0)
        positions = graph.add("Add", codes, graph.constant(starts[None, :]))
        return graph.add("Gather", graph.constant(table), graph.cast(positions, "INT64"))
    is_gap = graph.add("IsNaN", x)
    if way == Way.IS_GAP:
        return graph.cast(is_gap, "DOUBLE")
    return graph.add(
        "Where",
        is_gap,
        graph.constant(constants[None, :]),
        x,
    )


def _clipped(graph: Graph, summand: Summand, x: str) -> str:
    """Return inputs within their limits."""
    if summand.bounds is None:
        return x
    # NaN is neither below nor above anything.
    for comparison, limit in (("Less", summand.bounds.low), ("Greater", summand.bounds.high)):
        row = graph.constant(limit[None, :])
        x = graph.add(
            "Where",
            graph.add(comparison, x, row),
            row,
            x,
        )
    return x


def _part_of_date(graph: Graph, part: str, days: str) -> str:
    """Return the month, the weekday or the hour by the arithmetic of fcgboost.tables.dates."""
    add = graph.add

    def quotient(number: str, by: float) -> str:
        return add("Floor", add("Div", number, by))

    def modulo(number: str, by: float) -> str:  # that of a negative number is not negative either
        return add("Sub", number, add("Mul", quotient(number, by), by))

    day = add("Floor", days)
    if part == "hour":
        hour = add("Floor", add("Add", add("Mul", add("Sub", days, day), 24.0), ROUNDING))
        return add(
            "Where",
            add("Greater", hour, 23.0),
            23.0,
            hour,
        )
    if part == "weekday":
        return modulo(add("Add", day, 3.0), 7.0)
    day = modulo(add("Add", day, 719468.0), 146097.0)
    leap_days = add("Sub", quotient(day, 1460.0), quotient(day, 36524.0))
    leap_days = add("Add", leap_days, quotient(day, 146096.0))
    year = quotient(add("Sub", day, leap_days), 365.0)
    before = add("Add", add("Mul", year, 365.0), quotient(year, 4.0))
    day = add("Sub", day, add("Sub", before, quotient(year, 100.0)))
    month = quotient(add("Add", add("Mul", day, 5.0), 2.0), 153.0)
    return add(
        "Where",
        add("Less", month, 10.0),
        add("Add", month, 3.0),
        add("Sub", month, 9.0),
    )


def _codes(graph: Graph, column: CategoryColumn, tensor: str) -> str:
    """Return the codes of levels; those of missing and of other texts are the last."""
    n = len(column.levels)
    levels = {utf8(level, "ONNX"): code for code, level in enumerate(column.levels)}
    levels[b""] = n
    return graph.add(
        "LabelEncoder",
        tensor,
        domain=ML,
        keys_strings=list(levels),
        values_int64s=list(levels.values()),
        default_int64=n,
    )
