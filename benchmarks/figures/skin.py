"""Skin_NonSkin: 122,528 training rows of three colours, sampled Gauss candidates, three halves."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.data import halves, load, make_rows
from benchmarks.measure import Record, at_least, at_most, peak_bytes, seconds
from fcgboost import FCGBoostClassifier, GaussDictionary, SampledCandidates
from paper.rivals import RIVALS

THREADS = 2
RIVAL = RIVALS["lightgbm"]
WIDTH, SIZE, N_STEPS = 0.3, 64, 103


def measure(quick: bool) -> list[Record]:
    n_splits, n_steps = (1, 10) if quick else (3, N_STEPS)
    X, y = load("Skin_NonSkin", quick)
    splits = [halves(X, y, seed) for seed in range(n_splits)]
    _ours(2).fit(*make_rows(300, 3))
    ours = [_run(_ours(n_steps), split) for split in splits]
    # Before anything else takes memory.
    peak = peak_bytes()
    rival = [_run(RIVAL.classifier(n_jobs=THREADS), split) for split in splits]
    (fit, accuracy), (rival_fit, rival_accuracy) = (
        [statistics.fmean(values) for values in zip(*runs, strict=True)] for runs in (ours, rival)
    )
    where = f"Skin_NonSkin, {len(splits[0].y):,} rows"
    name = f"{RIVAL.title} {RIVAL.version} defaults, float64, {THREADS} threads"
    details = {"splits": n_splits, "width": WIDTH, "candidates": SIZE, "steps": n_steps}
    records = [
        Record(f"{where}: fit", "s", fit, rival_fit, name, at_most(20.0, of="ours"), details),
        Record(
            f"{where}: test accuracy",
            "%",
            accuracy,
            rival_accuracy,
            name,
            at_least(99.9, of="ours"),
            details,
        ),
        Record(
            f"{where}: peak memory of the process",
            "GiB",
            peak / 2**30,
            bound=at_most(2.0, of="ours"),
        ),
    ]
    return records


def _ours(n_steps: int) -> FCGBoostClassifier:
    return FCGBoostClassifier(
        GaussDictionary(width=WIDTH),
        selection=SampledCandidates(SIZE),
        max_iter=n_steps,
        n_jobs=THREADS,
        random_state=0,
    )


def _run(model: Any, split: Any) -> tuple[float, float]:
    """Give the seconds of a fit and its accuracy in per cent."""
    fit = seconds(lambda: model.fit(split.X, split.y))
    return fit, 100.0 * model.score(split.X_test, split.y_test)
