"""`fcgboost predict`: labels for the rows of a file of any size."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fcgboost.cli import arguments, console

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from fcgboost import FCGBoostClassifier
    from fcgboost.prediction import BaseFCGBoost
    from fcgboost.rows import Batch, RowFile

    Array = NDArray[np.float64]

HELP = "predict the class, or the number, of every row"
USAGE = "MODEL DATA [options]"
TEXT = f"""\
Predict the class, or the number, of every row of a file, in the order of the rows.

{arguments.FORMATS}
The file may be larger than memory. The result has one line per row: the label and the
probability of every class (none with the hinge loss), or the prediction of a number and,
with --interval, the ends of an interval. Without --out it goes to standard output as CSV.

With --explain the column "base" and a column "contribution(COL)" for every column
that the model uses add up to the decision value of the second of two classes, of the
predicted class, or of a number. "error" bounds their error: 0, or at most 1 % of the
largest. Beyond a second, standard error shows how many rows are explained.

examples:
  fcgboost predict model.json new.csv.gz --out labels.csv --keep id --decision
  fcgboost predict model.json new.csv --explain --background train.csv
  fcgboost predict prices.json houses.csv --interval 0.9
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_model(parser)
    arguments.add_data(parser)
    arguments.add_file(
        parser,
        "--out",
        "the file to write, .csv or .parquet (default: stdout)",
    )
    arguments.add_repeated(
        parser,
        "--keep",
        "COL",
        "a column of DATA to copy into the result",
    )
    parser.add_argument(
        "--decision",
        action="store_true",
        help="also write decision values",
    )
    parser.add_argument(
        "--interval",
        type=arguments.fraction,
        metavar="SHARE",
        help="also write intervals that hold this share of numbers, such as 0.9",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also write each column's contribution to the decision value (Shapley values)",
    )
    arguments.add_file(
        parser,
        "--background",
        "training rows to explain against, if MODEL holds none; at most 100 are drawn",
    )
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="put an apostrophe before texts that spreadsheets would run as formulas",
    )
    parser.add_argument(
        "--batch",
        type=arguments.count,
        default=65_536,
        metavar="N",
        help="how many rows to process at a time (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """Predict batch after batch."""
    from fcgboost.cli.outputs import check_outputs
    from fcgboost.io import load_model
    from fcgboost.rows.writing import without_formulas, write_csv, write_rows

    if options.json and options.out is None:
        raise ValueError("--json describes the file that is written: add --out FILE.")
    if options.background is not None and not options.explain:
        raise ValueError("--background needs --explain: add it, or leave both out.")
    inputs = [options.model, options.data, options.background]
    check_outputs(
        [options.out],
        inputs,
        tables=[options.out],
    )
    tables: Iterator[pa.Table] = predictions(load_model(options.model), options)
    tables = map(without_formulas, tables) if options.escape_formulas else tables
    if options.out is None:
        write_csv(console.output(), tables)
        return
    n_rows = write_rows(options.out, tables)
    facts = {"out": str(options.out), "n_rows": n_rows}
    console.print_result(
        options,
        facts,
        f"{n_rows:,} rows: {options.out}",
    )


def predictions(model: BaseFCGBoost, options: argparse.Namespace) -> Iterator[pa.Table]:
    """Yield the result as Arrow tables, batch after batch."""
    from fcgboost.cli.inputs import open_for
    from fcgboost.rows import model_batches

    import pyarrow as pa  # isort: skip

    background = None
    if options.background is not None:
        with open_for(
            model,
            options,
            options.background,
        ) as rows:
            [batch] = model_batches(model, rows)
        background = batch.X
    with open_for(model, options) as rows:
        batches = model_batches(
            model,
            rows,
            keep=options.keep,
            n_rows=options.batch,
        )
        # Explanations show their own progress.
        for batch in batches if options.explain else console.counted(batches):
            columns = _predictions(
                model,
                batch,
                options,
            )
            if options.explain:
                columns |= _contributions(
                    model,
                    rows,
                    batch,
                    background,
                )
            for name in options.keep:
                if name in columns:
                    raise ValueError(
                        f"--keep {name}: the result has a column of that name already."
                    )
            kept = {name: batch.kept[name] for name in options.keep}
            yield pa.table({**kept, **columns})


def _predictions(
    model: BaseFCGBoost, batch: Batch, options: argparse.Namespace
) -> dict[str, NDArray[np.generic]]:
    """Return what is predicted, and what is asked for besides, by column."""
    from fcgboost import FCGBoostRegressor
    from fcgboost.evaluation import predictions_of

    if isinstance(model, FCGBoostRegressor):
        columns: dict[str, NDArray[np.generic]] = {
            "prediction": model.predictions_of(batch.decision)
        }
        if options.interval is not None:
            low, high = model.predict_interval(batch.X, alpha=1.0 - options.interval).T
            columns |= {"low": low, "high": high}
        if options.decision:
            columns["decision"] = batch.decision
        return columns
    if options.interval is not None:
        raise ValueError("--interval is for numbers: the model predicts classes.")

    labels, proba = predictions_of(model, batch.decision)
    columns = {"label": labels}
    if proba is not None:
        columns |= _by_class(
            "p",
            model,
            proba,
        )
    if options.decision and batch.decision.ndim == 1:
        columns["decision"] = batch.decision
    elif options.decision:
        columns |= _by_class(
            "decision",
            model,
            batch.decision,
        )
    return columns


def _by_class(title: str, model: FCGBoostClassifier, values: Array) -> dict[str, Array]:
    """Name the columns of a matrix by the classes."""
    names = (f"{title}({name})" for name in model.classes_)
    return dict(
        zip(
            names,
            values.T,
            strict=True,
        )
    )


def _contributions(
    model: BaseFCGBoost,
    rows: RowFile,
    batch: Batch,
    background: object,
) -> dict[str, Array]:
    """Return what columns add to the decision values."""
    from fcgboost.rows.batches import columns_in

    columns = model.describe().columns if rows.matrix is not None else columns_in(model, rows)
    model.set_params(verbose=1)
    explanation = model.explain(batch.X, background=background)
    output = batch.decision.argmax(axis=1) if batch.decision.ndim == 2 else 1
    values, base = explanation.towards(output)
    parts = {
        f"contribution({column.name})": values[:, j]
        for j, column in enumerate(columns)
        if column.n_outputs
    }
    return {"base": base, **parts, "error": explanation.errors}
