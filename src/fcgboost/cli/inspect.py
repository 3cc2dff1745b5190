"""`fcgboost inspect`: what a model is made of."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "show what is in a model file"
USAGE = "MODEL [--top N] [--json]"
TEXT = """\
Show what is in a model file: the classes, how each column is encoded, which columns
matter most, the largest atoms, what the model was fitted to and its held-out scores.

A column's influence is how much the decision value changes, on average, when the
column's value is swapped with that of another row, as a share of the total. For
models of smooth atoms alone it is the mean absolute slope in standardised units.

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
