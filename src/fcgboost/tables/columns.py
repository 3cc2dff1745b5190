"""Columns of a table, and how their values become numbers.

A column is immutable and independent of the table it came from: model files, C code and ONNX graphs
hold the same few values. It works in two steps: `read` turns every cell into one number, and
`encode` turns that number into those that atoms see.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fcgboost.arrays import Codes
from fcgboost.findings import Finding
from fcgboost.tables import cells
from fcgboost.tables.cells import Array, ColumnLike
from fcgboost.tables.dates import part_of_date
from fcgboost.threads import cached

#: Which families see an output: those that take missing values and categories ("trees"), the others
#: ("smooth"), or all.
View = Literal["smooth", "both", "trees"]
#: What texts are that do not belong among the numbers of a column.
StrayText = Literal["error", "missing"]
#: Columns with at most this many levels are one-hot encoded, and make pairs.
FEW_LEVELS = 12


class NumberOutput(NamedTuple):
    """An input derived from a number: its value, a part of a date, or whether it is missing.

    `fill` replaces missing values; None keeps them missing.
    """

    part: Literal["value", "missing", "month", "weekday", "hour"] = "value"
    fill: float | None = None
    view: View = "both"


class LevelOutput(NamedTuple):
    """An input derived from a level: whether it is this one, or a number for each.

    Codes: the levels in order, then missing values, which unknown texts count as. `numbers` has one
    entry per code.
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
    def outputs(self) -> Sequence[NumberOutput | LevelOutput]:
        """The inputs it becomes."""
        return ()

    @property
    def n_outputs(self) -> int:
        """How many numeric columns it becomes."""
        return len(self.outputs)

    def output_names(self) -> tuple[str, ...]:
        """Return the names of the numeric columns it becomes."""
        return tuple(map(self._name_of, self.outputs))

    def _name_of(self, output: NumberOutput | LevelOutput) -> str:
        is_mark = output.part == "missing"
        return f"{self.name} is missing" if is_mark else f"{output.part} of {self.name}"

    @abstractmethod
    def read(self, values: ColumnLike) -> Array:
        """Return one number for every value, NaN if it is missing: of a category, its level.

        A ValueError names the column, the row and the value that does not fit.
        """

    def encode(self, numbers: Array) -> list[Array]:
        """Return the outputs, one vector each, of the numbers that `read` returned."""
        return []


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, truth values (0 and 1) or dates (days since 1970-01-01).

    Parameters
    ----------
    name : str
    outputs : tuple of NumberOutput
    unit : {"number", "days"}, or a sign such as "%" or "€"
    style : {"", "decimal comma", "day first", "month first"}
        How texts are written that are numbers or dates.
    stray_text : {"error", "missing"}
        What other texts are.
    """

    outputs: tuple[NumberOutput, ...] = (NumberOutput(),)
    unit: cells.Unit = "number"
    style: cells.Style = ""
    stray_text: StrayText = "error"

    def _name_of(self, output: NumberOutput | LevelOutput) -> str:
        if not isinstance(output, NumberOutput) or output.part != "value":
            return super()._name_of(output)
        has_raw = any(other.part == "value" and other.fill is None for other in self.outputs)
        return f"{self.name}, filled" if has_raw and output.fill is not None else self.name

    def read(self, values: ColumnLike) -> Array:
        with cells.reading(self.name):
            return cells.numbers_in(
                self.name,
                values,
                self.unit,
                self.style,
                takes_strays=self.stray_text == "missing",
            )

    def encode(self, numbers: Array) -> list[Array]:
        is_gap = np.isnan(numbers)
        has_gaps = bool(is_gap.any())
        outputs = []
        for part, fill, _ in self.outputs:
            if part == "missing":
                outputs.append(is_gap.astype(np.float64))
                continue
            values = numbers if part == "value" else part_of_date(part, numbers)
            if has_gaps and fill is not None:
                values = np.where(is_gap, fill, values)
            outputs.append(values)
        return outputs

    def knows(self, cell: object) -> bool:
        """Return whether a cell that is not missing is a number, or a date."""
        return cells.number_of(cell, self.unit, self.style) is not None


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Texts, each of which is a level; any other text counts as missing.

    Parameters
    ----------
    name : str
    levels : tuple of str
        Sorted.
    outputs : tuple of LevelOutput
    """

    levels: tuple[str, ...]
    outputs: tuple[LevelOutput, ...] = ()

    @cached
    def _codes(self) -> dict[str, float]:
        return {level: float(code) for code, level in enumerate(self.levels)}

    def _name_of(self, output: NumberOutput | LevelOutput) -> str:
        if isinstance(output, LevelOutput) and output.level is not None:
            return f"{self.name}={self.levels[output.level]}"
        return super()._name_of(output)

    def read(self, values: ColumnLike) -> Array:
        with cells.reading(self.name):
            codes, distinct = cells.factorize(values)
            numbers = [
                np.nan if cells.is_missing(cell) else self._codes.get(cells.text_of(cell), np.nan)
                for cell in distinct
            ]
        return np.array(numbers, dtype=np.float64)[codes]

    def encode(self, numbers: Array) -> list[Array]:
        codes = level_codes(numbers, len(self.levels))
        return [
            np.array(output.numbers)[codes]
            if output.level is None
            else (codes == output.level).astype(np.float64)
            for output in self.outputs
        ]


#: Why columns are left out, by the kind of the finding.
REASONS = {
    "empty": "every value is missing",
    "constant": "every value is the same",
    "row number": "it counts the rows",
    "id": "no value occurs twice",
    "text": "it is text",
    "list": "its cells hold several values",
    "useless": "its values do not help to predict",
}
MAKE_NUMBERS = "docs/tables.md, section 'Text', shows how to make numbers of it."
_ADVICE = {
    "row number": " keep_columns (--keep-column in commands) keeps it.",
    "id": " keep_columns (--keep-column in commands) keeps it.",
    "text": f" {MAKE_NUMBERS}",
    "list": " Give each element a column of its own.",
}


def level_codes(numbers: Array, n_levels: int) -> Codes:
    """Return the codes of levels that were read: missing values come last."""
    return np.where(np.isnan(numbers), n_levels, numbers).astype(np.intp)


@dataclass(frozen=True)
class SkippedColumn(Column):
    """A column that is left out, and why."""

    reason: str = REASONS["empty"]

    def read(self, values: ColumnLike) -> Array:
        return np.full(len(values), np.nan)


def left_out(columns: Iterable[Column]) -> list[Finding]:
    """Say which columns are left out, and why."""
    kinds = {reason: kind for kind, reason in REASONS.items()}
    reasons = ((column.name, why_left_out(column)) for column in columns)
    return [
        Finding(
            kinds[reason],
            f"{name!r} is left out: {reason}.{_ADVICE.get(kinds[reason], '')}",
            (name,),
        )
        for name, reason in reasons
        if reason
    ]


def why_left_out(column: Column) -> str:
    """Say why a column is left out; "" if it is not."""
    if column.n_outputs:
        return ""
    if isinstance(column, SkippedColumn):
        return column.reason
    if isinstance(column, CategoryColumn) and column.levels:
        return REASONS["constant" if len(column.levels) == 1 else "useless"]
    return REASONS["empty"]
