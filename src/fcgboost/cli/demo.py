"""`fcgboost demo`: the paper's noisy simulation, fitted, drawn and explained."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli.arguments import add_command

_TEXT = """\
Fit the paper's simulation with 30 % flipped labels beside a support vector
machine, a random forest and AdaBoost, and draw what happened. Takes about a
minute and needs no data.

examples:
  fcgboost demo
  fcgboost demo --out pictures
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", run, "fit, draw and explain one example", _TEXT)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo"),
        metavar="DIR",
        help="where the pictures go (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the demo."""
    from fcgboost.demo import main

    main(options.out)
    return 0
