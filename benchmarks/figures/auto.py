"""The preset "fast": what choosing costs beside one path, and beside LightGBM with early stopping.

Of the rows not in the test part a third chooses. The single path has the ridge that was chosen and
as many steps; LightGBM is fitted for three numbers of leaves, as in the experiment `contest`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.data import halves, load, make_rows
from benchmarks.measure import Record, at_most, interleaved, medians
from fcgboost import FCGBoostClassifier
from paper.protocol import Data
from paper.rivals import RIVALS
from paper.rivals.boosters import fit_lightgbm
from paper.rivals.plans import LEAVES

SETS = ("magic_gamma_telescope", "musk2", "Skin_NonSkin")
RIVAL = RIVALS["lightgbm"]
#: How many times as long as one path the choice and the fit may take.
MULTIPLE = 6.0


def measure(quick: bool) -> list[Record]:
    names, runs = (SETS[:1], 1) if quick else (SETS, 3)
    FCGBoostClassifier("fast", n_jobs=1, random_state=0).fit(*make_rows(300, 3))
    return [record for name in names for record in _records(name, quick, runs)]


def _records(name: str, quick: bool, runs: int) -> Iterator[Record]:
    split = halves(*load(name, quick), 0)
    n = len(split.y) * 2 // 3
    parts = (split.X[:n], split.y[:n], split.X[n:], split.y[n:])
    chosen = _fast(parts)
    times = medians(
        interleaved(
            runs,
            fast=lambda: _fast(parts),
            single=lambda: _fast(parts, l2=chosen.l2_, max_iter=len(chosen.trace_)),
            rival=lambda: _tuned(parts),
        )
    )
    where = f"{name}, {n:,} rows"
    about = {"steps": len(chosen.trace_), "atoms": chosen.n_atoms_, "ridge": chosen.l2_}
    multiple = at_most(MULTIPLE)
    yield Record(f"{where}: fast", "s", times["fast"], times["single"], "one path", multiple, about)
    version = f"{RIVAL.title} {RIVAL.version}, {len(LEAVES)} sizes, early stopping"
    yield Record(f"{where}: fast", "s", times["fast"], times["rival"], version)


def _fast(parts: tuple[Any, ...], **settings: Any) -> FCGBoostClassifier:
    X, y, X_val, y_val = parts
    classifier = FCGBoostClassifier("fast", n_jobs=1, random_state=0, **settings)
    return classifier.fit(X, y, X_val=X_val, y_val=y_val)


def _tuned(parts: tuple[Any, ...]) -> None:
    # No test part: the validation part stands in its place, and nobody looks at it.
    data = Data(*parts, *parts[2:])
    for leaves in LEAVES:
        fit_lightgbm({"num_leaves": leaves}, data, 0)
