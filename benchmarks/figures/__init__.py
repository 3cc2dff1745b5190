"""The figures: one module each, whose `measure(quick)` gives its records."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.measure import MEBIBYTE, MissingError, Record, peak_bytes, versions


@dataclass(frozen=True)
class Figure:
    """What a figure is about, how many threads its process may use, and when it is given up."""

    title: str
    threads: int = 2
    limit: float = 300.0


#: In the order of a run. All of them together stay below 15 minutes on two cores.
FIGURES = {
    "stored": Figure("Selection from a stored dictionary"),
    "unstored": Figure("Selection from a dictionary that is not stored"),
    "correction": Figure("Correction of the coefficients"),
    "rivals": Figure("LightGBM and SVC on three public sets", threads=1, limit=420.0),
    "skin": Figure("A large public set"),
    "search": Figure("Model choice by cross-validation"),
    "trees": Figure("One tree beside one of LightGBM", threads=1),
    "auto": Figure("The default beside one path of it", threads=1),
    "latency": Figure("Prediction of one row", threads=1),
    "path": Figure("The default path"),
    "growth": Figure("Growth with the number of rows", limit=600.0),
}


def run_figure(name: str, quick: bool) -> dict[str, Any]:
    """Measure one figure in this process."""
    start = time.perf_counter()
    try:
        records = import_module(f"{__name__}.{name}").measure(quick)
    except MissingError as error:
        records = [Record(FIGURES[name].title, reason=str(error))]
    return {
        "records": [record.as_dict() for record in records],
        "versions": versions(),
        "seconds": time.perf_counter() - start,
        "peak_mebibytes": peak_bytes() / MEBIBYTE,
    }
