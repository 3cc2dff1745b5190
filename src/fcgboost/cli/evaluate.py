"""`fcgboost evaluate`: scores of a model on a file of rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import load_model
from fcgboost.cli import console
from fcgboost.cli.arguments import FORMATS, add_command, add_data, add_json, add_model, add_target
from fcgboost.io import split_model
from fcgboost.readers import open_rows
from fcgboost.scores import score_predictions

_TEXT = f"""\
Score a model on the rows of a file: accuracy, AUC, Brier score and log-loss, each
with a 95 % interval.

{FORMATS}
The file is read in batches. Rows whose target is missing are left out. The
log-loss is that of probabilities clipped to [1/(2m), 1 - 1/(2m)] for m rows.

examples:
  fcgboost evaluate model.json test.csv --target churned
  fcgboost evaluate model.json test.csv --json | python -m json.tool
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "evaluate", run, "score a model on a file of rows", _TEXT)
    add_model(parser)
    add_data(parser)
    add_target(parser, "the column with the classes (default: that of the fit)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Predict batch after batch, then score."""
    model = load_model(options.model)
    has_proba = hasattr(model, "predict_proba")  # not with the hinge
    truths, labels, probas = [], [], []
    for X, y in _labelled_batches(model, options.data, options.target):
        truths.append(y)
        labels.append(model.predict(X))
        if has_proba:
            probas.append(model.predict_proba(X))
    y, found = np.concatenate(truths), np.concatenate(labels)
    proba = np.concatenate(probas) if has_proba else None
    scores = score_predictions(y, found, proba, model.classes_)
    if options.json:
        console.print_json({"n_rows": len(y), "scores": console.as_data(scores)})
    else:
        print(f"{len(y):,} rows of {options.data}:\n")
        console.print_scores(scores)
    return 0


def read_labelled(model: Any, path: Path, target: str | None) -> tuple[Any, Any]:
    """Read all rows of a file as a model needs them, and their labels."""
    batches = list(_labelled_batches(model, path, target))
    y = np.concatenate([y for _, y in batches])
    if sparse.issparse(batches[0][0]):
        return sparse.vstack([X for X, _ in batches], format="csr"), y
    import pandas as pd

    return pd.concat([X for X, _ in batches], ignore_index=True), y


def _labelled_batches(model: Any, path: Path, target: str | None) -> Any:
    """Give rows and labels, batch after batch, without rows that have no label."""
    encoder, classifier = split_model(model)
    rows = open_rows(path)
    target = target if target is not None else classifier.about_.get("target")
    n_left_out = n_rows = 0
    for batch in rows.batches(encoder=encoder, n_features=classifier.n_features_in_, target=target):
        X, y = rows.split_target(batch, target)
        is_there = np.array([value is not None and value == value for value in y])
        n_left_out += int((~is_there).sum())
        n_rows += int(is_there.sum())
        if is_there.any():
            yield X[is_there], match_labels(y[is_there], model.classes_)
    if n_left_out:
        console.note(f"{n_left_out} rows without a target are left out.")
    if n_rows == 0:
        raise ValueError(f"{path} has no row with a target.")


def match_labels(y: Any, classes: Any) -> Any:
    """Give labels of a file as the model has them, which may be of another type."""
    known = {_text(value): value for value in classes.tolist()}
    matched = np.array([known.get(_text(value), value) for value in list(y)], dtype=object)
    unknown = sorted({str(value) for value in matched if _text(value) not in known})
    if unknown:
        console.note(
            f"Labels the model does not know count as mistakes: {', '.join(unknown[:5])}"
            f"{' ...' if len(unknown) > 5 else ''}. It knows {', '.join(known)}."
        )
    return matched if unknown else matched.astype(classes.dtype)


def _text(value: Any) -> str:
    """Give a label as text; 1 and 1.0 are the same label."""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)
