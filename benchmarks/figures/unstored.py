"""A selection step over a dictionary that is evaluated anew, beside blocked NumPy.

All m Gauss candidates of m = 50,000 rows in 10 columns, along a real path. NumPy does the same
in float32 blocks: one product for all squared distances, the exponential in place, the dot
product with the residual. The best of a few block sizes and numbers of BLAS threads counts; blocks
in two threads of Python, which is more than plain NumPy, stand beside it.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from threadpoolctl import threadpool_limits

from benchmarks.data import make_rows
from benchmarks.measure import (
    MEBIBYTE,
    Record,
    at_least,
    at_most,
    blas,
    fastest,
    peak_memory,
    seconds,
)
from benchmarks.stopwatches import TimedSelection
from fcgboost import AllCandidates, FCGBoostClassifier

THREADS = 2
# MiB: no room for the dictionary.
WORKING_MEMORY = 1e-3
# (rows, candidates) of a block.
BLOCKS = ((64, 256), (1024, 256), (1024, 1024), (4096, 1024))
TRIAL = 8192


class Way(NamedTuple):
    """How NumPy goes about it: the block, and the threads of the BLAS and of Python."""

    block: tuple[int, int]
    blas: int
    workers: int


PLAIN = [Way(block, blas, 1) for block in BLOCKS for blas in (1, THREADS)]
THREADED = [Way(block, 1, THREADS) for block in BLOCKS]


def measure(quick: bool) -> list[Record]:
    m, n_steps, runs = (800, 3, 1) if quick else (50_000, 3, 3)
    X, y = make_rows(m)
    # The first use of a library is slower, and compilers take memory.
    _path(*make_rows(300), n_steps=2)
    with peak_memory() as memory:
        _path(X, y, n_steps)
    baseline = BlockedNumpy(X)
    ways = {"plain": baseline.best(PLAIN), "threaded": baseline.best(THREADED)}
    times: dict[str, list[float]] = {"ours": [], **{name: [] for name in ways}}

    def after() -> None:
        for name, way in ways.items():
            times[name].append(baseline.seconds(way))

    for _ in range(runs):
        watch = _path(X, y, n_steps, after)
        # The mean: a shortcut may take one long step for many short ones.
        times["ours"].append(statistics.fmean(watch.steps))
    speeds = {name: m * m / 1e9 / statistics.median(values) for name, values in times.items()}
    records = [
        Record(
            f"dictionary not stored, m = n = {m:,}, d = 10: throughput",
            unit="10^9 values/s",
            ours=speeds["ours"],
            baseline=speeds[name],
            baseline_name=f"blocked NumPy {np.__version__} ({blas()}), float32, {text}",
            bound=bound,
            details={"steps": n_steps, "runs": runs, "best way of NumPy": ways[name]._asdict()},
        )
        for name, text, bound in (
            ("plain", f"BLAS threads: {ways['plain'].blas}", at_least(3.0)),
            ("threaded", f"blocks in {THREADS} threads of Python", None),
        )
    ]
    room = Record(
        f"dictionary not stored, m = n = {m:,}: peak memory of a fit above the data",
        unit="MiB",
        ours=memory.above / MEBIBYTE,
        bound=at_most(256, of="ours"),
        details={"peak of the process (MiB)": memory.peak / MEBIBYTE},
    )
    return [*records, room]


def _path(X: Any, y: Any, n_steps: int, after: Any = lambda: None) -> TimedSelection:
    watch = TimedSelection(AllCandidates(), after=after)
    clf = FCGBoostClassifier(
        "gauss", selection=watch, max_iter=n_steps, n_jobs=THREADS, random_state=0
    )
    with config_context(working_memory=WORKING_MEMORY):
        clf.fit(X, y)
    return watch


class BlockedNumpy:
    """The scores of all Gauss candidates as one would write them in NumPy."""

    def __init__(self, X: Any) -> None:
        scale = np.float32(0.05)
        rows = X.astype(np.float32)
        squares = (rows**2).sum(axis=1, keepdims=True)
        ones = np.ones_like(squares)
        # The product of these two is -scale |x - c|^2.
        self.rows = np.hstack([rows, squares, ones])
        self.candidates = np.hstack([2.0 * scale * rows, -scale * ones, -scale * squares])
        self.r = np.random.default_rng(0).standard_normal(len(X)).astype(np.float32)

    def best(self, ways: Iterable[Way]) -> Way:
        """Find the fastest way on a part of the data."""
        names = {str(way): way for way in ways}
        works = {name: lambda way=way: self.seconds(way, TRIAL) for name, way in names.items()}
        return names[fastest(3, works)]

    def seconds(self, way: Way, n: int | None = None) -> float:
        """Time one pass over n rows and candidates, None for all."""
        n = len(self.rows) if n is None else min(n, len(self.rows))
        ends = [i * n // way.workers for i in range(way.workers + 1)]
        shares = [slice(*pair) for pair in itertools.pairwise(ends)]
        with threadpool_limits(way.blas, user_api="blas"), ThreadPoolExecutor(way.workers) as pool:
            work = partial(self.scores, way.block, slice(0, n))
            return seconds(lambda: list(pool.map(work, shares)))

    def scores(self, block: tuple[int, int], rows: slice, candidates: slice) -> Any:
        """Score some candidates over some rows, a block at a time."""
        X, C, r = self.rows[rows], self.candidates[candidates], self.r[rows]
        scores = np.zeros(len(C), dtype=np.float32)
        for j in range(0, len(C), block[1]):
            columns = slice(j, j + block[1])
            room = np.empty((block[0], len(C[columns])), dtype=np.float32)
            for i in range(0, len(X), block[0]):
                few = X[i : i + block[0]]
                values = np.matmul(few, C[columns].T, out=room[: len(few)])
                np.exp(values, out=values)
                scores[columns] += r[i : i + block[0]] @ values
        return scores
