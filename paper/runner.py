"""Runs experiments unit by unit, in processes, and keeps every finished unit at once."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TextIO

import joblib
import numpy as np

from paper.base import DataError, Experiment, Key, Preset, Row, Split, Unit
from paper.display import Display
from paper.store import Store, StoreError

#: Settings of units by name, and the only values that are asked for.
Only = Mapping[str, Sequence[str]]
_ALL: Only = MappingProxyType({})


class Task(NamedTuple):
    """An experiment whose table is open and whose units have not begun."""

    experiment: Experiment[Any]
    store: Store
    facts: dict[str, Any]
    units: Sequence[Unit]
    left: Sequence[Unit]

    @property
    def obstacle(self) -> str | None:
        """Why what is left cannot be run."""
        obstacle: str | None = self.facts["obstacle"]
        return obstacle


def run(
    experiment: Experiment[Any],
    preset: Preset,
    folder: Path,
    *,
    split: Split | None = None,
    only: Only = _ALL,
    n_jobs: int = 1,
    resume: bool = False,
    stream: TextIO | None = None,
) -> str | None:
    """Run an experiment and store its rows; give the obstacle if it could not be run.

    Parameters
    ----------
    experiment : Experiment
    preset : {"quick", "standard", "full"}
    folder : Path
        Where its table is, or is to be.
    split : {"random", "file-order"} or None
    only : mapping of str to sequence of str
        Settings of units, such as "method", and the only values of them to run now.
    n_jobs : int
        Processes. An experiment that measures time runs in one.
    resume : bool
        Whether to go on with a table that has rows; without it such a table is an error.
    stream : text stream or None
        Where progress is shown; None is standard error.
    """
    with opened(experiment, preset, folder, split=split, only=only, resume=resume) as task:
        return carry_out(task, n_jobs, stream)


@contextmanager
def opened(
    experiment: Experiment[Any],
    preset: Preset,
    folder: Path,
    *,
    split: Split | None = None,
    only: Only = _ALL,
    resume: bool = False,
) -> Iterator[Task]:
    """Keep a table for this process; look at what it has and at what is in the way.

    Nothing is written yet. The parameters are those of `run`.
    """
    units = _asked(experiment.units(preset, split), only)
    facts = _facts(experiment, preset, split if experiment.has_splits else None)
    store = _store(experiment, folder)
    with store.locked():
        done = _done(experiment, store, facts, resume)
        left = [unit for unit in units if unit.key not in done]
        # Data that no unit needs any more may be absent.
        facts["obstacle"] = experiment.obstacle(left) if left else None
        yield Task(experiment, store, facts, units, left)


def carry_out(task: Task, n_jobs: int = 1, stream: TextIO | None = None) -> str | None:
    """Run what is left of an experiment; give the obstacle if it could not be run."""
    experiment, store = task.experiment, task.store
    n_jobs = 1 if experiment.is_timed else n_jobs
    store.create({**task.facts, "n_jobs": n_jobs})
    if task.obstacle is not None:
        return task.obstacle
    work = {unit.key: experiment.cost(unit) for unit in task.units}
    before = sum(work.values()) - sum(work[unit.key] for unit in task.left)
    with Display(experiment.name, sum(work.values()), before, n_jobs, stream) as display:
        jobs = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
            joblib.delayed(_work)(experiment, unit) for unit in task.left
        )
        for key, rows, seconds in jobs:
            store.append(rows, seconds)
            display.advance(work[key])
    return None


def _asked(units: Sequence[Unit], only: Only) -> list[Unit]:
    """Return the units that have these values; what has no such setting has none."""
    kept = list(units)
    for name, values in only.items():
        asked = {value.casefold() for value in values}
        known = [str(getattr(unit, name, "")).casefold() for unit in units]
        if any(known) and not asked & set(known):
            there = ", ".join(dict.fromkeys(known))
            raise DataError(f"no {name} is called {values[0]!r}: {there} are there")
        kept = [unit for unit in kept if str(getattr(unit, name, "")).casefold() in asked]
    return kept


def _store(experiment: Experiment[Any], folder: Path) -> Store:
    return Store(folder, experiment.name, experiment.settings, experiment.results)


def _done(
    experiment: Experiment[Any], store: Store, facts: dict[str, Any], resume: bool
) -> set[Key]:
    """Give the keys of the units in a table, or say why it cannot be gone on with."""
    done = set(store.load())
    # What has no rows was not started, whatever its facts say.
    if done and not resume:
        raise StoreError(
            f"{store.path} already holds rows. Go on with it by --resume, choose another --out, "
            "or remove the file to start again."
        )
    if done:
        _check_facts(experiment, store, facts)
    return done


def _check_facts(experiment: Experiment[Any], store: Store, facts: dict[str, Any]) -> None:
    """Say what to do where the rows were made in another way: such rows must not mix."""
    stored = store.facts()
    if stored["preset"] != facts["preset"]:
        option = f"--preset {stored['preset']}"
        advice = f"{option}: give {option}"
    elif experiment.has_splits and stored["split"] != facts["split"]:
        option = f"--split {stored['split']}"
        advice = f"{option}: give {option}" if stored["split"] else "no --split: leave it out"
    elif stored.get("version") != facts["version"]:
        made, now = stored.get("version"), facts["version"]
        advice = f"version {made} of fcgboost, and this is {now}: go on with that version"
    elif stored.get("clipping") != facts["clipping"]:
        advice = (
            f"log-losses of probabilities kept away from 0 and 1 by {stored.get('clipping')}, and "
            f"now it is {facts['clipping']}: remove the file to start again"
        )
    else:
        return
    raise StoreError(f"{store.path} was made with {advice}, or choose another --out.")


def _work(experiment: Experiment[Any], unit: Unit) -> tuple[Key, list[Row], float]:
    started = time.perf_counter()
    rows = experiment.run(unit)
    return unit.key, rows, time.perf_counter() - started


def _facts(experiment: Experiment[Any], preset: Preset, split: Split | None) -> dict[str, Any]:
    """Say how the rows come about."""
    options = f" --split {split}" if split is not None else ""
    return {
        "experiment": experiment.name,
        "command": f"python -m paper run {experiment.name} --preset {preset}{options}",
        "preset": preset,
        "split": split,
        "version": version("fcgboost"),
        "clipping": experiment.clipping,
        "obstacle": None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
        "cores": os.cpu_count(),
    }


def load(experiment: Experiment[Any], folder: Path) -> tuple[Any, dict[str, Any]]:
    """Give the stored rows as a DataFrame in the order of the units, and the facts about them.

    The order in which units happened to finish leaves no trace in it. Whether all is finished,
    and whether an obstacle kept it from being run, is seen from the rows.
    """
    import pandas as pd

    store = _store(experiment, folder)
    facts, stored = store.facts(), store.load()
    units: Sequence[Unit] = experiment.units(facts["preset"], facts["split"])
    facts["n_units"] = len(units)
    facts["is_finished"] = all(unit.key in stored for unit in units)
    facts["obstacle"] = None if stored else facts.get("obstacle")
    rows = [row for unit in units for row in stored.get(unit.key, [])]
    frame = pd.DataFrame(rows, columns=list(store.columns))
    for name in frame.columns:
        try:
            frame[name] = pd.to_numeric(frame[name])
        except ValueError:
            frame[name] = frame[name].astype(object)
    return frame, facts
