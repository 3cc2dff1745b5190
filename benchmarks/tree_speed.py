"""How fast trees of 255 leaves grow beside LightGBM's: rows x features x trees per second.

    python -m benchmarks.tree_speed [n_rows]

CPU time of one thread, on 100,000 rows (or as many as are asked for) of covtype and of made-up
ones; rows are binned before the clock starts. Both libraries boost labels -1 and +1 with squares
and a rate of 0.1, so that residuals are alike: ours are grown on what the last trees left, whose
values are not on the clock; LightGBM's time, which has them, is that of 21 rounds less that of one.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.large_sets import Part, covtype, made_up
from benchmarks.measure import MissingError
from benchmarks.rivals import timed
from fcgboost.dictionaries import Sample
from fcgboost.dictionaries.growth import FIELDS
from fcgboost.dictionaries.trees import TreeDictionary

N_LEAVES, N_TREES, RUNS = 255, 20, 3
RATE = 0.1
SETS = {"covtype": covtype, "made-up": made_up}
# As ours, which has a smoothing of 10 and 250 thresholds.
SETTINGS: dict[str, Any] = {
    "objective": "regression",
    "num_leaves": N_LEAVES,
    "learning_rate": RATE,
    "min_data_in_leaf": 5,
    "lambda_l2": 10.0,
    "max_bin": 251,
    "num_threads": 1,
    "verbose": -1,
}


def grow(part: Part) -> tuple[float, float]:
    """Return the seconds of a tree of ours, and the mean number of its leaves."""
    X = np.ascontiguousarray(part.X, dtype=np.float64)
    residual, ones, d = _targets(part), np.ones(len(X)), X.shape[1]
    trees = TreeDictionary(depth=30, max_leaf_nodes=N_LEAVES)
    sample = Sample(X[:1], np.zeros(d), np.ones(d), X.min(axis=0), X.max(axis=0), 1.0, float(d))
    grower = trees.grower(sample)
    grower.grow(X, residual, ones, 0)
    times, leaves = [], []
    for _ in range(N_TREES):
        tree, cost = timed(partial(grower.grow, X, residual, ones, 0))
        values = trees.evaluate(X, tree, sample.scale)[:, 0]
        residual = residual - RATE * (values @ residual) / (values @ values) * values
        times.append(cost.cpu)
        leaves.append(int((tree.reshape(-1, FIELDS)[:, 0] == -1.0).sum()))
    return statistics.fmean(times), statistics.fmean(leaves)


def boost(part: Part) -> tuple[float, float]:
    """Return the seconds of a tree of LightGBM, and the mean number of its leaves."""
    import lightgbm

    rows = lightgbm.Dataset(part.X, _targets(part), params=SETTINGS).construct()

    def train(n_rounds: int) -> Any:
        return lightgbm.train(SETTINGS, rows, n_rounds)

    booster = train(1 + N_TREES)
    spans = []
    for _ in range(RUNS):
        (_, long), (_, short) = timed(partial(train, 1 + N_TREES)), timed(partial(train, 1))
        spans.append((long.cpu - short.cpu) / N_TREES)
    leaves = [tree["num_leaves"] for tree in booster.dump_model()["tree_info"]]
    return statistics.median(spans), statistics.fmean(leaves)


def _targets(part: Part) -> Any:
    return np.where(part.y == 1, 1.0, -1.0)


def main(n_rows: int = 100_000) -> None:
    """Print a line per data set and library."""
    print("rows                    library   ms a tree  leaves  10^9 rows x features x trees / s")
    for name, load in SETS.items():
        try:
            part = load(n_rows)
        except MissingError as error:
            print(f"{name} is left out: {error}")
            continue
        m, d = part.X.shape
        for library, measure in (("ours", grow), ("LightGBM", boost)):
            seconds, leaves = measure(part)
            what = f"{name} {m:,} x {d}"
            speed = m * d / seconds / 1e9
            print(f"{what:<24}{library:<10}{1e3 * seconds:>9.1f}{leaves:>8.0f}{speed:>12.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:2]))
