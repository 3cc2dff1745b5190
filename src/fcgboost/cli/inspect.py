"""`fcgboost inspect`: what a model is made of."""

from __future__ import annotations

import argparse

from fcgboost.cli import arguments, console

HELP = "show what is in a model file"
USAGE = "MODEL [--top N] [--json]"
TEXT = """\
Show what is in a model file: the classes, how each column is encoded, which columns
matter most, the largest atoms, what the model was fitted to and its held-out scores.

A column's influence is how much the decision value changes, on average, when the
column's value is swapped with that of another row, as a share of the total.

examples:
  fcgboost inspect model.json
  fcgboost inspect model.json --top 20
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_model(parser)
    parser.add_argument(
        "--top",
        type=arguments.count,
        default=10,
        metavar="N",
        help="how many atoms and columns to show (default: %(default)s; --json shows all)",
    )


def run(options: argparse.Namespace) -> None:
    """Load, describe, print."""
    from fcgboost.io import load_model

    description = load_model(options.model).describe()
    if options.json:
        console.print_json(description.to_dict())
    else:
        console.say(description.text(options.top))
