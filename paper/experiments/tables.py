"""A contest on thirteen tables with categories, text, dates and gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from paper.base import CLIPPING, DataError, Experiment, Preset, Row, Split, Unit
from paper.contest.frames import METHODS, SCORES, TUNED, arrange, measure
from paper.data.home import VARIABLE
from paper.data.tables import CATEGORIES, TABLES, LabelledFrame, fetch_table, file_name
from paper.experiments.uci import missing_sets
from paper.protocol import deal_random, seed_of
from paper.rivals import absent_packages
from paper.rivals.base import Terms

#: What is measured beside the settings of a unit. Seconds are processor time on one thread, of all
#: that is done to learn and of the probabilities of the test part.
RESULTS = (
    *SCORES,
    *("n_train", "n_test", "seconds", "seconds_predict", "stored_numbers", "n_parts"),
    *("parameters", "n_choices", "deviation"),
)
#: Repetitions that are judged, and those that whoever develops a method may look at.
JUDGED = tuple(range(10))
DEVELOPMENT = tuple(range(100, 110))

#: Seconds of all methods together on one split of a table, each measured once: an estimate.
SECONDS: Mapping[str, float] = dict(
    zip(
        TABLES,
        (19.0, 8.0, 10.0, 13.0, 15.0, 16.0, 210.0, 10.0, 158.0, 29.0, 6.0, 3.0, 39.0),
        strict=True,
    )
)
#: The shares of CatBoost; the others have the rest.
_SHARES: Mapping[str, float] = {"catboost": 0.38, "catboost_tuned": 0.5}


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none."""

    repetitions: tuple[int, ...]
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(DEVELOPMENT[:1], row_limit=600),
    "standard": Extent(JUDGED),
    "full": Extent((*JUDGED, *DEVELOPMENT)),
}


@dataclass(frozen=True)
class TablesUnit(Unit):
    """One method on one random split of one table."""

    dataset: str
    method: str
    repetition: int
    row_limit: int = 0


class Tables(Experiment[TablesUnit]):
    """Probabilities, size and time of ours and of three rivals on tables as they come."""

    name = "tables"
    title = "Tables with categories, text, dates and gaps"
    about = (
        "Log-loss, AUC, accuracy, size and time of the default, given a data frame as it is and "
        "with one-hot encoding, and of CatBoost, LightGBM and HistGradientBoosting with their own "
        "categories, with defaults and tuned, on thirteen tables. Not in the paper."
    )
    unit_type = TablesUnit
    results = RESULTS
    is_timed = True
    in_all = False
    clipping = CLIPPING

    def units(self, preset: Preset, split: Split | None) -> list[TablesUnit]:
        """Declare every method on every split: whole repetitions first, to be of use early."""
        extent = EXTENTS[preset]
        return [
            TablesUnit(dataset, method, repetition, extent.row_limit)
            for repetition in extent.repetitions
            for dataset in TABLES
            for method in METHODS
        ]

    def run(self, unit: TablesUnit) -> list[Row]:
        """Deal the rows, fit and test, on one thread."""
        seed = seed_of(unit.dataset, unit.repetition)
        table = fetch_table(unit.dataset)
        parts = arrange(table, deal_random(len(table.y), seed, unit.row_limit))
        with threadpool_limits(1):
            _warm_up(unit.method)
            results = measure(unit.method, parts, Terms(is_try=bool(unit.row_limit)), seed)
        counts = {"n_train": len(parts.learning.y), "n_test": len(parts.test.y)}
        return [unit.row(**results, **counts)]

    def cost(self, unit: TablesUnit) -> float:
        """Estimate from single measurements."""
        share = _SHARES.get(unit.method, 0.12 / (len(METHODS) - len(_SHARES)))
        return (0.1 if unit.row_limit else 1.0) * SECONDS[unit.dataset] * share

    def obstacle(self, units: Sequence[TablesUnit]) -> str | None:
        """Say which packages or tables are not there."""
        absent = absent_packages(unit.method.removesuffix(TUNED) for unit in units)
        return absent or missing_tables(unit.dataset for unit in units)


def missing_tables(names: Iterable[str]) -> str | None:
    """Say which tables can be neither found nor downloaded; None if all are there."""
    asked = list(dict.fromkeys(names))
    absent = [name for name in asked if name not in CATEGORIES and not _is_there(name)]
    if absent:
        return (
            f"These tables are in no data home: {', '.join(map(file_name, absent))}. Put them into "
            f"the folder that the environment variable {VARIABLE} names, or leave them out by "
            "--datasets."
        )
    return missing_sets([name for name in asked if name in CATEGORIES])


def _is_there(name: str) -> bool:
    try:
        fetch_table(name)
    except FileNotFoundError:
        return False
    except ValueError as error:
        raise DataError(str(error)) from error
    return True


@cache
def _warm_up(method: str) -> None:
    """Fit a few rows, once in a process: importing and compiling are no part of a fit's time."""
    import pandas as pd

    x = np.random.default_rng(0).normal(size=120)
    columns: dict[str, Any] = {"number": x, "text": np.where(np.arange(120) % 3, "a", "b")}
    table = LabelledFrame(pd.DataFrame(columns), (x > 0.0).astype(np.int64))
    measure(method, arrange(table, deal_random(120, 0)), Terms(is_try=True), 0)
