"""Runs experiments unit by unit, in processes, and keeps every finished unit at once."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import joblib
import numpy as np

from fcgboost.experiments.base import Experiment, Key, Preset, Row, Split, Unit
from fcgboost.experiments.display import Display
from fcgboost.experiments.store import Store, StoreError

#: The facts that rows of one table must share.
_SHARED = ("preset", "split", "version")


def run(
    experiment: Experiment[Any],
    preset: Preset,
    folder: Path,
    *,
    split: Split | None = None,
    n_jobs: int = 1,
    resume: bool = False,
    stream: TextIO | None = None,
) -> bool:
    """Run an experiment and store its rows; say whether it could be run at all.

    Parameters
    ----------
    experiment : Experiment
    preset : {"quick", "standard", "full"}
    folder : Path
        Where its table is, or is to be.
    split : {"random", "file-order"} or None
    n_jobs : int
        Processes. An experiment that measures time runs in one.
    resume : bool
        Whether to go on with a table that is there; without it such a table is an error.
    stream : text stream or None
        Where progress is shown; None is standard error.
    """
    store = Store(folder, experiment.name, experiment.settings, experiment.results)
    units = experiment.units(preset, split)
    facts = _facts(experiment, preset, split, len(units))
    done = _start(store, facts, resume)
    if facts["obstacle"] is not None:
        return False
    left = [unit for unit in units if unit.key not in done]
    work = {unit.key: experiment.cost(unit) for unit in units}
    before = sum(work[unit.key] for unit in units) - sum(work[unit.key] for unit in left)
    n_jobs = 1 if experiment.is_timed else n_jobs
    with Display(experiment.name, sum(work.values()), before, n_jobs, stream) as display:
        jobs = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
            joblib.delayed(_work)(experiment, unit) for unit in left
        )
        for key, rows, seconds in jobs:
            store.append(rows, seconds)
            display.advance(work[key])
    store.write_facts({**facts, "is_finished": True})
    return True


def _start(store: Store, facts: dict[str, Any], resume: bool) -> set[Key]:
    """Open the table; give the keys of the units that are in it."""
    if not store.exists:
        store.create(facts)
        return set()
    if not resume:
        raise StoreError(
            f"{store.path} already holds rows. Go on with it by --resume, choose another --out, "
            "or remove the file to start again."
        )
    stored = store.facts()
    for name in _SHARED:
        if stored.get(name) != facts[name]:
            raise StoreError(
                f"{store.path} was made with {name} {stored.get(name)!r}, and this run has "
                f"{facts[name]!r}: rows of both must not mix. Choose another --out."
            )
    return store.repair()


def _work(experiment: Experiment[Any], unit: Unit) -> tuple[Key, list[Row], float]:
    started = time.perf_counter()
    rows = experiment.run(unit)
    return unit.key, rows, time.perf_counter() - started


def _facts(
    experiment: Experiment[Any], preset: Preset, split: Split | None, n_units: int
) -> dict[str, Any]:
    """Say how the rows come about."""
    options = f" --split {split}" if split is not None else ""
    return {
        "experiment": experiment.name,
        "command": f"fcgboost reproduce {experiment.name} --preset {preset}{options}",
        "preset": preset,
        "split": split,
        "version": version("fcgboost"),
        "n_units": n_units,
        "obstacle": experiment.obstacle(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
        "cores": os.cpu_count(),
        "is_finished": False,
    }


def load(experiment: Experiment[Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    """Give the stored rows as a DataFrame in the order of the units, and the facts about them.

    The order in which units happened to finish leaves no trace in it.
    """
    import pandas as pd

    store = Store(folder, experiment.name, experiment.settings, experiment.results)
    facts, stored = store.facts(), store.load()
    units: Sequence[Unit] = experiment.units(facts["preset"], facts["split"])
    rows = [row for unit in units for row in stored.get(unit.key, [])]
    frame = pd.DataFrame(rows, columns=list(store.columns))
    for name in frame.columns:
        try:
            frame[name] = pd.to_numeric(frame[name])
        except ValueError:
            frame[name] = frame[name].astype(object)
    return frame, facts
