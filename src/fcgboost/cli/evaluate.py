"""`fcgboost evaluate`: scores of a model on a file of rows."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "score a model on a file of rows"
TEXT = f"""\
Score a model on the rows of a file: accuracy, AUC, Brier score and log-loss, each
with a 95 % interval, beside the accuracy of always predicting the most frequent
class; and a confusion matrix with the precision and recall of every class.

{arguments.FORMATS}
The file is read in batches. Rows whose target is missing are left out. For the
log-loss of m rows, probabilities are clipped to [1/(2m), 1 - 1/(2m)].

examples:
  fcgboost evaluate model.json test.csv --target churned
  fcgboost evaluate model.json test.csv --json | python -m json.tool
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("model", **arguments.MODEL)
    arguments.add_data(parser, arguments.OF_FIT)


def run(options: argparse.Namespace) -> None:
    """Predict batch after batch, then score."""
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
        console.say(f"{len(y):,} rows of {options.data}")
        quality.print()
