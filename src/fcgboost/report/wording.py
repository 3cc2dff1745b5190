"""Numbers and names as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fcgboost.scores import TITLES, Score

_MINUS, _THIN = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"
_OPEN, _CLOSE = "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"
_LONGEST = 60


def count(n: float, noun: str = "") -> str:
    """Give a whole number with its noun: "1 row", "1,000 rows"."""
    text = f"{int(n):,}"
    if not noun:
        return text
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun[-1] in "sx" else "s")
    return f"{text} {noun if n == 1 else plural}"


def number(value: float) -> str:
    """Give four digits of a number."""
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
    """Give a number with a fixed number of digits, so that columns align."""
    if not math.isfinite(value):
        return number(value)
    return _signed(f"{abs(value):,.{digits}f}", value)


def percent(share: float, digits: int = 1) -> str:
    """Give a share in percent."""
    return f"{100.0 * share:.{digits}f}{_THIN}%"


def seconds(time: float) -> str:
    """Give a time."""
    if time < 0.001:
        return f"{1e6 * time:.0f}{_THIN}µs"
    if time < 0.1:
        return f"{1e3 * time:.0f}{_THIN}ms"
    if time < 120.0:
        return f"{time:.2g}{_THIN}s" if time < 10.0 else f"{time:.0f}{_THIN}s"
    minutes, rest = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}{_THIN}h {minutes}{_THIN}min"
    return f"{minutes}{_THIN}min {rest}{_THIN}s"


def score(name: str, value: float) -> str:
    """Give a score as it is customary: accuracies in percent."""
    return percent(value) if name == "accuracy" else fixed(value, 3)


def interval(name: str, score_: Score) -> str:
    """Give the ends of an interval: "91.4 to 94.5 %"."""
    low, high = score(name, score_.low), score(name, score_.high)
    return f"{low.removesuffix(f'{_THIN}%')} to {high}"


def score_title(name: str) -> str:
    """Give what a score is called, at the beginning of a line."""
    title = TITLES.get(name, name.replace("_", " "))
    return title[:1].upper() + title[1:]


def score_notes(names: Iterable[str], n_classes: int | None = None) -> dict[str, str]:
    """Say what is not clear from the names of scores."""
    told = {
        "log_loss": "Log-loss: every probability is first clipped to between 1/(2m) and 1 − "
        "1/(2m), m being the number of rows scored, so that one row does not decide alone."
    }
    if n_classes != 2:
        told["brier"] = (
            "Brier score: of several classes, half the squared distance from the probabilities "
            "of all classes to the truth."
        )
    return {name: told[name] for name in names if name in told}


def label(value: Any) -> str:
    """Give a class's name; whole numbers without a decimal point."""
    text = str(value)
    is_whole = isinstance(value, float) and text.endswith(".0")
    return shortened(text.removesuffix(".0") if is_whole else text)


def quoted(value: Any) -> str:
    """Give a class's name in quotation marks."""
    return f"{_OPEN}{label(value)}{_CLOSE}"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Give a text that is not too long for a line."""
    text = " ".join(text.split()) if text.split() else text
    return text if len(text) <= longest else text[: longest - 1] + "…"


def listed(words: Sequence[str], most: int = 8) -> str:
    """Give words as a list in a sentence: "a, b and c"."""
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _signed(text: str, value: float) -> str:
    return _MINUS + text if value < 0 and any(c in "123456789∞" for c in text) else text
