"""The parts of a report: paragraphs, tables, pictures and interactive charts.

A paragraph is a string, facts are a mapping, a gallery is a list of pictures. All of it is plain
text, which the template escapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal


@dataclass(frozen=True)
class Card:
    """A number in large type, with a detail below and a note as its tooltip."""

    label: str
    value: str
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: its text and its sort key; a share from 0 to 1 adds a bar."""

    text: str
    key: float | None = None
    share: float | None = None
    style: Literal["", "hit", "miss"] = ""


Kind = Literal["label", "number", "text"]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: its head, its cells, and how they are set."""

    name: str
    cells: Sequence[TableCell]
    kind: Kind = "label"

    @classmethod
    def of_texts(cls, name: str, texts: Iterable[str], kind: Kind = "label") -> TableColumn:
        """Return a column of words."""
        return cls(name, [TableCell(text) for text in texts], kind)

    @classmethod
    def of_numbers(
        cls, name: str, values: Iterable[float], write: Callable[[float], str]
    ) -> TableColumn:
        """Return a column of numbers; those that are NaN have a dash."""
        cells = [TableCell("–") if isnan(v) else TableCell(write(v), float(v)) for v in values]
        return cls(name, cells, "number")


@dataclass(frozen=True)
class Table:
    """Columns of cells, the first of which name the rows; `groups` are headings above the heads."""

    caption: str
    columns: Sequence[TableColumn]
    notes: Sequence[str] = ()
    groups: Sequence[tuple[str, int]] = ()
    is_folded: bool = False

    @property
    def rows(self) -> list[tuple[TableCell, ...]]:
        """The cells, row by row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


@dataclass(frozen=True)
class Picture:
    """A picture: the address of an image, which holds all its bytes."""

    name: str
    source: str
    title: str
    caption: str


@dataclass(frozen=True)
class CodeBlock:
    """Code to copy."""

    text: str


@dataclass(frozen=True)
class Explorer:
    """A place where the page's script draws JSON data; without the script, the fallback stays."""

    what: Literal["path", "thresholds"]
    data: Mapping[str, object]
    fallback: Sequence[Block] = ()


Block = str | Mapping[str, str] | list[Picture] | Table | CodeBlock | Explorer
#: An anchor, a heading, and what follows it.
Section = tuple[str, str, Sequence[Block]]
