"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

FORMATS = """\
DATA is a CSV, TSV, Parquet, Arrow, .npz or LIBSVM/svmlight file (text also gzipped)."""


def add_command(commands: Any, name: str, run: Any, help_: str, text: str) -> Any:
    """Add a command; its text is a description, then examples after an empty line's "examples:"."""
    description, _, examples = text.partition("examples:")
    parser = commands.add_parser(
        name,
        help=help_,
        description=description,
        epilog=f"examples:{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, interrupted="Nothing was written.")
    return parser


def add_model(parser: Any) -> None:
    """Add the model file."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file (JSON)")


def add_data(parser: Any, *, is_optional: bool = False) -> None:
    """Add the file of rows."""
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        nargs="?" if is_optional else None,
        help="rows: .csv .tsv .parquet .arrow .npz .svm, text also .gz; - is standard input",
    )
    add_format(parser)


def add_format(parser: Any) -> None:
    """Add the form of the file of rows, where its name does not tell."""
    parser.add_argument(
        "--format",
        type=str.lower,
        choices=("csv", "tsv", "parquet", "arrow", "npz", "svmlight"),
        help="of DATA, where neither its name nor its first bytes tell",
    )


def add_target(parser: Any, help_: str = "the column with the classes") -> None:
    """Add the name of the target column."""
    parser.add_argument("--target", metavar="COL", help=help_)


def add_json(parser: Any) -> None:
    """Add the switch to output for programs."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_split(parser: Any, test_size: float) -> None:
    """Add what determines the held-out part."""
    parser.add_argument(
        "--test-size",
        type=fraction,
        default=test_size,
        metavar="SHARE",
        help="the share of the rows held out for the scores (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="N",
        help="of the split and of all random choices (default: %(default)s)",
    )


def count(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def whole(text: str) -> int:
    """Read a whole number of at least 0."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def fraction(text: str) -> float:
    """Read a number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return value


def removal(text: str) -> str | float:
    """Read "backward" or a share of a step's gain."""
    return text.lower() if text.lower() == "backward" else fraction(text)


def seconds(text: str) -> float:
    """Read a time of at least 0 seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds, got {text!r}")
    return value


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value is JSON where it can be, else text."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
