"""Measure every figure, each in a process of its own, and print, store and draw the result."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import FIGURES
from benchmarks.measure import Record, machine
from benchmarks.picture import draw_growth, find_curves
from benchmarks.processes import ROOT, ProcessError, call
from benchmarks.tables import details, terminal

RESULTS = ROOT / "build" / "bench"


def measure(name: str, quick: bool) -> list[dict[str, Any]]:
    """Give the records of one figure; one that failed says so and does not stop the others."""
    figure = FIGURES[name]
    about = {"figure": name, "threads": figure.threads}
    try:
        target = "benchmarks.figures:run_figure"
        result = call(target, {"name": name, "quick": quick}, figure.threads, figure.limit)
    except ProcessError as error:
        record = Record(figure.title, reason=f"failed: {error}").as_dict()
        return [{**about, "versions": {}, "failed": True, **record}]
    records = result.pop("records")
    print(f"{name}: {result['seconds']:.0f} s", file=sys.stderr)
    return [{**about, "failed": False, **result, **record} for record in records]


def summary(records: Sequence[dict[str, Any]]) -> str:
    judged = [record["met"] for record in records if record["met"] is not None]
    skipped = sum(bool(record["reason"]) for record in records)
    return f"{sum(judged)} of {len(judged)} bounds met; {skipped} not measured"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument(
        "--quick", action="store_true", help="small made-up data: do the scripts work?"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args(argv)
    start = time.perf_counter()
    records = [record for name in options.only for record in measure(name, options.quick)]
    seconds = time.perf_counter() - start
    results = {
        "quick": options.quick,
        "seconds": seconds,
        "machine": machine(),
        "records": records,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False)
    (options.out / "latest.json").write_text(text + "\n", encoding="utf-8")
    curves = find_curves(records)
    if curves is not None:
        draw_growth(curves, options.out / "growth.png")
    print(f"{terminal(records)}\n\n{details(records)}")
    print(f"\n{summary(records)}; {seconds:.0f} s in all; written to {options.out}")
    return int(any(record["failed"] for record in records))


if __name__ == "__main__":
    sys.exit(main())
