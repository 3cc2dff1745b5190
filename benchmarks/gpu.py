"""The figures of one GPU: whole fits, their phases, and how much of the memory bandwidth is used.

    PYTHONPATH=src python3 -m benchmarks.gpu [--device cuda] [--only NAME ...] [--skin FILE.npz]
        [--covtype FILE.npz] [--cpu] [--quick] [--out DIR]

Needs PyTorch, NumPy, SciPy and scikit-learn, and no data set: without --skin (arrays X and y)
accuracy is compared on made-up rows of the same shape. Inputs are NumPy arrays in the computer's
memory; their checks and their way to the device count. Every record is written when it is there,
and figures that are not measured again stay in the file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn import config_context
from sklearn.base import clone

from benchmarks import gpu_default
from benchmarks.data import Split, halves, make_rows
from benchmarks.gpu_device import QUICK, Device, Sizes, bandwidths
from benchmarks.measure import Record, at_least, at_most, machine, versions
from benchmarks.processes import ROOT
from benchmarks.stopwatches import TimedSelection, phases
from benchmarks.tables import details, terminal
from fcgboost import AllCandidates, FCGBoostClassifier, GaussDictionary, SampledCandidates

RESULTS = ROOT / "build" / "bench"
WIDTH = 0.3


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


@dataclass(frozen=True)
class Run:
    """What the figures of drawn atoms need: the device, sizes, and a public set if it is given."""

    device: Device
    sizes: Sizes
    skin: Path | None

    @cached_property
    def split(self) -> Split | None:
        """Halves of Skin_NonSkin."""
        if self.skin is None:
            return None
        with np.load(self.skin) as arrays:
            return halves(arrays["X"], arrays["y"], seed=0)

    def get_ready(self) -> None:
        """Make a small fit of each kind, which loads and compiles code."""
        for selection in (AllCandidates(), SampledCandidates(16)):
            gauss(self.device.name, 3, selection=selection).fit(*make_rows(500, 3))


def all_candidates(run: Run) -> Iterator[Record]:
    """Fit with all candidates: on distinct rows, where n = m, and on the public set if given."""
    device, sizes, split = run.device, run.sizes, run.split
    m, n_steps = sizes.skin_rows // 2, sizes.skin_steps
    clf = gauss(device.name, n_steps, selection=AllCandidates())
    name = f"all candidates, m = n = {m:,}, d = 3, {n_steps} steps, dictionary included"
    record = time_fit(device, name, clf, make_rows(m, 3), sizes.runs)
    yield replace(record, bound=at_most(1.6, of="ours"))
    if split is not None:
        # Many of its rows are equal: as many candidates as rows come from their bounding box.
        clf.set_params(dictionary__centers="box", n_candidates=len(split.y))
        name = f"all candidates, Skin_NonSkin, m = n = {len(split.y):,}, {n_steps} steps"
        record = time_fit(device, name, clf, (split.X, split.y), sizes.runs)
        accuracy = {"accuracy (%)": 100.0 * clf.score(split.X_test, split.y_test)}
        details = {**record.details, **accuracy}
        yield replace(record, bound=at_most(1.3, of="ours"), details=details)


def sampled(run: Run) -> Iterator[Record]:
    """Fit a million rows with fresh ramps in every step."""
    sizes = run.sizes
    m, d, n_steps = sizes.large_rows, sizes.large_columns, sizes.large_steps
    clf = FCGBoostClassifier(
        "relu",
        selection=SampledCandidates(sizes.large_candidates),
        max_iter=n_steps,
        device=run.device.name,
        random_state=0,
    )
    name = f"{m:,} x {d}, {sizes.large_candidates} sampled ramps, {n_steps} steps"
    record = time_fit(run.device, name, clf, make_rows(m, d), sizes.runs)
    yield replace(record, bound=at_most(2.0, of="ours"))


def stored_pass(run: Run) -> Iterator[Record]:
    """Compare a pass over a stored dictionary with what the memory gives."""
    device, sizes = run.device, run.sizes
    measured = bandwidths(device, sizes)
    m, n = sizes.skin_rows // 2, min(sizes.stored_candidates, sizes.skin_rows // 2)
    watch = TimedSelection(AllCandidates(), device.synchronise)
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


def accuracy(run: Run) -> Iterator[Record]:
    """Fit the same on the device and on the processor."""
    device, sizes, split = run.device, run.sizes, run.split
    name = "Skin_NonSkin" if split is not None else "made-up rows of Skin_NonSkin's shape"
    split, results = split or halves(*make_rows(sizes.skin_rows, 3), seed=0), {}
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


#: Figures of drawn atoms, by name.
DRAWN: dict[str, Callable[[Run], Iterator[Record]]] = {
    "all": all_candidates,
    "sampled": sampled,
    "stored": stored_pass,
    "accuracy": accuracy,
}
FIGURES = (*DRAWN, *gpu_default.FIGURES)


def measure(run: Run, fits: gpu_default.Fits, names: Sequence[str]) -> Iterator[tuple[str, Record]]:
    """Measure figures, one record after the other."""
    if set(names) & set(DRAWN):
        run.get_ready()
    for name in names:
        if name in gpu_default.FIGURES:
            yield from ((name, record) for record in gpu_default.FIGURES[name](fits))
            continue
        with config_context(working_memory=run.device.room()):
            yield from ((name, record) for record in DRAWN[name](run))


class Results:
    """What was measured, in a file that other runs have written to."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self._path, self._about = path, about
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        is_alike = all(known.get(key) == value for key, value in about.items())
        self._records = known["records"] if is_alike else []
        self._before, self._start = known["seconds"] if is_alike else 0.0, time.perf_counter()

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records, in the order of the figures."""
        return sorted(self._records, key=lambda record: FIGURES.index(record["figure"]))

    @property
    def seconds(self) -> float:
        """What this run took so far."""
        return time.perf_counter() - self._start

    def forget(self, names: Sequence[str]) -> None:
        """Drop the records of figures that are measured again."""
        self._records = [record for record in self._records if record["figure"] not in names]

    def add(self, figure: str, record: Record) -> None:
        """Write a record down."""
        about = {"figure": figure, "versions": versions(), "threads": None}
        self._records.append({**about, **record.as_dict()})
        seconds = self._before + self.seconds
        results = {**self._about, "seconds": seconds, "records": self.records}
        text = json.dumps(results, indent=2, ensure_ascii=False, default=float)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", default="cuda", help='"cuda", "cuda:1", "mps" or "torch"')
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES, metavar="NAME")
    parser.add_argument("--skin", type=Path, metavar="FILE", help="an .npz of Skin_NonSkin: X, y")
    parser.add_argument("--covtype", type=Path, metavar="FILE", help="an .npz of covtype: X, y")
    parser.add_argument("--cpu", action="store_true", help="fit the default on the processor, too")
    parser.add_argument("--quick", action="store_true", help="small sizes: does the script work?")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    options = parser.parse_args(argv)
    device, sizes = Device(options.device), QUICK if options.quick else Sizes()
    run = Run(device, sizes, options.skin)
    fits = gpu_default.Fits(device, sizes, options.covtype, options.cpu)
    about = {"quick": options.quick, "machine": {"device": device.describe(), **machine()}}
    results = Results(options.out / "gpu.json", about)
    results.forget(options.only)
    for figure, record in measure(run, fits, options.only):
        results.add(figure, record)
        print(f"{record.name}: {results.seconds:.0f} s so far", file=sys.stderr)
    print(f"{terminal(results.records)}\n\n{details(results.records)}")
    print(f"\nwritten to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
