"""Our default beside five rivals' on mid-size tables, with categories as each of them takes them.

    python -m benchmarks.mid [--only PATTERN ...] [--methods NAME ...] [--rows N ...]
                             [--splits N] [--resume]

Training rows are 3,000, 9,000 and up to 40,000, at most 70 % of a table; a table that is too small
for a number of rows is left out there. Every fit has one thread and a process of its own, made
ready by a small fit before the clock starts. It is a row of build/bench/mid.csv as soon as it is
done; the report is drawn from this file, with the last row of every fit, so that pieces can be run
one by one. `--splits 0` measures nothing, `--resume` only what has no row yet. `--only` takes
patterns such as "*_housing". Of mid-size files a data home has the folder mid; see docs/data.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any, NamedTuple

from benchmarks.mid_fit import METHODS
from benchmarks.mid_report import report
from benchmarks.mid_sets import SIZES, TABLES
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.stored_rows import append_row, read_rows

PATH = ROOT / "build" / "bench" / "mid.csv"
N_SPLITS = 3
#: Seconds after which a fit is given up.
LIMIT = 3600.0


class Fit(NamedTuple):
    """A method on a random split of a table."""

    data: str
    method: str
    size: int
    split: int


def plan(
    patterns: Sequence[str],
    methods: Sequence[str],
    sizes: Sequence[int],
    n_splits: int,
) -> list[Fit]:
    """Return what is asked for: whole splits first, to be of use early."""
    names = [name for name in TABLES if any(fnmatch(name, pattern) for pattern in patterns)]
    return [
        Fit(name, method, size, split)
        for split in range(n_splits)
        for size in sizes
        for name in names
        for method in methods
        if TABLES[name].n_train(size)
    ]


def measure(fits: Iterable[Fit]) -> Iterator[dict[str, Any]]:
    """Yield a row per fit; one that fails, or has no data, says so and gives none."""
    absent = set()
    for fit in fits:
        if fit.data in absent:
            continue
        about = f"{fit.data}, {fit.size:,} rows, split {fit.split}, {fit.method}"
        try:
            row = call("benchmarks.mid_fit:point", fit._asdict(), threads=1, limit=LIMIT)
        except ProcessError as error:
            _say(f"{about}: {error}")
            continue
        if row is None:
            absent.add(fit.data)
            _say(f"{fit.data} is not on this machine and left out")
            continue
        _say(f"{about}: AUC {row['auc']:.4f}, {row['cpu']:.2f} s")
        yield row


def key_of(row: dict[str, str]) -> Fit:
    """Return the fit that a row of the file is of."""
    return Fit(row["data"], row["method"], int(row["size"]), int(row["split"]))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and report all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mid", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--splits", type=int, default=N_SPLITS, metavar="N")
    parser.add_argument("--resume", action="store_true", help="leave out what has a row")
    options = parser.parse_args(argv)
    methods = [name for name in options.methods if _is_there(name)]
    fits = plan(options.only, methods, options.rows, options.splits)
    if options.resume:
        done = {key_of(row) for row in read_rows(PATH)}
        fits = [fit for fit in fits if fit not in done]
    for row in measure(fits):
        append_row(PATH, row)
    print(report(read_rows(PATH)))


def _is_there(name: str) -> bool:
    """Whether a method is installed; one that is not is left out with a word."""
    if not METHODS[name].is_installed:
        _say(f"{METHODS[name].title} is not installed and left out")
    return METHODS[name].is_installed


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
