"""`FCGBoostClassifierCV` over 5 folds, 4 widths and 3 ridges on MAGIC, beside one of its paths.

The 60 paths are also fitted one by one: their mean time is that of one path, and their scores
must be those of the search.
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
from fcgboost import FCGBoostClassifier, FCGBoostClassifierCV, GaussDictionary, SampledCandidates

THREADS = 2
WIDTHS, RIDGES, N_FOLDS = (0.5, 1.0, 2.0, 4.0), (1e-5, 1e-4, 1e-3), 5


def measure(quick: bool) -> list[Record]:
    n_steps = 5 if quick else 100
    X, y = load("magic_gamma_telescope", quick)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    shared = {"selection": SampledCandidates(64), "max_iter": n_steps}
    search = FCGBoostClassifierCV(
        {"gauss": {"width": WIDTHS}}, RIDGES, folds, n_jobs=THREADS, random_state=0, **shared
    )
    every = max(1, len(y) // 300)  # the file is sorted by class
    FCGBoostClassifier("gauss", max_iter=2, selection=SampledCandidates(64)).fit(
        X[::every], y[::every]
    )
    ours = seconds(lambda: search.fit(X, y))
    # What the search draws its own seed from.
    seed = int(check_random_state(0).randint(2**31 - 1))
    times, scores = _one_by_one(X, y, folds, {**shared, "random_state": seed})
    gap = _largest_gap(search.cv_results_, scores, n_steps)
    path = statistics.fmean(times)
    what = f"search over {len(times)} paths of {n_steps} steps and a refit, {len(y):,} rows"
    what += f", n_jobs={THREADS}"
    records = [
        Record(
            what,
            unit="s",
            ours=ours,
            baseline=path,
            baseline_name="one of these paths, mean of all, 1 thread",
            bound=at_most(30.0),
            details={"threads of the search": THREADS, "median path (s)": statistics.median(times)},
        ),
        Record(
            f"{what}: largest difference of a score from that of a separate fit",
            unit="",
            ours=gap,
            bound=at_most(1e-12, of="ours"),
        ),
    ]
    return records


def _one_by_one(X: Any, y: Any, folds: Any, settings: dict[str, Any]) -> tuple[list[float], Any]:
    """Fit every path by itself; scores are (setting, step, fold)."""
    times, scores = [], []
    for width in WIDTHS:
        for l2 in RIDGES:
            by_fold = []
            for train, test in folds:
                clf = FCGBoostClassifier(GaussDictionary(width=width), l2=l2, n_jobs=1, **settings)
                start = time.perf_counter()
                clf.fit(X[train], y[train], X_val=X[test], y_val=y[test])
                times.append(time.perf_counter() - start)
                by_fold.append(clf.trace_.column("validation_score"))
            scores.append(np.stack(by_fold, axis=1))
    return times, scores


def _largest_gap(results: dict[str, Any], scores: Any, n_steps: int) -> float:
    """Compare with cv_results_, whose rows are settings and within them steps."""
    found = np.stack([results[f"split{i}_test_score"] for i in range(N_FOLDS)], axis=1)
    settings = [(p["dictionary"].width, p["l2"]) for p in results["params"][::n_steps]]
    expected = [(width, l2) for width in WIDTHS for l2 in RIDGES]
    order = [settings.index(setting) for setting in expected]
    found = found.reshape(len(settings), n_steps, N_FOLDS)[order]
    return max(float(np.abs(found[i, : len(s)] - s).max()) for i, s in enumerate(scores))
