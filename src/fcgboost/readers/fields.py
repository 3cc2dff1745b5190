"""Columns of a data frame as fields of text, such as `TextFile` reads back."""

from __future__ import annotations

from typing import Any

from fcgboost.tables.cells import numbers_in, read_column

_N_ROWS = 65_536


def lines_of(frame: Any, separator: str) -> list[bytes]:
    """Give the rows of a data frame as text, some thousand lines at a time."""
    parts = range(0, len(frame), _N_ROWS)
    return [_lines_of(frame.iloc[start : start + _N_ROWS], separator) for start in parts]


def header_of(frame: Any, separator: str) -> bytes:
    """Give the names of the columns as a line of text."""
    import pyarrow as pa

    names = _quoted(pa.array([str(name) for name in frame.columns]), separator).to_pylist()
    return (separator.join(names) + "\n").encode()


def _lines_of(frame: Any, separator: str) -> bytes:
    import pyarrow as pa
    from pyarrow import compute

    columns = [_texts_of(frame[name], separator) for name in frame.columns]
    if len(columns) == 1:  # an empty line would be no row
        filled = compute.fill_null(columns[0], "")
        columns = [compute.if_else(compute.equal(filled, ""), '""', filled)]
    # Larger than the usual text: all lines become one.
    wide = [column.cast(pa.large_string()) for column in columns]
    lines = compute.binary_join_element_wise(
        *wide,
        pa.scalar(separator, pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    whole = pa.LargeListArray.from_arrays([0, len(lines)], lines)
    joined = compute.binary_join(whole, pa.scalar("\n", pa.large_string()))
    return bytes(joined[0].as_buffer()) + b"\n"


def _texts_of(column: Any, separator: str) -> Any:
    """Give a column as texts; numbers have all their digits, durations are days."""
    import pyarrow as pa
    from pyarrow import compute

    values = _as_arrow(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    found = values.type
    if pa.types.is_binary(found) or pa.types.is_large_binary(found):
        raise ValueError(
            f"Column {column.name!r} holds bytes, which a file of text can not: leave it out, or "
            "write .parquet or .arrow."
        )
    if pa.types.is_duration(found):
        values = pa.array(numbers_in(column.name, read_column(column), "number"), from_pandas=True)
    if pa.types.is_boolean(found):
        return compute.if_else(values, "True", "False")
    if pa.types.is_timestamp(found):
        return _moments(values)
    texts = values.cast(pa.string())
    if pa.types.is_floating(values.type):
        return compute.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")
    return _quoted(texts, separator)


def _as_arrow(column: Any) -> Any:
    """Give a column in Arrow's memory; of mixed objects their texts."""
    import pyarrow as pa

    try:
        values = pa.array(column, from_pandas=True)
        if not pa.types.is_nested(values.type):
            return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        pass
    is_there = column.notna()
    return pa.array([str(v) if there else None for v, there in zip(column, is_there, strict=True)])


def _moments(values: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    if values.type.tz is None:
        is_day = compute.equal(values, compute.floor_temporal(values, unit="day"))
        if compute.all(is_day).as_py():
            return values.cast(pa.date32()).cast(pa.string())
    # Fractions of a second only where there are any.
    return compute.replace_substring_regex(values.cast(pa.string()), r"\.0+($|[Z+-])", r"\1")


def _quoted(texts: Any, separator: str) -> Any:
    from pyarrow import compute

    needs_quotes = compute.match_substring_regex(texts, f'[{separator}"\r\n]')
    if not compute.any(needs_quotes).as_py():
        return texts
    doubled = compute.replace_substring(texts, '"', '""')
    quoted = compute.binary_join_element_wise('"', doubled, '"', "")
    return compute.if_else(needs_quotes, quoted, texts)
