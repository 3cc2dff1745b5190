"""Many classes of few rows: the defaults beside other libraries.

    python -m benchmarks.few_rows [--seeds N] [--methods NAME ...]

One of five columns tells 40 classes apart: class c is a_c + N(0, 0.5) in it, a_c uniform in
(0, 1000), and the others are noise. Of 50 rows a class 3 or 5 are for training. Beside them,
40 classes of `make_classification` (class_sep=3, one cluster a class, 6 of 20 columns informative),
with about 42 rows a class for training and as many for tests. Accuracy in percent and log-loss of
the test rows, means ± standard errors over seeds, and CPU seconds of a fit on one thread. Libraries
that are not installed are left out, and so is CatBoost, which takes most of the time, unless it is
named.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.large_sets import Part
from benchmarks.rivals import make_catboost, make_lightgbm
from fcgboost import FCGBoostClassifier

N_CLASSES = 40
N_SEEDS = 10
_ROWS_OF_A_CLASS = 50
_NOISE_COLUMNS = 4
_MADE_ROWS = 42 * N_CLASSES

Array = NDArray[np.float64]


def one_column(n_train: int, seed: int) -> Part:
    """Return classes that one column tells apart, with so many rows each for training."""
    generator = np.random.default_rng(seed)
    centers = generator.uniform(0.0, 1000.0, N_CLASSES)
    y = np.tile(np.arange(N_CLASSES), _ROWS_OF_A_CLASS)
    telling = centers[y] + 0.5 * generator.standard_normal(len(y))
    X = np.column_stack([telling, generator.standard_normal((len(y), _NOISE_COLUMNS))])
    n = n_train * N_CLASSES
    return Part(X[:n], y[:n], X[n:], y[n:])


def six_columns(seed: int) -> Part:
    """Return classes at the corners of a cube, between which single columns do not decide."""
    X, y = make_classification(
        2 * _MADE_ROWS,
        20,
        n_informative=6,
        n_redundant=0,
        n_classes=N_CLASSES,
        n_clusters_per_class=1,
        class_sep=3.0,
        random_state=seed,
    )
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    return Part(X, y, X_test, y_test)


DATA: Mapping[str, Callable[[int], Part]] = {
    "one column, 3 rows a class": partial(one_column, 3),
    "one column, 5 rows a class": partial(one_column, 5),
    "six columns, 42 rows a class": six_columns,
}
METHODS: Mapping[str, Callable[[], Any]] = {
    "auto": lambda: FCGBoostClassifier(random_state=0, n_jobs=1),
    "fast": lambda: FCGBoostClassifier("fast", random_state=0, n_jobs=1),
    "random forest": lambda: RandomForestClassifier(random_state=0, n_jobs=1),
    "LightGBM, min_child_samples=1": lambda: make_lightgbm(1, min_child_samples=1),
    "CatBoost": lambda: make_catboost(1),
}
_QUICK = [name for name in METHODS if name != "CatBoost"]
_PACKAGES = {"LightGBM, min_child_samples=1": "lightgbm", "CatBoost": "catboost"}


def measure(part: Part, make: Callable[[], Any]) -> Array:
    """Return the accuracy in percent, the log-loss, and the CPU seconds of a fit."""
    start = time.process_time()
    classifier = make().fit(part.X, part.y)
    seconds = time.process_time() - start
    p = classifier.predict_proba(part.X_test)
    accuracy = np.mean(classifier.classes_[np.argmax(p, axis=1)] == part.y_test)
    return np.array(
        [100.0 * accuracy, log_loss(part.y_test, p, labels=classifier.classes_), seconds]
    )


def cells(rows: Sequence[Array]) -> str:
    """Return means, and standard errors of all but the time."""
    values = np.array(rows)
    accuracy, risk, seconds = values.mean(axis=0)
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(3)
    return f"{accuracy:.1f} ± {errors[0]:.1f} | {risk:.2f} ± {errors[1]:.2f} | {seconds:.2f} s"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_rows", description=__doc__)
    parser.add_argument("--seeds", type=int, default=N_SEEDS, metavar="N")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--methods", nargs="+", default=_QUICK, choices=METHODS)
    options = parser.parse_args(argv)
    print("| data | method | accuracy | log-loss | time |")
    print("|---|---|---:|---:|---:|")
    for data in options.data:
        parts = [DATA[data](seed) for seed in range(options.seeds)]
        for method in options.methods:
            if method in _PACKAGES and find_spec(_PACKAGES[method]) is None:
                print(f"{method} is not installed", file=sys.stderr)
                continue
            with threadpool_limits(1):
                rows = [measure(part, METHODS[method]) for part in parts]
            print(f"| {data} | {method} | {cells(rows)} |", flush=True)


if __name__ == "__main__":
    main()
