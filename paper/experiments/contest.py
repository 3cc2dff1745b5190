"""A contest: our presets beside tuned rivals, on eleven UCI sets, with clean and noisy labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from paper.base import CLIPPING, Experiment, Preset, Row, Split, Unit
from paper.contest import CONTESTANTS
from paper.contest.tuning import measure
from paper.experiments.uci import SETS, UciUnit, deal, missing_sets
from paper.protocol import Data, seed_of
from paper.rivals import absent_packages
from paper.rivals.base import Terms

#: Shares of flipped labels.
NOISES = (0.0, 0.3)

#: What is measured beside the settings of a unit. Sizes are
#: explained by `Learned`, seconds in `paper.contest.tuning`.
RESULTS = (
    *("accuracy", "brier", "log_loss", "validation_accuracy"),
    *("n_train", "n_test", "parameters", "n_choices", "seconds_tune", "seconds_fit"),
    *("stored_numbers", "file_bytes", "n_parts", "deviation"),
)

#: Seconds of all contestants together on one split of a set, each measured once: an estimate.
SECONDS: Mapping[str, float] = dict(
    zip(SETS, (3.0, 4.0, 10.0, 8.0, 8.0, 105.0, 20.0, 36.0, 17.0, 70.0, 120.0), strict=True)
)


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none."""

    repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, row_limit=600),
    "standard": Extent(10),
    "full": Extent(50),
}


@dataclass(frozen=True)
class ContestUnit(Unit):
    """One contestant on one random split of one set."""

    dataset: str
    method: str
    noise: float
    repetition: int
    row_limit: int = 0


class Contest(Experiment[ContestUnit]):
    """Accuracy, probabilities, size and time of our presets and of seven rivals."""

    name = "contest"
    title = "Both presets beside tuned rivals"
    about = (
        "Test accuracy, Brier score, log-loss, size and time of both presets and of LightGBM, "
        "XGBoost, CatBoost, HistGradientBoosting, an SVM, random forest and RGF, tuned "
        "on a validation part, with clean labels and with 30 % of the training and validation "
        "labels flipped. Not in the paper."
    )
    unit_type = ContestUnit
    results = RESULTS
    is_timed = True
    in_all = False
    clipping = CLIPPING

    def units(self, preset: Preset, split: Split | None) -> list[ContestUnit]:
        """Declare every method on every split: whole repetitions first, to be of use early."""
        extent = EXTENTS[preset]
        return [
            ContestUnit(dataset, method, noise, repetition, extent.row_limit)
            for noise in NOISES
            for repetition in range(extent.repetitions)
            for dataset in SETS
            for method in CONTESTANTS
        ]

    def run(self, unit: ContestUnit) -> list[Row]:
        """Deal the rows, tune, fit and test, on one thread."""
        data = dealt(unit)
        seed = seed_of(unit.dataset, unit.repetition)
        terms = Terms(unit.noise, is_try=bool(unit.row_limit))
        with threadpool_limits(1):
            _warm_up(unit.method)
            results = measure(CONTESTANTS[unit.method], data, terms, seed)
        return [unit.row(**results, n_train=len(data.y), n_test=len(data.y_test))]

    def cost(self, unit: ContestUnit) -> float:
        """Share the time of a split equally."""
        return (0.1 if unit.row_limit else 1.0) * SECONDS[unit.dataset] / len(CONTESTANTS)

    def obstacle(self, units: Sequence[ContestUnit]) -> str | None:
        """Say which packages or sets are not there."""
        absent = absent_packages(unit.method for unit in units)
        return absent or missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


@cache
def _warm_up(method: str) -> None:
    """Fit a few rows, once in a process: importing and compiling are no part of a fit's time."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    parts = (X[:80], X[80:100], X[100:])
    data = Data(
        *(part for X in parts for part in (X, np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)))
    )
    contestant = CONTESTANTS[method]
    contestant.fit(contestant.plan(data, Terms(is_try=True)).choices[0], data, 0)


def dealt(unit: ContestUnit) -> Data:
    """Give the three parts, dealt as in `uci`, with noise where labels are learned from."""
    place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
    return with_noise(deal(place), unit.noise, seed_of(unit.dataset, unit.repetition))


def with_noise(data: Data, noise: float, seed: int) -> Data:
    """Flip a share of the training labels and of the validation labels.

    Which ones depends on the seed alone; test labels stay.
    """
    generator = np.random.default_rng([seed, 1])
    flipped = []
    for y in (data.y, data.y_val):
        rows = generator.permutation(len(y))[: round(noise * len(y))]
        noisy = y.copy()
        noisy[rows] *= -1.0
        flipped.append(noisy)
    return data._replace(y=flipped[0], y_val=flipped[1])
