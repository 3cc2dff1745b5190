"""What a column holds, learned from the training rows, with notes for the user."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost.tables import cells
from fcgboost.tables.cells import Array, Cells, Style
from fcgboost.tables.columns import (
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    SkippedColumn,
)
from fcgboost.tables.dates import PARTS, part_of_date

#: What a column is to be: what its type says, a category, or a number.
Wanted = Literal["from_dtype", "category", "number"]

#: Why a column without any value is left out.
NOTHING = "every value is missing"
#: A column of texts is one of numbers with strays if at least so many are, and so large a share.
MIN_NUMBERS = 20
_MIN_SHARE = 0.95
_LARGEST_EXACT = 2.0**53
_MAX_SHOWN = 3
PLURALS = {"number": "numbers", "days": "dates"}
_DIGITS = r"[-+]?\d[\d,.' \u00a0]*"
#: What looks like a date or a number to people, and what to do about it.
_LOOKS = {
    "days": (
        r"(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})([ T].*)?",
        "set dayfirst (--dayfirst in commands), or write them as 2020-12-31",
    ),
    "number": (
        rf"[-+]?[$€£¥]\s?{_DIGITS}|{_DIGITS}\s?[$€£¥%]"
        r"|[-+]?[1-9]\d{0,2}(?:([,.' \u00a0])\d{3})(?:\1\d{3})*(?:[.,]\d+)?|[-+]?\d+,\d+",
        "write them as 1234.5 (in commands, set --decimal and --thousands)",
    ),
}


@dataclass(frozen=True)
class Levels:
    """How often each text of a column occurs, and which of them are numbers or dates.

    `units` says what the cells are that are not missing: numbers, dates, texts, or something else.
    """

    counts: Counter[str] = field(default_factory=Counter)
    dtypes: dict[str, str | None] = field(default_factory=dict)
    units: set[str | None] = field(default_factory=set)

    @classmethod
    def of(cls, column: Any) -> Levels:
        """Count the levels of a column."""
        found = cls()
        for cell, n in cells.factorize(column).present():
            text, unit = cells.text_of(cell), cells.dtype_of_type(type(cell))
            found.counts[text] += n
            found.dtypes[text] = cells.dtype_of_text(text) if unit == "text" else unit
            found.units.add(unit)
        return found

    @classmethod
    def united(cls, parts: Sequence[Levels]) -> Levels:
        """Merge the levels of a column over parts of its rows, in their order."""
        found = cls()
        for part in parts:
            found.counts.update(part.counts)
            found.dtypes.update(part.dtypes)
            found.units.update(part.units)
        return found

    def n_of(self, dtype: str) -> int:
        """Return how many rows hold numbers, or dates."""
        return sum(n for text, n in self.counts.items() if self.dtypes[text] == dtype)

    def parsed(self, dayfirst: bool | None) -> tuple[str, Style] | None:
        """Return the unit and the style in which every text is a number, or a date."""
        styles: list[Style] = ["", "decimal comma"]
        if dayfirst is not None:
            styles.append("day first" if dayfirst else "month first")
        for style in styles:
            units = {cells.dtype_of_text(text, style) for text in self.counts}
            if units in ({"number"}, {"days"}):
                return units.pop() or "", style
        return None


def learn_reader(
    name: str,
    column: Any,
    wanted: Wanted = "from_dtype",
    dayfirst: bool | None = None,
    accepts_strays: bool = False,
) -> tuple[Column, Array, list[str]]:
    """Decide what a column holds; return how it is read, its numbers, and notes for the user.

    Stray texts among numbers are an error, or count as missing.
    """
    values = cells.read_column(column)
    is_declared = declares_category(getattr(column, "dtype", None) or getattr(column, "type", ""))
    is_category = wanted == "category" or (wanted == "from_dtype" and is_declared)
    notes: list[str] = []
    reader: Column
    if is_category or isinstance(values, Cells):
        options = wanted, is_declared, dayfirst, accepts_strays
        reader, notes = choose_reader(name, Levels.of(values), *options)
    else:
        reader = NumberColumn(name, unit=unit_of_dtype(values.dtype) or "number")
        if _is_row_number(values):
            notes = [f"{name!r} looks like a row number: drop it if it is one."]
    numbers = reader.read(values)
    # Whatever comes later, it tells nothing.
    is_empty = len(numbers) > 0 and np.isnan(numbers).all()
    return SkippedColumn(name, NOTHING) if is_empty else reader, numbers, notes


def choose_reader(
    name: str,
    levels: Levels,
    wanted: Wanted = "from_dtype",
    is_declared: bool = False,
    dayfirst: bool | None = None,
    accepts_strays: bool = False,
) -> tuple[Column, list[str]]:
    """Decide how a column with these levels is read, as `learn_reader` does."""
    if not levels.units:
        return SkippedColumn(name, NOTHING), []
    is_category = wanted == "category" or (wanted == "from_dtype" and is_declared)
    if not is_category and levels.units in ({"number"}, {"days"}):
        return NumberColumn(name, unit="days" if "days" in levels.units else "number"), []
    unit: Any
    parsed = None if is_category or is_declared else levels.parsed(dayfirst)
    if parsed is not None:
        unit, style = parsed
        words = PLURALS[unit]
        note = f"{name!r} holds {words} as text: they are read as {words}."
        return NumberColumn(name, unit=unit, style=style), [note]
    unit = None if is_category else almost_all(levels)
    if unit is not None:
        told = _describe_strays(name, levels, unit)
        if not accepts_strays:
            raise ValueError(
                f"Column {told}. Correct those cells or make them missing, or list the column in "
                "categorical_features."
            )
        reader = NumberColumn(name, unit=unit, accepts_text=True)
        return reader, [f"{told}; these count as missing."]
    if wanted == "number" and levels.counts:
        text = next(iter(levels.counts))
        raise ValueError(
            f"Column {name!r} holds text, such as {text!r}, and is not among categorical_features: "
            "list it there, use categorical_features='from_dtype', or leave the column out."
        )
    category = CategoryColumn(name, tuple(sorted(levels.counts)))
    return category, [] if is_category else _describe_looks(name, levels)


def wanted_kinds(setting: Any, names: list[str], has_names: bool) -> list[Wanted]:
    """Return the kind of each column that `categorical_features` asks for."""
    if isinstance(setting, str) and setting == "from_dtype":
        return ["from_dtype"] * len(names)
    is_list = isinstance(setting, Iterable) and not isinstance(setting, str)
    listed = [] if setting is None else list(setting) if is_list else [setting]
    listed = [one.item() if isinstance(one, np.generic) else one for one in listed]
    if listed and all(isinstance(one, bool) for one in listed):
        if len(listed) != len(names):
            raise ValueError(
                f"categorical_features has {len(listed)} truth values, and X has {len(names)} "
                "columns."
            )
        listed = [place for place, is_one in enumerate(listed) if is_one]
    chosen: set[int] = set()
    for one in listed:
        if isinstance(one, int) and not isinstance(one, bool) and -len(names) <= one < len(names):
            chosen.add(one % len(names))
        elif isinstance(one, str) and has_names and one in names:
            chosen.add(names.index(one))
        else:
            raise ValueError(
                "categorical_features must be 'from_dtype', None, or list columns of X by name or "
                f"position; {one!r} is none of {names[:10]}{' ...' if len(names) > 10 else ''}."
            )
    return ["category" if place in chosen else "number" for place in range(len(names))]


def declares_category(dtype: Any) -> bool:
    """Whether a type of pandas, polars or Arrow declares a column categorical."""
    return str(dtype).lower().startswith(("categor", "enum", "dictionary"))


def unit_of_dtype(dtype: Any) -> Literal["number", "days"] | None:
    """Return "number" or "days" if a type of NumPy or pandas alone says so, else None."""
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        return "days"
    kinds = "biufm" if isinstance(dtype, np.dtype) else "iuf"
    return "number" if kind in kinds else None


@dataclass(frozen=True)
class NumberFacts:
    """What determines the outputs of a column of numbers; facts of parts of the rows add up."""

    has_gaps: bool
    has_numbers: bool
    #: The least and the largest value of every part of a date.
    ends: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, numbers: Array, unit: str) -> NumberFacts:
        """Collect the facts about numbers."""
        present = numbers[~np.isnan(numbers)]
        parts = [part_of_date(part, present) for part in (PARTS if unit == "days" else ())]
        ends = [(own.min(initial=np.inf), own.max(initial=-np.inf)) for own in parts]
        return cls(len(present) < len(numbers), len(present) > 0, tuple(ends))

    def __add__(self, other: NumberFacts) -> NumberFacts:
        """Return the facts of both."""
        pairs = zip(self.ends, other.ends, strict=True)
        ends = tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs)
        has_numbers = self.has_numbers or other.has_numbers
        return NumberFacts(self.has_gaps or other.has_gaps, has_numbers, ends)


def number_outputs(
    facts: NumberFacts, some: Array, smooth: bool = True, trees: bool = False
) -> tuple[NumberOutput, ...]:
    """Return what a column of numbers becomes for families of either kind; () if all is missing.

    Missing values become the median of `some` numbers. Dates also become their month, weekday and
    hour, where these vary.
    """
    if not facts.has_numbers:
        return ()
    present = some[~np.isnan(some)]
    fill = _median(present) if smooth else None
    has_both, has_gaps = smooth and trees, facts.has_gaps
    outputs = [NumberOutput(fill=fill, view="smooth" if has_gaps and has_both else "both")]
    if smooth and has_gaps:
        outputs.append(NumberOutput("missing", None, "smooth" if trees else "both"))
        outputs += [NumberOutput(view="trees")] * trees
    for part, (low, high) in zip(PARTS, facts.ends, strict=False):
        if low < high:
            fill = _median(part_of_date(part, present)) if smooth else None
            outputs.append(NumberOutput(part, fill))  # type: ignore[arg-type]
    return tuple(outputs)


def _median(present: Array) -> float:
    # The sum of the two numbers in the middle may be too large for a float; that of halves is not.
    return float(2.0 * np.median(present / 2.0)) if len(present) else 0.0


def learn_column(
    name: str, column: Any, max_levels: int, min_count: int, dayfirst: bool | None
) -> tuple[Column, list[str]]:
    """Decide what a column holds and how to encode it without labels; also return notes."""
    reader, numbers, notes = learn_reader(name, column, dayfirst=dayfirst, accepts_strays=True)
    found: Column
    if isinstance(reader, CategoryColumn):
        found, told = _pooled(reader, numbers, max_levels, min_count)
        notes = [*told, *notes]
    elif isinstance(reader, NumberColumn):
        outputs = number_outputs(NumberFacts.of(numbers, reader.unit), numbers)
        found = _constant(name, numbers) or replace(reader, outputs=outputs)
    else:
        found = reader
    if isinstance(found, SkippedColumn):
        notes = [f"{name!r} is left out: {found.reason}.", *notes]
    return found, notes


def _constant(name: str, numbers: Array) -> Column | None:
    """Return a skipped column if all values are the same, else None."""
    present = numbers[~np.isnan(numbers)]
    if present.min() < present.max() or len(present) < len(numbers):
        return None
    is_exact = abs(present[0]) < _LARGEST_EXACT
    digits = "" if is_exact else ", as far as the 16 digits of a float tell"
    return SkippedColumn(name, f"every value is the same{digits}")


def _is_row_number(values: NDArray[Any]) -> bool:
    """Whether values look like row numbers, some of which may be in another part of the rows."""
    n = len(values)
    if n < MIN_NUMBERS or values.dtype.kind not in "iuf":
        return False
    if values.dtype.kind == "f" and not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    ordered = np.sort(values)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    is_dense = int(ordered[-1]) - int(ordered[0]) < 2 * n
    return is_dense or bool((values == ordered).all() or (values == ordered[::-1]).all())


def almost_all(levels: Levels) -> str | None:
    """Return "number" or "days" if nearly all texts, but not all, are that; else None."""
    n_present = levels.counts.total()
    for unit in PLURALS:
        n = levels.n_of(unit)
        if n >= MIN_NUMBERS and _MIN_SHARE * n_present <= n < n_present:
            return unit
    return None


def _describe_strays(name: str, levels: Levels, unit: str) -> str:
    others = [text for text, dtype in levels.dtypes.items() if dtype != unit]
    shown = ", ".join(map(repr, others[:_MAX_SHOWN]))
    rest = f" and {len(others) - _MAX_SHOWN} more" if len(others) > _MAX_SHOWN else ""
    counts = f"{levels.n_of(unit)} of {levels.counts.total()} values are {PLURALS[unit]}"
    return f"{name!r}: {counts}, but not {shown}{rest}"


def _pooled(
    reader: CategoryColumn, numbers: Array, max_levels: int, min_count: int
) -> tuple[Column, list[str]]:
    """Return a column with an output for each frequent level and one for all others."""
    name, n_levels, is_gap = reader.name, len(reader.levels), np.isnan(numbers)
    has_gaps = bool(is_gap.any())
    counts = np.bincount(numbers[~is_gap].astype(np.intp), minlength=n_levels)
    # The most frequent ones; of equally frequent ones the first in the order of texts.
    order = np.argsort(-counts, kind="stable")[:max_levels]
    kept = np.sort(order[counts[order] >= min_count])
    if n_levels == 0:
        return SkippedColumn(name, NOTHING), []
    if not has_gaps and n_levels == 1:
        return SkippedColumn(name, "every value is the same"), []
    if not has_gaps and len(kept) == 0:
        return SkippedColumn(name, f"no value occurs in at least {min_count} rows"), []
    outputs = [*range(len(kept)), *[len(kept)] * (0 < len(kept) < n_levels)]
    outputs += [len(kept) + 1] * has_gaps
    levels = tuple(reader.levels[code] for code in kept)
    marks = tuple(LevelOutput(level=at) for at in outputs)
    n_pooled, share = n_levels - len(kept), 1.0 - counts[kept].sum() / counts.sum()
    note = (
        f"{name!r} has {n_levels} levels; {n_pooled} rare ones, in {share:.0%} of the rows, are "
        "pooled."
    )
    column = CategoryColumn(name, levels, marks, is_unknown_missing=False)
    return column, [note] if n_pooled > len(kept) else []


def _describe_looks(name: str, levels: Levels) -> list[str]:
    """Say which texts look like numbers or dates but are not written as such."""
    n_present = levels.counts.total()
    for dtype, (pattern, advice) in _LOOKS.items():
        words = PLURALS[dtype]
        odd = [t for t, of in levels.dtypes.items() if of is None and re.fullmatch(pattern, t)]
        n_odd = sum(levels.counts[text] for text in odd)
        if odd and n_odd + levels.n_of(dtype) >= _MIN_SHARE * n_present:
            return [
                f"{name!r}: texts such as {odd[0]!r} look like {words} but are read as categories; "
                f"{advice}."
            ]
    return []
