"""What a report is made of: sections of paragraphs, tables, pictures and things to explore.

A paragraph is a text, facts are a mapping, a gallery is a list of pictures. All is plain text,
which the template escapes, but for `Picture.markup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fcgboost.web.text import percent


@dataclass(frozen=True)
class Card:
    """A figure in large type, with a smaller line below and a note for those who point at it."""

    label: str
    value: str
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column: names and numbers stay on one line, texts are wrapped."""

    name: str
    kind: Literal["label", "number", "text", "picture"] = "label"


@dataclass(frozen=True)
class Cell:
    """A cell of a table, sorted by its key if it has one, with a detail in small letters.

    A share from 0 to 1 is drawn as a bar beside the text. Bars are a histogram instead of it: the
    height of each, and that of its part in colour.
    """

    text: str
    key: float | None = None
    detail: str = ""
    share: float | None = None
    bars: tuple[tuple[float, float], ...] = ()
    style: Literal["", "best", "hit", "miss", "ours"] = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first of which is the row's name; `groups` are heads above the heads."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    groups: Sequence[tuple[str, int]] = ()
    is_folded: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture as markup that is safe to write into a page."""

    name: str
    markup: str
    title: str
    caption: str


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

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
    """Return a share in percent with a bar, whose full length stands for the largest."""
    return Cell(percent(value), key=value, share=value / (largest or 1.0))
