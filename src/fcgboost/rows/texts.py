"""What the texts of a file mean: numbers, dates, truth values, missing values, or text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fcgboost.findings import folded
from fcgboost.rows.limits import Source
from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.cells import GROUP_MARKS, GROUPS, NUMBER_FORMS, SIGNS, Cells, Style
from fcgboost.tables.learning import MIN_NUMBERS, PLURALS, WAYS, LevelCounts, Reading
from fcgboost.wording import count, listed

#: Texts that stand for a missing value, spaces around them left out.
_MISSING = pa.array(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None"]
)
_EMPTY = pa.array([""])
_TRUTHS = pa.array(["true", "false", None])
_TIMES = (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
_ORDERS: set[Style] = {"day first", "month first"}
_MICROSECONDS = 86_400_000_000
#: Stray texts that messages show.
_N_SHOWN = 3
#: Texts that are cast first: casting all of them takes long, only to fail.
_N_TRIED = 100


@dataclass(frozen=True)
class Dialect:
    """How a file of text is written, as far as options, the file or a model tell."""

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dayfirst: bool | None = None
    sheet: str | None = None
    #: Of a workbook "", of a frame None; before the file is opened that of a model's file.
    separator: str | None = None
    #: How a model's file wrote its columns, without plain ones, and its encoding.
    columns: Mapping[str, Reading] = field(default_factory=dict)
    likely_encoding: str | None = None
    #: Whether 1,5 is 1.5 and 1.234 too: what semicolons suggest if nothing else tells.
    has_plain_commas: bool = False

    def opened(self, separator: str | None, source: Source) -> Dialect:
        """Return how a file with these separators is written; other files do not tell."""
        if self.thousands is not None and self.thousands not in GROUP_MARKS:
            raise ValueError(f"{source.name}: thousands must be one of {GROUP_MARKS!r}.")
        decimal = self.decimal or {".": ",", ",": "."}.get(self.thousands or "")
        if decimal is not None and decimal == self.thousands:
            raise ValueError(f"{source.name}: decimal and thousands must differ.")
        is_alike = separator == self.separator
        columns = self.columns
        if not is_alike:
            # The held-out rows of a file with semicolons are written with commas, and points.
            columns = {
                name: reading._replace(style="") if reading.style == "decimal comma" else reading
                for name, reading in columns.items()
            }
        return replace(
            self,
            separator=separator,
            decimal=decimal,
            columns=columns,
            has_plain_commas=separator == ";" and decimal is None and not is_alike,
        )

    def styles(self) -> set[Style]:
        """Return the styles that options name: they decide where texts may be read in several."""
        styles: set[Style] = set()
        if self.decimal is not None:
            styles.add("decimal comma" if self.decimal == "," else "")
        if self.dayfirst is not None:
            styles.add("day first" if self.dayfirst else "month first")
        return styles

    def reading_of(self, column: NumberColumn) -> Reading:
        """Return how a column of a model is written."""
        if column.style or column.unit in SIGNS:
            return Reading(column.unit, column.style)
        reading = self.columns.get(column.name, Reading(column.unit))
        for style in self.styles():
            if (style in _ORDERS) == (column.unit == "days"):
                reading = Reading(reading.unit, style)
        return reading


@dataclass
class _StrayCells:
    """The stray cells of one column: how many there are, and the first few as messages show."""

    n_cells: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class Strays:
    """Stray texts among numbers or dates, which count as missing; if strict, they are an error."""

    source: Source
    #: The rows of the file before those that are read.
    n_before: int = 0
    _cells_of: dict[str, _StrayCells] = field(default_factory=dict)

    def removed(self, texts: pa.Array, column: NumberColumn) -> pa.Array:
        """Return texts without what the column does not know."""
        codes, distinct = factorized(texts)
        are_strays = [text is not None and not column.knows(text) for text in distinct]
        is_stray = np.array(are_strays)[codes]
        rows = np.flatnonzero(is_stray)
        if len(rows) == 0:
            return texts
        words = PLURALS[column.unit]
        examples = [f'row {self.n_before + i + 1}: "{texts[i]}"' for i in rows[:_N_SHOWN].tolist()]
        name = f"{self.source.name}, column {column.name!r}"
        if self.source.is_strict:
            raise ValueError(
                f"{name}, {examples[0]} does not belong among {words}. Without --strict "
                "(strict=True) it counts as missing."
            )
        n_filled = len(texts) - texts.null_count
        if n_filled >= MIN_NUMBERS and 2 * len(rows) > n_filled:
            raise ValueError(
                f"{name}: {len(rows):,} of {n_filled:,} cells are not {words} ({examples[0]}). "
                "The options decimal, thousands and dayfirst say how numbers and dates are written."
            )
        strays = self._cells_of.setdefault(column.name, _StrayCells())
        strays.n_cells += len(rows)
        strays.examples = (strays.examples + examples)[:_N_SHOWN]
        return compute.if_else(is_stray, None, texts)

    def tell(self) -> None:
        """Say how many there were in each column, and show the first few."""
        for name, strays in self._cells_of.items():
            examples = "; ".join(strays.examples)
            rest = "; ..." if strays.n_cells > _N_SHOWN else ""
            self.source.tell(
                f"Column {name}: stray text in {count(strays.n_cells, 'cell')} counts as missing "
                f"({examples}{rest})."
            )


def as_texts(values: pa.Array | pa.ChunkedArray) -> pa.Array | None:
    """Return a column of text as one array of strings; None if it holds something else."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind not in (pa.string(), pa.large_string(), pa.string_view()):
        return None
    values = values.cast(pa.string())
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


