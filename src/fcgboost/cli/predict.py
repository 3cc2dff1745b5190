"""`fcgboost predict`: labels for the rows of a file of any size."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcgboost import load_model
from fcgboost.cli import console
from fcgboost.cli.arguments import FORMATS, add_command, add_data, add_json, add_model
from fcgboost.io import split_model
from fcgboost.readers import open_rows, write_rows

_TEXT = f"""\
Give the class of every row of a file, in the order of the rows.

{FORMATS}
The file is read and written in batches, so that it may be larger than the
memory. The result has one line per row: the label and, unless the loss
determines none, the probability of every class. Without --out it is CSV on
standard output.

examples:
  fcgboost predict model.json new.csv
  fcgboost predict model.json new.parquet --out labels.parquet
  fcgboost predict model.json new.csv.gz --out labels.csv --keep id --decision
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "predict", run, "give the class of every row of a file", _TEXT)
    add_model(parser)
    add_data(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where the labels go: .csv .tsv .parquet .arrow, text also .gz (default: stdout)",
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COL",
        help="a column of DATA to repeat in the result; may be given several times",
    )
    parser.add_argument("--decision", action="store_true", help="also give decision values")
    parser.add_argument("--no-proba", action="store_true", help="leave the probabilities out")
    parser.add_argument(
        "--batch",
        type=int,
        default=65_536,
        metavar="N",
        help="rows at a time (default: %(default)s)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Predict batch after batch."""
    model = load_model(options.model)
    counter = _Counter()
    frames = counter.counted(predictions(model, options))
    if options.out is None:
        for i, frame in enumerate(frames):
            frame.to_csv(sys.stdout, index=False, header=i == 0)
        return 0
    write_rows(options.out, frames)
    if options.json:
        console.print_json({"out": str(options.out), "n_rows": counter.n_rows})
    else:
        print(f"{counter.n_rows:,} rows: {options.out}")
    return 0


class _Counter:
    """Counts the rows of frames that pass."""

    def __init__(self) -> None:
        self.n_rows = 0

    def counted(self, frames: Iterator[Any]) -> Iterator[Any]:
        """Pass frames on."""
        for frame in frames:
            self.n_rows += len(frame)
            yield frame


def predictions(model: Any, options: argparse.Namespace) -> Iterator[Any]:
    """Give the result's frames, batch after batch."""
    encoder, classifier = split_model(model)
    rows = open_rows(options.data, batch_rows=options.batch)
    for batch in rows.batches(encoder=encoder, n_features=classifier.n_features_in_):
        yield _frame(model, batch, options)


def _frame(model: Any, batch: Any, options: argparse.Namespace) -> Any:
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in options.keep:
        if name not in getattr(batch, "columns", ()):
            raise ValueError(f"--keep {name}: {options.data} has no such column.")
        columns[name] = batch[name].to_numpy()
    columns["label"] = model.predict(batch)
    has_proba = hasattr(model, "predict_proba")  # not with the hinge
    if has_proba and not options.no_proba:
        for name, values in zip(model.classes_, model.predict_proba(batch).T, strict=True):
            columns[f"p({name})"] = values
    if options.decision:
        decision = model.decision_function(batch)
        if decision.ndim == 1:
            columns["decision"] = decision
        else:
            for name, values in zip(model.classes_, decision.T, strict=True):
                columns[f"decision({name})"] = values
    return pd.DataFrame(columns)
