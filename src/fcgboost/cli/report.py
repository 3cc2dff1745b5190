"""`fcgboost report`: a page about a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fcgboost.cli import console
from fcgboost.cli.arguments import FORMATS, add_command, add_data, add_json, add_model, add_target
from fcgboost.cli.evaluate import read_labelled
from fcgboost.io import load_model

_TEXT = f"""\
Write one HTML page about a model, which needs no network to be read.

{FORMATS}
With data the page has scores and pictures on these rows; give rows that the
model was not fitted to. Without, it shows what the model file knows.

examples:
  fcgboost report model.json
  fcgboost report model.json test.csv --target churned --out churn.html
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "report", run, "write a page about a model", _TEXT)
    add_model(parser)
    add_data(parser, is_optional=True)
    add_target(parser, "the column with the classes (default: that of the fit)")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="(default: the model file's name with .html)"
    )
    parser.add_argument("--title", help="the heading of the page")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Load, write, tell where."""
    from fcgboost.report import write_report

    model = load_model(options.model)
    X = y = None
    if options.data is not None:
        X, y = read_labelled(model, options.data, options.target)
    out = options.out or options.model.with_suffix(".html")
    page = write_report(out, model, X, y, title=options.title)
    if options.json:
        console.print_json({"out": str(page), "bytes": page.stat().st_size})
    else:
        print(f"Report: {page}")
    return 0
