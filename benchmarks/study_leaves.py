"""Trees of which every leaf is corrected beside families that take turns.

    python -m benchmarks.study_leaves [n_splits] [set ...]

Of the paper's sets the contest's random splits 0, 1, ... (five by default), half of which trains;
10,000 rows of covtype, class 2 against the rest, and of made-up data. Accuracies are compared with
those of families in turn, split by split, with a standard error. CPU time of one thread. All
variants choose ridge and steps on a quarter of the training rows:

- families: the preset "fast" as of fewer than 10,000 rows, at any size
- leaves: the same as of more, at any size; all rows are fitted again
- solved again: the trees that were grown on three quarters of the rows, their leaves corrected on
  all of them
- one coefficient: the same growth, but one coefficient for a tree
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks.large_sets import Part, contest, covtype
from benchmarks.made_up import make_up
from fcgboost import FCGBoostClassifier, FullyCorrective, LearnedCandidates, TreeDictionary, hashing
from fcgboost.greedy.path import Trace
from fcgboost.selection.base import Choice, Request
from fcgboost.solvers import NewtonSolver
from fcgboost.training import presets

SETS = (
    *("biodeg", "musk2", "HTRU2", "magic_gamma_telescope", "occupancy_detection"),
    *("default_credit_card_clients", "covtype", "made up"),
)
_ROWS = 10_000
_TEST_ROWS = 30_000


class Replay(LearnedCandidates):
    """Takes the trees of another path again, in their order."""

    def __init__(self, trace: Any = None) -> None:
        super().__init__()
        self.trace = trace

    def chooser(self, design: Any, n: int, key: int) -> Callable[[Request], list[Choice | None]]:
        trace: Trace = self.trace
        ids = hashing.fingerprint(trace.atoms).tolist()
        # A record may stand for several steps.
        places = np.concatenate([step.chosen for step in trace]).tolist()
        scores = np.concatenate([step.scores for step in trace]).tolist()

        def choose(request: Request) -> list[Choice | None]:
            place = places[request.k - 1]
            return [Choice(trace.atoms[place : place + 1], ids[place], scores[request.k - 1])]

        return choose


def with_preset(preset: presets.Preset, X: Any, y: Any, **options: Any) -> FCGBoostClassifier:
    """Fit "fast" with another set-up in its place."""
    kept = presets.PRESETS["fast"]
    presets.PRESETS["fast"] = preset  # type: ignore[index]
    model = FCGBoostClassifier("fast", n_jobs=1, random_state=0, **options)
    try:
        model.fit(X, y)
        return model
    finally:
        presets.PRESETS["fast"] = kept  # type: ignore[index]


def families(X: Any, y: Any) -> FCGBoostClassifier:
    return with_preset(replace(presets.FAST, n_many=len(y) + 1), X, y)


def leaves(X: Any, y: Any) -> FCGBoostClassifier:
    return with_preset(replace(presets.FAST, n_many=0), X, y)


def solved_again(X: Any, y: Any) -> FCGBoostClassifier:
    """Choose on a quarter of the rows, and correct the leaves of the trees on all of them."""
    split = StratifiedShuffleSplit(1, test_size=0.25, random_state=0)
    # The only member is the path that the quarter has judged.
    chosen = with_preset(
        replace(presets.FAST, n_many=0),
        X,
        y,
        cv=split,
        ensemble=True,
    )
    forest = presets.FOREST
    assert forest.dictionary is not None
    assert forest.solver is not None
    model = FCGBoostClassifier(
        forest.dictionary,
        selection=Replay(chosen.trace_),
        scheme=FullyCorrective(forest.solver, forest.growth),
        l2=chosen.l2_ * np.sqrt(0.75),  # a strength over the root of the number of rows
        max_iter=chosen.n_iter_,
        n_jobs=1,
        random_state=0,
    )
    model.fit(X, y)
    return model


def one_coefficient(X: Any, y: Any) -> FCGBoostClassifier:
    trees = TreeDictionary(30, max_leaf_nodes=255)
    forest = replace(presets.FOREST, dictionary=trees, strengths=(3.0, 0.3, 0.03))
    forest = replace(forest, growth=1.2, solver=NewtonSolver())
    return with_preset(replace(presets.FAST, kinds=(presets.FAMILIES, forest), n_many=0), X, y)


VARIANTS = (families, leaves, solved_again, one_coefficient)


def split_of(name: str, seed: int) -> Part:
    """Return training and test rows."""
    if name == "covtype":
        return covtype(_ROWS, seed)
    if name == "made up":
        return Part(*make_up(_ROWS, seed), *make_up(_TEST_ROWS, 1000 + seed))
    return contest(name, seed)


def main(n_splits: int = 5, *names: str) -> None:
    """Print a table."""
    print("| set, rows | variant | seconds | atoms | accuracy | less that of families |")
    print("|---|---|---:|---:|---:|---:|")
    for name in names or SETS:
        splits = [split_of(name, seed) for seed in range(n_splits)]
        base: NDArray[np.float64] | None = None
        for variant in VARIANTS:
            rows = []
            for X, y, X_test, y_test in splits:
                start = time.process_time()
                model = variant(X, y)
                seconds = time.process_time() - start
                rows.append((seconds, model.n_atoms_, 100.0 * model.score(X_test, y_test)))
            seconds, atoms, accuracy = np.mean(rows, axis=0)
            found = np.array(rows)[:, 2]
            base = found if base is None else base
            gaps = found - base
            error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
            title = f"{name}, {len(splits[0][1]):,}".replace("_", " ")
            print(
                f"| {title} | {variant.__name__.replace('_', ' ')} | {seconds:.2f} | {atoms:.0f} | "
                f"{accuracy:.2f} | {gaps.mean():+.2f} ± {error:.2f} |".replace("-", "−"),
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, *sys.argv[2:])
