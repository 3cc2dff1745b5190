"""Where rows are kept: one CSV file per experiment, appended unit by unit.

A unit's rows are written in one piece and forced to the disk. Each row holds the unit's settings
and says which of how many rows of the unit it is, so that what a killed process left
half-written is found and dropped.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from paper.base import PRESETS, SPLITS, Key, Row, written
from paper.files import replace_file

#: The columns after an experiment's own: which of how many rows of its unit a row is, and how
#: long the unit took.
_ADDED = ("row", "rows", "unit_seconds")
# What a lock that another process holds is answered with.
_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


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
        self._lock_path = folder / f".{name}.lock"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing here.

        The system unlocks when the process ends, however it ends, so that a killed run can be
        resumed.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = _lock(self._lock_path)
        if handle is None:
            raise StoreError(
                f"Another run is writing here: {self.path} is in use. Wait for the end of that "
                "run, or choose another --out."
            )
        try:
            yield
        finally:
            # Windows does not remove open files; one without a lock does no harm.
            with suppress(OSError):
                self._lock_path.unlink()
            os.close(handle)

    def create(self, facts: Mapping[str, Any]) -> None:
        """Write down how rows come about, and make a table for them; rows that are there stay."""
        self.write_facts(facts)
        self.repair()

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
        """Give the rows of every complete unit, as text; what is incomplete is left out.

        A table that is not there has none.
        """
        # A last line without its end was cut off.
        text = self._text()
        text = text[: text.rfind("\n") + 1]
        if text.count("\n") < 2:
            return {}
        reader = csv.DictReader(io.StringIO(text))
        if tuple(reader.fieldnames or ()) != self.columns:
            raise StoreError(
                f"{self.path} has other columns than this version's {self.name}, which are "
                f"{', '.join(self.columns)}. Choose another --out, or remove the file."
            )
        units: dict[Key, list[dict[str, str]]] = {}
        try:
            for row in reader:
                key = tuple(row[name] for name in self.settings)
                units.setdefault(key, []).append(row)
        except csv.Error as error:
            raise self._damage(self.path, f"line {reader.line_num}: {error}") from error
        copies = {key: _first_copy(rows) for key, rows in units.items()}
        return {key: rows for key, rows in copies.items() if rows}

    def repair(self) -> set[Key]:
        """Drop incomplete units from the file; give the keys of the complete ones."""
        units = self.load()
        rows = [row for rows in units.values() for row in rows]
        lines = [[row[name] for name in self.columns] for row in rows]
        replace_file(self.path, _lines([self.columns, *lines]))
        return set(units)

    def facts(self) -> dict[str, Any]:
        """Give what was written down about the rows."""
        try:
            facts = json.loads(self.facts_path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.facts_path} is missing, which says how the rows of {self.path} came about. "
                f"Put it back, or remove {self.path.name} to start again."
            ) from error
        except ValueError as error:
            raise self._damage(self.facts_path, str(error)) from error
        if not isinstance(facts, dict) or not _is_usable(facts):
            raise self._damage(self.facts_path, "it names no preset and split")
        return facts

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        """Write down how the rows came about."""
        replace_file(self.facts_path, json.dumps(facts, indent=1) + "\n")

    def _text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise self._damage(self.path, str(error)) from error

    def _damage(self, path: Path, what: str) -> StoreError:
        return StoreError(
            f"{path} is damaged ({what}). Put an undamaged copy in its place, choose another "
            f"--out, or remove {self.path.name} to start again."
        )


def _lock(path: Path) -> int | None:
    """Give the handle of a locked file, whose closing unlocks; None if another process has it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _take(handle):
            os.close(handle)
            return None
        # Its last holder may have removed the file between the two calls above.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _take(handle: int) -> bool:
    """Lock an open file; say whether no other process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network folders know no locks: there a run goes on without.
        return error.errno not in _HELD
    return True


def _is_usable(facts: Mapping[str, Any]) -> bool:
    """Whether the units of a table follow from these facts."""
    return facts.get("preset") in PRESETS and facts.get("split", "") in (None, *SPLITS)


def _first_copy(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Give the first rows 1, ..., n of n that follow each other; none if there are no such."""
    copy: list[dict[str, str]] = []
    for row in rows:
        if row["row"] != str(len(copy) + 1):
            copy = []
        if row["row"] == str(len(copy) + 1):
            copy.append(row)
        if copy and all(one["rows"] == str(len(copy)) for one in (copy[0], row)):
            return copy
    return []


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
