"""Numbers, names and small tables as text, for pages, commands and descriptions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_LONGEST = 60
# Characters that XML cannot hold, and control characters that HTML would hide.
_UNSHOWN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def shown(text: str) -> str:
    """Return a text with a replacement character for everything that a page cannot show."""
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)


def count(n: float, noun: str = "") -> str:
    """Return a whole number with its noun: "1 row", "1,000 rows"."""
    text = f"{int(n):,}"
    if not noun:
        return text
    if n == 1:
        return f"{text} {noun}"
    if noun.endswith("y"):
        return f"{text} {noun[:-1]}ies"
    return f"{text} {noun}{'es' if noun[-1] in 'sx' else 's'}"


def number(value: float) -> str:
    """Format a number with four significant digits; NaN is empty."""
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return _signed("∞", value)
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-4:
        mantissa, _, power = f"{size:.2e}".partition("e")
        digits = mantissa.rstrip("0").rstrip(".")
        exponent = _signed(str(abs(int(power))), int(power))
        return _signed(f"{digits}e{exponent}", value)
    if size >= 1000.0:
        return _signed(f"{size:,.0f}", value)
    return _signed(f"{float(f'{size:.4g}'):.10f}".rstrip("0").rstrip("."), value)


def fixed(value: float, digits: int) -> str:
    """Format a number with a fixed number of digits, so that columns align."""
    return _signed(f"{abs(value):,.{digits}f}", value) if math.isfinite(value) else number(value)


def _signed(text: str, value: float) -> str:
    """Put a minus sign before a negative number, unless it is rounded to zero."""
    is_zero = not any(digit in "123456789∞" for digit in text)
    return text if value >= 0 or is_zero else f"\N{MINUS SIGN}{text}"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Shorten a text to fit a line."""
    text = shown(" ".join(text.split()) or text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(words: Sequence[str], most: int = 8) -> str:
    """Join words as in a sentence: "a, b and c"."""
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], n_labels: int = 1) -> str:
    """Return rows as aligned lines; the first `n_labels` columns are words, the others numbers."""
    # A name may hold line breaks, but a row of the table is one line.
    lines = [[" ".join(text.split()) for text in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = []
    for line in lines:
        cells = [
            text.ljust(width) if j < n_labels else text.rjust(width)
            for j, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        aligned.append("  ".join(cells).rstrip())
    return "\n".join(aligned)
