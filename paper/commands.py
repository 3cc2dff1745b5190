"""What the commands of `python -m paper` do."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from paper import findings, runner
from paper.base import PRESETS, DataError, Experiment
from paper.data import fetch_uci
from paper.data.catalog import UCI_SETS
from paper.data.home import data_homes, find_file
from paper.demo import main as demonstrate
from paper.display import duration
from paper.registry import EXPERIMENTS, named
from paper.report import write_report
from paper.store import StoreError

# What is no fault of the program: said in a sentence, without a traceback.
FAULTS = (StoreError, DataError, OSError, ImportError)
# No address serves their files, so that "all" counts as complete without them.
_OPTIONAL = {"earthquake", "earthquake-italy"}


def list_experiments(options: argparse.Namespace) -> int:
    """Explain the experiments, with estimated times."""
    print(_listing(options.jobs))
    return 0


def run_experiments(options: argparse.Namespace) -> int:
    """Run experiments and write the report."""
    names = _names(options)
    _check_packages()
    try:
        is_whole = _run(names, options)
    except Exception:
        # What is there is worth seeing, whatever went wrong with the rest.
        _report(options.out, names)
        raise
    is_whole &= _report(options.out, names)
    return 0 if is_whole else 1


def draw_report(options: argparse.Namespace) -> int:
    """Write the report of stored rows again."""
    _check_packages()
    return 0 if _report(options.out, ()) else 1


def _report(out: Path, names: Sequence[str]) -> bool:
    """Write the report of the experiments asked for and of all others that have rows.

    Damaged tables are left out; say whether there are none.
    """
    stored = [name for name in EXPERIMENTS if (out / "rows" / f"{name}.csv").exists()]
    faults: list[str] = []
    shown = {name for name in names if name not in stored}
    for name in stored:
        with _noting(faults, f"{name} is left out of the report"):
            runner.load(EXPERIMENTS[name], out / "rows")
            shown.add(name)
    experiments = [EXPERIMENTS[name] for name in EXPERIMENTS if name in shown]
    page = write_report(out, experiments)
    print(f"Report: {page} and {page.with_name('REPORT.md')}")
    return not faults


def _names(options: argparse.Namespace) -> list[str]:
    """Return the experiments asked for, in their own order."""
    has_all = "all" in options.experiments
    asked = {name: named(name) for name in options.experiments if name != "all"}
    unknown = [name for name, found in asked.items() if not found]
    if unknown or not options.experiments:
        what = f"unknown experiment {unknown[0]!r}" if unknown else "no experiment named"
        options.error(
            f"{what}: choose among {', '.join(EXPERIMENTS)}, or all; or name a table or figure of "
            "the paper, such as table3 or figure4"
        )
    found = set().union(*asked.values())
    return [
        name
        for name, experiment in EXPERIMENTS.items()
        if name in found or (has_all and experiment.in_all)
    ]


def _check_packages() -> None:
    """Fail before hours of work, not after, if the report could not be drawn."""
    missing = [name for name in ("matplotlib", "pandas") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"The report needs {' and '.join(missing)}: pip install --group paper (pip 25.1 or "
            "later, in the repository)."
        )


def _run(names: Sequence[str], options: argparse.Namespace) -> bool:
    """Run experiments; say whether all that were asked for could be run.

    What is in the way of any of them is said before the first one starts.
    """
    faults: list[str] = []
    with ExitStack() as stack:
        tasks = []
        for name in names:
            with _noting(faults, f"{name} was not run"):
                tasks.append(stack.enter_context(_opened(EXPERIMENTS[name], options)))
        blocked = {task.experiment.name: task.obstacle for task in tasks if task.obstacle}
        for name, obstacle in blocked.items():
            print(f"{name} was not run: {obstacle}", file=sys.stderr)
        for task in tasks:
            with _noting(faults, f"{task.experiment.name} was broken off"):
                runner.carry_out(task, options.jobs)
    excused = _OPTIONAL - {name for asked in options.experiments for name in named(asked)}
    return not faults and blocked.keys() <= excused


def _opened(
    experiment: Experiment[Any], options: argparse.Namespace
) -> AbstractContextManager[runner.Task]:
    return runner.opened(
        experiment,
        options.preset,
        options.out / "rows",
        split=options.split,
        only=_only(options),
        resume=options.resume,
    )


def _only(options: argparse.Namespace) -> dict[str, Sequence[str]]:
    """Return the settings of units that are asked for by their values."""
    asked = {
        "method": options.methods,
        "dataset": options.datasets,
        "repetition": options.repetitions,
    }
    return {name: values for name, values in asked.items() if values is not None}


@contextmanager
def _noting(faults: list[str], failure: str) -> Iterator[None]:
    """Say in a sentence what fails by no fault of the program, note it, and go on."""
    try:
        yield
    except FAULTS as error:
        print(f"paper: {failure}: {error}", file=sys.stderr)
        faults.append(failure)


def _listing(n_jobs: int) -> str:
    lines = [f"Experiments, with estimated times for --jobs {n_jobs}:", ""]
    for experiment in EXPERIMENTS.values():
        times = []
        for preset in PRESETS:
            work = sum(experiment.cost(unit) for unit in experiment.units(preset, None))
            times.append(f"{preset} {duration(work / (1 if experiment.is_timed else n_jobs))}")
        numbers = f" ({', '.join(experiment.printed)})" if experiment.printed else ""
        lines += [
            f"{experiment.name}: {experiment.title}{numbers}",
            f"  {', '.join(times)}",
            f"  {experiment.about}",
            "",
        ]
    return "\n".join(lines[:-1])


def draw_findings(options: argparse.Namespace) -> int:
    """Draw the stored results again and put their verdicts into the documentation."""
    _check_packages()
    findings.main()
    return 0


def run_demo(options: argparse.Namespace) -> int:
    """Run the demo."""
    demonstrate(options.out, n_samples=options.n_samples, seed=options.seed)
    return 0


def write_data(options: argparse.Namespace) -> int:
    """List the public sets, or write one to a file."""
    if options.name is None:
        _list_data(options.json)
        return 0
    out: Path = options.out or Path(f"{options.name}.csv")
    if not out.resolve().parent.is_dir():
        raise ValueError(f"{out} cannot be written: there is no folder {out.parent}.")
    bunch: Any = fetch_uci(options.name, return_X_y=False)
    n_rows, n_features = bunch.data.shape
    _write(out, bunch)
    if options.json:
        print(json.dumps({"out": str(out), "n_rows": n_rows, "n_features": n_features}))
    else:
        print(f"{n_rows:,} rows, {n_features} features and the target: {out}")
    return 0


def _write(out: Path, bunch: Any) -> None:
    """Write rows and their target in the format that the name says."""
    import pandas as pd

    frame = pd.DataFrame(bunch.data, columns=bunch.feature_names)
    frame["target"] = bunch.target.astype(np.int64)
    suffix = Path(out.name.removesuffix(".gz")).suffix
    if out.suffix == ".parquet":
        frame.to_parquet(out, index=False)
    elif out.suffix == ".arrow":
        frame.to_feather(out)
    elif suffix in (".csv", ".tsv"):
        frame.to_csv(out, sep="\t" if suffix == ".tsv" else ",", index=False)
    else:
        raise ValueError(f"{out} must end in .csv, .tsv, .parquet or .arrow; text may be .gz.")


def _list_data(is_json: bool) -> None:
    homes = data_homes()
    facts: list[dict[str, Any]] = [
        {
            "name": name,
            "title": one.title,
            "n_rows": one.n_rows,
            "is_here": find_file((one.file_name,), homes) is not None,
        }
        for name, one in UCI_SETS.items()
    ]
    if is_json:
        print(json.dumps(facts, indent=1))
        return
    for one in facts:
        place = "here" if one["is_here"] else "to be downloaded"
        print(f"{one['name']:<28} {one['n_rows']:>7,} rows, {place}: {one['title']}")
