"""Put the numbers of runs into the documentation, and their files into docs/results/bench.

    python -m benchmarks.page [FOLDER]

FOLDER holds latest.json and growth.png of `make bench`, gpu.json of `make bench-gpu`, cluster.json
of `make bench-cluster`, every_size.csv of `python -m benchmarks.large`, or some of them; a table
whose file is not there stays as it is. docs/results/BENCHMARKS.md has all figures,
docs/benchmarks.md accuracies and times at every size.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import large
from benchmarks.picture import BESIDE, OURS, draw_every_size, find_curves, title_of
from benchmarks.processes import ROOT
from benchmarks.stored_rows import read_rows
from benchmarks.tables import markdown

DOCS = ROOT / "docs"
FOLDER = ROOT / "build" / "bench"
#: The file of a run -> the name in the marker comments around its table.
TABLES = {"latest.json": "bench", "gpu.json": "bench-gpu", "cluster.json": "bench-cluster"}
PICTURE = "growth.png"
RIVALS = ("LightGBM", *(name for name in BESIDE if name not in OURS))
METHODS = (*OURS, *RIVALS)

#: What is compared with each rival, by column of a line.
QUESTIONS = {
    "fit time": "seconds",
    "accuracy, points": "accuracy",
    "log-loss": "log_loss",
    "model file": "n_bytes",
    "prediction of one row": "one_row",
    "prediction of 10,000 rows": "many_rows",
}


def section(results: Mapping[str, Any]) -> str:
    """Return what a run measured, on what, and with which versions."""
    versions: dict[str, str] = {}
    for record in results["records"]:
        versions |= record["versions"]
    facts = ", ".join(
        [f"{name}: {value}" for name, value in results["machine"].items()]
        + [f"{name} {value}" for name, value in versions.items()]
    )
    text = f"{markdown(results['records'])}\nA run of {results['seconds']:.0f} s. {facts}.\n"
    if find_curves(results["records"]) is not None:
        text += f"\n![Time and memory of a fit against the number of rows](bench/{PICTURE})\n"
    return text


def verdicts(lines: Sequence[Mapping[str, str]], name: str) -> str:
    """Return one of ours beside each rival: median and range over data sets, and where better."""
    ours = {line["data"]: line for line in lines if line["method"] == name}
    rivals = [
        [
            (ours[line["data"]], line)
            for line in lines
            if line["method"] == rival and line["data"] in ours
        ]
        for rival in RIVALS
    ]
    rows = [[f"{name} beside", *RIVALS], ["---", *["---"] * len(rivals)]]
    rows.append(["data sets", *(str(len(pairs)) for pairs in rivals)])
    for text, column in QUESTIONS.items():
        rows.append([text, *(_compared(pairs, column) for pairs in rivals)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def all_verdicts(lines: Sequence[Mapping[str, str]]) -> str:
    """Return the tables of all of ours that were measured."""
    measured = {line["method"] for line in lines}
    return "\n".join(verdicts(lines, name) for name in OURS if name in measured)


def _compared(pairs: Sequence[tuple[Mapping[str, str], Mapping[str, str]]], column: str) -> str:
    if not pairs:
        return "–"
    values = [tuple(float(line[column].replace(",", "")) for line in pair) for pair in pairs]
    if column == "accuracy":
        found = [ours - theirs for ours, theirs in values]
        texts = [f"{value:+.2f}" for value in (median(found), min(found), max(found))]
        n_better = sum(value > 0.0 for value in found)
    else:
        found = [ours / theirs for ours, theirs in values]
        texts = [f"{value:.2g}" for value in (median(found), min(found), max(found))]
        texts[0] += " ×"
        n_better = sum(value < 1.0 for value in found)
    middle, least, most = (text.replace("-", "−") for text in texts)
    return f"{middle} ({least} to {most}), better on {n_better}"


def accuracies(lines: Sequence[Mapping[str, str]]) -> str:
    """Return accuracy and fit time: a line per data set, a column per method, the best in bold."""
    cells: dict[str, dict[str, Mapping[str, str]]] = {}
    for line in lines:
        cells.setdefault(line["data"], {})[line["method"]] = line
    text = f"| data set | {' | '.join(METHODS)} |\n| --- |{' ---: |' * len(METHODS)}\n"
    for data, found in cells.items():
        best = max(float(line["accuracy"]) for line in found.values())
        shown = [_cell(found[name], best) if name in found else "–" for name in METHODS]
        text += f"| {title_of(data)} | {' | '.join(shown)} |\n"
    return text


def _cell(line: Mapping[str, str], best: float) -> str:
    accuracy = f"{line['accuracy']} %"
    if float(line["accuracy"]) == best:
        accuracy = f"**{accuracy}**"
    return f"{accuracy}<br>{line['seconds']} s"


def with_table(page: str, name: str, text: str) -> str:
    """Replace what stands between two marker comments."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page has no markers {begin.strip()} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def update(folder: Path, docs: Path = DOCS) -> None:
    """Copy the files of runs, and draw their tables and the picture of every size again."""
    stored = docs / "results" / "bench"
    stored.mkdir(parents=True, exist_ok=True)
    for file, name in TABLES.items():
        if (folder / file).exists():
            results = json.loads((folder / file).read_text(encoding="utf-8"))
            if results["quick"]:
                raise ValueError(f"{folder / file} is of a quick run, whose numbers mean nothing")
            _put(docs / "results" / "BENCHMARKS.md", name, section(results))
            _copy(folder / file, stored)
    if (folder / PICTURE).exists():
        _copy(folder / PICTURE, stored)
    if lines := read_rows(folder / large.EVERY_SIZE):
        _put(docs / "results" / "BENCHMARKS.md", "every-size", large.table(lines))
        _put(docs / "benchmarks.md", "verdicts", all_verdicts(lines))
        _put(docs / "benchmarks.md", "every-size", accuracies(lines))
        _copy(folder / large.EVERY_SIZE, stored)
        draw_every_size(lines, stored / "every_size.png")


def _put(page: Path, name: str, text: str) -> None:
    page.write_text(with_table(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def _copy(path: Path, folder: Path) -> None:
    if path.parent.resolve() != folder.resolve():
        shutil.copyfile(path, folder / path.name)


if __name__ == "__main__":
    update(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
