"""The paper's earthquake data: ten methods on NOAA's felt reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper.base import DataError, Experiment, Preset, Row, Split, Unit
from paper.data import fetch_earthquake
from paper.experiments.uci import RESULTS, estimate, measure
from paper.methods import METHODS
from paper.protocol import arrange, deal_random, seed_of
from paper.rivals.base import Grid

_GRIDS: Mapping[Preset, Grid] = {"quick": "quick", "standard": "thinned", "full": "paper"}
_REPETITIONS: Mapping[Preset, int] = {"quick": 1, "standard": 10, "full": 50}
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
                "cannot be downloaded automatically. Obtain it from NOAA "
                "(https://www.ngdc.noaa.gov/hazard/intintro.shtml) and put it into the folder "
                "that the environment variable FCGBOOST_DATA names."
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        return None
