"""`fcgboost compare`: ours beside the classifiers that are installed."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "compare fcgboost with other installed classifiers"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Fit fcgboost and the other installed classifiers to the same rows, and score them on
the same held-out rows, beside the baseline (always the most frequent class).

{arguments.FORMATS}
fcgboost reads the table itself; the others get the same columns encoded as numbers.
Every method runs with its default settings on one thread (--threads). This is a first
look: tuning may change the order, and overlapping intervals decide nothing. A method
that fails gets a row that says why.

examples:
  fcgboost compare customers.csv --target churned
  fcgboost compare customers.csv --target churned --method fcgboost --method LightGBM
  fcgboost compare customers.csv --target churned --report comparison.html
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, "")
    help_ = "a method to compare (default: all that are installed)"
    arguments.add_repeated(parser, "--method", "NAME", help_)
    help_ = "how many threads each method may use (default: %(default)s)"
    parser.add_argument("--threads", type=arguments.count, default=1, metavar="N", help=help_)
    arguments.add_repeated(parser, "--drop", "COL", "a column to leave out")
    help_ = "also save the result as JSON, for `fcgboost report`"
    parser.add_argument("--out", **arguments.FILE, help=help_)
    parser.add_argument("--report", **arguments.FILE, help="also write an HTML report")
    arguments.add_split(parser, 0.25)


def run(options: argparse.Namespace) -> None:
    """Read, compare, print."""
    from fcgboost.cli.rows import read_rows
    from fcgboost.cli.writing import check_outputs
    from fcgboost.comparison import compare, save_comparison

    check_outputs([options.report, options.out], [options.data])
    X, y, _ = read_rows(options)
    comparison = compare(
        X,
        y,
        methods=options.method or None,
        test_size=options.test_size,
        random_state=options.seed,
        n_threads=options.threads,
        watch=lambda name: console.note(f"Fitting {name} ..."),
    )
    if options.out is not None:
        save_comparison(comparison, options.out)
    if options.report is not None:
        from fcgboost.web import write_comparison_report

        write_comparison_report(options.report, comparison)
    if options.json:
        console.print_json(comparison.to_dict())
    else:
        _print(comparison)
        if options.report is not None:
            console.say(f"\nReport: {options.report}")


def _print(comparison: Any) -> None:
    from fcgboost.scores import TITLES

    data = comparison.data
    threads = "one thread" if data["n_threads"] == 1 else f"{data['n_threads']} threads"
    console.say(
        f"Fitted to {data['n_train']:,} rows, scored on {data['n_test']:,}. Every method has "
        f"{threads}. fcgboost gets the {data['n_columns']} columns\nof the table, the others "
        f"{data['n_features']} numeric columns made from them."
    )
    accuracy, *others = TITLES
    titles = (TITLES[name] for name in others)
    header = ("method", f"{accuracy}, 95 % interval", *titles, "seconds", "size", "")
    rows = []
    for row in comparison.rows:
        values = [f"{row.scores[name].value:.4f}" if name in row.scores else "" for name in others]
        seconds = f"{row.seconds:.2f}" if row.scores else ""
        first = str(row.scores.get(accuracy, ""))
        rows.append((row.method, first, *values, seconds, row.size, row.note))
    console.print_table(header, rows)
