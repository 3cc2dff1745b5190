"""What the texts of a file mean: numbers, dates, truth values, missing values, or text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fcgboost.findings import folded
from fcgboost.rows.limits import Source
from fcgboost.rows.memory import Memory
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
#: The options that name styles.
_NAMED: dict[Style, str | bool] = {
    "": ".",
    "decimal comma": ",",
    "day first": True,
    "month first": False,
}
_ORDERS: set[Style] = {"day first", "month first"}
_MICROSECONDS = 86_400_000_000
#: Stray texts that messages show.
_N_SHOWN = 3
#: Texts that are cast first: casting all of them takes long, only to fail.
_N_TRIED = 100


@dataclass(frozen=True)
class Dialect:
    """How a file of text is written, as far as options, the file and a model tell."""

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dayfirst: bool | None = None
    sheet: str | None = None
    #: What separates columns; "" in a workbook, None where the file has types.
    separator: str | None = None
    #: How the file of a model was written.
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        if self.thousands not in (None, *GROUP_MARKS):
            raise ValueError(f"thousands must be one of {GROUP_MARKS!r}.")
        if self.thousands is not None and self.decimal == self.thousands:
            raise ValueError("decimal and thousands must differ.")

    @property
    def is_text(self) -> bool:
        """Whether fields are texts, whatever they hold."""
        return self.separator is not None

    @property
    def is_like_memory(self) -> bool:
        """Whether columns are separated as in the model's file."""
        return self.separator == self.memory.separator

    @property
    def styles(self) -> set[Style]:
        """The styles that options name: they decide where texts may be read in several."""
        decimal = self.decimal or {".": ",", ",": "."}.get(self.thousands or "")
        return {style for style, option in _NAMED.items() if option in (decimal, self.dayfirst)}

    @property
    def has_plain_commas(self) -> bool:
        """Whether 1,5 is 1.5 and 1.234 too: what semicolons suggest if nothing else tells."""
        is_told = self.is_like_memory or self.styles - _ORDERS
        return self.separator == ";" and not is_told

    def reading_of(self, column: NumberColumn) -> Reading:
        """Return how a column of a model is written."""
        if column.style or column.unit in SIGNS:
            return Reading(column.unit, column.style)
        unit, style = self.memory.columns.get(column.name, Reading(column.unit))
        if style == "decimal comma" and not self.is_like_memory:
            # The held-out rows of a file with semicolons are written with commas, and points.
            style = ""
        for named in self.styles:
            if (named in _ORDERS) == (column.unit == "days"):
                style = named
        return Reading(unit, style)


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

    dialect: Dialect
    strays: Strays
    #: How columns are read that are not written plainly.
    readings: dict[str, Reading]

    def values(
        self, columns: Mapping[str, pa.ChunkedArray], categories: Collection[str]
    ) -> dict[str, pa.Array]:
        """Return fields as what all, or nearly all, are: truth values, numbers, times, texts.

        In a category, a few stray texts make all of them texts.
        """
        styles = self.dialect.styles
        separator = self.dialect.separator
        is_sure = "" in styles or separator in ("", ",")
        values = {}
        ways_of = {}
        for name, fields in columns.items():
            texts = as_texts(fields)
            plain = fields
            is_plain = texts is None or pa.types.is_dictionary(fields.type)
            if self.dialect.is_text:
                texts = _cleaned(texts, _MISSING)
                plain = _plain(texts)
                is_plain = plain is not None and (is_sure or not pa.types.is_float64(plain.type))
            values[name] = plain if is_plain else texts
            if not is_plain and name not in categories:
                ways_of[name] = _ways(texts, self.dialect.dayfirst)
        sure = [ways[0] for ways in ways_of.values() if len(ways) == 1]
        evidence = {way[0].style for way in sure if len(way) == 1}
        for name, ways in ways_of.items():
            for likely_styles in (styles, evidence, _usual(values[name], separator)):
                likely = [way for way in ways if any(style in likely_styles for _, style in way)]
                ways = likely if len(likely) == 1 else ways
            if len(ways) == 1:
                values[name] = self._read(name, values[name], ways[0][0])
        return values

    def tell(self) -> None:
        """Say what was assumed."""
        columns: dict[Reading, list[str]] = {}
        for name, reading in self.readings.items():
            if reading.unit in SIGNS or reading.style not in self.dialect.styles:
                columns.setdefault(reading, []).append(name)
        for (unit, style), names in columns.items():
            way = WAYS[style] or ", with a decimal point"
            self.strays.source.tell(f"Read as {PLURALS[unit]}{way}: {listed(names)}.")

    def _read(self, name: str, texts: pa.Array, reading: Reading) -> pa.Array:
        """Return texts as numbers or times, without strays."""
        column = NumberColumn(name, unit=reading.unit, style=reading.style)
        if not self.dialect.is_text:
            kept = self.strays.removed(texts, column)
            if kept is texts:
                return texts  # The fit reads them, and says so.
            texts = kept
        is_grouped = _typed(texts) is None and _numbers_written(texts, "") is not None
        if reading.style or reading.unit in SIGNS or is_grouped:
            self.readings[name] = reading
        return _values_of(texts, column, self.strays)


