"""What a page is made of: sections of paragraphs, tables, pictures and things to explore.

Everything here is plain text; the template escapes it. Only `Picture.markup` is written as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Card:
    """A figure that is worth large type.

    Attributes
    ----------
    label, value : str
    detail : str
        A smaller line below, such as the interval.
    note : str
        What to know about the figure, shown when it is pointed at.
    """

    label: str
    value: str
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column.

    Attributes
    ----------
    name : str
    kind : {"label", "number", "text"}
        Names and numbers stay on one line; sentences are wrapped.
    is_sortable : bool
    """

    name: str
    kind: Literal["label", "number", "text"] = "label"
    is_sortable: bool = True


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    key : float or None
        What the column is sorted by, where that is not the text.
    detail : str
        A second line in small letters.
    share : float or None
        The length of a bar behind the text, from 0 to 1.
    bars : tuple of pairs, or ()
        A small picture instead of text: (height, height of the part in colour) per bar.
    style : {"", "best", "hit", "miss", "ours"}
    """

    text: str
    key: float | None = None
    detail: str = ""
    share: float | None = None
    bars: tuple[tuple[float, float], ...] = ()
    style: Literal["", "best", "hit", "miss", "ours"] = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first cell of a row is its name."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    #: Heads that span columns, above the others: a text and how many columns.
    groups: Sequence[tuple[str, int]] = ()
    #: Whether the table is folded under its caption at first.
    is_folded: bool = False
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Picture:
    """A picture as markup that is safe to write into a page."""

    name: str
    markup: str
    title: str
    caption: str
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True)
class Gallery:
    """Pictures side by side where there is room."""

    pictures: Sequence[Picture]
    kind: str = field(default="gallery", init=False)


@dataclass(frozen=True)
class Facts:
    """Short facts: names and what they are."""

    rows: Sequence[tuple[str, str]]
    kind: str = field(default="facts", init=False)


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: str = field(default="text", init=False)


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    text: str
    kind: str = field(default="code", init=False)


@dataclass(frozen=True)
class Explorer:
    """A place where the page's script draws what `data` holds; until then `fallback` is there.

    Attributes
    ----------
    what : {"path", "intervals"}
    data : mapping
        Numbers, texts, lists and mappings, as JSON has them.
    hint : str
        How to use it.
    fallback : sequence of Picture
    """

    what: Literal["path", "intervals"]
    data: Mapping[str, Any]
    hint: str
    fallback: Sequence[Picture] = ()
    kind: str = field(default="explorer", init=False)


Block = Table | Picture | Gallery | Facts | Text | Code | Explorer


@dataclass(frozen=True)
class Section:
    """A heading and what follows it."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    lead: Sequence[str]
    cards: Sequence[Card]
    sections: Sequence[Section]
    footer: str
    #: What to know about the cards.
    notes: Sequence[str] = ()
