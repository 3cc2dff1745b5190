"""Records as a table: for the terminal, and in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

HEADINGS = ("figure", "ours", "baseline", "ratio", "bound", "met")
_SYMBOLS = {"<=": "≤", ">=": "≥"}
_MET = {True: "yes", False: "NO", None: "–"}
# A factor between two percentages, or between two exponents, says nothing; a difference does.
_NO_FACTOR = ("%", "")
_WIDTHS = (52, 14, 40, 14, 16, 3)


def cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the texts of one line."""
    if record["reason"]:
        return (record["name"], "not measured", record["reason"], "", "", _MET[None])
    ours, baseline, unit = record["ours"], record["baseline"], record["unit"]
    beside = ", ".join(filter(None, (with_unit(baseline, unit), record["baseline_name"])))
    return (
        record["name"],
        with_unit(ours, unit),
        beside or "–",
        _ratio(record),
        _bound(record),
        _MET[record["met"]],
    )


def with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    # Accuracies differ in their second decimal.
    return f"{value:.2f} %" if unit == "%" else f"{number(value)} {unit}".strip()


def number(value: float) -> str:
    """Write three digits, and all that are left of the point."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def _ratio(record: Mapping[str, Any]) -> str:
    if record["ratio"] is None:
        return "–"
    if record["bound_of"] == "difference" or record["unit"] in _NO_FACTOR:
        return f"{record['ours'] - record['baseline']:+.2f}"
    if record["bound_of"] == "speedup":
        return f"{number(record['ratio'])} × faster"
    return f"{number(record['ratio'])} ×"


def _bound(record: Mapping[str, Any]) -> str:
    if record["bound"] is None:
        return "–"
    text = f"{_SYMBOLS[record['bound_sense']]} {record['bound']:g}"
    units = {"ratio": "×", "speedup": "× faster", "difference": "", "ours": record["unit"]}
    return f"{text} {units[record['bound_of']]}".strip()


def terminal(records: Sequence[Mapping[str, Any]]) -> str:
    """Give a table of columns; long texts go on in the next line."""
    lines = [_line(HEADINGS), _line(["-" * width for width in _WIDTHS])]
    lines += [_line(cells(record)) for record in records]
    return "\n".join(lines)


def _line(texts: Sequence[str]) -> str:
    columns = [
        textwrap.wrap(text, width) or [""] for text, width in zip(texts, _WIDTHS, strict=True)
    ]
    height = max(map(len, columns))
    rows = []
    for i in range(height):
        parts = [column[i] if i < len(column) else "" for column in columns]
        rows.append(
            "  ".join(f"{part:<{width}}" for part, width in zip(parts, _WIDTHS, strict=True))
        )
    return "\n".join(row.rstrip() for row in rows)


def details(records: Sequence[Mapping[str, Any]]) -> str:
    """Give what else was measured, a paragraph per record; equal ones of neighbours once."""
    lines, last = [], None
    for record in records:
        facts = dict(record["details"])
        curves = facts.pop("curves", {})
        if facts and facts != last:
            text = "; ".join(f"{name}: {_text(value)}" for name, value in facts.items())
            lines.append(textwrap.fill(f"{record['name']}: {text}", 140, subsequent_indent="    "))
        lines += [_curve(name, curve) for name, curve in curves.items()]
        last = facts
    return "\n".join(lines)


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _curve(name: str, curve: Mapping[str, Any]) -> str:
    """Give one method's growth in a line."""
    points = zip(curve["sizes"], curve["seconds"], curve["mebibytes"], strict=True)
    texts = [f"{m:,}: {number(s)} s, {number(mib)} MiB" for m, s, mib in points]
    slopes = [f"{curve[key]:.2f}" for key in ("time exponent", "memory exponent") if key in curve]
    text = f"slopes {', '.join(slopes) or '–'}; {'; '.join(texts)}; ended by {curve['ended by']}"
    return textwrap.fill(f"    {name}: {text}", 140, subsequent_indent=" " * 8)


def markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """Give the same table for a page; a bound that is missed stands out."""
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    for record in records:
        *others, met = cells(record)
        lines.append((*others, f"**{met}**" if record["met"] is False else met))
    return "".join("| " + " | ".join(_escaped(cell) for cell in line) + " |\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
