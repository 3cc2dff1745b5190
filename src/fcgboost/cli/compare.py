"""`fcgboost compare`: ours compared with the other installed classifiers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fcgboost.cli import arguments, console
from fcgboost.wording import text_table

if TYPE_CHECKING:
    from fcgboost.comparison import Comparison

HELP = "compare fcgboost with other installed classifiers"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Fit fcgboost and the other installed classifiers to the same rows, with their default
settings, and score all of them and the most frequent class on the same held-out rows.

{arguments.FORMATS}
The others get the columns encoded as numbers. This is a first look: tuning may change
the order.

examples:
  fcgboost compare customers.csv --target churned
  fcgboost compare customers.csv --target churned --method fcgboost --method LightGBM
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, "")
    arguments.add_repeated(
        parser,
        "--method",
        "NAME",
        "a method to compare (default: all that are installed)",
    )
    parser.add_argument(
        "--threads",
        type=arguments.count,
        default=1,
        metavar="N",
        help="how many threads each method may use (default: %(default)s)",
    )
    arguments.add_repeated(
        parser,
        "--drop",
        "COL",
        "a column to leave out",
    )
    parser.add_argument("--csv", action="store_true", help="print the result as CSV")
    arguments.add_split(parser, 0.25)


def run(options: argparse.Namespace) -> None:
    """Read, compare, print."""
    from fcgboost.cli.inputs import check_classes, read_labelled
    from fcgboost.comparison import compare

    X, y, _ = read_labelled(options)
    check_classes(y)
    comparison = compare(
        X,
        y,
        methods=options.method or None,
        test_size=options.test_size,
        random_state=options.seed,
        n_threads=options.threads,
        watch=lambda name: console.note(f"Fitting {name} ..."),
    )
    if options.json:
        console.print_json(comparison.to_dict())
    elif options.csv:
        _print_csv(comparison)
    else:
        _print(comparison)


def _print_csv(comparison: Comparison) -> None:
    """Print one line per method, with all scores and their intervals."""
    import pandas as pd

    table = pd.json_normalize(comparison.to_dict()["rows"], sep="_")
    names = table.columns.str.removeprefix("scores_").str.removesuffix("_value")
    console.say(table.set_axis(names, axis=1).to_csv(index=False).rstrip())


def _print(comparison: Comparison) -> None:
    from fcgboost.evaluation import TITLES

    data = comparison.data
    console.say(
        f"Fitted to {data['n_train']:,} rows, scored on {data['n_test']:,}. Threads per method: "
        f"{data['n_threads']}. fcgboost gets the {data['n_columns']} columns\nof the table, the "
        f"others {data['n_features']} numeric columns made from them.\n"
    )
    accuracy, *others = TITLES
    titles = [TITLES[name] for name in others]
    header = ("method", f"{accuracy}, 95 % interval", *titles, "seconds", "size", "")
    rows = []
    for row in comparison.rows:
        values = [f"{row.scores[name].value:.4f}" if name in row.scores else "" for name in others]
        seconds = f"{row.seconds:.2f}" if row.scores else ""
        interval = str(row.scores.get(accuracy, ""))
        rows.append((row.method, interval, *values, seconds, row.size, row.note))
    console.say(text_table(header, rows))
