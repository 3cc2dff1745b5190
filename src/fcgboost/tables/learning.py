"""What the training rows tell about a column, and what their owner should know."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.tables.cells import (
    Array,
    column_array,
    factorize,
    is_missing,
    kind_of_cell,
    text_of,
    unit_of,
)
from fcgboost.tables.columns import (
    CategoryColumn,
    Column,
    NumberColumn,
    SkippedColumn,
    numbers_of,
)

#: A column of texts is one of numbers if so many are, and so large a share.
_MANY = 20
_MOST = 0.95
_LARGEST_EXACT = 2.0**53
_MAX_SHOWN = 3
_DIGITS = r"[-+]?\d[\d,.' \u00a0]*"
#: What texts may look like: the kind it would be, its words, its form, and what helps.
_LOOKS: tuple[tuple[str, str, re.Pattern[str], str], ...] = (
    (
        "days",
        "dates",
        re.compile(r"(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})([ T].*)?"),
        "write them as 2020-12-31",
    ),
    (
        "number",
        "numbers",
        re.compile(
            rf"[-+]?[$€£¥]\s?{_DIGITS}|{_DIGITS}\s?[$€£¥%]"
            r"|[-+]?\d{1,3}(?:([,.' \u00a0])\d{3})(?:\1\d{3})*(?:[.,]\d+)?|[-+]?\d+,\d+"
        ),
        "write them as 1234.5",
    ),
)


@dataclass(frozen=True)
class Learned:
    """What a column is, and sentences for people about it."""

    column: Column
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """How often each text of a column occurs, and which of them are numbers or dates."""

    counts: Counter[str]
    kinds: dict[str, str | None]
    n_missing: int

    @property
    def n_there(self) -> int:
        """The number of values that are not missing."""
        return self.counts.total()

    def n_of(self, kind: str) -> int:
        """Give the number of values of a kind."""
        return sum(n for text, n in self.counts.items() if self.kinds[text] == kind)


def learn_column(name: str, column: Any, max_levels: int, min_count: int) -> Learned:
    """Decide what a column of the training rows holds, and learn how to encode it."""
    values = column_array(column)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} holds complex numbers.")
    # A column of codes that its owner declared a category is one, also where the codes are numbers.
    is_declared = str(getattr(column, "dtype", "")) == "category"
    unit = None if is_declared else unit_of(values)
    if unit is not None:
        found = _learn_number(name, numbers_of(name, values, unit, False), unit)
        return Learned(found, _notes_on_numbers(found, values))
    texts = _count_texts(values)
    unit = None if is_declared else _unit_of_most(texts)
    if unit is not None:
        found = _learn_number(name, numbers_of(name, values, unit, True), unit)
        return Learned(found, (_describe_strays(name, texts, unit),))
    found = _learn_category(name, texts, max_levels, min_count)
    return Learned(found, _notes_on_texts(found, texts, is_declared))


def _learn_number(name: str, numbers: Array, unit: str) -> Column:
    present = numbers[~np.isnan(numbers)]
    is_marked = len(present) < len(numbers)
    if len(present) == 0:
        return SkippedColumn(name, "every value is missing")
    if present.min() == present.max() and not is_marked:
        is_exact = abs(present[0]) < _LARGEST_EXACT
        digits = "" if is_exact else ", as far as the 16 digits of a float tell"
        return SkippedColumn(name, f"every value is the same{digits}")
    with np.errstate(over="ignore"):
        median = np.median(present)
    # The sum of the two numbers in the middle may be too large for a float; that of halves is not.
    fill = median if np.isfinite(median) else 2.0 * np.median(present / 2.0)
    return NumberColumn(name, float(fill), is_marked, unit)


def _learn_category(name: str, texts: Texts, max_levels: int, min_count: int) -> Column:
    counts, n_missing = texts.counts, texts.n_missing
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


def _count_texts(values: NDArray[Any]) -> Texts:
    codes, cells = factorize(values)
    counts: Counter[str] = Counter()
    kinds: dict[str, str | None] = {}
    n_missing = 0
    for cell, count in zip(cells, np.bincount(codes, minlength=len(cells)).tolist(), strict=True):
        if is_missing(cell):
            n_missing += count
        else:
            text = text_of(cell)
            counts[text] += count
            kinds[text] = kind_of_cell(cell)
    return Texts(counts, kinds, n_missing)


def _unit_of_most(texts: Texts) -> str | None:
    """Say what nearly all of a column's texts are; None if they are texts, or all alike.

    A column of texts that are all numbers was made so by its owner: codes are no quantities.
    """
    for unit in ("number", "days"):
        n = texts.n_of(unit)
        if n >= _MANY and _MOST * texts.n_there <= n < texts.n_there:
            return unit
    return None


def _describe_strays(name: str, texts: Texts, unit: str) -> str:
    strays = [text for text in texts.counts if texts.kinds[text] != unit]
    shown = ", ".join(map(repr, strays[:_MAX_SHOWN]))
    rest = f" and {len(strays) - _MAX_SHOWN} more" if len(strays) > _MAX_SHOWN else ""
    verb = "counts" if len(strays) == 1 else "count"
    words = "dates" if unit == "days" else "numbers"
    return (
        f"{name!r}: {texts.n_of(unit)} of {texts.n_there} values are {words}; "
        f"{shown}{rest} {verb} as missing."
    )


def _notes_on_numbers(column: Column, values: NDArray[Any]) -> tuple[str, ...]:
    if isinstance(column, SkippedColumn):
        return (_describe_skipped(column),)
    if _number_rows(values):
        return (f"{column.name!r} seems to number the rows: leave it out if it does.",)
    return ()


def _number_rows(values: NDArray[Any]) -> bool:
    """Whether values are such as numbers of rows are, of which some may be in another part."""
    n = len(values)
    if n < _MANY or values.dtype.kind not in "iuf":
        return False
    if values.dtype.kind == "f" and not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    ordered = np.sort(values)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    is_dense = int(ordered[-1]) - int(ordered[0]) < 2 * n
    return is_dense or bool((values == ordered).all() or (values == ordered[::-1]).all())


def _notes_on_texts(column: Column, texts: Texts, is_declared: bool) -> tuple[str, ...]:
    looks = () if is_declared else _describe_looks(column.name, texts)
    if isinstance(column, SkippedColumn):
        return (_describe_skipped(column), *looks)
    levels = column.levels if isinstance(column, CategoryColumn) else ()
    n_pooled = len(texts.counts) - len(levels)
    if n_pooled <= len(levels):
        return looks
    share = 1.0 - sum(texts.counts[level] for level in levels) / texts.n_there
    pooled = (
        f"{column.name!r} has {len(texts.counts)} different texts: {n_pooled} of them, in "
        f"{share:.0%} of the rows, are not told apart."
    )
    return (pooled, *looks)


def _describe_skipped(column: SkippedColumn) -> str:
    return f"{column.name!r} is left out: {column.reason}."


def _describe_looks(name: str, texts: Texts) -> tuple[str, ...]:
    """Say what texts seem to be that are written in another way than numbers and dates are."""
    for kind, words, pattern, advice in _LOOKS:
        n_plain = texts.n_of(kind)
        if n_plain == texts.n_there > 0:
            return (f"{name!r}: texts that are all {words} count as categories.",)
        odd = [text for text, of in texts.kinds.items() if of is None and pattern.fullmatch(text)]
        n_odd = sum(texts.counts[text] for text in odd)
        if odd and n_odd + n_plain >= _MOST * texts.n_there:
            return (
                f"{name!r}: texts such as {odd[0]!r} look like {words}, but count as categories: "
                f"{advice}.",
            )
    return ()
