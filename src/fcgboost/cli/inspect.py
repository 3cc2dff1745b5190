"""`fcgboost inspect`: what a model is made of."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import console
from fcgboost.cli.arguments import add_command, add_json, add_model, count

_TEXT = """\
Show what a model is made of: its classes, its atoms with their coefficients, the
features that matter, what it was fitted to and how well it did there.

Of every atom the features are shown that set it apart most. A feature's
influence is the mean size of the model's slope in it, in standardised units, or
of models with trees or several families the mean size of what changes with its
value; all influences sum to one.

examples:
  fcgboost inspect model.json
  fcgboost inspect model.json --top 20
  fcgboost inspect model.json --json
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "inspect", run, "show what a model is made of", _TEXT)
    add_model(parser)
    parser.add_argument(
        "--top",
        type=count,
        default=10,
        metavar="N",
        help="atoms and features to show (default: %(default)s; --json shows all)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Load and tell."""
    from fcgboost.cli.description import describe, print_facts
    from fcgboost.io import load_model, split_model

    encoder, classifier = split_model(load_model(options.model))
    facts = describe(encoder, classifier)
    if options.json:
        console.print_json(facts)
        return 0
    print_facts(facts, classifier, options.top)
    return 0
