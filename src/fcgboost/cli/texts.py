"""What the texts of a file mean: numbers, dates, truth values, missing values, or text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fcgboost.cli import console
from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.cells import Cells
from fcgboost.tables.learning import MIN_NUMBERS, PLURALS, Levels, almost_all

#: Texts that stand for a missing value, spaces around them left out.
_MISSING = pa.array(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None"]
)
_EMPTY = pa.array([""])
_TRUTHS = pa.array(["true", "false", None])
_TIMES = (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
_DATE = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(\D.*)?$"
_N_SHOWN, _N_TRIED = 3, 100


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

    def plain(self, texts: Any) -> Any:
        """Write numbers as 1234.5 and dates as 2020-12-31; leave other texts alone."""
        if self.thousands or self.decimal == ",":
            mark, group = re.escape(self.decimal or "."), re.escape(self.thousands or "\0")
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
class Strays:
    """Stray texts among numbers or dates, which count as missing; if strict, they are an error."""

    file: str = ""
    is_strict: bool = False
    _found: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def removed(self, texts: Any, plain: Any, column: NumberColumn, n_before: int = 0) -> Any:
        """Return `plain` without what the column does not know; messages show it as in `texts`."""
        codes, distinct = _factorized(plain)
        is_stray = np.array([one is not None and not column.knows(one) for one in distinct])[codes]
        rows, name, words = np.flatnonzero(is_stray).tolist(), column.name, PLURALS[column.unit]
        if not rows:
            return plain
        shown = [f'row {n_before + row + 1}: "{texts[row].as_py()}"' for row in rows]
        if self.is_strict:
            raise ValueError(
                f"{self.file}, column {name!r}, {shown[0]} does not belong among {words}. Without "
                "--strict it counts as missing."
            )
        n_filled = len(plain) - plain.null_count
        if n_filled >= MIN_NUMBERS and 2 * len(rows) > n_filled:
            raise ValueError(
                f"{self.file}, column {name!r}: {len(rows):,} of {n_filled:,} cells are not "
                f"{words} ({shown[0]}). --decimal, --thousands and --dayfirst say how numbers and "
                "dates are written."
            )
        self._found.setdefault(name, (words, []))[1].extend(shown)
        return compute.if_else(pa.array(is_stray), pa.scalar(None, pa.string()), plain)

    def tell(self) -> None:
        """Say how many there were in each column, and show the first few."""
        for name, (words, shown) in self._found.items():
            are = f"{len(shown):,} cells are not {words} and count as missing"
            if len(shown) == 1:
                are = f"1 cell is not a {words.removesuffix('s')} and counts as missing"
            first = "; ".join(shown[:_N_SHOWN]) + "; ..." * (len(shown) > _N_SHOWN)
            console.note(f"Column {name}: {are} ({first}).")
        self._found.clear()


def as_texts(values: Any) -> Any:
    """Return a column of text as one array of strings; None if it holds something else."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if kind not in (pa.string(), pa.large_string(), pa.string_view()):
        return None
    values = values.cast(pa.string())
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def values_of(name: str, texts: Any, dialect: Dialect, strays: Strays | None) -> Any:
    """Return fields as what all of them are: truth values, numbers, times, else texts.

    With `strays`, nearly all of them will do.
    """
    texts = _cleaned(as_texts(texts), _MISSING)
    lower = compute.utf8_lower(texts)
    is_truth = compute.all(compute.is_in(lower, value_set=_TRUTHS)).as_py()
    if is_truth and texts.null_count < len(texts):
        truths = compute.equal(lower, "true")
        return truths.cast(pa.float64()) if truths.null_count else truths
    _tell_of_points(name, texts, dialect)
    plain = dialect.plain(texts)
    # With leading zeros they are codes, as those of places and persons.
    if compute.any(compute.match_substring_regex(plain, r"^[+-]?0\d[\d.]*$")).as_py():
        return texts
    found = _typed(plain)
    if found is None and strays is not None:
        found = without_strays(name, texts, plain, strays)
    return texts if found is None else found


