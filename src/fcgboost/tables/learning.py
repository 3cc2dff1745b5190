"""What a column holds, learned from the training rows, with notes for the user."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost.findings import Finding, find_alike
from fcgboost.tables import cells
from fcgboost.tables.cells import SIGNS, Array, Cells, ColumnError, ColumnLike, Style, Unit
from fcgboost.tables.columns import (
    MAKE_NUMBERS,
    REASONS,
    CategoryColumn,
    Column,
    NumberColumn,
    NumberOutput,
    SkippedColumn,
    StrayText,
    View,
)
from fcgboost.tables.dates import PARTS, part_of_date

#: What a column is to be: what its type says, a category, or a number.
Wanted = Literal["from_dtype", "category", "number"]

#: Kinds of columns of a frame that are left out unless the user keeps them.
IDS = frozenset({"row number", "id", "text", "list"})
#: A column of texts holds numbers with strays if at least MIN_NUMBERS of its values and a share of
#: _MIN_SHARE are numbers.
MIN_NUMBERS = 20
_MIN_SHARE = 0.95
_MAX_SHOWN = 3
# Text has many distinct cells of several words each, in the mean.
_MIN_WORDS = 3.0
PLURALS: dict[Unit, str] = {
    "number": "numbers",
    "days": "dates",
    **{sign: f"numbers with {sign}" for sign in SIGNS},
}
#: How texts are written, as notes say.
WAYS: dict[Style, str] = {
    "": "",
    "decimal comma": ", with a decimal comma",
    "day first": ", day first",
    "month first": ", month first",
}
_DIGITS = r"[-+]?\d[\d,.' \u00a0]*"
_SIGN = "|".join(map(re.escape, SIGNS))
#: What people would read as a date or a number, with advice.
_LOOKS: dict[Unit, tuple[str, str]] = {
    "days": (r"(\d{1,2}[./-]\d{1,2}[./-]\d{2,4})([ T].*)?", "2020-12-31"),
    "number": (
        rf"[-+]?({_SIGN})\s?{_DIGITS}|{_DIGITS}\s?({_SIGN}|[ckm]?[gml]|km/h|°C|h|min|s)"
        r"|[-+]?[1-9]\d{0,2}(?:([,.' \u00a0])\d{3})(?:\3\d{3})*(?:[.,]\d+)?|[-+]?\d+,\d+",
        "1234.5",
    ),
}


class Reading(NamedTuple):
    """What texts are taken for, and how they are written."""

    unit: Unit
    style: Style = ""


@dataclass(frozen=True)
class LevelCounts:
    """How often each text of a column occurs.

    `units` holds the kinds of cells that occur: numbers, dates, texts, or None for anything else.
    """

    counts: Counter[str] = field(default_factory=Counter)
    units: set[str | None] = field(default_factory=set)

    @classmethod
    def of(cls, column: ColumnLike) -> LevelCounts:
        """Count the levels of a column."""
        levels = cls()
        for cell, n in cells.factorize(column).present():
            levels.counts[cells.text_of(cell)] += n
            levels.units.add(cells.dtype_of_type(type(cell)))
        return levels

    @classmethod
    def united(cls, parts: Sequence[LevelCounts]) -> LevelCounts:
        """Merge the levels of a column over parts of its rows, in their order."""
        levels = cls()
        for part in parts:
            levels.counts.update(part.counts)
            levels.units.update(part.units)
        return levels

    def readings(self, dayfirst: bool | None = None) -> list[list[Reading]]:
        """Return in which ways every text is a number or a date, or nearly every if none is all.

        Ways that give the same numbers are together.
        """
        order: list[Style] = ["day first", "month first"]
        # Beside numbers that are no texts, texts are written like them.
        numbers: list[Style] = [""] if "number" in self.units else ["", "decimal comma"]
        styles = numbers + order
        if dayfirst is not None:
            styles.remove(order[dayfirst])
        n_texts = {
            Reading(unit, style): n for style in styles for unit, n in self.by_unit(style).items()
        }
        most = max(n_texts.values(), default=0)
        n_all = self.counts.total()
        if most < n_all and most < max(MIN_NUMBERS, _MIN_SHARE * n_all):
            return []
        ways: dict[object, list[Reading]] = {}
        for reading, n in n_texts.items():
            if n == most:
                values = tuple(cells.number_of(text, *reading) for text in self.counts)
                ways.setdefault(values, []).append(reading)
        return list(ways.values())

    def by_unit(self, style: Style = "") -> Counter[Unit]:
        """Return how many rows hold numbers, of each unit."""
        counts: Counter[Unit] = Counter()
        for text, n in self.counts.items():
            unit = cells.dtype_of_text(text, style)
            if unit is not None:
                counts[unit] += n
        return counts

    @property
    def are_distinct(self) -> bool:
        """Return whether no value occurs twice among enough of them."""
        return MIN_NUMBERS <= len(self.counts) == self.counts.total()

    @property
    def are_text(self) -> bool:
        """Return whether most cells are distinct and have several words."""
        n_words = sum(len(text.split()) for text in self.counts)
        n = len(self.counts)
        is_long = n_words >= _MIN_WORDS * n
        return is_long and n >= MIN_NUMBERS and 2 * n > self.counts.total()


class LearnedColumn(NamedTuple):
    """How a column is read, one number for each of its cells, and what users should know."""

    column: Column
    numbers: Array
    findings: list[Finding]


#: How a column is read, and what users should know.
ChosenColumn = tuple[Column, list[Finding]]


def learn_column(
    name: str,
    raw: ColumnLike,
    wanted: Wanted = "from_dtype",
    dayfirst: bool | None = None,
    stray_text: StrayText = "error",
    leaves_out: Collection[str] = (),
) -> LearnedColumn:
    """Decide what a column holds, and read it; stray texts are an error, or missing.

    `leaves_out` are those of `IDS` that are left out.
    """
    wanted = declared(wanted, getattr(raw, "dtype", None) or getattr(raw, "type", ""))
    column: Column
    try:
        with cells.reading(name):
            values = cells.read_column(raw)
    except cells.SeveralValuesError:
        if "list" not in leaves_out:
            raise
        return _left_out(name, raw, "list")
    findings: list[Finding] = []
    if wanted == "category" or isinstance(values, Cells):
        with cells.reading(name):
            levels = LevelCounts.of(values)
        column, findings = choose_column(
            name,
            levels=levels,
            wanted=wanted,
            dayfirst=dayfirst,
            stray_text=stray_text,
            leaves_out=leaves_out,
        )
    else:
        unit = unit_of_dtype(values.dtype) or "number"
        column = NumberColumn(name, unit=unit, stray_text=stray_text)
    numbers = column.read(raw if isinstance(column, SkippedColumn) else values)
    looks = ""
    if isinstance(column, NumberColumn) and column.unit == "number":
        # Large whole numbers are distinct before they are floats.
        looks = row_number(numbers if isinstance(values, Cells) else values)
    if looks == "counts" and "row number" in leaves_out:
        return _left_out(name, raw, "row number")
    if looks:
        text = f"{name!r} looks like a row number: drop it if it is one."
        findings.append(Finding("row number", text, (name,)))
    # A column that is all missing in training carries no information.
    if not isinstance(column, SkippedColumn) and len(numbers) > 0 and np.isnan(numbers).all():
        column = SkippedColumn(name)
    return LearnedColumn(column, numbers, findings)


def _left_out(name: str, raw: ColumnLike, kind: str) -> LearnedColumn:
    column = SkippedColumn(name, REASONS[kind])
    return LearnedColumn(column, column.read(raw), [])


def choose_column(
    name: str,
    levels: LevelCounts,
    wanted: Wanted,
    dayfirst: bool | None = None,
    stray_text: StrayText = "error",
    leaves_out: Collection[str] = (),
) -> ChosenColumn:
    """Decide how a column with these levels is read, as `learn_column` does."""
    if not levels.units:
        return SkippedColumn(name), []
    category = CategoryColumn(name, tuple(sorted(levels.counts)))
    if wanted == "category":
        return _as_category(category, levels, leaves_out)
    if levels.units in ({"number"}, {"days"}):
        unit: Unit = "days" if "days" in levels.units else "number"
        return NumberColumn(name, unit=unit, stray_text=stray_text), []
    readings = [way[0] for way in levels.readings(dayfirst)]
    if len(readings) == 1:
        return _numbers_in_text(
            name,
            levels,
            readings[0],
            stray_text,
        )
    if wanted == "number":
        text = next(iter(levels.counts))
        raise ValueError(
            f"Column {name!r} holds text, such as {text!r}, and is not among categorical_features: "
            "list it there, use categorical_features='from_dtype', or leave the column out."
        )
    column, findings = _as_category(category, levels, leaves_out)
    notes = _describe_doubt(name, levels, readings) or _describe_looks(name, levels)
    return column, findings + notes


def _as_category(
    category: CategoryColumn,
    levels: LevelCounts,
    leaves_out: Collection[str],
) -> ChosenColumn:
    """Return a category, or leave it out because its levels tell every row apart."""
    name = category.name
    kind = "text" if levels.are_text else "id"
    if kind in leaves_out and levels.are_distinct:
        return SkippedColumn(name, REASONS[kind]), []
    if levels.are_text:
        note = f"{name!r} is read as a category, but it is text. {MAKE_NUMBERS}"
        return category, [Finding("text", note, (name,))]
    return category, find_alike(category.levels, name)


def _numbers_in_text(
    name: str,
    levels: LevelCounts,
    reading: Reading,
    stray_text: StrayText,
) -> ChosenColumn:
    """Return a column of texts that are numbers, or dates, all or nearly all of them."""
    unit, style = reading
    words = PLURALS[unit]
    strays = [text for text in levels.counts if cells.dtype_of_text(text, style) != unit]
    note = f"{name!r} holds {words} as text: they are read as {words}{WAYS[style]}."
    findings = [Finding("reading", note, (name,))]
    if strays:
        shown = ", ".join(map(repr, strays[:_MAX_SHOWN]))
        rest = f" and {len(strays) - _MAX_SHOWN} more" if len(strays) > _MAX_SHOWN else ""
        if stray_text == "error":
            raise ColumnError(
                f"Column {name!r}: {levels.by_unit(style)[unit]} of {levels.counts.total()} values "
                f"are {words}, but not {shown}{rest}. Correct those cells or make them missing "
                "(stray_text='missing' does), or list the column in categorical_features."
            )
        note = f"{name!r}: {shown}{rest} among {words} count as missing."
        findings.append(Finding("reading", note, (name,)))
    column = NumberColumn(
        name,
        unit=unit,
        style=style,
        stray_text=stray_text,
    )
    return column, findings


def wanted_kinds(setting: object, names: list[str], has_names: bool) -> list[Wanted]:
    """Return the kind of each column that `categorical_features` asks for."""
    if isinstance(setting, str) and setting == "from_dtype":
        return ["from_dtype"] * len(names)
    listed = [] if setting is None else [setting]
    if isinstance(setting, Iterable) and not isinstance(setting, str):
        listed = list(setting)
    listed = [key.item() if isinstance(key, np.generic) else key for key in listed]
    if listed and all(isinstance(key, bool) for key in listed):
        if len(listed) != len(names):
            raise ValueError(
                f"categorical_features has {len(listed)} truth values, and X has {len(names)} "
                "columns."
            )
        listed = [j for j, is_listed in enumerate(listed) if is_listed]
    chosen: set[int] = set()
    for key in listed:
        if isinstance(key, int) and not isinstance(key, bool) and -len(names) <= key < len(names):
            chosen.add(key % len(names))
        elif isinstance(key, str) and has_names and key in names:
            chosen.add(names.index(key))
        else:
            raise ValueError(
                "categorical_features must be 'from_dtype', None, or list columns of X by name or "
                f"position; {key!r} is none of {names[:10]}{' ...' if len(names) > 10 else ''}."
            )
    return ["category" if j in chosen else "number" for j in range(len(names))]


def declared(wanted: Wanted, dtype: object) -> Wanted:
    """Return what is wanted: "category" if types decide, and this one declares a category."""
    declares_category = str(dtype).lower().startswith(("categor", "enum", "dictionary"))
    return "category" if wanted == "from_dtype" and declares_category else wanted


def unit_of_dtype(dtype: object) -> Unit | None:
    """Return "number" or "days" if a type of NumPy or pandas alone says so, else None."""
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        return "days"
    kinds = "biufm" if isinstance(dtype, np.dtype) else "iuf"
    return "number" if kind in kinds else None


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """What determines the outputs of a column of numbers; facts of parts of the rows add up."""

    has_gaps: bool
    has_numbers: bool
    #: The least and the largest value of every part of a date.
    least: Array
    largest: Array

    @classmethod
    def of(cls, numbers: Array, unit: str) -> NumberFacts:
        """Collect the facts about numbers."""
        present = numbers[~np.isnan(numbers)]
        parts = [part_of_date(part, present) for part in (PARTS if unit == "days" else ())]
        return cls(
            len(present) < len(numbers),
            len(present) > 0,
            least=np.array([values.min(initial=np.inf) for values in parts]),
            largest=np.array([values.max(initial=-np.inf) for values in parts]),
        )

    def __add__(self, other: NumberFacts) -> NumberFacts:
        """Return the facts of both."""
        return NumberFacts(
            self.has_gaps or other.has_gaps,
            self.has_numbers or other.has_numbers,
            least=np.minimum(self.least, other.least),
            largest=np.maximum(self.largest, other.largest),
        )


class Audience(NamedTuple):
    """Which kinds of families see a table: those that see numbers only, and trees."""

    smooth: bool = True
    trees: bool = False

    @property
    def view(self) -> View:
        """The view of what only families that see numbers need."""
        return "smooth" if self.trees else "both"


def number_outputs(
    facts: NumberFacts, sample: Array, audience: Audience
) -> tuple[NumberOutput, ...]:
    """Return what a column of numbers becomes; () if all is missing.

    Missing values become the median of a sample of its numbers. Dates also become their month,
    weekday and hour, where these vary.
    """
    if not facts.has_numbers:
        return ()
    present = sample[~np.isnan(sample)]
    outputs = []
    if not audience.smooth:
        outputs.append(NumberOutput())
    elif not facts.has_gaps:
        outputs.append(NumberOutput(fill=_median(present)))
    else:
        outputs.append(NumberOutput(fill=_median(present), view=audience.view))
        outputs.append(NumberOutput("missing", view=audience.view))
        if audience.trees:
            outputs.append(NumberOutput(view="trees"))
    for part, varies in zip(PARTS, facts.least < facts.largest, strict=False):
        if varies:
            fill = _median(part_of_date(part, present)) if audience.smooth else None
            outputs.append(NumberOutput(part, fill))  # type: ignore[arg-type]
    return tuple(outputs)


def _median(present: Array) -> float:
    # The sum of the two numbers in the middle may be too large for a float; that of halves is not.
    return float(2.0 * np.median(present / 2.0)) if len(present) else 0.0


def row_number(values: NDArray[Any]) -> Literal["", "counts", "ordered"]:
    """Return "counts" if whole numbers count rows, some of which may be missing now.

    "ordered" are others that rise or fall from row to row; "" is anything else.
    """
    n = len(values)
    if n < MIN_NUMBERS or values.dtype.kind not in "iuf":
        return ""
    if not (np.isfinite(values) & (values == np.floor(values))).all():
        return ""
    if n - 1 <= int(values.max()) - int(values.min()) < 2 * n:
        return "counts" if len(np.unique(values)) == n else ""
    is_rising = (values[1:] > values[:-1]).all()
    is_falling = (values[1:] < values[:-1]).all()
    return "ordered" if is_rising or is_falling else ""


def _describe_doubt(name: str, levels: LevelCounts, readings: Sequence[Reading]) -> list[Finding]:
    """Return a note on texts that may be read in several ways."""
    for text in levels.counts:
        if len({cells.number_of(text, *reading) for reading in readings}) > 1:
            is_date = readings[0].unit == "days"
            what = "begin with the day or the month" if is_date else "hold a decimal mark or not"
            option = "dayfirst (--dayfirst)" if is_date else "decimal of read_table (--decimal)"
            note = f"{name!r} stays text, as {text!r} may {what}: {option} decides."
            return [Finding("reading", note, (name,))]
    return []


def _describe_looks(name: str, levels: LevelCounts) -> list[Finding]:
    """Return a note on texts that look like numbers or dates but are not written as such."""
    for unit, (pattern, plain) in _LOOKS.items():
        odd = [
            text
            for text in levels.counts
            if re.fullmatch(pattern, text) and cells.dtype_of_text(text) in (None, *SIGNS)
        ]
        n_odd = sum(levels.counts[text] for text in odd)
        if odd and n_odd + levels.by_unit()[unit] >= _MIN_SHARE * levels.counts.total():
            note = (
                f"{name!r}: texts such as {odd[0]!r} look like {PLURALS[unit]} but are read as "
                f"categories; write them as {plain}."
            )
            return [Finding("reading", note, (name,))]
    return []
