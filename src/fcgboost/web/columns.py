"""Descriptions of how the columns of a table are encoded."""

from __future__ import annotations

import numpy as np

from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.columns import why_left_out
from fcgboost.web.text import count, listed, number, shortened

_LONGEST_LEVEL = 20


def kind_of(column: Column) -> str:
    """Return the type of a column: "number", "date", "category" or "left out"."""
    if why_left_out(column):
        return "left out"
    is_date = isinstance(column, NumberColumn) and column.unit == "days"
    return "date" if is_date else column.kind


def treatment_of(column: Column) -> str:
    """Describe how a column is encoded."""
    if isinstance(column, NumberColumn) and column.outputs:
        return _of_number(column)
    if isinstance(column, CategoryColumn) and column.outputs:
        return _of_category(column)
    return f"left out: {why_left_out(column)}"


def value_of(column: NumberColumn, value: float) -> str:
    """Format a number of a column, which may be a date."""
    if column.unit == "days" and np.isfinite(value):
        return str(np.datetime64(int(np.floor(value)), "D"))
    return number(value)


def _of_number(column: NumberColumn) -> str:
    parts = [one.part for one in column.outputs]
    values = [one for one in column.outputs if one.part == "value"]
    fills = [one.fill for one in values if one.fill is not None]
    said = "as it is"
    if fills:
        mark = " and is marked" if "missing" in parts else ""
        said = f"a missing value becomes {value_of(column, fills[0])}{mark}"
        said += "; for trees it stays missing" if len(values) > len(fills) else ""
    of_date = [part for part in parts if part not in ("value", "missing")]
    said += f"; also its {listed(of_date)}" if of_date else ""
    return f"{said}; other texts count as missing" if column.accepts_text else said


def _of_category(column: CategoryColumn) -> str:
    n, parts = len(column.levels), [one.part for one in column.outputs]
    marked = {one.level for one in column.outputs}
    has_shares = any(part.startswith("share of ") for part in parts)
    said = [f"one of {listed([shortened(level, _LONGEST_LEVEL) for level in column.levels])}"]
    if has_shares:
        said = [f"the shares of the classes in each of {count(n, 'level')}"]
    if n in marked:
        said.append("other texts are pooled")
    if n + 1 in marked or "missing" in parts:
        said.append("missing values are marked")
    if has_shares and any(one.view == "trees" for one in column.outputs):
        said.append("trees see the levels themselves")
    return "; ".join(said)
