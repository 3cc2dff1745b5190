"""The default on two Dask workers, which is "fast", beside "fast" in memory, on ten splits.

    python -m benchmarks.cluster_accuracy [--splits 10] [--sets NAME ...]

Splits are those of the contest. Differences are paired, in points; rows of which the two predict
another class are counted, too.
"""

from __future__ import annotations

import argparse

import dask.array as da
import numpy as np
from distributed import Client

from benchmarks.cluster_fits import local_cluster
from benchmarks.large_sets import MAGIC, contest
from fcgboost import FCGBoostClassifier
from fcgboost.dask import DaskFCGBoostClassifier

SETS = (MAGIC, "default_credit_card_clients", "occupancy_detection")
N_PARTS = 6


def compare(client: Client, name: str, split: int) -> tuple[float, float, int, int]:
    """Return both accuracies, in percent, rows of another class, and those for training."""
    X, y, X_test, y_test = contest(name, split)
    size = -(-len(y) // N_PARTS)
    parts = da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)
    here = FCGBoostClassifier("fast", random_state=split).fit(X, y).predict(X_test)
    there = DaskFCGBoostClassifier(client=client, random_state=split).fit(*parts).predict(X_test)
    scores = (100.0 * float(np.mean(labels == y_test)) for labels in (there, here))
    return *scores, int((here != there).sum()), len(y)


def main(names: list[str], n_splits: int) -> None:
    print("| set | rows | workers | memory | difference | other labels of all |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    with local_cluster(2) as client:
        for name in names:
            found = np.array([compare(client, name, split) for split in range(n_splits)])
            there, here, others, n_rows = found.T
            gaps = there - here
            error = gaps.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
            means = f"{there.mean():.2f} % | {here.mean():.2f} %"
            gap = f"{gaps.mean():+.3f} ± {error:.3f}"
            n_tests = sum(len(contest(name, split).y_test) for split in range(n_splits))
            counted = f"{int(others.sum())} of {n_tests:,}"
            print(f"| {name} | {int(n_rows[0]):,} | {means} | {gap} | {counted} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    main(list(given.sets), given.splits)
