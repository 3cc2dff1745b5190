"""`fcgboost evaluate`: scores of a model on a file of rows."""

from __future__ import annotations

import argparse

from fcgboost.cli import arguments, console

HELP = "score a model: accuracy, log-loss, confusion matrix; errors of numbers"
USAGE = "MODEL DATA [--target COL] [options]"
TEXT = f"""\
Score a model on a table: accuracy, AUC, Brier score and log-loss with 95 %
intervals, the baseline (the most frequent class), and the confusion matrix with the
precision and recall of every class. Of numbers: R², the root mean squared error and
the mean absolute error.

{arguments.FORMATS}
The file may be larger than memory. Rows without a target are skipped.

examples:
  fcgboost evaluate model.json test.csv --target churned
"""
_N_ROWS = 65_536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_model(parser)
    arguments.add_data(parser, arguments.OF_FIT)


def run(options: argparse.Namespace) -> None:
    """Predict in batches, then score."""
    import numpy as np

    from fcgboost.cli.inputs import open_for
    from fcgboost.evaluation import evaluation_of
    from fcgboost.io import load_model
    from fcgboost.rows.batches import Lost, labelled_batches

    model = load_model(options.model)
    lost = Lost()
    truths = []
    decisions = []
    with open_for(model, options) as rows:
        batches = labelled_batches(
            model,
            rows,
            lost,
            target=options.target,
            n_rows=_N_ROWS,
        )
        for batch in console.counted(batches):
            truths.append(batch.y)
            decisions.append(batch.decision)
    y = np.concatenate(truths)
    evaluation = evaluation_of(
        model,
        np.concatenate(decisions),
        y,
    )
    if options.json:
        facts = {**vars(lost), "unknown_labels": sorted(lost.unknown_labels)}
        console.print_json({"n_rows": len(y), **evaluation.to_dict(), **facts})
    else:
        console.say(f"{len(y):,} rows of {rows.name}\n{evaluation}")
