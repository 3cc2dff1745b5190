"""Fits on a Dask cluster of this machine and beside it, each called in a process of its own."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.cluster import Sizes, needed_bytes
from benchmarks.data import make_rows
from benchmarks.measure import peak_bytes
from benchmarks.watching import Echo, Traffic, Watch, watched
from fcgboost import FCGBoostClassifier, SampledCandidates
from fcgboost.dask import DaskFCGBoostClassifier

LOOPBACK = 8 * 2**20


def make_blocks(first: int, last: int, n_rows: int, n_features: int) -> Any:
    """Give rows and labels of some blocks; a block is the same in whichever process."""
    blocks = [make_rows(n_rows, n_features, seed) for seed in range(first, last)]
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def parameters(n_candidates: int, n_steps: int) -> dict[str, Any]:
    selection = SampledCandidates(n_candidates)
    return {
        "dictionary": "relu",
        "selection": selection,
        "max_iter": n_steps,
        "tol": 0.0,
        "random_state": 0,
    }


def describe_path(clf: Any, seconds: float, cpu_seconds: float) -> dict[str, Any]:
    trace = clf.trace_
    return {
        "path": trace[-1].seconds,
        "load": seconds - trace[-1].seconds,
        "processor": cpu_seconds,
        "steps": len(trace),
        "newton": sum(step.solver_iterations for step in trace) / len(trace),
        "objective": float(trace[-1].objectives[0]),
    }


def fit_in_memory(
    first: int, last: int, sizes: dict[str, Any], meet: str | None = None, n_processes: int = 1
) -> dict[str, Any]:
    """Fit some blocks in this process, once all processes that meet have their rows."""
    s = Sizes(**sizes)
    X, y = make_blocks(first, last, s.block_rows, s.n_features)
    clf = FCGBoostClassifier(**parameters(s.n_candidates, s.n_steps))
    clf.fit(X[:200], y[:200])
    if meet is not None:
        Path(meet, f"{os.getpid()}").touch()
        while len(os.listdir(meet)) < n_processes:
            time.sleep(0.01)
    start, cpu = time.perf_counter(), time.process_time()
    clf.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return {**describe_path(clf, seconds, cpu_seconds), "peaks": [peak_bytes() / 2**30]}


@contextmanager
def local_cluster(n_workers: int, **options: Any) -> Iterator[Client]:
    """Start workers of one thread each, without limits of memory."""
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=None
        ) as cluster,
        Client(cluster, **options) as client,
    ):
        client.wait_for_workers(n_workers)
        yield client


def dask_rows(n_blocks: int, block_rows: int, n_features: int) -> tuple[Any, Any]:
    """Give the blocks as Dask arrays, to be made on the workers."""
    pairs = [
        dask.delayed(make_blocks, pure=True, nout=2)(i, i + 1, block_rows, n_features)
        for i in range(n_blocks)
    ]
    shape = (block_rows, n_features)
    X = da.concatenate([da.from_delayed(pair[0], shape, dtype=float) for pair in pairs])
    y = da.concatenate([da.from_delayed(pair[1], shape[:1], dtype=float) for pair in pairs])
    return X, y


def fit_on_workers(n_workers: int, sizes: dict[str, Any]) -> dict[str, Any]:
    """Fit all blocks on so many workers; also give what a cost model needs."""
    s = Sizes(**sizes)
    clf = DaskFCGBoostClassifier(**parameters(s.n_candidates, s.n_steps))
    with local_cluster(n_workers) as client:
        clf.fit(*dask_rows(n_workers, 100, s.n_features))
        rows = dask_rows(s.n_blocks, s.block_rows, s.n_features)
        with watched() as watch:
            clf.set_callbacks(watch)
            before = sum(client.run(time.process_time).values()) + time.process_time()
            start = time.perf_counter()
            clf.fit(*rows)
            seconds = time.perf_counter() - start
            after = sum(client.run(time.process_time).values()) + time.process_time()
        peaks = list(client.run(peak_bytes).values())
    largest = max(watch.n_rows)
    return {
        **describe_path(clf, seconds, after - before),
        "rows": watch.n_rows,
        "peaks": [peak / 2**30 for peak in peaks],
        "costs": costs(watch, largest, s.n_candidates),
    }


def costs(watch: Watch, n_rows: int, n_candidates: int) -> dict[str, float]:
    """Give the seconds that a worker takes for a row: of scoring, and of a Newton point."""
    points = [r for r in watch.of_steps if r.verb == "expand"]
    # In step k there are k columns and the constant; a round after step k is part of step k + 1.
    slope, level = np.polyfit([r.step + 2.0 for r in points], [r.seconds for r in points], 1)
    scoring = watch.seconds("candidate_scores")
    other = [r.seconds for r in watch.of_steps if r.verb not in ("candidate_scores", "expand")]
    n_steps = max(1, watch.n_steps - 1)
    return {
        "per row and candidate": statistics.mean(scoring) / n_rows / n_candidates,
        "per row, other rounds of a step": sum(other) / n_steps / n_rows,
        "per row and point": max(0.0, level) / n_rows,
        "per row, point and column": slope / n_rows,
        "points per step": watch.per_step("expand"),
        "rounds per step": len(watch.of_steps) / n_steps,
        "scoring, share of rounds": sum(scoring) / sum(r.seconds for r in watch.of_steps),
    }


def tiny_fits(n_workers: int, sizes: dict[str, Any], direct: bool = False) -> dict[str, Any]:
    """Fit next to no rows on so many workers, and the same in memory."""
    s = Sizes(**sizes)
    n_rows, settings = s.tiny_rows // n_workers, parameters(s.tiny_candidates, s.n_steps)
    plain = FCGBoostClassifier(**settings)
    X, y = make_blocks(0, n_workers, n_rows, 3)
    for _ in range(s.tiny_runs + 1):
        plain.fit(X, y)
    with local_cluster(n_workers, direct_to_workers=direct) as client:
        rows = dask_rows(n_workers, n_rows, 3)
        clf = DaskFCGBoostClassifier(client=client, **settings).fit(*rows)
        paths, rounds = [], []
        for _ in range(s.tiny_runs):
            with watched() as watch:
                clf.set_callbacks(watch).fit(*rows)
            paths.append((clf.trace_[-1].seconds - clf.trace_[0].seconds) / (len(clf.trace_) - 1))
            rounds += [r.seconds for r in watch.of_steps]
    n_steps = len(plain.trace_) - 1
    return {
        "step": statistics.median(paths),
        "round": statistics.median(rounds),
        "rounds per step": len(watch.of_steps) / (watch.n_steps - 1),
        "points per step": watch.per_step("expand"),
        "memory": (plain.trace_[-1].seconds - plain.trace_[0].seconds) / n_steps,
    }


def count_traffic(sizes: dict[str, Any], direct: bool) -> dict[str, float]:
    """Count bytes per step on two workers, beside those that must travel."""
    s = Sizes(**sizes)
    with local_cluster(2, direct_to_workers=direct) as client, watched() as watch:
        traffic = Traffic(client, 1, s.n_steps)
        clf = DaskFCGBoostClassifier(client=client, **parameters(s.n_candidates, s.n_steps))
        clf.set_callbacks(watch, traffic)
        clf.fit(*dask_rows(2, s.traffic_rows // 2, s.n_features))
        per_byte = time_bytes(client)
    k = statistics.mean(range(3, s.n_steps + 2))
    k_squared = statistics.mean(n**2 for n in range(3, s.n_steps + 2))
    points = watch.per_step("expand")
    needed = needed_bytes(s.n_candidates, s.n_features, 2, (k, k_squared), points)
    return {
        "measured": traffic.per_step,
        "needed": sum(needed.values()),
        "per byte": per_byte,
        "points per step": points,
        **{f"needed: {name} (kB)": n / 1e3 for name, n in needed.items()},
    }


def time_bytes(client: Client) -> float:
    """Give the seconds that a byte takes from the workers to the client."""
    names = list(client.nthreads())
    futures = [client.submit(Echo, actor=True, workers=[n], pure=False) for n in names]
    actors = [future.result() for future in futures]

    def ask(n_bytes: int) -> float:
        start = time.perf_counter()
        for answer in [actor.give(n_bytes) for actor in actors]:
            answer.result()
        return time.perf_counter() - start

    ask(LOOPBACK)
    large, small = (statistics.median(ask(n) for _ in range(7)) for n in (LOOPBACK, 1))
    return (large - small) / LOOPBACK / len(actors)
