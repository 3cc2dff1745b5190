"""`fcgboost inspect`: what a model is made of."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "show what a model is made of"
TEXT = """\
Show what a model is made of: its classes, its atoms with their coefficients, what
became of each column and which matter, what it was fitted to and how well it did there.

Each atom is shown with the features that move it most. A column's influence
is the mean absolute slope of the model in it, in standardised units; for models with
trees or several families, the mean absolute change of the decision with its value.
All influences sum to one.

examples:
  fcgboost inspect model.json
  fcgboost inspect model.json --top 20
  fcgboost inspect model.json --json
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("model", **arguments.MODEL)
    help_ = "how many atoms and columns to show (default: %(default)s; --json shows all)"
    parser.add_argument("--top", type=arguments.count, default=10, metavar="N", help=help_)


def run(options: argparse.Namespace) -> None:
    """Load, describe, print."""
    from fcgboost.cli.description import describe, print_facts
    from fcgboost.io import load_model
    from fcgboost.web.models import take_apart

    fitted = take_apart(load_model(options.model))
    facts = describe(fitted)
    if options.json:
        console.print_json(facts)
    else:
        print_facts(facts, fitted, options.top)
