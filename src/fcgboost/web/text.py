"""Formatting of numbers and names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from fcgboost.scores import TITLES, Score

_THIN = "\N{NARROW NO-BREAK SPACE}"
_LONGEST = 60
# What no XML, and so no drawing, can hold; and what HTML, in which it could stand, does not show.
_UNSHOWN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def shown(text: str) -> str:
    """Return a text with replacement characters for all that a page cannot show."""
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)


def count(n: float, noun: str = "") -> str:
    """Return a whole number with its noun: "1 row", "1,000 rows"."""
    text = f"{int(n):,}"
    if not noun:
        return text
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun[-1] in "sx" else "s")
    return f"{text} {noun if n == 1 else plural}"


def number(value: float) -> str:
    """Format a number with four significant digits."""
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return _signed("∞", value)
    size = abs(value)
    if size >= 1e9 or 0.0 < size < 1e-4:
        mantissa, _, power = f"{size:.2e}".partition("e")
        shown = mantissa.rstrip("0").rstrip(".")
        return _signed(f"{shown}e{_signed(str(abs(int(power))), int(power))}", value)
    if size >= 1000.0:
        return _signed(f"{size:,.0f}", value)
    return _signed(f"{float(f'{size:.4g}'):.10f}".rstrip("0").rstrip("."), value)


def fixed(value: float, digits: int) -> str:
    """Return a number with a fixed number of digits, so that columns align."""
    return _signed(f"{abs(value):,.{digits}f}", value) if math.isfinite(value) else number(value)


def _signed(text: str, value: float) -> str:
    return "\N{MINUS SIGN}" + text if value < 0 and any(c in "123456789∞" for c in text) else text


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100.0 * share:.{digits}f}{_THIN}%"


def seconds(time: float) -> str:
    """Return a time with its unit."""
    if time < 0.1:
        return f"{1e6 * time:.0f}{_THIN}µs" if time < 0.001 else f"{1e3 * time:.0f}{_THIN}ms"
    if time < 120.0:
        return f"{time:.2g}{_THIN}s" if time < 10.0 else f"{time:.0f}{_THIN}s"
    minutes, rest = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{_THIN}h {minutes}{_THIN}min"
    return f"{minutes}{_THIN}min {rest}{_THIN}s"


def score(name: str, value: float) -> str:
    """Format a score: accuracies in percent."""
    return percent(value) if name == "accuracy" else fixed(value, 3)


def interval(name: str, found: Score) -> str:
    """Return the ends of an interval: "91.4 to 94.5 %"."""
    low, high = score(name, found.low), score(name, found.high)
    return f"{low.removesuffix(f'{_THIN}%')} to {high}"


def score_title(name: str) -> str:
    """Return the name of a score, capitalised."""
    title = TITLES.get(name, name.replace("_", " "))
    return title[:1].upper() + title[1:]


def score_notes(names: Iterable[str], n_classes: int | None = None) -> dict[str, str]:
    """Return notes on the scores that need one."""
    known = {
        "log_loss": "Log-loss: probabilities are clipped to between 1/(2m) and 1 − 1/(2m) for m "
        "rows, so that no single row dominates."
    }
    if n_classes != 2:
        known["brier"] = (
            "Brier score: with several classes, half the squared distance between the "
            "probabilities of all classes and the truth."
        )
    return {name: known[name] for name in names if name in known}


def label(value: Any) -> str:
    """Return the name of a class; whole numbers have no decimal point."""
    return shortened(str(value).removesuffix(".0") if isinstance(value, float) else str(value))


def quoted(value: Any) -> str:
    """Return the name of a class in quotation marks."""
    return f"\N{LEFT SINGLE QUOTATION MARK}{label(value)}\N{RIGHT SINGLE QUOTATION MARK}"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Shorten a text to fit a line."""
    text = shown(" ".join(text.split()) or text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(words: Sequence[str], most: int = 8) -> str:
    """Return words as a list in a sentence: "a, b and c"."""
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
