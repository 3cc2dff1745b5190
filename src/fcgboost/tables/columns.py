"""What is known about one column of a table, and how its values become numbers.

A column is immutable and knows nothing of the table it came from: a model file, C code or an ONNX
graph hold the same few values and do the same. It works in two steps: `read` turns every cell into
one number, and `encode` turns that number into those that atoms see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from fcgboost.tables import cells
from fcgboost.tables.cells import Array
from fcgboost.tables.dates import part_of_date
from fcgboost.threads import cached

#: Who sees an output: families that take missing values and categories as they are, the others, or
#: all of them.
View = Literal["smooth", "both", "trees"]


class NumberOutput(NamedTuple):
    """A number made of a number: its value, a part of a date, or whether it is missing.

    A `fill` stands for a missing value, which without one stays missing.
    """

    part: Literal["value", "missing", "month", "weekday", "hour"] = "value"
    fill: float | None = None
    view: View = "both"


class LevelOutput(NamedTuple):
    """A number made of a level: whether it is one of them, or a number for each.

    Levels are numbered; behind them come other texts, and missing values. Numbers are those of the
    levels and, the last one, of missing values.
    """

    part: str = "level"
    level: int | None = None
    numbers: tuple[float, ...] = ()
    view: View = "both"


@dataclass(frozen=True)
class Column(ABC):
    """One column of a table: its name, and how its values become numbers."""

    name: str

    @property
    def kind(self) -> str:
        """The first word of its class: "number", "category" or "skipped"."""
        return type(self).__name__.removesuffix("Column").lower()

    @property
    def outputs(self) -> Sequence[Any]:
        """What it becomes."""
        return ()

    @property
    def n_outputs(self) -> int:
        """How many numeric columns it becomes."""
        return len(self.outputs)

    def output_names(self) -> tuple[str, ...]:
        """Return the names of the numeric columns it becomes."""
        return ()

    @abstractmethod
    def read(self, values: Any) -> Array:
        """Return one number for every value, NaN if it is missing: of a category, its level.

        A ValueError names the column, the row and the value that does not fit.
        """

    def encode(self, numbers: Array) -> list[Array]:
        """Return the outputs, one vector each, of the numbers that `read` returned."""
        return []

    def knows(self, cell: Any) -> bool:
        """Whether a cell that is not missing is a number, or a known level."""
        return True

    def unknown_share(self, values: Any) -> float:
        """Return the share of unknown cells among those that are not missing."""
        present = cells.factorize(values).present()
        n_unknown = sum(n for cell, n in present if not self.knows(cell))
        return n_unknown / max(sum(n for _, n in present), 1)


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, truth values (0 and 1) or dates (days since 1970-01-01).

    Parameters
    ----------
    name : str
    outputs : tuple of NumberOutput
    unit : {"number", "days"}
    style : {"", "decimal comma", "day first", "month first"}
        How texts are written that are numbers or dates.
    accepts_text : bool
        Whether a text that is not a number counts as missing; else it is an error.
    """

    outputs: tuple[NumberOutput, ...] = (NumberOutput(),)
    unit: Literal["number", "days"] = "number"
    style: cells.Style = ""
    accepts_text: bool = False

    def output_names(self) -> tuple[str, ...]:
        has_raw = any(one.part == "value" and one.fill is None for one in self.outputs)
        return tuple(self._name_of(one, has_raw) for one in self.outputs)

    def _name_of(self, output: NumberOutput, has_raw: bool) -> str:
        if output.part == "missing":
            return f"{self.name} is missing"
        if output.part != "value":
            return f"{output.part} of {self.name}"
        return f"{self.name}, filled" if has_raw and output.fill is not None else self.name

    def read(self, values: Any) -> Array:
        return cells.numbers_in(self.name, values, self.unit, self.style, self.accepts_text)

    def encode(self, numbers: Array) -> list[Array]:
        is_gap = np.isnan(numbers)
        has_gaps, outputs = bool(is_gap.any()), []
        for part, fill, _ in self.outputs:
            if part == "missing":
                outputs.append(is_gap.astype(np.float64))
                continue
            own = numbers if part == "value" else part_of_date(part, numbers)
            outputs.append(np.where(is_gap, fill, own) if has_gaps and fill is not None else own)
        return outputs

    def knows(self, cell: Any) -> bool:
        return cells.number_of(cell, self.unit, self.style) is not None


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Texts, each of which is a level.

    Parameters
    ----------
    name : str
    levels : tuple of str
        Sorted.
    outputs : tuple of LevelOutput
    is_unknown_missing : bool
        Whether another text counts as missing; else it is a level of its own, behind the others.
    """

    levels: tuple[str, ...]
    outputs: tuple[LevelOutput, ...] = ()
    is_unknown_missing: bool = True

    @cached
    def _codes(self) -> dict[str, float]:
        return {level: float(code) for code, level in enumerate(self.levels)}

    def output_names(self) -> tuple[str, ...]:
        return tuple(map(self._name_of, self.outputs))

    def _name_of(self, output: LevelOutput) -> str:
        if output.part == "missing" or (output.level or 0) > len(self.levels):
            return f"{self.name} is missing"
        if output.level is None:
            return f"{output.part} of {self.name}"
        levels = (*self.levels, "other (rare)")
        return f"{self.name}={levels[output.level]}"

    def read(self, values: Any) -> Array:
        codes, distinct = cells.factorize(values)
        unknown = np.nan if self.is_unknown_missing else float(len(self.levels))
        found = [
            np.nan if cells.is_missing(cell) else self._codes.get(cells.text_of(cell), unknown)
            for cell in distinct
        ]
        return np.array(found, dtype=np.float64)[codes]

    def encode(self, numbers: Array) -> list[Array]:
        gap = len(self.levels) + 1
        codes = np.where(np.isnan(numbers), gap, numbers).astype(np.intp)
        outputs = []
        for _, level, values, _ in self.outputs:
            if level is not None:
                outputs.append((codes == level).astype(np.float64))
            else:
                # The last number is that of what is missing.
                outputs.append(np.array(values)[np.minimum(codes, gap - 1)])
        return outputs

    def knows(self, cell: Any) -> bool:
        return cells.text_of(cell) in self._codes


@dataclass(frozen=True)
class SkippedColumn(Column):
    """A column that is left out, and why."""

    reason: str

    def read(self, values: Any) -> Array:
        return np.full(len(values), np.nan)


def left_out(columns: Iterable[Column]) -> list[str]:
    """Say which columns are left out, and why."""
    reasons = ((column.name, why_left_out(column)) for column in columns)
    return [f"{name!r} is left out: {reason}." for name, reason in reasons if reason]


def why_left_out(column: Column) -> str:
    """Say why a column is left out; "" if it is not."""
    if isinstance(column, SkippedColumn):
        return column.reason
    if column.n_outputs:
        return ""
    if isinstance(column, CategoryColumn) and column.levels:
        is_constant = len(column.levels) == 1
        return "every value is the same" if is_constant else "its values do not help to predict"
    return "every value is missing"
