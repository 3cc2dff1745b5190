"""The figures of one GPU: whole fits, their phases, and how much of the memory bandwidth is used.

    PYTHONPATH=src python3 -m benchmarks.gpu [--device cuda] [--skin FILE.npz] [--quick] [--out DIR]

Needs PyTorch, NumPy, SciPy and scikit-learn, and no data set: without --skin (arrays X and y)
accuracy is compared on made-up rows of the same shape. Inputs are NumPy arrays in the computer's
memory; their checks and their way to the device count.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn import config_context
from sklearn.base import clone

from benchmarks.data import Split, halves, make_rows
from benchmarks.measure import Record, at_least, at_most, machine, seconds, versions
from benchmarks.processes import ROOT
from benchmarks.stopwatches import TimedSelection, phases
from benchmarks.tables import details, terminal
from fcgboost import AllCandidates, FCGBoostClassifier, GaussDictionary, SampledCandidates

RESULTS = ROOT / "build" / "bench"
WIDTH = 0.3
# Share of the device's free memory that a stored dictionary may take.
SHARE = 0.8


@dataclass(frozen=True)
class Sizes:
    """How large the figures are."""

    runs: int = 3
    skin_rows: int = 245_057
    skin_steps: int = 103
    large_rows: int = 1_000_000
    large_columns: int = 28
    large_candidates: int = 1024
    large_steps: int = 269
    stored_candidates: int = 65_536
    stored_steps: int = 30
    bandwidth_entries: int = 2**30


QUICK = Sizes(1, 600, 5, 1000, 28, 16, 5, 100, 4, 2**16)


class Device:
    """A device of PyTorch: its name for the estimator, its clock, its memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.torch = "cpu" if name in ("cpu", "torch") else name
        self.is_cuda = self.torch.startswith("cuda")

    def synchronise(self) -> None:
        """Wait until the device has done what it was asked to do."""
        if self.is_cuda:
            torch.cuda.synchronize(self.torch)
        elif self.torch.startswith("mps"):
            torch.mps.synchronize()

    def seconds(self, work: Callable[[], Any]) -> float:
        """Time a piece of work to its end on the device."""

        def whole() -> None:
            work()
            self.synchronise()

        self.synchronise()
        return seconds(whole)

    def fastest(self, work: Callable[[], Any], runs: int = 10) -> float:
        work()
        return min(self.seconds(work) for _ in range(runs))

    def room(self) -> int:
        """Give the MiB that a stored dictionary may take."""
        free = torch.cuda.mem_get_info(self.torch)[0] if self.is_cuda else 2**30
        return int(SHARE * free) // 2**20

    def describe(self) -> str:
        return torch.cuda.get_device_name(self.torch) if self.is_cuda else self.torch


