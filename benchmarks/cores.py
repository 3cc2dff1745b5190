"""Wall-clock time on several cores beside LightGBM's: fits, predictions, single rows, explanations.

    python -m benchmarks.cores [--threads N ...] [--largest ROWS] [--uses]
    python -m benchmarks.cores --classes

Rows are made up (`benchmarks.made_up`, 28 columns). LightGBM has its defaults and as many threads.
Every figure is the best of some runs in this process. It also checks that every number of threads
gives the same decision values to the bit. With `--classes` it compares the CPU time of fits to many
classes instead, on one thread and of single fits.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.made_up import make_up
from fcgboost import FCGBoostClassifier

#: Rows of fits, and those that are predicted and explained.
N_SMALL, N_FITTED, N_PREDICTED, N_EXPLAINED, N_INPUTS = 20_000, 100_000, 1_000_000, 1_000, 20
RUNS, CALLS = 3, 200
PRESETS = ("fast", "auto")
#: Classes, rows and columns, two of which are combinations of the others.
MANY_CLASSES = ((40, 40 * 42, 18), (26, 14_000, 16))
SEEDS = range(3)


def seconds(
    work: Callable[[], object],
    runs: int = RUNS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the shortest time of some runs."""
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def ours(preset: str, threads: int) -> FCGBoostClassifier:
    return FCGBoostClassifier(preset, n_jobs=threads, random_state=0)


def lightgbm(threads: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=threads, verbose=-1)


def show(what: str, threads: int, taken: float, other: float) -> None:
    """Print a row of the table."""
    cells = (what, str(threads), f"{taken:.3g}", f"{other:.3g}", f"{taken / other:.2g}")
    print(f"| {' | '.join(cells)} |", flush=True)


def fits(n_rows: int, presets: Sequence[str], threads: int) -> None:
    """Compare fits to so many rows."""
    X, y = make_up(n_rows, 5)
    runs = 1 if n_rows > N_FITTED else RUNS
    other = seconds(partial(lightgbm(threads).fit, X, y), runs)
    for preset in presets:
        taken = seconds(partial(ours(preset, threads).fit, X, y), runs)
        show(f"fit, {preset}, {n_rows:,} rows", threads, taken, other)


def classes() -> None:
    """Compare CPU times of fits to many classes, and their accuracy on as many other rows."""
    print("| classes | rows × columns | seed | fcgboost, s | LightGBM, s | ratio | accuracies, % |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for n_classes, n_rows, n_columns in MANY_CLASSES:
        for seed in SEEDS:
            X, y = make_classification(
                2 * n_rows,
                n_columns,
                n_informative=n_columns - 2,
                n_classes=n_classes,
                n_clusters_per_class=1,
                random_state=seed,
            )
            train, test = np.arange(2 * n_rows).reshape(2, n_rows)
            times, hits = [], []
            for model in (ours("fast", 1), lightgbm(1)):
                fit = partial(model.fit, X[train], y[train])
                times.append(seconds(fit, runs=1, clock=time.process_time))
                hits.append(100.0 * np.mean(model.predict(X[test]) == y[test]))
            cells = (str(n_classes), f"{n_rows:,} × {n_columns}", str(seed))
            cells += (f"{times[0]:.3g}", f"{times[1]:.3g}", f"{times[0] / times[1]:.2g}")
            print(f"| {' | '.join(cells)} | {hits[0]:.1f}, {hits[1]:.1f} |", flush=True)


def uses(threads: int) -> None:
    """Compare predictions and explanations by models of few rows."""
    X, y = make_up(N_SMALL, 2)
    rows, _ = make_up(N_PREDICTED, 3)
    one = rows[:1]
    few = rows[:N_EXPLAINED, :N_INPUTS]
    rival = lightgbm(threads).fit(X, y)
    narrow = lightgbm(threads).fit(X[:, :N_INPUTS], y)
    for preset in PRESETS:
        model = ours(preset, threads).fit(X, y)
        show(
            f"predict, {preset}, {N_PREDICTED:,} rows",
            threads,
            seconds(partial(model.predict, rows), 1),
            seconds(partial(rival.predict, rows), 1),
        )
        show(
            f"predict, {preset}, one row, µs",
            threads,
            1e6 / CALLS * seconds(lambda model=model: [model.predict(one) for _ in range(CALLS)]),
            1e6 / CALLS * seconds(lambda: [rival.predict(one) for _ in range(CALLS)]),
        )
        model = ours(preset, threads).fit(X[:, :N_INPUTS], y)
        show(
            f"explain, {preset}, {N_EXPLAINED:,} rows × {N_INPUTS}",
            threads,
            seconds(partial(model.explain, few), 1),
            seconds(partial(narrow.predict, few, pred_contrib=True), 1),
        )


def check_bits(threads: Sequence[int]) -> None:
    """Say whether fits are equal to the bit for all numbers of threads."""
    for preset, n_rows in (("fast", 3 * N_SMALL), ("auto", N_SMALL // 4)):
        X, y = make_up(n_rows, 1)
        decisions = [ours(preset, n).fit(X, y).decision_function(X) for n in threads]
        is_equal = all(np.array_equal(decisions[0], other) for other in decisions)
        print(f"{preset}, {n_rows:,} rows, threads {list(threads)}: equal bits: {is_equal}")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__)
    parser.add_argument("--threads", nargs="+", type=int, default=[os.cpu_count() or 1])
    parser.add_argument("--largest", type=int, default=N_PREDICTED, metavar="ROWS")
    parser.add_argument("--uses", action="store_true", help="predict and explain only")
    parser.add_argument("--classes", action="store_true", help="fits to many classes only")
    options = parser.parse_args(argv)
    # LightGBM's own note on names of columns.
    warnings.simplefilter("ignore", UserWarning)
    if options.classes:
        classes()
        return
    if not options.uses:
        check_bits([1, 2, 3, 7, *options.threads])
    print("| what | threads | fcgboost, s | LightGBM, s | ratio |\n|---|---:|---:|---:|---:|")
    for threads in options.threads:
        if not options.uses:
            fits(N_SMALL, PRESETS, threads)
            fits(N_FITTED, PRESETS[:1], threads)
        if options.largest > N_FITTED and not options.uses:
            fits(options.largest, PRESETS[:1], threads)
        uses(threads)


if __name__ == "__main__":
    main()
