"""How optimistic out-of-fold scores are, after the same rows have chosen ridge, steps and weights.

    python -m benchmarks.study_scores [--rows N ...] [--data NAME ...] [--seeds N]

`oof_score_` less the accuracy of the model on fresh rows, in points: mean ± standard error over
seeds. The default chooses everything; with fixed `l2` (1 / √rows) and `max_iter` (20) only the
weights of the two kinds of members. Noise has ten normal columns and labels of a fair coin; the
signal is that of `benchmarks.data`, one label in ten flipped; each has 20,000 fresh rows. Tables
are those of `benchmarks.mid`, splits from 10 on, with all other rows as fresh ones, at most 50,000.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import make_rows
from benchmarks.large_sets import MAGIC, Part
from benchmarks.mid_sets import deal
from fcgboost import FCGBoostClassifier

#: How many seeds, by the number of rows.
SEEDS: Mapping[int, int] = {200: 16, 1_000: 12, 5_000: 4}
N_FRESH = 20_000
_FIRST_SPLIT = 10
_FIXED_STEPS = 20

Array = NDArray[np.float64]


def noise(n_rows: int, seed: int) -> Part:
    """Return labels that nothing predicts."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows + N_FRESH, 10))
    y = generator.integers(0, 2, len(X))
    return Part(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def signal(n_rows: int, seed: int) -> Part:
    """Return labels on both sides of a curved surface, one in ten flipped."""
    X, y = make_rows(n_rows + N_FRESH, seed=seed)
    return Part(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def table(name: str, n_rows: int, seed: int) -> Part:
    """Return a random split of a table."""
    return deal(name, n_rows, _FIRST_SPLIT + seed)


DATA: Mapping[str, Callable[[int, int], Part]] = {
    "noise": noise,
    "signal": signal,
    **{name: partial(table, name) for name in (MAGIC, "california_housing")},
}


def gap(part: Part, is_fixed: bool) -> tuple[float, float]:
    """Return the out-of-fold score less the accuracy on fresh rows, and that accuracy."""
    classifier = FCGBoostClassifier(random_state=0, n_jobs=1)
    if is_fixed:
        classifier.set_params(l2=1.0 / np.sqrt(len(part.y)), max_iter=_FIXED_STEPS)
    classifier.fit(part.X, part.y)
    accuracy = float(classifier.score(part.X_test, part.y_test))
    return 100.0 * (classifier.oof_score_ - accuracy), 100.0 * accuracy


def cell(gaps: Array) -> str:
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return f"{gaps.mean():+.1f} ± {error:.1f}".replace("-", "−")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_scores", description=__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=list(SEEDS), metavar="N")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--seeds", type=int, metavar="N")
    options = parser.parse_args(argv)
    print("| rows | data | seeds | accuracy | the default | fixed ridge and steps |")
    print("|---:|---|---:|---:|---:|---:|")
    for n_rows in options.rows:
        n_seeds = options.seeds or SEEDS.get(n_rows, min(SEEDS.values()))
        for data in options.data:
            gaps = []
            for seed in range(n_seeds):
                part = DATA[data](n_rows, seed)
                with threadpool_limits(1):
                    chosen, accuracy = gap(part, is_fixed=False)
                    fixed, _ = gap(part, is_fixed=True)
                gaps.append((chosen, fixed, accuracy))
            values = np.array(gaps).T
            print(
                f"| {n_rows:,} | {data.replace('_', ' ')} | {n_seeds} | {values[2].mean():.1f} | "
                f"{cell(values[0])} | {cell(values[1])} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
