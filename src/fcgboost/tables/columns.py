"""What was learned about one column of a table, and how its values become numbers.

A column is immutable and knows nothing of the table it came from: a model file, C code or an ONNX
graph hold the same few values and do the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
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
    numbers_in,
    text_of,
    unit_of,
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


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, truth values (0 and 1) or dates (days since 1970-01-01).

    Parameters
    ----------
    name : str
    fill : float
        What stands for a missing value: the median of the training rows.
    is_marked : bool
        Whether one more column says which values are missing.
    unit : {"number", "days"}
    """

    fill: float
    is_marked: bool
    unit: str = "number"

    def output_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing") if self.is_marked else (self.name,)

    def encode_into(self, numbers: Array, values: Any) -> None:
        found = _numbers_of(self.name, column_array(values), self.unit)
        is_gap = np.isnan(found)
        numbers[:, 0] = np.where(is_gap, self.fill, found)
        if self.is_marked:
            numbers[:, 1] = is_gap


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


@dataclass(frozen=True)
class SkippedColumn(Column):
    """A column that tells nothing, and why."""

    reason: str

    def output_names(self) -> tuple[str, ...]:
        return ()

    def encode_into(self, numbers: Array, values: Any) -> None:
        pass


def learn_column(name: str, column: Any, max_levels: int, min_count: int) -> Column:
    """Decide what a column of the training rows holds, and learn how to encode it."""
    values = column_array(column)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} holds complex numbers.")
    # A column of codes that its owner declared a category is one, also where the codes are numbers.
    is_declared = str(getattr(column, "dtype", "")) == "category"
    unit = None if is_declared else unit_of(values)
    if unit is None:
        return _learn_category(name, values, max_levels, min_count)
    return _learn_number(name, _numbers_of(name, values, unit), unit)


def _numbers_of(name: str, values: NDArray[Any], unit: str) -> Array:
    try:
        return numbers_in(values, unit)
    except CellError as error:
        raise ValueError(f"Column {name!r}, {error}.") from None


def _learn_number(name: str, numbers: Array, unit: str) -> Column:
    present = numbers[~np.isnan(numbers)]
    is_marked = len(present) < len(numbers)
    if len(present) == 0:
        return SkippedColumn(name, "every value is missing")
    if present.min() == present.max() and not is_marked:
        return SkippedColumn(name, "every value is the same")
    with np.errstate(over="ignore"):
        median = np.median(present)
    # The sum of the two numbers in the middle may be too large for a float; that of halves is not.
    fill = median if np.isfinite(median) else 2.0 * np.median(present / 2.0)
    return NumberColumn(name, float(fill), is_marked, unit)


def _learn_category(name: str, values: NDArray[Any], max_levels: int, min_count: int) -> Column:
    counts, n_missing = _count_texts(values)
    frequent = [text for text, count in counts.items() if count >= min_count]
    # The most frequent ones; of equally frequent ones the first in the order of texts.
    levels = sorted(frequent, key=lambda text: (-counts[text], text))[:max_levels]
    if not counts:
        return SkippedColumn(name, "every value is missing")
    if n_missing == 0 and len(counts) == 1:
        return SkippedColumn(name, "every value is the same")
    if n_missing == 0 and not levels:
        return SkippedColumn(name, f"no value occurs in at least {min_count} rows")
    has_other = 0 < len(levels) < len(counts)
    return CategoryColumn(name, tuple(sorted(levels)), has_other, n_missing > 0)


def _count_texts(values: NDArray[Any]) -> tuple[Counter[str], int]:
    codes, cells = factorize(values)
    counts: Counter[str] = Counter()
    n_missing = 0
    for cell, count in zip(cells, np.bincount(codes, minlength=len(cells)).tolist(), strict=True):
        if is_missing(cell):
            n_missing += count
        else:
            counts[text_of(cell)] += count
    return counts, n_missing
