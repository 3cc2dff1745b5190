"""What the texts of a file mean: numbers, dates, truth values, missing values, or text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fcgboost.rows.limits import Source
from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.cells import Cells
from fcgboost.tables.learning import MIN_NUMBERS, PLURALS, LevelCounts, almost_all
from fcgboost.wording import count

#: Texts that stand for a missing value, spaces around them left out.
_MISSING = pa.array(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None"]
)
_EMPTY = pa.array([""])
_TRUTHS = pa.array(["true", "false", None])
_TIMES = (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
_DATE = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(\D.*)?$"
#: Stray texts that messages show.
_N_SHOWN = 3
#: Texts that are cast first: casting all of them takes long, only to fail.
_N_TRIED = 100


@dataclass(frozen=True)
class Dialect:
    """How a file of text is encoded, and how it writes numbers and dates.

    Without a decimal mark it is the comma between semicolons or if the point separates thousands,
    else the point. With `dayfirst` 3/4/2020 is the 3rd of April, if it is False the 4th of March.
    """

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dayfirst: bool | None = None

    def plain(self, texts: pa.Array) -> pa.Array:
        """Write numbers as 1234.5 and dates as 2020-12-31; leave other texts alone."""
        if self.thousands or self.decimal == ",":
            mark = re.escape(self.decimal or ".")
            group = re.escape(self.thousands or "\0")
            pattern = rf"^[+-]?(\d*|\d{{1,3}}({group}\d{{3}})+)({mark}\d*)?([eE][+-]?\d+)?$"
            plain = compute.replace_substring(texts, self.thousands or "\0", "")
            plain = compute.replace_substring(plain, self.decimal or ".", ".")
            texts = compute.if_else(compute.match_substring_regex(texts, pattern), plain, texts)
        if self.dayfirst is not None:
            order = r"\3-0\2-0\1\4" if self.dayfirst else r"\3-0\1-0\2\4"
            texts = compute.replace_substring_regex(texts, _DATE, order)
            texts = compute.replace_substring_regex(texts, r"^(\d{4}-)0(\d\d-)", r"\1\2")
            texts = compute.replace_substring_regex(texts, r"^(\d{4}-\d\d-)0(\d\d)", r"\1\2")
        return texts


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

    def removed(self, texts: pa.Array, plain: pa.Array, column: NumberColumn) -> pa.Array:
        """Return `plain` without what the column does not know; messages show it as in `texts`."""
        codes, distinct = _factorized(plain)
        are_strays = [text is not None and not column.knows(text) for text in distinct]
        is_stray = np.array(are_strays)[codes]
        rows = np.flatnonzero(is_stray)
        if len(rows) == 0:
            return plain
        words = PLURALS[column.unit]
        examples = [f'row {self.n_before + i + 1}: "{texts[i]}"' for i in rows[:_N_SHOWN].tolist()]
        name = f"{self.source.name}, column {column.name!r}"
        if self.source.is_strict:
            raise ValueError(
                f"{name}, {examples[0]} does not belong among {words}. Without --strict "
                "(strict=True) it counts as missing."
            )
        n_filled = len(plain) - plain.null_count
        if n_filled >= MIN_NUMBERS and 2 * len(rows) > n_filled:
            raise ValueError(
                f"{name}: {len(rows):,} of {n_filled:,} cells are not {words} ({examples[0]}). "
                "The options decimal, thousands and dayfirst say how numbers and dates are written."
            )
        strays = self._cells_of.setdefault(column.name, _StrayCells())
        strays.n_cells += len(rows)
        strays.examples = (strays.examples + examples)[:_N_SHOWN]
        return compute.if_else(is_stray, None, plain)

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


def values_of(
    name: str,
    values: pa.ChunkedArray,
    dialect: Dialect | None,
    strays: Strays,
    is_category: bool,
) -> pa.Array:
    """Return fields as what all, or nearly all, of them are: truth values, numbers, times, texts.

    In a category, a few stray texts make all of them texts. Without a dialect fields have types.
    """
    texts = as_texts(values)
    if dialect is None:
        is_category |= pa.types.is_dictionary(values.type)
        if is_category or texts is None:
            return values
        return _without_strays(
            name,
            texts,
            plain=texts,
            strays=strays,
        )
    texts = _cleaned(texts, _MISSING)
    lower = compute.utf8_lower(texts)
    is_truth = compute.all(compute.is_in(lower, value_set=_TRUTHS)).as_py()
    if is_truth and texts.null_count < len(texts):
        truths = compute.equal(lower, "true")
        return truths.cast(pa.float64()) if truths.null_count else truths
    plain = dialect.plain(texts)
    # With leading zeros they are codes, as those of places and persons.
    if compute.any(compute.match_substring_regex(plain, r"^[+-]?0\d[\d.]*$")).as_py():
        return texts
    values = _typed(plain)
    if values is not None:
        return values
    if is_category:
        return texts
    return _without_strays(
        name,
        texts,
        plain,
        strays,
    )


def _without_strays(name: str, texts: pa.Array, plain: pa.Array, strays: Strays) -> pa.Array:
    """Return numbers or times where nearly all texts are; else the texts."""
    unit = almost_all(LevelCounts.of(_factorized(plain)))
    if unit is None:
        return texts
    column = NumberColumn(name, unit=unit)
    plain = strays.removed(texts, plain, column)
    values = _typed(plain)
    return plain if values is None else values


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
    if dialect is None:
        return values
    texts = _cleaned(texts, _MISSING)
    if isinstance(column, CategoryColumn):
        # A level 1 may have become 1.0 in a later file; 01 and 1.50 are texts of their own.
        is_level = compute.is_in(texts, value_set=pa.array(column.levels, pa.string()))
        whole = compute.replace_substring_regex(texts, r"^(-?(0|[1-9]\d*))\.0$", r"\1")
        texts = compute.if_else(is_level, texts, whole)
    return texts


def _numbers_for(
    column: NumberColumn,
    texts: pa.Array,
    dialect: Dialect,
    strays: Strays,
) -> pa.Array:
    is_plain = (column.unit, column.style) == ("number", "")
    texts = _cleaned(texts, _MISSING)
    plain = texts if column.style else dialect.plain(texts)
    numbers = _cast(plain, pa.float64()) if is_plain else None
    if numbers is not None:
        return numbers
    plain = strays.removed(texts, plain, column)
    numbers = _cast(plain, pa.float64()) if is_plain else None
    return plain if numbers is None else numbers


def _factorized(texts: pa.Array) -> Cells:
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
