"""What the fits of presets cost beside LightGBM's, and how many calls a greedy step makes.

    python -m benchmarks.steps [n_splits]

CPU time of one thread on MAGIC's random splits 0, 1, ... (10 by default): the first 300 and 1,000
rows of the training part, and all 9,510. Calls are those of a path of 40 steps less those of a
path of 10, divided by 30, so that what surrounds the steps does not count.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, _kernels
from paper.data import fetch_uci
from paper.protocol import Data, arrange, deal_random, seed_of

Array = NDArray[np.float64]
SIZES = (300, 1000, 9510)
_NAME = "magic_gamma_telescope"
STEPS = (10, 40)
PRESETS = ("auto", "fast")
#: Of "fast": families take turns with fewer than 10,000 rows; from there on every leaf is a column.
ROWS = {"families": 9_500, "leaves": 50_000}


def count_calls(X: Array, y: Array, n_steps: int) -> int:
    """Return how many functions are called in a fit of some steps, with a ridge that is given.

    These are functions of Python, functions in C, and those of the compiled library.
    """
    library = _kernels.library()
    functions = {name: getattr(library, name) for name in vars(library) if name.startswith("fcg_")}
    n_calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        # The profiler is not told of calls through ctypes, but of this one.
        return lambda *arguments: function(*arguments)

    for name, function in functions.items():
        setattr(library, name, counted(function))
    model = FCGBoostClassifier(
        "fast",
        cv=None,
        max_iter=n_steps,
        l2=0.01,
        n_jobs=1,
        random_state=0,
    )
    sys.setprofile(count)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
        for name, function in functions.items():
            setattr(library, name, function)
    if model.n_iter_ != n_steps:
        raise RuntimeError(f"the path ended after {model.n_iter_} of {n_steps} steps")
    return n_calls


def calls_per_step(n_rows: int) -> float:
    """Return how many calls one more step makes: what surrounds the steps cancels."""
    X, y = make_classification(n_rows, 10, n_informative=6, flip_y=0.1, random_state=0)
    first, last = STEPS
    # What a process does once, such as imports, is done here.
    count_calls(X, y, first)
    return (count_calls(X, y, last) - count_calls(X, y, first)) / (last - first)


def cpu_seconds(model: Any, data: Data, n_rows: int) -> tuple[float, float]:
    """Return the CPU time of a fit, and the accuracy on test rows."""
    start = time.process_time()
    model.fit(data.X[:n_rows], data.y[:n_rows])
    seconds = time.process_time() - start
    return seconds, float(np.mean(model.predict(data.X_test) == data.y_test))


def main(n_splits: int = 10) -> None:
    """Print the table."""
    from lightgbm import LGBMClassifier

    X, y = fetch_uci(_NAME)[:2]
    splits = [
        arrange(X, y, deal_random(len(y), seed_of(_NAME, split))) for split in range(n_splits)
    ]
    FCGBoostClassifier(n_jobs=1, random_state=0).fit(splits[0].X[:200], splits[0].y[:200])
    print("rows  preset  ours s  LightGBM s  ratio  accuracy  LightGBM's")
    for n_rows in SIZES:
        rival = LGBMClassifier(n_jobs=1, verbose=-1)
        theirs = [cpu_seconds(rival, data, n_rows) for data in splits]
        other, level = np.mean(theirs, axis=0)
        for preset in PRESETS:
            model = FCGBoostClassifier(preset, n_jobs=1, random_state=0)
            ours = [cpu_seconds(model, data, n_rows) for data in splits]
            seconds, accuracy = np.mean(ours, axis=0)
            print(
                f"{n_rows:>5}{preset:>8}{seconds:>8.3f}{other:>12.3f}{seconds / other:>7.1f}"
                f"{accuracy:>10.4f}{level:>12.4f}"
            )
    for kind, n_rows in ROWS.items():
        print(f"calls per step, {kind}, {n_rows:,} rows: {calls_per_step(n_rows):.0f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:2]))
