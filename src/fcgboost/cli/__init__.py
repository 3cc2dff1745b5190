"""The command `fcgboost`: thin calls to the public API, one module per command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from fcgboost import __version__
from fcgboost.cli import (
    audit,
    compare,
    console,
    datasets,
    evaluate,
    export,
    fit,
    inspect,
    playground,
    predict,
    report,
)

# Their modules load little: what does the work is loaded when a command runs.
_COMMANDS = (
    fit,
    predict,
    evaluate,
    inspect,
    report,
    audit,
    export,
    compare,
    playground,
    datasets,
)
_FAILED = 1
_USAGE = 2
_DATA = 3
_MODEL = 4
_EXTRA = 5
_INTERRUPTED = 130
_TERMINATED = 143
_LONGEST = 2000  # in a sentence about a fault: cells of damaged files may be endless
# What is not the program's fault needs no traceback.
_FAULTS: tuple[type[Exception], ...] = (OSError, ImportError, ValueError)

_PROBLEMS: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file; check its name and folder.",
    IsADirectoryError: "this is a folder; name a file in it.",
    PermissionError: "permission denied; check who may read and write it.",
}

_DESCRIPTION = """\
Noise-robust, calibrated classifiers, and regressors, by fully corrective greedy boosting.

From a generated table to a model:

  fcgboost datasets customers --out customers.csv
  fcgboost fit customers.csv --target churned --test-out test.csv
  fcgboost evaluate model.json test.csv
  fcgboost report model.json test.csv
  fcgboost predict model.json test.csv --out predictions.csv
"""
EXIT_STATUS = f"""\
exit status:
  0  done
  {_FAILED}  something outside the program failed
  {_USAGE}  the command line is wrong
  {_DATA}  the data or a parameter cannot be used
  {_MODEL}  the model file cannot be used
  {_EXTRA}  an optional package is not installed; the message names it
  {_INTERRUPTED}  interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return run_command(make_parser().parse_args(arguments), "fcgboost")


def run_command(
    options: argparse.Namespace, program: str, faults: tuple[type[Exception], ...] = _FAULTS
) -> int:
    """Call `options.run(options)` and return the exit status; report faults in a sentence."""
    if threading.current_thread() is threading.main_thread():
        # A request to end unwinds as Ctrl-C does, so that no half-written file is left behind.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(_TERMINATED))
    try:
        status: int = options.run(options) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"\nInterrupted. {options.interrupted}", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; the rest has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except faults as error:
        console.note(f"{program}: {' '.join(_sentence_of(error)[:_LONGEST].split())}")
        return _status_of(error)
    return status


def _sentence_of(error: Exception) -> str:
    """Return what went wrong in words, and what to do about an error of the system."""
    if not isinstance(error, OSError) or error.errno is None or error.filename is None:
        return str(error)
    problem = _PROBLEMS.get(type(error), f"{error.strerror}.")
    return f"{error.filename}: {problem}"


def _status_of(error: Exception) -> int:
    from fcgboost.io import ModelFileError

    if isinstance(error, ModelFileError):
        return _MODEL
    if isinstance(error, ImportError):
        return _EXTRA
    if isinstance(error, ValueError | FileNotFoundError | IsADirectoryError):
        return _DATA
    return _FAILED


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="fcgboost",
        description=_DESCRIPTION,
        epilog=f"{EXIT_STATUS}\nHelp on a command: fcgboost COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fcgboost {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        description, _, examples = command.TEXT.partition("examples:")
        name = command.__name__.rpartition(".")[2]
        command_parser = commands.add_parser(
            name,
            usage=f"fcgboost {name} {command.USAGE}",
            help=command.HELP,
            description=description,
            epilog=f"examples:{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command_parser.set_defaults(run=command.run, interrupted="Nothing was written.")
        command.add_arguments(command_parser)
        if command is not playground:  # which has no result to print
            command_parser.add_argument(
                "--json", action="store_true", help="print the result as JSON"
            )
    return parser
