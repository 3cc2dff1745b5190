"""Tables as values: cells that know whether they are best and why they differ from the paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from paper.reporting.summaries import Mark, Summary, texts

if TYPE_CHECKING:
    from pandas import DataFrame

#: What stands where there is no number.
ABSENT = "–"
_TRIALS = re.compile(r"^\d+(?= of \d+ trials )")
_STEPS = re.compile(r"ended by tol after \d+ steps?")
_SIGNS = ("†", "‡", "§", "¶", "‖")


@dataclass(frozen=True)
class Cell:
    """A text; whether it is the best or second of its kind; how it departs from the protocol.

    A note may hold several, separated by "; ": each has its own footnote.
    """

    text: str
    mark: Mark = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table that says how it was made.

    Parameters
    ----------
    caption : str
    header : tuple of str
    rows : tuple of tuple of Cell
    notes : tuple of str
        Sentences below the table, before the footnotes of its cells.
    command, version : str
        What made its rows, and the package's version that did.
    groups : tuple of (str, int)
        Headings over several columns, and how many; together they span the header.
    n_labels : int
        How many leading columns name a row instead of holding results.
    is_printed : bool
        Whether it holds the paper's figures alone, which no command made.
    printed : str
        The paper's table that it makes again, such as "Table 1".
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    command: str = ""
    version: str = ""
    groups: tuple[tuple[str, int], ...] = ()
    n_labels: int = 1
    is_printed: bool = False
    printed: str = ""

    def footnotes(self) -> dict[str, str]:
        """Give the sign of every note of a cell, in the order of their first appearance."""
        cells = (cell for cells in self.rows for cell in cells)
        notes = dict.fromkeys(note for cell in cells for note in _split(cell.note))
        return {note: _sign(i) for i, note in enumerate(notes)}

    def signs(self, cell: Cell) -> str:
        """Give the signs that stand beside a cell."""
        footnotes = self.footnotes()
        return ",".join(footnotes[note] for note in _split(cell.note))

    def marks(self) -> set[Mark]:
        """Say which marks occur."""
        return {cell.mark for row in self.rows for cell in row if cell.mark}


def row(*values: str | Cell) -> tuple[Cell, ...]:
    """Give a row of cells; a text is a cell without mark and note."""
    return tuple(Cell(value) if isinstance(value, str) else value for value in values)


def number(value: float | None, digits: int) -> str:
    """Write a number, or that there is none.

    >>> number(-0.25, 2), number(float("nan"), 2)
    ('−0.25', '–')
    """
    if value is None or value != value:
        return ABSENT
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float | None, digits: int) -> str:
    """Write a difference with its sign."""
    if value is None or value != value:
        return ABSENT
    return f"{value:+.{digits}f}".replace("-", "−")


def plus_minus(summary: Summary, digits: int) -> str:
    """Write a mean and, where there is one, its standard error."""
    if summary.error != summary.error:
        return number(summary.mean, digits)
    return f"{number(summary.mean, digits)} ± {number(summary.error, digits)}"


def signed_plus_minus(summary: Summary, digits: int) -> str:
    """Write a mean difference with its sign and, where there is one, its standard error."""
    if summary.error != summary.error:
        return signed(summary.mean, digits)
    return f"{signed(summary.mean, digits)} ± {number(summary.error, digits)}"


def span(values: ArrayLike, digits: int) -> str:
    """Write the smallest and the largest of the values that are there."""
    given = np.asarray(values, dtype=np.float64)
    given = given[np.isfinite(given)]
    return f"{number(given.min(), digits)}–{number(given.max(), digits)}" if len(given) else ABSENT


def difference(ours: float, published: float | None, digits: int) -> str:
    """Write ours minus the published figure, both as they are shown.

    The difference of rounded figures is what a reader can check.
    """
    if published is None or ours != ours:
        return ABSENT
    return signed(round(ours, digits) - round(published, digits), digits)


def repetitions(counts: Iterable[int]) -> str:
    """Say over how many repetitions the means are."""
    found = sorted({count for count in counts if count > 0})
    if not found:
        return "No repetition is there yet."
    if found[-1] == 1:
        return "One repetition: there is no standard error."
    many = f"{found[0]} to {found[-1]}" if len(found) > 1 else f"{found[0]}"
    return f"Mean ± standard error over {many} repetitions."


def deviations(frame: DataFrame) -> str:
    """Say how rows depart from the paper's protocol, each departure once, without its counts."""
    if "deviation" not in frame:
        return ""
    found = [note for text in frame["deviation"] if isinstance(text, str) for note in _split(text)]
    return texts(_TRIALS.sub("some", _STEPS.sub("ended early, by tol", note)) for note in found)


def present(order: Sequence[str], frame: DataFrame, column: str) -> list[str]:
    """Give the values of a column in the given order, unknown ones after them."""
    found = set(frame[column].dropna().astype(str)) if column in frame else set()
    return [value for value in order if value in found] + sorted(found - set(order))


def _split(note: str) -> list[str]:
    return [part.strip() for part in note.split("; ") if part.strip()]


def _sign(i: int) -> str:
    return _SIGNS[i % len(_SIGNS)] * (1 + i // len(_SIGNS))