def _usual(texts: pa.Array, separator: str | None) -> set[Style]:
    """Return the style that what separates columns suggests."""
    if separator in ("", ","):
        return {""}
    has_comma = compute.any(compute.match_substring(texts, ",")).as_py()
    return {"decimal comma"} if separator == ";" and has_comma else set()


def _ways(texts: pa.Array, dayfirst: bool | None) -> list[list[Reading]]:
    """Return the ways in which texts are numbers or dates; those that mean the same together."""
    numbers = {style: _numbers_written(texts, style) for style in NUMBER_FORMS}
    readings = [Reading("number", style) for style, array in numbers.items() if array is not None]
    if not readings:
        # Nearly all texts are enough.
        return LevelCounts.of(factorized(texts)).readings(dayfirst)
    plain, with_commas = numbers.values()
    return [readings] if plain == with_commas else [[reading] for reading in readings]


def _plain(texts: pa.Array) -> pa.Array | None:
    """Return truth values, numbers or times if all texts are; codes, with leading zeros, stay."""
    lower = compute.utf8_lower(texts)
    is_truth = compute.all(compute.is_in(lower, value_set=_TRUTHS)).as_py()
    if is_truth and texts.null_count < len(texts):
        truths = compute.equal(lower, "true")
        return truths.cast(pa.float64()) if truths.null_count else truths
    has_codes = compute.any(compute.match_substring_regex(texts, r"^[+-]?0\d+([.,]\d*)?$")).as_py()
    return texts if has_codes else _typed(texts)


def _values_of(texts: pa.Array, column: NumberColumn, strays: Strays) -> pa.Array:
    """Return texts as the numbers or times of a column, without strays."""
    if column.unit == "number":
        numbers = None if column.style else _cast(texts, pa.float64())
        numbers = _numbers_written(texts, column.style) if numbers is None else numbers
        if numbers is not None:
            return numbers
    values = column.read(factorized(strays.removed(texts, column)))
    if column.unit != "days":
        return pa.array(values, from_pandas=True)
    return pa.array(np.round(values * _MICROSECONDS).astype("datetime64[us]"))


def _numbers_written(texts: pa.Array, style: Style) -> pa.Array | None:
    """Return numbers if all texts are numbers of this style, else None."""
    form = f"^({NUMBER_FORMS[style]})$"
    for part in (texts[:_N_TRIED], texts):
        if not compute.all(compute.match_substring_regex(part, form)).as_py():
            return None
    bare = compute.replace_substring_regex(texts, GROUPS[style], "")
    return _numbers(compute.replace_substring(bare, ",", "."))


def labels_of(texts: pa.Array) -> pa.Array:
    """Return labels as numbers if all of them are numbers, else as strings."""
    texts = label_texts(texts)
    numbers = _numbers(texts)
    is_text = numbers is None or compute.any(compute.is_nan(numbers)).as_py()
    return texts if is_text else numbers


def label_texts(texts: pa.Array) -> pa.Array:
    """Return labels as strings; only an empty field is missing."""
    return _cleaned(texts, _EMPTY)


def values_for(column: Column, values: pa.Array, dialect: Dialect, strays: Strays) -> pa.Array:
    """Return fields as a column of an encoder takes them."""
    texts = as_texts(values)
    if texts is None:
        return values
    if isinstance(column, NumberColumn):
        texts = _cleaned(texts, _MISSING)
        unit, style = dialect.reading_of(column)
        if dialect.has_plain_commas and unit != "days":
            texts = compute.replace_substring(texts, ",", ".")
        return _values_of(texts, replace(column, unit=unit, style=style), strays)
    if dialect.is_text:
        texts = _cleaned(texts, _MISSING)
    elif not strays.source.merges_spellings:
        return values
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
    names = [
        None if text is None else spelling.get(folded(text), text) for text in texts.to_pylist()
    ]
    return pa.array(names, pa.string())


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
