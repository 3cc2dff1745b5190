"""A search over 4 widths, 3 ridges and 5 folds on MAGIC, beside one of its paths.

The ridges of a fold share a path, led by the middle one. Paths with this ridge are also fitted one
by one: their mean time is that of one path, and their scores must be those of the search.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from benchmarks.data import load
from benchmarks.measure import Record, at_most, seconds
from fcgboost import FCGBoostClassifier, GaussDictionary, SampledCandidates

THREADS = 2
WIDTHS, RIDGES, N_FOLDS = (0.5, 1.0, 2.0, 4.0), (1e-5, 1e-4, 1e-3), 5
LEADER = RIDGES[1]


def measure(quick: bool) -> list[Record]:
    n_steps = 5 if quick else 100
    X, y = load("magic_gamma_telescope", quick)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    shared = {"selection": SampledCandidates(64), "max_iter": n_steps}
    searches = [
        FCGBoostClassifier(
            GaussDictionary(width=width),
            l2=RIDGES,
            cv=folds,
            ensemble=False,
            n_jobs=THREADS,
            random_state=0,
            **shared,
        )
        for width in WIDTHS
    ]
    every = max(1, len(y) // 300)  # the file is sorted by class
    FCGBoostClassifier("gauss", max_iter=2, selection=SampledCandidates(64)).fit(
        X[::every], y[::every]
    )
    ours = seconds(lambda: [search.fit(X, y) for search in searches])
    # What the search draws its own seed from.
    seed = int(check_random_state(0).randint(2**31 - 1))
    times, scores = _one_by_one(X, y, folds, {**shared, "random_state": seed})
    found = [_scores_of(search.cv_results_) for search in searches]
    what = f"search with {len(times)} paths of {n_steps} steps and {len(WIDTHS)} final fits, "
    what += f"{len(y):,} rows, n_jobs={THREADS}"
    return [
        Record(
            what,
            unit="s",
            ours=ours,
            baseline=statistics.fmean(times),
            baseline_name="one of these paths with one ridge, mean of all, 1 thread",
            bound=at_most(30.0),
            details={"threads of the search": THREADS, "median path (s)": statistics.median(times)},
        ),
        Record(
            f"{what}: largest difference of a score from that of a separate fit",
            unit="",
            ours=float(np.abs(np.array(found) - scores).max()),
            bound=at_most(1e-12, of="ours"),
        ),
    ]


def _one_by_one(X: Any, y: Any, folds: Any, settings: dict[str, Any]) -> tuple[list[float], Any]:
    """Fit every path by itself; scores are (width, fold)."""
    times, scores = [], []
    for width in WIDTHS:
        for train, test in folds:
            clf = FCGBoostClassifier(GaussDictionary(width=width), l2=LEADER, n_jobs=1, **settings)
            start = time.perf_counter()
            clf.fit(X[train], y[train], X_val=X[test], y_val=y[test])
            times.append(time.perf_counter() - start)
            scores.append(clf.trace_[-1].validation_score)
    return times, np.reshape(scores, (len(WIDTHS), N_FOLDS))


def _scores_of(results: Any) -> list[float]:
    """Return the score of the leading ridge on each fold, after all steps."""
    row = int(np.argmin(np.abs(results["param_l2"] - LEADER)))
    return [float(results[f"split{i}_test_score"][row]) for i in range(N_FOLDS)]
