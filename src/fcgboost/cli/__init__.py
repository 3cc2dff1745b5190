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
    compare,
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
_COMMANDS = (fit, predict, evaluate, inspect, report, export, compare, playground, datasets)
_FAILED, _USAGE, _DATA, _MODEL, _EXTRA, _INTERRUPTED = 1, 2, 3, 4, 5, 130
_TERMINATED = 143

_DESCRIPTION = """\
Sparse, noise-robust, calibrated classifiers by fully corrective greedy boosting.

A model in a minute, from a file with a column to predict:

  fcgboost fit customers.csv --target churned --test-out test.csv
  fcgboost report model.json test.csv
  fcgboost predict model.json new_customers.csv --out predictions.csv
  fcgboost export model.json --to c
"""
_STATUS = f"""\
exit status:
  0  done
  {_FAILED}  something outside failed: a disk, a network
  {_USAGE}  wrong usage of the command
  {_DATA}  the data or a setting cannot be used
  {_MODEL}  the model file cannot be used
  {_EXTRA}  an optional package is not installed; the message names it
  {_INTERRUPTED}  interrupted

Each command explains itself: fcgboost COMMAND --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = make_parser().parse_args(arguments)
    _end_cleanly()
    try:
        status: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"\nInterrupted. {options.interrupted}", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. What is left of it has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ImportError, ValueError) as error:
        # No fault of the program: said in a sentence, without a traceback.
        print(f"fcgboost: {_sentence_of(error)}", file=sys.stderr)
        return _status_of(error)
    return status


def _end_cleanly() -> None:
    """Let a request to end (SIGTERM) unwind as Ctrl-C does, so that no half file stays behind."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(_TERMINATED))


def _sentence_of(error: Exception) -> str:
    """Return what went wrong in words; a bare error of the system says what to do."""
    if isinstance(error, ImportError) and error.name in ("pandas", "pyarrow"):
        return "Files of rows need pandas and pyarrow: python -m pip install 'fcgboost[tables]'"
    if not isinstance(error, OSError) or error.errno is None or error.filename is None:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"{error.filename}: there is no such file; check its name and its folder."
    if isinstance(error, IsADirectoryError):
        return f"{error.filename} is a folder: name a file in it."
    if isinstance(error, PermissionError):
        return f"{error.filename}: this user may not read or write it; check its permissions."
    return f"{error.filename}: {error.strerror}."


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
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fcgboost {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser
