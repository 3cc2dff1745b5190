"""The figures of a Dask cluster on one machine: speed-up, overhead, traffic, and a cost model's.

    python -m benchmarks.cluster [--only FIGURE ...] [--quick] [--out DIR]

Needs the extra `dask`. All rows are made up, in the processes that fit them. Every process has one
thread, every fit is run in new processes, and the time of a path is taken without loading the rows,
which is told beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import Record, at_least, at_most, machine, versions
from benchmarks.processes import ROOT, call
from benchmarks.tables import details, terminal

RESULTS = ROOT / "build" / "bench"
LIMIT = 1800.0
#: What the rounds of a fit cost -> what it is called in the table.
COSTS = {
    "per row and candidate": "scoring, per row and candidate",
    "per row, other rounds of a step": "other rounds of a step, per row",
    "per row and point": "a Newton point, per row",
    "per row, point and column": "a Newton point, per row and column",
}


@dataclass(frozen=True)
class Sizes:
    """How large the figures are."""

    n_blocks: int = 16
    block_rows: int = 125_000
    n_features: int = 20
    n_candidates: int = 128
    n_steps: int = 100
    runs: int = 2
    tiny_rows: int = 400
    tiny_candidates: int = 64
    tiny_runs: int = 3
    n_workers: tuple[int, ...] = (1, 2, 8)
    traffic_rows: int = 20_000

    @property
    def n_rows(self) -> int:
        return self.n_blocks * self.block_rows


QUICK = Sizes(4, 500, 4, 64, 6, 1, 200, 64, 1, (1, 2), 400)


def side_by_side(sizes: Sizes, n_processes: int) -> list[dict[str, Any]]:
    """Fit equal shares of the blocks in so many processes at once."""
    edges = [i * sizes.n_blocks // n_processes for i in range(n_processes + 1)]
    with tempfile.TemporaryDirectory() as meet, ThreadPoolExecutor() as pool:
        questions = [
            {
                "first": a,
                "last": b,
                "sizes": asdict(sizes),
                "meet": meet,
                "n_processes": n_processes,
            }
            for a, b in itertools.pairwise(edges)
        ]
        target = "benchmarks.cluster_fits:fit_in_memory"
        return list(pool.map(lambda question: call(target, question, 1, LIMIT), questions))


def speedup(sizes: Sizes) -> Iterator[Record]:
    """Compare two workers with two fits of half the rows, which have nothing to tell each other."""
    halves, pairs = [], []
    for _ in range(sizes.runs):
        halves.append(side_by_side(sizes, 2))
        pairs.append(on_workers(sizes, 2))
    (whole,), alone = side_by_side(sizes, 1), on_workers(sizes, 1)
    side = statistics.median(max(fit["path"] for fit in both) for both in halves)
    pair = statistics.median(fit["path"] for fit in pairs)
    shape = f"{sizes.n_rows:,} x {sizes.n_features}, {sizes.n_candidates} sampled candidates"
    yield Record(
        f"{shape}, {sizes.n_steps} steps: speed-up of the path on two workers, in-memory = 1",
        unit="×",
        ours=whole["path"] / pair,
        baseline=whole["path"] / side,
        baseline_name="two in-memory fits of half the rows, side by side",
        bound=at_least(0.85),
        details=about_speed(whole, halves, alone, pairs),
    )
    for key, name in COSTS.items():
        cost = statistics.median(fit["costs"][key] for fit in pairs)
        facts = {k: v for k, v in pairs[0]["costs"].items() if k not in COSTS}
        yield Record(f"one thread of a worker: {name}", unit="ns", ours=1e9 * cost, details=facts)


def about_speed(whole: Any, halves: list[Any], alone: Any, pairs: list[Any]) -> dict[str, Any]:
    """Tell the times behind the speed-ups, and what may explain them."""
    return {
        "all rows in memory, one process (s)": whole["path"],
        "halves side by side, the slower one (s)": [max(f["path"] for f in b) for b in halves],
        "two workers (s)": [fit["path"] for fit in pairs],
        "one worker (s)": alone["path"],
        "one worker / two workers": alone["path"] / statistics.median(f["path"] for f in pairs),
        "seconds of processors: memory": whole["processor"],
        "of the halves": [sum(f["processor"] for f in b) for b in halves],
        "of two workers and their client": [fit["processor"] for fit in pairs],
        "rows of the workers": [fit["rows"] for fit in pairs],
        "peak memory: one process (GiB)": whole["peaks"][0],
        "peak memory: one worker (GiB)": alone["peaks"][0],
        "Newton iterations per step: memory": whole["newton"],
        "halves": [f["newton"] for f in halves[0]],
        "two workers": pairs[0]["newton"],
        "loading before the path: memory (s)": whole["load"],
        "loading: two workers, rows made there (s)": pairs[0]["load"],
        "distance of the last objectives": abs(whole["objective"] - pairs[0]["objective"]),
        "load of the machine at the end": os.getloadavg()[0],
    }


def on_workers(sizes: Sizes, n_workers: int) -> Any:
    question = {"n_workers": n_workers, "sizes": asdict(sizes)}
    return call("benchmarks.cluster_fits:fit_on_workers", question, 1, LIMIT)


def overhead(sizes: Sizes) -> Iterator[Record]:
    """Time steps and rounds with next to no work."""

    def ask(n_workers: int, direct: bool = False) -> Any:
        question = {"n_workers": n_workers, "sizes": asdict(sizes), "direct": direct}
        return call("benchmarks.cluster_fits:tiny_fits", question, 1, LIMIT)

    found, direct = {n: ask(n) for n in sizes.n_workers}, ask(2, True)
    two = found[2]
    yield Record(
        f"{sizes.tiny_rows} rows, d = 3, {sizes.tiny_candidates} candidates, two workers: a step",
        unit="ms",
        ours=1e3 * two["step"],
        baseline=1e3 * two["memory"],
        baseline_name="the same rows in memory",
        bound=at_most(30.0, of="difference"),
        details={
            "rounds per step": two["rounds per step"],
            "Newton points per step": two["points per step"],
            "direct_to_workers=True: step (ms)": 1e3 * direct["step"],
            **{f"{n} workers: step (ms)": 1e3 * found[n]["step"] for n in found},
            "load of the machine at the end": os.getloadavg()[0],
        },
    )
    few, many = min(found), max(found)
    each = (found[many]["round"] - found[few]["round"]) / (many - few)
    latency = {f"{n} workers (ms)": 1e3 * found[n]["round"] for n in found}
    latency["two workers, direct_to_workers=True (ms)"] = 1e3 * direct["round"]
    name = "a round with next to no work"
    yield Record(f"{name}, two workers", unit="ms", ours=1e3 * two["round"], details=latency)
    yield Record(f"{name}: each further worker, on this machine", unit="ms", ours=1e3 * each)


def traffic(sizes: Sizes) -> Iterator[Record]:
    """Count what the network carries, by way of the scheduler and directly."""
    for direct, way in ((False, "by way of the scheduler"), (True, "direct_to_workers=True")):
        question = {"sizes": asdict(sizes), "direct": direct}
        found = call("benchmarks.cluster_fits:count_traffic", question, 1, LIMIT)
        hops = 1 if direct else 2
        shape = f"d = {sizes.n_features}, {sizes.n_candidates} candidates, {sizes.n_steps} steps"
        yield Record(
            f"bytes per step, two workers, {shape}, {way}",
            unit="kB",
            ours=found["measured"] / 1e3,
            baseline=hops * found["needed"] / 1e3,
            baseline_name=f"what must travel, {hops} hop{'s' if hops > 1 else ''}",
            details={k: v for k, v in found.items() if k.startswith(("needed:", "points"))},
        )
        name = f"a byte from a worker to the client on this machine, {way}"
        yield Record(name, unit="ns", ours=1e9 * found["per byte"])


def needed_bytes(
    q: int, d: int, n_workers: int, columns: tuple[float, float], points: float
) -> dict[str, float]:
    """Return the bytes of float64 that a step needs, for one output and a partition per worker.

    Parameters
    ----------
    q, d, n_workers : int
    columns : tuple of float
        The mean numbers of columns, and of their squares.
    points : float
        Newton points per step.
    """
    k, k_squared = columns
    drawn = (q + 4.0 * q**0.5 + 8.0) / n_workers
    numbers = {
        "draw": drawn * (d + 4),
        "candidates": q * (d + 1),
        "scores": 3.0 * q,
        "exact scores, the new atom": d + 1 + 6.0,
        "coefficients": points * k,
        "gradients": points * (k + 1.0),
        "Gram matrices": points * k_squared,
    }
    return {name: 8.0 * n_workers * n for name, n in numbers.items()}


FIGURES: dict[str, Callable[[Sizes], Iterator[Record]]] = {
    "overhead": overhead,
    "traffic": traffic,
    "speedup": speedup,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    parser.add_argument("--runs", type=int, help="how often the two-sided fits are run")
    parser.add_argument("--quick", action="store_true", help="small sizes: does the script work?")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args(argv)
    sizes = QUICK if options.quick else Sizes()
    sizes = replace(sizes, runs=options.runs or sizes.runs)
    start, about = time.perf_counter(), {"versions": versions(), "threads": 1}
    records = []
    for figure in options.only:
        found = [record.as_dict() for record in FIGURES[figure](sizes)]
        records += [{"figure": figure, **about, **record} for record in found]
        print(f"{figure}: {time.perf_counter() - start:.0f} s so far", file=sys.stderr)
    results = {
        "quick": options.quick,
        "seconds": time.perf_counter() - start,
        "machine": machine(),
        "records": records,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False, default=float)
    (options.out / "cluster.json").write_text(text + "\n", encoding="utf-8")
    print(f"{terminal(records)}\n\n{details(records)}\n\nwritten to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
