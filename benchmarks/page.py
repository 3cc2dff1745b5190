"""Put the numbers of a run into docs/benchmarks.md, and its files into docs/results/bench.

    python -m benchmarks.page [FOLDER]

FOLDER holds latest.json and growth.png of `make bench`, gpu.json of `make bench-gpu`, cluster.json
of `make bench-cluster`, or all; a table whose file is not there stays as it is.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.picture import find_curves
from benchmarks.processes import ROOT
from benchmarks.tables import markdown

PAGE = ROOT / "docs" / "benchmarks.md"
STORED = ROOT / "docs" / "results" / "bench"
FOLDER = ROOT / "build" / "bench"
#: The file of a run -> the name in the marker comments around its table.
TABLES = {"latest.json": "bench", "gpu.json": "bench-gpu", "cluster.json": "bench-cluster"}
PICTURE = "growth.png"


def section(results: Mapping[str, Any]) -> str:
    """Give what a run measured, on what, and with which versions."""
    versions: dict[str, str] = {}
    for record in results["records"]:
        versions |= record["versions"]
    facts = ", ".join(
        [f"{name}: {value}" for name, value in results["machine"].items()]
        + [f"{name} {value}" for name, value in versions.items()]
    )
    text = f"{markdown(results['records'])}\nA run of {results['seconds']:.0f} s. {facts}.\n"
    if find_curves(results["records"]) is not None:
        text += (
            f"\n![Time and memory of a fit against the number of rows](results/bench/{PICTURE})\n"
        )
    return text


def with_table(page: str, name: str, text: str) -> str:
    """Replace what stands between two marker comments."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page has no markers {begin.strip()} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def update(folder: Path, page: Path = PAGE, stored: Path = STORED) -> None:
    """Copy the files of a run and draw its tables again."""
    text = page.read_text(encoding="utf-8")
    stored.mkdir(parents=True, exist_ok=True)
    for file, name in TABLES.items():
        if not (folder / file).exists():
            continue
        results = json.loads((folder / file).read_text(encoding="utf-8"))
        if results["quick"]:
            raise ValueError(f"{folder / file} is of a quick run, whose numbers mean nothing")
        text = with_table(text, name, section(results))
        _copy(folder / file, stored)
    if (folder / PICTURE).exists():
        _copy(folder / PICTURE, stored)
    page.write_text(text, encoding="utf-8")


def _copy(path: Path, folder: Path) -> None:
    if path.parent.resolve() != folder.resolve():
        shutil.copyfile(path, folder / path.name)


if __name__ == "__main__":
    update(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
