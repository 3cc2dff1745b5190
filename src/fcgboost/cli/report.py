"""`fcgboost report`: a page about a model."""

from __future__ import annotations

import argparse

from fcgboost.cli import arguments, console

HELP = "write an HTML report about a model"
USAGE = "MODEL DATA [--target COL] [options]"
TEXT = f"""\
Write an HTML report about a model: one file that works offline.

{arguments.FORMATS}
The report scores the model on those rows: use held-out rows, as written by
`fcgboost fit --test-out`. `fcgboost inspect` shows what is in a model file.

examples:
  fcgboost report model.json test.csv --target churned --out churn.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_model(parser)
    arguments.add_data(parser, arguments.OF_FIT)
    arguments.add_file(
        parser, "--out", "the page to write (default: the model file's name with .html)"
    )
    parser.add_argument(
        "--row",
        type=arguments.count,
        metavar="N",
        help="the row of DATA to explain, counted from 1 (default: the worst mistake)",
    )


def run(options: argparse.Namespace) -> None:
    """Load, write, print where."""
    from fcgboost.cli.inputs import open_for
    from fcgboost.cli.outputs import check_outputs
    from fcgboost.io import load_model
    from fcgboost.report import write_model_report
    from fcgboost.rows.batches import Lost, labelled_batches

    out = options.out or options.model.with_suffix(".html")
    check_outputs([out], [options.model, options.data])
    model = load_model(options.model)
    with open_for(model, options) as rows:
        [batch] = labelled_batches(
            model,
            rows,
            Lost(),
            target=options.target,
            with_unused=True,
        )
    page = write_model_report(
        out,
        model,
        batch.X,
        batch.y,
        row=None if options.row is None else options.row - 1,
    )
    facts = {"out": str(page), "bytes": page.stat().st_size}
    console.print_result(options, facts, f"Report: {page}")
