"""Columns of tables that tests expect, and what is learned about one."""

import numpy as np
import pandas as pd

from fcgboost.tables import (
    CategoryColumn,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    TableEncoder,
)


def learn(*cells, **options):
    """Give what is learned about one column of a data frame."""
    values = cells[0] if len(cells) == 1 else pd.Series(list(cells), dtype=object)
    return TableEncoder(**options).fit(beside_numbers(values)).columns_[0]


def beside_numbers(values):
    """Put a column beside one that is never skipped."""
    return pd.DataFrame({"a": values, "z": np.arange(len(values))})


def numbers(fill, is_marked=False, unit="number", parts=(), **options) -> NumberColumn:
    """Give a column of numbers; `parts` are those of dates, with their fills."""
    marks = [NumberOutput("missing")] * is_marked
    others = [NumberOutput(part, own) for part, own in parts]
    return NumberColumn("a", (NumberOutput(fill=fill), *marks, *others), unit, **options)


def levels(*texts, has_other=False, is_marked=False) -> CategoryColumn:
    """Give a column of texts with a mark for each."""
    n = len(texts)
    marked = [*range(n), *[n] * has_other, *[n + 1] * is_marked]
    outputs = tuple(LevelOutput(level=at) for at in marked)
    return CategoryColumn("a", texts, outputs, is_unknown_missing=False)


def encode(column, values):
    """Give the outputs of a column side by side."""
    return np.array(column.encode(column.read(values))).T
