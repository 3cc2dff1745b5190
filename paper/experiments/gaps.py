"""Accuracy where cells are missing at random, by default settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from paper.base import Experiment, Preset, Row, Split, Unit
from paper.contest.frames import AS_IT_IS, Parts, arrange, measure
from paper.data.tables import LabelledFrame
from paper.data.uci import fetch_uci
from paper.experiments.tables import EXTENTS
from paper.experiments.uci import missing_sets
from paper.protocol import deal_random, seed_of
from paper.rivals import absent_packages
from paper.rivals.base import Terms

#: Shares of the cells that are taken away.
RATES = (0.01, 0.1, 0.3)
METHODS = (AS_IT_IS, "catboost", "hist_gradient_boosting")
RESULTS = ("accuracy", "log_loss", "auc", "n_train", "n_test", "seconds")
#: Six sets of numbers, and the seconds of all methods on one split at one share: an estimate.
SECONDS: Mapping[str, float] = {
    "breast_cancer": 0.9,
    "biodeg": 3.8,
    "banknote_authentication": 1.5,
    "HTRU2": 4.6,
    "magic_gamma_telescope": 5.5,
    "occupancy_detection": 4.3,
}
SETS = tuple(SECONDS)


@dataclass(frozen=True)
class GapsUnit(Unit):
    """One method on one random split of one set, a share of its cells missing."""

    dataset: str
    method: str
    rate: float
    repetition: int
    row_limit: int = 0


class Gaps(Experiment[GapsUnit]):
    """Test accuracies with 1 to 30 % of the cells missing."""

    name = "gaps"
    title = "Missing cells"
    about = (
        "Test accuracy with 1, 10 and 30 % of all cells missing at random, those of the test part "
        "included: the default, CatBoost and HistGradientBoosting with their defaults, on six sets "
        "of numbers. Not in the paper."
    )
    unit_type = GapsUnit
    results = RESULTS
    in_all = False

    def units(self, preset: Preset, split: Split | None) -> list[GapsUnit]:
        """Declare every method, set and share: whole repetitions first."""
        extent = EXTENTS[preset]
        return [
            GapsUnit(dataset, method, rate, repetition, extent.row_limit)
            for repetition in extent.repetitions
            for dataset in SETS
            for rate in RATES
            for method in METHODS
        ]

    def run(self, unit: GapsUnit) -> list[Row]:
        """Take cells away, fit and test, on one thread."""
        parts, seed = dealt(unit), seed_of(unit.dataset, unit.repetition)
        with threadpool_limits(1):
            results = measure(unit.method, parts, Terms(), seed)
        counts = {"n_train": len(parts.learning.y), "n_test": len(parts.test.y)}
        found = {name: results[name] for name in RESULTS if name not in counts}
        return [unit.row(**found, **counts)]

    def cost(self, unit: GapsUnit) -> float:
        """Share the time of a split by method."""
        share = 0.8 if unit.method == "catboost" else 0.1
        return (0.1 if unit.row_limit else 1.0) * SECONDS[unit.dataset] * share

    def obstacle(self, units: Sequence[GapsUnit]) -> str | None:
        """Say which packages or sets are not there."""
        absent = absent_packages(unit.method for unit in units)
        return absent or missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


def dealt(unit: GapsUnit) -> Parts:
    """Give the parts of a set, the same cells of them missing for every method.

    What is missing at one share is missing at all larger ones.
    """
    import pandas as pd

    X, y = fetch_uci(unit.dataset)
    seed = seed_of(unit.dataset, unit.repetition)
    is_missing = np.random.default_rng([seed, 2]).uniform(size=X.shape) < unit.rate
    frame = pd.DataFrame(np.where(is_missing, np.nan, X)).add_prefix("x")
    table = LabelledFrame(frame, (y > 0.0).astype(np.int64))
    return arrange(table, deal_random(len(y), seed, unit.row_limit))