def bandwidths(device: Device, sizes: Sizes) -> dict[str, float]:
    """Measure what the device's memory gives, in GB/s: a copy, and a float32 product."""
    n = sizes.bandwidth_entries
    source = torch.ones(n, dtype=torch.float32, device=device.torch)
    target = torch.empty_like(source)
    copy = 8 * n / device.fastest(lambda: target.copy_(source)) / 1e9
    columns = 2 ** (n.bit_length() // 2)
    matrix, vector = source.view(-1, columns), target[:columns]
    product = 4 * n / device.fastest(lambda: matrix @ vector) / 1e9
    transposed = matrix.T
    vector = target[: len(matrix)]
    product = max(product, 4 * n / device.fastest(lambda: transposed @ vector) / 1e9)
    return {"copy (GB/s)": copy, "float32 product (GB/s)": product}


def gauss(device: str, n_steps: int, **parameters: Any) -> FCGBoostClassifier:
    return FCGBoostClassifier(
        GaussDictionary(width=WIDTH), max_iter=n_steps, device=device, random_state=0, **parameters
    )


def time_fit(
    device: Device, name: str, clf: FCGBoostClassifier, rows: tuple[Any, Any], runs: int
) -> Record:
    """Time a whole fit, and one more in phases, with parts that wait for the device."""
    times = [device.seconds(lambda: clf.fit(*rows)) for _ in range(runs)]
    parts = phases(clone(clf), clf.selection, *rows, device.synchronise)
    return Record(
        name,
        unit="s",
        ours=statistics.median(times),
        details={
            "runs": runs,
            "first run (s)": times[0],
            "atoms": clf.n_atoms_,
            **{f"{phase} (s)": value for phase, value in parts.items()},
        },
    )


def all_candidates(device: Device, sizes: Sizes, split: Split | None) -> Iterator[Record]:
    """Fit with all candidates: on distinct rows, where n = m, and on the public set if given."""
    m, n_steps = sizes.skin_rows // 2, sizes.skin_steps
    clf = gauss(device.name, n_steps, selection=AllCandidates())
    bound = at_most(1.5, of="ours")
    name = f"all candidates, m = n = {m:,}, d = 3, {n_steps} steps, dictionary included"
    record = time_fit(device, name, clf, make_rows(m, 3), sizes.runs)
    yield replace(record, bound=bound)
    if split is not None:
        # Many of its rows are equal: as many candidates as rows come from their bounding box.
        clf.set_params(dictionary__centers="box", n_candidates=len(split.y))
        name = f"all candidates, Skin_NonSkin, m = n = {len(split.y):,}, {n_steps} steps"
        record = time_fit(device, name, clf, (split.X, split.y), sizes.runs)
        accuracy = {"accuracy (%)": 100.0 * clf.score(split.X_test, split.y_test)}
        yield replace(record, bound=bound, details={**record.details, **accuracy})


def sampled(device: Device, sizes: Sizes) -> Iterator[Record]:
    """Fit a million rows with fresh candidates in every step."""
    m, d, n_steps = sizes.large_rows, sizes.large_columns, sizes.large_steps
    clf = FCGBoostClassifier(
        "gauss",
        selection=SampledCandidates(sizes.large_candidates),
        max_iter=n_steps,
        device=device.name,
        random_state=0,
    )
    name = f"{m:,} x {d}, {sizes.large_candidates} sampled candidates, {n_steps} steps"
    record = time_fit(device, name, clf, make_rows(m, d), sizes.runs)
    yield replace(record, bound=at_most(3.0, of="ours"))


def stored_pass(device: Device, sizes: Sizes) -> Iterator[Record]:
    """Compare a pass over a stored dictionary with what the memory gives."""
    measured = bandwidths(device, sizes)
    m, n = sizes.skin_rows // 2, min(sizes.stored_candidates, sizes.skin_rows // 2)
    watch = TimedSelection(AllCandidates(store=True), device.synchronise)
    clf = gauss(device.name, sizes.stored_steps, selection=watch, n_candidates=n)
    clf.fit(*make_rows(m, 3))
    # The first pass may do work that later ones need not do again.
    step = statistics.median(watch.scoring[1:])
    yield Record(
        f"a pass over a stored dictionary, {m:,} x {n:,} as float32, beside the memory's bandwidth",
        unit="GB/s",
        ours=4.0 * m * n / step / 1e9,
        baseline=max(measured.values()),
        baseline_name=f"the better of a copy and a product, PyTorch {torch.__version__}",
        bound=at_least(0.7),
        details={**measured, "pass (ms)": 1e3 * step, "passes": len(watch.scoring) - 1},
    )


def accuracy(device: Device, sizes: Sizes, name: str, split: Split) -> Iterator[Record]:
    """Fit the same on the device and on the processor."""
    results = {}
    for where in (device.name, "cpu"):
        clf = gauss(where, sizes.skin_steps, selection=SampledCandidates(64), n_jobs=-1)
        start = time.perf_counter()
        clf.fit(split.X, split.y)
        device.synchronise()
        score = 100.0 * clf.score(split.X_test, split.y_test)
        results[where] = (score, time.perf_counter() - start)
    (ours, our_time), (cpu, cpu_time) = results[device.name], results["cpu"]
    yield Record(
        f"{name}: distance of the test accuracy from the processor's, 64 sampled candidates",
        unit="points",
        ours=abs(ours - cpu),
        bound=at_most(0.1, of="ours"),
        details={
            "accuracy (%)": ours,
            "processor's accuracy (%)": cpu,
            "fit and score (s)": our_time,
            "processor's (s)": cpu_time,
        },
    )


def measure(device: Device, sizes: Sizes, skin: Path | None) -> Iterator[Record]:
    """Measure all figures, after a small fit of each kind that loads and compiles code."""
    split = None
    name, rows = "made-up rows of Skin_NonSkin's shape", make_rows(sizes.skin_rows, 3)
    if skin is not None:
        with np.load(skin) as arrays:
            name, rows = "Skin_NonSkin", (arrays["X"], arrays["y"])
        split = halves(*rows, seed=0)
    for selection in (AllCandidates(), SampledCandidates(16)):
        gauss(device.name, 3, selection=selection).fit(*make_rows(500, 3))
    with config_context(working_memory=device.room()):
        yield from all_candidates(device, sizes, split)
        yield from sampled(device, sizes)
        yield from stored_pass(device, sizes)
    yield from accuracy(device, sizes, name, split or halves(*rows, seed=0))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help='"cuda", "cuda:1", "mps" or "torch"')
    parser.add_argument("--skin", type=Path, metavar="FILE", help="an .npz of Skin_NonSkin: X, y")
    parser.add_argument("--quick", action="store_true", help="small sizes: does the script work?")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args(argv)
    device, sizes = Device(options.device), QUICK if options.quick else Sizes()
    start, about = time.perf_counter(), {"figure": "gpu", "versions": versions(), "threads": None}
    records = []
    for record in measure(device, sizes, options.skin):
        records.append({**about, **record.as_dict()})
        print(f"{record.name}: {time.perf_counter() - start:.0f} s so far", file=sys.stderr)
    results = {
        "quick": options.quick,
        "seconds": time.perf_counter() - start,
        "machine": {"device": device.describe(), **machine()},
        "records": records,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, ensure_ascii=False, default=float)
    (options.out / "gpu.json").write_text(text + "\n", encoding="utf-8")
    print(f"{terminal(records)}\n\n{details(records)}\n\nwritten to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