@dataclass
class TextReader:
    """Finds out what the columns of a file hold, and how they are written."""

    dialect: Dialect | None
    strays: Strays
    #: How columns are read that are not written plainly.
    readings: dict[str, Reading] = field(default_factory=dict)
    #: Columns that may be read in several ways, and the styles that decide.
    doubtful: list[str] = field(default_factory=list)
    styles: set[Style] = field(default_factory=set)
    #: The styles of columns that may be read in one way only.
    evidence: set[Style] = field(default_factory=set)

    def values(self, name: str, fields: pa.ChunkedArray, is_category: bool = False) -> pa.Array:
        """Return fields as what all, or nearly all, are: truth values, numbers, times, texts.

        In a category, a few stray texts make all of them texts. Without a dialect fields have
        types.
        """
        texts = as_texts(fields)
        if texts is None or (self.dialect is None and is_category):
            return fields
        if self.dialect is None:
            return fields if pa.types.is_dictionary(fields.type) else self._styled(name, texts)
        texts = _cleaned(texts, _MISSING)
        lower = compute.utf8_lower(texts)
        is_truth = compute.all(compute.is_in(lower, value_set=_TRUTHS)).as_py()
        if is_truth and texts.null_count < len(texts):
            truths = compute.equal(lower, "true")
            return truths.cast(pa.float64()) if truths.null_count else truths
        # With leading zeros they are codes, as those of places and persons.
        if compute.any(compute.match_substring_regex(texts, r"^[+-]?0\d+([.,]\d*)?$")).as_py():
            return texts
        values = _typed(texts)
        is_sure = self.dialect.decimal == "." or self.dialect.separator in ("", ",")
        if values is not None and (is_sure or not pa.types.is_float64(values.type)):
            return values
        return texts if is_category else self._styled(name, texts)

    def resolved(self, table: pa.Table) -> dict[str, pa.Array]:
        """Return the values of columns that may be read in several ways, if something decides."""
        names = self.doubtful
        self.doubtful = []
        decided = {}
        for name in names:
            self.styles = set(self.evidence)
            if self.evidence <= _ORDERS and self.dialect is not None:
                if self.dialect.separator in ("", ","):
                    self.styles.add("")
                has_comma = compute.any(compute.match_substring(table[name], ",")).as_py()
                if self.dialect.separator == ";" and has_comma:
                    self.styles.add("decimal comma")
            decided[name] = self.values(name, table[name])
        return decided

    def tell(self) -> None:
        """Say what was assumed."""
        named = self.dialect.styles() if self.dialect else set()
        columns: dict[Reading, list[str]] = {}
        for name, reading in self.readings.items():
            if reading.unit in SIGNS or reading.style not in named:
                columns.setdefault(reading, []).append(name)
        for (unit, style), names in columns.items():
            way = ", without marks of thousands" if (unit, style) == ("number", "") else WAYS[style]
            self.strays.source.tell(f"Read as {PLURALS[unit]}{way}: {listed(names)}.")

    def _styled(self, name: str, texts: pa.Array) -> pa.Array:
        """Return texts as numbers or times if nearly all can be read so, in one way."""
        dialect = self.dialect or Dialect()
        arrays: dict[Reading, pa.Array] = {}
        ways: list[list[Reading]] = []
        for style in NUMBER_FORMS:
            numbers = _written(texts, style)
            if numbers is not None:
                reading = Reading("number", style)
                is_same = any(numbers.equals(other) for other in arrays.values())
                arrays[reading] = numbers
                ways = [[*ways[0], reading]] if is_same else [*ways, [reading]]
        if not arrays:
            ways = LevelCounts.of(factorized(texts)).readings(dialect.dayfirst)
        elif self.dialect is None:
            return texts
        if len(ways) == 1 and len(ways[0]) == 1:
            self.evidence.add(ways[0][0].style)
        if len(ways) > 1:
            known = self.styles | dialect.styles()
            ways = [way for way in ways if any(reading.style in known for reading in way)]
            if len(ways) != 1:
                self.doubtful.append(name)
        if len(ways) != 1:
            return texts
        reading = ways[0][0]
        is_grouped = reading in arrays and _typed(texts) is None
        if reading.style or reading.unit in SIGNS or is_grouped:
            self.readings[name] = reading
        if reading in arrays:
            return arrays[reading]
        column = NumberColumn(name, unit=reading.unit, style=reading.style)
        kept = self.strays.removed(texts, column)
        return texts if kept is texts and self.dialect is None else _read(kept, column)


