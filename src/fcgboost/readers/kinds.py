"""What columns of text hold, looked at as a whole: truth values, numbers, dates or words.

Texts are Arrow arrays. What a column holds is found by reading it as each kind in turn, strictest
first; kinds of several batches join into the one that fits all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.cells import text_of

EMPTY = ""
#: Texts that stand for a missing value, spaces around them left out.
MISSING = (
    *(EMPTY, "?", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "NaT", "null", "NULL", "None"),
)


def clean(texts: Any, missing: tuple[str, ...]) -> Any:
    """Take the spaces around texts away, and give nothing where a text stands for nothing."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(texts)
    is_missing = compute.is_in(trimmed, value_set=pa.array(missing))
    return compute.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def kind_of(texts: Any, has_comma: bool) -> str:
    """Name the strictest kind that all texts are.

    Parameters
    ----------
    texts : arrow array of str
    has_comma : bool
        Whether the decimal mark may be a comma.

    Returns
    -------
    {"empty", "truth", "whole", "number", "comma", "date", "moment", "text"}
    """
    if texts.null_count == len(texts):
        return "empty"
    if _cast(texts, "truth") is not None:
        return "truth"
    # Not "whole" first: as whole numbers, and only as these, hexadecimal ones are read too.
    if _cast(texts, "number") is not None:
        return "whole" if _cast(texts, "whole") is not None else "number"
    others = ("comma", "date", "moment") if has_comma else ("date", "moment")
    return next((kind for kind in others if _cast(texts, kind) is not None), "text")


def label_kind_of(texts: Any) -> str:
    """Name what labels are: "empty", "whole", "number", or "text" if any is not such a number."""
    from pyarrow import compute

    kind = kind_of(texts, has_comma=False)
    if kind == "number":
        numbers = _cast(texts, kind)
        # A class may be called "nan", and numbers beyond 2^53 are not told apart by floats.
        is_exact = compute.or_(compute.less(compute.abs(numbers), 2.0**53), compute.is_inf(numbers))
        return "number" if compute.all(is_exact).as_py() else "text"
    return kind if kind in ("empty", "whole") else "text"


def join(first: str, second: str) -> str:
    """Name the strictest kind that holds all that two kinds hold."""
    if first == second or "empty" in (first, second):
        return second if first == "empty" else first
    numbers = ("whole", "number", "comma")
    if first in numbers and second in numbers:
        return max(first, second, key=numbers.index)
    return "text"


def settle(kind: str, has_missing: bool) -> str:
    """Name the kind for good: numbers and truth values that may be missing are floats."""
    if kind == "truth" and has_missing:
        return "gappy truth"
    return "number" if kind == "empty" or (kind == "whole" and has_missing) else kind


def convert(texts: Any, kind: str) -> Any:
    """Give texts as the kind they are."""
    if kind == "gappy truth":
        return _cast(texts, "truth").cast("float64")
    return texts if kind == "text" else _cast(texts, kind)


def convert_for(texts: Any, column: Column | None, has_comma: bool) -> Any:
    """Give texts as an encoder's column needs them.

    What should be a number and is not stays text: the encoder reads some texts as numbers or
    dates, and says what is wrong with the others.
    """
    if isinstance(column, NumberColumn) and column.unit == "number":
        numbers = _cast(texts, "comma" if has_comma else "number")
        if numbers is not None:
            return numbers
        return _with_points(texts) if has_comma else texts
    return _match_levels(texts, column.levels) if isinstance(column, CategoryColumn) else texts


def _cast(texts: Any, kind: str) -> Any:
    """Read texts as a kind; None if one of them is not."""
    import pyarrow as pa
    from pyarrow import compute

    types = {
        "whole": pa.int64(),
        "number": pa.float64(),
        "comma": pa.float64(),
        "date": pa.timestamp("us"),
        "moment": pa.timestamp("us", tz="UTC"),
    }
    if kind == "truth":
        small = compute.utf8_lower(texts)
        is_truth = compute.is_in(small, value_set=pa.array(["true", "false"]), skip_nulls=True)
        is_all = compute.all(compute.or_(is_truth, compute.is_null(texts))).as_py()
        return compute.equal(small, "true") if is_all else None
    if kind == "comma":
        texts = compute.replace_substring(texts, ",", ".")
    try:
        return compute.cast(texts, types[kind])
    except pa.ArrowInvalid:
        return None


def _with_points(texts: Any) -> Any:
    """Write numbers that have a decimal comma with a point, and leave other texts as they are."""
    from pyarrow import compute

    pattern = r"^([+-]?\d*),(\d+([eE][+-]?\d+)?)$"
    return compute.replace_substring_regex(texts, pattern, r"\1.\2")


def _match_levels(texts: Any, levels: Iterable[str]) -> Any:
    """Write floats as the levels do: a level 1 may have become 1.0 when the file was written."""
    import pyarrow as pa

    known = set(levels)
    encoded = texts.combine_chunks().dictionary_encode()
    written = encoded.dictionary.to_pylist()
    matched = [_match(text, known) for text in written]
    if matched == written:
        return texts
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(matched)).cast(pa.string())


def _match(text: str, known: set[str]) -> str:
    if text in known:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    # Only what a float is written as: 01 and 1.50 are texts of their own.
    plain = text_of(number)
    return plain if str(number) == text and plain in known else text
