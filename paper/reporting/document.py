"""What a report is made of: sections of paragraphs, pictures and tables, as plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from paper.reporting.tables import Table


@dataclass(frozen=True)
class Picture:
    """A drawn figure: its file's name without ending, its caption, and the bytes of a PNG.

    `printed` is the paper's figure that it makes again, such as "Figure 1".
    """

    name: str
    caption: str
    png: bytes
    printed: str = ""

    @property
    def summary(self) -> str:
        """The caption's first sentence, for those who do not see the picture."""
        return self.caption.partition(". ")[0].rstrip(".")


@dataclass(frozen=True)
class Body:
    """What stands below the title of an experiment's section."""

    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Parameters
    ----------
    title : str
    paragraphs : tuple of str
        Plain text.
    tables : tuple of Table
    figures : tuple of Picture
    name : str
        Short and stable: tables and figures are called after it, as in "Table sim3-1".
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Picture, ...] = ()
    name: str = ""

    @property
    def anchor(self) -> str:
        """Where links to the section lead."""
        return slug(self.name or self.title)

    def sourced(self, command: str, version: str) -> Section:
        """Give the section with every table of ours naming what made it."""
        tables = (
            table if table.is_printed else replace(table, command=command, version=version)
            for table in self.tables
        )
        return replace(self, tables=tuple(tables))


def label(kind: str, section: Section, place: int, printed: str) -> str:
    """Name a table or a figure, with its number in the paper.

    >>> label("Table", Section("Simulation 3", name="sim3"), 0, "Table 1")
    'Table sim3-1 (Table 1 in the paper)'
    """
    ours = f"{kind} {section.anchor}-{place + 1}"
    return f"{ours} ({printed} in the paper)" if printed else ours


def slug(text: str) -> str:
    """Write a text in lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
