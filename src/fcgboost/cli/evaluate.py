"""`fcgboost evaluate`: scores of a model on a file of rows."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments, console

HELP = "score a model on a file of rows"
TEXT = f"""\
Score a model on the rows of a file: accuracy, AUC, Brier score and log-loss, each
with a 95 % interval.

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

    from fcgboost.cli.rows import labelled_batches
    from fcgboost.io import load_model, split_model
    from fcgboost.scores import as_data, score_predictions
    from fcgboost.training.scoring import precomputed

    model = load_model(options.model)
    _, classifier = split_model(model)
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    lost: dict[str, Any] = {}
    truths, decisions = [], []
    for decided, _, y in console.counted("Predicting", labelled_batches(model, options, lost)):
        truths.append(y)
        decisions.append(decided)
    y, decision = np.concatenate(truths), np.concatenate(decisions)
    found = precomputed(classifier, decision)
    proba = found.predict_proba(None) if has_proba else None
    scores = score_predictions(
        y, found.predict(None), proba, classifier.classes_, decision=decision
    )
    if options.json:
        facts = {**lost, "unknown_labels": sorted(lost["unknown_labels"])}
        console.print_json({"n_rows": len(y), "scores": as_data(scores), **facts})
    else:
        console.say(f"{len(y):,} rows of {options.data}:\n")
        console.print_scores(scores)
