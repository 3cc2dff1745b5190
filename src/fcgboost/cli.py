"""The command `fcgboost`: thin calls to the public API."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fcgboost.experiments import runner
from fcgboost.experiments.base import PRESETS, SPLITS, Experiment
from fcgboost.experiments.display import duration
from fcgboost.experiments.registry import EXPERIMENTS
from fcgboost.experiments.store import StoreError

_INTERRUPTED = 130

_REPRODUCE = """\
Run the paper's experiments again and write a report with every table and figure, ours beside
the published figures.

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

The real data are looked up in the folder that FCGBOOST_DATA names, then in the user's cache,
and else downloaded. See docs/data.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; give the exit status: 0, 1 for an error, 2 for wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(parser, options)
    except KeyboardInterrupt:
        print("\nInterrupted. Finished work is stored; go on with --resume.", file=sys.stderr)
        return _INTERRUPTED
    except (StoreError, OSError, ImportError) as error:
        print(f"fcgboost: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fcgboost",
        description="Sparse, noise-robust classifiers by fully corrective greedy boosting.",
    )
    parser.add_argument("--version", action="version", version=f"fcgboost {version('fcgboost')}")
    commands = parser.add_subparsers(title="commands", required=True)
    _add_reproduce(commands)
    return parser


def _add_reproduce(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments again and write a report",
        description=_REPRODUCE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        "with deviations from the paper's protocol marked; full: the paper's protocol "
        "(default: %(default)s)",
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
        type=_count,
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
        "--redraw", action="store_true", help="run nothing, only write the report again"
    )
    parser.add_argument(
        "--list", action="store_true", help="explain the experiments, with estimated times"
    )
    parser.set_defaults(run=_reproduce)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _reproduce(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.list:
        print(_listing(options.jobs))
        return 0
    names = _names(parser, options.experiments)
    _require_extra()
    has_obstacle = False
    if not options.redraw:
        for name in names:
            has_obstacle |= not _run(EXPERIMENTS[name], options)
    page = _report(options.out, names)
    print(f"Report: {page} and {page.with_name('REPORT.md')}")
    return int(has_obstacle and "all" not in options.experiments)


def _report(out: Path, names: Sequence[str]) -> Path:
    """Write the report of the experiments asked for and of all others that have rows."""
    from fcgboost.experiments.report import write_report
    from fcgboost.experiments.reporting import ledger

    has_rows = [name for name in EXPERIMENTS if (out / "rows" / f"{name}.csv").exists()]
    shown = [EXPERIMENTS[name] for name in EXPERIMENTS if name in (*names, *has_rows)]
    return write_report(out, shown, ledger.section)


def _names(parser: argparse.ArgumentParser, asked: Sequence[str]) -> list[str]:
    """Give the experiments asked for, in their own order."""
    unknown = [name for name in asked if name not in EXPERIMENTS and name != "all"]
    if unknown or not asked:
        what = f"unknown experiment {unknown[0]!r}" if unknown else "no experiment named"
        parser.error(f"{what}: choose among {', '.join(EXPERIMENTS)}, or all")
    return [name for name in EXPERIMENTS if name in asked or "all" in asked]


def _require_extra() -> None:
    """Fail before hours of work, not after, if the report could not be drawn."""
    missing = [name for name in ("matplotlib", "pandas") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"The report needs {' and '.join(missing)}: pip install 'fcgboost[experiments]'."
        )


def _run(experiment: Experiment[Any], options: argparse.Namespace) -> bool:
    was_run = runner.run(
        experiment,
        options.preset,
        options.out / "rows",
        split=options.split,
        n_jobs=options.jobs,
        resume=options.resume,
    )
    if not was_run:
        print(f"{experiment.name} was not run: {experiment.obstacle()}", file=sys.stderr)
    return was_run


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
