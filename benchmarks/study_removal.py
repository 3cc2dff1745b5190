"""Atoms that reach the same validation accuracy with and without removal, on the eleven UCI sets.

The goal of a split is the best validation accuracy of the path without removal. What counts is the
fewest atoms of a model along another path that reaches it; where none does, those of the path
without removal, and the split is marked. Rows are dealt as in the experiments, up to 12,000 a set.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fcgboost import FCGBoostClassifier, theory_steps
from paper.data import fetch_uci
from paper.data.catalog import UCI_SETS
from paper.protocol import Data, arrange, deal_random, seed_of

REPETITIONS = 3
MOST_ROWS = 12_000
#: Removal, and the number of steps in 5 k0.
VARIANTS = {
    "backward": ("backward", 1),
    "backward, 2x steps": ("backward", 2),
}


class Result(NamedTuple):
    """What is measured of one path."""

    atoms: float
    accuracy: float
    seconds: float
    is_missed: float = 0.0


def dealt(name: str, repetition: int) -> Data:
    """Give the three parts of a set."""
    X, y = fetch_uci(name)
    return arrange(X, y, deal_random(len(y), seed_of(name, repetition), MOST_ROWS))


def fit(
    data: Data, dictionary: str, removal: str | None, multiple: int
) -> tuple[FCGBoostClassifier, float]:
    """Fit a path; give the processor's seconds, too."""
    model = FCGBoostClassifier(
        dictionary,
        selection="sampled",
        max_iter=5 * multiple * theory_steps(len(data.y)),
        removal=removal,
        n_jobs=1,
        random_state=0,
    )
    start = time.process_time()
    model.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
    return model, time.process_time() - start


def smallest(model: FCGBoostClassifier, data: Data, goal: float) -> tuple[float, float] | None:
    """Give the atoms and the test accuracy of the smallest model that reaches the goal."""
    scores, sizes = (model.trace_.column(name) for name in ("validation_score", "n_atoms"))
    good = np.flatnonzero(scores >= goal)
    if len(good) == 0:
        return None
    k = int(min(good, key=lambda i: (sizes[i], i))) + 1
    return float(sizes[k - 1]), float(model.truncate(k).score(data.X_test, data.y_test))


def measure(data: Data, dictionary: str) -> Iterator[tuple[str, Result]]:
    """Compare all variants on one split."""
    base, seconds = fit(data, dictionary, None, 1)
    goal = float(base.trace_.column("validation_score").max())
    own = smallest(base, data, goal)
    assert own is not None
    yield "none", Result(*own, seconds)
    for name, (removal, multiple) in VARIANTS.items():
        model, seconds = fit(data, dictionary, removal, multiple)
        found = smallest(model, data, goal)
        yield name, Result(*(found or own), seconds, float(found is None))


def main(names: list[str]) -> None:
    """Print means: atoms with a star for every split that missed the goal, accuracy, time."""
    print(f"| data | dictionary | {' | '.join(('none', *VARIANTS))} |")
    print("|---|---|---|---|---|")
    for name in names or UCI_SETS:
        for dictionary in ("relu", "gauss"):
            results: dict[str, list[Result]] = {}
            for repetition in range(REPETITIONS):
                for variant, result in measure(dealt(name, repetition), dictionary):
                    results.setdefault(variant, []).append(result)
            cells = []
            for found in results.values():
                mean = Result(*np.mean(found, axis=0).tolist())
                stars = "\\*" * round(sum(one.is_missed for one in found))
                accuracy = f"{100 * mean.accuracy:.2f}"
                cells.append(f"{mean.atoms:.1f}{stars} / {accuracy} / {mean.seconds:.1f} s")
            print(f"| {name} | {dictionary} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
