"""What was learned about one column of a table, and how its values become numbers.

A column is immutable and knows nothing of the table it came from: a model file, C code or an ONNX
graph hold the same few values and do the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.tables import cells
from fcgboost.tables.cells import Array


@dataclass(frozen=True)
class Column(ABC):
    """One column of a table: its name, and how its values become numbers."""

    name: str

    @property
    def kind(self) -> str:
        """The first word of its class: "number", "category" or "skipped"."""
        return type(self).__name__.removesuffix("Column").lower()

    @property
    def n_outputs(self) -> int:
        """How many columns of numbers it becomes."""
        return len(self.output_names())

    @abstractmethod
    def output_names(self) -> tuple[str, ...]:
        """Return the names of the columns of numbers it becomes."""

    @abstractmethod
    def encode(self, values: Any) -> Array:
        """Return the numbers of all values, of shape (n_samples, n_outputs).

        A ValueError names the column, the row and the value that does not fit.
        """

    @abstractmethod
    def knows(self, cell: Any) -> bool:
        """Whether a cell that is not missing is a number, or a level that has its own column."""

    def unknown_share(self, values: Any) -> float:
        """Return the share of cells that are unknown among what is not missing."""
        present = cells.factorize(cells.read_column(values)).present()
        n_unknown = sum(n for cell, n in present if not self.knows(cell))
        return n_unknown / max(sum(n for _, n in present), 1)


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, truth values (0 and 1) or dates (days since 1970-01-01).

    Parameters
    ----------
    name : str
    fill : float
        What stands for a missing value: the median of the training rows.
    is_marked : bool
        Whether one more column says which values are missing. If so, a text that is not a number
        counts as missing, else it is an error.
    unit : {"number", "days"}
    """

    fill: float
    is_marked: bool
    unit: str = "number"

    def output_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing") if self.is_marked else (self.name,)

    def encode(self, values: Any) -> Array:
        found = cells.numbers_in(self.name, cells.read_column(values), self.unit, self.is_marked)
        is_gap = np.isnan(found)
        filled = np.where(is_gap, self.fill, found)
        return np.column_stack((filled, is_gap) if self.is_marked else (filled,))

    def knows(self, cell: Any) -> bool:
        return cells.number_of(cell, self.unit) is not None


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Texts, of which the frequent ones have a column of zeros and ones each.

    Parameters
    ----------
    name : str
    levels : tuple of str
        The frequent texts, sorted.
    has_other : bool
        Whether one column stands for all other texts. Without it they are zero everywhere.
    is_marked : bool
        Whether one more column says which values are missing. Without it they are zero everywhere.
    """

    levels: tuple[str, ...]
    has_other: bool
    is_marked: bool

    def output_names(self) -> tuple[str, ...]:
        names = [f"{self.name}={level}" for level in self.levels]
        names += [f"{self.name}=other (rare)"] * self.has_other
        names += [f"{self.name} is missing"] * self.is_marked
        return tuple(names)

    def encode(self, values: Any) -> Array:
        codes, distinct = cells.factorize(cells.read_column(values))
        output_of = {level: output for output, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        gap = self.n_outputs - 1 if self.is_marked else -1
        outputs = [
            gap if cells.is_missing(cell) else output_of.get(cells.text_of(cell), other)
            for cell in distinct
        ]
        output = np.array(outputs, dtype=np.intp)[codes]
        return np.equal.outer(output, np.arange(self.n_outputs)).astype(np.float64)

    def knows(self, cell: Any) -> bool:
        return cells.text_of(cell) in self.levels


@dataclass(frozen=True)
class SkippedColumn(Column):
    """A column that tells nothing, and why."""

    reason: str

    def output_names(self) -> tuple[str, ...]:
        return ()

    def encode(self, values: Any) -> Array:
        return np.zeros((len(values), 0))

    def knows(self, cell: Any) -> bool:
        return True
