"""`fcgboost audit`: which targets of a table are probably wrong, and why."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fcgboost.cli import arguments, console
from fcgboost.wording import count, shortened

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from fcgboost import Audit, RegressionAudit

HELP = "find labels or numbers that are probably wrong"
USAGE = "DATA --target COL [options]"
TEXT = f"""\
Find labels that are probably wrong, say why, and estimate how many are.

{arguments.FORMATS}
The default classifier is fitted in folds, and models that have not seen a row judge its
label. A suspicious label need not be wrong: look at the row before you change it.
Of a quantity, such as a price, the default regressor judges each number.
Labels that you have checked go into a column that --trusted names.

examples:
  fcgboost audit customers.csv --target churned
  fcgboost audit customers.csv --target churned --out suspects.csv --keep customer_id
  fcgboost audit customers.csv --target churned --report audit.html --trusted checked
"""

# What a mark of certain labels may say.
_CERTAIN = {"1", "1.0", "true", "yes"}
_UNCERTAIN = {"0", "0.0", "false", "no", "", "nan", "none"}
# The columns of the result.
_COLUMNS = {
    *("row", "line", "given_label", "predicted_label", "label_quality", "label_probability"),
    *("given", "predicted", "residual", "reasons"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_data(parser, " (svmlight files have labels)")
    parser.add_argument(
        "--top",
        type=arguments.count,
        default=50,
        metavar="N",
        help="how many suspicious rows to explain and write at most (default: %(default)s)",
    )
    arguments.add_file(
        parser,
        "--out",
        "a file of suspicious rows to write, .csv or .parquet",
    )
    arguments.add_file(
        parser,
        "--report",
        "an HTML page to write",
    )
    arguments.add_repeated(
        parser,
        "--keep",
        "COL",
        "a column of DATA to copy into the results, such as an id",
    )
    parser.add_argument(
        "--escape-formulas",
        action="store_true",
        help="put an apostrophe before texts that spreadsheets would run as formulas",
    )
    parser.add_argument(
        "--trusted",
        metavar="COL",
        help="a column that marks certain labels: 1, true or yes; it is not used as a feature",
    )
    arguments.add_task(parser)
    arguments.add_fit(parser)
    arguments.add_seed(parser, "the folds and of the fit")


def run(options: argparse.Namespace) -> None:
    """Read, fit in folds, write, print."""
    from fcgboost import FCGBoostRegressor
    from fcgboost.auditing import set_folds
    from fcgboost.cli import outputs, training
    from fcgboost.rows import ColumnError

    files = [options.out, options.report]
    outputs.check_outputs(
        files,
        [options.data],
        tables=[options.out],
    )
    for name in options.keep:
        if name in _COLUMNS:
            raise ValueError(f"--keep {name}: the result has a column of that name already.")
    X, y, names, trusted = _read(options)
    estimator, y = training.estimator_of(options, y)
    if isinstance(estimator, FCGBoostRegressor) and options.report is not None:
        raise ValueError("--report shows labels only: for a quantity, use --out.")
    set_folds(estimator, X, y)
    try:
        model, _ = training.train(estimator, X, y, trusted=trusted)
    except ColumnError as error:
        raise ValueError(f"{options.data}: {error}") from None
    _write(
        options,
        model.audit(X, y),
        names,
    )


def _read(options: argparse.Namespace) -> tuple[pd.DataFrame, Any, pa.Table, Any]:
    """Return rows, labels, what names the rows, and which are certain."""
    from fcgboost.cli.inputs import labelled_rows
    from fcgboost.rows import open_rows

    import numpy as np  # isort: skip
    import pyarrow as pa  # isort: skip

    aside = [] if options.trusted is None else [options.trusted]
    reading = arguments.reading_options(options)
    with open_rows(
        options.data,
        format=options.format,
        **reading,
    ) as rows:
        rows.check_columns([*options.keep, *aside])
        X, y = labelled_rows(
            rows,
            options,
            dict(options.set).get("categorical_features", "from_dtype"),
            aside,
        )
        # Also rows without a label, which count as rows of the file.
        cells = pa.table({"label": y})
        if rows.matrix is None:
            [(_, cells)] = rows.batches(
                {},
                [options.target, *options.keep, *aside],
                None,
            )
        lines = rows.lines()
    positions = np.asarray(
        getattr(
            X,
            "index",
            np.arange(len(y)),
        )
    )
    names = {"row": positions + 1}
    if len(lines) == len(cells):
        names["line"] = np.take(lines, positions)
    cells = cells.take(positions)
    names |= {name: cells[name] for name in options.keep}
    if options.trusted is None:
        return X, y, pa.table(names), None
    marks = [str(mark or "").strip() for mark in cells[options.trusted].to_pylist()]
    for row, mark in zip(
        names["row"],
        marks,
        strict=True,
    ):
        if mark.lower() not in _CERTAIN | _UNCERTAIN:
            raise ValueError(
                f"{options.data}, row {row}, column {options.trusted!r}: {mark!r} does not say "
                "whether the label is certain. Write 1, true or yes; or 0, false, no or nothing."
            )
    return X, y, pa.table(names), np.array([mark.lower() in _CERTAIN for mark in marks])


def _write(options: argparse.Namespace, audit: Audit | RegressionAudit, names: pa.Table) -> None:
    """Write the files that are asked for, and print the result."""
    from fcgboost import Audit
    from fcgboost.rows import write_rows
    from fcgboost.rows.writing import without_formulas

    written = []
    if options.out is not None or options.json:
        table = _suspects(
            audit,
            names,
            options.top,
        )
    if options.out is not None:
        shown = without_formulas(table) if options.escape_formulas else table
        n_rows = write_rows(options.out, [shown])
        written.append(f"Suspicious rows: {options.out} ({count(n_rows, 'row')})")
    if options.report is not None and isinstance(audit, Audit):
        audit.report(
            options.report,
            title=f"An audit of {shortened(options.target or 'labels')}",
            top=options.top,
            rows=names.to_pydict(),
        )
        written.append(f"Report: {options.report}")
    if not written and len(audit.suspects):
        page = " or --report audit.html" if isinstance(audit, Audit) else ""
        written.append(f"For more, with reasons, add --out suspects.csv{page}.")
    if not options.json:
        numbers = names["row"].to_numpy()
        console.say("\n".join([audit.summary(numbers), "", *written]).rstrip())
        return
    shares = {}
    if isinstance(audit, Audit):
        by_class = audit.wrong_by_class.items()
        shares = {
            "wrong": audit.wrong._asdict(),
            "wrong_by_class": {str(label): wrong._asdict() for label, wrong in by_class},
        }
    facts = {
        "n_rows": len(names),
        "n_suspicious": len(audit.suspects),
        **shares,
        "findings": [asdict(finding) for finding in audit.findings],
        "suspects": table.to_pylist(),
    }
    console.print_json(facts)


def _suspects(audit: Audit | RegressionAudit, names: pa.Table, top: int) -> pa.Table:
    """Return the most suspicious rows, with reasons if there are any."""
    import pyarrow as pa

    suspects = audit.suspects[:top]
    judged = audit.to_frame().iloc[suspects, :-1]
    if audit.has_reasons:
        judged["reasons"] = audit.reasons(suspects)
    table = names.take(suspects)
    for name, values in judged.items():
        table = table.append_column(name, pa.array(values, from_pandas=True))
    return table
