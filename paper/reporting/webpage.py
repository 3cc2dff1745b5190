"""Writes a report's sections as one HTML file that loads nothing from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from itertools import count

from paper.reporting.document import Picture, Section, label
from paper.reporting.tables import Cell, Table

_LEGEND = {
    "best": '<b class="best">bold</b>: best',
    "second": '<i class="second">italic</i>: second',
}
_TAGS = {"best": "b", "second": "i"}

_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --back: #fff; --soft: #f3f4f6;
  --line: #c9ccd1; --link: #0057a3; --best: #b00020; --second: #0b4fb3; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --back: #15171a;
  --soft: #20242a; --line: #444b55; --link: #8ab8ff; --best: #ff8a80; --second: #8ab4ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; color: var(--text);
  background: var(--back); font: 1rem/1.5 system-ui, sans-serif; }
p, li, figcaption, .notes { max-width: 48rem; overflow-wrap: anywhere; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); } nav ol { padding-left: 1.5rem; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
.scroll { overflow-x: auto; margin-top: 1.5rem; border: 1px solid var(--line);
  border-radius: 4px; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { padding: .5rem .6rem; text-align: left; }
caption span { position: sticky; left: .6rem; display: inline-block; max-width: min(48rem, 85vw); }
th, td { padding: .25rem .6rem; border-top: 1px solid var(--line); white-space: nowrap;
  text-align: right; vertical-align: top; }
thead th { background: var(--soft); vertical-align: bottom; }
thead th[colspan] { text-align: center; border-left: 1px solid var(--line); }
th.label, td.label { text-align: left; font-weight: normal; }
tbody th.first, thead th.first { position: sticky; left: 0; background: var(--soft); }
td.open, thead th.open { border-left: 1px solid var(--line); }
th.text, td.text { white-space: normal; text-align: left; min-width: 14rem; }
.best { color: var(--best); } .second { color: var(--second); }
.notes { margin: .4rem 0 0; font-size: .85rem; } .notes p { margin: .15rem 0; }
code { font-family: ui-monospace, monospace; background: var(--soft); padding: 0 .2rem; }
@page { size: A4 landscape; margin: 12mm; }
@media print { :root { --text: #000; --back: #fff; --soft: #f3f4f6; --line: #999;
    --link: #000; --best: #b00020; --second: #0b4fb3; }
  html { font-size: 9pt; } body { max-width: none; padding: 0; }
  .scroll { overflow: visible; border: 0; } table { font-size: 7pt; }
  th, td { padding: 1pt 3pt; } h2, caption { break-after: avoid; }
  tr, figure { break-inside: avoid; }
  thead { display: table-header-group; } nav { display: none; } }
"""


def write_page(title: str, intro: Sequence[str], sections: Sequence[Section]) -> str:
    """Give the whole report as HTML, pictures included."""
    links = (
        f'<li><a href="#{section.anchor}">{escape(section.title)}</a></li>' for section in sections
    )
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in intro),
        '<nav aria-label="Contents">\n<ol>',
        *links,
        "</ol>\n</nav>\n<main>",
        *(part for section in sections for part in _section(section)),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _section(section: Section) -> Iterator[str]:
    name = section.anchor
    yield f'<section id="{name}">\n<h2>{escape(section.title)}</h2>'
    for paragraph in section.paragraphs:
        yield f"<p>{escape(paragraph)}</p>"
    for i, picture in enumerate(section.figures):
        yield _picture(picture, label("Figure", section, i, picture.printed))
    for i, table in enumerate(section.tables):
        yield from _table(table, label("Table", section, i, table.printed))
    yield "</section>"


def _picture(picture: Picture, name: str) -> str:
    source = f"data:image/png;base64,{b64encode(picture.png).decode('ascii')}"
    return (
        f'<figure>\n<img src="{source}" alt="{escape(picture.summary)}">\n'
        f"<figcaption><b>{name}.</b> {escape(picture.caption)}</figcaption>\n</figure>"
    )


def _table(table: Table, name: str) -> Iterator[str]:
    opens = _group_starts(table)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n<table>'
    yield f"<caption><span><b>{name}.</b> {escape(table.caption)}</span></caption>\n<thead>"
    if table.groups:
        yield f"<tr>{''.join(_group(*group) for group in table.groups)}</tr>"
    names = (_heading(table, i, i in opens) for i in range(len(table.header)))
    yield f"<tr>{''.join(names)}</tr>\n</thead>\n<tbody>"
    for row in table.rows:
        cells = (_cell(table, i, cell, i in opens) for i, cell in enumerate(row))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody>\n</table>\n</div>"
    yield from _notes(table)


def _notes(table: Table) -> Iterator[str]:
    lines = [escape(note) for note in table.notes]
    lines += [f"<sup>{sign}</sup> {escape(note)}" for note, sign in table.footnotes().items()]
    legend = [_LEGEND[mark] for mark in ("best", "second") if mark in table.marks()]
    if legend:
        lines.append(", ".join(legend) + ".")
    if table.command:
        command = f"<code>{escape(table.command)}</code>"
        lines.append(f"Made by {command}, fcgboost {escape(table.version)}.")
    yield f'<div class="notes">{"".join(f"<p>{line}</p>" for line in lines)}</div>'


def _group_starts(table: Table) -> set[int]:
    """Give the columns at which a group of columns begins."""
    if not table.groups:
        return {table.n_labels}
    places, start = set(), count()
    for _, n_columns in table.groups:
        places.add(next(start))
        for _ in range(n_columns - 1):
            next(start)
    return {place for place in places if place >= table.n_labels}


def _group(text: str, n_columns: int) -> str:
    return f'<th colspan="{n_columns}" scope="colgroup">{escape(text)}</th>'


def _heading(table: Table, i: int, is_open: bool) -> str:
    return f'<th scope="col"{_classes(table, i, is_open)}>{escape(table.header[i])}</th>'


def _cell(table: Table, i: int, cell: Cell, is_open: bool) -> str:
    text = escape(cell.text)
    if cell.mark:
        tag = _TAGS[cell.mark]
        text = f'<{tag} class="{cell.mark}">{text}</{tag}>'
    if cell.note:
        text += f"<sup>{table.signs(cell)}</sup>"
    tag, scope = ("th", ' scope="row"') if i == 0 and table.n_labels else ("td", "")
    return f"<{tag}{scope}{_classes(table, i, is_open)}>{text}</{tag}>"


# A column with a cell longer than this holds sentences, which are wrapped.
_LONG = 40


def _classes(table: Table, i: int, is_open: bool) -> str:
    names = {
        "label": i < table.n_labels,
        "first": i == 0,
        "open": is_open,
        "text": any(len(cells[i].text) > _LONG for cells in table.rows),
    }
    given = " ".join(name for name, holds in names.items() if holds)
    return f' class="{given}"' if given else ""
