"""The format of Unix `compress` (.Z), in which the archive keeps one of the sets.

Codes are written low bits first, 9 bits wide at first. The width grows with the table of known
strings. Codes of one width come in groups of eight, and when the width changes, what is left of
the last group is padding.
"""

from __future__ import annotations

MAGIC = b"\x1f\x9d"
CLEAR = 256
FIRST_WIDTH = 9


def decompress(content: bytes) -> bytes:
    """Give the text of a .Z file.

    References
    ----------
    T. A. Welch, A Technique for High-Performance Data Compression, IEEE Computer 17(6), 1984.
    """
    if content[:2] != MAGIC or len(content) < 3:
        raise ValueError("This is not a file of Unix compress.")
    max_width, can_clear = content[2] & 0x1F, bool(content[2] & 0x80)
    alphabet = [bytes([value]) for value in range(256)] + [b""] * can_clear
    table, width, previous = list(alphabet), FIRST_WIDTH, b""
    start = place = 8 * 3
    pieces: list[bytes] = []
    while place + width <= 8 * len(content):
        byte, shift = divmod(place, 8)
        window = int.from_bytes(content[byte : byte + 4], "little")
        code = (window >> shift) & ((1 << width) - 1)
        place += width
        if code == CLEAR and can_clear:
            start = place = _end_of_group(start, place, width)
            table, width, previous = list(alphabet), FIRST_WIDTH, b""
            continue
        # A code may name the very string that this step is about to add.
        is_newest = code == len(table) and previous != b""
        if code > len(table) or (code == len(table) and not is_newest):
            raise ValueError("The compressed data is damaged.")
        entry = previous + previous[:1] if is_newest else table[code]
        pieces.append(entry)
        if previous and len(table) < 1 << max_width:
            table.append(previous + entry[:1])
        if len(table) == 1 << width and width < max_width:
            start = place = _end_of_group(start, place, width)
            width += 1
        previous = entry
    return b"".join(pieces)


def _end_of_group(start: int, place: int, width: int) -> int:
    """Give the first bit after the group of eight codes that holds the bit before `place`."""
    group = 8 * width
    return start + -(-(place - start) // group) * group
