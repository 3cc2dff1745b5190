"""The paper's table of eleven UCI sets: test accuracies of ten methods."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from paper.base import DataError, Experiment, Preset, Row, Split, Unit, Value
from paper.data import fetch_uci
from paper.data.catalog import UCI_SETS
from paper.data.home import data_homes, find_file
from paper.methods import DEFAULT, METHODS
from paper.protocol import (
    Data,
    accuracy,
    arrange,
    deal_groups,
    deal_in_order,
    deal_random,
    seed_of,
)
from paper.rivals.base import Grid

#: How rows are dealt; "molecules" keeps the conformations of a molecule of musk2 together.
Dealing = Literal["random", "file-order", "molecules"]

#: What is measured on real data, beside the settings of a unit. Accuracies are shares;
#: "majority" is that of always giving the training part's most frequent class.
RESULTS = (
    *("accuracy", "validation_accuracy", "majority", "n_train", "n_test"),
    *("size", "parameters", "deviation", "seconds"),
)

#: Seconds of one unit with the thinned grid on one core, in the order of `METHODS`: each
#: measured once, so an estimate.
SECONDS: Mapping[str, tuple[float, ...]] = {
    "heart": (0.5, 0.7, 0.2, 0.1, 0.2, 0.5, 0.1, 0.2, 0.2, 0.1),
    "breast_cancer": (0.7, 0.8, 0.3, 0.1, 0.3, 0.8, 0.2, 0.2, 0.3, 0.1),
    "biodeg": (0.9, 1.4, 0.4, 0.1, 1.0, 1.5, 0.6, 0.2, 0.3, 0.1),
    "banknote_authentication": (1.1, 1.2, 0.6, 0.1, 0.4, 1.8, 0.4, 0.3, 0.2, 0.1),
    "seismic_bumps": (2.5, 3.7, 1.0, 0.3, 1.5, 4.9, 1.6, 0.2, 0.3, 0.1),
    "musk2": (13.4, 10.0, 7.0, 4.5, 6.2, 4.7, 3.4, 1.3, 2.9, 0.5),
    "HTRU2": (23.0, 9.6, 11.0, 9.0, 1.2, 3.7, 4.6, 1.6, 1.2, 0.2),
    "magic_gamma_telescope": (13.4, 12.2, 11.3, 9.2, 3.7, 8.6, 1.6, 2.8, 1.3, 0.2),
    "occupancy_detection": (15.0, 8.0, 11.0, 9.0, 0.8, 3.7, 0.7, 1.0, 1.0, 0.2),
    "default_credit_card_clients": (10.9, 6.9, 5.8, 2.9, 12.3, 17.0, 2.1, 3.6, 2.2, 0.5),
    "Skin_NonSkin": (87.5, 4.2, 70.0, 73.3, 3.2, 8.6, 2.9, 6.9, 4.8, 1.1),
}

#: The other grids cost so many times as much, roughly.
_GRID_FACTOR: Mapping[Grid, float] = {"paper": 30.0, "thinned": 1.0, "quick": 0.05}
_SAME_IN_THE_PAPER = ("random_forest", "adaboost", "baseline")
# The largest set whose n = m candidates are all scored with the thinned grid.
_SCANNED_ROWS = 20_560


# By the paper's protocol, which scores all pairs of its rows and tunes SVMs on all of them, this
# set alone would take 314 days on two cores.
_IMPRACTICAL = "Skin_NonSkin"


class Plan(NamedTuple):
    """What a preset runs.

    Attributes
    ----------
    grid : {"paper", "thinned", "quick"}
    repetitions : mapping of str to int
        Random splits of every set.
    molecules : int
        Splits of musk2 that keep molecules together.
    row_limit : int
        Rows drawn from a set; 0 is all. Splits by molecules have all in any case.
    """

    grid: Grid
    repetitions: Mapping[str, int]
    molecules: int
    row_limit: int = 0


SETS = tuple(UCI_SETS)
PLANS: Mapping[Preset, Plan] = {
    "quick": Plan(
        grid="quick",
        repetitions=dict.fromkeys(SETS, 1),
        molecules=1,
        row_limit=1_000,
    ),
    "standard": Plan(
        grid="thinned",
        repetitions=dict.fromkeys(SETS, 10) | {SETS[-1]: 2},
        molecules=5,
    ),
    "full": Plan(grid="paper", repetitions=dict.fromkeys(SETS, 50), molecules=50),
}


@dataclass(frozen=True)
class UciUnit(Unit):
    """One method on one split of one set."""

    dataset: str
    method: str
    split: Dealing
    repetition: int
    grid: Grid
    row_limit: int = 0


class Uci(Experiment[UciUnit]):
    """Accuracies on real data, tuned on a validation part."""

    name = "uci"
    printed = ("Table 5",)
    title = "Eleven UCI data sets"
    about = (
        "Test accuracy of the four dictionaries, five other methods and logistic regression, "
        "tuned on a validation part; rows dealt at random, in the order of the file, and for "
        "musk2 also by molecules. The paper prints means of 50 repetitions."
    )
    unit_type = UciUnit
    results = RESULTS
    has_splits = True

    def units(self, preset: Preset, split: Split | None) -> list[UciUnit]:
        """Declare every method on every split."""
        plan = PLANS[preset]
        return [
            UciUnit(dataset, method, dealing, repetition, _grid_of(dataset, plan), row_limit)
            for dataset, dealing, repetition, row_limit in _splits(plan)
            if split is None or (dealing == "file-order") == (split == "file-order")
            for method in METHODS
        ]

    def run(self, unit: UciUnit) -> list[Row]:
        """Deal the rows, tune, fit and test."""
        seed = seed_of(unit.dataset, unit.repetition)
        return [unit.row(**measure(deal(unit), unit.method, unit.grid, seed))]

    def cost(self, unit: UciUnit) -> float:
        """Estimate from single measurements; they hold for random splits."""
        return estimate(unit.dataset, unit.method, unit.grid)

    def obstacle(self, units: Sequence[UciUnit]) -> str | None:
        """Say which sets can be neither found nor downloaded."""
        return missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


def _grid_of(dataset: str, plan: Plan) -> Grid:
    return "thinned" if plan.grid == "paper" and dataset == _IMPRACTICAL else plan.grid


def _splits(plan: Plan) -> Iterator[tuple[str, Dealing, int, int]]:
    for dataset, n_repetitions in plan.repetitions.items():
        for repetition in range(n_repetitions):
            yield dataset, "random", repetition, plan.row_limit
        yield dataset, "file-order", 0, plan.row_limit
    for repetition in range(plan.molecules):
        # Molecules are dealt whole, with all their rows.
        yield "musk2", "molecules", repetition, 0


def deal(unit: UciUnit) -> Data:
    """Load a set and deal its rows: by set and repetition alone, whatever the method."""
    bunch: Any = fetch_uci(unit.dataset, return_X_y=False)
    X, y, seed = bunch.data, bunch.target, seed_of(unit.dataset, unit.repetition)
    if unit.split == "molecules":
        return arrange(X, y, deal_groups(bunch.groups["id_molecule"], seed))
    if unit.split == "file-order":
        return arrange(X, y, deal_in_order(len(y), unit.row_limit))
    return arrange(X, y, deal_random(len(y), seed, unit.row_limit))


def measure(data: Data, method: str, grid: Grid, seed: int) -> dict[str, Value]:
    """Give the results of one method on data that are dealt."""
    started = time.perf_counter()
    chosen = DEFAULT if method == DEFAULT.name else METHODS[method]
    outcome = chosen.evaluate(data, grid, seed)
    seconds = time.perf_counter() - started
    constant = np.full_like(data.y_test, data.majority())
    return {
        **outcome._asdict(),
        "majority": accuracy(constant, data.y_test),
        "n_train": len(data.y),
        "n_test": len(data.y_test),
        "seconds": seconds,
    }


def estimate(dataset: str, method: str, grid: Grid) -> float:
    """Give the seconds a method is expected to take."""
    seconds = dict(zip(METHODS, SECONDS[dataset], strict=True))[method]
    if grid != "paper" or method in _SAME_IN_THE_PAPER:
        return _GRID_FACTOR["thinned" if grid == "paper" else grid] * seconds
    # All pairs of rows count in the paper's protocol.
    return _GRID_FACTOR[grid] * max(1.0, UCI_SETS[dataset].n_rows / _SCANNED_ROWS) ** 2 * seconds


def missing_sets(names: Sequence[str]) -> str | None:
    """Say which sets can be neither found nor downloaded; None if all are there."""
    homes = data_homes()
    absent = [name for name in names if find_file((UCI_SETS[name].file_name,), homes) is None]
    # Those that are there as well: better to know of a damaged file now than after hours.
    for name in names:
        try:
            fetch_uci(name)
        except FileNotFoundError as error:
            # The next downloads would fail as this one did. Folders are left out: the sentence
            # is stored with the results.
            return (
                f"These sets are in no data home, and downloading failed ({error.__cause__}): "
                f"{', '.join(absent)}. Try again online, or put their files into the folder that "
                "the environment variable FCGBOOST_DATA names; docs/data.md describes them."
            )
        except ValueError as error:
            raise DataError(str(error)) from error
    return None
