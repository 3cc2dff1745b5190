"""What atoms see of a row: the cells that it is read as, and the inputs that members make of them.

All members read a row alike, and each makes its own inputs of what was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from fcgboost.arrays import Array
from fcgboost.members import Member
from fcgboost.prediction import BaseFCGBoost
from fcgboost.tables import Column, NumberColumn, NumberOutput
from fcgboost.tables.columns import LevelOutput


class Way(IntEnum):
    """How an input is made of a cell."""

    KEEP = 0
    #: A missing value is replaced.
    FILL = 1
    #: 1 for a missing value, else 0.
    IS_GAP = 2
    #: 1 for one level, else 0.
    IS_LEVEL = 3
    #: Every level has a number.
    LOOK_UP = 4


class Cell(NamedTuple):
    """A number that a row is read as.

    The part is "value", one of a date, or "level": the code of a text, that of missing ones last.
    Of a "pair" it is the code of the first column's text times the number of codes of the second,
    plus that of the second.
    """

    column: int
    part: str = "value"
    #: The other column of a pair.
    second: int = -1


class Input(NamedTuple):
    """An input of atoms: the number of its cell, and how it is made of that."""

    cell: int
    way: Way = Way.KEEP
    #: What replaces missing values, or the level.
    constant: float = 0.0
    #: Those of the levels.
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class InputRecord:
    """What a row consists of."""

    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    #: Whether columns are given one by one, as some hold texts or dates.
    is_table: bool

    @property
    def used(self) -> list[int]:
        """The numbers of the columns that are read."""
        columns = {j for cell in self.cells for j in (cell.column, cell.second)}
        return sorted(columns - {-1})

    def n_codes(self, j: int) -> int:
        """Return how many codes a column of categories has: levels, and one for missing texts."""
        return len(getattr(self.columns[j], "levels", ())) + 1

    def inputs_of(self, member: Member) -> tuple[Input, ...]:
        """Return the inputs of a member's atoms."""
        positions = {cell: position for position, cell in enumerate(self.cells)}
        return tuple(
            _input(positions[cell], output) for cell, output in _cells_of(member, len(self.columns))
        )


def record_of(model: BaseFCGBoost) -> InputRecord:
    """Return what the rows of a model consist of."""
    members = model.members_
    n_columns = model.n_features_in_
    # Members differ in the outputs of columns only.
    columns = model.columns_ or (NumberColumn(""),) * n_columns
    are_numbers = [isinstance(column, NumberColumn) and column.unit != "days" for column in columns]
    if all(are_numbers):
        return InputRecord(columns, tuple(map(Cell, range(n_columns))), is_table=False)
    cells = {cell for member in members for cell, _ in _cells_of(member, n_columns)}
    return InputRecord(columns, tuple(sorted(cells)), is_table=True)


def numbers_of_levels(inputs: Sequence[Input]) -> tuple[Array, list[float]]:
    """Return the constants of inputs, and numbers to look up, which start at the constant."""
    constants = np.array([entry.constant for entry in inputs])
    table: list[float] = []
    for position, entry in enumerate(inputs):
        if entry.way == Way.LOOK_UP:
            constants[position] = len(table)
            table += entry.numbers
    return constants, table


def _cells_of(member: Member, n_columns: int) -> Iterator[tuple[Cell, NumberOutput | LevelOutput]]:
    """Yield the cell that each input is made of, and which output of its column it is."""
    if member.inputs is None:
        yield from ((Cell(j), NumberOutput()) for j in range(n_columns))
        return
    for j, output in zip(member.inputs.sources.tolist(), member.inputs.outputs, strict=True):
        if j >= n_columns:
            first, second = member.pairs[j - n_columns].columns
            yield Cell(first, "pair", second), output
        elif isinstance(output, LevelOutput):
            yield Cell(j, "level"), output
        else:
            yield Cell(j, "value" if output.part == "missing" else output.part), output


def _input(cell: int, output: NumberOutput | LevelOutput) -> Input:
    if isinstance(output, LevelOutput):
        if output.level is None:
            return Input(cell, Way.LOOK_UP, numbers=output.numbers)
        return Input(cell, Way.IS_LEVEL, float(output.level))
    if output.part == "missing":
        return Input(cell, Way.IS_GAP)
    return Input(cell) if output.fill is None else Input(cell, Way.FILL, output.fill)