def _read(texts: pa.Array, column: NumberColumn) -> pa.Array:
    """Return texts that a column knows as numbers or times."""
    numbers = column.read(factorized(texts))
    if column.unit != "days":
        return pa.array(numbers, from_pandas=True)
    times = pa.array(np.round(numbers * _MICROSECONDS), from_pandas=True)
    return times.cast(pa.int64()).cast(pa.timestamp("us"))


def _written(texts: pa.Array, style: Style) -> pa.Array | None:
    """Return numbers if all texts are numbers of this style, else None."""
    numbers = None
    for part in (texts[:_N_TRIED], texts):
        if not compute.all(
            compute.match_substring_regex(part, f"^({NUMBER_FORMS[style]})$")
        ).as_py():
            return None
        bare = compute.replace_substring_regex(part, GROUPS[style], "")
        numbers = _numbers(compute.replace_substring(bare, ",", "."))
        if numbers is None:
            return None
    return numbers


def labels_of(texts: pa.Array) -> pa.Array:
    """Return labels as numbers if all of them are numbers, else as strings."""
    texts = label_texts(texts)
    numbers = _numbers(texts)
    is_text = numbers is None or compute.any(compute.is_nan(numbers)).as_py()
    return texts if is_text else numbers


def label_texts(texts: pa.Array) -> pa.Array:
    """Return labels as strings; only an empty field is missing."""
    return _cleaned(texts, _EMPTY)


def values_for(
    column: Column,
    values: pa.Array,
    dialect: Dialect | None,
    strays: Strays,
) -> pa.Array:
    """Return fields as a column of an encoder takes them; without a dialect they have types."""
    texts = as_texts(values)
    if texts is None:
        return values
    if isinstance(column, NumberColumn):
        return _numbers_for(
            column,
            texts,
            dialect or Dialect(),
            strays,
        )
    if dialect is None and not strays.source.merges_spellings:
        return values
    texts = texts if dialect is None else _cleaned(texts, _MISSING)
    if isinstance(column, CategoryColumn):
        # A level 1 may have become 1.0 in a later file; 01 and 1.50 are texts of their own.
        is_level = compute.is_in(texts, value_set=pa.array(column.levels, pa.string()))
        whole = compute.replace_substring_regex(texts, r"^(-?(0|[1-9]\d*))\.0$", r"\1")
        texts = compute.if_else(is_level, texts, whole)
        if strays.source.merges_spellings:
            texts = merged(texts, {folded(level): level for level in column.levels})
    return texts


def merged(texts: pa.Array, spelling: Mapping[str, str]) -> pa.Array:
    """Replace texts by the spelling of what they have in common, if there is one."""
    codes, distinct = factorized(texts)
    names = [
        spelling.get(folded(text), text) if isinstance(text, str) else None for text in distinct
    ]
    return pa.array(names, pa.string()).take(pa.array(codes))


def _numbers_for(
    column: NumberColumn,
    texts: pa.Array,
    dialect: Dialect,
    strays: Strays,
) -> pa.Array:
    texts = _cleaned(texts, _MISSING)
    unit, style = dialect.reading_of(column)
    if dialect.has_plain_commas and unit != "days":
        texts = compute.replace_substring(texts, ",", ".")
    column = replace(column, unit=unit, style=style)
    numbers = None
    if unit == "number":
        numbers = _cast(texts, pa.float64()) if style == "" else _written(texts, style)
    if numbers is not None:
        return numbers
    return _read(strays.removed(texts, column), column)


def factorized(texts: pa.Array) -> Cells:
    """Return the distinct texts of a column."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    return Cells(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())


def _cleaned(texts: pa.Array, missing: pa.Array) -> pa.Array:
    """Take the spaces around texts away; null where a text stands for a missing value."""
    trimmed = compute.utf8_trim_whitespace(texts)
    is_missing = compute.is_in(trimmed, value_set=missing)
    return compute.if_else(is_missing, None, trimmed)


def _typed(texts: pa.Array) -> pa.Array | None:
    """Return texts as numbers or times if all of them are; else None."""
    values = _numbers(texts)
    for dtype in _TIMES:
        if values is None:
            values = _cast(texts, dtype)
    return values


def _cast(texts: pa.Array, to: pa.DataType) -> pa.Array | None:
    try:
        compute.cast(texts[:_N_TRIED], to)
        return compute.cast(texts, to)
    except pa.ArrowInvalid:
        return None


def _numbers(texts: pa.Array) -> pa.Array | None:
    """Return texts as whole numbers or floats; None if one of them is no number."""
    # Floats first: as whole numbers, and only as these, hexadecimal ones are read too.
    floats = _cast(texts, pa.float64())
    whole = None if floats is None or texts.null_count else _cast(texts, pa.int64())
    return floats if whole is None else whole
