"""What users should know about their rows and labels, found in plain arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fcgboost.arrays import ClassLabels, Codes, Flags, Target
from fcgboost.hashing import Hashes
from fcgboost.wording import count, listed

# Numbers are quantities, not classes, if there are many different ones, or some with few rows each.
_MANY_CLASSES = 100
_SOME_CLASSES = 10
_ROWS_OF_CLASS = 5
_MOST_ROWS = 20
_N_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """Something about columns, rows or labels that users should know; `str` is a sentence.

    Parameters
    ----------
    kind : str
        What it is: "leak", "row number", "id", "text", "list", "constant", "empty", "useless",
        "reading", "levels", "labels", "quantity", "duplicates", "classes" or "fit".
    text : str
    columns : tuple of str, default=()
        The columns it is about.
    rows : tuple of int, default=()
        The positions of some rows it is about, from 0; sentences count rows from 1.
    """

    kind: str
    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.rows:
            return self.text
        shown = [f"{row + 1:,}" for row in self.rows[:_N_SHOWN]]
        if len(shown) == 1:
            return f"{self.text} It is row {shown[0]}."
        which = "They" if len(self.rows) <= _N_SHOWN else "Among them"
        return f"{self.text} {which} are rows {listed(shown)}."


def folded(text: str) -> str:
    """Return what texts have in common that differ only in case or white space."""
    return " ".join(text.split()).casefold()


def alike(texts: Iterable[object]) -> list[list[str]]:
    """Return groups of texts that differ only in case or white space, in their order."""
    groups: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        if isinstance(text, str):
            groups[folded(text)].append(text)
    return [group for group in groups.values() if len(group) > 1]


def show_alike(groups: Sequence[Sequence[str]]) -> str:
    """Name the texts of the first group."""
    more = f", and {count(len(groups) - 1, 'more group')}" if len(groups) > 1 else ""
    return listed([repr(text) for text in groups[0]]) + more


def find_alike(texts: Iterable[object], column: str | None = None) -> list[Finding]:
    """Name labels, or levels of a column, that differ only in case or white space."""
    groups = alike(texts)
    if not groups:
        return []
    what = "labels" if column is None else "levels"
    where = "" if column is None else f"{column!r}: "
    text = (
        f"{where}{what} differ only in case or white space: {show_alike(groups)}. merge_spellings "
        "of read_table (--merge-spellings) makes them one."
    )
    columns = () if column is None else (column,)
    return [Finding(what, text[0].upper() + text[1:], columns)]


def is_quantity(y: Target) -> bool:
    """Whether labels look like a quantity."""
    return y.dtype.kind in "iuf" and bool(find_quantity(np.unique(y), len(y)))


def find_quantity(labels: ClassLabels, n_rows: int) -> list[Finding]:
    """Say that the distinct labels of so many rows look like a quantity."""
    n = len(labels)
    is_many = n > _MANY_CLASSES or n > max(_SOME_CLASSES, n_rows / _ROWS_OF_CLASS)
    if labels.dtype.kind not in "iuf" or not is_many:
        return []
    return [
        Finding(
            "quantity",
            f"The target has {n:,} different numbers, so it looks like a quantity: use "
            "FCGBoostRegressor, or cut it into a few classes first.",
        )
    ]


def contradicting(row_hashes: Hashes) -> Flags:
    """Return which rows equal others but for the label.

    Rows of a class that are equal are one row, and equal rows follow each other.
    """
    is_same = row_hashes[1:] == row_hashes[:-1]
    return np.asarray(np.append(is_same, False) | np.append(False, is_same))


def find_duplicates(rows: Codes, n_rows: int) -> list[Finding]:
    """Count the rows that equal others but for the label, given their positions."""
    if len(rows) == 0:
        return []
    first = tuple(np.sort(rows)[:_MOST_ROWS].tolist())
    text = (
        f"{len(rows):,} of {count(n_rows, 'row')} equal others but for the label: no model can "
        "tell them apart."
    )
    return [Finding("duplicates", text, rows=first)]


def find_constants(names: Sequence[str]) -> list[Finding]:
    """Name the columns in which every value is the same."""
    if not names:
        return []
    verb = "hold one value each" if len(names) > 1 else "holds one value"
    text = f"{listed(list(map(repr, names)))} {verb}: nothing depends on it."
    return [Finding("constant", text, tuple(names))]
