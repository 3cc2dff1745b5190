"""How much memory the pages of a Parquet file ask for, before they are unpacked."""

from __future__ import annotations

from typing import IO

# Fields of a page's header, from Parquet's parquet.thrift.
_UNPACKED = 2
_PACKED = 3
# Types of Thrift's compact protocol.
_WHOLE = (4, 5, 6)
_TEXT = 8
_STRUCT = 12
# The bytes of the others: true and false, a byte, a float.
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8}
_LONGEST = 64


def unpacked_size(file: IO[bytes], start: int, n_bytes: int) -> int:
    """Return the bytes that the pages of a column fill, as their own headers state them.

    What the list at the end of the file says about them may be wrong.
    """
    total = 0
    end = start + n_bytes
    while start < end:
        file.seek(start)
        header = _struct(file)
        if min(header[_UNPACKED], header[_PACKED]) < 0:
            raise ValueError("a page of negative size")
        total += header[_UNPACKED]
        start = file.tell() + header[_PACKED]
    return total


def _struct(file: IO[bytes]) -> dict[int, int]:
    """Read a structure of Thrift's compact protocol; return its whole numbers by field."""
    numbers = {}
    field = 0
    while mark := file.read(1)[0]:
        step, kind = divmod(mark, 16)
        field = field + step if step else _whole(file)
        if kind in _WHOLE:
            numbers[field] = _whole(file)
        elif kind == _STRUCT:
            _struct(file)
        elif kind == _TEXT:
            file.seek(_varint(file), 1)
        elif kind in _SIZES:
            file.seek(_SIZES[kind], 1)
        else:
            raise ValueError("a page with an unknown header")
    return numbers


def _whole(file: IO[bytes]) -> int:
    half, is_negative = divmod(_varint(file), 2)
    return ~half if is_negative else half


def _varint(file: IO[bytes]) -> int:
    """Read a number whose bytes hold seven bits each, the lowest first."""
    value = 0
    for shift in range(0, _LONGEST, 7):
        byte = file.read(1)[0]
        value += (byte % 128) << shift
        if byte < 128:
            return value
    raise ValueError("a number that is too long")
