"""Accuracy against the share of wrong labels.

Compared are our default, options on top of it, four losses with Gauss atoms, and tuned rivals. A
share of the training labels and of the validation labels is flipped, the same rows for every
method; test labels are clean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.contest import CONTESTANTS
from paper.contest.tuning import tune
from paper.experiments.contest import with_noise
from paper.experiments.robust import Option, Reseeded, Reweighted, Trimmed, out_of_fold_margins
from paper.experiments.uci import UciUnit, deal, missing_sets
from paper.protocol import Data, Deal, arrange, seed_of
from paper.rivals import absent_packages
from paper.rivals.base import Terms

#: Shares of flipped labels.
NOISES = (0.0, 0.1, 0.2, 0.3, 0.4)
SIMULATION = "simulation"
REAL_SETS = ("biodeg", "magic_gamma_telescope", "banknote_authentication")
#: Rows of the simulation: training, validation, test.
SIZES = (1_000, 500, 4_000)
#: Rows of a real set, for training and for validation.
MOST_ROWS = 4_000

#: A unit of ours gives the default and all options, which share its first fit.
OURS = "fcg"
DEFAULT = "default"
OPTIONS = ("reweighted", "truncated", "trimmed", "relabelled", "reseeded")
LOSSES = ("hinge", "squared_hinge", "cubed_hinge", "square")
RIVALS = ("svm_rbf", "lightgbm", "xgboost", "random_forest")


class Extent(NamedTuple):
    """What a preset runs: repetitions of ours and of rivals; a row limit of 0 is `MOST_ROWS`."""

    repetitions: int
    rival_repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, 1, row_limit=400),
    "standard": Extent(5, 2),
    "full": Extent(10, 10),
}


@dataclass(frozen=True)
class RobustnessUnit(Unit):
    """One method on one split, with a share of flipped labels."""

    dataset: str
    method: str
    noise: float
    repetition: int
    row_limit: int = 0


class Robustness(Experiment[RobustnessUnit]):
    """Test accuracies with 0 to 40 % of wrong labels."""

    name = "robustness"
    title = "Wrong labels"
    about = (
        "Test accuracy with 0 to 40 % of the training and validation labels flipped: the default, "
        "four robust options on top of it and a control, four losses with Gauss atoms, and tuned "
        "rivals, on the simulation and three real sets. Not in the paper."
    )
    unit_type = RobustnessUnit
    results = ("model", "accuracy", "validation_accuracy", "amount", "n_train", "n_test")
    in_all = False

    def units(self, preset: Preset, split: Split | None) -> list[RobustnessUnit]:
        """Declare every method, set and share: whole repetitions first."""
        extent = EXTENTS[preset]
        return [
            RobustnessUnit(dataset, method, noise, repetition, extent.row_limit)
            for repetition in range(extent.repetitions)
            for dataset in (SIMULATION, *REAL_SETS)
            for noise in NOISES
            for method in (OURS, *LOSSES, *RIVALS)
            if method == OURS or repetition < extent.rival_repetitions
        ]

    def run(self, unit: RobustnessUnit) -> list[Row]:
        """Flip labels, tune on what is left of the validation part, and test."""
        data, seed = dealt(unit), seed_of(unit.dataset, unit.repetition)
        with threadpool_limits(1):
            found = list(_fitted(unit, data, seed))
        counts = {"n_train": len(data.y), "n_test": len(data.y_test)}
        return [
            unit.row(
                model=name,
                accuracy=_accuracy(labels[1], data.y_test),
                validation_accuracy=_accuracy(labels[0], data.y_val),
                amount=amount,
                **counts,
            )
            for name, amount, labels in found
        ]

    def cost(self, unit: RobustnessUnit) -> float:
        """Estimate from the number of rows."""
        share = 0.1 if unit.row_limit else 4.0 if unit.dataset == REAL_SETS[1] else 1.0
        return share * (5.0 if unit.method == OURS else 2.0 if unit.method in RIVALS else 0.5)

    def obstacle(self, units: Sequence[RobustnessUnit]) -> str | None:
        """Say which packages or sets are not there."""
        asked = [name for name in REAL_SETS if any(unit.dataset == name for unit in units)]
        return absent_packages(unit.method for unit in units) or missing_sets(asked)


def dealt(unit: RobustnessUnit) -> Data:
    """Give the three parts, with noise where labels are learned from."""
    seed = seed_of(unit.dataset, unit.repetition)
    if unit.dataset == SIMULATION:
        sizes = [min(size, unit.row_limit or size) for size in SIZES]
        ends = np.cumsum([0, *sizes])
        parts = (np.arange(start, end) for start, end in pairwise(ends))
        data = arrange(*make_simulation(ends[-1], noise=None, random_state=seed), Deal(*parts))
    else:
        place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
        data = deal(place).at_most(MOST_ROWS, seed)
    return with_noise(data, unit.noise, seed)


def _fitted(
    unit: RobustnessUnit, data: Data, seed: int
) -> Iterator[tuple[str, float | None, list[Any]]]:
    """Give models, how much an option did, and the labels on the validation and test parts."""
    parts = (data.X_val, data.X_test)
    if unit.method in RIVALS:
        contestant = CONTESTANTS[unit.method]
        plan = contestant.plan(data, Terms(unit.noise, is_try=bool(unit.row_limit)))
        learned = tune(contestant, plan, data, seed).learned
        yield unit.method, None, [learned.judge(X).labels for X in parts]
    elif unit.method in LOSSES:
        classifier = FCGBoostClassifier("gauss", loss=unit.method, n_jobs=1, random_state=seed)
        classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)
        yield unit.method, None, [classifier.predict(X) for X in parts]
    else:
        for name, option in options(data, seed).items():
            yield name, option.amount_, [option.predict(X) for X in parts]


def options(data: Data, seed: int) -> dict[str, Option]:
    """Fit the default and every option on top of it; what they share is fitted once."""
    # A single path, which can be fitted again with its ridge and steps.
    estimator = FCGBoostClassifier("fast", n_jobs=1, random_state=seed)
    given = data.X, data.y, data.X_val, data.y_val
    # No cap is no change.
    default = Reweighted(estimator, caps=()).fit(*given)
    first = default.classifier_
    margins = out_of_fold_margins(estimator, first, data.X, data.y)
    fits = {
        "reweighted": Reweighted(estimator, first=first),
        "truncated": Reweighted(estimator, is_hard=True, first=first),
        "trimmed": Trimmed(estimator, first=first, margins=margins),
        "relabelled": Trimmed(estimator, is_turned=True, first=first, margins=margins),
        "reseeded": Reseeded(estimator, first=first),
    }
    return {DEFAULT: default, **{name: option.fit(*given) for name, option in fits.items()}}


def _accuracy(labels: Any, y: Any) -> float:
    return float(np.mean((np.asarray(labels) > 0.0) == (y > 0.0)))
