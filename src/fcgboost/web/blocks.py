"""The parts of a report: paragraphs, tables, pictures and interactive charts.

A paragraph is a string, facts are a mapping, a gallery is a list of pictures. All of it is plain
text, which the template escapes, except `Picture.markup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fcgboost.web.text import percent


@dataclass(frozen=True)
class Card:
    """A number in large type, with a detail below and a note as its tooltip."""

    label: str
    value: str
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column, and how its cells are set."""

    name: str
    kind: Literal["label", "number", "text", "picture"] = "label"


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, its sort key, and a detail in small type.

    A share from 0 to 1 adds a bar beside the text. `bars` replaces the text by a histogram: the
    height of each bar, and of its coloured part.
    """

    text: str
    key: float | None = None
    detail: str = ""
    share: float | None = None
    bars: tuple[tuple[float, float], ...] = ()
    style: Literal["", "best", "hit", "miss", "ours"] = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which names the row; `groups` are headings above the heads."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    groups: Sequence[tuple[str, int]] = ()
    is_folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture as trusted markup."""

    name: str
    markup: str
    title: str
    caption: str


@dataclass(frozen=True)
class Code:
    """Code to copy."""

    text: str


@dataclass(frozen=True)
class Explorer:
    """A place where the page's script draws JSON data; without the script, the fallback stays."""

    what: Literal["path", "intervals", "thresholds"]
    data: Mapping[str, Any]
    hint: str
    fallback: Sequence[Block] = ()


Block = str | Mapping[str, str] | list[Picture] | Table | Code | Explorer
#: An anchor, a heading, and what follows it.
Section = tuple[str, str, Sequence[Block]]


def share_cell(value: float, largest: float = 1.0) -> Cell:
    """Return a share in percent with a bar, scaled so that the largest fills it."""
    return Cell(percent(value), key=value, share=value / (largest or 1.0))
