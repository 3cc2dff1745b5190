"""Our regressor and its rivals on five tables and on counts, for five goals.

    python -m benchmarks.regression [--goals NAME ...] [--only PATTERN ...] [--methods NAME ...]
                                    [--rows N ...] [--splits N] [--resume]

Goals are the mean (root mean squared error), the median (absolute error), the quantiles 0.1 and 0.9
(pinball loss), all on tables, and the rate of counts (Poisson deviance). Training rows are 3,000,
9,000 and up to 40,000, at most 70 % of a table; medians and quantiles stop at 9,000. Rivals have
their defaults and native categories. Every fit has one thread and a process of its own, made ready
by a small fit before the clock starts. It is a row of build/bench/regression.csv as soon as it is
done; the report is drawn from this file. `--splits 0` measures nothing, `--resume` only what has no
row yet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any, NamedTuple

from benchmarks.mid_sets import SIZES
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.regression_fit import GOALS, METHODS
from benchmarks.regression_report import report
from benchmarks.regression_sets import DIVISORS, N_COUNTS, TABLES
from benchmarks.stored_rows import append_row, read_rows

PATH = ROOT / "build" / "bench" / "regression.csv"
N_SPLITS = 3
#: Seeds of counts, for every three splits of tables.
N_DRAWS = 5
#: The most training rows for medians and quantiles.
MOST_ROWS = 9_000
#: Seconds after which a fit is given up.
LIMIT = 3600.0


class Fit(NamedTuple):
    """A method on a random split of a table."""

    goal: str
    data: str
    method: str
    size: int
    split: int


def plan(goals: Sequence[str], sizes: Sequence[int], n_splits: int) -> Iterator[Fit]:
    """Yield all fits: whole splits first, to be of use early."""
    for split in range(max(n_splits, N_DRAWS)):
        for goal in goals:
            for data, size in _places(goal, sizes):
                if split < (N_DRAWS if goal == "rate" and n_splits else n_splits):
                    for method, contestant in METHODS.items():
                        if contestant.has(goal):
                            yield Fit(goal, data, method, size, split)


def _places(goal: str, sizes: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield tables, and numbers of training rows."""
    if goal == "rate":
        for data in DIVISORS:
            yield data, N_COUNTS
        return
    for size in sizes:
        if goal == "mean" or size <= MOST_ROWS:
            for data, table in TABLES.items():
                if table.n_train(size):
                    yield data, size


def measure(fits: Iterable[Fit]) -> Iterator[dict[str, Any]]:
    """Yield a row per fit; one that fails, or has no data, says so and gives none."""
    for fit in fits:
        about = f"{fit.goal}, {fit.data}, {fit.size:,} rows, split {fit.split}, {fit.method}"
        try:
            row = call("benchmarks.regression_fit:point", fit._asdict(), threads=1, limit=LIMIT)
        except ProcessError as error:
            _say(f"{about}: {error}")
            continue
        if row is not None:
            _say(f"{about}: {row['score']:.5g}, {row['cpu']:.2f} s")
            yield row


def key_of(row: dict[str, str]) -> Fit:
    """Return the fit that a row of the file is of."""
    return Fit(row["goal"], row["data"], row["method"], int(row["size"]), int(row["split"]))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and report all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regression", description=__doc__)
    parser.add_argument("--goals", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--splits", type=int, default=N_SPLITS, metavar="N")
    parser.add_argument("--resume", action="store_true", help="leave out what has a row")
    options = parser.parse_args(argv)
    methods = [name for name in options.methods if _is_there(name)]
    done = {key_of(row) for row in read_rows(PATH)} if options.resume else set()
    fits = (
        fit
        for fit in plan(options.goals, options.rows, options.splits)
        if fit.method in methods
        and fit not in done
        and any(fnmatch(fit.data, pattern) for pattern in options.only)
    )
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
