"""`fcgboost predict`: labels for the rows of a file of any size."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from fcgboost.cli import arguments, console

HELP = "predict the class of every row"
USAGE = "MODEL DATA [options]"
TEXT = f"""\
Predict the class of every row of a file, in the order of the rows.

{arguments.FORMATS}
The file is read and written in batches, so it may be larger than memory. The result
has one line per row: the label and the probability of every class (none with the
hinge loss). Without --out it goes to standard output as CSV. If a spreadsheet will
open it, use --escape-formulas.

With --explain the column "base" and a column "contribution(COL)" for every column
that the model uses add up to the decision value: with two classes that of the second,
with more that of the predicted class. "error" bounds the error of the least certain
contribution: 0, or at most 1 % of the largest. A row takes a few hundredths of a
second.

examples:
  fcgboost predict model.json new.csv
  fcgboost predict model.json new.parquet --out labels.parquet
  fcgboost predict model.json new.csv.gz --out labels.csv --keep id --decision
  fcgboost predict model.json new.csv --explain --background train.csv
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    parser.add_argument("model", **arguments.MODEL)
    arguments.add_data(parser)
    help_ = "the file to write: .csv .tsv .parquet .arrow, text also .gz (default: stdout)"
    parser.add_argument("--out", **arguments.FILE, help=help_)
    arguments.add_repeated(parser, "--keep", "COL", "a column of DATA to copy into the result")
    parser.add_argument("--decision", action="store_true", help="also write decision values")
    parser.add_argument("--no-proba", action="store_true", help="leave out the probabilities")
    help_ = "also write each column's contribution to the decision value (Shapley values)"
    parser.add_argument("--explain", action="store_true", help=help_)
    help_ = "training rows to explain against, if MODEL holds none; at most 100 are drawn"
    parser.add_argument("--background", **arguments.FILE, help=help_)
    help_ = "put an apostrophe before texts that spreadsheets would run as formulas"
    parser.add_argument("--escape-formulas", action="store_true", help=help_)
    help_ = "how many rows to process at a time (default: %(default)s)"
    parser.add_argument("--batch", type=arguments.count, default=65_536, metavar="N", help=help_)


def run(options: argparse.Namespace) -> None:
    """Predict batch after batch."""
    from fcgboost.cli.writing import check_outputs, without_formulas, write_csv, write_rows
    from fcgboost.io import load_model

    if options.json and options.out is None:
        raise ValueError("--json describes the file that is written: add --out FILE.")
    if options.background is not None and not options.explain:
        raise ValueError("--background needs --explain: add it, or leave both out.")
    inputs = [options.model, options.data, options.background]
    check_outputs([options.out], inputs, tables=[options.out])
    tables: Iterator[Any] = predictions(load_model(options.model), options)
    tables = map(without_formulas, tables) if options.escape_formulas else tables
    if options.out is None:
        write_csv(console.output(), tables)
        return
    n_rows = write_rows(options.out, tables)
    facts = {"out": str(options.out), "n_rows": n_rows}
    console.print_result(options, facts, f"{n_rows:,} rows: {options.out}")


def predictions(model: Any, options: argparse.Namespace) -> Iterator[Any]:
    """Yield the result as Arrow tables, batch after batch."""
    from fcgboost.cli.rows import model_batches, open_for
    from fcgboost.io import split_model

    _, classifier = split_model(model)
    with open_for(model, options) as rows:
        reasons = _explainer(model, rows, options) if options.explain else lambda *_: {}
        # An explanation takes its time, and a terminal is to see how many rows are done.
        n_rows = min(options.batch, 256) if options.explain else options.batch
        batches = model_batches(model, rows, keep=options.keep, n_rows=n_rows)
        for decision, X, kept in console.counted("Predicting", batches):
            yield _table(classifier, decision, reasons(X, decision), kept, options)


def _explainer(
    model: Any, rows: Any, options: argparse.Namespace
) -> Callable[[Any, Any], dict[str, Any]]:
    """Return a function from rows and their decision values to what columns add to these."""
    from fcgboost.cli.rows import encoder_for, model_batches, open_for, stacked
    from fcgboost.explanation import explain
    from fcgboost.io import split_model
    from fcgboost.web.models import take_apart

    (encoder, classifier), background = split_model(model), None
    if options.background is not None:
        with open_for(model, options, options.background) as file:
            background = stacked([rows for _, rows, _ in model_batches(model, file)])
    columns = take_apart(model).columns if rows.is_sparse else encoder_for(model, rows).columns_
    names = {f"contribution({one.name})": j for j, one in enumerate(columns) if one.n_outputs}

    def reasons(X: Any, decision: Any) -> dict[str, Any]:
        found = explain(classifier, X, background, encoder=encoder)
        values, base = found.towards(decision.argmax(axis=1) if decision.ndim == 2 else 1)
        parts = {name: values[:, j] for name, j in names.items()}
        return {"base": base, **parts, "error": found.errors}

    return reasons


def _table(
    classifier: Any, decision: Any, reasons: Any, kept: Any, options: argparse.Namespace
) -> Any:
    import pyarrow as pa

    from fcgboost.training.scoring import precomputed

    found = precomputed(classifier, decision)
    classes = classifier.classes_
    columns: dict[str, Any] = {"label": found.predict(None)}
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    if has_proba and not options.no_proba:
        names = (f"p({name})" for name in classes)
        columns |= zip(names, found.predict_proba(None).T, strict=True)
    if options.decision and found.decision.ndim == 1:
        columns["decision"] = found.decision
    elif options.decision:
        names = (f"decision({name})" for name in classes)
        columns |= zip(names, found.decision.T, strict=True)
    columns |= reasons
    for name in options.keep:
        if name in columns:
            raise ValueError(f"--keep {name}: the result has a column of that name already.")
    return pa.table({**{name: kept[name] for name in options.keep}, **columns})
