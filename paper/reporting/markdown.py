"""Writes a report's sections as Markdown, with pictures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from paper.reporting.document import Section, label
from paper.reporting.tables import Cell, Table

_MARKUP = {"best": "**{}**", "second": "*{}*", "": "{}"}
_LEGEND = {"best": "**bold**: best", "second": "*italic*: second"}


def escape(text: str) -> str:
    r"""Take the meaning from characters that are markup.

    >>> escape("musk_2 | *a* <b>")
    'musk\\_2 \\| \\*a\\* \\<b\\>'
    """
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)


def write_markdown(title: str, intro: Sequence[str], sections: Sequence[Section]) -> str:
    """Give the whole report; pictures are linked as figures/NAME.png."""
    lines = [f"# {escape(title)}", ""]
    for paragraph in intro:
        lines += [escape(paragraph), ""]
    lines += [f"- [{escape(section.title)}](#{section.anchor})" for section in sections]
    for section in sections:
        lines += ["", *_section(section)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> Iterator[str]:
    # The heading's own anchor would follow its wording; this one is stable.
    yield f'<a id="{section.anchor}"></a>'
    yield ""
    yield f"## {escape(section.title)}"
    for paragraph in section.paragraphs:
        yield from ("", escape(paragraph))
    for i, picture in enumerate(section.figures):
        named = label("Figure", section, i, picture.printed)
        yield from ("", f"![{escape(picture.summary)}](figures/{picture.name}.png)")
        yield from ("", f"**{named}.** {escape(picture.caption)}")
    for i, table in enumerate(section.tables):
        named = label("Table", section, i, table.printed)
        yield from ("", f"**{named}.** {escape(table.caption)}", "")
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    signs = table.footnotes()
    yield _line(escape(name) for name in _full_header(table))
    yield _line("---" if i < table.n_labels else "---:" for i in range(len(table.header)))
    for row in table.rows:
        yield _line(_cell(table, cell) for cell in row)
    below = [_LEGEND[mark] for mark in ("best", "second") if mark in table.marks()]
    notes = [escape(note) for note in table.notes]
    notes += [f"{sign} {escape(note)}" for note, sign in signs.items()]
    if below:
        notes.append(", ".join(below) + ".")
    if table.command:
        command = table.command.replace("`", "")
        notes.append(f"Made by `{command}`, fcgboost {escape(table.version)}.")
    # Two blanks at its end make a line stand alone within one paragraph.
    if notes:
        yield ""
        yield "  \n".join(notes)


def _full_header(table: Table) -> list[str]:
    """Give the names of the columns, each with the heading of its group."""
    spread = [text for text, n_columns in table.groups for _ in range(n_columns)]
    spread += [""] * (len(table.header) - len(spread))
    return [": ".join(filter(None, names)) for names in zip(spread, table.header, strict=True)]


def _cell(table: Table, cell: Cell) -> str:
    return _MARKUP[cell.mark].format(escape(cell.text)) + table.signs(cell)


def _line(values: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"
