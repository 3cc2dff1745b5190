"""`fcgboost reproduce`: the paper's experiments, run again."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fcgboost.cli.arguments import add_command, count
from fcgboost.experiments import runner
from fcgboost.experiments.base import PRESETS, SPLITS, DataError, Experiment
from fcgboost.experiments.display import duration
from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.store import StoreError

# What is no fault of the program: said in a sentence, without a traceback.
FAULTS = (StoreError, DataError, OSError, ImportError)
# No address serves its file, so that "all" counts as complete without it.
_OPTIONAL = "earthquake"

_REPRODUCE = """\
Run the paper's experiments again and write a report with every table and figure, ours beside
the published figures. What goes beyond the paper (contest, robustness, calibration, atoms, leaves)
is no part of "all": name it to run it.

Every finished unit of work is stored at once in DIR/rows/EXPERIMENT.csv. An interrupted run
loses at most the units in work (one per job); --resume continues it. The report is drawn from
the stored rows: DIR/REPORT.md and DIR/report.html, which needs no network.
"""
_EXAMPLES = """\
examples:
  fcgboost reproduce --list
  fcgboost reproduce sim1 sim4 --preset quick
  fcgboost reproduce all --preset standard --out results --jobs 2
  fcgboost reproduce all --preset standard --out results --jobs 2 --resume
  fcgboost reproduce all --out results --redraw
  fcgboost reproduce contest --methods lightgbm,catboost --preset standard --out results

The real data are looked up in the folder that FCGBOOST_DATA names, then in the user's cache,
and else downloaded. See docs/data.md.
"""


def add(commands: Any) -> None:
    """Add the command."""
    help_ = "run the paper's experiments again and write a report"
    parser = add_command(commands, "reproduce", run, help_, f"{_REPRODUCE}\n{_EXAMPLES}")
    parser.set_defaults(
        error=parser.error, interrupted="Finished work is stored; go on with --resume."
    )
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help=f"one or more of: {', '.join(EXPERIMENTS)}; or all",
    )
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        default="quick",
        help="quick: minutes, to see that all works; standard: under two hours on two cores, "
        "with deviations from the paper's protocol marked; full: the paper's repetitions, "
        "grids and sizes (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reproduction"),
        metavar="DIR",
        help="where rows, figures and report go (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at the same time (default: the number of cores, here %(default)s)",
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument(
        "--split",
        choices=SPLITS,
        default=None,
        help="how uci splits its data (default: random repetitions, and file order once)",
    )
    parser.add_argument(
        "--methods",
        type=lambda text: text.split(","),
        default=None,
        metavar="NAME,...",
        help="run only these columns of an experiment that compares methods, such as uci and "
        "contest; the others can be added by --resume",
    )
    parser.add_argument(
        "--redraw", action="store_true", help="run nothing, only write the report again"
    )
    parser.add_argument(
        "--list", action="store_true", help="explain the experiments, with estimated times"
    )


def run(options: argparse.Namespace) -> int:
    """Run experiments and write the report."""
    if options.list:
        print(_listing(options.jobs))
        return 0
    names = _names(options)
    _require_extra()
    try:
        is_whole = options.redraw or _run(names, options)
    except Exception:
        # What is there is worth seeing, whatever went wrong with the rest.
        _report(options.out, names)
        raise
    is_whole &= _report(options.out, names)
    return 0 if is_whole else 1


def _report(out: Path, names: Sequence[str]) -> bool:
    """Write the report of the experiments asked for and of all others that have rows.

    Damaged tables are left out; say whether there are none.
    """
    from fcgboost.experiments.report import write_report
    from fcgboost.experiments.reporting import ledger

    stored = [name for name in EXPERIMENTS if (out / "rows" / f"{name}.csv").exists()]
    faults: list[str] = []
    shown = {name for name in names if name not in stored}
    for name in stored:
        with _noting(faults, f"{name} is left out of the report"):
            runner.load(EXPERIMENTS[name], out / "rows")
            shown.add(name)
    experiments = [EXPERIMENTS[name] for name in EXPERIMENTS if name in shown]
    page = write_report(out, experiments, ledger.section)
    print(f"Report: {page} and {page.with_name('REPORT.md')}")
    return not faults


def _names(options: argparse.Namespace) -> list[str]:
    """Give the experiments asked for, in their own order."""
    asked: Sequence[str] = options.experiments
    unknown = [name for name in asked if name not in EXPERIMENTS and name != "all"]
    if unknown or not asked:
        what = f"unknown experiment {unknown[0]!r}" if unknown else "no experiment named"
        options.error(f"{what}: choose among {', '.join(EXPERIMENTS)}, or all")
    has_all = "all" in asked
    return [
        name
        for name, experiment in EXPERIMENTS.items()
        if name in asked or (has_all and experiment.in_all)
    ]


def _require_extra() -> None:
    """Fail before hours of work, not after, if the report could not be drawn."""
    missing = [name for name in ("matplotlib", "pandas") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"The report needs {' and '.join(missing)}: pip install 'fcgboost[experiments]'."
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
    excused = {_OPTIONAL} - set(options.experiments)
    return not faults and blocked.keys() <= excused


def _opened(
    experiment: Experiment[Any], options: argparse.Namespace
) -> AbstractContextManager[runner.Task]:
    return runner.opened(
        experiment,
        options.preset,
        options.out / "rows",
        split=options.split,
        methods=options.methods,
        resume=options.resume,
    )


@contextmanager
def _noting(faults: list[str], failure: str) -> Iterator[None]:
    """Say in a sentence what fails by no fault of the program, note it, and go on."""
    try:
        yield
    except FAULTS as error:
        print(f"fcgboost: {failure}: {error}", file=sys.stderr)
        faults.append(failure)


def _listing(n_jobs: int) -> str:
    lines = [f"Experiments, with estimated times for --jobs {n_jobs}:", ""]
    for experiment in EXPERIMENTS.values():
        times = []
        for preset in PRESETS:
            work = sum(experiment.cost(unit) for unit in experiment.units(preset, None))
            times.append(f"{preset} {duration(work / (1 if experiment.is_timed else n_jobs))}")
        lines += [f"{experiment.name}: {experiment.title}", f"  {', '.join(times)}"]
        lines += [f"  {experiment.about}", ""]
    return "\n".join(lines[:-1])
