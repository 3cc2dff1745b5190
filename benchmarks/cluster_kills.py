"""Kill a worker at a random moment of every one of some default fits on a Dask cluster.

    python -m benchmarks.cluster_kills [--fits 20] [--seed 0] [--rows 10500]

On a cluster the default is "fast": from 10,000 rows on it makes trees with corrected leaves; of
fewer, families take turns.
Workers ask each other in a chain or a narrow tree, so that the lost one is anywhere in it. A fit is
right when it has chosen the ridge, the steps and the link of a fit without a kill, and its decision
values agree with those to 1e-3; other endings are printed as they are.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
import warnings
from typing import Any

import dask.array as da

from benchmarks.cluster_fits import local_cluster
from fcgboost.backends.cluster import sums
from fcgboost.dask import DaskFCGBoostClassifier
from fcgboost.datasets import make_simulation

N_PARTS, N_WORKERS = 7, 3


def in_parts(X: Any, y: Any) -> tuple[Any, Any]:
    """Give the rows in partitions."""
    chunks = len(y) // N_PARTS + 1
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=chunks)


def fit_and_kill(expected: Any, data: Any, draw: random.Random, seconds: float) -> str:
    """Fit on a new cluster, kill one of its workers, and say how that ended."""
    X, y = data
    parts = in_parts(X, y)
    sums.FAN_OUT = draw.choice((1, 2))
    with local_cluster(N_WORKERS) as client:
        pids = client.run(os.getpid)
        victim, delay = draw.choice(sorted(pids.values())), draw.uniform(0.0, seconds)
        timer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
        timer.start()
        start = time.monotonic()
        try:
            found = DaskFCGBoostClassifier(client=client, random_state=0).fit(*parts)
            gap = abs(found.decision_function(X) - expected.decision_function(X)).max()
            is_same = (found.n_iter_, found.link_) == (expected.n_iter_, expected.link_)
            is_right = is_same and abs(found.l2_ / expected.l2_ - 1.0) < 1e-9 and gap < 1e-3
            ending = "right" if is_right else f"wrong by {gap:.2g}"
        except Exception as error:
            ending = f"{type(error).__name__}: {error}"
        taken, has_killed = time.monotonic() - start, timer.finished.is_set()
        timer.cancel()
    when = f"killed after {delay:.1f} s" if has_killed else "ended before the kill"
    return f"{ending}, {when}, {taken:.1f} s, each asks {sums.FAN_OUT}"


def main(n_fits: int, seed: int, n_rows: int) -> None:
    data = make_simulation(n_rows, noise="uniform", level=0.2, random_state=seed)
    draw = random.Random(seed)
    with local_cluster(N_WORKERS) as client:
        expected = DaskFCGBoostClassifier(client=client, random_state=0).fit(*in_parts(*data))
    ending = fit_and_kill(expected, data, draw, 1e4)
    print("no kill:", ending, flush=True)
    n_killed, n_right, seconds = 0, 0, 0.0
    while n_killed < n_fits:
        if "ended before the kill" in ending:
            seconds = 0.95 * float(ending.split(", ")[2].split()[0])
        ending = fit_and_kill(expected, data, draw, seconds)
        # A fit that ended before the kill does not count.
        n_killed += "killed after" in ending
        n_right += ending.startswith("right, killed")
        print(f"{n_killed}:", ending, flush=True)
    print(n_right, "of", n_fits, "right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_500)
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows are loaded again")
        main(given.fits, given.seed, given.rows)
