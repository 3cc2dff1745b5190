"""What it costs to correct when the model has grown, and to compare all ridges on one path.

    python -m benchmarks.growth [n_splits]

The first table: paths of the preset's families with 150 steps and its middle ridge, by the growth
of `FullyCorrective`. The second: the ridge that the preset "fast" chooses on one path, beside the
best of three paths, one for each ridge, on the same validation rows; both are then fitted alike.
CPU time of one thread, means over random splits 0, 1, ... (five by default) of public sets.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, FullyCorrective
from fcgboost.training.presets import FAMILIES
from paper.data import fetch_uci
from paper.protocol import Data, arrange, deal_random, seed_of

SETS = ("magic_gamma_telescope", "default_credit_card_clients", "biodeg", "heart")
GROWTHS = (1.0, 1.1, 1.2, 1.3, 1.5)
N_STEPS = 150


def splits_of(name: str, n_splits: int) -> list[Data]:
    """Return random splits of a set, as the contest deals them."""
    X, y = fetch_uci(name)[:2]
    return [arrange(X, y, deal_random(len(y), seed_of(name, i))) for i in range(n_splits)]


def run(data: Data, **settings: Any) -> tuple[float, float, FCGBoostClassifier]:
    """Return the CPU time of a fit, its accuracy on test rows in percent, and the model."""
    # A scheme that is given keeps to the families.
    settings = {"scheme": FullyCorrective(growth=FAMILIES.growth), **settings}
    model = FCGBoostClassifier("fast", n_jobs=1, random_state=0, **settings)
    start = time.process_time()
    model.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    seconds = time.process_time() - start
    return seconds, 100.0 * float(model.score(data.X_test, data.y_test)), model


def show(title: str, rows: list[Any], base: list[float]) -> None:
    """Print the mean time and accuracy, and the paired difference to a baseline."""
    accuracies = np.array([accuracy for _, accuracy, _ in rows])
    gaps = accuracies - base
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    seconds = np.mean([one for one, _, _ in rows])
    print(f"{title:<24}{seconds:>8.2f}{accuracies.mean():>10.2f}{gaps.mean():>+9.2f} ± {error:.2f}")


def best_of_three(data: Data) -> tuple[float, float, FCGBoostClassifier]:
    """Fit a path for every ridge; return the time of all, and the best on validation rows."""
    strengths = [strength / np.sqrt(len(data.y)) for strength in FAMILIES.strengths]
    paths = [run(data, l2=l2) for l2 in strengths]
    _, accuracy, model = max(paths, key=lambda path: np.nanmax(path[2].trace_.scores))
    return sum(seconds for seconds, _, _ in paths), accuracy, model


def main(n_splits: int = 5) -> None:
    """Print both tables for every set."""
    for name in SETS:
        splits = splits_of(name, n_splits)
        print(f"\n{name}, {len(splits[0].y)} rows: growth   s  accuracy   less that of growth 1")
        every: list[float] = []
        for growth in GROWTHS:
            scheme = FullyCorrective(growth=growth)
            l2 = 0.3 / np.sqrt(len(splits[0].y))
            rows = [run(data, l2=l2, max_iter=N_STEPS, scheme=scheme) for data in splits]
            every = every or [accuracy for _, accuracy, _ in rows]
            show(f"growth {growth:g}", rows, every)
        alone = [best_of_three(data) for data in splits]
        base = [accuracy for _, accuracy, _ in alone]
        show("a path for every ridge", alone, base)
        show("one path, then its ridge", [_one_path(data) for data in splits], base)


def _one_path(data: Data) -> tuple[float, float, FCGBoostClassifier]:
    """Choose on one path, and fit a single path with the ridge that was chosen."""
    seconds, _, model = run(data)
    return seconds, *run(data, l2=model.l2_)[1:]


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:2]))
