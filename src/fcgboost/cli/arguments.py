"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from fcgboost.cli import console

T = TypeVar("T")

FORMATS = """\
DATA is a CSV, TSV, Excel, Parquet, Arrow or svmlight file; text may be gzipped."""

#: Added to the help on the target where a model may know it.
OF_FIT = " (default: that of the fit)"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model file to read."""
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="a model file (JSON)",
    )


def add_file(
    parser: argparse.ArgumentParser, name: str, help_: str, default: Path | None = None
) -> None:
    """Add an option that names a file."""
    parser.add_argument(
        name,
        type=Path,
        metavar="FILE",
        help=help_,
        default=default,
    )


def add_data(parser: argparse.ArgumentParser, target: str | None = None) -> None:
    """Add the file of rows and how it is read; with a text about it, the column of classes."""
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="a table: .csv .tsv .xlsx .parquet .arrow .svm, text also .gz; - for stdin",
    )
    if target is not None:
        parser.add_argument(
            "--target", metavar="COL", help=f"the target: the column with the classes{target}"
        )
    _add_reading(parser.add_argument_group("how DATA is read"))


def _add_reading(group: argparse._ArgumentGroup) -> None:
    """Add how a file of rows is read."""
    group.add_argument(
        "--format",
        type=str.lower,
        choices=("csv", "tsv", "xlsx", "parquet", "arrow", "svmlight"),
        help="the format, if neither the file's name nor its first bytes tell",
    )
    group.add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        help="the encoding of a text file, such as cp1252 (default: UTF-8)",
    )
    group.add_argument(
        "--decimal",
        choices=(".", ","),
        help="the decimal mark, where the file does not tell whether 1.234 is a thousand",
    )
    group.add_argument(
        "--thousands",
        type=_mark,
        metavar="CHAR",
        help="the thousands separator, where the file does not tell, such as . in 1.234",
    )
    group.add_argument(
        "--dayfirst",
        action=argparse.BooleanOptionalAction,
        help="read 3/4/2020 as 3 April, or as March 4, where the file does not tell",
    )
    group.add_argument(
        "--sheet",
        metavar="NAME",
        help="the sheet of an Excel file (default: the first)",
    )
    group.add_argument(
        "--merge-spellings",
        action="store_true",
        help="take labels, and levels, that differ only in case or white space for one",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="refuse stray text in a column of numbers or dates (default: it counts as missing)",
    )
    group.add_argument(
        "--max-bytes",
        type=size,
        metavar="SIZE",
        help="the most memory rows may fill, such as 8GiB (default: 1GiB or 40 times the file)",
    )


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return how rows are read, as `open_rows` takes it, except their format."""
    names = (
        "encoding",
        "decimal",
        "thousands",
        "dayfirst",
        "sheet",
        "merge_spellings",
        "strict",
        "max_bytes",
    )
    return {**{name: getattr(options, name) for name in names}, "tell": console.note}


def add_choice(
    parser: argparse.ArgumentParser,
    name: str,
    choices: Iterable[str],
    help_: str,
    default: str | None = None,
) -> None:
    """Add an option that takes one of a few words, in upper or lower case."""
    parser.add_argument(
        name,
        type=str.lower,
        choices=choices,
        help=help_,
        default=default,
    )


def add_repeated(
    parser: argparse.ArgumentParser,
    name: str,
    metavar: str,
    help_: str,
    type_: Callable[[str], object] = str,
) -> None:
    """Add an option that may be given several times."""
    help_ += " (repeatable)"
    parser.add_argument(
        name,
        action="append",
        default=[],
        type=type_,
        metavar=metavar,
        help=help_,
    )


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add what the target is."""
    add_choice(
        parser,
        "--task",
        ("classification", "regression"),
        "whether classes or numbers are predicted (default: what the target looks like)",
    )


def add_fit(parser: argparse.ArgumentParser) -> None:
    """Add how a classifier is fitted."""
    add_repeated(
        parser,
        "--drop",
        "COL",
        "a column to leave out",
    )
    add_repeated(
        parser,
        "--keep-column",
        "COL",
        "a column to use though it looks like a row number or an id",
    )
    add_repeated(
        parser,
        "--set",
        "NAME=VALUE",
        "a parameter of the estimator, such as removal=backward or link=theory",
        setting,
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="fit for about this long, with more steps if there is time (default: no limit)",
    )


def add_split(parser: argparse.ArgumentParser, test_size: float) -> None:
    """Add what determines the held-out rows."""
    parser.add_argument(
        "--test-size",
        type=fraction,
        default=test_size,
        metavar="SHARE",
        help="the share of the rows to hold out for scoring (default: %(default)s)",
    )
    add_seed(parser, "the split and of the fit")


def add_seed(parser: argparse.ArgumentParser, what: str) -> None:
    """Add what determines random numbers."""
    parser.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="N",
        help=f"the random seed of {what} (default: %(default)s)",
    )


def _number(
    read: Callable[[str], T], is_valid: Callable[[T], bool], words: str
) -> Callable[[str], T]:
    def parse(text: str) -> T:
        with suppress(ValueError, LookupError):
            value = read(text)
            if is_valid(value):
                return value
        raise argparse.ArgumentTypeError(f"must be {words}, got {text!r}")

    return parse


def _bytes(text: str) -> int:
    number, unit, end = re.findall(r"^([\d.]+) ?([kmgt]?)(i?b)?$", text.lower())[0]
    return int(float(number) * (1000 if end == "b" else 1024) ** " kmgt".index(unit or " "))


def _encoding_name(encoding: str) -> str:
    "".encode(encoding)  # a LookupError if there is none
    return encoding


_encoding = _number(_encoding_name, lambda _: True, "the name of an encoding, such as cp1252")
_mark = _number(str, lambda mark: len(mark) == 1 and not mark.isalnum(), "one sign, such as . or ,")
count = _number(int, lambda n: n >= 1, "a whole number of at least 1")
whole = _number(int, lambda n: 0 <= n < 2**32, "a whole number from 0 to 4294967295")
fraction = _number(float, lambda x: 0.0 < x < 1.0, "a number between 0 and 1")
share = _number(float, lambda x: 0.0 <= x <= 1.0, "a share from 0 to 1")
size = _number(_bytes, lambda n: n >= 1, "a size such as 500MB or 8GiB")
seconds = _number(float, lambda x: 0.0 < x < float("inf"), "a number of seconds")


def setting(text: str) -> tuple[str, object]:
    """Parse NAME=VALUE; the value is JSON if it can be, else text."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    with suppress(json.JSONDecodeError):
        return name, json.loads(value)
    return name, value
