"""Wrong labels: how well they are ranked and counted, by ours and by four rivals' folds.

    python -m benchmarks.labels [--only PATTERN ...] [--methods NAME ...] [--kinds PATTERN ...]
                                [--draws N ...] [--report] [--quick]

`benchmarks.labels_sets` says which tables, and how labels are flipped. Rivals have their defaults,
five folds and native categories where they know them; their out-of-fold probabilities rank labels
as they are, and as cleanlab adjusts them (`adjust_pred_probs=True`). Every fit has one thread; CPU
time includes all folds. A table, draw and method are one process, whose rows are added to
build/bench/labels.csv; what is there is not measured again. `--report` measures nothing, `--quick`
one small table. The report is of the draws and methods asked for. Draws 100 and 101 served to
develop.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatch

from benchmarks.labels_fit import JUDGES
from benchmarks.labels_report import report
from benchmarks.labels_sets import CLEAN, KINDS, TABLES
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.stored_rows import append_row, read_rows

PATH = ROOT / "build" / "bench" / "labels.csv"
DRAWS = (0, 1, 2)
#: Seconds after which a table, draw and method are given up.
LIMIT = 7200.0


def measure(data: str, draw: int, method: str, kinds: Sequence[str]) -> None:
    """Measure the kinds of noise that have no row yet."""
    done = {
        row["kind"]
        for row in read_rows(PATH)
        if (row["data"], int(row["draw"]), row["method"]) == (data, draw, method)
    }
    kinds = [kind for kind in kinds if kind not in done]
    if not kinds:
        return
    arguments = {"data": data, "draw": draw, "method": method, "kinds": kinds}
    try:
        rows = call("benchmarks.labels_fit:points", arguments, threads=1, limit=LIMIT)
    except ProcessError as error:
        print(f"{data}, draw {draw}, {method}: {error}", file=sys.stderr)
        return
    for row in rows or ():
        append_row(PATH, row)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and report all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--methods", nargs="+", choices=JUDGES, default=list(JUDGES))
    parser.add_argument("--kinds", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--draws", nargs="+", type=int, default=list(DRAWS), metavar="N")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--quick", action="store_true", help="one small table")
    options = parser.parse_args(argv)
    if options.quick:
        options.only = ["breast_cancer"]
        options.draws = options.draws[:1]
    kinds = [kind for kind in (CLEAN, *KINDS) if _matches(kind, options.kinds)]
    for draw in [] if options.report else options.draws:
        for method in options.methods:
            for data in TABLES:
                if _matches(data, options.only):
                    measure(data, draw, method, kinds)
    rows = [row for row in read_rows(PATH) if int(row["draw"]) in options.draws]
    print(report([row for row in rows if row["method"] in options.methods]))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


if __name__ == "__main__":
    main()
