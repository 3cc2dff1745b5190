"""The command `python -m paper`: the paper's experiments, data and demo."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fcgboost.cli import EXIT_STATUS, run_command
from fcgboost.cli.arguments import count
from paper import commands
from paper.base import PRESETS, SPLITS
from paper.registry import EXPERIMENTS

_DESCRIPTION = """\
The paper's experiments, run again: every table and figure, ours beside the published figures.

  python -m paper list
  python -m paper run sim3 --preset quick
  python -m paper run all --preset standard --out results --jobs 2
  python -m paper run all --preset standard --out results --jobs 2 --resume
  python -m paper report --out results
  python -m paper run contest --methods lightgbm,catboost --preset standard --out study
  python -m paper run tables --methods fcg --datasets chile,resume --repetitions 0-2 --out study
  python -m paper data heart --out heart.csv
  python -m paper demo
"""
_RUN = """\
Run experiments and write a report. What goes beyond the paper (contest, robustness,
calibration, atoms, leaves, tables, gaps) is no part of "all": name it to run it.

Every finished unit of work is stored at once in DIR/rows/EXPERIMENT.csv. An interrupted run
loses at most the units in work (one per job); --resume continues it. The report is drawn from
the stored rows: DIR/REPORT.md and DIR/report.html, which needs no network.

The real data are looked up in the folder that FCGBOOST_DATA names, then in the user's cache,
and else downloaded. See docs/data.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    faults = (*commands.FAULTS, ValueError)
    return run_command(make_parser().parse_args(arguments), "paper", faults)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description=_DESCRIPTION,
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_list(added)
    _add_run(added)
    _add_report(added)
    _add_data(added)
    _add_demo(added)
    text = "Draw docs/results and docs/beyond again from paper/rows, and the verdicts in docs."
    _add(added, "findings", commands.draw_findings, text)
    return parser


def _add(
    added: Any, name: str, command: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    """Add a command; the first sentence of its text is its help."""
    parser: argparse.ArgumentParser = added.add_parser(
        name,
        help=text.partition(".")[0].lower(),
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=command, interrupted="Nothing was written.")
    return parser


def _add_list(added: Any) -> None:
    parser = _add(
        added,
        "list",
        commands.list_experiments,
        "Explain every experiment, with estimated times.",
    )
    _add_jobs(parser)


def _add_run(added: Any) -> None:
    parser = _add(added, "run", commands.run_experiments, _RUN)
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
    _add_out(parser)
    _add_jobs(parser)
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument(
        "--split",
        choices=SPLITS,
        help="how uci splits its data (default: random repetitions, and file order once)",
    )
    parser.add_argument(
        "--methods",
        type=lambda text: text.split(","),
        metavar="NAME,...",
        help="run only these columns of an experiment that compares methods, such as uci and "
        "contest; the others can be added by --resume",
    )
    parser.add_argument(
        "--datasets",
        type=lambda text: text.split(","),
        metavar="NAME,...",
        help="run only these sets, of an experiment on real data",
    )
    parser.add_argument(
        "--repetitions",
        type=_numbers,
        metavar="N,...",
        help="run only these repetitions, such as 0-2,5",
    )


def _numbers(text: str) -> list[str]:
    """Read whole numbers and ranges of them.

    >>> _numbers("0-2,5")
    ['0', '1', '2', '5']
    """
    try:
        ends = [[int(end) for end in part.split("-", 1)] for part in text.split(",")]
    except ValueError:
        message = f"numbers and ranges such as 0-2,5 are needed, got {text!r}"
        raise argparse.ArgumentTypeError(message) from None
    return [str(number) for one in ends for number in range(one[0], one[-1] + 1)]


def _add_report(added: Any) -> None:
    text = "Write the report of stored rows again. Nothing is run."
    _add_out(_add(added, "report", commands.draw_report, text))


def _add_data(added: Any) -> None:
    parser = _add(
        added,
        "data",
        commands.write_data,
        "List the public sets, or write one to a file. Its target is the column "
        '"target".\n\nA set is looked up in the folder that FCGBOOST_DATA names, then in the '
        "user's cache, and\nelse downloaded. The simulation is written by fcgboost datasets "
        "simulation.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the set to write (default: list)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=".csv .tsv .parquet .arrow, text also .gz (default: NAME.csv)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_demo(added: Any) -> None:
    parser = _add(
        added,
        "demo",
        commands.run_demo,
        "FCGBoost beside SVC, a random forest, gradient boosting and AdaBoost: the paper's noisy\n"
        "simulation and a real table. Takes about a minute and needs no data.",
    )
    _add_out(parser, "demo", "where the pictures and the report go")
    parser.add_argument(
        "--n-samples",
        type=count,
        default=1000,
        metavar="N",
        help="training rows of the simulation (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of all draws (default: %(default)s)")


def _add_out(
    parser: argparse.ArgumentParser,
    default: str = "reproduction",
    what: str = "where rows, figures and report go",
) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(default),
        metavar="DIR",
        help=f"{what} (default: %(default)s)",
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at the same time (default: the number of cores, here %(default)s)",
    )


if __name__ == "__main__":
    sys.exit(main())
