"""How much memory the messages of an Arrow stream ask for, before they are unpacked.

pyarrow takes the memory that a compressed buffer asks for, and does not tell how much that is.
"""

from __future__ import annotations

import numpy as np
from pyarrow import ipc

# Fields by number, from Arrow's Message.fbs.
_HEADER_OF_MESSAGE = 2
_DATA_OF_DICTIONARY = 1
_BUFFERS_OF_BATCH = 2
_COMPRESSION_OF_BATCH = 3
#: How Arrow 0.17 marked compressed messages, which are still read.
_OLD_COMPRESSION = b"ARROW:experimental_compression"


def unpacked_size(message: ipc.Message) -> int:
    """Return the bytes that a message fills when it has been read, as its buffers state them.

    Every compressed buffer begins with its size; where buffers are stands in the metadata.
    """
    if message.type not in ("record batch", "dictionary"):
        return 0
    data = message.metadata.to_pybytes()
    batch = _field(data, _number(data, 0), _HEADER_OF_MESSAGE)
    if message.type == "dictionary":
        batch = _field(data, batch, _DATA_OF_DICTIONARY)
    body = memoryview(message.body)
    buffers = _field(data, batch, _BUFFERS_OF_BATCH)
    is_packed = _field(data, batch, _COMPRESSION_OF_BATCH) or _OLD_COMPRESSION in data
    if not (is_packed and buffers):
        return len(body)
    n_buffers = _number(data, buffers)
    extents = np.frombuffer(
        data,
        "<i8",
        2 * n_buffers,
        buffers + 4,
    )
    n_bytes = len(body)
    for offset, length in extents.reshape(-1, 2):
        size = _number(body, offset, 8) if length else 0
        n_bytes += max(0, size)  # -1: the buffer is not compressed
    return n_bytes


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table of FlatBuffers, Arrow's metadata, begins; 0 without it."""
    fields = table - _number(data, table)
    slot = 4 + 2 * number
    if slot >= _number(data, fields, 2):
        return 0
    start = table + _number(data, fields + slot, 2)
    return start + _number(data, start) if start > table else 0


def _number(data: bytes | memoryview, position: int, size: int = 4) -> int:
    return int.from_bytes(data[position : position + size], "little", signed=True)
