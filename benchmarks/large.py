"""Our presets beside rivals, from 300 rows to ten million: time, quality, size, prediction, memory.

    python -m benchmarks.large [quick] [--only NAME ...] [--methods NAME ...]

Every fit has a process of its own, made ready by a small fit before the clock starts. Seconds are
those of the processor in one thread; of the ten million rows, where every method has two threads,
those of the clock. The rivals are set in rivals.toml. Every fit is a row of build/bench/large.csv
(large_quick.csv) as soon as it is done; the table is drawn from this file, with the last row of
every split, so that pieces can be run one by one. `--only` takes patterns such as "magic-*". The
table is also written to build/bench/every_size.csv, for `python -m benchmarks.page`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

from benchmarks.large_fit import METHODS
from benchmarks.large_sets import SETS
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.stored_rows import append_row, read_rows, write_rows
from benchmarks.tables import number

FOLDER = ROOT / "build" / "bench"
EVERY_SIZE = "every_size.csv"
BASE = "lightgbm"
QUICK_SPLITS = 2
#: From so many rows on, memory is that of the method and not of the allocator.
MANY_ROWS = 1_000_000
#: Seconds after which a fit is given up.
LIMIT = 4 * 3600.0

Row = Mapping[str, str]

HEADINGS = {
    "data": "data set",
    "method": "method",
    "seconds": "fit, s",
    "ratio": "× LightGBM",
    "accuracy": "accuracy, %",
    "log_loss": "log-loss",
    "n_numbers": "numbers",
    "n_bytes": "file, kB",
    "one_row": "1 row, µs",
    "many_rows": "10,000 rows, ms",
    "mebibytes": "memory, MiB",
    "note": "note",
}


def measure(data: str, methods: Sequence[str], n_splits: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of all fits to a data set; a fit that fails says so and gives none."""
    for split in range(n_splits):
        for method in methods:
            arguments = {"data": data, "method": method, "split": split}
            try:
                rows = call("benchmarks.large_fit:point", arguments, SETS[data].threads, LIMIT)
            except ProcessError as error:
                _say(f"{data}, {method}: {error}")
                continue
            if not rows:
                _say(f"{data} is not on this machine and left out")
                return
            for row in rows:
                _say(f"{data}, {row['method']}, split {split}: {row['seconds']:.2f} s")
            yield from rows


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def lines(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return one line per data set and method: the means over the last rows of all splits."""
    last = {(row["data"], row["method"], row["split"]): row for row in rows}
    groups: dict[tuple[str, str], list[Row]] = {}
    for (data, method, _), row in last.items():
        groups.setdefault((data, method), []).append(row)
    return [
        _cells(groups[data, method], groups.get((data, METHODS[BASE].title)))
        for data, method in sorted(groups, key=_place)
    ]


def table(found: Sequence[Mapping[str, str]]) -> str:
    """Return lines in Markdown."""
    rule = ["---", "---", *["---:"] * (len(HEADINGS) - 3), "---"]
    texts = [[*HEADINGS.values()], rule, *([line[name] for name in HEADINGS] for line in found)]
    return "".join(f"| {' | '.join(line)} |\n" for line in texts)


def _place(key: tuple[str, str]) -> tuple[int, int, str]:
    """Return what orders lines: the data set, the method, and all fits before the chosen one."""
    data, method = key
    titles = [method.title for method in METHODS.values()]
    return list(SETS).index(data), titles.index(method.partition(",")[0]), method


def _cells(rows: Sequence[Row], base: Sequence[Row] | None) -> dict[str, str]:
    def mean(name: str, of: Sequence[Row] = rows) -> float:
        return statistics.fmean(float(row[name]) for row in of)

    is_large = int(rows[0]["rows"]) >= MANY_ROWS
    texts = {
        **{name: number(mean(name)) for name in ("seconds", "n_numbers", "one_row", "many_rows")},
        "data": rows[0]["data"] + (f" ({len(rows)} splits)" if len(rows) > 1 else ""),
        "method": rows[0]["method"],
        "ratio": "–" if base is None else number(mean("seconds") / mean("seconds", base)),
        "accuracy": f"{mean('accuracy'):.2f}",
        "log_loss": f"{mean('log_loss'):.4f}",
        "n_bytes": number(mean("n_bytes") / 1e3),
        "mebibytes": number(mean("mebibytes")) if is_large else "–",
        # What was chosen differs from split to split.
        "note": rows[0]["note"] if len(rows) == 1 else "",
    }
    return {name: texts[name] for name in HEADINGS}


def chosen_sets(patterns: Sequence[str], is_quick: bool) -> list[str]:
    """Return the names of the data sets that some pattern fits; a quick run has few."""
    named = [name for name in SETS if any(fnmatch(name, pattern) for pattern in patterns)]
    return [name for name in named if SETS[name].is_quick or not is_quick]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print the table of all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("quick", nargs="?", choices=["quick"], help="few rows, few splits")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME")
    options = parser.parse_args(argv)
    path = FOLDER / ("large_quick.csv" if options.quick else "large.csv")
    methods = [name for name in options.methods or METHODS if _is_there(name)]
    for data in chosen_sets(options.only, bool(options.quick)):
        left_out = () if options.methods else SETS[data].left_out
        if left_out:
            _say(f"{data}: left out, because they take hours: {', '.join(left_out)}")
        n_splits = min(SETS[data].n_splits, QUICK_SPLITS) if options.quick else SETS[data].n_splits
        own = [name for name in methods if name not in left_out]
        for row in measure(data, own, n_splits):
            append_row(path, row)
    found = lines(read_rows(path))
    if found and not options.quick:
        write_rows(FOLDER / EVERY_SIZE, found)
    print(table(found))


def _is_there(name: str) -> bool:
    """Whether a method is installed; one that is not is left out with a word."""
    if not METHODS[name].is_installed:
        _say(f"{METHODS[name].title} is not installed and left out")
    return METHODS[name].is_installed


if __name__ == "__main__":
    main()