def _tell_of_points(name: str, texts: Any, dialect: Dialect) -> None:
    """Say how 8.119 is read beside decimal commas, if it may be a whole number."""
    if dialect.decimal != "," or dialect.thousands:
        return
    pointed = texts.filter(compute.match_substring(texts, "."))
    is_whole = compute.match_substring_regex(pointed, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    if len(pointed) and compute.all(is_whole).as_py():
        console.note(
            f'Column {name}: "{pointed[0]}" is read with a decimal point. If the point separates '
            "thousands, set --thousands ."
        )


def without_strays(name: str, texts: Any, plain: Any, strays: Strays) -> Any:
    """Return numbers or times where nearly all texts are; else the texts."""
    unit: Any = almost_all(Levels.of(_factorized(plain)))
    if unit is None:
        return texts
    plain = strays.removed(texts, plain, NumberColumn(name, unit=unit))
    found = _typed(plain)
    return plain if found is None else found


def labels_of(texts: Any) -> Any:
    """Return labels as numbers if all of them are and floats tell them apart, else as texts."""
    texts = label_texts(texts)
    numbers = _numbers(texts)
    if numbers is None or numbers.type == pa.int64():
        return texts if numbers is None else numbers
    is_exact = compute.less(compute.abs(numbers), 2.0**53)  # not of NaN: a class may be "nan"
    is_safe = compute.all(compute.or_(is_exact, compute.is_inf(numbers))).as_py()
    return numbers if is_safe else texts


def label_texts(texts: Any) -> Any:
    """Return labels as texts; only an empty field is missing."""
    return _cleaned(texts, _EMPTY)


def values_for(
    column: Column, values: Any, dialect: Dialect | None, strays: Strays, n_before: int
) -> Any:
    """Return fields as a column of an encoder takes them; without a dialect they have types."""
    texts = as_texts(values)
    if texts is None:
        return values
    if isinstance(column, NumberColumn):
        return _numbers_for(column, texts, dialect, strays, n_before)
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
    column: NumberColumn, texts: Any, dialect: Dialect | None, strays: Strays, n_before: int
) -> Any:
    is_plain, dialect = (column.unit, column.style) == ("number", ""), dialect or Dialect()
    numbers = _cast(texts, pa.float64()) if is_plain and not dialect.thousands else None
    if numbers is not None:  # most often there is nothing to clean
        return numbers
    texts = _cleaned(texts, _MISSING)
    plain = texts if column.style else dialect.plain(texts)
    numbers = _cast(plain, pa.float64()) if is_plain else None
    if numbers is not None:
        return numbers
    plain = strays.removed(texts, plain, column, n_before)
    numbers = _cast(plain, pa.float64()) if is_plain else None
    return plain if numbers is None else numbers


def _factorized(texts: Any) -> Cells:
    encoded = texts.dictionary_encode(null_encoding="encode")
    return Cells(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())


def _cleaned(texts: Any, missing: Any) -> Any:
    """Take the spaces around texts away; null where a text stands for a missing value."""
    trimmed = compute.utf8_trim_whitespace(texts)
    is_missing = compute.is_in(trimmed, value_set=missing)
    return compute.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def _typed(texts: Any) -> Any:
    """Return texts as numbers or times if all of them are; else None."""
    found = _numbers(texts)
    for time in _TIMES:
        found = _cast(texts, time) if found is None else found
    return found


def _cast(texts: Any, to: Any) -> Any:
    try:
        compute.cast(texts[:_N_TRIED], to)  # every text that does not fit takes its time
        return compute.cast(texts, to)
    except pa.ArrowInvalid:
        return None


def _numbers(texts: Any) -> Any:
    """Return texts as whole numbers or floats; None if one of them is no number."""
    # Floats first: as whole numbers, and only as these, hexadecimal ones are read too.
    floats = _cast(texts, pa.float64())
    whole = None if floats is None or texts.null_count else _cast(texts, pa.int64())
    return floats if whole is None else whole
