"""Columns of tables that tests expect, and what is learned about one."""

from dataclasses import replace

import numpy as np
import pandas as pd

from fcgboost.tables import CategoryColumn, LevelOutput, NumberColumn, NumberOutput
from fcgboost.tables.learning import Audience, NumberFacts, learn_column, number_outputs
from fcgboost.tables.opening import open_table


class Encoder:
    """A table as numbers: gaps filled and marked, a column for every level."""

    def __init__(self, dayfirst=None) -> None:
        self.dayfirst = dayfirst

    def fit(self, X):
        columns, notes = [], []
        for name, values in open_table(X, min_rows=2).columns.items():
            column, cells, said = learn_column(name, values, dayfirst=self.dayfirst)
            columns.append(with_outputs(column, cells))
            notes += map(str, said)
        self.columns_, self.notes_ = tuple(columns), tuple(notes)
        return self

    def transform(self, X):
        table = open_table(X, min_rows=0)
        values = list(table.columns.values())
        if table.has_names:
            values = [table.columns[column.name] for column in self.columns_]
        pairs = zip(self.columns_, values, strict=True)
        outputs = [own for column, cells in pairs for own in column.encode(column.read(cells))]
        return np.column_stack(outputs)


def with_outputs(column, cells):
    """Give a column all that it can become."""
    if isinstance(column, NumberColumn):
        facts = NumberFacts.of(cells, column.unit)
        return replace(column, outputs=number_outputs(facts, cells, Audience()))
    if isinstance(column, CategoryColumn):
        return levels(*column.levels, is_marked=np.isnan(cells).any(), name=column.name)
    return column


def learn(*cells, **options):
    """Give what is learned about one column of a data frame."""
    values = cells[0] if len(cells) == 1 else pd.Series(list(cells), dtype=object)
    return Encoder(**options).fit(beside_numbers(values)).columns_[0]


def beside_numbers(values):
    """Put a column beside one that is never skipped."""
    return pd.DataFrame({"a": values, "z": np.arange(len(values))})


def numbers(fill, is_marked=False, unit="number", parts=(), **options) -> NumberColumn:
    """Give a column of numbers; `parts` are those of dates, with their fills."""
    marks = [NumberOutput("missing")] * is_marked
    others = [NumberOutput(part, own) for part, own in parts]
    return NumberColumn("a", (NumberOutput(fill=fill), *marks, *others), unit, **options)


def levels(*texts, is_marked=False, name="a") -> CategoryColumn:
    """Give a column of texts with a mark for each, and one for gaps."""
    marks = [LevelOutput(level=code) for code in range(len(texts))]
    if is_marked:
        marks.append(LevelOutput("missing", None, (*[0.0] * len(texts), 1.0)))
    return CategoryColumn(name, texts, tuple(marks))


def encode(column, values):
    """Give the outputs of a column side by side."""
    return np.array(column.encode(column.read(values))).T


def notes_on(values, **options) -> tuple[str, ...]:
    """Give what is said about one column beside one about which nothing is said."""
    table = pd.DataFrame({"a": values, "z": np.linspace(0.0, 0.5, len(values))})
    return Encoder(**options).fit(table).notes_


NAN = float("nan")
