"""Where rows are kept: one CSV file per experiment, appended unit by unit.

A unit's rows are written in one piece and forced to the disk. Each row holds the unit's settings
and says which of how many rows of the unit it is, so that what a killed process left
half-written is found and dropped.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcgboost.experiments.base import Key, Row, written

#: The columns after an experiment's own: which of how many rows of its unit a row is, and how
#: long the unit took.
_ADDED = ("row", "rows", "unit_seconds")


class StoreError(RuntimeError):
    """Stored rows that cannot be used as asked."""


class Store:
    """The rows and the circumstances of one experiment.

    Parameters
    ----------
    folder : path
    name : str
        The experiment's.
    settings, results : sequence of str
        The columns that hold the settings of a unit, and those with its results.
    """

    def __init__(
        self, folder: Path, name: str, settings: Sequence[str], results: Sequence[str]
    ) -> None:
        self.name = name
        self.settings = tuple(settings)
        self.columns = (*settings, *results, *_ADDED)
        self.path = folder / f"{name}.csv"
        self.facts_path = folder / f"{name}.json"

    @property
    def exists(self) -> bool:
        """Whether anything is stored."""
        return self.path.exists()

    def create(self, facts: Mapping[str, Any]) -> None:
        """Start an empty table, and write down how its rows come about."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.write_facts(facts)
        replace_file(self.path, _lines([self.columns]))

    def append(self, rows: Sequence[Row], seconds: float) -> None:
        """Add the rows of one unit in one piece."""
        added = [
            {**row, "row": i + 1, "rows": len(rows), "unit_seconds": round(seconds, 3)}
            for i, row in enumerate(rows)
        ]
        lines = [[written(row[name]) for name in self.columns] for row in added]
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines(lines))
            file.flush()
            os.fsync(file.fileno())

    def load(self) -> dict[Key, list[dict[str, str]]]:
        """Give the rows of every complete unit, as text; what is incomplete is left out."""
        # A last line without its end was cut off.
        text = self.path.read_text(encoding="utf-8")
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
        if tuple(reader.fieldnames or ()) != self.columns:
            raise StoreError(
                f"{self.path} has other columns than this version's {self.name}, which are "
                f"{', '.join(self.columns)}. Choose another --out, or remove the file."
            )
        units: dict[Key, list[dict[str, str]]] = {}
        for row in reader:
            key = tuple(row[name] for name in self.settings)
            units.setdefault(key, []).append(row)
        return {key: rows for key, rows in units.items() if _is_complete(rows)}

    def repair(self) -> set[Key]:
        """Drop incomplete units from the file; give the keys of the complete ones."""
        units = self.load()
        rows = [row for rows in units.values() for row in rows]
        lines = [[row[name] for name in self.columns] for row in rows]
        replace_file(self.path, _lines([self.columns, *lines]))
        return set(units)

    def facts(self) -> dict[str, Any]:
        """Give what was written down about the rows."""
        facts: dict[str, Any] = json.loads(self.facts_path.read_text(encoding="utf-8"))
        return facts

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """Write down how the rows came about."""
        replace_file(self.facts_path, json.dumps(facts, indent=1) + "\n")


def replace_file(path: Path, text: str) -> None:
    """Write a file so that it is there in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; results are as readable as any other.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _is_complete(rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether these are rows 1, ..., n of n."""
    expected = [(str(i + 1), str(len(rows))) for i in range(len(rows))]
    return [(row["row"], row["rows"]) for row in rows] == expected


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
