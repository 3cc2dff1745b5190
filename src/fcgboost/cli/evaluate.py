"""`fcgboost evaluate`: scores of a model on a file of rows."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "score a model: accuracy, log-loss, confusion matrix"
USAGE = "MODEL DATA [--target COL] [options]"
TEXT = f"""\
Score a model on a table: accuracy, AUC, Brier score and log-loss with 95 %
intervals, the baseline (always predicting the most frequent class), and the
confusion matrix with the precision and recall of every class.

{arguments.FORMATS}
The file is read in batches. Rows without a target are skipped. For the log-loss of
m rows, probabilities are clipped to [1/(2m), 1 - 1/(2m)].

examples:
  fcgboost evaluate model.json test.csv --target churned
  fcgboost evaluate model.json test.csv --json | python -m json.tool
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("model", **arguments.MODEL)
    arguments.add_data(parser, arguments.OF_FIT)


def run(options: argparse.Namespace) -> None:
    """Predict in batches, then score."""
    import numpy as np

    from fcgboost.cli.quality import judge
    from fcgboost.cli.rows import labelled_batches
    from fcgboost.io import load_model, split_model

    model = load_model(options.model)
    lost: dict[str, Any] = {}
    truths, decisions = [], []
    for decided, _, y in console.counted("Predicting", labelled_batches(model, options, lost)):
        truths.append(y)
        decisions.append(decided)
    y = np.concatenate(truths)
    quality = judge(split_model(model)[1], np.concatenate(decisions), y)
    if options.json:
        facts = {**lost, "unknown_labels": sorted(lost["unknown_labels"])}
        console.print_json({"n_rows": len(y), **quality.to_dict(), **facts})
    else:
        name = "standard input" if str(options.data) == "-" else options.data
        console.say(f"{len(y):,} rows of {name}")
        quality.print()
