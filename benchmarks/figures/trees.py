"""One tree beside one of LightGBM, of the same depth: its growth, and its values.

Rows are normal, residuals a curved surface with noise; every row is active. Rows are binned before
the clock starts, in both. Values are those of 100 trees, all of them different.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np

from benchmarks.measure import Record, at_most, interleaved, medians
from fcgboost import TreeDictionary
from fcgboost.dictionaries import Sample

DEPTH, N_TREES = 7, 100
SHAPES = ((9_510, 10), (122_528, 3), (15_000, 23))
#: Milliseconds that one tree may take.
LIMITS = (2.0, 12.0, 8.0)
# Both trees have the same thresholds, leaves and smoothing; LightGBM takes the same inputs.
SETTINGS: dict[str, Any] = {
    "objective": "regression",
    "num_leaves": 2**DEPTH,
    "max_depth": DEPTH,
    "min_data_in_leaf": 5,
    "lambda_l2": 10.0,
    "max_bin": 250,
    "num_threads": 1,
    "verbose": -1,
}


def measure(quick: bool) -> list[Record]:
    shapes, runs = (((400, 3),), 1) if quick else (SHAPES, 15)
    limits = dict(zip(shapes, LIMITS, strict=False))
    return [record for shape in shapes for record in _records(*shape, limits[shape], runs)]


def _records(n: int, d: int, limit: float, runs: int) -> Iterator[Record]:
    X, residuals, sample = _make(n, d)
    dictionary = TreeDictionary(DEPTH)
    grower, ones, turns = dictionary.grower(sample), np.ones(n), iter(range(10**9))
    atoms = _padded([grower.grow(X, r, ones, 0) for r in residuals])
    rival = lightgbm.Booster(SETTINGS, lightgbm.Dataset(X, residuals[0], params=SETTINGS))
    for _ in range(N_TREES):
        rival.update()
    values = dictionary.prepared(atoms, sample.scale)
    times = medians(
        interleaved(
            runs,
            grow=lambda: grower.grow(X, residuals[next(turns) % len(residuals)], ones, 0),
            update=rival.update,
            values=lambda: values(X),
            predict=lambda: rival.predict(X, num_iteration=N_TREES, num_threads=1),
        )
    )
    about = {"depth": DEPTH, "leaves": int((atoms[0, ::4] == -1.0).sum())}
    name = f"LightGBM {lightgbm.__version__}"
    ours, theirs = 1e3 * times["grow"], 1e3 * times["update"]
    what = f"{n:,} x {d}: one tree grows"
    yield Record(what, "ms", ours, theirs, f"{name} update", at_most(limit, "ours"), about)
    ours, theirs = 1e3 * times["values"], 1e3 * times["predict"]
    what = f"{n:,} x {d}: values of {N_TREES} trees"
    yield Record(what, "ms", ours, theirs, f"{name} predict", at_most(2.0), about)


def _make(n: int, d: int) -> tuple[Any, Any, Sample]:
    """Give rows, a residual for every tree, and what a grower must know."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, d))
    surface = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    residuals = [surface + generator.standard_normal(n) for _ in range(N_TREES)]
    sample = Sample(X[:1], np.zeros(d), np.ones(d), X.min(axis=0), X.max(axis=0), 1.0, float(d))
    return X, residuals, sample


def _padded(trees: list[Any]) -> Any:
    width = max(tree.shape[1] for tree in trees)
    return np.vstack([np.pad(tree, ((0, 0), (0, width - tree.shape[1]))) for tree in trees])
