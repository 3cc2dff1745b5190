"""How much memory the messages of an Arrow stream ask for, before they are unpacked."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from pyarrow import ipc

# Fields by number, from Arrow's Message.fbs.
_HEADER_OF_MESSAGE = 2
_DATA_OF_DICTIONARY = 1
_BUFFERS_OF_BATCH = 2
_COMPRESSION_OF_BATCH = 3
#: How Arrow 0.17 marked compressed messages, which are still read.
_OLD_COMPRESSION = b"ARROW:experimental_compression"


class _Table(NamedTuple):
    """A table of FlatBuffers, the format of Arrow's metadata."""

    data: bytes
    start: int = 0

    def number(self, format: str, position: int) -> int:
        return int(struct.unpack_from(format, self.data, position)[0])

    def field(self, number: int) -> int | None:
        """Return the position of a field, if the table has it."""
        places = self.start - self.number("<i", self.start)
        slot = 4 + 2 * number
        if slot >= self.number("<H", places):
            return None
        offset = self.number("<H", places + slot)
        return self.start + offset if offset else None

    def target(self, position: int) -> _Table:
        """Return what the offset at a position points to."""
        return _Table(self.data, position + self.number("<I", position))

    def child(self, number: int) -> _Table:
        """Return the table of a field."""
        position = self.field(number)
        if position is None:
            raise ValueError("a message without content")
        return self.target(position)


def unpacked_size(message: ipc.Message) -> int:
    """Return the bytes that a message fills when it has been read, as its buffers state them.

    Every compressed buffer begins with its size; where buffers are stands in the metadata.
    """
    if message.type not in ("record batch", "dictionary"):
        return 0
    metadata = _Table(message.metadata.to_pybytes())
    batch = metadata.target(0).child(_HEADER_OF_MESSAGE)
    if message.type == "dictionary":
        batch = batch.child(_DATA_OF_DICTIONARY)
    body = memoryview(message.body)
    is_packed = batch.field(_COMPRESSION_OF_BATCH) or _OLD_COMPRESSION in metadata.data
    position = batch.field(_BUFFERS_OF_BATCH)
    if not is_packed or position is None:
        return len(body)
    buffers = batch.target(position)
    n_buffers = buffers.number("<I", buffers.start)
    places = np.frombuffer(metadata.data, "<i8", 2 * n_buffers, buffers.start + 4)
    sizes = [
        int.from_bytes(body[offset : offset + 8], "little", signed=True)
        for offset, length in places.reshape(-1, 2)
        if length
    ]
    return len(body) + sum(size for size in sizes if size > 0)  # -1: the buffer is not compressed
