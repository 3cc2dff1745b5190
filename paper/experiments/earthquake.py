"""Earthquakes: ten methods on NOAA's felt reports, and on others of the same kind.

NOAA's file is the paper's, and not public at an address that programs can use. The Italian
catalogue shows that the experiment runs on real records; what it gives is not about the paper's
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from paper.base import DataError, Experiment, Preset, Row, Split, Unit
from paper.data import fetch_earthquake, fetch_italy
from paper.data.earthquake import PLACES
from paper.experiments.uci import RESULTS, estimate, measure
from paper.methods import DEFAULT, METHODS
from paper.protocol import arrange, deal_groups, deal_random, seed_of
from paper.rivals.base import Grid

_GRIDS: Mapping[Preset, Grid] = {"quick": "quick", "standard": "thinned", "full": "paper"}
_REPETITIONS: Mapping[Preset, int] = {"quick": 1, "standard": 10, "full": 50}
# Of each way to split the Italian records, of which there are four times as many.
_ITALIAN_REPETITIONS: Mapping[Preset, int] = {"quick": 1, "standard": 5, "full": 50}
_ROW_LIMIT: Mapping[Preset, int] = {"quick": 1_000, "standard": 0, "full": 0}


@dataclass(frozen=True)
class EarthquakeUnit(Unit):
    """One method on one random split."""

    method: str
    repetition: int
    grid: Grid
    row_limit: int = 0


class Earthquake(Experiment[EarthquakeUnit]):
    """Weak or strong: the intensity felt in a city, from where and how strong a quake was."""

    name = "earthquake"
    printed = ("Table 6", "Figure 6")
    title = "Earthquake intensities"
    about = (
        "Test accuracy of the same methods, tuned in the same way, on the U.S. Earthquake "
        "Intensity Database: intensity 1 to 4 against 5 to 12. The paper prints one mean each."
    )
    unit_type = EarthquakeUnit
    results = RESULTS

    def units(self, preset: Preset, split: Split | None) -> list[EarthquakeUnit]:
        """Declare every method on random splits: the records are in no order worth a test."""
        return [
            EarthquakeUnit(method, repetition, _GRIDS[preset], _ROW_LIMIT[preset])
            for repetition in range(_REPETITIONS[preset])
            for method in METHODS
        ]

    def run(self, unit: EarthquakeUnit) -> list[Row]:
        """Deal the rows, tune, fit and test."""
        X, y = fetch_earthquake()
        seed = seed_of(self.name, unit.repetition)
        data = arrange(X, y, deal_random(len(y), seed, unit.row_limit))
        return [unit.row(**measure(data, unit.method, unit.grid, seed))]

    def cost(self, unit: EarthquakeUnit) -> float:
        """Take musk2's, the set of the nearest size: the paper has 8,173 records."""
        return estimate("musk2", unit.method, unit.grid)

    def obstacle(self, units: Sequence[EarthquakeUnit]) -> str | None:
        """Say where the file is to be put: it cannot be downloaded."""
        try:
            fetch_earthquake()
        except FileNotFoundError:
            # Without the folders: the sentence is stored with the results.
            return (
                "The U.S. Earthquake Intensity Database, file eqint_tsqp, is in no data home and "
                f"cannot be downloaded automatically. Obtain it from {PLACES}, and put it into the "
                "folder that the environment variable FCGBOOST_DATA names."
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        return None


@dataclass(frozen=True)
class ItalyUnit(Unit):
    """One method on one split of the Italian records; "events" keeps those of an event together."""

    method: str
    split: Literal["random", "events"]
    repetition: int
    grid: Grid
    row_limit: int = 0


class EarthquakeItaly(Experiment[ItalyUnit]):
    """The same question on CFTI5Med."""

    name = "earthquake-italy"
    title = "Earthquake intensities in Italy: not the paper's data"
    about = (
        "Test accuracy of the same methods, and of the default, on CFTI5Med, a catalogue of felt "
        "reports from Italy and the Mediterranean, without depth: intensity 1 to 4 against 5 to "
        "12, on random splits, and on splits that keep the reports of an event together. This is "
        "not the paper's data."
    )
    unit_type = ItalyUnit
    results = RESULTS

    def units(self, preset: Preset, split: Split | None) -> list[ItalyUnit]:
        """Declare every method on both kinds of splits."""
        splits: tuple[Literal["random", "events"], ...] = ("random", "events")
        return [
            ItalyUnit(
                method,
                split=kind,
                repetition=repetition,
                grid=_GRIDS[preset],
                row_limit=_ROW_LIMIT[preset],
            )
            for kind in splits
            for repetition in range(_ITALIAN_REPETITIONS[preset])
            for method in (*METHODS, DEFAULT.name)
        ]

    def run(self, unit: ItalyUnit) -> list[Row]:
        """Deal the rows, tune, fit and test."""
        X, y, events = fetch_italy()
        seed = seed_of(self.name, unit.repetition)
        if unit.row_limit:
            kept = np.random.default_rng(seed).permutation(len(y))[: unit.row_limit]
            X, y, events = X[kept], y[kept], events[kept]
        deal = deal_random(len(y), seed) if unit.split == "random" else deal_groups(events, seed)
        data = arrange(X, y, deal)
        return [unit.row(**measure(data, unit.method, unit.grid, seed))]

    def cost(self, unit: ItalyUnit) -> float:
        """Take that of the UCI set of the nearest size; the default was measured."""
        if unit.method == DEFAULT.name:
            return 15.0
        return estimate("default_credit_card_clients", unit.method, unit.grid)

    def obstacle(self, units: Sequence[ItalyUnit]) -> str | None:
        """Say where the file is to be put."""
        try:
            fetch_italy()
        except FileNotFoundError:
            return (
                "CFTI5Med, file cfti5med.csv.gz, is in no data home: put it into the folder that "
                "the environment variable FCGBOOST_DATA names (docs/data.md)."
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        return None
