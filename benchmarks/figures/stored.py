"""A selection step over a stored dictionary, beside one float32 product with the same array.

All m candidates of m = 10,000 rows, along a real path of 100 steps; after each step one product
is timed. A step is all that selection does: which candidates are allowed, their scores, the best.
The mean counts, not the median: a shortcut may take one long step for many short ones.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.data import make_rows
from benchmarks.measure import Record, at_most, blas, fastest, seconds
from benchmarks.stopwatches import TimedSelection
from fcgboost import AllCandidates, FCGBoostClassifier

THREADS = 2
# MiB: room for the dictionary in any precision.
WORKING_MEMORY = 4096


def measure(quick: bool) -> list[Record]:
    m, n_steps, runs = (400, 10, 1) if quick else (10_000, 100, 3)
    X, y = make_rows(m)
    G = rbf_kernel(X.astype(np.float32), gamma=0.05)
    r = np.random.default_rng(0).standard_normal(m).astype(np.float32)
    # For a square array both orders of its memory are one array.
    products = {"r @ G": lambda: r @ G, "G @ r": lambda: G @ r}
    with threadpool_limits(THREADS, user_api="blas"):
        product = fastest(5, products)
    # The first use of a library is slower, and compiles code.
    _path(*make_rows(300), 3, lambda: None)
    steps, baselines, preparing = [], [], []
    for _ in range(runs):
        watch, times = _path(X, y, n_steps, products[product])
        steps.append(watch.steps)
        baselines.append(times)
        preparing.append(watch.preparing)
    record = Record(
        f"stored dictionary, m = n = {m:,}: one selection step",
        unit="ms",
        ours=1e3 * statistics.median(statistics.fmean(run) for run in steps),
        baseline=1e3 * statistics.median(statistics.fmean(run) for run in baselines),
        baseline_name=f"NumPy {np.__version__} {product} ({blas()}), float32, {THREADS} threads",
        bound=at_most(1.5),
        details={
            "steps": n_steps,
            "runs": runs,
            "median step (ms)": 1e3 * statistics.median(s for run in steps for s in run),
            "slowest step (ms)": 1e3 * max(s for run in steps for s in run),
            "dictionary made in (s)": statistics.median(preparing),
            "bandwidth of the product (GB/s)": G.nbytes
            / 1e9
            / statistics.median(s for run in baselines for s in run),
        },
    )
    return [record]


def _path(X: Any, y: Any, n_steps: int, product: Any) -> tuple[TimedSelection, list[float]]:
    """Fit one path; give what its selection took, and the product after each step."""
    times: list[float] = []

    def baseline() -> None:
        # A fit keeps the BLAS to one thread.
        with threadpool_limits(THREADS, user_api="blas"):
            times.append(seconds(product))

    watch = TimedSelection(AllCandidates(), after=baseline)
    clf = FCGBoostClassifier(
        "gauss", selection=watch, max_iter=n_steps, n_jobs=THREADS, random_state=0
    )
    with config_context(working_memory=WORKING_MEMORY):
        clf.fit(X, y)
    return watch, times
