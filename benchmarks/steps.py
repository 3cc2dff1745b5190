"""What a default fit costs beside LightGBM's, and how many calls a greedy step makes.

    python -m benchmarks.steps [n_splits]

CPU time of one thread on MAGIC's random splits 0, 1, ... (10 by default): the first 300 and 1,000
rows of the training part, and all 9,510. Calls are those of Python functions, of functions in C and
of the compiled library, from the choice of an atom to the record of the step; what surrounds the
steps of a fit does not count.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, _kernels
from paper.data import fetch_uci
from paper.protocol import Data, arrange, deal_random, seed_of

SIZES = (300, 1000, 9510)
_NAME = "magic_gamma_telescope"
# What a step is made of, by the functions of `fcgboost.greedy` that the loop calls.
_STEP = {"_select", "advance"}


class Calls:
    """Counts calls within steps while a fit runs."""

    def __init__(self) -> None:
        self.n_steps = self.n_calls = 0
        self._inside: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Hear of a call, as `sys.setprofile` tells it; ctypes' functions are not told."""
        if event in ("call", "c_call") and self._inside is not None:
            self.n_calls += 1
        code = frame.f_code
        is_step = code.co_name in _STEP and "greedy" in code.co_filename
        if event == "call" and self._inside is None and is_step:
            self._inside = frame
            self.n_calls += 1
            self.n_steps += code.co_name == "advance"
        elif event == "return" and frame is self._inside:
            self._inside = None


def count_calls(X: Any, y: Any) -> tuple[int, float]:
    """Return the steps of all paths of a fit, and the mean number of calls of one."""
    calls, library = Calls(), _kernels.library()
    names = [name for name in vars(library) if name.startswith("fcg_")]
    functions = {name: getattr(library, name) for name in names}

    def counted(function: Any) -> Any:
        # The wrapper is counted as the call that it makes, of which nobody is told.
        def call(*arguments: Any) -> Any:
            return function(*arguments)

        return call

    for name, function in functions.items():
        setattr(library, name, counted(function))
    try:
        sys.setprofile(calls)
        FCGBoostClassifier(random_state=0).fit(X, y)
    finally:
        sys.setprofile(None)
        for name, function in functions.items():
            setattr(library, name, function)
    return calls.n_steps, calls.n_calls / max(1, calls.n_steps)


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
    FCGBoostClassifier(random_state=0).fit(splits[0].X[:200], splits[0].y[:200])
    print("rows  ours s  LightGBM s  ratio  ms a step  calls a step  accuracy  LightGBM's")
    for n_rows in SIZES:
        ours, theirs = [], []
        for data in splits:
            ours.append(cpu_seconds(FCGBoostClassifier(random_state=0), data, n_rows))
            theirs.append(cpu_seconds(LGBMClassifier(n_jobs=1, verbose=-1), data, n_rows))
        (seconds, accuracy), (other, level) = np.mean(ours, axis=0), np.mean(theirs, axis=0)
        counts = [count_calls(d.X[:n_rows], d.y[:n_rows]) for d in splits[:3]]
        n_steps, n_calls = np.mean(counts, axis=0)
        print(
            f"{n_rows:>5}{seconds:>8.3f}{other:>12.3f}{seconds / other:>7.1f}"
            f"{1e3 * np.mean([s for s, _ in ours[:3]]) / n_steps:>11.3f}{n_calls:>14.0f}"
            f"{accuracy:>10.4f}{level:>12.4f}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:2]))
