"""What the training rows tell about a column, and what their owner should know."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost.tables import cells
from fcgboost.tables.cells import Array, Cells
from fcgboost.tables.columns import CategoryColumn, Column, NumberColumn, SkippedColumn

#: A column of texts is one of numbers if at least so many are, and so large a share.
_MIN_NUMBERS = 20
_MIN_SHARE = 0.95
_LARGEST_EXACT = 2.0**53
_MAX_SHOWN = 3
_PLURALS = {"number": "numbers", "days": "dates"}
_DIGITS = r"[-+]?\d[\d,.' \u00a0]*"
#: What looks like a date or a number to people, and how to write it.
_LOOKS = {
    "days": (
        r"(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})([ T].*)?",
        "2020-12-31",
    ),
    "number": (
        rf"[-+]?[$€£¥]\s?{_DIGITS}|{_DIGITS}\s?[$€£¥%]"
        r"|[-+]?\d{1,3}(?:([,.' \u00a0])\d{3})(?:\1\d{3})*(?:[.,]\d+)?|[-+]?\d+,\d+",
        "1234.5",
    ),
}


class Levels(NamedTuple):
    """How often each text of a column occurs, and which of them are numbers or dates."""

    counts: Counter[str]
    dtypes: dict[str, str | None]
    n_missing: int

    def n_of(self, dtype: str) -> int:
        """Return the number of rows that hold numbers, or dates."""
        return sum(n for text, n in self.counts.items() if self.dtypes[text] == dtype)


def learn_column(
    name: str, column: Any, max_levels: int, min_count: int
) -> tuple[Column, list[str]]:
    """Decide what a column holds and how it is encoded; return notes for its owner, too."""
    values = cells.read_column(column)
    # What its owner declared a category is one, also where its codes are numbers.
    is_declared = str(getattr(column, "dtype", "")) == "category"
    unit = None if is_declared else _dtype_of(values)
    if unit is not None:
        found = _learn_number(name, cells.numbers_in(name, values, unit), unit)
        notes = [f"{name!r} looks like a row number: leave it out if it is one."]
        notes *= not isinstance(values, Cells) and _is_row_number(values)
    else:
        distinct = cells.factorize(values)
        levels = _count_levels(distinct)
        unit = None if is_declared else _dtype_of_most(levels)
        if unit is not None:
            found = _learn_number(name, cells.numbers_in(name, distinct, unit, True), unit)
            notes = [_describe_others(name, levels, unit)]
        else:
            found = _learn_category(name, levels, max_levels, min_count)
            notes = _describe_pooled(found, levels)
            notes += [] if is_declared else _describe_looks(name, levels)
    if isinstance(found, SkippedColumn):
        notes = [f"{name!r} is left out: {found.reason}.", *notes]
    return found, notes


def _dtype_of(values: NDArray[Any] | Cells) -> str | None:
    """Return "number" or "days" if all that is not missing is one of these, else None."""
    if not isinstance(values, Cells):
        return "days" if values.dtype.kind == "M" else "number"
    dtypes = {
        cells.dtype_of_type(type(cell)) for cell in values.distinct if not cells.is_missing(cell)
    }
    return dtypes.pop() if dtypes in ({"number"}, {"days"}) else None


def _learn_number(name: str, numbers: Array, unit: str) -> Column:
    present = numbers[~np.isnan(numbers)]
    is_marked = len(present) < len(numbers)
    if len(present) == 0:
        return SkippedColumn(name, "every value is missing")
    if present.min() == present.max() and not is_marked:
        is_exact = abs(present[0]) < _LARGEST_EXACT
        digits = "" if is_exact else ", as far as the 16 digits of a float tell"
        return SkippedColumn(name, f"every value is the same{digits}")
    # The sum of the two numbers in the middle may be too large for a float; that of halves is not.
    return NumberColumn(name, float(2.0 * np.median(present / 2.0)), is_marked, unit)


def _is_row_number(values: NDArray[Any]) -> bool:
    """Whether values are such as numbers of rows are, of which some may be in another part."""
    n = len(values)
    if n < _MIN_NUMBERS or values.dtype.kind not in "iuf":
        return False
    if values.dtype.kind == "f" and not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    ordered = np.sort(values)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    is_dense = int(ordered[-1]) - int(ordered[0]) < 2 * n
    return is_dense or bool((values == ordered).all() or (values == ordered[::-1]).all())


def _count_levels(column: Cells) -> Levels:
    counts: Counter[str] = Counter()
    dtypes: dict[str, str | None] = {}
    for cell, n in column.present():
        text = cells.text_of(cell)
        counts[text] += n
        dtypes[text] = cells.dtype_of_cell(cell)
    return Levels(counts, dtypes, len(column.codes) - counts.total())


def _dtype_of_most(levels: Levels) -> str | None:
    """Return what nearly all texts are; None if they are all alike.

    A column of texts that are all numbers was made so by its owner: codes are no quantities.
    """
    n_present = levels.counts.total()
    for dtype in _PLURALS:
        n = levels.n_of(dtype)
        if n >= _MIN_NUMBERS and _MIN_SHARE * n_present <= n < n_present:
            return dtype
    return None


def _learn_category(name: str, levels: Levels, max_levels: int, min_count: int) -> Column:
    counts, has_gaps = levels.counts, levels.n_missing > 0
    frequent = [text for text, count in counts.items() if count >= min_count]
    # The most frequent ones; of equally frequent ones the first in the order of texts.
    kept = sorted(frequent, key=lambda text: (-counts[text], text))[:max_levels]
    if not counts:
        return SkippedColumn(name, "every value is missing")
    if not has_gaps and len(counts) == 1:
        return SkippedColumn(name, "every value is the same")
    if not has_gaps and not kept:
        return SkippedColumn(name, f"no value occurs in at least {min_count} rows")
    return CategoryColumn(name, tuple(sorted(kept)), 0 < len(kept) < len(counts), has_gaps)


def _describe_others(name: str, levels: Levels, dtype: str) -> str:
    others = [text for text in levels.counts if levels.dtypes[text] != dtype]
    shown = ", ".join(map(repr, others[:_MAX_SHOWN]))
    rest = f" and {len(others) - _MAX_SHOWN} more" if len(others) > _MAX_SHOWN else ""
    verb = "counts" if len(others) == 1 else "count"
    return (
        f"{name!r}: {levels.n_of(dtype)} of {levels.counts.total()} values are {_PLURALS[dtype]}; "
        f"{shown}{rest} {verb} as missing."
    )


def _describe_pooled(column: Column, levels: Levels) -> list[str]:
    if not isinstance(column, CategoryColumn):
        return []
    n_levels = len(levels.counts)
    n_pooled = n_levels - len(column.levels)
    if n_pooled <= len(column.levels):
        return []
    share = 1.0 - sum(levels.counts[level] for level in column.levels) / levels.counts.total()
    return [
        f"{column.name!r} has {n_levels} levels: {n_pooled} of them, in {share:.0%} of the rows, "
        "are not told apart."
    ]


def _describe_looks(name: str, levels: Levels) -> list[str]:
    """Say what texts seem to be that are not written as numbers and dates are."""
    n_present = levels.counts.total()
    for dtype, (pattern, example) in _LOOKS.items():
        n_plain, words = levels.n_of(dtype), _PLURALS[dtype]
        if n_plain == n_present > 0:
            return [f"{name!r}: texts that are all {words} count as categories."]
        odd = [t for t, of in levels.dtypes.items() if of is None and re.fullmatch(pattern, t)]
        n_odd = sum(levels.counts[text] for text in odd)
        if odd and n_odd + n_plain >= _MIN_SHARE * n_present:
            return [
                f"{name!r}: texts such as {odd[0]!r} look like {words}, but count as categories: "
                f"write them as {example}."
            ]
    return []
