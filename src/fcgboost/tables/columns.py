"""What was learned about one column of a table, and how its values become numbers.

A column is immutable and knows nothing of the table it came from: a model file, C code or an ONNX
graph hold the same few values and do the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.tables.cells import (
    Array,
    CellError,
    column_array,
    factorize,
    is_missing,
    number_of,
    numbers_in,
    text_of,
)


@dataclass(frozen=True)
class Column(ABC):
    """One column of a table: its name, and how its values become numbers."""

    name: str

    @property
    def n_outputs(self) -> int:
        """How many columns of numbers it becomes."""
        return len(self.output_names())

    @abstractmethod
    def output_names(self) -> tuple[str, ...]:
        """Give the names of the columns of numbers it becomes."""

    def encode(self, values: Any) -> Array:
        """Give the numbers of all values.

        Parameters
        ----------
        values : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)

        Raises
        ------
        ValueError
            Names the column, the row and the value that does not fit.
        """
        numbers = np.zeros((len(values), self.n_outputs))
        self.encode_into(numbers, values)
        return numbers

    @abstractmethod
    def encode_into(self, numbers: Array, values: Any) -> None:
        """Write the numbers of all values into an array of zeros."""

    @abstractmethod
    def unknown_share(self, values: Any) -> float:
        """Give the share of the values that are there, but are no level, or no number."""


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, truth values (0 and 1) or dates (days since 1970-01-01).

    Parameters
    ----------
    name : str
    fill : float
        What stands for a missing value: the median of the training rows.
    is_marked : bool
        Whether one more column says which values are missing. If so, a text that is no number
        counts as missing, else it is an error.
    unit : {"number", "days"}
    """

    fill: float
    is_marked: bool
    unit: str = "number"

    def output_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing") if self.is_marked else (self.name,)

    def encode_into(self, numbers: Array, values: Any) -> None:
        found = numbers_of(self.name, column_array(values), self.unit, self.is_marked)
        is_gap = np.isnan(found)
        numbers[:, 0] = np.where(is_gap, self.fill, found)
        if self.is_marked:
            numbers[:, 1] = is_gap

    def unknown_share(self, values: Any) -> float:
        found = column_array(values)
        if found.dtype.kind != "O":
            return 0.0
        return _share_without(found, lambda cell: number_of(cell, self.unit) is not None)


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

    def encode_into(self, numbers: Array, values: Any) -> None:
        codes, cells = factorize(column_array(values))
        place_of = {level: place for place, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        gap = self.n_outputs - 1 if self.is_marked else -1
        places = [gap if is_missing(cell) else place_of.get(text_of(cell), other) for cell in cells]
        place = np.array(places, dtype=np.intp)[codes]
        rows = np.flatnonzero(place >= 0)
        numbers[rows, place[rows]] = 1.0

    def unknown_share(self, values: Any) -> float:
        levels = set(self.levels)
        return _share_without(column_array(values), lambda cell: text_of(cell) in levels)


@dataclass(frozen=True)
class SkippedColumn(Column):
    """A column that tells nothing, and why."""

    reason: str

    def output_names(self) -> tuple[str, ...]:
        return ()

    def encode_into(self, numbers: Array, values: Any) -> None:
        pass

    def unknown_share(self, values: Any) -> float:
        return 0.0


def _share_without(values: NDArray[Any], is_known: Callable[[Any], bool]) -> float:
    codes, cells = factorize(values)
    counts = np.bincount(codes, minlength=len(cells)).tolist()
    there = [(cell, n) for cell, n in zip(cells, counts, strict=True) if not is_missing(cell)]
    n_unknown: int = sum(n for cell, n in there if not is_known(cell))
    n_there: int = sum(n for _, n in there)
    return n_unknown / max(n_there, 1)


def numbers_of(name: str, values: NDArray[Any], unit: str, takes_strays: bool) -> Array:
    """Give a column as floats, or raise a ValueError that names it."""
    try:
        return numbers_in(values, unit, takes_strays)
    except CellError as error:
        raise ValueError(f"Column {name!r}, {error}.") from None
